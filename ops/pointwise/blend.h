// Choosing and mixing: where, lerp, addcmul, addcdiv, nan_to_num, nextafter.
#pragma once
#include <limits>

#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "dispatch/shape_of_values.h"
#include "ops/math/fits.h"
#include "ops/math/math.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Where : pointwise<Where> {
  static constexpr auto schema = "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor";
  static constexpr ResultLayout grad_layout = ResultLayout::second_first;
  static constexpr auto grad_name = "WhereBackward0";
  static constexpr uint32_t types = types::all | types::wide_unsigned, numbers = 0b110, bool_operands = 0b001;
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_exact;
  static void check(const Value* args, DType compute) {
    const DType d = args[0].t->dtype;
    FB_CHECK(d == DType::boolean || d == DType::u8, "where: condition must be a bool tensor, ", d, " of shape ", args[0].t->sizes, " was given");
    for (int i = 1; i < 3; ++i)  // beside half types a number may become infinite
      if (args[i].is_number()) check_fits("where", args[i].scalar(), is_floating(compute) && item_size(compute) < 4 ? DType::f64 : compute);
  }
  template <class V> static constexpr V fn(mask_t<V> c, V a, V b) { return select(c, a, b); }
  template <class V> static V vjp1(upstream<V> g, operand<0, V> c) { return masked(c.v != k<V>(0), g.v); }
  template <class V> static V vjp2(upstream<V> g, operand<0, V> c) { return select(c.v != k<V>(0), k<V>(0), g.v); }
  static constexpr auto doc = R"(where(condition, input, other, *, out=None) -> Tensor

input where condition (a bool tensor) holds, else other; either may be a number. where(condition) alone is
nonzero(condition, as_tuple=True).)";
};
FB_CARD(Where)
struct WhereIndices : composite<WhereIndices> {
  static constexpr auto schema = "where(Tensor condition) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::shape_of_values;
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
  template <class V> static constexpr V fn(V a, V b, V w) {
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
  static constexpr auto aliases = ".Tensor_out";
  static constexpr auto grad_name = "LerpBackward1";
  static constexpr uint32_t types = types::floating | types::complex;
  static void check(const Value* args, DType compute) {
    LerpScalar::check(args, compute);
    FB_CHECK(args[0].t->dtype == args[2].t->dtype, "lerp: input is ", args[0].t->dtype, " and weight is ", args[2].t->dtype, "; both must have one type");
  }
  template <class V> static constexpr V fn(V a, V b, V w) { return LerpScalar::fn<V>(a, b, w); }
  template <class V> static V d0(operand<2, V> w) { return k<V>(1) - w.v; }
  template <class V> static V d1(operand<2, V> w) { return w; }
  template <class V> static V d2(operand<0, V> a, operand<1, V> b) { return b.v - a.v; }
};
FB_CARD(LerpTensor)

}  // namespace fb::cards
