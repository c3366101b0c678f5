// The compiler's value as a domain of scalar math (ops/math/domain.h): Of<float> stands for an f32 value of the program
// under construction, with any number of lanes; its operators append to the current builder. The text of a card, run on
// such values, writes the card's program.
//
// Included before any card header: named functions (exp, sin ...) are found here first and become calls.
#pragma once
#include "compile/tile/builder.h"
#include "compile/tile/named.h"
#include "ops/math/integer.h"

namespace fb::tile {

template <class T> struct Of { Id id = kNone; };
using Truth = Of<bool>;

template <class T> inline constexpr bool is_of = false;
template <class T> inline constexpr bool is_of<Of<T>> = true;

// Constants are made once for each place they are written; passes/share_equal.cpp joins them.
template <class T> Of<T> constant(T c) {
  if constexpr (std::is_floating_point_v<T>) return {Builder::current().real(elem<T>, c)};
  else return {Builder::current().constant_bits(elem<T>, int64_t(c) & (sizeof(T) == 8 ? -1 : (int64_t(1) << (8 * sizeof(T) % 64)) - 1))};
}
inline Id append(Op op, Id a) { return Builder::current().apply(op, a); }
inline Id append(Op op, Id a, Id b) { return Builder::current().apply(op, a, b); }
inline Id append(Op op, Id a, Id b, Id c) { return Builder::current().apply(op, a, b, c); }

#define FB_TILE_BINARY(sign, op) \
  template <class T> Of<T> operator sign(Of<T> a, Of<T> b) { return {append(Op::op, a.id, b.id)}; }
FB_TILE_BINARY(+, add) FB_TILE_BINARY(-, sub) FB_TILE_BINARY(*, mul) FB_TILE_BINARY(/, div)
FB_TILE_BINARY(&, bit_and) FB_TILE_BINARY(|, bit_or) FB_TILE_BINARY(^, bit_xor)
#undef FB_TILE_BINARY
#define FB_TILE_COMPARE(sign, op) \
  template <class T> Truth operator sign(Of<T> a, Of<T> b) { return {append(Op::op, a.id, b.id)}; }
FB_TILE_COMPARE(<, lt) FB_TILE_COMPARE(<=, le) FB_TILE_COMPARE(>, gt) FB_TILE_COMPARE(>=, ge)
FB_TILE_COMPARE(==, eq) FB_TILE_COMPARE(!=, ne)
#undef FB_TILE_COMPARE
template <class T> Of<T> operator-(Of<T> a) { return {append(Op::neg, a.id)}; }
template <class T> Of<T> operator~(Of<T> a) { return {append(Op::bit_not, a.id)}; }
inline Truth operator!(Truth a) { return {append(Op::bit_not, a.id)}; }
template <class T> Of<T> operator<<(Of<T> a, int n) { return {append(Op::shl, a.id, constant<T>(T(n)).id)}; }
template <class T> Of<T> operator>>(Of<T> a, int n) { return {append(Op::sar, a.id, constant<T>(T(n)).id)}; }
template <class T> Of<T> shift_right_logical(Of<T> a, int n) { return {append(Op::shr, a.id, constant<T>(T(n)).id)}; }

#define FB_TILE_UNARY(f) \
  template <class T> Of<T> f(Of<T> a) { return {append(Op::f, a.id)}; }
FB_TILE_UNARY(sqrt) FB_TILE_UNARY(abs) FB_TILE_UNARY(floor) FB_TILE_UNARY(ceil) FB_TILE_UNARY(trunc) FB_TILE_UNARY(rint)
#undef FB_TILE_UNARY
template <class T> Of<T> min(Of<T> a, Of<T> b) { return {append(Op::min, a.id, b.id)}; }
template <class T> Of<T> max(Of<T> a, Of<T> b) { return {append(Op::max, a.id, b.id)}; }
template <class T> Of<T> copysign(Of<T> a, Of<T> b) { return {append(Op::copysign, a.id, b.id)}; }
template <class T> Of<T> fma(Of<T> a, Of<T> b, Of<T> c) { return {append(Op::fma, a.id, b.id, c.id)}; }
template <class T> Of<T> select(Truth m, Of<T> a, Of<T> b) { return {append(Op::select, m.id, a.id, b.id)}; }
template <class T> Truth isnan(Of<T> a) {
  if constexpr (std::is_floating_point_v<T>) return a != a;
  else return constant(false);
}
template <class T> Of<T> conj(Of<T> a) { return a; }
// A branch cannot be taken on what is not known yet: both sides are written, and selected from.
inline bool any(Truth) { return true; }
inline bool all(Truth) { return false; }

template <class T> using bits_of = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
template <class T> Of<bits_of<T>> bits(Of<T> a) { return {Builder::current().bitcast(a.id, elem<bits_of<T>>)}; }
inline Of<float> from_bits(Of<int32_t> a) { return {Builder::current().bitcast(a.id, Elem::f32)}; }
inline Of<double> from_bits(Of<int64_t> a) { return {Builder::current().bitcast(a.id, Elem::f64)}; }
template <class T> Of<bits_of<T>> to_int(Of<T> a) { return {Builder::current().to_int(a.id)}; }
inline Of<float> to_float(Of<int32_t> a) { return {Builder::current().convert(a.id, Elem::f32)}; }
inline Of<double> to_float(Of<int64_t> a) { return {Builder::current().convert(a.id, Elem::f64)}; }
inline Of<float> lookup(const float (&table)[8], Of<int32_t> i) { return {Builder::current().lookup(table, i.id)}; }

template <class To, class T> Of<To> convert(Of<T> a) { return {Builder::current().convert(a.id, elem<To>)}; }
template <class F, class... X> Of<float> in_double(F f, Of<float> x, X... y) {
  return convert<float>(f(convert<double>(x), convert<double>(y)...));
}

// F, a function of scalars whose state fits a word, for single lanes. Its parameters are of type T.
template <class T, class R, class F, int n> Thunk thunk_of(const F& f) {
  static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= 8);
  Thunk t;
  std::memcpy(static_cast<void*>(&t.context), static_cast<const void*>(&f), sizeof f);
  t.fn = [](int64_t context, void* out, const void* const* in) {
    alignas(8) char state[8];
    std::memcpy(state, &context, 8);
    const F& g = *reinterpret_cast<const F*>(state);
    [&]<size_t... I>(std::index_sequence<I...>) { *static_cast<R*>(out) = R(g(*static_cast<const T*>(in[I])...)); }(std::make_index_sequence<n>());
  };
  return t;
}
template <class T, class F, class... X> Of<T> patch(Truth m, Of<T> r, F f, Of<T> x, X... y) {
  const Id v[] = {x.id, y.id...};
  return {Builder::current().patch(thunk_of<T, T, F, 1 + int(sizeof...(X))>(f), m.id, r.id, v, 1 + int(sizeof...(X)))};
}
// f is of doubles, whatever T.
template <class F, class T, class... X> Of<T> lane_by_lane(F f, Of<T> x, X... y) {
  const Id v[] = {x.id, y.id...};
  constexpr int n = 1 + int(sizeof...(X));
  return {Builder::current().lanes(thunk_of<T, T, F, n>(f), elem<T>, v, n)};
}
inline void require_divisor(Truth zero) { Builder::current().raise_if(zero.id, kZeroDivisor); }
template <class T> Of<T> wrapped_product(Of<T> a, Of<T> b) { return a * b; }
template <class T> Of<T> wrapped_minus(Of<T> a) { return -a; }
template <class T> Of<double> in_f64(Of<T> a) { return convert<double>(a); }
template <class T> Of<T> quotient(Of<T> a, Of<T> b) { return a / b; }
template <class T> Of<T> left_over(Of<T> a, Of<T> b) { return {append(Op::rem, a.id, b.id)}; }

}  // namespace fb::tile

