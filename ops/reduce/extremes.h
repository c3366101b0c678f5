// amax amin aminmax max min argmax argmin all any.
#pragma once
#include "dispatch/call.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "ops/reduce/passes.h"

namespace fb::cards {

// Types that have an order, as the kernels know them.
inline void check_ordered(const char* name, DType d) {
  if (is_complex(d) || d == DType::u16 || d == DType::u32 || d == DType::u64 || is_float8(d))
    raise_not_implemented(name, " is not there for type ", d);
}

#define FB_EXTREME(NAME, GREATEST, TEXT)                                                                              \
  struct NAME : structured<NAME, symbolic> {                                                                                    \
    static constexpr auto schema = #NAME "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor";                \
    static constexpr uint32_t forms = structured<NAME>::forms | form::out_repeated;                                   \
    using passes = fb::passes::extreme<GREATEST>;                                                                     \
    template <class T> static T meta(const T& self, Ints dim, bool keepdim) {                                         \
      const uint64_t mask = reduce_mask(dim, self.ndim());                                                            \
      check_reduces_something(#NAME, self.sizes(), mask, !dim.empty());                                               \
      check_ordered(#NAME, self.dtype());                                                                             \
      return reduced(self, dim, keepdim, self.dtype());                                                               \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, in<0> self, result<> out, arg<1, Ints> dim, arg<2, bool> keepdim) {               \
      return shared_by_ties(*g, *self, *out, *dim, *keepdim);                                                         \
    }                                                                                                                 \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
    static constexpr auto doc = #NAME "(input, dim=(), keepdim=False) -> Tensor\n\n" TEXT                             \
      " value over dim, NaN where there is one. Backward shares the gradient among equal extremes.";                  \
  };                                                                                                                  \
  FB_CARD(NAME)
FB_EXTREME(amax, true, "Greatest")
FB_EXTREME(amin, false, "Least")
#undef FB_EXTREME

struct aminmax : structured<aminmax, symbolic> {
  static constexpr auto schema = "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)";
  using passes = fb::passes::both_extremes;
  static constexpr uint32_t forms = structured<aminmax>::forms | form::out_same_or_apart;
  template <class T> static std::array<T, 2> meta(const T& self, std::optional<int64_t> dim, bool keepdim) {
    const Dims dims = dim ? Dims{*dim} : Dims{};
    const uint64_t mask = reduce_mask(dims, self.ndim());
    check_reduces_something("aminmax", self.sizes(), mask, dim.has_value());
    check_ordered("aminmax", self.dtype());
    return {reduced(self, dims, keepdim, self.dtype()), reduced(self, dims, keepdim, self.dtype())};
  }
  static Tensor d_self(maybe_grad<0> lo, maybe_grad<1> hi, in<0> self, result<0> min, result<1> max, arg<1, std::optional<int64_t>> dim,
                       arg<2, bool> keepdim) {
    const Dims dims = *dim ? Dims{**dim} : Dims{};
    Tensor r;
    if (lo->defined()) r = shared_by_ties(*lo, *self, *min, dims, *keepdim);
    if (hi->defined()) {
      const Tensor h = shared_by_ties(*hi, *self, *max, dims, *keepdim);
      r = r.defined() ? r + h : h;
    }
    return r;
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "aminmax(input, *, dim=None, keepdim=False) -> (min, max)\n\nLeast and greatest value, of everything or over dim.";
};
FB_CARD(aminmax)

// max and min: of two tensors (tried first: an integer tensor of one element would do as dim), over a dimension with
// indices, or of everything.
#define FB_EXTREME(NAME, GREATEST, BINARY, WHERE, TEXT)                                                               \
  struct NAME##_other : composite<NAME##_other> {                                                                     \
    static constexpr auto schema = #NAME ".other(Tensor self, Tensor other) -> Tensor";                               \
    static constexpr auto aliases = ".out";                                                                           \
    static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts;                       \
    static Tensor body(const Tensor& self, const Tensor& other) { return op<BINARY>(self, other); }                   \
  };                                                                                                                  \
  FB_CARD(NAME##_other)  \
  struct NAME##_dim : structured<NAME##_dim, symbolic> {                                                                        \
    static constexpr auto schema = #NAME ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"; \
    static constexpr auto aliases = ".dim_" #NAME ":" #NAME "," WHERE;                                                \
    using passes = fb::passes::extreme_place<GREATEST, true>;                                                         \
    template <class T> static std::array<T, 2> meta(const T& self, int64_t dim, bool keepdim) {                       \
      const uint64_t mask = reduce_mask({dim}, self.ndim());                                                          \
      check_reduces_something(#NAME, self.sizes(), mask, true);                                                       \
      check_ordered(#NAME, self.dtype());                                                                             \
      return {reduced(self, {dim}, keepdim, self.dtype()), reduced(self, {dim}, keepdim, DType::i64)};                \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<1, int64_t> dim, arg<2, bool> keepdim) { \
      return selected_gradient(*g, *dim, *indices, self.sizes(), *keepdim);                                           \
    }                                                                                                                 \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
    static constexpr auto doc = #NAME "(input) -> Tensor\n" #NAME "(input, dim, keepdim=False) -> (values, indices)\n" \
      #NAME "(input, other) -> Tensor\n\n" TEXT " element of all, or along dim with the index of the first one, or of two "  \
      "tensors elementwise. NaN wins.";                                                                               \
  };                                                                                                                  \
  FB_CARD(NAME##_dim)                                                                                                 \
  struct NAME##_all : structured<NAME##_all, symbolic> {                                                                        \
    static constexpr auto schema = #NAME "(Tensor self) -> Tensor";                                                   \
    static constexpr auto aliases = ".unary_out";                                                                     \
    using passes = fb::passes::extreme<GREATEST>;                                                                     \
    static constexpr uint32_t forms = form::fn | form::method | form::out;                                            \
    template <class T> static T meta(const T& self) {                                                                 \
      check_reduces_something(#NAME, self.sizes(), ~uint64_t(0), false);                                              \
      check_ordered(#NAME, self.dtype());                                                                             \
      return reduced(self, {}, false, self.dtype());                                                                  \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, in<0> self, result<> out) { return shared_by_ties(*g, *self, *out, {}, false); }  \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
  };                                                                                                                  \
  FB_CARD(NAME##_all)
FB_EXTREME(max, true, "maximum", "max_values", "Greatest")
FB_EXTREME(min, false, "minimum", "min_indices", "Least")
#undef FB_EXTREME

#define FB_EXTREME(NAME, GREATEST, TEXT)                                                                              \
  struct NAME : structured<NAME, symbolic> {                                                                                    \
    static constexpr auto schema = #NAME "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor";                \
    static constexpr uint32_t forms = structured<NAME>::forms | form::out_repeated;                                   \
    using passes = fb::passes::extreme_place<GREATEST, false>;                                                        \
    template <class T> static T meta(const T& self, std::optional<int64_t> dim, bool keepdim) {                       \
      FB_CHECK(!self.is_complex() && self.dtype() != DType::boolean, #NAME, ": the input is ", self.dtype(), ", which has no order here"); \
      const Dims dims = dim ? Dims{*dim} : Dims{};                                                                    \
      const uint64_t mask = reduce_mask(dims, self.ndim());                                                           \
      check_reduces_something(#NAME, self.sizes(), mask, true);                                                       \
      check_ordered(#NAME, self.dtype());                                                                             \
      return reduced(self, dims, keepdim, DType::i64);                                                                \
    }                                                                                                                 \
    static constexpr auto doc = #NAME "(input, dim=None, keepdim=False) -> Tensor\n\nIndex of the first " TEXT        \
      " element along dim, or of the flattened input. NaN wins.";                                                     \
  };                                                                                                                  \
  FB_CARD(NAME)
FB_EXTREME(argmax, true, "greatest")
FB_EXTREME(argmin, false, "least")
#undef FB_EXTREME

inline DType truth_type(DType d) { return d == DType::u8 ? DType::u8 : DType::boolean; }

#define FB_TRUTH(NAME, TEXT)                                                                                          \
  struct NAME##_dim : structured<NAME##_dim, symbolic> {                                                                        \
    static constexpr auto schema = #NAME ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor";                  \
    static constexpr auto aliases = ".out";                                                                           \
    static constexpr uint32_t forms = structured<NAME##_dim>::forms | form::out_repeated;                             \
    using passes = fb::passes::NAME;                                                                                  \
    template <class T> static T meta(const T& self, int64_t dim, bool keepdim) {                                      \
      return reduced(self, {dim}, keepdim, truth_type(self.dtype()));                                                 \
    }                                                                                                                 \
    static constexpr auto doc = #NAME "(input, dim=None, keepdim=False) -> Tensor\n\nWhether " TEXT                   \
      " differ from zero; bool, or uint8 for uint8.";                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_dim)                                                                                                 \
  struct NAME##_dims : structured<NAME##_dims, symbolic> {                                                                      \
    static constexpr auto schema = #NAME ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor";         \
    static constexpr uint32_t forms = structured<NAME##_dims>::forms | form::out_repeated;                            \
    using passes = fb::passes::NAME;                                                                                  \
    template <class T> static T meta(const T& self, std::optional<Ints> dim, bool keepdim) {                          \
      const uint64_t mask = dim ? reduce_mask(*dim, self.ndim(), false) : ~uint64_t(0);                               \
      return T::empty(reduced_sizes(self.sizes(), mask, keepdim), {truth_type(self.dtype()), self.device()});         \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_dims)                                                                                                \
  struct NAME##_all : structured<NAME##_all, symbolic> {                                                                        \
    static constexpr auto schema = #NAME "(Tensor self) -> Tensor";                                                   \
    static constexpr auto aliases = ".all_out";                                                                       \
    using passes = fb::passes::NAME;                                                                                  \
    static constexpr uint32_t forms = form::fn | form::method | form::out;                                            \
    template <class T> static T meta(const T& self) { return reduced(self, {}, false, truth_type(self.dtype())); }    \
  };                                                                                                                  \
  FB_CARD(NAME##_all)
FB_TRUTH(all, "all elements")
FB_TRUTH(any, "some elements")
#undef FB_TRUTH

struct value_selecting_reduction_backward : composite<value_selecting_reduction_backward> {
  static constexpr auto schema = "value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, int[] sizes, bool keepdim) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& g, int64_t dim, const Tensor& indices, Ints sizes, bool keepdim) {
    return selected_gradient(g, dim, indices, sizes, keepdim);
  }
};
FB_CARD(value_selecting_reduction_backward)

}  // namespace fb::cards
