// Stable sorting of (key, place) by counting digits, lowest first. Keys are unsigned numbers in the order of the values.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/half.h"

namespace fb {

template <int bytes> struct unsigned_of_size;
template <> struct unsigned_of_size<1> { using type = uint8_t; };
template <> struct unsigned_of_size<2> { using type = uint16_t; };
template <> struct unsigned_of_size<4> { using type = uint32_t; };
template <> struct unsigned_of_size<8> { using type = uint64_t; };
template <class T> using SortKey = typename unsigned_of_size<sizeof(T)>::type;

// Equal values have equal keys: both zeros, and all NaNs, which come last.
template <class T> SortKey<T> sort_key(T v) {
  using K = SortKey<T>;
  constexpr K top = K(K(1) << (8 * sizeof(K) - 1));
  if constexpr (std::is_same_v<T, bool> || std::is_unsigned_v<T>) return K(v);
  else if constexpr (std::is_integral_v<T>) return K(K(v) ^ top);
  else {
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const F x = F(v);
    if (x != x) return K(~K(0));
    if (x == 0) return top;
    K bits;
    std::memcpy(&bits, &v, sizeof bits);
    return K(bits & top ? ~bits : bits | top);
  }
}

template <class K> struct Keyed {
  K key;
  uint32_t at;
};

// Sorts a[0..n), n < 2^32; b is scratch of this size. Returns the one that holds the result.
template <class K> Keyed<K>* radix_sort(Keyed<K>* a, Keyed<K>* b, int64_t n) {
  constexpr int bits = sizeof(K) >= 4 ? 11 : 8, digits = int(8 * sizeof(K) + bits - 1) / bits, values = 1 << bits;
  auto digit = [](K key, int d) { return size_t(key >> (d * bits)) & (values - 1); };
  std::vector<uint32_t> count(size_t(digits * values), 0);
  for (int64_t i = 0; i < n; ++i)
    for (int d = 0; d < digits; ++d) ++count[size_t(d * values) + digit(a[i].key, d)];
  for (int d = 0; d < digits; ++d) {
    uint32_t* c = count.data() + d * values;
    if (n == 0 || c[digit(a[0].key, d)] == uint64_t(n)) continue;  // all keys share this digit
    uint32_t sum = 0;
    for (int v = 0; v < values; ++v) {
      const uint32_t here = c[v];
      c[v] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < n; ++i) b[c[digit(a[i].key, d)]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

}  // namespace fb