namespace fb {

template <class T> struct domain<tile::Of<T>> {
  using lane = T;
  using integer = tile::Of<tile::bits_of<T>>;
  using mask = tile::Truth;
  static constexpr int lanes = 1;
  static tile::Of<T> constant(T c) { return tile::constant<T>(c); }
};
template <> inline constexpr bool is_bool_v<tile::Truth> = true;
template <class T> inline constexpr bool is_number_v<tile::Of<T>> = std::is_integral_v<T>;

namespace math {
#define FB_X(f)                                                                                                       \
  template <class T> tile::Of<T> f(tile::Of<T> x) { return {tile::Builder::current().call(tile::named_##f, &x.id, 1)}; }
FB_TILE_NAMED1(FB_X)
#undef FB_X
#define FB_X(f)                                                                                                       \
  template <class T> tile::Of<T> f(tile::Of<T> x, tile::Of<T> y) {                                                    \
    const tile::Id v[] = {x.id, y.id};                                                                                \
    return {tile::Builder::current().call(tile::named_##f, v, 2)};                                                    \
  }
FB_TILE_NAMED2(FB_X)
#undef FB_X
// Integer functions that iterate run outside, lane by lane.
#define FB_TILE_INTEGER(f)                                                                                            \
  template <class T> requires std::is_integral_v<T> tile::Of<T> f(tile::Of<T> x, tile::Of<T> y) {                     \
    auto of_lane = [](T a, T b) { return fb::math::f<T>(a, b); };                                                      \
    const tile::Id v[] = {x.id, y.id};                                                                                \
    return {tile::Builder::current().lanes(tile::thunk_of<T, T, decltype(of_lane), 2>(of_lane), tile::elem<T>, v, 2)}; \
  }
FB_TILE_INTEGER(int_pow) FB_TILE_INTEGER(gcd) FB_TILE_INTEGER(lcm) FB_TILE_INTEGER(shift_left) FB_TILE_INTEGER(shift_right)
#undef FB_TILE_INTEGER
}  // namespace math

}  // namespace fb
