// Random tensors: factories over the fills, draws from distributions, and dropout.
#pragma once
#include <cmath>

#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/visible.h"
#include "dispatch/zero_slope.h"
#include "dispatch/thread_state.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "ops/create/copy.h"

namespace fb::cards {

namespace random {
inline Tensor make(Ints size, std::optional<DType> d, DType otherwise, std::optional<Device> device) {
  return op<"empty">(size, d ? *d : otherwise, std::nullopt, device);
}
inline Tensor like(const Tensor& t, std::optional<DType> d, std::optional<Device> device, std::optional<MemoryFormat> f) {
  return op<"empty_like">(t, d, std::nullopt, device, std::nullopt, f);
}
Tensor integers(Tensor t, int64_t low, int64_t high, Generator* g);
Tensor permutation(int64_t n, std::optional<DType> d, std::optional<Device> device, Generator* g);
}  // namespace random

#define FB_OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define FB_INT_OPTIONS "ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None"
#define FB_LIKE_OPTIONS FB_OPTIONS ", MemoryFormat? memory_format=None"
#define FB_OPTION_ARGS std::optional<DType> d, std::optional<Layout>, std::optional<Device> dev, std::optional<bool>

#define FB_FACTORY(NAME, FILL)                                                                                           \
  struct NAME : composite<NAME> {                                                                                       \
    static constexpr auto schema = #NAME "(int[] size, *, " FB_OPTIONS ") -> Tensor";                                    \
    static constexpr uint32_t forms = form::fn | form::out | form::visible;                                                             \
    static Tensor body(Ints size, FB_OPTION_ARGS) { return op_list<FILL>(random::make(size, d, default_dtype, dev))[0]; } \
  };                                                                                                                    \
  FB_CARD(NAME)                                                                                                         \
  struct NAME##_generator : composite<NAME##_generator> {                                                               \
    static constexpr auto schema = #NAME ".generator(int[] size, *, Generator? generator, " FB_OPTIONS ") -> Tensor";    \
    static constexpr uint32_t forms = form::fn | form::out | form::visible;                                                             \
    static Tensor body(Ints size, Generator* g, FB_OPTION_ARGS) {                                                       \
      return op_list<FILL>(random::make(size, d, default_dtype, dev), 0.0, 1.0, g)[0];                                   \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(NAME##_generator)                                                                                             \
  struct NAME##_like : composite<NAME##_like> {                                                                         \
    static constexpr auto schema = #NAME "_like(Tensor self, *, " FB_LIKE_OPTIONS ") -> Tensor";                         \
    static constexpr uint32_t forms = form::fn | form::out | form::visible;                                                             \
    static Tensor body(const Tensor& self, FB_OPTION_ARGS, std::optional<MemoryFormat> f) {                             \
      return op_list<FILL>(random::like(self, d, dev, f))[0];                                                            \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(NAME##_like)                                                                                                  \
  struct NAME##_like_generator : composite<NAME##_like_generator> {                                                     \
    static constexpr auto schema = #NAME "_like.generator(Tensor self, *, Generator? generator, " FB_LIKE_OPTIONS ") -> Tensor"; \
    static constexpr uint32_t forms = form::fn | form::out | form::visible;                                                             \
    static Tensor body(const Tensor& self, Generator* g, FB_OPTION_ARGS, std::optional<MemoryFormat> f) {               \
      return op_list<FILL>(random::like(self, d, dev, f), 0.0, 1.0, g)[0];                                               \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(NAME##_like_generator)
FB_FACTORY(rand, "uniform_")
FB_FACTORY(randn, "normal_")
#undef FB_FACTORY

struct randint : composite<randint> {
  static constexpr auto schema = "randint(int high, int[] size, *, " FB_INT_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(int64_t high, Ints size, FB_OPTION_ARGS) { return random::integers(random::make(size, d, DType::i64, dev), 0, high, nullptr); }
};
FB_CARD(randint)
struct randint_generator : composite<randint_generator> {
  static constexpr auto schema = "randint.generator(int high, int[] size, *, Generator? generator, " FB_INT_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(int64_t high, Ints size, Generator* g, FB_OPTION_ARGS) { return random::integers(random::make(size, d, DType::i64, dev), 0, high, g); }
};
FB_CARD(randint_generator)
struct randint_low : composite<randint_low> {
  static constexpr auto schema = "randint.low(int low, int high, int[] size, *, " FB_INT_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(int64_t low, int64_t high, Ints size, FB_OPTION_ARGS) { return random::integers(random::make(size, d, DType::i64, dev), low, high, nullptr); }
};
FB_CARD(randint_low)
struct randint_low_generator : composite<randint_low_generator> {
  static constexpr auto schema = "randint.low_generator(int low, int high, int[] size, *, Generator? generator, " FB_INT_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(int64_t low, int64_t high, Ints size, Generator* g, FB_OPTION_ARGS) { return random::integers(random::make(size, d, DType::i64, dev), low, high, g); }
};
FB_CARD(randint_low_generator)
struct randint_like : composite<randint_like> {
  static constexpr auto schema = "randint_like(Tensor self, int high, *, " FB_LIKE_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible | form::out_converts;
  static Tensor body(const Tensor& self, int64_t high, FB_OPTION_ARGS, std::optional<MemoryFormat> f) { return random::integers(random::like(self, d, dev, f), 0, high, nullptr); }
};
FB_CARD(randint_like)
struct randint_like_low : composite<randint_like_low> {
  static constexpr auto schema = "randint_like.low_dtype(Tensor self, int low, int high, *, " FB_LIKE_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible | form::out_converts;
  static Tensor body(const Tensor& self, int64_t low, int64_t high, FB_OPTION_ARGS, std::optional<MemoryFormat> f) {
    return random::integers(random::like(self, d, dev, f), low, high, nullptr);
  }
};
FB_CARD(randint_like_low)
struct randint_like_generator : composite<randint_like_generator> {
  static constexpr auto schema = "randint_like.generator(Tensor self, int high, *, Generator? generator, " FB_LIKE_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(const Tensor& self, int64_t high, Generator* g, FB_OPTION_ARGS, std::optional<MemoryFormat> f) {
    return random::integers(random::like(self, d, dev, f), 0, high, g);
  }
};
FB_CARD(randint_like_generator)
struct randint_like_low_generator : composite<randint_like_low_generator> {
  static constexpr auto schema = "randint_like.low_generator_dtype(Tensor self, int low, int high, *, Generator? generator, " FB_LIKE_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(const Tensor& self, int64_t low, int64_t high, Generator* g, FB_OPTION_ARGS, std::optional<MemoryFormat> f) {
    return random::integers(random::like(self, d, dev, f), low, high, g);
  }
};
FB_CARD(randint_like_low_generator)

struct randperm : composite<randperm> {
  static constexpr auto schema = "randperm(int n, *, " FB_INT_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(int64_t n, FB_OPTION_ARGS) { return random::permutation(n, d, dev, nullptr); }
};
FB_CARD(randperm)
struct randperm_generator : composite<randperm_generator> {
  static constexpr auto schema = "randperm.generator(int n, *, Generator? generator, " FB_INT_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(int64_t n, Generator* g, FB_OPTION_ARGS) { return random::permutation(n, d, dev, g); }
};
FB_CARD(randperm_generator)
struct randperm_fill : direct<randperm_fill> {
  static constexpr auto schema = "_randperm_(Tensor(a!) self, Generator? generator=None) -> Tensor(a!)";
  static constexpr uint32_t forms = form::hidden;
};
FB_CARD(randperm_fill)

struct normal_tensor_float : lowered<normal_tensor_float> {
  static constexpr auto schema = "normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_same_or_apart;
  static Tensor lowering(const Tensor& mean, double std, Generator* g);
  using vjp = rules<wrt<0, zero_slope>>;
};
FB_CARD(normal_tensor_float)
struct normal_float_tensor : lowered<normal_float_tensor> {
  static constexpr auto schema = "normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_same_or_apart;
  static Tensor lowering(double mean, const Tensor& std, Generator* g);
  using vjp = rules<wrt<1, zero_slope>>;
};
FB_CARD(normal_float_tensor)
struct normal_tensor_tensor : lowered<normal_tensor_tensor> {
  static constexpr auto schema = "normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_same_or_apart;
  static Tensor lowering(const Tensor& mean, const Tensor& std, Generator* g);
  using vjp = rules<wrt<0, zero_slope>, wrt<1, zero_slope>>;
};
FB_CARD(normal_tensor_tensor)
struct normal_float_float : composite<normal_float_float> {
  static constexpr auto schema = "normal.float_float(float mean, float std, int[] size, *, Generator? generator=None, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible | form::out_converts;
  static Tensor body(double mean, double std, Ints size, Generator* g, FB_OPTION_ARGS) {
    return op_list<"normal_">(random::make(size, d, default_dtype, dev), mean, std, g)[0];
  }
};
FB_CARD(normal_float_float)

namespace random {
// Where the draws for `t` go: row-major, however t is laid out.
inline Tensor row_major_like(const Tensor& t) {
  return op<"empty_like">(t, DType::none, std::nullopt, std::nullopt, std::nullopt, MemoryFormat::contiguous);
}
}  // namespace random

struct bernoulli : lowered<bernoulli> {
  static constexpr auto schema = "bernoulli(Tensor self, *, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = lowered<bernoulli>::forms | form::out_converts | form::out_same_or_apart;
  static Tensor lowering(const Tensor& self, Generator* g) { return op_list<"bernoulli_.Tensor">(random::row_major_like(self), self, g)[0]; }
  using vjp = rules<wrt<0, zero_slope>>;
};
FB_CARD(bernoulli)
struct bernoulli_p : lowered<bernoulli_p> {
  static constexpr auto schema = "bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  // Laid out as self, not row-major: a graph without writes has this in the place of bernoulli_, and draws follow the layout.
  static Tensor lowering(const Tensor& self, double p, Generator* g) { return op_list<"bernoulli_.float">(op<"empty_like">(self), p, g)[0]; }
  using vjp = rules<wrt<0, zero_slope>>;
};
FB_CARD(bernoulli_p)

namespace random {
// The result of a draw on the meta device; kernels make their own.
inline Tensor like_meta(const Tensor& t) { return t.is_meta() ? Tensor::empty(t.sizes(), t.options()) : Tensor(); }
}  // namespace random

struct multinomial : direct<multinomial> {
  static constexpr auto schema = "multinomial(Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor check(const Tensor& w, int64_t samples, bool, Generator*) {
    FB_CHECK(w.ndim() == 1 || w.ndim() == 2, "multinomial: expected weights of 1 or 2 dimensions, got shape ", w.sizes());
    FB_CHECK(samples > 0, "multinomial: num_samples must be positive, got ", samples);
    if (!w.is_meta()) return Tensor();
    Dims shape(w.sizes());
    shape.back() = samples;
    return Tensor::empty(shape, {DType::i64, w.device()});
  }
};
FB_CARD(multinomial)

struct poisson : direct<poisson> {
  static constexpr auto schema = "poisson(Tensor self, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor check(const Tensor& rate, Generator*) { return random::like_meta(rate); }
  using vjp = rules<wrt<0, zero_slope>>;
};
FB_CARD(poisson)
struct binomial : direct<binomial> {
  static constexpr auto schema = "binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor check(const Tensor& count, const Tensor& prob, Generator*) {
    const Dims shape = broadcast_sizes(count.sizes(), prob.sizes());
    return count.is_meta() ? Tensor::empty(shape, count.options()) : Tensor();
  }
  using vjp = rules<wrt<0, zero_slope>, wrt<1, zero_slope>>;
};
FB_CARD(binomial)
// Gamma and Dirichlet draws are reparameterised in PyTorch; their gradients need the derivative of the quantile.
struct standard_gamma : direct<standard_gamma> {
  static constexpr auto schema = "_standard_gamma(Tensor self, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor check(const Tensor& alpha, Generator*) { return random::like_meta(alpha); }
};
FB_CARD(standard_gamma)
struct sample_dirichlet : direct<sample_dirichlet> {
  static constexpr auto schema = "_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor check(const Tensor& alpha, Generator*) { return random::like_meta(alpha); }
};
FB_CARD(sample_dirichlet)

// ---- dropout: made of other cards, so that its node is the product's ----
namespace random {
// Zeroes elements (or whole channels) with probability p and rescales; alpha dropout keeps mean and variance of
// selu's activations (Klambauer et al., 2017).
template <class T> T drop(const char* name, const T& x, double p, bool train, bool feature, bool alpha) {
  FB_CHECK(p >= 0 && p <= 1, name, ": the probability has to be between 0 and 1, got ", p);
  if (p == 0 || !train || x.numel() == 0) return x;
  if (p == 1) return op<"mul">(x, op<"zeros">(Ints(), x.dtype(), std::nullopt, x.device()));
  T noise;
  if (feature) {
    FB_CHECK(x.ndim() >= 2, name, ": channels are dropped from at least two dimensions, got shape ", x.sizes());
    typename T::Sizes shape(x.ndim(), 1);
    shape[0] = x.sizes()[0];
    shape[1] = x.sizes()[1];
    noise = T::empty(shape, x.options());
  } else {
    noise = empty_as(x, x.options(), MemoryFormat::preserve);
  }
  if constexpr (std::is_same_v<T, Tensor>)
    if ((x->flags | tls.layers) & kPython) noise = feature ? op<"new_empty">(x, noise.sizes()) : op<"empty_like">(x);
  noise = op_list<"bernoulli_.float">(noise, 1 - p)[0];
  if (!alpha) return op<"mul">(x, op_list<"div_">(noise, 1 - p)[0]);
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  const T b = op<"add">(op<"mul">(op<"sub">(noise, 1.0), kAlpha * a), kAlpha * a * p);
  return op_list<"add_">(op<"mul">(x, op_list<"mul_">(noise, a)[0]), b)[0];
}
}  // namespace random
#define FB_DROPOUT(NAME, FEATURE, ALPHA)                                                                                           \
  struct NAME : composite<NAME> {                                                                                                 \
    static constexpr auto schema = #NAME "(Tensor input, float p, bool train) -> Tensor";                                          \
    static constexpr uint32_t forms = form::fn | form::inplace | form::fn_inplace;                                                \
    template <class T> static T body(const T& x, double p, bool train) {                                                          \
      return random::drop(#NAME, x, p, train, FEATURE, ALPHA);                                                                    \
    }                                                                                                                             \
  };                                                                                                                              \
  FB_CARD(NAME)
FB_DROPOUT(dropout, false, false)
FB_DROPOUT(feature_dropout, true, false)
FB_DROPOUT(alpha_dropout, false, true)
FB_DROPOUT(feature_alpha_dropout, true, true)
#undef FB_DROPOUT

struct native_dropout : lowered<native_dropout> {
  static constexpr auto schema = "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 2> lowering(const Tensor& x, double p, std::optional<bool> train);
  static Tensor d(grad<0> g, result<1> mask, arg<1, double> p, arg<2, std::optional<bool>> train) {
    const double scale = train->value_or(true) ? (*p == 1 ? 0.0 : 1 / (1 - *p)) : 1.0;
    return op<"mul">(op<"mul">(*g, *mask), scale);
  }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(native_dropout)

#undef FB_OPTIONS
#undef FB_INT_OPTIONS
#undef FB_LIKE_OPTIONS
#undef FB_OPTION_ARGS

}  // namespace fb::cards
