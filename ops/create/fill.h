// Writes of one value.
#pragma once
#include "dispatch/call.h"
#include "ops/math/fits.h"

namespace fb::cards {

struct fill_tensor_ : direct<fill_tensor_> {
  static constexpr auto schema = "fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)";
  static constexpr bool lazy_bits = true;
  static constexpr auto grad_name = "FillBackward3";
  static void check(const Tensor&, const Tensor& value) {
    FB_CHECK(value.ndim() == 0, "fill_: value must be a tensor without dimensions, its shape is ", value.sizes());
  }
  static Tensor d_self(grad<0> g) { return op<"zeros_like">(g); }
  static Tensor d_value(grad<0> g) { return op<"sum">(g); }
  using vjp = rules<wrt_zero<0, d_self>, wrt<1, d_value>>;
};
FB_CARD(fill_tensor_)

struct fill_ : direct<fill_> {
  static constexpr auto schema = "fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)";
  static constexpr bool lazy_bits = true;
  static constexpr auto grad_name = "FillBackward2";
  // One element of a half type takes what is too large as infinity.
  static void check(const Tensor& self, const Scalar& value) {
    const bool rounds = self.numel() == 1 && self.is_floating() && self.item_bytes() < 4;
    check_fits("fill_", value, rounds ? DType::f64 : self.dtype());
  }
  static Tensor d_self(grad<0> g) { return op<"zeros_like">(g); }
  using vjp = rules<wrt_zero<0, d_self>>;
  static constexpr auto doc = R"(fill_(value) -> Tensor

Writes value, a number or a tensor without dimensions, to every element.)";
};
FB_CARD(fill_)

struct zero_ : direct<zero_> {
  static constexpr auto schema = "zero_(Tensor(a!) self) -> Tensor(a!)";
  static constexpr bool lazy_bits = true;
  static void check(const Tensor&) {}
  static Tensor d_self(grad<0> g) { return op<"zeros_like">(g); }
  using vjp = rules<wrt_zero<0, d_self>>;
};
FB_CARD(zero_)

struct fill_tensor : lowered<fill_tensor> {
  static constexpr auto schema = "fill.Tensor(Tensor self, Tensor value) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "FillBackward1";
  static Tensor lowering(const Tensor& self, const Tensor& value) { return op<"fill_">(op<"empty_like">(self), value); }
  static Tensor d_self(grad<0> g) { return op<"zeros_like">(g); }
  static Tensor d_value(grad<0> g) { return op<"sum">(g); }
  using vjp = rules<wrt_zero<0, d_self>, wrt<1, d_value>>;
};
FB_CARD(fill_tensor)

struct fill : lowered<fill> {
  static constexpr auto schema = "fill.Scalar(Tensor self, Scalar value) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "FillBackward0";
  static Tensor lowering(const Tensor& self, const Scalar& value) { return op<"fill_">(op<"empty_like">(self), value); }
  static Tensor d_self(grad<0> g) { return op<"zeros_like">(g); }
  using vjp = rules<wrt_zero<0, d_self>>;
};
FB_CARD(fill)

}  // namespace fb::cards
