// Integer arithmetic that PyTorch defines where C++ does not: division by zero raises, overflow wraps.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/error.h"
#include "ops/math/number_domain.h"

namespace fb {

namespace math::detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void raise_zero_divisor() {
  raise_runtime("integer division by zero: an element of the divisor is 0");
}
// The least value divided by -1 is itself, modulo 2^bits.
template <class T> constexpr bool negates(T b) {
  if constexpr (std::is_signed_v<T>) return b == T(-1);
  else return false;
}
template <class T> constexpr T wrap_negate(T a) { return T(0 - std::make_unsigned_t<T>(a)); }
}  // namespace math::detail

// The domain of integers, beside +, - and comparisons: raising where a divisor is zero (nothing on a GPU, where a kernel
// cannot raise), and the wrapping quotient and remainder of the others.
constexpr void require_divisor(bool is_zero) {
#ifndef __CUDA_ARCH__
  if (is_zero) math::detail::raise_zero_divisor();
#endif
}
template <class T> requires std::is_integral_v<T> constexpr T quotient(T a, T b) {
  if (math::detail::negates(b)) return math::detail::wrap_negate(a);
  return T(a / b);
}
template <class T> requires std::is_integral_v<T> constexpr T left_over(T a, T b) {
  if (math::detail::negates(b)) return 0;
  return T(a % b);
}

// Modulo 2^bits; narrow types would be promoted to int, which may not overflow.
template <class T> requires std::is_integral_v<T> constexpr T wrapped_product(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
template <class T> requires std::is_integral_v<T> constexpr T wrapped_minus(T a) { return T(0 - uint64_t(a)); }
template <class T> requires std::is_integral_v<T> constexpr double in_f64(T a) { return double(a); }
// In every domain of numbers; only built-in integers must be told to wrap.
template <class V> constexpr V wrapped_sum(V a, V b) {
  if constexpr (std::is_integral_v<V>) return V(uint64_t(a) + uint64_t(b));
  else return V(a + b);
}
template <class V> constexpr V wrapped_difference(V a, V b) {
  if constexpr (std::is_integral_v<V>) return V(uint64_t(a) - uint64_t(b));
  else return V(a - b);
}

}  // namespace fb

namespace fb::math {

template <class V> constexpr V int_div_trunc(V a, V b) {
  require_divisor(b == k<V>(0));
  return quotient(a, b);
}
// The sign of a, as C's %.
template <class V> constexpr V int_fmod(V a, V b) {
  require_divisor(b == k<V>(0));
  return left_over(a, b);
}
// The sign of b, as Python's %.
template <class V> constexpr V int_remainder(V a, V b) {
  const V r = fb::math::int_fmod(a, b);
  return select((r != k<V>(0)) & ((r < k<V>(0)) ^ (b < k<V>(0))), V(r + b), r);
}
template <class V> constexpr V int_div_floor(V a, V b) {
  const V q = fb::math::int_div_trunc(a, b);
  return select((left_over(a, b) != k<V>(0)) & ((a < k<V>(0)) ^ (b < k<V>(0))), V(q - k<V>(1)), q);
}
// By squaring; a negative exponent gives 1/a^|b| truncated: 0 but for bases 1 and -1.
template <class T> constexpr T int_pow(T a, T b) {
  using U = std::make_unsigned_t<T>;
  if constexpr (std::is_signed_v<T>)
    if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b & 1 ? T(-1) : T(1)) : T(0);
  // Products in 64 bits: narrower unsigned types would be promoted to int, which may not overflow.
  uint64_t r = 1, base = uint64_t(a);
  for (U e = U(b); e; e = U(e >> 1)) {
    if (e & 1) r *= base;
    base *= base;
  }
  return T(r);
}
template <class T> constexpr T gcd(T a, T b) {
  using U = std::make_unsigned_t<T>;
  U x = a < 0 ? U(0 - U(a)) : U(a), y = b < 0 ? U(0 - U(b)) : U(b);
  while (y) {
    const U r = U(x % y);
    x = y;
    y = r;
  }
  return T(x);
}
template <class T> constexpr T lcm(T a, T b) {
  const T g = fb::math::gcd(a, b);
  if (g == 0) return 0;
  using U = std::make_unsigned_t<T>;
  const U p = U(uint64_t(int_div_trunc(a, g)) * uint64_t(b));
  return T(p) < 0 ? detail::wrap_negate(T(p)) : T(p);
}
// Shifts by a negative number or by all bits leave nothing (the sign, to the right).
template <class T> constexpr T shift_left(T a, T b) {
  constexpr int bits = 8 * int(sizeof(T));
  if (b < 0 || b >= T(bits)) return 0;
  return T(std::make_unsigned_t<T>(a) << b);
}
template <class T> constexpr T shift_right(T a, T b) {
  constexpr int bits = 8 * int(sizeof(T));
  if (b < 0 || b >= T(bits)) return a < 0 ? T(-1) : T(0);
  return T(a >> b);
}

}  // namespace fb::math
