// A copy is reduced to its fewest dimensions, innermost first by the stride of dst. Then: one run of bytes; rows; or,
// where src runs fastest along another dimension than dst, square tiles that are transposed in registers.
#include "cpu/loops/copy.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "core/threads.h"
#include "cpu/loops/convert.h"
#include "cpu/loops/transpose.h"

namespace fb {
namespace {

constexpr int64_t kGrainBytes = 128 << 10;
constexpr int64_t kStreamBytes = 16 << 20;  // larger results are stored past the cache

struct Dim {
  int64_t n, ds, ss;
};
using DimList = SmallVec<Dim, 8>;

// Drops dimensions of size 1, sorts the rest by the stride of dst, and merges those that step as one.
DimList reduce_dims(Ints sizes, Ints ds, Ints ss) {
  DimList d;
  for (int64_t i = sizes.n - 1; i >= 0; --i)
    if (sizes[i] != 1) d.push_back({sizes[i], ds[i], ss[i]});
  auto size_of = [](int64_t s) { return s < 0 ? -s : s; };
  for (int64_t i = 1; i < d.size(); ++i)
    for (int64_t j = i; j > 0; --j) {
      const Dim &a = d[j - 1], &b = d[j];
      if (size_of(a.ds) < size_of(b.ds) || (size_of(a.ds) == size_of(b.ds) && size_of(a.ss) <= size_of(b.ss))) break;
      std::swap(d[j - 1], d[j]);
    }
  DimList out;
  for (const Dim& x : d) {
    if (!out.empty() && x.ds == out.back().ds * out.back().n && x.ss == out.back().ss * out.back().n) out.back().n *= x.n;
    else out.push_back(x);
  }
  return out;
}

void stream_bytes(char* dst, const char* src, int64_t n) {
  int64_t head = int64_t(-reinterpret_cast<uintptr_t>(dst) & 31);
  if (head > n) head = n;
  std::memcpy(dst, src, size_t(head));
  int64_t i = head;
  for (; i + 128 <= n; i += 128) {
    const __m256i a = _mm256_loadu_si256((const __m256i*)(src + i)), b = _mm256_loadu_si256((const __m256i*)(src + i + 32));
    const __m256i c = _mm256_loadu_si256((const __m256i*)(src + i + 64)), d = _mm256_loadu_si256((const __m256i*)(src + i + 96));
    _mm256_stream_si256((__m256i*)(dst + i), a);
    _mm256_stream_si256((__m256i*)(dst + i + 32), b);
    _mm256_stream_si256((__m256i*)(dst + i + 64), c);
    _mm256_stream_si256((__m256i*)(dst + i + 96), d);
  }
  _mm_sfence();
  std::memcpy(dst + i, src + i, size_t(n - i));
}

template <class U> void rows_of(char* dst, int64_t ds0, int64_t ds1, const char* src, int64_t ss0, int64_t ss1, int64_t n0, int64_t n1) {
  constexpr int64_t item = sizeof(U);
  if (ds0 == item && ss0 == item) {
    const int64_t bytes = n0 * item;
    if (bytes >= 64)
      for (int64_t r = 0; r < n1; ++r, dst += ds1, src += ss1) std::memcpy(dst, src, size_t(bytes));
    else
      for (int64_t r = 0; r < n1; ++r, dst += ds1, src += ss1)
        for (int64_t i = 0; i < n0; ++i) reinterpret_cast<U*>(dst)[i] = reinterpret_cast<const U*>(src)[i];
    return;
  }
  if (ds0 == item && ss0 == 0) {
    for (int64_t r = 0; r < n1; ++r, dst += ds1, src += ss1) {
      const U v = *reinterpret_cast<const U*>(src);
      U* __restrict d = reinterpret_cast<U*>(dst);
      for (int64_t i = 0; i < n0; ++i) d[i] = v;
    }
    return;
  }
  for (int64_t r = 0; r < n1; ++r, dst += ds1, src += ss1) {
    char* d = dst;
    const char* s = src;
    for (int64_t i = 0; i < n0; ++i, d += ds0, s += ss0) *reinterpret_cast<U*>(d) = *reinterpret_cast<const U*>(s);
  }
}
struct Wide { uint64_t a, b; };

template <class T> void negate(char* p, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i, p += stride) {
    T& v = *reinterpret_cast<T*>(p);
    if constexpr (std::is_arithmetic_v<T> && std::is_integral_v<T>) v = T(0) - v;
    else if constexpr (is_complex_v<T>) v = T(-v.re, -v.im);
    else v = T(-float(v));
  }
}
template <> void negate<double>(char* p, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i, p += stride) *reinterpret_cast<double*>(p) = -*reinterpret_cast<double*>(p);
}

