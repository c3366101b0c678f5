#include "cpu/loops/transpose.h"

#include <immintrin.h>

namespace fb {
namespace {

template <class U> void scalar_block(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      *reinterpret_cast<U*>(dst + r * ds + c * int64_t(sizeof(U))) = *reinterpret_cast<const U*>(src + c * ss + r * int64_t(sizeof(U)));
}
struct Wide { uint64_t a, b; };

template <bool S> inline void put(char* p, __m256 v) {
  if constexpr (S) _mm256_stream_ps(reinterpret_cast<float*>(p), v);
  else _mm256_storeu_ps(reinterpret_cast<float*>(p), v);
}

// 8 columns of src, 8 elements each -> 8 rows.
inline void transpose8(const char* src, int64_t ss, __m256* out) {
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
    out[i] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x20);
    out[i + 4] = _mm256_permute2f128_ps(a[i], a[i + 4], 0x31);
  }
}

template <bool S> void block4(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    int64_t c = 0;
    for (; c + 16 <= cols; c += 16) {  // a whole line of each row at once
      __m256 x[8], y[8];
      transpose8(src + c * ss + r * 4, ss, x);
      transpose8(src + (c + 8) * ss + r * 4, ss, y);
      for (int i = 0; i < 8; ++i) {
        char* p = dst + (r + i) * ds + c * 4;
        put<S>(p, x[i]);
        put<S>(p + 32, y[i]);
      }
    }
    for (; c + 8 <= cols; c += 8) {
      __m256 x[8];
      transpose8(src + c * ss + r * 4, ss, x);
      for (int i = 0; i < 8; ++i) put<false>(dst + (r + i) * ds + c * 4, x[i]);
    }
    scalar_block<uint32_t>(dst + r * ds + c * 4, ds, src + c * ss + r * 4, ss, 8, cols - c);
  }
  scalar_block<uint32_t>(dst + r * ds, ds, src + r * 4, ss, rows - r, cols);
}

// 4 columns of 4 eight-byte elements -> 4 rows.
inline void transpose4(const char* src, int64_t ss, __m256d* out) {
  __m256d a[4];
  for (int i = 0; i < 4; ++i) a[i] = _mm256_loadu_pd(reinterpret_cast<const double*>(src + i * ss));
  const __m256d l0 = _mm256_unpacklo_pd(a[0], a[1]), h0 = _mm256_unpackhi_pd(a[0], a[1]);
  const __m256d l1 = _mm256_unpacklo_pd(a[2], a[3]), h1 = _mm256_unpackhi_pd(a[2], a[3]);
  out[0] = _mm256_permute2f128_pd(l0, l1, 0x20);
  out[1] = _mm256_permute2f128_pd(h0, h1, 0x20);
  out[2] = _mm256_permute2f128_pd(l0, l1, 0x31);
  out[3] = _mm256_permute2f128_pd(h0, h1, 0x31);
}

template <bool S> void block8(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    int64_t c = 0;
    for (; c + 8 <= cols; c += 8) {
      __m256d x[4], y[4];
      transpose4(src + c * ss + r * 8, ss, x);
      transpose4(src + (c + 4) * ss + r * 8, ss, y);
      for (int i = 0; i < 4; ++i) {
        char* p = dst + (r + i) * ds + c * 8;
        put<S>(p, _mm256_castpd_ps(x[i]));
        put<S>(p + 32, _mm256_castpd_ps(y[i]));
      }
    }
    scalar_block<uint64_t>(dst + r * ds + c * 8, ds, src + c * ss + r * 8, ss, 4, cols - c);
  }
  scalar_block<uint64_t>(dst + r * ds, ds, src + r * 8, ss, rows - r, cols);
}

// 8 columns of 8 two-byte elements -> 8 rows.
void block2(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols) {
  int64_t r = 0;
  for (; r + 8 <= rows; r += 8) {
    int64_t c = 0;
    for (; c + 8 <= cols; c += 8) {
      __m128i a[8], b[8];
      for (int i = 0; i < 8; ++i) a[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src + (c + i) * ss + r * 2));
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
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + (r + 2 * i) * ds + c * 2), _mm_unpacklo_epi64(a[i], a[i + 4]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst + (r + 2 * i + 1) * ds + c * 2), _mm_unpackhi_epi64(a[i], a[i + 4]));
      }
    }
    scalar_block<uint16_t>(dst + r * ds + c * 2, ds, src + c * ss + r * 2, ss, 8, cols - c);
  }
  scalar_block<uint16_t>(dst + r * ds, ds, src + r * 2, ss, rows - r, cols);
}

}  // namespace

void transpose_block(char* dst, int64_t ds, const char* src, int64_t ss, int64_t rows, int64_t cols, int64_t item, bool stream) {
  // Sub-blocks keep the lines of src that a row group shares in the first cache.
  constexpr int64_t kCols = 64;
  for (int64_t c = 0; c < cols; c += kCols) {
    const int64_t n = cols - c < kCols ? cols - c : kCols;
    char* d = dst + c * item;
    const char* s = src + c * ss;
    switch (item) {
      case 1: scalar_block<uint8_t>(d, ds, s, ss, rows, n); break;
      case 2: block2(d, ds, s, ss, rows, n); break;
      case 4: stream ? block4<true>(d, ds, s, ss, rows, n) : block4<false>(d, ds, s, ss, rows, n); break;
      case 8: stream ? block8<true>(d, ds, s, ss, rows, n) : block8<false>(d, ds, s, ss, rows, n); break;
      default: scalar_block<Wide>(d, ds, s, ss, rows, n); break;
    }
  }
}

}  // namespace fb
