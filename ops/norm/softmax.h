// softmax log_softmax and their backward operators.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/norm/passes.h"

namespace fb::cards {

#define FB_SOFTMAX(NAME, GRAD, TEXT)                                                                                  \
  struct NAME##_primitive : structured<NAME##_primitive, symbolic> {                                                            \
    static constexpr auto schema = "_" #NAME "(Tensor self, int dim, bool half_to_float) -> Tensor";                  \
    using passes = fb::passes::NAME;                                                                                  \
    static constexpr uint32_t forms = form::fn | form::out;                                                           \
    static constexpr auto grad_name = GRAD;                                                                           \
    template <class T> static T meta(const T& self, int64_t dim, bool half_to_float) {                                \
      wrap_dim(dim, self.ndim());                                                                                     \
      FB_CHECK(!half_to_float, #NAME ": half_to_float is for other devices than the CPU");                            \
      if (!is_floating(self.dtype())) raise_not_implemented(#NAME " is not there for type ", self.dtype(), "; give a floating dtype"); \
      return T::empty(self.sizes(), self.options());                                                                  \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, result<> y, arg<1, int64_t> dim, shape_of<0> self) {                              \
      return op<"_" #NAME "_backward_data">(*g, *y, *dim, self->options.dtype);                                       \
    }                                                                                                                 \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
  };                                                                                                                  \
  FB_CARD(NAME##_primitive)                                                                                           \
  struct NAME : composite<NAME> {                                                                                     \
    static constexpr auto schema = #NAME ".int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor";              \
    static constexpr uint32_t forms = form::fn | form::method | form::out;                                            \
    static Tensor body(const Tensor& self, int64_t dim, DType dtype) {                                                \
      const Tensor x = dtype == DType::none || dtype == self.dtype() ? self : op<"to">(self, dtype);                  \
      return op<"_" #NAME>(x, dim, false);                                                                            \
    }                                                                                                                 \
    static constexpr auto doc = #NAME "(input, dim, dtype=None) -> Tensor\n\n" TEXT                                   \
      " along dim, of the input's shape. dtype, where given, is what the input is converted to first. A row alone or "   \
      "among others has the same bits.";                                                                              \
  };                                                                                                                  \
  FB_CARD(NAME)                                                                                                       \
  struct special_##NAME : composite<special_##NAME> {                                                                 \
    static constexpr auto schema = FB_SPECIAL_SCHEMA(NAME);                                                           \
    static constexpr uint32_t forms = form::fn;                                                                       \
    static Tensor body(const Tensor& self, int64_t dim, DType dtype) { return NAME::body(self, dim, dtype); }         \
  };                                                                                                                  \
  FB_CARD(special_##NAME)
#define FB_SPECIAL_SCHEMA(NAME) FB_SPECIAL_##NAME
#define FB_SPECIAL_softmax "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"
#define FB_SPECIAL_log_softmax "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"
FB_SOFTMAX(softmax, "SoftmaxBackward0", "e^x divided by its sum")
FB_SOFTMAX(log_softmax, "LogSoftmaxBackward0", "Logarithm of softmax")
#undef FB_SOFTMAX
#undef FB_SPECIAL_SCHEMA
#undef FB_SPECIAL_softmax
#undef FB_SPECIAL_log_softmax

struct softmax_backward : structured<softmax_backward, symbolic> {
  static constexpr auto schema = "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor";
  static constexpr auto aliases = ".out:grad_input";
  using passes = fb::passes::softmax_backward<false>;
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const T& g, const T& y, int64_t dim, DType dtype) {
    wrap_dim(dim, y.ndim());
    FB_CHECK(g.sizes() == y.sizes(), "_softmax_backward_data: grad_output has shape ", g.sizes(), ", output ", y.sizes());
    return T::empty(g.sizes(), {dtype, g.device()});
  }
  static Tensor d_grad(grad<0> gg, in<1> y, arg<2, int64_t> dim) { return op<"_softmax_backward_data">(*gg, *y, *dim, gg->dtype()); }
  static Tensor d_output(grad<0> gg, in<0> g, in<1> y, arg<2, int64_t> dim) {
    // of g*y - y*sum(g*y) with respect to y, into gg
    const Tensor inner = op<"sum">(op<"mul">(*g, *y), Dims{*dim}, true), outer = op<"sum">(op<"mul">(*gg, *y), Dims{*dim}, true);
    return *gg * *g - *gg * inner - outer * *g;
  }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_output>>;
};
FB_CARD(softmax_backward)

struct log_softmax_backward : structured<log_softmax_backward, symbolic> {
  static constexpr auto schema = "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor";
  using passes = fb::passes::softmax_backward<true>;
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const T& g, const T& y, int64_t dim, DType dtype) {
    wrap_dim(dim, y.ndim());
    FB_CHECK(g.sizes() == y.sizes(), "_log_softmax_backward_data: grad_output has shape ", g.sizes(), ", output ", y.sizes());
    return T::empty(g.sizes(), {dtype, g.device()});
  }
  static Tensor d_grad(grad<0> gg, in<1> y, arg<2, int64_t> dim) {
    return *gg - op<"sum">(*gg * op<"exp">(*y), Dims{*dim}, true);
  }
  static Tensor d_output(grad<0> gg, in<0> g, in<1> y, arg<2, int64_t> dim) {
    return -(*gg * op<"exp">(*y) * op<"sum">(*g, Dims{*dim}, true));
  }
  using vjp = rules<wrt<0, d_grad>, wrt<1, d_output>>;
};
FB_CARD(log_softmax_backward)

}  // namespace fb::cards
