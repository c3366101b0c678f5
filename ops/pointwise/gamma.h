// The gamma function and its relatives. Their math iterates, lane by lane.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/math/special.h"

namespace fb::cards {

struct Lgamma : pointwise<Lgamma> {
  static constexpr auto schema = "lgamma(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_gammaln";
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::lgamma(x); }
  template <class V> static V d0(operand<0, V> x) { return math::digamma(x.v); }
  static constexpr auto doc = R"(lgamma(input, *, out=None) -> Tensor

log(abs(gamma(input))). Integers give floating results.)";
};
FB_CARD(Lgamma)

template <class V> V polygamma_of(int64_t n, const V& x) {
  if constexpr (std::is_same_v<V, Tensor>) return op<"polygamma">(n, x);
  else return math::polygamma(n, x);
}

struct Digamma : pointwise<Digamma> {
  static constexpr auto schema = "digamma(Tensor self) -> Tensor";
  static constexpr auto aliases = "special_digamma special_psi";
  static constexpr Promotion promotion{.int_to_float = true};
  template <class V> static constexpr V fn(V x) { return math::digamma(x); }
  template <class V> static V d0(operand<0, V> x) {
    if constexpr (std::is_same_v<V, Tensor>) return op<"polygamma">(int64_t(1), x.v);
    else return math::trigamma(x.v);
  }
  static constexpr auto doc = R"(digamma(input, *, out=None) -> Tensor

Derivative of lgamma. Integers give floating results.)";
};
FB_CARD(Digamma)

struct Polygamma : pointwise<Polygamma> {
  static constexpr auto schema = "polygamma(int n, Tensor self) -> Tensor";
  static constexpr auto aliases = "special_polygamma";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr bool lane_by_lane = true, raw_attributes = true;
  static void check(const Value* args, DType) {
    FB_CHECK(args[0].integer() >= 0, "polygamma: n must be at least 0, ", args[0].integer(), " was given");
  }
  template <class V> static constexpr V fn(V x, double n) { return math::polygamma(int64_t(n), x); }
  static Tensor d_self(grad<0> g, arg<0, int64_t> n, in<1> x) { return *g * op<"polygamma">(int64_t(n.v + 1), *x); }
  using vjp = rules<wrt<1, d_self>>;
  static constexpr auto doc = R"(polygamma(n, input, *, out=None) -> Tensor

n-th derivative of digamma.)";
};
FB_CARD(Polygamma)
struct PolygammaInPlace : composite<PolygammaInPlace> {
  static constexpr auto schema = "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, int64_t n) {
    FB_CHECK(!is_integral(self.dtype(), true), "polygamma_: self is of type ", self.dtype(), " and shape ", self.sizes(),
             ", the result is floating and cannot be written to it");
    return op<"copy_">(self, op<"polygamma">(n, op<"clone">(self)));
  }
};
FB_CARD(PolygammaInPlace)

