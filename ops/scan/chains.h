// Scans as text on the domain: what a line's state becomes with each element. A card names its chain with
// `using chain = ...`; every back end follows a line from its first element on, each element after the one before.
//
// States are double for floating types and int64 for integers. A chain gives start(), the state before the first element,
// and step(state, x); the state after an element is the result there. One with places gives takes(state, x) instead:
// whether x becomes the state, as the first element always does; the place of that element is the second result.
#pragma once
#include "ops/reduce/folds.h"

namespace fb::chains {

struct sum {
  static constexpr bool places = false, integers = true;
  template <class V> static V start() { return k<V>(0); }
  template <class V> FB_INLINE static V step(V a, V x) { return folds::plus(a, x); }
};
struct product {
  static constexpr bool places = false, integers = true;
  template <class V> static V start() { return k<V>(1); }
  template <class V> FB_INLINE static V step(V a, V x) { return folds::times(a, x); }
};
// The greatest (least) so far, a NaN from where there is one, and the last place that holds it.
template <bool greatest> struct extreme {
  static constexpr bool places = true, integers = true;
  template <class V> static V start() { return k<V>(0); }
  template <class V> FB_INLINE static auto takes(V a, V x) {
    const auto better = [&] {
      if constexpr (greatest) return x >= a;
      else return x <= a;
    }();
    if constexpr (folds::integral_lane<V>) return better;
    else return (x != x) | ((a == a) & better);
  }
};
// log(e^a + e^x).
struct log_sum_exp {
  static constexpr bool places = false, integers = false;
  template <class V> static V start() { return k<V>(-__builtin_inf()); }
  template <class V> FB_INLINE static V step(V a, V x) {
    const V lo = min(a, x), hi = max(a, x);
    const V sum = select((lo == hi) & (abs(hi) == k<V>(__builtin_inf())), hi, hi + math::log1p(math::exp(lo - hi)));
    return select((a != a) | (x != x), a + x, sum);
  }
};

}  // namespace fb::chains