struct Job {
  DType to, from;
  int64_t item_to, item_from;
  bool conj, neg;
  bool plain() const { return to == from && !conj && !neg; }

  void finish(char* dst, int64_t ds, int64_t n) const {
    if (conj) {
      const int64_t half = item_to / 2;
      if (to == DType::c64) negate<float>(dst + half, ds, n);
      else if (to == DType::c128) negate<double>(dst + half, ds, n);
      else if (to == DType::c32) negate<fb::half>(dst + half, ds, n);
    }
    if (neg)
      visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, fb::half, float, double, cfloat, cdouble, bfloat16, uint16_t, uint32_t, uint64_t,
                  float8_e5m2, float8_e4m3fn>(to, [&]<class T>() { negate<T>(dst, ds, n); });
  }
  // n1 rows of n0 elements.
  void rows(char* dst, int64_t ds0, int64_t ds1, const char* src, int64_t ss0, int64_t ss1, int64_t n0, int64_t n1) const {
    if (plain()) {
      switch (item_to) {
        case 1: return rows_of<uint8_t>(dst, ds0, ds1, src, ss0, ss1, n0, n1);
        case 2: return rows_of<uint16_t>(dst, ds0, ds1, src, ss0, ss1, n0, n1);
        case 4: return rows_of<uint32_t>(dst, ds0, ds1, src, ss0, ss1, n0, n1);
        case 8: return rows_of<uint64_t>(dst, ds0, ds1, src, ss0, ss1, n0, n1);
        default: return rows_of<Wide>(dst, ds0, ds1, src, ss0, ss1, n0, n1);
      }
    }
    for (int64_t r = 0; r < n1; ++r, dst += ds1, src += ss1) {
      convert_run(dst, ds0, to, src, ss0, from, n0);
      if (conj || neg) finish(dst, ds0, n0);
    }
  }
};

// Pointers at index `at` of the dimensions d[from..].
void seek(const DimList& d, int64_t from, int64_t at, char*& dst, const char*& src) {
  for (int64_t i = from; i < d.size(); ++i) {
    const int64_t c = at % d[i].n;
    at /= d[i].n;
    dst += c * d[i].ds;
    src += c * d[i].ss;
  }
}

void copy_rows(const Job& job, const DimList& d, char* dst, const char* src) {
  const Dim d0 = d[0], d1 = d.size() > 1 ? d[1] : Dim{1, 0, 0};
  int64_t rows = 1;
  for (int64_t i = 1; i < d.size(); ++i) rows *= d[i].n;
  constexpr int64_t kRun = 1 << 15;
  if (d0.n > 2 * kRun) {  // long rows are cut
    const int64_t pieces = (d0.n + kRun - 1) / kRun;
    parallel_for(0, rows * pieces, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t u = lo; u < hi; ++u) {
        char* p = dst;
        const char* q = src;
        seek(d, 1, u / pieces, p, q);
        const int64_t at = (u % pieces) * kRun;
        job.rows(p + at * d0.ds, d0.ds, 0, q + at * d0.ss, d0.ss, 0, std::min(kRun, d0.n - at), 1);
      }
    });
    return;
  }
  parallel_for(0, rows, std::max<int64_t>(1, kRun / d0.n), [&](int64_t lo, int64_t hi) {
    while (lo < hi) {
      char* p = dst;
      const char* q = src;
      seek(d, 1, lo, p, q);
      const int64_t m = std::min(hi - lo, d1.n - lo % d1.n);
      job.rows(p, d0.ds, d1.ds, q, d0.ss, d1.ss, d0.n, m);
      lo += m;
    }
  });
}

