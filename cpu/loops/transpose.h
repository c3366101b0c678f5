// dst[r][c] = src[c][r] for a block of elements of one size, rows of dst and columns of src contiguous.
#pragma once
#include <cstdint>

namespace fb {

// Row r of dst begins at dst + r * dst_stride, column c of src at src + c * src_stride (bytes). item: 1, 2, 4, 8 or 16.
// stream: whole 64-byte lines of dst are stored past the cache; rows of dst then begin on a line, and the caller fences.
void transpose_block(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t rows, int64_t cols, int64_t item, bool stream);

}  // namespace fb
