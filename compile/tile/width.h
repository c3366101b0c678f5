// How wide the vectors of this processor are. Bits do not depend on it; how many elements a tile has, and what LLVM makes, do.
#pragma once
#include <cstdlib>

namespace fb::tile {

// AVX-512 with the parts that x86-64-v4 names; not with FB_NARROW_VECTORS in the environment.
inline bool wide_vectors() {
  static const bool wide = !std::getenv("FB_NARROW_VECTORS") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return wide;
}

}  // namespace fb::tile
