// Numbers in place of NaN and infinities; the neighbour of a number in its format.
#pragma once
#include <limits>
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct NanToNum : pointwise<NanToNum> {
  static constexpr auto schema = "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::as_first;
  static constexpr uint32_t types = types::all | types::wide_unsigned, forms = pointwise<NanToNum>::forms | form::fn_inplace;
  static double largest(DType d) {
    switch (to_real(d)) {
      case DType::f16: return 65504;
      case DType::bf16: return 0x1.fep127;
      case DType::f64: return 0x1.fffffffffffffp1023;
      default: return 0x1.fffffep127;
    }
  }
  static void attributes(const Value* args, DType compute, Scalar* to) {
    to[0] = args[1].is_none() ? Scalar(0.0) : args[1].scalar();
    to[1] = args[2].is_none() ? Scalar(largest(compute)) : args[2].scalar();
    to[2] = args[3].is_none() ? Scalar(-largest(compute)) : args[3].scalar();
  }
  template <class V> static constexpr V fn(V x, V nan, V pos, V neg) {
    if constexpr (is_number_v<V>) return x;
    else if constexpr (is_complex_v<V>) return V(fn(x.re, nan.re, pos.re, neg.re), fn(x.im, nan.re, pos.re, neg.re));
    else return select(isnan(x), nan, select(x == inf<V>(), pos, select(x == -inf<V>(), neg, x)));
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> x) {
    if constexpr (is_complex_v<V>) return V(x.v.re - x.v.re == 0 ? g.v.re : 0, x.v.im - x.v.im == 0 ? g.v.im : 0);
    else return masked(x.v - x.v == k<V>(0), g.v);
  }
  static constexpr auto doc = R"(nan_to_num(input, nan=0.0, posinf=None, neginf=None, *, out=None) -> Tensor

NaN and infinities replaced, by default by 0 and by the type's largest and least values. The derivative there is 0.)";
};
FB_CARD(NanToNum)

struct Nextafter : pointwise<Nextafter> {
  static constexpr auto schema = "nextafter(Tensor self, Tensor other) -> Tensor";
  static constexpr bool storage_lanes = true;  // the neighbour in the stored format
  template <class T> static T fn(T a, T b) {
    using I = std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>;
    using F = std::conditional_t<sizeof(T) == 2, float, T>;
    const F x = F(a), y = F(b);
    if (x != x) return a;
    if (y != y || x == y) return b;
    I i = std::bit_cast<I>(a);
    if (x == 0) return std::bit_cast<T>(y > 0 ? I(1) : I(std::numeric_limits<I>::min() + 1));
    return std::bit_cast<T>(I((x < y) == (i > 0) ? i + 1 : i - 1));
  }
  template <class V> static V vjp0(upstream<V> g, operand<0, V> a, operand<1, V> b) { return masked(a.v != b.v, g.v); }
  template <class V> static V vjp1(upstream<V> g) { return no_gradient(g.v); }
  static constexpr auto doc = R"(nextafter(input, other, *, out=None) -> Tensor

The next number after input towards other, in the tensors' type.)";
};
FB_CARD(Nextafter)

}  // namespace fb::cards
