// The error function and the normal distribution.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

inline constexpr double two_over_sqrt_pi = 1.1283791670955125739;

struct Erf : pointwise<Erf> {
  static constexpr auto schema = "erf(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_erf";
  static constexpr uint32_t forms = pointwise<Erf>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::erf(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(two_over_sqrt_pi) * math::exp(-(x.v * x.v)); }
  static constexpr auto doc = R"(erf(input, *, out=None) -> Tensor

Error function. Integers give floating results.)";
};
FB_CARD(Erf)

struct Erfc : pointwise<Erfc> {
  static constexpr auto schema = "erfc(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_erfc";
  static constexpr uint32_t forms = pointwise<Erfc>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::erfc(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(-two_over_sqrt_pi) * math::exp(-(x.v * x.v)); }
  static constexpr auto doc = R"(erfc(input, *, out=None) -> Tensor

1 - erf(input), accurate for large input. Integers give floating results.)";
};
FB_CARD(Erfc)

struct Erfinv : pointwise<Erfinv> {
  static constexpr auto schema = "erfinv(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_erfinv";
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::erfinv(x); }
  template <class V> static V d0(operand<0, V> x) {  // the result may be written: initialisers scale it in place
    const V y = math::erfinv(x.v);
    return k<V>(1 / two_over_sqrt_pi) * math::exp(y * y);
  }
  static constexpr auto doc = R"(erfinv(input, *, out=None) -> Tensor

Inverse of erf, on (-1, 1). Integers give floating results.)";
};
FB_CARD(Erfinv)

struct Erfcx : pointwise<Erfcx> {
  static constexpr auto schema = "special_erfcx(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::bit(DType::f32) | types::bit(DType::f64), forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::erfcx(x); }
  template <class V> static V d0(operand<0, V> x, value<V> y) { return k<V>(2) * (x.v * y.v) - k<V>(two_over_sqrt_pi); }
  static constexpr auto doc = R"(erfcx(input, *, out=None) -> Tensor

exp(input^2) erfc(input).)";
};
FB_CARD(Erfcx)

struct Ndtr : pointwise<Ndtr> {
  static constexpr auto schema = "special_ndtr(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::ndtr(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(0.39894228040143267794) * math::exp(k<V>(-0.5) * (x.v * x.v)); }
  static constexpr auto doc = R"(ndtr(input, *, out=None) -> Tensor

Distribution function of the standard normal.)";
};
FB_CARD(Ndtr)

struct Ndtri : pointwise<Ndtri> {
  static constexpr auto schema = "special_ndtri(Tensor self) -> Tensor";
  static constexpr uint32_t types = Erfcx::types, forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V p) { return math::ndtri(p); }
  template <class V> static V d0(value<V> y) { return k<V>(2.5066282746310005024) * math::exp(k<V>(0.5) * (y.v * y.v)); }
  static constexpr auto doc = R"(ndtri(input, *, out=None) -> Tensor

Inverse of ndtr, on (0, 1).)";
};
FB_CARD(Ndtri)

struct LogNdtr : pointwise<LogNdtr> {
  static constexpr auto schema = "special_log_ndtr(Tensor self) -> Tensor";
  static constexpr uint32_t types = Erfcx::types, forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::log_ndtr(x); }
  // The density over the distribution, by erfcx so that neither vanishes.
  template <class V> static V d0(operand<0, V> x) {
    if constexpr (std::is_same_v<V, Tensor>) return op<"div">(k<V>(0.79788456080286535588), op<"special_erfcx">(x.v * k<V>(-0.70710678118654752440)));
    else return k<V>(0.79788456080286535588) / math::erfcx(x.v * k<V>(-0.70710678118654752440));
  }
  static constexpr auto doc = R"(log_ndtr(input, *, out=None) -> Tensor

Logarithm of ndtr, accurate far below 0.)";
};
FB_CARD(LogNdtr)

struct Entr : pointwise<Entr> {
  static constexpr auto schema = "special_entr(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::entr(x); }
  template <class V> static V d0(operand<0, V> x) { return k<V>(-1) - math::log(x.v); }
  static constexpr auto doc = R"(entr(input, *, out=None) -> Tensor

-input * log(input); 0 at 0, -inf below.)";
};
FB_CARD(Entr)

}  // namespace fb::cards