// dst runs fastest along d[0], src along d[k].
void copy_tiles(const Job& job, const DimList& d, int64_t k, char* dst, const char* src) {
  const Dim c = d[0], r = d[k];
  DimList outer;
  int64_t count = 1, numel = c.n * r.n;
  for (int64_t i = 1; i < d.size(); ++i)
    if (i != k) {
      outer.push_back(d[i]);
      count *= d[i].n;
    }
  numel *= count;
  const int64_t item = job.item_to;
  // Whole lines of dst can be stored past the cache where rows begin on a line.
  const bool stream = job.plain() && numel * item >= kStreamBytes && reinterpret_cast<uintptr_t>(dst) % 64 == 0 && r.ds % 64 == 0 &&
                      std::all_of(outer.begin(), outer.end(), [](const Dim& x) { return x.ds % 64 == 0; });
  const int64_t R = 64, C = job.plain() ? 256 : 64;
  const int64_t rt = (r.n + R - 1) / R, ct = (c.n + C - 1) / C;
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / (std::min(R, r.n) * std::min(C, c.n)));
  parallel_for(0, count * rt * ct, grain, [&](int64_t lo, int64_t hi) {
    alignas(64) char buffer[16 * 64 * 64];
    for (int64_t u = lo; u < hi; ++u) {
      char* p = dst;
      const char* q = src;
      seek(outer, 0, u / (rt * ct), p, q);
      const int64_t r0 = u % (rt * ct) / ct * R, c0 = u % ct * C;
      const int64_t nr = std::min(R, r.n - r0), nc = std::min(C, c.n - c0);
      p += r0 * r.ds + c0 * c.ds;
      q += r0 * r.ss + c0 * c.ss;
      if (job.plain()) {
        transpose_block(p, r.ds, q, c.ss, nr, nc, item, stream);
        continue;
      }
      transpose_block(buffer, nc * job.item_from, q, c.ss, nr, nc, job.item_from, false);
      job.rows(p, c.ds, r.ds, buffer, job.item_from, nc * job.item_from, nc, nr);
    }
    if (stream) _mm_sfence();
  });
}

}  // namespace

void copy_bytes(char* dst, const char* src, int64_t n) {
  if (n <= 2 * kGrainBytes) {
    std::memcpy(dst, src, size_t(n));
    return;
  }
  const bool stream = n >= kStreamBytes;
  parallel_for(0, n, kGrainBytes, [&](int64_t lo, int64_t hi) {
    if (stream) stream_bytes(dst + lo, src + lo, hi - lo);
    else std::memcpy(dst + lo, src + lo, size_t(hi - lo));
  });
}

void copy_strided(char* dst, Ints ds, DType to, const char* src, Ints ss, DType from, Ints sizes, bool conj, bool neg) {
  for (int64_t s : sizes)
    if (s == 0) return;
  DimList d = reduce_dims(sizes, ds, ss);
  const Job job{to, from, item_size(to), item_size(from), conj && is_complex(to) && is_complex(from), neg};
  if (d.empty()) d.push_back({1, job.item_to, job.item_from});
  const Dim d0 = d[0];
  if (d.size() == 1 && job.plain() && d0.ds == job.item_to && d0.ss == job.item_to) return copy_bytes(dst, src, d0.n * job.item_to);
  if (d0.ds == job.item_to && d0.ss != job.item_from && d0.ss != 0 && d0.n >= 4 && (job.plain() || (!conj && !neg)))
    for (int64_t k = 1; k < d.size(); ++k)
      if (d[k].ss == job.item_from && d[k].n >= 4) return copy_tiles(job, d, k, dst, src);
  copy_rows(job, d, dst, src);
}

void fill_strided(char* dst, Ints strides, const void* value, int64_t item, Ints sizes) {
  for (int64_t s : sizes)
    if (s == 0) return;
  Dims zero(sizes.n, 0);
  const DimList d = reduce_dims(sizes, strides, zero);
  const char* v = static_cast<const char*>(value);
  const bool bytes_equal = std::all_of(v, v + item, [&](char c) { return c == v[0]; });
  if (d.size() <= 1 && (d.empty() || d[0].ds == item)) {
    const int64_t n = (d.empty() ? 1 : d[0].n) * item;
    alignas(32) char pattern[64];
    for (int64_t i = 0; i < 64; i += item) std::memcpy(pattern + i, v, size_t(item));
    const __m256i p = _mm256_load_si256((const __m256i*)pattern);
    const bool stream = n >= kStreamBytes && reinterpret_cast<uintptr_t>(dst) % 32 == 0;
    parallel_for(0, n, n <= 4 * kGrainBytes ? n : kGrainBytes, [&](int64_t lo, int64_t hi) {
      if (stream) {
        int64_t i = lo;
        for (; i + 32 <= hi; i += 32) _mm256_stream_si256((__m256i*)(dst + i), p);
        _mm_sfence();
        if (i < hi) std::memcpy(dst + i, pattern, size_t(hi - i));
        return;
      }
      if (bytes_equal) {
        std::memset(dst + lo, v[0], size_t(hi - lo));
        return;
      }
      int64_t i = lo;
      for (; i + 32 <= hi; i += 32) _mm256_storeu_si256((__m256i*)(dst + i), p);
      if (i < hi) std::memcpy(dst + i, pattern, size_t(hi - i));
    });
    return;
  }
  // The byte width is all that matters.
  const DType as = item == 1 ? DType::u8 : item == 2 ? DType::i16 : item == 4 ? DType::i32 : item == 8 ? DType::i64 : DType::c128;
  copy_rows({as, as, item, item, false, false}, d, dst, v);
}

}  // namespace fb
