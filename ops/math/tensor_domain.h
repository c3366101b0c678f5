// The domain of tensors: the text of a derivative, run on tensors, is a differentiable program over other cards.
// A named function is its card here. Bodies are defined in ops/math/tensor_domain.cpp.
#pragma once
#include "core/tensor.h"
#include "ops/math/number_domain.h"  // before math.h, whose templates look these names up
#include "ops/math/math.h"

namespace fb {

template <> struct domain<Tensor> {
  using lane = double;
  using integer = Tensor;
  using mask = Tensor;
  static constexpr int lanes = 1;
  static Tensor constant(double c);
};

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator<(const Tensor& a, const Tensor& b);
Tensor operator<=(const Tensor& a, const Tensor& b);
Tensor operator>(const Tensor& a, const Tensor& b);
Tensor operator>=(const Tensor& a, const Tensor& b);
Tensor operator==(const Tensor& a, const Tensor& b);
Tensor operator!=(const Tensor& a, const Tensor& b);
Tensor operator&(const Tensor& a, const Tensor& b);
Tensor operator|(const Tensor& a, const Tensor& b);
Tensor operator!(const Tensor& a);
Tensor select(const Tensor& m, const Tensor& a, const Tensor& b);
Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c);
Tensor conj(const Tensor& a);
Tensor isnan(const Tensor& a);

#define FB_TENSOR_DOMAIN_UNARY(X) \
  X(sqrt) X(abs) X(floor) X(ceil) X(trunc)
#define FB_TENSOR_MATH_UNARY(X)                                                                                   \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh)   \
  X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(sigmoid) X(erf) X(erfc) X(erfinv) X(rsqrt) X(lgamma) X(digamma)    \
  X(i0) X(sqrt) X(abs) X(reciprocal) X(sgn)
#define FB_TENSOR_SPECIAL_UNARY(X) X(i0e) X(i1) X(i1e) X(ndtr) X(ndtri) X(log_ndtr)
#define FB_X(f) Tensor f(const Tensor& a);
FB_TENSOR_DOMAIN_UNARY(FB_X)
namespace math {
FB_TENSOR_MATH_UNARY(FB_X)
FB_TENSOR_SPECIAL_UNARY(FB_X)
Tensor pow(const Tensor& a, const Tensor& b);
Tensor atan2(const Tensor& a, const Tensor& b);
}  // namespace math
#undef FB_X

}  // namespace fb
