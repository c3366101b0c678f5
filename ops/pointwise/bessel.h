// Bessel functions and Airy's Ai.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/bessel.h"
#include "ops/pointwise/gradient.h"
#include "ops/math/math.h"

namespace fb::cards {

struct I0 : pointwise<I0> {
  static constexpr auto schema = "i0(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_i0";
  static constexpr uint32_t forms = pointwise<I0>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::i0(x); }
  template <class V> static V d0(operand<0, V> x) { return math::i1(x.v); }
  static constexpr auto doc = R"(i0(input, *, out=None) -> Tensor

Modified Bessel function of the first kind and order 0.)";
};
FB_CARD(I0)

struct I0e : pointwise<I0e> {
  static constexpr auto schema = "special_i0e(Tensor self) -> Tensor";
  static constexpr auto grad_name = "SpecialI0EBackward0";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::i0e(x); }
  template <class V> static V d0(operand<0, V> x, value<V> y) { return math::i1e(x.v) - sign_of(x.v) * y.v; }
  template <class V> static V sign_of(const V& x) {
    if constexpr (std::is_same_v<V, Tensor>) return op<"sgn">(x);
    else return math::sign(x);
  }
  static constexpr auto doc = R"(i0e(input, *, out=None) -> Tensor

exp(-abs(input)) i0(input).)";
};
FB_CARD(I0e)

struct I1 : pointwise<I1> {
  static constexpr auto schema = "special_i1(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::i1(x); }
  template <class V> static V d0(operand<0, V> x, value<V> y) {
    const auto zero = x.v == k<V>(0);
    return select(zero, k<V>(0.5), math::i0(x.v) - y.v / select(zero, k<V>(1), x.v));
  }
  static constexpr auto doc = R"(i1(input, *, out=None) -> Tensor

Modified Bessel function of the first kind and order 1.)";
};
FB_CARD(I1)

struct I1e : pointwise<I1e> {
  static constexpr auto schema = "special_i1e(Tensor self) -> Tensor";
  static constexpr auto grad_name = "SpecialI1EBackward0";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::i1e(x); }
  template <class V> static V d0(operand<0, V> x, value<V> y) {
    const auto zero = x.v == k<V>(0);
    const V z = select(zero, k<V>(1), x.v);
    return select(zero, k<V>(0.5), math::i0e(x.v) - y.v * (I0e::sign_of(z) + k<V>(1) / z));
  }
  static constexpr auto doc = R"(i1e(input, *, out=None) -> Tensor

exp(-abs(input)) i1(input).)";
};
FB_CARD(I1e)

// Without a derivative, as in PyTorch.
template <class C> struct bessel_function : pointwise<C> {
  static constexpr uint32_t types = types::bit(DType::f32) | types::bit(DType::f64), forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr bool lane_by_lane = true;
};
#define FB_BESSEL_CARD(Struct, name, arg, text) FB_BESSEL_CARD_AS(Struct, name, name, arg, text)
#define FB_BESSEL_CARD_AS(Struct, name, function, arg, text)                                  \
  struct Struct : bessel_function<Struct> {                                                   \
    static constexpr auto schema = "special_" #name "(Tensor " arg ") -> Tensor";             \
    template <class V> static constexpr V fn(V x) { return math::function(x); }                         \
    static constexpr auto doc = #name "(input, *, out=None) -> Tensor\n\n" text;              \
  };                                                                                          \
  FB_CARD(Struct)
FB_BESSEL_CARD(BesselJ0, bessel_j0, "self", "Bessel function of the first kind and order 0.")
FB_BESSEL_CARD(BesselJ1, bessel_j1, "self", "Bessel function of the first kind and order 1.")
FB_BESSEL_CARD(BesselY0, bessel_y0, "self", "Bessel function of the second kind and order 0.")
FB_BESSEL_CARD(BesselY1, bessel_y1, "self", "Bessel function of the second kind and order 1.")
FB_BESSEL_CARD_AS(ModifiedBesselI0, modified_bessel_i0, i0, "self", "Modified Bessel function of the first kind and order 0.")
FB_BESSEL_CARD_AS(ModifiedBesselI1, modified_bessel_i1, i1, "self", "Modified Bessel function of the first kind and order 1.")
FB_BESSEL_CARD(ModifiedBesselK0, modified_bessel_k0, "self", "Modified Bessel function of the second kind and order 0.")
FB_BESSEL_CARD(ModifiedBesselK1, modified_bessel_k1, "self", "Modified Bessel function of the second kind and order 1.")
FB_BESSEL_CARD(ScaledModifiedBesselK0, scaled_modified_bessel_k0, "x", "exp(input) modified_bessel_k0(input).")
FB_BESSEL_CARD(ScaledModifiedBesselK1, scaled_modified_bessel_k1, "x", "exp(input) modified_bessel_k1(input).")
FB_BESSEL_CARD(SphericalBesselJ0, spherical_bessel_j0, "x", "sin(input) / input, 1 at 0.")
FB_BESSEL_CARD(AiryAi, airy_ai, "x", "Airy function Ai.")
#undef FB_BESSEL_CARD
#undef FB_BESSEL_CARD_AS

}  // namespace fb::cards
