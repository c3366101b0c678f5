// var std var_mean std_mean, norms, logsumexp, dist.
#pragma once
#include <cmath>

#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "ops/reduce/passes.h"
#include "ops/reduce/shape.h"

namespace fb::cards {

inline void check_spread_type(const char* name, DType d) {
  FB_CHECK(is_floating(d) || is_complex(d), name, " takes floating and complex types, the input is ", d);
}
// 2 / (n - correction) * (x - mean), the derivative of var; n elements go into each result.
inline Tensor variance_gradient(const Tensor& g, const Tensor& self, Ints dims, double correction, bool keepdim) {
  const Tensor up = with_kept_dims(g, self.ndim(), dims, keepdim);
  const int64_t n = up.numel() ? self.numel() / up.numel() : 1;
  Dims all;
  const uint64_t mask = reduce_mask(dims, self.ndim());
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (mask >> d & 1) all.push_back(d);
  const Tensor mean = self.ndim() ? op<"mean">(self, all, true) : self;
  return op<"mul">(op<"mul">(up, Scalar(2.0 / (double(n) - correction))), op<"sub">(self, mean));
}
inline Tensor deviation_gradient(const Tensor& g, const Tensor& self, const Tensor& result, Ints dims, double correction, bool keepdim) {
  // No division by 0 even where its result is not used: the derivative of that would be.
  const Tensor flat = op<"eq">(result, Scalar(0));
  const Tensor half = op<"div">(g, op<"masked_fill">(op<"mul">(result, Scalar(2)), flat, Scalar(1)));
  return variance_gradient(op<"masked_fill">(half, flat, Scalar(0)), self, dims, correction, keepdim);
}

#define FB_SPREAD(NAME, ROOT, TEXT)                                                                                   \
  struct NAME##_spread : structured<NAME##_spread, symbolic> {                                                                               \
    static constexpr auto schema = #NAME ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"; \
    static constexpr uint32_t forms = structured<NAME##_spread, symbolic>::forms | form::out_converts | form::out_repeated; \
    template <class T> static T meta(const T& self, Ints dim, std::optional<Scalar>, bool keepdim) {                  \
      check_spread_type(#NAME, self.dtype());                                                                         \
      return reduced(self, dim, keepdim, to_real(self.dtype()));                                                      \
    }                                                                                                                 \
    static Tensor d_deviation(grad<0> g, in<0> self, result<> out, arg<1, Ints> dim, arg<2, std::optional<Scalar>> c, arg<3, bool> keepdim) {\
      return deviation_gradient(*g, *self, *out, *dim, correction_of(*c), *keepdim);                                  \
    }                                                                                                                 \
    static Tensor d_variance(grad<0> g, in<0> self, arg<1, Ints> dim, arg<2, std::optional<Scalar>> c, arg<3, bool> keepdim) {\
      return variance_gradient(*g, *self, *dim, correction_of(*c), *keepdim);                                         \
    }                                                                                                                 \
    using vjp = std::conditional_t<ROOT, rules<wrt<0, d_deviation>>, rules<wrt<0, d_variance>>>;                      \
    using passes = fb::passes::spread<ROOT>;                                                                          \
    static constexpr auto doc = #NAME "(input, dim=None, *, correction=1, keepdim=False) -> Tensor\n\n" TEXT          \
      " over dim, or of everything: squares of the distances from the mean, summed and divided by n - correction.";  \
  };                                                                                                                  \
  FB_CARD(NAME##_spread)                                                                                                       \
  struct NAME##_dim : composite<NAME##_dim> {                                                                         \
    static constexpr auto schema = #NAME ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"; \
    static constexpr auto aliases = ".out";                                                                           \
    static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts | form::out_repeated;  \
    static Tensor body(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim) {                    \
      return op<#NAME ".correction">(self, dim, Scalar(unbiased ? 1 : 0), keepdim);                                   \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_dim)                                                                                                 \
  struct NAME##_all : composite<NAME##_all> {                                                                         \
    static constexpr auto schema = #NAME "(Tensor self, bool unbiased=True) -> Tensor";                               \
    static Tensor body(const Tensor& self, bool unbiased) {                                                           \
      return op<#NAME ".correction">(self, std::nullopt, Scalar(unbiased ? 1 : 0));                                   \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_all)                                                                                                 \
  struct NAME##_mean : structured<NAME##_mean, symbolic> {                                                                      \
    static constexpr auto schema = #NAME "_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)"; \
    using passes = fb::passes::spread<ROOT, true>;                                                                    \
    static constexpr uint32_t forms = form::fn;                                                                       \
    template <class T> static std::array<T, 2> meta(const T& self, Ints dim, std::optional<Scalar>, bool keepdim) {   \
      check_spread_type(#NAME "_mean", self.dtype());                                                                 \
      return {reduced(self, dim, keepdim, to_real(self.dtype())), reduced(self, dim, keepdim, self.dtype())};         \
    }                                                                                                                 \
    static Tensor joined(Tensor r, const Tensor& gm, const Tensor& self, Ints dim, bool keepdim) {                    \
      if (!gm.defined()) return r;                                                                                    \
      const int64_t n = gm.numel() ? self.numel() / gm.numel() : 1;                                                   \
      const Tensor m = op<"div">(spread_over(gm, self.sizes(), dim, keepdim), Scalar(n));                             \
      return r.defined() ? op<"add">(r, m) : m;                                                                       \
    }                                                                                                                 \
    static Tensor d_deviation(maybe_grad<0> gs, maybe_grad<1> gm, in<0> self, result<0> out, arg<1, Ints> dim,        \
                              arg<2, std::optional<Scalar>> c, arg<3, bool> keepdim) {                                \
      Tensor r;                                                                                                       \
      if (gs->defined()) r = deviation_gradient(*gs, *self, *out, *dim, correction_of(*c), *keepdim);                 \
      return joined(r, *gm, *self, *dim, *keepdim);                                                                   \
    }                                                                                                                 \
    static Tensor d_variance(maybe_grad<0> gs, maybe_grad<1> gm, in<0> self, arg<1, Ints> dim, arg<2, std::optional<Scalar>> c,\
                             arg<3, bool> keepdim) {                                                                  \
      Tensor r;                                                                                                       \
      if (gs->defined()) r = variance_gradient(*gs, *self, *dim, correction_of(*c), *keepdim);                        \
      return joined(r, *gm, *self, *dim, *keepdim);                                                                   \
    }                                                                                                                 \
    using vjp = std::conditional_t<ROOT, rules<wrt<0, d_deviation>>, rules<wrt<0, d_variance>>>;                      \
    static constexpr auto doc = #NAME "_mean(input, dim=None, *, correction=1, keepdim=False) -> (" #NAME ", mean)\n\n" TEXT " and mean."; \
  };                                                                                                                  \
  FB_CARD(NAME##_mean)                                                                                                \
  struct NAME##_mean_dim : composite<NAME##_mean_dim> {                                                               \
    static constexpr auto schema = #NAME "_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)"; \
    static constexpr uint32_t forms = form::fn;                                                                       \
    static std::array<Tensor, 2> body(const Tensor& self, std::optional<Ints> dim, bool unbiased, bool keepdim) {     \
      return ops<#NAME "_mean.correction", 2>(self, dim, Scalar(unbiased ? 1 : 0), keepdim);                          \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_mean_dim)                                                                                            \
  struct NAME##_mean_all : composite<NAME##_mean_all> {                                                               \
    static constexpr auto schema = #NAME "_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)";                \
    static constexpr uint32_t forms = form::fn;                                                                       \
    static std::array<Tensor, 2> body(const Tensor& self, bool unbiased) {                                            \
      return ops<#NAME "_mean.correction", 2>(self, std::nullopt, Scalar(unbiased ? 1 : 0));                          \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_mean_all)
FB_SPREAD(var, false, "Variance")
FB_SPREAD(std, true, "Standard deviation")
#undef FB_SPREAD

struct linalg_vector_norm : structured<linalg_vector_norm, symbolic> {
  static constexpr auto schema =
      "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  using passes = fb::passes::vector_norm;
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated;
  static constexpr auto grad_name = "LinalgVectorNormBackward0";
  template <class T> static T meta(const T& self, Scalar ord, Ints dim, bool keepdim, DType dtype) {
    FB_CHECK(self.is_floating() || self.is_complex(), "vector_norm takes floating and complex types, the input is ", self.dtype());
    FB_CHECK(!ord.is_complex(), "vector_norm: ord is ", ord, "; it must be real");
    if (dtype != DType::none)
      FB_CHECK((is_floating(dtype) && !self.is_complex()) || is_complex(dtype), "vector_norm: dtype ", dtype, " does not fit an input of type ", self.dtype());
    const double p = ord.to_double();
    const uint64_t mask = reduce_mask(dim, self.ndim());
    if (self.numel() == 0 && (p < 0 || std::isinf(p)))
      for (int64_t d = 0; d < self.ndim(); ++d)
        FB_CHECK(!(mask >> d & 1) || self.sizes()[d] > 0, "vector_norm: dimension ", d, " of shape ", self.sizes(), " is empty, and the norm of order ", ord,
                 " of nothing has no value");
    return reduced(self, dim, keepdim, to_real(dtype != DType::none ? dtype : self.dtype()));
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> norm, arg<1, Scalar> ord, arg<2, Ints> dim, arg<3, bool> keepdim) {
    return vector_norm_gradient(*g, *self, ord->to_double(), *norm, *dim, *keepdim);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None) -> Tensor

(sum |x|^ord)^(1/ord) over dim, or of everything; inf and -inf take the greatest and least |x|, 0 counts what is not zero.)";
};
FB_CARD(linalg_vector_norm)

// norm in its four overloads, by the name of each node: vector norms over some dimensions or all.
#define FB_NORM(CARD, SCHEMA, GRAD, ...)                                                                             \
  struct CARD : lowered<CARD> {                                                                                       \
    static constexpr auto schema = SCHEMA;                                                                            \
    static constexpr auto grad_name = GRAD;                                                                           \
    static Scalar order(std::optional<Scalar> p) { return p ? *p : Scalar(2); }                                       \
    __VA_ARGS__                                                                                                       \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
  };                                                                                                                  \
  FB_CARD(CARD)
FB_NORM(norm_dim_dtype, "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor", "NormBackward3",
  static constexpr auto aliases = ".dtype_out";
  static constexpr uint32_t forms = lowered<norm_dim_dtype>::forms | form::out_repeated;
  static Tensor lowering(const Tensor& self, std::optional<Scalar> p, Ints dim, bool keepdim, DType dtype) {
    return op<"linalg_vector_norm">(self, order(p), dim, keepdim, dtype);
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> norm, arg<1, std::optional<Scalar>> p, arg<2, Ints> dim, arg<3, bool> keepdim) {
    return vector_norm_gradient(*g, *self, order(*p).to_double(), *norm, *dim, *keepdim);
  })
FB_NORM(norm_dim, "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", "NormBackward1",
  static constexpr auto aliases = ".out";
  static constexpr uint32_t forms = lowered<norm_dim>::forms | form::out_repeated;
  static Tensor lowering(const Tensor& self, std::optional<Scalar> p, Ints dim, bool keepdim) {
    return op<"linalg_vector_norm">(self, order(p), dim, keepdim);
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> norm, arg<1, std::optional<Scalar>> p, arg<2, Ints> dim, arg<3, bool> keepdim) {
    return vector_norm_gradient(*g, *self, order(*p).to_double(), *norm, *dim, *keepdim);
  })
FB_NORM(norm_dtype, "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", "NormBackward2",
  static constexpr uint32_t forms = form::fn | form::method;
  static Tensor lowering(const Tensor& self, std::optional<Scalar> p, DType dtype) {
    return op<"linalg_vector_norm">(self, order(p), std::nullopt, false, dtype);
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> norm, arg<1, std::optional<Scalar>> p) {
    return vector_norm_gradient(*g, *self, order(*p).to_double(), *norm, {}, false);
  })
FB_NORM(norm_scalar, "norm.Scalar(Tensor self, Scalar p=2) -> Tensor", "NormBackward0",
  static constexpr uint32_t forms = form::fn | form::method;
  static Tensor lowering(const Tensor& self, Scalar p) { return op<"linalg_vector_norm">(self, p); }
  static Tensor d_self(grad<0> g, in<0> self, result<> norm, arg<1, Scalar> p) {
    return vector_norm_gradient(*g, *self, p->to_double(), *norm, {}, false);
  }
  static constexpr auto doc = "norm(input, p=2, dim=None, keepdim=False, dtype=None) -> Tensor\n\nVector norm of order p; see linalg.vector_norm.";)
#undef FB_NORM

struct logsumexp : structured<logsumexp, symbolic> {
  static constexpr auto schema = "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor";
  using passes = fb::passes::logsumexp;
  static constexpr uint32_t forms = structured<logsumexp>::forms | form::out_converts;
  template <class T> static T meta(const T& self, Ints dim, bool keepdim) {
    return reduced(self, dim, keepdim, is_integral(self.dtype(), true) ? default_dtype : self.dtype());
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> out, arg<1, Ints> dim, arg<2, bool> keepdim) {
    const Tensor y = with_kept_dims(*out, self->ndim(), *dim, *keepdim);
    return op<"mul">(with_kept_dims(*g, self->ndim(), *dim, *keepdim), conj(op<"exp">(op<"sub">(*self, y))));
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(logsumexp(input, dim, keepdim=False) -> Tensor

log(sum(e^x)) over dim, without overflow: the greatest element is taken out first.)";
};
FB_CARD(logsumexp)
struct special_logsumexp : composite<special_logsumexp> {
  static constexpr auto schema = "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts;
  static Tensor body(const Tensor& self, Ints dim, bool keepdim) { return op<"logsumexp">(self, dim, keepdim); }
};
FB_CARD(special_logsumexp)

struct dist : lowered<dist> {
  static constexpr auto schema = "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  static Tensor lowering(const Tensor& a, const Tensor& b, Scalar p) { return op<"linalg_vector_norm">(op<"sub">(a, b), p); }
  static Tensor d_self(grad<0> g, in<0> a, in<1> b, result<> norm, arg<2, Scalar> p) {
    return vector_norm_gradient(*g, op<"sub">(*a, *b), p->to_double(), *norm, {}, false);
  }
  static Tensor d_other(grad<0> g, in<0> a, in<1> b, result<> norm, arg<2, Scalar> p) {
    return vector_norm_gradient(*g, op<"sub">(*b, *a), p->to_double(), *norm, {}, false);
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_other>>;
  static constexpr auto doc = "dist(input, other, p=2) -> Tensor\n\nThe p-norm of input - other.";
};
FB_CARD(dist)

struct equal : direct<equal> {
  static constexpr auto schema = "equal(Tensor self, Tensor other) -> bool";
  static constexpr auto doc = "equal(input, other) -> bool\n\nWhether both have one shape and equal elements.";
};
FB_CARD(equal)
struct allclose : composite<allclose> {
  static constexpr auto schema = "allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool";
  static bool body(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
    GradMode no(false);
    return op_value<"item">(op<"all">(op<"isclose">(a, b, rtol, atol, equal_nan))).scalar().to_bool();
  }
  static constexpr auto doc = "allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False) -> bool\n\nWhether |input - other| <= atol + rtol |other| everywhere.";
};
FB_CARD(allclose)

struct hash_tensor : structured<hash_tensor, symbolic> {
  static constexpr auto schema = "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor";
  using passes = fb::passes::hash;
  template <class T> static T meta(const T& self, Ints dim, bool keepdim, int64_t mode) {
    FB_CHECK(mode == 0, "hash_tensor: mode is ", mode, "; there is only mode 0");
    FB_CHECK(!self.is_complex(), "hash_tensor is not there for type ", self.dtype());
    return reduced(self, dim, keepdim, DType::u64);
  }
  static constexpr auto doc = "hash_tensor(input, dim=(), *, keepdim=False, mode=0) -> Tensor\n\nExclusive or of all elements' bits, widened to 64.";
};
FB_CARD(hash_tensor)

struct cov : composite<cov> {
  static constexpr auto schema = "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor";
  static Tensor body(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
    FB_CHECK(self.ndim() <= 2, "cov takes at most 2 dimensions, the input has shape ", self.sizes());
    FB_CHECK(self.dtype() != DType::boolean, "cov: the input is bool");
    const Tensor in = self.ndim() < 2 ? op<"view">(self, Dims{1, -1}) : self;
    const int64_t n = in.sizes()[1];
    Tensor w;
    if (fweights.defined()) {
      FB_CHECK(fweights.ndim() <= 1, "cov: fweights has shape ", fweights.sizes(), "; it has one dimension");
      FB_CHECK(is_integral(fweights.dtype()), "cov: fweights is ", fweights.dtype(), "; it must be integral");
      FB_CHECK(fweights.numel() == n, "cov: fweights has ", fweights.numel(), " numbers for ", n, " observations");
      FB_CHECK(n == 0 || !op_value<"item">(op<"any">(op<"lt">(fweights, Scalar(0)))).scalar().to_bool(), "cov: fweights holds negative numbers");
      w = fweights;
    }
    if (aweights.defined()) {
      FB_CHECK(aweights.ndim() <= 1, "cov: aweights has shape ", aweights.sizes(), "; it has one dimension");
      FB_CHECK(is_floating(aweights.dtype()), "cov: aweights is ", aweights.dtype(), "; it must be floating");
      FB_CHECK(aweights.numel() == n, "cov: aweights has ", aweights.numel(), " numbers for ", n, " observations");
      FB_CHECK(n == 0 || !op_value<"item">(op<"any">(op<"lt">(op<"detach">(aweights), Scalar(0)))).scalar().to_bool(), "cov: aweights holds negative numbers");
      w = w.defined() ? op<"mul">(w, aweights) : aweights;
    }
    const bool float_in = in.is_floating() || in.is_complex();
    const Tensor up = float_in ? in : op<"to">(in, default_dtype);
    const auto warn_of_none = [] { warn("cov: the degrees of freedom are not positive"); };
    if (!w.defined()) {  // n observations of one weight: no element is read
      if (n <= correction) warn_of_none();
      const Tensor avg = op<"div">(op<"sum">(up, Dims{1}, false), Scalar(n)), d = op<"sub">(up, op<"unsqueeze">(avg, int64_t(1)));
      return op<"squeeze">(op<"div">(op<"mm">(d, conj(op<"t">(d))), Scalar(std::max<int64_t>(n - correction, 0))));
    }
    const Tensor w_sum = op<"sum">(w, std::nullopt, false, is_integral(w.dtype()) ? DType::none : w.dtype());
    FB_CHECK(op_value<"item">(op<"detach">(w_sum)).scalar().to_bool(), "cov: the weights add up to zero");
    const Tensor avg = op<"div">(op<"sum">(op<"mul">(up, w), Dims{1}, false), w_sum);
    Tensor norm;
    if (aweights.defined() && correction != 0)
      norm = op<"sub">(w_sum, op<"mul">(op<"div">(op<"sum">(op<"mul">(w, aweights)), w_sum), Scalar(correction)));
    else norm = op<"sub">(w_sum, Scalar(correction));
    if (double left; norm.numel() && (left = op_value<"item">(op<"to">(op<"detach">(norm), DType::f64)).scalar().to_double(), left <= 0)) {
      warn_of_none();
      norm = op<"zeros_like">(norm);
    }
    const Tensor d = op<"sub">(up, op<"unsqueeze">(avg, int64_t(1)));
    return op<"squeeze">(op<"div">(op<"mm">(d, conj(op<"t">(op<"mul">(d, w)))), norm));
  }
  static constexpr auto doc = R"(cov(input, *, correction=1, fweights=None, aweights=None) -> Tensor

Covariance of the variables in the rows of input, observed in its columns.)";
};
FB_CARD(cov)
struct corrcoef : composite<corrcoef> {
  static constexpr auto schema = "corrcoef(Tensor self) -> Tensor";
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() <= 2, "corrcoef takes at most 2 dimensions, the input has shape ", self.sizes());
    const Tensor c = op<"cov">(self);
    if (c.ndim() == 0) return op<"div">(c, c);
    const Tensor diagonal = op<"diag">(c);
    const Tensor real = diagonal.is_complex() ? op<"real">(diagonal) : diagonal, s = op<"sqrt">(real);
    Tensor r = op<"div">(op<"div">(c, op<"unsqueeze">(s, int64_t(1))), op<"unsqueeze">(s, int64_t(0)));
    if (r.is_complex()) return op<"complex">(op<"clip">(op<"real">(r), Scalar(-1), Scalar(1)), op<"clip">(op<"imag">(r), Scalar(-1), Scalar(1)));
    return op<"clip">(r, Scalar(-1), Scalar(1));
  }
  static constexpr auto doc = "corrcoef(input) -> Tensor\n\nPearson's correlations of the variables in the rows of input.";
};
FB_CARD(corrcoef)

}  // namespace fb::cards
