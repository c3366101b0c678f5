#include "cpu/loops/convert_each.h"

namespace fb {

template void convert_to<half>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<float>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<double>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<cfloat>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<cdouble>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<bfloat16>(char*, int64_t, const char*, int64_t, DType, int64_t);

}  // namespace fb