struct Mvlgamma : pointwise<Mvlgamma> {
  static constexpr auto schema = "mvlgamma(Tensor self, int p) -> Tensor";
  static constexpr ResultLayout layout = ResultLayout::row_major;
  static constexpr auto aliases = "special_multigammaln";
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr bool lane_by_lane = true, raw_attributes = true;
  static void check(const Value* args, DType) {
    FB_CHECK(args[1].integer() >= 1 && args[1].integer() <= 1 << 20, "mvlgamma: p must lie between 1 and ", 1 << 20, ", ", args[1].integer(),
             " was given");
    FB_CHECK(args[0].tag != Tag::tensor || args[0].t->dtype != DType::boolean, "mvlgamma: input is a bool tensor of shape ", args[0].t->sizes,
             "; convert it to numbers first");
  }
  template <class V> static constexpr V fn(V x, double p) {
    double sum = p * (p - 1) / 4 * 1.1447298858494001741;  // log pi
    for (int64_t i = 0; i < int64_t(p); ++i) sum += math::lgamma(double(x) - 0.5 * double(i));
    return V(sum);
  }
  static Tensor d_self(grad<0> g, in<0> x, arg<1, int64_t> p) {
    Tensor sum = op<"digamma">(*x);
    for (int64_t i = 1; i < p.v; ++i) sum = sum + op<"digamma">(*x - 0.5 * double(i));
    return *g * sum;
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(mvlgamma(input, p, *, out=None) -> Tensor

Logarithm of the gamma function of dimension p.)";
};
FB_CARD(Mvlgamma)

inline Tensor igamma_slope(const Tensor& a, const Tensor& x) {
  return op<"exp">((a - 1.0) * op<"log">(x) - x - op<"lgamma">(a));
}
struct Igamma : pointwise<Igamma> {
  static constexpr auto schema = "igamma(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "special_gammainc";
  static constexpr bool lane_by_lane = true;
  template <class V> static constexpr V fn(V a, V x) { return math::igamma(a, x); }
  static Tensor none(grad<0>) { raise_not_implemented("igamma has no derivative for its first argument"); }
  static Tensor d_other(grad<0> g, in<0> a, in<1> x) { return *g * igamma_slope(*a, *x); }
  using vjp = rules<wrt<0, none>, wrt<1, d_other>>;
  static constexpr auto doc = R"(igamma(input, other, *, out=None) -> Tensor

Regularised lower incomplete gamma function P(input, other).)";
};
FB_CARD(Igamma)
struct Igammac : pointwise<Igammac> {
  static constexpr auto schema = "igammac(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "special_gammaincc";
  static constexpr bool lane_by_lane = true;
  template <class V> static constexpr V fn(V a, V x) { return math::igammac(a, x); }
  static Tensor none(grad<0>) { raise_not_implemented("igammac has no derivative for its first argument"); }
  static Tensor d_other(grad<0> g, in<0> a, in<1> x) { return -(*g * igamma_slope(*a, *x)); }
  using vjp = rules<wrt<0, none>, wrt<1, d_other>>;
  static constexpr auto doc = R"(igammac(input, other, *, out=None) -> Tensor

Regularised upper incomplete gamma function Q(input, other).)";
};
FB_CARD(Igammac)

struct Zeta : pointwise<Zeta> {
  static constexpr auto schema = "special_zeta(Tensor self, Tensor other) -> Tensor";
  static constexpr auto grad_name = "SpecialZetaBackward0";
  static constexpr uint32_t types = types::bit(DType::f32) | types::bit(DType::f64), forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr bool lane_by_lane = true;
  template <class V> static constexpr V fn(V x, V q) { return math::zeta(x, q); }
  static Tensor none(grad<0>) { raise_not_implemented("zeta has no derivative for its first argument"); }
  static Tensor d_other(grad<0> g, in<0> x, in<1> q) { return -(*g * (*x * op<"special_zeta">(*x + 1.0, *q))); }
  using vjp = rules<wrt<0, none>, wrt<1, d_other>>;
  static constexpr auto doc = R"(zeta(input, other, *, out=None) -> Tensor

Hurwitz zeta function, the sum of (other + k) ** -input; either may be a number.)";
};
FB_CARD(Zeta)
struct ZetaSelf : pointwise<ZetaSelf> {
  static constexpr auto schema = "special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor";
  static constexpr auto grad_name = "SpecialZetaBackward1";
  static constexpr uint32_t types = Zeta::types, forms = form::special | form::out;
  static constexpr uint64_t scalar_operands = 0b01;
  static constexpr Promotion promotion{.int_to_float = true};
  using loops = Zeta;
  static Tensor d_other(grad<0> g, arg<0, double> x, in<1> q) { return *g * op<"special_zeta">(x.v + 1, *q) * -x.v; }
  using vjp = rules<wrt<1, d_other>>;
};
FB_CARD(ZetaSelf)
struct ZetaOther : pointwise<ZetaOther> {
  static constexpr auto schema = "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor";
  static constexpr auto grad_name = "SpecialZetaBackward2";
  static constexpr uint32_t types = Zeta::types, forms = form::special | form::out;
  static constexpr uint64_t scalar_operands = 0b10;
  static constexpr Promotion promotion{.int_to_float = true};
  using loops = Zeta;
  static Tensor none(grad<0>) { raise_not_implemented("zeta has no derivative for its first argument"); }
  using vjp = rules<wrt<0, none>>;
};
FB_CARD(ZetaOther)

}  // namespace fb::cards
