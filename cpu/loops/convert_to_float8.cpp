#include "cpu/loops/convert_each.h"

namespace fb {

template void convert_to<float8_e5m2>(char*, int64_t, const char*, int64_t, DType, int64_t);
template void convert_to<float8_e4m3fn>(char*, int64_t, const char*, int64_t, DType, int64_t);

}  // namespace fb
