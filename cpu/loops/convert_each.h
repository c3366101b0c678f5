// Conversion of a run of elements from any type to the types a unit instantiates: 17 x 17 loops, shared among
// a few units because of what they take to compile.
#pragma once
#include <type_traits>

#include "cpu/loops/convert.h"
#include "cpu/simd/memory.h"

namespace fb {

template <class D, class S> D convert(S s) {
  if constexpr (std::is_same_v<D, S>) return s;
  else if constexpr (is_complex_v<D> && is_complex_v<S>) return D(s);
  else if constexpr (is_complex_v<D>) return D(convert<typename D::value_type>(s));
  else if constexpr (std::is_same_v<D, bool>) {
    if constexpr (is_complex_v<S>) return s.re != 0 || s.im != 0;
    else if constexpr (std::is_arithmetic_v<S>) return s != S(0);
    else return float(s) != 0;
  } else if constexpr (is_complex_v<S>) return convert<D>(s.re);
  else if constexpr (!std::is_arithmetic_v<S>) return convert<D>(float(s));
  else if constexpr (!std::is_arithmetic_v<D>) return D(float(s));
  else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<D> && sizeof(D) < 8) {
    // Narrow integers wrap modulo 2^bits, as a conversion through int64 does on this machine.
    return D(int64_t(s));
  } else if constexpr (std::is_floating_point_v<S> && std::is_same_v<D, uint64_t>) {
    return s < S(0) ? D(int64_t(s)) : D(s);
  } else return D(s);
}

template <class D, class S>
void convert_elements(char* dst, int64_t ds, const char* src, int64_t ss, int64_t n) {
  if (ds == int64_t(sizeof(D)) && ss == int64_t(sizeof(S))) {
    D* __restrict d = reinterpret_cast<D*>(dst);
    const S* __restrict s = reinterpret_cast<const S*>(src);
    int64_t i = 0;
    if constexpr ((std::is_same_v<D, half> || std::is_same_v<D, bfloat16>) && std::is_same_v<S, float>)
      for (; i + 8 <= n; i += 8) store(d + i, load(s + i));
    if constexpr ((std::is_same_v<S, half> || std::is_same_v<S, bfloat16>) && std::is_same_v<D, float>)
      for (; i + 8 <= n; i += 8) store(d + i, load(s + i));
    for (; i < n; ++i) d[i] = convert<D>(s[i]);
    return;
  }
  for (int64_t i = 0; i < n; ++i, dst += ds, src += ss)
    *reinterpret_cast<D*>(dst) = convert<D>(*reinterpret_cast<const S*>(src));
}

#define FB_EVERY_TYPE \
  uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16, uint16_t, uint32_t, \
  uint64_t, float8_e5m2, float8_e4m3fn

template <class D>
void convert_to(char* dst, int64_t ds, const char* src, int64_t ss, DType from, int64_t n) {
  visit_types<FB_EVERY_TYPE>(from, [&]<class S>() {
    if constexpr (!std::is_same_v<D, S>) convert_elements<D, S>(dst, ds, src, ss, n);
  });
}

}  // namespace fb
