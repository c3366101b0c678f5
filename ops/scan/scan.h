// cumsum cumprod cummax cummin logcumsumexp.
#pragma once
#include "dispatch/call.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "ops/reduce/shape.h"
#include "ops/scan/chains.h"

namespace fb {
// Sums from each element to the end of its line.
inline Tensor sum_from_behind(const Tensor& x, int64_t dim) { return op<"flip">(op<"cumsum">(op<"flip">(x, Dims{dim}), dim), Dims{dim}); }
Tensor cumprod_gradient(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim);
Tensor logcumsumexp_gradient(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim);
}  // namespace fb

namespace fb::cards {

struct cumsum : structured<cumsum, symbolic> {
  static constexpr auto schema = "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";
  using chain = chains::sum;
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out | form::out_converts | form::out_same_or_apart;
  template <class T> static T meta(const T& self, int64_t dim, DType dtype) {
    wrap_dim(dim, self.ndim());
    return T::empty(self.sizes(), {sum_type(self.dtype(), dtype), self.device()});
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim) { return sum_from_behind(*g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(cumsum(input, dim, *, dtype=None) -> Tensor

Sums of the elements up to and with each one along dim, added up in double; int64 for integers.)";
};
FB_CARD(cumsum)

struct cumprod : structured<cumprod, symbolic> {
  static constexpr auto schema = "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";
  using chain = chains::product;
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out | form::out_converts | form::out_same_or_apart;
  template <class T> static T meta(const T& self, int64_t dim, DType dtype) {
    wrap_dim(dim, self.ndim());
    return T::empty(self.sizes(), {sum_type(self.dtype(), dtype), self.device()});
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> out, arg<1, int64_t> dim) { return cumprod_gradient(*g, *self, *out, *dim); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "cumprod(input, dim, *, dtype=None) -> Tensor\n\nProducts of the elements up to and with each one along dim.";
};
FB_CARD(cumprod)

#define FB_CUMULATIVE(NAME, GREATEST, TEXT)                                                                           \
  struct NAME : structured<NAME, symbolic> {                                                                                    \
    static constexpr auto schema = #NAME "(Tensor self, int dim) -> (Tensor values, Tensor indices)";                 \
    using chain = chains::extreme<GREATEST>;                                                                          \
    static constexpr uint32_t forms = structured<NAME, symbolic>::forms | form::out_repeated;                         \
    template <class T> static std::array<T, 2> meta(const T& self, int64_t dim) {                                     \
      wrap_dim(dim, self.ndim());                                                                                     \
      if (is_complex(self.dtype())) raise_not_implemented(#NAME " is not there for type ", self.dtype());             \
      return {T::empty(self.sizes(), self.options()), T::empty(self.sizes(), {DType::i64, self.device()})};           \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<1, int64_t> dim) {                       \
      return op<"scatter_add">(op<"new_zeros">(*g, self.sizes()), *dim, *indices, *g);                                \
    }                                                                                                                 \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
    static constexpr auto doc = #NAME "(input, dim) -> (values, indices)\n\n" TEXT                                    \
      " of the elements up to and with each one along dim, and its last place so far.";                              \
  };                                                                                                                  \
  FB_CARD(NAME)
FB_CUMULATIVE(cummax, true, "Greatest")
FB_CUMULATIVE(cummin, false, "Least")
#undef FB_CUMULATIVE

struct logcumsumexp : structured<logcumsumexp, symbolic> {
  static constexpr auto schema = "logcumsumexp(Tensor self, int dim) -> Tensor";
  using chain = chains::log_sum_exp;
  static constexpr uint32_t forms = structured<logcumsumexp>::forms | form::out_same_or_apart;
  template <class T> static T meta(const T& self, int64_t dim) {
    wrap_dim(dim, self.ndim());
    if (is_integral(self.dtype(), true)) raise_not_implemented("logcumsumexp is not there for type ", self.dtype());
    return T::empty(self.sizes(), self.options());
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> out, arg<1, int64_t> dim) { return logcumsumexp_gradient(*g, *self, *out, *dim); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "logcumsumexp(input, dim) -> Tensor\n\nlogsumexp of the elements up to and with each one along dim.";
};
FB_CARD(logcumsumexp)

}  // namespace fb::cards
