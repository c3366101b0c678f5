// Two values of the vector domain that go through a text side by side: while one waits for its last operation, the other's
// is done. Longer chains than that find no registers. Same names and bits as vec.h.
#pragma once
#include "cpu/simd/vec.h"

namespace fb {

template <class H> struct Pair {
  H lo, hi;
};
template <class H> struct domain<Pair<H>> {
  using lane = lane_t<H>;
  using integer = Pair<typename domain<H>::integer>;
  using mask = Pair<typename domain<H>::mask>;
  static constexpr int lanes = 2 * domain<H>::lanes;
  FB_SIMD static Pair<H> constant(lane c) {
    const H v = domain<H>::constant(c);
    return {v, v};
  }
};

#define FB_PAIR(op)                                                                                     \
  template <class H> FB_SIMD auto operator op(Pair<H> a, Pair<H> b) -> Pair<decltype(a.lo op b.lo)> {   \
    return {a.lo op b.lo, a.hi op b.hi};                                                                \
  }
FB_PAIR(+) FB_PAIR(-) FB_PAIR(*) FB_PAIR(/) FB_PAIR(&) FB_PAIR(|) FB_PAIR(^)
FB_PAIR(<) FB_PAIR(<=) FB_PAIR(>) FB_PAIR(>=) FB_PAIR(==) FB_PAIR(!=)
#undef FB_PAIR
template <class H> FB_SIMD Pair<H> operator-(Pair<H> a) { return {-a.lo, -a.hi}; }
template <class H> FB_SIMD Pair<H> operator~(Pair<H> a) { return {~a.lo, ~a.hi}; }
template <class H> FB_SIMD Pair<H> operator!(Pair<H> a) { return {!a.lo, !a.hi}; }
template <class H> FB_SIMD Pair<H> operator<<(Pair<H> a, int n) { return {a.lo << n, a.hi << n}; }
template <class H> FB_SIMD Pair<H> operator>>(Pair<H> a, int n) { return {a.lo >> n, a.hi >> n}; }
template <class H> FB_SIMD Pair<H> shift_right_logical(Pair<H> a, int n) {
  return {shift_right_logical(a.lo, n), shift_right_logical(a.hi, n)};
}
#define FB_PAIR(f) \
  template <class H> FB_SIMD auto f(Pair<H> a) -> Pair<decltype(f(a.lo))> { return {f(a.lo), f(a.hi)}; }
FB_PAIR(sqrt) FB_PAIR(floor) FB_PAIR(ceil) FB_PAIR(trunc) FB_PAIR(rint) FB_PAIR(abs) FB_PAIR(isnan)
FB_PAIR(bits) FB_PAIR(from_bits) FB_PAIR(to_int) FB_PAIR(to_float)
#undef FB_PAIR
#define FB_PAIR(f) \
  template <class H> FB_SIMD Pair<H> f(Pair<H> a, Pair<H> b) { return {f(a.lo, b.lo), f(a.hi, b.hi)}; }
FB_PAIR(min) FB_PAIR(max) FB_PAIR(copysign)
#undef FB_PAIR
template <class H> FB_SIMD Pair<H> fma(Pair<H> a, Pair<H> b, Pair<H> c) {
  return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
}
template <class M, class H> FB_SIMD Pair<H> select(Pair<M> m, Pair<H> a, Pair<H> b) {
  return {select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
}
template <class M> FB_SIMD bool any(Pair<M> m) { return any(m.lo | m.hi); }
template <class M> FB_SIMD bool all(Pair<M> m) { return all(m.lo & m.hi); }
// A table in a register is permuted in half the time that one in memory takes.
FB_SIMD Pair<Vec<float>> lookup(const float (&table)[8], Pair<Vec<int32_t>> i) {
  __m256 t = _mm256_loadu_ps(table);
  asm("" : "+x"(t));
  return {Vec<float>(_mm256_permutevar8x32_ps(t, (__m256i)i.lo.v)), Vec<float>(_mm256_permutevar8x32_ps(t, (__m256i)i.hi.v))};
}
FB_SIMD Pair<Vec<double>> widened(Vec<float> a) { return {widen_low(a), widen_high(a)}; }
template <class F, class... X> FB_SIMD Pair<Vec<float>> in_double(F f, Pair<Vec<float>> x, X... y) {
  const auto r = f(Pair<Pair<Vec<double>>>{widened(x.lo), widened(x.hi)}, Pair<Pair<Vec<double>>>{widened(y.lo), widened(y.hi)}...);
  return {narrow(r.lo.lo, r.lo.hi), narrow(r.hi.lo, r.hi.hi)};
}
template <class M, class H, class F, class... X> FB_SIMD Pair<H> patch(Pair<M> m, Pair<H> r, F f, Pair<H> x, X... y) {
  return {patch(m.lo, r.lo, f, x.lo, y.lo...), patch(m.hi, r.hi, f, x.hi, y.hi...)};
}
template <class F, class H, class... X> Pair<H> lane_by_lane(F f, Pair<H> x, X... y) {
  return {lane_by_lane(f, x.lo, y.lo...), lane_by_lane(f, x.hi, y.hi...)};
}

}  // namespace fb
