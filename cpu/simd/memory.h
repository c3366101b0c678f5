// Vectors to and from memory, whole or the first n lanes (the others load as zero). half, bfloat16 and
// float8 are storage formats: they load as Vec<float> and round once when stored.
#pragma once
#include <cstring>

#include "core/half.h"
#include "cpu/simd/vec.h"

namespace fb {

FB_SIMD Vec<float> load(const float* p) { return Vec<float>(_mm256_loadu_ps(p)); }
FB_SIMD Vec<double> load(const double* p) { return Vec<double>(_mm256_loadu_pd(p)); }
FB_SIMD Vec<int32_t> load(const int32_t* p) {
  return Vec<int32_t>((Vec<int32_t>::raw)_mm256_loadu_si256((const __m256i*)p));
}
FB_SIMD Vec<int64_t> load(const int64_t* p) {
  return Vec<int64_t>((Vec<int64_t>::raw)_mm256_loadu_si256((const __m256i*)p));
}
FB_SIMD Vec<float> load(const half* p) { return Vec<float>(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p))); }
FB_SIMD Vec<float> load(const bfloat16* p) {
  const __m256i w = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
  return Vec<float>(_mm256_castsi256_ps(_mm256_slli_epi32(w, 16)));
}
template <class S> requires(sizeof(S) == 1)
inline Vec<float> load(const S* p) {
  float t[8];
  for (int i = 0; i < 8; ++i) t[i] = float(p[i]);
  return load(t);
}

FB_SIMD void store(float* p, Vec<float> a) { _mm256_storeu_ps(p, a.v); }
FB_SIMD void store(double* p, Vec<double> a) { _mm256_storeu_pd(p, a.v); }
FB_SIMD void store(int32_t* p, Vec<int32_t> a) { _mm256_storeu_si256((__m256i*)p, (__m256i)a.v); }
FB_SIMD void store(int64_t* p, Vec<int64_t> a) { _mm256_storeu_si256((__m256i*)p, (__m256i)a.v); }
FB_SIMD __m128i to_half_bits(Vec<float> a) { return _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
// To nearest even on the upper 16 bits; any NaN becomes the quiet NaN 0x7fc0.
FB_SIMD __m128i to_bfloat16_bits(Vec<float> a) {
  const __m256i u = _mm256_castps_si256(a.v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
  const __m256i r = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i q = _mm256_blendv_epi8(r, _mm256_set1_epi32(0x7fc0), nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
}
FB_SIMD void store(half* p, Vec<float> a) { _mm_storeu_si128((__m128i*)p, to_half_bits(a)); }
FB_SIMD void store(bfloat16* p, Vec<float> a) { _mm_storeu_si128((__m128i*)p, to_bfloat16_bits(a)); }
template <class S> requires(sizeof(S) == 1)
inline void store(S* p, Vec<float> a) {
  for (int i = 0; i < 8; ++i) p[i] = S(a[i]);
}

// Past the cache; p must be aligned to the bytes stored (32, or 16 for 16-bit formats).
FB_SIMD void stream_store(float* p, Vec<float> a) { _mm256_stream_ps(p, a.v); }
FB_SIMD void stream_store(double* p, Vec<double> a) { _mm256_stream_pd(p, a.v); }
FB_SIMD void stream_store(int32_t* p, Vec<int32_t> a) { _mm256_stream_si256((__m256i*)p, (__m256i)a.v); }
FB_SIMD void stream_store(int64_t* p, Vec<int64_t> a) { _mm256_stream_si256((__m256i*)p, (__m256i)a.v); }
FB_SIMD void stream_store(half* p, Vec<float> a) { _mm_stream_si128((__m128i*)p, to_half_bits(a)); }
FB_SIMD void stream_store(bfloat16* p, Vec<float> a) { _mm_stream_si128((__m128i*)p, to_bfloat16_bits(a)); }
// Streamed stores are ordered before what follows only after this.
inline void stream_fence() { _mm_sfence(); }

// The vector that elements of S are computed in.
template <class S> struct compute_lane { using type = float; };
template <> struct compute_lane<double> { using type = double; };
template <> struct compute_lane<int32_t> { using type = int32_t; };
template <> struct compute_lane<int64_t> { using type = int64_t; };
template <class S> using vec_for = Vec<typename compute_lane<S>::type>;

FB_SIMD __m256i lane_mask32(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
FB_SIMD __m256i lane_mask64(int n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
template <class S> FB_SIMD vec_for<S> load(const S* p, int n) {
  if constexpr (std::is_same_v<S, float>) {
    return Vec<float>(_mm256_maskload_ps(p, lane_mask32(n)));
  } else if constexpr (std::is_same_v<S, double>) {
    return Vec<double>(_mm256_maskload_pd(p, lane_mask64(n)));
  } else {
    S t[vec_for<S>::lanes] = {};
    std::memcpy((void*)t, p, sizeof(S) * n);
    return load(static_cast<const S*>(t));
  }
}
template <class S> FB_SIMD void store(S* p, vec_for<S> a, int n) {
  if constexpr (std::is_same_v<S, float>) {
    _mm256_maskstore_ps(p, lane_mask32(n), a.v);
  } else if constexpr (std::is_same_v<S, double>) {
    _mm256_maskstore_pd(p, lane_mask64(n), a.v);
  } else {
    S t[vec_for<S>::lanes];
    store(static_cast<S*>(t), a);
    std::memcpy((void*)p, t, sizeof(S) * n);
  }
}

}  // namespace fb
