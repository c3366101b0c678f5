// What reductions do with their elements, as templates on the domain: identity, step, combine. A fold with `param` gets a
// number that belongs to the output (a mean, a maximum, an exponent). Combined with the identity, v stays v, bit for bit.
#pragma once
#include "core/complex.h"
#include "ops/math/math.h"

namespace fb::folds {

template <class V> inline constexpr bool integral_lane = std::is_integral_v<lane_t<V>>;

template <class V> FB_INLINE V smallest() {
  if constexpr (integral_lane<V>) return k<V>(std::is_same_v<lane_t<V>, int64_t> ? INT64_MIN : INT32_MIN);
  else return k<V>(-__builtin_inf());
}
template <class V> FB_INLINE V largest() {
  if constexpr (integral_lane<V>) return k<V>(std::is_same_v<lane_t<V>, int64_t> ? INT64_MAX : INT32_MAX);
  else return k<V>(__builtin_inf());
}
// The greater (less), a NaN before any number, the first of equals.
template <class V> FB_INLINE V greater_of(V a, V b) {
  if constexpr (integral_lane<V>) return select(b > a, b, a);
  else return select((b > a) | (b != b), b, a);
}
template <class V> FB_INLINE V lesser_of(V a, V b) {
  if constexpr (integral_lane<V>) return select(b < a, b, a);
  else return select((b < a) | (b != b), b, a);
}
// A sum of nothing is -0 inside the tree, so that absent lanes leave the bits of the others.
template <class V> FB_INLINE V zero() {
  if constexpr (is_complex_v<V>) return V(-0.0, -0.0);
  else if constexpr (integral_lane<V>) return k<V>(0);
  else return k<V>(-0.0);
}

// Integers wrap.
template <class V> FB_INLINE V plus(V a, V b) {
  if constexpr (std::is_integral_v<V>) return V(std::make_unsigned_t<V>(a) + std::make_unsigned_t<V>(b));
  else return V(a + b);
}
template <class V> FB_INLINE V times(V a, V b) {
  if constexpr (std::is_integral_v<V>) return V(std::make_unsigned_t<V>(a) * std::make_unsigned_t<V>(b));
  else return V(a * b);
}

struct sum {
  static constexpr bool param = false;
  template <class V> static constexpr V identity() { return zero<V>(); }
  template <class V> FB_INLINE static V step(V a, V x) { return plus(a, x); }
  template <class V> FB_INLINE static V combine(V a, V b) { return plus(a, b); }
};
struct nansum : sum {
  template <class V> FB_INLINE static V step(V a, V x) {
    if constexpr (is_complex_v<V>) return V(a + x);
    else if constexpr (integral_lane<V>) return plus(a, x);
    else return a + select(x != x, k<V>(-0.0), x);
  }
};
struct prod {
  static constexpr bool param = false;
  template <class V> static constexpr V identity() {
    if constexpr (is_complex_v<V>) return V(1);
    else return k<V>(1);
  }
  template <class V> FB_INLINE static V step(V a, V x) { return times(a, x); }
  template <class V> FB_INLINE static V combine(V a, V b) { return times(a, b); }
};
struct max {
  static constexpr bool param = false;
  template <class V> static constexpr V identity() { return smallest<V>(); }
  template <class V> FB_INLINE static V step(V a, V x) { return greater_of(a, x); }
  template <class V> FB_INLINE static V combine(V a, V b) { return greater_of(a, b); }
};
struct min {
  static constexpr bool param = false;
  template <class V> static constexpr V identity() { return largest<V>(); }
  template <class V> FB_INLINE static V step(V a, V x) { return lesser_of(a, x); }
  template <class V> FB_INLINE static V combine(V a, V b) { return lesser_of(a, b); }
};
// Sum of (x - mean)^2.
struct squared_deviation : sum {
  static constexpr bool param = true;
  template <class V> FB_INLINE static V step(V a, V x, V mean) {
    const V d = x - mean;
    return fma(d, d, a);
  }
};
// Sum of e^(x - m).
struct exp_sum : sum {
  static constexpr bool param = true;
  template <class V> FB_INLINE static V step(V a, V x, V m) { return a + math::exp(x - m); }
};

// Norms: the sum of |x|^p before the root is taken.
struct norm0 : sum {
  template <class V> FB_INLINE static V step(V a, V x) { return a + select(x != k<V>(0), k<V>(1), k<V>(0)); }
};
struct norm1 : sum {
  template <class V> FB_INLINE static V step(V a, V x) { return a + abs(x); }
};
struct norm2 : sum {
  template <class V> FB_INLINE static V step(V a, V x) { return fma(x, x, a); }
};
struct norm_max : max {
  template <class V> FB_INLINE static V step(V a, V x) { return greater_of(a, abs(x)); }
};
struct norm_min : min {
  template <class V> FB_INLINE static V step(V a, V x) { return lesser_of(a, abs(x)); }
};
struct norm_p : sum {
  static constexpr bool param = true;
  template <class V> FB_INLINE static V step(V a, V x, V p) { return a + math::pow(abs(x), p); }
};
// Exclusive or of the bits.
struct bits_xor {
  static constexpr bool param = false;
  template <class V> static constexpr V identity() { return k<V>(0); }
  template <class V> FB_INLINE static V step(V a, V x) { return a ^ x; }
  template <class V> FB_INLINE static V combine(V a, V b) { return a ^ b; }
};

}  // namespace fb::folds
