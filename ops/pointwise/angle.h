// Angles and distances in the plane.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Sinc : pointwise<Sinc> {
  static constexpr auto schema = "sinc(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_sinc";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Sinc>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) {
    const V z = x * k<V>(math::pi);
    return select(x == k<V>(0), k<V>(1), math::sin(z) / z);
  }
  template <class V> static V d0(operand<0, V> x) {
    const auto zero = x.v == k<V>(0);
    const V z = x.v * k<V>(math::pi), d = (math::cos(z) * z - math::sin(z)) / (z * select(zero, k<V>(1), x.v));
    return select(zero, k<V>(0), d);
  }
  static constexpr auto doc = R"(sinc(input, *, out=None) -> Tensor

sin(pi input) / (pi input), 1 at 0.)";
};
FB_CARD(Sinc)

struct Deg2rad : pointwise<Deg2rad> {
  static constexpr auto schema = "deg2rad(Tensor self) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t forms = pointwise<Deg2rad>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  static void check(const Value*, DType compute) { FB_CHECK(!is_complex(compute), "deg2rad: angles are real numbers, ", compute, " was given"); }
  template <class V> static constexpr V fn(V x) { return x * k<V>(0.017453292519943295769); }
  template <class V> static V vjp0(upstream<V> g) { return g.v * k<V>(0.017453292519943295769); }
  static constexpr auto doc = R"(deg2rad(input, *, out=None) -> Tensor

Degrees as radians.)";
};
FB_CARD(Deg2rad)

struct Rad2deg : pointwise<Rad2deg> {
  static constexpr auto schema = "rad2deg(Tensor self) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t forms = pointwise<Rad2deg>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  static void check(const Value*, DType compute) { FB_CHECK(!is_complex(compute), "rad2deg: angles are real numbers, ", compute, " was given"); }
  template <class V> static constexpr V fn(V x) { return x * k<V>(57.295779513082320877); }
  template <class V> static V vjp0(upstream<V> g) { return g.v * k<V>(57.295779513082320877); }
  static constexpr auto doc = R"(rad2deg(input, *, out=None) -> Tensor

Radians as degrees.)";
};
FB_CARD(Rad2deg)

struct Atan2 : pointwise<Atan2> {
  static constexpr auto schema = "atan2(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "arctan2";
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V a, V b) { return math::atan2(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) {
    const V r = a.v * a.v + b.v * b.v;
    return select(r == k<V>(0), k<V>(0), g.v * (b.v / r));
  }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> a, operand<1, V> b) {
    const V r = a.v * a.v + b.v * b.v;
    return select(r == k<V>(0), k<V>(0), g.v * (-a.v / r));
  }
  static constexpr auto doc = R"(atan2(input, other, *, out=None) -> Tensor

Angle of the point (x = other, y = input), in (-pi, pi].)";
};
FB_CARD(Atan2)

struct Hypot : pointwise<Hypot> {
  static constexpr auto schema = "hypot(Tensor self, Tensor other) -> Tensor";
  template <class V> static constexpr V fn(V a, V b) { return math::hypot(a, b); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, value<V> y) { return g.v * (a.v / y.v); }
  template <class V> static V vjp1(upstream<V> g, operand<1, V> b, value<V> y) { return g.v * (b.v / y.v); }
  static constexpr auto doc = R"(hypot(input, other, *, out=None) -> Tensor

sqrt(input^2 + other^2), without overflow of the squares.)";
};
FB_CARD(Hypot)

}  // namespace fb::cards
