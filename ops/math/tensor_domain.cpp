#include "ops/math/tensor_domain.h"

#include "dispatch/call.h"
#include "ops/math/constant_type.h"

namespace fb {

namespace {
thread_local DType constant_type = DType::none;

bool is_constant(const Tensor& t) { return t->wrapped_number && t.ndim() == 0 && constant_type != DType::none; }
Tensor as_value(const Tensor& c) {
  const Tensor t = c.alias();
  t->wrapped_number = false;
  return t.dtype() == constant_type ? t : op<"to.dtype">(t, constant_type);
}
Tensor as_constant(const Tensor& t) {
  t->wrapped_number = true;
  return t;
}
}  // namespace

ConstantType::ConstantType(DType computed) : before_(constant_type) {
  const DType d = compute_type(to_real(computed));
  constant_type = is_floating(d) ? d : DType::none;
}
ConstantType::~ConstantType() { constant_type = before_; }

Tensor domain<Tensor>::constant(double c) {
  Tensor t = Tensor::empty({}, {DType::f64, Device()});
  *t.ptr<double>() = c;
  return as_constant(t);
}

#define FB_BINARY(o, name) \
  Tensor operator o(const Tensor& a, const Tensor& b) { \
    if (is_constant(a) && is_constant(b)) return as_constant(op<name>(as_value(a), as_value(b))); \
    return op<name>(a, b); \
  } \
  Tensor operator o(const Tensor& a, double b) { return is_constant(a) ? a o domain<Tensor>::constant(b) : op<name>(a, b); }
FB_BINARY(+, "add")
FB_BINARY(-, "sub")
FB_BINARY(*, "mul")
FB_BINARY(/, "div.Tensor")
#undef FB_BINARY
Tensor operator-(const Tensor& a) { return is_constant(a) ? as_constant(op<"neg">(as_value(a))) : op<"neg">(a); }
#define FB_COMPARISON(o, name) \
  Tensor operator o(const Tensor& a, const Tensor& b) { \
    return is_constant(a) && is_constant(b) ? op<name>(as_value(a), as_value(b)) : op<name>(a, b); \
  }
FB_COMPARISON(<, "lt")
FB_COMPARISON(<=, "le")
FB_COMPARISON(>, "gt")
FB_COMPARISON(>=, "ge")
FB_COMPARISON(==, "eq")
FB_COMPARISON(!=, "ne")
#undef FB_COMPARISON
Tensor operator&(const Tensor& a, const Tensor& b) { return op<"logical_and">(a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return op<"logical_or">(a, b); }
Tensor operator!(const Tensor& a) { return op<"logical_not">(a); }
Tensor select(const Tensor& m, const Tensor& a, const Tensor& b) {
  return is_constant(a) && is_constant(b) ? op<"where">(m, as_value(a), as_value(b)) : op<"where">(m, a, b);
}
Tensor fma(const Tensor& a, const Tensor& b, const Tensor& c) { return a * b + c; }
Tensor conj(const Tensor& a) { return a.is_complex() ? op<"conj">(a) : a; }
Tensor isnan(const Tensor& a) { return op<"ne">(a, a); }

#define FB_X(f) \
  Tensor f(const Tensor& a) { return is_constant(a) ? as_constant(op<#f>(as_value(a))) : op<#f>(a); }
FB_TENSOR_DOMAIN_UNARY(FB_X)
namespace math {
FB_TENSOR_MATH_UNARY(FB_X)
#undef FB_X
#define FB_X(f) \
  Tensor f(const Tensor& a) { return is_constant(a) ? as_constant(op<"special_" #f>(as_value(a))) : op<"special_" #f>(a); }
FB_TENSOR_SPECIAL_UNARY(FB_X)
#undef FB_X
Tensor pow(const Tensor& a, const Tensor& b) {
  return is_constant(a) && is_constant(b) ? as_constant(op<"pow">(as_value(a), as_value(b))) : op<"pow">(a, b);
}
Tensor atan2(const Tensor& a, const Tensor& b) { return op<"atan2">(a, b); }
}  // namespace math

}  // namespace fb
