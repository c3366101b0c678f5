// The error of a value in ULP, and when two values are the same.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace fb::testing {

// Distance of got from the exact value, in units of the last place of the exact value's binade.
template <class T, class R>
double ulp_error(R exact, T got) {
  constexpr int digits = std::is_same_v<T, float> ? 24 : 53;
  constexpr int least = std::is_same_v<T, float> ? -149 : -1074, top = std::is_same_v<T, float> ? 128 : 1024;
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : HUGE_VAL;
  const T rounded = T(exact);
  if (std::isinf(got) && std::isinf(rounded)) return (got > 0) == (rounded > 0) ? 0 : HUGE_VAL;
  if (std::isinf(exact)) return HUGE_VAL;
  if (std::isinf(got)) return double(std::fabs(exact - std::copysign(std::ldexp(R(1), top), R(got))) / std::ldexp(R(1), top - digits));
  int e;
  std::frexp(exact, &e);
  e = std::max(e - digits, least);
  return double(std::fabs(exact - R(got)) / std::ldexp(R(1), e));
}

// The same bits; any NaN equals any other: which of them comes out of an operation is the processor's choice.
template <class T> bool same_value(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace fb::testing
