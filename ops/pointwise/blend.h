// Choosing and mixing: where, lerp, addcmul, addcdiv, nan_to_num, nextafter.
#pragma once
#include <limits>

#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Where : pointwise<Where> {
  static constexpr auto schema = "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor";
  static constexpr auto grad_name = "WhereBackward0";
  static constexpr uint32_t types = types::all | types::wide_unsigned, numbers = 0b110, bool_operands = 0b001;
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static void check(const Value* args, DType) {
    const DType d = args[0].t->dtype;
    FB_CHECK(d == DType::boolean || d == DType::u8, "where: condition must be a bool tensor, ", d, " of shape ", args[0].t->sizes, " was given");
  }
  template <class V> static V fn(mask_t<V> c, V a, V b) { return select(c, a, b); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> c) { return masked(c.v != k<V>(0), g.v); }
  template <class V> static V vjp2(upstream<V> g, operand<0, V> c) { return select(c.v != k<V>(0), k<V>(0), g.v); }
  static constexpr auto doc = R"(where(condition, input, other, *, out=None) -> Tensor

input where condition (a bool tensor) holds, else other; either may be a number. where(condition) alone is
nonzero(condition, as_tuple=True).)";
};
FB_CARD(Where)
struct WhereIndices : composite<WhereIndices> {
  static constexpr auto schema = "where(Tensor condition) -> Tensor[]";
  static constexpr uint32_t forms = form::fn;
  static std::vector<Tensor> body(const Tensor& condition) { return op_list<"nonzero_numpy">(condition); }
};
FB_CARD(WhereIndices)
struct LerpScalar : pointwise<LerpScalar> {
  static constexpr auto schema = "lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor";
  static constexpr auto grad_name = "LerpBackward0";
  static constexpr uint32_t types = types::floating | types::complex;
  static void check(const Value* args, DType) {
    FB_CHECK(args[0].t->dtype == args[1].t->dtype, "lerp: input is ", args[0].t->dtype, " and end is ", args[1].t->dtype, "; both must have one type");
  }
  // From the nearer end, so that weight 1 gives end exactly.
  template <class V> static V fn(V a, V b, V w) {
    if constexpr (is_complex_v<V>) return math::abs(w) < 0.5 ? a + w * (b - a) : b - (b - a) * (V(1) - w);
    else return select(abs(w) < k<V>(0.5), fma(w, b - a, a), b - (b - a) * (k<V>(1) - w));
  }
  template <class V> static V d0(attr<0, V> w) { return k<V>(1) - w.v; }
  template <class V> static V d1(attr<0, V> w) { return w; }
  static constexpr auto doc = R"(lerp(input, end, weight, *, out=None) -> Tensor

input + weight * (end - input); weight is a number or a tensor. All tensors must have one type.)";
};
FB_CARD(LerpScalar)
struct LerpTensor : pointwise<LerpTensor> {
  static constexpr auto schema = "lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor";
  static constexpr auto grad_name = "LerpBackward1";
  static constexpr uint32_t types = types::floating | types::complex;
  static void check(const Value* args, DType compute) {
    LerpScalar::check(args, compute);
    FB_CHECK(args[0].t->dtype == args[2].t->dtype, "lerp: input is ", args[0].t->dtype, " and weight is ", args[2].t->dtype, "; both must have one type");
  }
  template <class V> static V fn(V a, V b, V w) { return LerpScalar::fn<V>(a, b, w); }
  template <class V> static V d0(operand<2, V> w) { return k<V>(1) - w.v; }
  template <class V> static V d1(operand<2, V> w) { return w; }
  template <class V> static V d2(operand<0, V> a, operand<1, V> b) { return b.v - a.v; }
};
FB_CARD(LerpTensor)

struct Addcmul : pointwise<Addcmul> {
  static constexpr auto schema = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex | types::integral;
  template <class V> static V fn(V x, V a, V b, V v) { return V(x + V(V(v * a) * b)); }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V d1(operand<2, V> b, attr<0, V> v) { return v.v * b.v; }
  template <class V> static V d2(operand<1, V> a, attr<0, V> v) { return v.v * a.v; }
  static constexpr auto doc = R"(addcmul(input, tensor1, tensor2, *, value=1, out=None) -> Tensor

input + value * tensor1 * tensor2.)";
};
FB_CARD(Addcmul)

struct Addcdiv : pointwise<Addcdiv> {
  static constexpr auto schema = "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex;
  static void check(const Value* args, DType compute) {
    FB_CHECK(!is_integral(compute, true), "addcdiv: the operands are of type ", compute, ", which has no quotients; use a floating type");
  }
  template <class V> static V fn(V x, V a, V b, V v) { return x + v * (a / b); }
  template <class V> static V vjp0(upstream<V> g) { return g; }
  template <class V> static V vjp1(upstream<V> g, operand<2, V> b, attr<0, V> v) { return g.v * conj(v.v / b.v); }
  template <class V> static V vjp2(upstream<V> g, operand<1, V> a, operand<2, V> b, attr<0, V> v) {
    return -(g.v * conj(v.v * ((a.v / b.v) / b.v)));
  }
  static constexpr auto doc = R"(addcdiv(input, tensor1, tensor2, *, value=1, out=None) -> Tensor

input + value * tensor1 / tensor2, for floating and complex tensors.)";
};
FB_CARD(Addcdiv)

struct NanToNum : pointwise<NanToNum> {
  static constexpr auto schema = "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor";
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
  template <class V> static V fn(V x, V nan, V pos, V neg) {
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
