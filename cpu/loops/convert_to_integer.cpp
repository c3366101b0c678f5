#include "cpu/loops/convert_each.h"

namespace fb {

template void convert_to<uint8_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<int8_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<int16_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<int32_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<int64_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<bool>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<uint16_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<uint32_t>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<uint64_t>(char*, int64_t, const char*, int64_t, DType, int64_t);

}  // namespace fb
