// Strided copies of any rank, from one type to another, on all threads. Strides are in bytes and may be 0 or negative.
#pragma once
#include "core/dims.h"
#include "core/dtype.h"

namespace fb {

// dst[i] = src[i] for every index of `sizes`, converted as convert_run does; then conjugated and negated where asked.
// The two must not overlap unless they are the same elements.
void copy_strided(char* dst, Ints dst_strides, DType to, const char* src, Ints src_strides, DType from, Ints sizes,
                  bool conj = false, bool neg = false);

// n bytes between buffers that do not overlap; large ones past the cache, on all threads.
void copy_bytes(char* dst, const char* src, int64_t n);

// Every element of a strided block gets the `item` bytes at `value`.
void fill_strided(char* dst, Ints strides, const void* value, int64_t item, Ints sizes);

// Strides in bytes.
inline Dims byte_strides(Ints strides, int64_t item) {
  Dims out(strides);
  for (int64_t& s : out) s *= item;
  return out;
}

}  // namespace fb
