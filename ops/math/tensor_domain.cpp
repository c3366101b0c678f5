#include "ops/math/tensor_domain.h"

#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/math/constant_type.h"

namespace fb {

namespace {
thread_local DType constant_type = DType::none;

// Numbers are computed here, not by operators: modes and traces are not to see it.
bool is_constant(const Tensor& t) {
  return constant_type != DType::none && t->wrapped_number && t.ndim() == 0 && t.dtype() == DType::f64 && !(t->flags & kLayered) && t->storage && t->storage->data;
}
double number(const Tensor& c) { return *c.ptr<double>(); }
template <class F> Tensor computed(F f, const Tensor& a, const Tensor& b) {
  if (constant_type == DType::f64) return domain<Tensor>::constant(f(number(a), number(b)));
  return domain<Tensor>::constant(double(f(float(number(a)), float(number(b)))));
}
// A tensor of the type that the loops compute in, which is not the default type.
Tensor as_value(const Tensor& c) {
  const Tensor t = c.alias();
  t->wrapped_number = false;
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
  t->wrapped_number = true;
  return t;
}

#define FB_BINARY(o, name) \
  Tensor operator o(const Tensor& a, const Tensor& b) { \
    if (is_constant(a) && is_constant(b)) return computed([](auto x, auto y) { return x o y; }, a, b); \
    return op<name>(a, b); \
  } \
  Tensor operator o(const Tensor& a, double b) { return is_constant(a) ? a o domain<Tensor>::constant(b) : op<name>(a, b); }
FB_BINARY(+, "add")
FB_BINARY(-, "sub")
FB_BINARY(*, "mul")
FB_BINARY(/, "div.Tensor")
#undef FB_BINARY
Tensor operator-(const Tensor& a) { return is_constant(a) ? domain<Tensor>::constant(-number(a)) : op<"neg">(a); }
Tensor operator<(const Tensor& a, const Tensor& b) { return op<"lt">(a, b); }
Tensor operator<=(const Tensor& a, const Tensor& b) { return op<"le">(a, b); }
Tensor operator>(const Tensor& a, const Tensor& b) { return op<"gt">(a, b); }
Tensor operator>=(const Tensor& a, const Tensor& b) { return op<"ge">(a, b); }
Tensor operator==(const Tensor& a, const Tensor& b) { return op<"eq">(a, b); }
Tensor operator!=(const Tensor& a, const Tensor& b) { return op<"ne">(a, b); }
Tensor operator&(const Tensor& a, const Tensor& b) { return op<"logical_and">(a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return op<"logical_or">(a, b); }
Tensor operator!(const Tensor& a) { return op<"logical_not">(a); }
Tensor select(const Tensor& m, const Tensor& a, const Tensor& b) {
  const bool wide = constant_type == DType::f64 && default_dtype != DType::f64 && is_constant(a) && is_constant(b);
  return wide ? op<"where">(m, as_value(a), as_value(b)) : op<"where">(m, a, b);
}
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
