// Runs of elements from one type and stride to another. Strides are in bytes.
#pragma once
#include "core/dtype.h"

namespace fb {

// dst[i] = to(src[i]) for n elements; conversions as C++ casts (float to integer truncates, to bool tests for 0).
void convert_run(char* dst, int64_t dst_stride, DType to, const char* src, int64_t src_stride, DType from, int64_t n);

}  // namespace fb
