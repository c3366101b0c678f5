// The vector domain: Vec<float> (8 lanes) and Vec<double> (4), with their integers, on compiler vectors
// and a few AVX2, FMA and F16C intrinsics. Same names and same bits as the scalar domain (ops/math/domain.h).
#pragma once
#include <immintrin.h>

#include "ops/math/domain.h"

#define FB_SIMD [[gnu::always_inline]] inline

namespace fb {

// 32 bytes of T as the compiler's own vector.
template <class T> struct raw_vector;
template <> struct raw_vector<float> { typedef float type __attribute__((vector_size(32))); };
template <> struct raw_vector<double> { typedef double type __attribute__((vector_size(32))); };
template <> struct raw_vector<int32_t> { typedef int32_t type __attribute__((vector_size(32))); };
template <> struct raw_vector<int64_t> { typedef int64_t type __attribute__((vector_size(32))); };
template <> struct raw_vector<uint32_t> { typedef uint32_t type __attribute__((vector_size(32))); };
template <> struct raw_vector<uint64_t> { typedef uint64_t type __attribute__((vector_size(32))); };

template <int bytes> struct integer_of_size;
template <> struct integer_of_size<4> { using type = int32_t; };
template <> struct integer_of_size<8> { using type = int64_t; };

// What +, - and * are taken in: signed integers wrap as unsigned ones.
template <class T> struct wrapping_lane { using type = T; };
template <> struct wrapping_lane<int32_t> { using type = uint32_t; };
template <> struct wrapping_lane<int64_t> { using type = uint64_t; };

template <class T> struct Vec {
  using raw = typename raw_vector<T>::type;
  using wrapping = typename raw_vector<typename wrapping_lane<T>::type>::type;
  using lane = T;
  static constexpr int lanes = 32 / sizeof(T);
  raw v;
  Vec() = default;
  FB_SIMD Vec(raw r) : v(r) {}
  FB_SIMD explicit Vec(T s) {
    if constexpr (lanes == 8) v = raw{s, s, s, s, s, s, s, s};
    else v = raw{s, s, s, s};
  }
  FB_SIMD T operator[](int i) const { return v[i]; }
};
// All bits of a lane set, or none; the lanes are `bytes` wide.
template <int bytes> struct Mask {
  using lane = typename integer_of_size<bytes>::type;
  using raw = typename raw_vector<lane>::type;
  static constexpr int lanes = 32 / bytes;
  raw v;
  Mask() = default;
  FB_SIMD Mask(raw r) : v(r) {}
  FB_SIMD bool operator[](int i) const { return v[i] != 0; }
};

template <class T> struct domain<Vec<T>> {
  using lane = T;
  using integer = Vec<typename integer_of_size<sizeof(T)>::type>;
  using mask = Mask<sizeof(T)>;
  static constexpr int lanes = Vec<T>::lanes;
  FB_SIMD static Vec<T> constant(T c) { return Vec<T>(c); }
};

#define FB_VEC_OP(op) \
  template <class T> FB_SIMD Vec<T> operator op(Vec<T> a, Vec<T> b) { \
    using U = typename Vec<T>::wrapping; \
    return Vec<T>((typename Vec<T>::raw)((U)a.v op (U)b.v)); \
  }
FB_VEC_OP(+) FB_VEC_OP(-) FB_VEC_OP(*)  // integers wrap
#undef FB_VEC_OP
#define FB_VEC_OP(op) \
  template <class T> FB_SIMD Vec<T> operator op(Vec<T> a, Vec<T> b) { return Vec<T>(a.v op b.v); }
FB_VEC_OP(/) FB_VEC_OP(&) FB_VEC_OP(|) FB_VEC_OP(^)
#undef FB_VEC_OP
#define FB_VEC_OP(op) \
  template <class T> FB_SIMD Mask<sizeof(T)> operator op(Vec<T> a, Vec<T> b) { return Mask<sizeof(T)>(a.v op b.v); }
FB_VEC_OP(<) FB_VEC_OP(<=) FB_VEC_OP(>) FB_VEC_OP(>=) FB_VEC_OP(==) FB_VEC_OP(!=)
#undef FB_VEC_OP
template <class T> FB_SIMD Vec<T> operator-(Vec<T> a) {
  using U = typename Vec<T>::wrapping;
  return Vec<T>((typename Vec<T>::raw)(-(U)a.v));
}
template <class T> FB_SIMD Vec<T> operator~(Vec<T> a) { return Vec<T>(~a.v); }
template <class T> FB_SIMD Vec<T> operator<<(Vec<T> a, int n) { return Vec<T>(a.v << n); }
template <class T> FB_SIMD Vec<T> operator>>(Vec<T> a, int n) { return Vec<T>(a.v >> n); }
template <int B> FB_SIMD Mask<B> operator&(Mask<B> a, Mask<B> b) { return Mask<B>(a.v & b.v); }
template <int B> FB_SIMD Mask<B> operator|(Mask<B> a, Mask<B> b) { return Mask<B>(a.v | b.v); }
template <int B> FB_SIMD Mask<B> operator^(Mask<B> a, Mask<B> b) { return Mask<B>(a.v ^ b.v); }
template <int B> FB_SIMD Mask<B> operator!(Mask<B> a) { return Mask<B>(~a.v); }

FB_SIMD __m256 raw_ps(Vec<float> a) { return (__m256)a.v; }
FB_SIMD __m256d raw_pd(Vec<double> a) { return (__m256d)a.v; }

template <class T> FB_SIMD Vec<T> select(Mask<sizeof(T)> m, Vec<T> a, Vec<T> b) {
  if constexpr (sizeof(T) == 4)
    return Vec<T>((typename Vec<T>::raw)_mm256_blendv_ps((__m256)b.v, (__m256)a.v, (__m256)m.v));
  else
    return Vec<T>((typename Vec<T>::raw)_mm256_blendv_pd((__m256d)b.v, (__m256d)a.v, (__m256d)m.v));
}
template <int B> FB_SIMD bool any(Mask<B> m) { return !_mm256_testz_si256((__m256i)m.v, (__m256i)m.v); }
template <int B> FB_SIMD bool all(Mask<B> m) { return _mm256_testc_si256((__m256i)m.v, _mm256_set1_epi32(-1)); }

#define FB_VEC_FN(T, name, call) \
  FB_SIMD Vec<T> name(Vec<T> a) { return Vec<T>(call); }
FB_VEC_FN(float, sqrt, _mm256_sqrt_ps(a.v))
FB_VEC_FN(double, sqrt, _mm256_sqrt_pd(a.v))
FB_VEC_FN(float, floor, _mm256_floor_ps(a.v))
FB_VEC_FN(double, floor, _mm256_floor_pd(a.v))
FB_VEC_FN(float, ceil, _mm256_ceil_ps(a.v))
FB_VEC_FN(double, ceil, _mm256_ceil_pd(a.v))
FB_VEC_FN(float, trunc, _mm256_round_ps(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
FB_VEC_FN(double, trunc, _mm256_round_pd(a.v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
FB_VEC_FN(float, rint, _mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
FB_VEC_FN(double, rint, _mm256_round_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
FB_VEC_FN(float, abs, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v))
FB_VEC_FN(double, abs, _mm256_andnot_pd(_mm256_set1_pd(-0.0), a.v))
#undef FB_VEC_FN
FB_SIMD Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return Vec<float>(_mm256_fmadd_ps(a.v, b.v, c.v)); }
FB_SIMD Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return Vec<double>(_mm256_fmadd_pd(a.v, b.v, c.v)); }
FB_SIMD Vec<float> min(Vec<float> a, Vec<float> b) { return Vec<float>(_mm256_min_ps(a.v, b.v)); }
FB_SIMD Vec<double> min(Vec<double> a, Vec<double> b) { return Vec<double>(_mm256_min_pd(a.v, b.v)); }
FB_SIMD Vec<float> max(Vec<float> a, Vec<float> b) { return Vec<float>(_mm256_max_ps(a.v, b.v)); }
FB_SIMD Vec<double> max(Vec<double> a, Vec<double> b) { return Vec<double>(_mm256_max_pd(a.v, b.v)); }
FB_SIMD Vec<float> copysign(Vec<float> a, Vec<float> b) {
  const __m256 s = _mm256_set1_ps(-0.0f);
  return Vec<float>(_mm256_or_ps(_mm256_andnot_ps(s, a.v), _mm256_and_ps(s, b.v)));
}
FB_SIMD Vec<double> copysign(Vec<double> a, Vec<double> b) {
  const __m256d s = _mm256_set1_pd(-0.0);
  return Vec<double>(_mm256_or_pd(_mm256_andnot_pd(s, a.v), _mm256_and_pd(s, b.v)));
}
template <class T> FB_SIMD Mask<sizeof(T)> isnan(Vec<T> a) { return a != a; }

FB_SIMD Vec<int32_t> bits(Vec<float> a) { return Vec<int32_t>((Vec<int32_t>::raw)a.v); }
FB_SIMD Vec<int64_t> bits(Vec<double> a) { return Vec<int64_t>((Vec<int64_t>::raw)a.v); }
FB_SIMD Vec<float> from_bits(Vec<int32_t> a) { return Vec<float>((Vec<float>::raw)a.v); }
FB_SIMD Vec<double> from_bits(Vec<int64_t> a) { return Vec<double>((Vec<double>::raw)a.v); }
FB_SIMD Vec<int32_t> to_int(Vec<float> a) { return Vec<int32_t>((Vec<int32_t>::raw)_mm256_cvtps_epi32(a.v)); }
FB_SIMD Vec<float> to_float(Vec<int32_t> a) { return Vec<float>(_mm256_cvtepi32_ps((__m256i)a.v)); }
// AVX2 has no conversion of 64-bit integers: numbers below 2^51 pass through the significand of 1.5 * 2^52.
FB_SIMD Vec<int64_t> to_int(Vec<double> a) {
  const Vec<double> shift(0x1.8p52);
  return bits(a + shift) - bits(shift);
}
FB_SIMD Vec<double> to_float(Vec<int64_t> a) {
  const Vec<double> shift(0x1.8p52);
  return from_bits(a + bits(shift)) - shift;
}
template <class T> FB_SIMD Vec<T> shift_right_logical(Vec<T> a, int n) {
  using U = typename raw_vector<std::make_unsigned_t<T>>::type;
  return Vec<T>((typename Vec<T>::raw)((U)a.v >> n));
}

FB_SIMD Vec<float> lookup(const float (&table)[8], Vec<int32_t> i) {
  return Vec<float>(_mm256_permutevar8x32_ps(_mm256_loadu_ps(table), (__m256i)i.v));
}

// The lanes of a vector of floats as two vectors of doubles, and back.
FB_SIMD Vec<double> widen_low(Vec<float> a) { return Vec<double>(_mm256_cvtps_pd(_mm256_castps256_ps128(a.v))); }
FB_SIMD Vec<double> widen_high(Vec<float> a) { return Vec<double>(_mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1))); }
FB_SIMD Vec<float> narrow(Vec<double> lo, Vec<double> hi) {
  return Vec<float>(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(lo.v)), _mm256_cvtpd_ps(hi.v), 1));
}
template <class F> FB_SIMD Vec<float> in_double(F f, Vec<float> x) {
  return narrow(f(widen_low(x)), f(widen_high(x)));
}
template <class F> FB_SIMD Vec<float> in_double(F f, Vec<float> x, Vec<float> y) {
  return narrow(f(widen_low(x), widen_low(y)), f(widen_high(x), widen_high(y)));
}

template <class T, class F, class... X>
[[gnu::noinline, gnu::cold]] Vec<T> patch_lanes(Mask<sizeof(T)> m, Vec<T> r, F f, X... x) {
  for (int i = 0; i < Vec<T>::lanes; ++i)
    if (m[i]) r.v[i] = f(x[i]...);
  return r;
}
template <class T, class F, class... X>
FB_SIMD Vec<T> patch(Mask<sizeof(T)> m, Vec<T> r, F f, Vec<T> x, X... y) {
  return __builtin_expect(any(m), 0) ? patch_lanes(m, r, f, x, y...) : r;
}

template <class F, class T, class... X>
Vec<T> lane_by_lane(F f, Vec<T> x, X... y) {
  Vec<T> r;
  for (int i = 0; i < Vec<T>::lanes; ++i) r.v[i] = T(f(double(x[i]), double(y[i])...));
  return r;
}

}  // namespace fb

#include "cpu/simd/memory.h"
