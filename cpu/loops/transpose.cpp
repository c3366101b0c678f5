#include "cpu/loops/transpose.h"

#include <immintrin.h>

#include <cstring>

namespace fb {
namespace {

// A square turns K columns of src, K elements each, into K rows of dst, in registers.
template <int N> struct Square {  // elements of N bytes, one by one
  static constexpr int K = 1;
  static void run(char* dst, int64_t, const char* src, int64_t) { std::memcpy(dst, src, N); }
};

template <> struct Square<1> {
  static constexpr int K = 8;
  static void run(char* dst, int64_t ds, const char* src, int64_t ss) {
    __m128i a[8], b[4], c[4];
    for (int i = 0; i < 8; ++i) a[i] = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src + i * ss));
    for (int i = 0; i < 4; ++i) b[i] = _mm_unpacklo_epi8(a[2 * i], a[2 * i + 1]);
    for (int i = 0; i < 4; i += 2) {
      c[i] = _mm_unpacklo_epi16(b[i], b[i + 1]);
      c[i + 1] = _mm_unpackhi_epi16(b[i], b[i + 1]);
    }
    for (int i = 0; i < 2; ++i) {  // rows 4i to 4i + 3, two in a register
      b[2 * i] = _mm_unpacklo_epi32(c[i], c[i + 2]);
      b[2 * i + 1] = _mm_unpackhi_epi32(c[i], c[i + 2]);
    }
    for (int i = 0; i < 4; ++i) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(dst + 2 * i * ds), b[i]);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(dst + (2 * i + 1) * ds), _mm_unpackhi_epi64(b[i], b[i]));
    }
  }
};

template <> struct Square<2> {
  static constexpr int K = 8;
  static void run(char* dst, int64_t ds, const char* src, int64_t ss) {
    __m128i a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + i * ss));
    for (int i = 0; i < 4; ++i) {
      b[2 * i] = _mm_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
      b[2 * i + 1] = _mm_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      a[i] = _mm_unpacklo_epi32(b[i], b[i + 2]);
      a[i + 1] = _mm_unpackhi_epi32(b[i], b[i + 2]);
      a[i + 2] = _mm_unpacklo_epi32(b[i + 1], b[i + 3]);
      a[i + 3] = _mm_unpackhi_epi32(b[i + 1], b[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + 2 * i * ds), _mm_unpacklo_epi64(a[i], a[i + 4]));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + (2 * i + 1) * ds), _mm_unpackhi_epi64(a[i], a[i + 4]));
    }
  }
};

template <> struct Square<4> {
  static constexpr int K = 8;
  static void run(char* dst, int64_t ds, const char* src, int64_t ss) {
    __m256 a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(src + i * ss));
    for (int i = 0; i < 8; i += 2) {
      b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
      b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
      a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
      a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
      a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      _mm256_storeu_ps(reinterpret_cast<float*>(dst + i * ds), _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
      _mm256_storeu_ps(reinterpret_cast<float*>(dst + (i + 4) * ds), _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
    }
  }
};

template <> struct Square<8> {
  static constexpr int K = 4;
  static void run(char* dst, int64_t ds, const char* src, int64_t ss) {
    __m256d a[4];
    for (int i = 0; i < 4; ++i) a[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(src + i * ss));
    const __m256d l0 = _mm256_unpacklo_pd(a[0], a[1]), h0 = _mm256_unpackhi_pd(a[0], a[1]);
    const __m256d l1 = _mm256_unpacklo_pd(a[2], a[3]), h1 = _mm256_unpackhi_pd(a[2], a[3]);
    double* const d[4] = {reinterpret_cast<double*>(dst), reinterpret_cast<double*>(dst + ds), reinterpret_cast<double*>(dst + 2 * ds),
                          reinterpret_cast<double*>(dst + 3 * ds)};
    _mm256_storeu_pd(d[0], _mm256_permute2f128_pd(l0, l1, 0x20));
    _mm256_storeu_pd(d[1], _mm256_permute2f128_pd(h0, h1, 0x20));
    _mm256_storeu_pd(d[2], _mm256_permute2f128_pd(l0, l1, 0x31));
    _mm256_storeu_pd(d[3], _mm256_permute2f128_pd(h0, h1, 0x31));
  }
};

// What whole lines leave over: squares, then single elements.
template <int N> void rest(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols) {
  constexpr int K = Square<N>::K;
  const int64_t whole_rows = rows - rows % K, whole_cols = cols - cols % K;
  for (int64_t c = 0; c < whole_cols; c += K)
    for (int64_t r = 0; r < whole_rows; r += K) Square<N>::run(dst + r * ds + c * N, ds, src + c * ss + r * N, ss);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = r < whole_rows ? whole_cols : 0; c < cols; ++c) std::memcpy(dst + r * ds + c * N, src + c * ss + r * N, N);
}

// Every line of src is read whole at once, and every line of dst written whole: with rows that lie a power of two apart
// the lines of a tile share few sets of the cache, and a line half used would be fetched again. For the same reason the
// neighbouring lines of the same rows of src come next, and while a tile is transposed the lines of the columns after it
// are on their way.
template <int N> void tiles(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols, bool stream) {
  constexpr int K = Square<N>::K, L = 64 / N;  // L x L elements: L lines of src, L of dst
  const int64_t whole_rows = rows - rows % L, whole_cols = cols - cols % L;
  alignas(64) char lines[L * 64];
  for (int64_t c = 0; c < whole_cols; c += L)
    for (int64_t r = 0; r < whole_rows; r += L) {
      char* to = stream ? lines : dst + r * ds + c * N;
      const int64_t step = stream ? 64 : ds;
      for (int64_t i = 0; i < L; i += K)
        for (int64_t j = 0; j < L; j += K) Square<N>::run(to + j * step + i * N, step, src + (c + i) * ss + (r + j) * N, ss);
      if (c + L < whole_cols)
        for (int64_t i = 0; i < L; ++i) _mm_prefetch(src + (c + L + i) * ss + r * N, _MM_HINT_T0);
      if (!stream) continue;
      for (int64_t j = 0; j < L; ++j) {
        char* p = dst + (r + j) * ds + c * N;
        _mm256_stream_si256(reinterpret_cast<__m256i*>(p), _mm256_load_si256(reinterpret_cast<const __m256i*>(lines + 64 * j)));
        _mm256_stream_si256(reinterpret_cast<__m256i*>(p + 32), _mm256_load_si256(reinterpret_cast<const __m256i*>(lines + 64 * j + 32)));
      }
    }
  if (whole_cols < cols) rest<N>(dst + whole_cols * N, ds, src + whole_cols * ss, ss, whole_rows, cols - whole_cols);
  if (whole_rows < rows) rest<N>(dst + whole_rows * ds, ds, src + whole_rows * N, ss, rows - whole_rows, cols);
}

}  // namespace

void transpose_block(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols, int64_t item, bool stream) {
  switch (item) {
    case 1: return tiles<1>(dst, ds, src, ss, rows, cols, stream);
    case 2: return tiles<2>(dst, ds, src, ss, rows, cols, stream);
    case 4: return tiles<4>(dst, ds, src, ss, rows, cols, stream);
    case 8: return tiles<8>(dst, ds, src, ss, rows, cols, stream);
    default: return tiles<16>(dst, ds, src, ss, rows, cols, stream);
  }
}

}  // namespace fb
