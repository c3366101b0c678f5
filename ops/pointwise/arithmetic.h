// Sums, differences, products, negation.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/math/fits.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"

namespace fb::cards {

// alpha must fit the type that add and sub compute in.
inline void check_alpha(const char* name, const Value& alpha, DType compute) {
  FB_CHECK(alpha.tag != Tag::boolean || compute == DType::boolean, name, ": alpha is the bool ", alpha.boolean(),
           ", but the result's type is ", compute);
  FB_CHECK(alpha.tag != Tag::complex || is_complex(compute), name, ": alpha is complex, but the result's type is ", compute);
  FB_CHECK(alpha.tag != Tag::floating || !is_integral(compute, true), name, ": alpha is ", alpha.floating(),
           ", a floating number, but the result's type is ", compute);
  check_fits(name, alpha.scalar(), compute);
}
inline bool is_one(const Scalar& s) { return !s.is_complex() && s.to_double() == 1; }

struct Add : pointwise<Add> {
  static constexpr auto schema = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t types = types::all, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b, V alpha) {
    if constexpr (is_bool_v<V>) return V(a | (b & alpha));
    else if constexpr (is_real_v<V>) return fma(b, alpha, a);
    else if constexpr (is_number_v<V>) return wrapped_sum(a, wrapped_product(alpha, b));
    else return V(a + V(alpha * b));
  }
  static void check(const Value* args, DType compute) { check_alpha("add", args[2], compute); }
  static Tensor d_self(grad<0> g) { return g; }
  static Tensor d_other(grad<0> g, arg<2, Scalar> alpha) { return is_one(alpha.v) ? *g : op<"mul">(*g, alpha.v); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_other>>;
  static constexpr auto doc = R"(add(input, other, *, alpha=1, out=None) -> Tensor

input + alpha * other, with broadcasting and type promotion. For bool tensors this is `or`.)";
};
FB_CARD(Add)

// Differences of bool have no meaning that users agree on.
inline void check_sub(const char* name, const Value* args, DType compute) {
  for (int i = 0; i < 2; ++i)
    if (args[i].tag == Tag::boolean || (args[i].tag == Tag::tensor && args[i].t->dtype == DType::boolean))
      raise_not_implemented(name, ": argument ", i, " is of type bool; use logical_xor or ^ for bools, ~ to invert a mask");
  check_alpha(name, args[2], compute);
}

struct Sub : pointwise<Sub> {
  static constexpr auto schema = "sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto aliases = "subtract";
  static constexpr uint32_t types = types::floating | types::complex | types::integral, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b, V alpha) {
    if constexpr (is_real_v<V>) return fma(-b, alpha, a);
    else if constexpr (is_number_v<V>) return wrapped_difference(a, wrapped_product(alpha, b));
    else return V(a - V(alpha * b));
  }
  static void check(const Value* args, DType compute) { check_sub("sub", args, compute); }
  static Tensor d_self(grad<0> g) { return g; }
  static Tensor d_other(grad<0> g, arg<2, Scalar> alpha) {
    return is_one(alpha.v) ? op<"neg">(*g) : op<"mul">(*g, op<"neg">(op<"mul">(domain<Tensor>::constant(1), alpha.v)));
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_other>>;
  static constexpr auto doc = R"(sub(input, other, *, alpha=1, out=None) -> Tensor

input - alpha * other, with broadcasting and type promotion. Not for bool tensors.)";
};
FB_CARD(Sub)

struct Rsub : pointwise<Rsub> {
  static constexpr auto schema = "rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
  static constexpr auto aliases = ".Tensor_out";
  static constexpr uint32_t types = Sub::types, numbers = 0b10, forms = form::fn | form::out;
  template <class V> static constexpr V fn(V a, V b, V alpha) { return Sub::fn<V>(b, a, alpha); }
  static void check(const Value* args, DType compute) { check_sub("rsub", args, compute); }
  static Tensor d_self(grad<0> g, arg<2, Scalar> alpha) {
    return is_one(alpha.v) ? op<"neg">(*g) : op<"mul">(*g, op<"neg">(op<"mul">(domain<Tensor>::constant(1), alpha.v)));
  }
  static Tensor d_other(grad<0> g) { return g; }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_other>>;
  static constexpr auto doc = R"(rsub(input, other, *, alpha=1) -> Tensor

other - alpha * input.)";
};
FB_CARD(Rsub)

struct Mul : pointwise<Mul> {
  static constexpr auto schema = "mul.Tensor(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "multiply";
  static constexpr uint32_t types = types::all | types::wide_unsigned, numbers = 0b11;
  template <class V> static constexpr V fn(V a, V b) {
    if constexpr (is_bool_v<V>) return V(a & b);
    else if constexpr (is_number_v<V>) return wrapped_product(a, b);
    else return a * b;
  }
  template <class V> static V d0(operand<1, V> b) { return b; }
  template <class V> static V d1(operand<0, V> a) { return a; }
  static constexpr auto doc = R"(mul(input, other, *, out=None) -> Tensor

Elementwise product, with broadcasting and type promotion. For bool tensors this is `and`.)";
};
FB_CARD(Mul)

struct Neg : pointwise<Neg> {
  static constexpr auto schema = "neg(Tensor self) -> Tensor";
  static constexpr auto aliases = "negative";
  static constexpr uint32_t types = Sub::types, forms = pointwise<Neg>::forms | form::fn_inplace;
  template <class V> static constexpr V fn(V x) {
    if constexpr (is_number_v<V>) return wrapped_minus(x);
    else return -x;
  }
  template <class V> static V vjp0(upstream<V> g) { return -g.v; }
  static constexpr auto doc = R"(neg(input, *, out=None) -> Tensor

-input. Not for bool tensors.)";
};
FB_CARD(Neg)

struct Positive : composite<Positive> {
  static constexpr auto schema = "positive(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) {
    if (self.dtype() == DType::boolean) raise_not_implemented("positive: the + of a bool tensor (shape ", self.sizes(), ") is not defined");
    return self;
  }
  static constexpr auto doc = R"(positive(input) -> Tensor

input itself. Not for bool tensors.)";
};
FB_CARD(Positive)

struct Reciprocal : pointwise<Reciprocal> {
  static constexpr auto schema = "reciprocal(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::complex, forms = pointwise<Reciprocal>::forms | form::fn_inplace;
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return k<V>(1) / x; }
  template <class V> static V d0(value<V> y) { return -(y.v * y.v); }
  static constexpr auto doc = R"(reciprocal(input, *, out=None) -> Tensor

1 / input; integers give floating results.)";
};
FB_CARD(Reciprocal)

struct Square : composite<Square> {
  static constexpr auto schema = "square(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts;
  static Tensor body(const Tensor& self) { return op<"pow">(self, int64_t(2)); }
  static constexpr auto doc = R"(square(input, *, out=None) -> Tensor

input ** 2.)";
};
FB_CARD(Square)
struct SquareInPlace : composite<SquareInPlace> {
  static constexpr auto schema = "square_(Tensor(a!) self) -> Tensor(a!)";
  static Tensor body(const Tensor& self) { return op<"pow_">(self, int64_t(2)); }
};
FB_CARD(SquareInPlace)

}  // namespace fb::cards
