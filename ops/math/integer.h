// Integer arithmetic that PyTorch defines where C++ does not: division by zero raises, overflow wraps.
#pragma once
#include <type_traits>

#include "core/error.h"
#include "ops/math/domain.h"

namespace fb::math {

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] inline void raise_zero_divisor() {
  raise_runtime("integer division by zero: an element of the divisor is 0");
}
// The least value divided by -1 is itself, modulo 2^bits.
template <class T> constexpr bool negates(T b) {
  if constexpr (std::is_signed_v<T>) return b == T(-1);
  else return false;
}
template <class T> constexpr T wrap_negate(T a) { return T(0 - std::make_unsigned_t<T>(a)); }
}  // namespace detail

template <class T> constexpr T int_div_trunc(T a, T b) {
  if (b == 0) detail::raise_zero_divisor();
  if (detail::negates(b)) return detail::wrap_negate(a);
  return T(a / b);
}
// The sign of a, as C's %.
template <class T> constexpr T int_fmod(T a, T b) {
  if (b == 0) detail::raise_zero_divisor();
  if (detail::negates(b)) return 0;
  return T(a % b);
}
// The sign of b, as Python's %.
template <class T> constexpr T int_remainder(T a, T b) {
  const T r = int_fmod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? T(r + b) : r;
}
template <class T> constexpr T int_div_floor(T a, T b) {
  const T q = int_div_trunc(a, b);
  if constexpr (std::is_signed_v<T>)
    if (!detail::negates(b) && T(a % b) != 0 && ((a < 0) != (b < 0))) return T(q - 1);
  return q;
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
