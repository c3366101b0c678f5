// Shared by the fills of core/random*.cpp: words are drawn in order by one thread into a buffer,
// then turned into numbers by all of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/generator.h"
#include "core/threads.h"

namespace fb::detail {

inline double to_uniform_double(uint32_t high, uint32_t low) {
  uint64_t word = uint64_t(high) << 32 | low;
  return double(int64_t(word & ((1ull << 53) - 1))) * 0x1p-53;
}
inline float to_uniform_float(uint32_t word) { return float(int32_t(word & 0xffffff)) * 0x1p-24f; }

// Calls f(first, words, count) over pieces of the n elements; element first + i has the words
// words[per * i] and on. Pieces are independent; they run on all threads where `parallel`.
template <int per, class F>
void for_words(Generator& g, int64_t n, bool parallel, F&& f) {
  constexpr int64_t piece = 1 << 16, grain = 1 << 12;
  uint32_t small[256];
  std::unique_ptr<uint32_t[]> large;
  uint32_t* words = small;
  if (n * per > 256) {
    large.reset(new uint32_t[size_t(std::min(n, piece) * per)]);
    words = large.get();
  }
  for (int64_t first = 0; first < n; first += piece) {
    int64_t count = std::min(piece, n - first);
    g.engine.fill(words, count * per);
    if (parallel) {
      parallel_for(0, count, grain, [&](int64_t lo, int64_t hi) {
        f(first + lo, words + lo * per, hi - lo);
      });
    } else {
      f(first, words, count);
    }
  }
}

// Rounds or converts a double or an integer to an element.
template <class T, class S>
T to_element(S value) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
    return T(float(value));
  } else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<T>) {
    return T(int64_t(value));
  } else {
    return T(value);
  }
}

template <class T>
inline constexpr bool is_float_type = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                      std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// The type that an element's parameters are read and compared in.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace fb::detail
