#include <cstring>

#include "cpu/loops/convert_each.h"

namespace fb {

#define FB_ELSEWHERE(D) extern template void convert_to<D>(char*, int64_t, const char*, int64_t, DType, int64_t)
FB_ELSEWHERE(half);
FB_ELSEWHERE(float);
FB_ELSEWHERE(double);
FB_ELSEWHERE(cfloat);
FB_ELSEWHERE(cdouble);
FB_ELSEWHERE(bfloat16);
FB_ELSEWHERE(float8_e5m2);
FB_ELSEWHERE(float8_e4m3fn);
FB_ELSEWHERE(uint8_t);
FB_ELSEWHERE(int8_t);
FB_ELSEWHERE(int16_t);
FB_ELSEWHERE(int32_t);
FB_ELSEWHERE(int64_t);
FB_ELSEWHERE(bool);
FB_ELSEWHERE(uint16_t);
FB_ELSEWHERE(uint32_t);
FB_ELSEWHERE(uint64_t);

namespace {

template <class U> void copy_same(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  if (ss == 0) {
    const U v = *reinterpret_cast<const U*>(src);
    for (int64_t i = 0; i < n; ++i, dst += ds) *reinterpret_cast<U*>(dst) = v;
    return;
  }
  for (int64_t i = 0; i < n; ++i, dst += ds, src += ss) *reinterpret_cast<U*>(dst) = *reinterpret_cast<const U*>(src);
}
struct Wide { uint64_t a, b; };

}  // namespace

void convert_run(char* dst, int64_t ds, DType to, const char* src, int64_t ss, DType from, int64_t n) {
  if (to == from) {
    const int64_t item = item_size(to);
    if (ds == item && ss == item) {
      std::memcpy(dst, src, size_t(n * item));
      return;
    }
    switch (item) {
      case 1: return copy_same<uint8_t>(dst, ds, src, ss, n);
      case 2: return copy_same<uint16_t>(dst, ds, src, ss, n);
      case 4: return copy_same<uint32_t>(dst, ds, src, ss, n);
      case 8: return copy_same<uint64_t>(dst, ds, src, ss, n);
      default: return copy_same<Wide>(dst, ds, src, ss, n);
    }
  }
  visit_types<FB_EVERY_TYPE>(to, [&]<class D>() { convert_to<D>(dst, ds, src, ss, from, n); });
}

}  // namespace fb
