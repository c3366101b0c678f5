// Logarithms of one operand, and logit.
#pragma once
#include "dispatch/card.h"
#include "ops/math/math.h"

namespace fb::cards {

struct Log : pointwise<Log> {
  static constexpr auto schema = "log(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Log>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::log(x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) { return g.v / conj(x.v); }
  static constexpr auto doc = R"(log(input, *, out=None) -> Tensor

Natural logarithm; NaN for negative real input. Integers give floating results.)";
};
FB_CARD(Log)

struct Log2 : pointwise<Log2> {
  static constexpr auto schema = "log2(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Log2>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::log2(x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) { return g.v / conj(x.v * k<V>(0.69314718055994530942)); }
  static constexpr auto doc = R"(log2(input, *, out=None) -> Tensor

Logarithm to base 2. Integers give floating results.)";
};
FB_CARD(Log2)

struct Log10 : pointwise<Log10> {
  static constexpr auto schema = "log10(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Log10>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::log10(x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) { return g.v / conj(x.v * k<V>(2.30258509299404568402)); }
  static constexpr auto doc = R"(log10(input, *, out=None) -> Tensor

Logarithm to base 10. Integers give floating results.)";
};
FB_CARD(Log10)

struct Log1p : pointwise<Log1p> {
  static constexpr auto schema = "log1p(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_log1p";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Log1p>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::log1p(x); }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) { return g.v / conj(x.v + k<V>(1)); }
  static constexpr auto doc = R"(log1p(input, *, out=None) -> Tensor

log(1 + input), accurate near 0. Integers give floating results.)";
};
FB_CARD(Log1p)

struct Logit : pointwise<Logit> {
  static constexpr auto schema = "logit(Tensor self, float? eps=None) -> Tensor";
  static constexpr auto aliases = "special_logit";
  static constexpr uint32_t forms = pointwise<Logit>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr int modes = 2;  // as it is, or with input clamped to [eps, 1 - eps]
  static int mode(const Value* args) { return !args[1].is_none(); }
  template <class V, int M> static constexpr V fn(V x, V eps) {
    if constexpr (M) x = select(x < eps, eps, select(x > k<V>(1) - eps, k<V>(1) - eps, x));
    return math::log(x / (k<V>(1) - x));
  }
  template <class V, int M> static V vjp0(upstream<V> g, operand<0, V> x, attr<0, V> eps) {
    const V d = g.v / (x.v * (k<V>(1) - x.v));
    if constexpr (M) return select((x.v < eps.v) | (x.v > k<V>(1) - eps.v), k<V>(0), d);
    else return select((x.v < k<V>(0)) | (x.v > k<V>(1)), nan<V>(), d);
  }
  static constexpr auto doc = R"(logit(input, eps=None, *, out=None) -> Tensor

log(input / (1 - input)). With eps, input is first clamped to [eps, 1 - eps]; without, NaN outside [0, 1].)";
};
FB_CARD(Logit)

}  // namespace fb::cards
