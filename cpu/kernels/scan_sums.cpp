// Running sums: each line is one chain of additions of doubles, so neighbouring lines share a vector, one lane each.
#include "cpu/kernels/scan_sums.h"

#include <immintrin.h>

#include <algorithm>
#include <memory>

#include "core/threads.h"

namespace fb {
namespace {

template <bool product> [[gnu::always_inline]] inline __m256d next(__m256d a, __m256d x) {
  if constexpr (product) return _mm256_mul_pd(a, x);
  else return _mm256_add_pd(a, x);
}
template <bool product> double next(double a, double x) { return product ? a * x : a + x; }

// Four elements as doubles, and back.
inline __m256d wide(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
inline __m256d wide(const double* p) { return _mm256_loadu_pd(p); }
inline void narrow(float* p, __m256d v) { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
inline void narrow(double* p, __m256d v) { _mm256_storeu_pd(p, v); }

// c[k] = the elements k of four lines of four.
[[gnu::always_inline]] inline void columns(const float* p, int64_t line, __m256d (&c)[4]) {
  __m128 a = _mm_loadu_ps(p), b = _mm_loadu_ps(p + line), d = _mm_loadu_ps(p + 2 * line), e = _mm_loadu_ps(p + 3 * line);
  _MM_TRANSPOSE4_PS(a, b, d, e);
  c[0] = _mm256_cvtps_pd(a);
  c[1] = _mm256_cvtps_pd(b);
  c[2] = _mm256_cvtps_pd(d);
  c[3] = _mm256_cvtps_pd(e);
}
[[gnu::always_inline]] inline void put_columns(float* p, int64_t line, const __m256d (&c)[4]) {
  __m128 a = _mm256_cvtpd_ps(c[0]), b = _mm256_cvtpd_ps(c[1]), d = _mm256_cvtpd_ps(c[2]), e = _mm256_cvtpd_ps(c[3]);
  _MM_TRANSPOSE4_PS(a, b, d, e);
  _mm_storeu_ps(p, a);
  _mm_storeu_ps(p + line, b);
  _mm_storeu_ps(p + 2 * line, d);
  _mm_storeu_ps(p + 3 * line, e);
}
[[gnu::always_inline]] inline void transpose(__m256d (&c)[4]) {
  const __m256d a = _mm256_unpacklo_pd(c[0], c[1]), b = _mm256_unpackhi_pd(c[0], c[1]);
  const __m256d d = _mm256_unpacklo_pd(c[2], c[3]), e = _mm256_unpackhi_pd(c[2], c[3]);
  c[0] = _mm256_permute2f128_pd(a, d, 0x20);
  c[1] = _mm256_permute2f128_pd(b, e, 0x20);
  c[2] = _mm256_permute2f128_pd(a, d, 0x31);
  c[3] = _mm256_permute2f128_pd(b, e, 0x31);
}
[[gnu::always_inline]] inline void columns(const double* p, int64_t line, __m256d (&c)[4]) {
  for (int i = 0; i < 4; ++i) c[i] = _mm256_loadu_pd(p + i * line);
  transpose(c);
}
[[gnu::always_inline]] inline void put_columns(double* p, int64_t line, __m256d (&c)[4]) {
  transpose(c);
  for (int i = 0; i < 4; ++i) _mm256_storeu_pd(p + i * line, c[i]);
}

// 4 * V lines of n elements, one after another in memory.
template <bool product, int V, class T> void lines(T* out, const T* in, int64_t n) {
  alignas(32) double start[4] = {product ? 1.0 : 0.0, product ? 1.0 : 0.0, product ? 1.0 : 0.0, product ? 1.0 : 0.0};
  __m256d a[V];
  for (int v = 0; v < V; ++v) a[v] = _mm256_load_pd(start);
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    __m256d c[V][4];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) columns(in + 4 * v * n + k, n, c[v]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) c[v][i] = a[v] = next<product>(a[v], c[v][i]);
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) put_columns(out + 4 * v * n + k, n, c[v]);
  }
  for (int v = 0; v < V; ++v) {
    _mm256_store_pd(start, a[v]);
    for (int j = 0; j < 4; ++j)
      for (int64_t i = k; i < n; ++i) out[(4 * v + j) * n + i] = T(start[j] = next<product>(start[j], double(in[(4 * v + j) * n + i])));
  }
}

template <bool product, class T> void rows(T* out, const T* in, int64_t outer, int64_t n) {
  constexpr int64_t kGroup = 8;
  parallel_for(0, (outer + kGroup - 1) / kGroup, std::max<int64_t>(1, 16384 / (n * kGroup)), [&](int64_t lo, int64_t hi) {
    for (int64_t g = lo; g < hi; ++g) {
      int64_t r = g * kGroup;
      const int64_t end = std::min(outer, r + kGroup);
      for (; r + 8 <= end; r += 8) lines<product, 2>(out + r * n, in + r * n, n);
      for (; r + 4 <= end; r += 4) lines<product, 1>(out + r * n, in + r * n, n);
      for (; r < end; ++r) {
        double a = product ? 1.0 : 0.0;
        for (int64_t k = 0; k < n; ++k) out[r * n + k] = T(a = next<product>(a, double(in[r * n + k])));
      }
    }
  });
}

template <bool product, class T> void planes(T* out, const T* in, int64_t outer, int64_t n, int64_t inner) {
  constexpr int64_t kPiece = 512;
  const int64_t pieces = (inner + kPiece - 1) / kPiece;
  parallel_for(0, outer * pieces, std::max<int64_t>(1, 16384 / (n * std::min(inner, kPiece))), [&](int64_t lo, int64_t hi) {
    double a[kPiece];
    for (int64_t u = lo; u < hi; ++u) {
      const int64_t first = u % pieces * kPiece, m = std::min(kPiece, inner - first), base = u / pieces * n * inner + first;
      std::fill(a, a + m, product ? 1.0 : 0.0);
      for (int64_t k = 0; k < n; ++k) {
        const T* x = in + base + k * inner;
        T* y = out + base + k * inner;
        int64_t j = 0;
        for (; j + 4 <= m; j += 4) {
          const __m256d s = next<product>(_mm256_loadu_pd(a + j), wide(x + j));
          _mm256_storeu_pd(a + j, s);
          narrow(y + j, s);
        }
        for (; j < m; ++j) y[j] = T(a[j] = next<product>(a[j], double(x[j])));
      }
    }
  });
}

template <class T> void run(T* out, const T* in, int64_t outer, int64_t n, int64_t inner, bool product) {
  if (inner == 1) product ? rows<true>(out, in, outer, n) : rows<false>(out, in, outer, n);
  else product ? planes<true>(out, in, outer, n, inner) : planes<false>(out, in, outer, n, inner);
}

}  // namespace

void running_sums(float* out, const float* in, int64_t outer, int64_t n, int64_t inner, bool product) { run(out, in, outer, n, inner, product); }
void running_sums(double* out, const double* in, int64_t outer, int64_t n, int64_t inner, bool product) { run(out, in, outer, n, inner, product); }

}  // namespace fb
