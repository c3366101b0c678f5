// Sums of integers modulo 2^bits, beside the products of integer.h.
#pragma once
#include <cstdint>
#include <type_traits>

namespace fb {

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
