#include "ops/math/tensor_domain.h"

#include "dispatch/call.h"

namespace fb {

Tensor domain<Tensor>::constant(double c) {
  Tensor t = Tensor::empty({}, {DType::f64, Device()});
  *t.ptr<double>() = c;
  t->wrapped_number = true;
  return t;
}

Tensor operator+(const Tensor& a, const Tensor& b) { return op<"add">(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return op<"sub">(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return op<"mul">(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return op<"div.Tensor">(a, b); }
Tensor operator-(const Tensor& a) { return op<"neg">(a); }
Tensor operator+(const Tensor& a, double b) { return op<"add">(a, b); }
Tensor operator-(const Tensor& a, double b) { return op<"sub">(a, b); }
Tensor operator*(const Tensor& a, double b) { return op<"mul">(a, b); }
Tensor operator/(const Tensor& a, double b) { return op<"div.Tensor">(a, b); }
Tensor operator<(const Tensor& a, const Tensor& b) { return op<"lt">(a, b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return op<"le">(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return op<"gt">(a, b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return op<"ge">(a, b); }
Tensor operator==(const Tensor& a, const Tensor& b) { return op<"eq">(a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return op<"ne">(a, b); }
Tensor operator&(const Tensor& a, const Tensor& b) { return op<"logical_and">(a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return op<"logical_or">(a, b); }
Tensor operator!(const Tensor& a) { return op<"logical_not">(a); }
Tensor select(const Tensor& m, const Tensor& a, const Tensor& b) { return op<"where">(m, a, b); }
Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c) { return a * b + c; }
Tensor conj(const Tensor& a) { return a.is_complex() ? op<"conj">(a) : a; }
Tensor isnan(const Tensor& a) { return op<"ne">(a, a); }

#define FB_X(f) \
  Tensor f(const Tensor& a) { return op<#f>(a); }
FB_TENSOR_DOMAIN_UNARY(FB_X)
namespace math {
FB_TENSOR_MATH_UNARY(FB_X)
#undef FB_X
#define FB_X(f) \
  Tensor f(const Tensor& a) { return op<"special_" #f>(a); }
FB_TENSOR_SPECIAL_UNARY(FB_X)
#undef FB_X
Tensor pow(const Tensor& a, const Tensor& b) { return op<"pow">(a, b); }
Tensor atan2(const Tensor& a, const Tensor& b) { return op<"atan2">(a, b); }
}  // namespace math

}  // namespace fb
