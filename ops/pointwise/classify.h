// What kind of number an element is: bool tensors, without a derivative.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/math/integer.h"
#include "ops/math/math.h"

namespace fb::cards {

template <class C> struct classifier : pointwise<C> {
  static constexpr uint32_t types = types::all | types::wide_unsigned, forms = form::fn | form::method;
  static constexpr Promotion promotion{.result = ResultType::boolean};
};

struct Isnan : classifier<Isnan> {
  static constexpr auto schema = "isnan(Tensor self) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return k<mask_t<V>>(false);
    else return isnan(x);
  }
  static constexpr auto doc = R"(isnan(input) -> Tensor

Whether each element is NaN (in either part, for complex input).)";
};
FB_CARD(Isnan)

struct Isinf : classifier<Isinf> {
  static constexpr auto schema = "isinf(Tensor self) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return k<mask_t<V>>(false);
    else if constexpr (is_complex_v<V>) return fn(x.re) || fn(x.im);
    else return abs(x) == inf<V>();
  }
  static constexpr auto doc = R"(isinf(input) -> Tensor

Whether each element is infinite (in either part, for complex input).)";
};
FB_CARD(Isinf)

struct Isfinite : classifier<Isfinite> {
  static constexpr auto schema = "isfinite(Tensor self) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return k<mask_t<V>>(true);
    else if constexpr (is_complex_v<V>) return fn(x.re) && fn(x.im);
    else return abs(x) < inf<V>();
  }
  static constexpr auto doc = R"(isfinite(input) -> Tensor

Whether each element is neither infinite nor NaN.)";
};
FB_CARD(Isfinite)

inline void check_ordered(const char* name, DType compute) {
  FB_CHECK(!is_complex(compute), name, ": complex numbers have no sign, ", compute, " was given");
}

struct Isposinf : classifier<Isposinf> {
  static constexpr auto schema = "isposinf(Tensor self) -> Tensor";
  static constexpr uint32_t types = types::floating | types::integral | types::boolean | types::wide_unsigned;
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_exact;
  static void check(const Value*, DType compute) { check_ordered("isposinf", compute); }
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return k<mask_t<V>>(false);
    else return x == inf<V>();
  }
  static constexpr auto doc = R"(isposinf(input, *, out=None) -> Tensor

Whether each element is +inf. RuntimeError for complex input.)";
};
FB_CARD(Isposinf)

struct Isneginf : classifier<Isneginf> {
  static constexpr auto schema = "isneginf(Tensor self) -> Tensor";
  static constexpr uint32_t types = Isposinf::types, forms = Isposinf::forms;
  static void check(const Value*, DType compute) { check_ordered("isneginf", compute); }
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return k<mask_t<V>>(false);
    else return x == -inf<V>();
  }
  static constexpr auto doc = R"(isneginf(input, *, out=None) -> Tensor

Whether each element is -inf. RuntimeError for complex input.)";
};
FB_CARD(Isneginf)

struct Isreal : classifier<Isreal> {
  static constexpr auto schema = "isreal(Tensor self) -> Tensor";
  template <class V> static constexpr mask_t<V> fn(V x) {
    if constexpr (is_number_v<V>) return k<mask_t<V>>(true);
    else if constexpr (is_complex_v<V>) return x.im == 0;
    else return (x == x) | (x != x);
  }
  static constexpr auto doc = R"(isreal(input) -> Tensor

Whether each element's imaginary part is 0.)";
};
FB_CARD(Isreal)

struct Isclose : pointwise<Isclose> {
  static constexpr auto schema = "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor";
  static constexpr uint32_t types = types::all | types::wide_unsigned, forms = form::fn | form::method;
  static constexpr Promotion promotion{.result = ResultType::boolean};
  static constexpr int modes = 2;  // NaN differs from NaN, or not
  static int mode(const Value* args) { return args[4].boolean(); }
  static void check(const Value* args, DType) {
    const DType a = args[0].t->dtype, b = args[1].t->dtype;
    FB_CHECK(a == b, "isclose: input is ", a, " and other is ", b, "; both must have one type");
    FB_CHECK(args[2].floating() >= 0, "isclose: rtol must be at least 0, ", args[2].floating(), " was given");
    FB_CHECK(args[3].floating() >= 0, "isclose: atol must be at least 0, ", args[3].floating(), " was given");
  }
  // The tolerances do not fit integers: attributes come as the numbers they are.
  static constexpr bool raw_attributes = true;
  template <class V, int M> static constexpr mask_t<V> fn(V a, V b, double rtol, double atol, double) {
    if constexpr (is_number_v<V>) {
      const auto x = in_f64(a), y = in_f64(b);
      using D = std::remove_const_t<decltype(x)>;
      return abs(x - y) <= k<D>(atol) + abs(k<D>(rtol) * y);
    } else if constexpr (is_complex_v<V>) {
      const double d = math::abs(cdouble(a) - cdouble(b));
      if (M && isnan(a) && isnan(b)) return true;
      return a == b || (d < __builtin_inf() && d <= atol + math::abs(cdouble(b) * cdouble(rtol)));
    } else {
      const V d = abs(a - b);
      auto close = (a == b) | ((d < inf<V>()) & (d <= k<V>(atol) + abs(k<V>(rtol) * b)));
      if constexpr (M) close = close | (isnan(a) & isnan(b));
      return close;
    }
  }
  static constexpr auto doc = R"(isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False) -> Tensor

Whether abs(input - other) <= atol + rtol * abs(other); equal infinities are close, NaN is close to NaN if equal_nan.)";
};
FB_CARD(Isclose)

}  // namespace fb::cards
