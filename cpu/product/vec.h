// The vector registers that the product kernels are written in.
#pragma once
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "core/half.h"

namespace fb::product {

template <class Real>
struct Vec;

template <>
struct Vec<float> {
  using type = __m256;
  static constexpr int width = 8;
  static type zero() { return _mm256_setzero_ps(); }
  static type load(const float* p) { return _mm256_loadu_ps(p); }
  static type splat(const float* p) { return _mm256_broadcast_ss(p); }
  static void store(float* p, type v) { _mm256_storeu_ps(p, v); }
  static type fma(type a, type b, type c) { return _mm256_fmadd_ps(a, b, c); }
  static type fnma(type a, type b, type c) { return _mm256_fnmadd_ps(a, b, c); }
  // (re, im) pairs to a vector of each, and back.
  static void split(const float* p, type* re, type* im) {
    const type a = load(p), b = load(p + 8);
    const auto order = [](type v) {
      return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
    };
    *re = order(_mm256_shuffle_ps(a, b, 0x88));
    *im = order(_mm256_shuffle_ps(a, b, 0xdd));
  }
  static void join(float* p, type re, type im) {
    const type lo = _mm256_unpacklo_ps(re, im), hi = _mm256_unpackhi_ps(re, im);
    store(p, _mm256_permute2f128_ps(lo, hi, 0x20));
    store(p + 8, _mm256_permute2f128_ps(lo, hi, 0x31));
  }
  // Rows to columns. Unrolled here, so that the arrays are registers where this is inlined.
  static void transpose(type v[8]) {
    type t[8], u[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
      t[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
      t[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
      u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
      u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      v[i] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x20);
      v[i + 4] = _mm256_permute2f128_ps(u[i], u[i + 4], 0x31);
    }
  }
};

template <>
struct Vec<double> {
  using type = __m256d;
  static constexpr int width = 4;
  static type zero() { return _mm256_setzero_pd(); }
  static type load(const double* p) { return _mm256_loadu_pd(p); }
  static type splat(const double* p) { return _mm256_broadcast_sd(p); }
  static void store(double* p, type v) { _mm256_storeu_pd(p, v); }
  static type fma(type a, type b, type c) { return _mm256_fmadd_pd(a, b, c); }
  static type fnma(type a, type b, type c) { return _mm256_fnmadd_pd(a, b, c); }
  static void split(const double* p, type* re, type* im) {
    const type a = load(p), b = load(p + 4);
    *re = _mm256_permute4x64_pd(_mm256_unpacklo_pd(a, b), 0xd8);
    *im = _mm256_permute4x64_pd(_mm256_unpackhi_pd(a, b), 0xd8);
  }
  static void join(double* p, type re, type im) {
    const type lo = _mm256_unpacklo_pd(re, im), hi = _mm256_unpackhi_pd(re, im);
    store(p, _mm256_permute2f128_pd(lo, hi, 0x20));
    store(p + 4, _mm256_permute2f128_pd(lo, hi, 0x31));
  }
  static void transpose(type v[4]) {
    const type a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    const type c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
  }
};

inline float fma1(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma1(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Storage formats widen to the type that the chain is computed in as they are loaded, and round
// once when the result is stored.
inline __m256 load_wide(const float* p) { return _mm256_loadu_ps(p); }
inline __m256d load_wide(const double* p) { return _mm256_loadu_pd(p); }
inline __m256 load_wide(const half* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline __m256 load_wide(const bfloat16* p) {
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}
inline void store_narrow(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
inline void store_narrow(double* p, __m256d v) { _mm256_storeu_pd(p, v); }
inline void store_narrow(half* p, __m256 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
inline void store_narrow(bfloat16* p, __m256 v) {
  const __m256i u = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_blendv_epi8(up, _mm256_set1_epi32(0x7fc00000), _mm256_castps_si256(nan)), 16);
  _mm_storeu_si128(
      reinterpret_cast<__m128i*>(p),
      _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1)));
}
inline float widen(float x) { return x; }
inline double widen(double x) { return x; }
inline float widen(half x) { return _cvtsh_ss(x.bits); }
inline float widen(bfloat16 x) { return float(x); }

template <class D>
inline D narrow(float x) {
  return D(x);
}
template <>
inline half narrow<half>(float x) {
  half h;
  h.bits = uint16_t(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT));
  return h;
}
template <class D>
inline D narrow(double x) {
  return D(x);
}

}  // namespace fb::product
