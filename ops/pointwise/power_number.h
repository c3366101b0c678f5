// Powers whose exponent is one number.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/fits.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"
#include "ops/pointwise/power_slopes.h"

namespace fb::cards {

struct PowTensorScalar : pointwise<PowTensorScalar> {
  static constexpr auto schema = "pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::of_tensors, grad_layout = ResultLayout::of_tensors;
  static constexpr auto aliases = "_.Scalar";
  static constexpr auto grad_name = "PowBackward0";
  static constexpr uint32_t types = types::floating | types::complex | types::integral;
  static constexpr uint64_t scalar_operands = 0b10;
  static constexpr int modes = 7;  // any exponent, 2, 3, 0.5, -0.5, -1, -2
  static int mode(const Value* args) {
    if (args[1].tag == Tag::complex) return 0;
    const double e = args[1].floating();
    return e == 2 ? 1 : e == 3 ? 2 : e == 0.5 ? 3 : e == -0.5 ? 4 : e == -1 ? 5 : e == -2 ? 6 : 0;
  }
  static void check(const Value* args, DType compute) {
    FB_CHECK(!is_integral(compute) || args[1].integer() >= 0, "pow: the exponent is ", args[1].integer(), " and the base of type ",
             compute, "; integers have no negative powers, convert to a floating type first");
    check_fits("pow", args[1].scalar(), compute);
  }
  template <class V, int M> static constexpr V fn(V x, V e) {
    if constexpr (is_number_v<V> && M == 1) return wrapped_product(x, x);
    else if constexpr (is_number_v<V> && M == 2) return wrapped_product(wrapped_product(x, x), x);
    else if constexpr (is_number_v<V>) return math::int_pow(x, e);
    else if constexpr (M == 1) return V(x * x);
    else if constexpr (M == 2) return V(V(x * x) * x);
    else if constexpr (M == 3) return math::sqrt(x);
    else if constexpr (M == 4) return k<V>(1) / math::sqrt(x);
    else if constexpr (M == 5) return k<V>(1) / x;
    else if constexpr (M == 6) return k<V>(1) / (x * x);
    else return math::pow(x, e);
  }
  template <class V, int M> static V vjp0(upstream<V> g, operand<0, V> x, operand<1, V> e) {
    if constexpr (M == 1) return g.v * conj(x.v + x.v);
    else if constexpr (M == 2) return g.v * conj(k<V>(3) * (x.v * x.v));
    else if constexpr (M == 3) return g.v * conj(k<V>(0.5) / math::sqrt(x.v));
    else if constexpr (M == 4) return g.v * conj(k<V>(-0.5) / (x.v * math::sqrt(x.v)));
    else if constexpr (M == 5) return g.v * conj(k<V>(-1) / (x.v * x.v));
    else if constexpr (M == 6) return g.v * conj(k<V>(-2) / (x.v * x.v * x.v));
    else return power_slope<V>(g, x, e);
  }
  static constexpr auto doc = R"(pow(input, exponent, *, out=None) -> Tensor

input ** exponent, with broadcasting and type promotion; either may be a number. Raises RuntimeError for integers to a
negative number; a tensor of negative integer exponents gives 0 but for bases 1 and -1.)";
};
FB_CARD(PowTensorScalar)

}  // namespace fb::cards
