// nonzero, masked_scatter_ and masked_fill_.
#include <immintrin.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/threads.h"
#include "cpu/loops/convert.h"
#include "cpu/loops/copy.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// The truth of every element, row-major, broadcast to `sizes`.
struct Truth {
  std::unique_ptr<bool[]> own;
  const bool* p = nullptr;
  int64_t n = 0;
  Truth(const Tensor& t, Ints sizes) : n(numel_of(sizes)) {
    if (t.dtype() == DType::boolean && t.is_contiguous() && t.sizes() == sizes) {
      p = n ? t.ptr<bool>() : nullptr;
      return;
    }
    own.reset(new bool[size_t(n) + 1]);
    p = own.get();
    if (!n) return;
    Dims st(sizes.n, 0);
    for (int64_t d = 0; d < t.ndim(); ++d)
      if (t.sizes()[d] != 1) st[sizes.n - t.ndim() + d] = t.strides()[d] * t.item_bytes();
    copy_strided(reinterpret_cast<char*>(own.get()), contiguous_strides(sizes), DType::boolean, t.ptr<char>(), st, t.dtype(), sizes);
  }
};

int64_t count_true(const bool* p, int64_t n) {
  int64_t c = 0, i = 0;
  __m256i sums = _mm256_setzero_si256();
  for (; i + 32 <= n; i += 32) sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + i)), _mm256_setzero_si256()));
  alignas(32) int64_t four[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(four), sums);
  for (; i < n; ++i) c += p[i];
  return c + four[0] + four[1] + four[2] + four[3];
}

// How many hold before each piece of fixed size, and in all.
constexpr int64_t kPiece = 32768;
std::vector<int64_t> true_before(const bool* p, int64_t n) {
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  std::vector<int64_t> before(size_t(pieces) + 1, 0);
  parallel_for(0, pieces, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t k = lo; k < hi; ++k) before[size_t(k) + 1] = count_true(p + k * kPiece, std::min(kPiece, n - k * kPiece));
  });
  for (size_t k = 1; k < before.size(); ++k) before[k] += before[k - 1];
  return before;
}
template <class T, class At> void take_true(T* out, const bool* p, const std::vector<int64_t>& before, At at) {
  parallel_for(0, int64_t(before.size()) - 1, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t k = lo; k < hi; ++k) {
      int64_t to = before[size_t(k)];
      const int64_t end = before[size_t(k) + 1];
      // Each element is written where the next true one goes, and stays if it is true.
      for (int64_t i = k * kPiece; to < end; ++i) {
        out[to] = at(i);
        to += p[i];
      }
    }
  });
}

// Writes the index of each true element: column d at out + d * column, entry k at + k * row.
void put_indices(int64_t* out, int64_t row, int64_t column, const Truth& t, Ints sizes, int64_t limit) {
  const int64_t nd = sizes.n;
  int64_t k = 0;
  for (int64_t i = 0; i < t.n && k < limit;) {
    if (i + 8 <= t.n) {
      uint64_t eight;
      std::memcpy(&eight, t.p + i, 8);
      if (!eight) {
        i += 8;
        continue;
      }
    }
    const int64_t end = std::min(i + 8, t.n);
    for (; i < end && k < limit; ++i) {
      if (!t.p[i]) continue;
      if (nd == 1) out[k * row] = i;
      else {
        int64_t at = i;
        for (int64_t d = nd - 1; d >= 0; --d) {
          out[k * row + d * column] = at % sizes[d];
          at /= sizes[d];
        }
      }
      ++k;
    }
  }
}

Tensor nonzero_cpu(const Tensor& self) {
  const Truth t(self, self.sizes());
  const std::vector<int64_t> before = true_before(t.p, t.n);
  const int64_t n = before.back(), nd = self.ndim();
  const Tensor out = Tensor::empty_strided(Ints{n, nd}, Ints{1, n}, {DType::i64, self.device()});
  if (nd == 1) {
    if (n) take_true(out.ptr<int64_t>(), t.p, before, [](int64_t i) { return i; });
    return out;
  }
  if (n && nd) put_indices(out.ptr<int64_t>(), 1, n, t, self.sizes(), n);
  return out;
}

// The elements of self, in row-major order, where the mask of its shape holds.
Tensor masked_take_cpu(const Tensor& self, const Tensor& mask) {
  FB_CHECK(!self.is_meta() && !mask.is_meta(), "_masked_take: the meta device has no elements to count, self ", self.sizes(), ", mask ", mask.sizes());
  FB_CHECK(mask.dtype() == DType::boolean, "_masked_take: mask is ", mask.dtype(), ", it must be bool");
  FB_CHECK(mask.sizes() == self.sizes(), "_masked_take: mask of shape ", mask.sizes(), " for self of shape ", self.sizes());
  const Tensor x = self.is_contiguous() ? self : op<"clone">(self, MemoryFormat::contiguous);
  const Truth t(mask, self.sizes());
  const std::vector<int64_t> before = true_before(t.p, t.n);
  const Tensor out = Tensor::empty(Ints{before.back()}, self.options());
  if (out.numel() == 0) return out;
  auto run = [&]<class T>() {
    const T* from = x.ptr<T>();
    take_true(out.ptr<T>(), t.p, before, [from](int64_t i) { return from[i]; });
  };
  switch (self.item_bytes()) {
    case 1: run.template operator()<uint8_t>(); break;
    case 2: run.template operator()<uint16_t>(); break;
    case 4: run.template operator()<uint32_t>(); break;
    case 8: run.template operator()<uint64_t>(); break;
    default: run.template operator()<cdouble>();
  }
  return out;
}

Tensor nonzero_static_cpu(const Tensor& self, int64_t size, int64_t fill) {
  FB_CHECK(size >= 0, "nonzero_static: size must not be negative, it is ", size);
  const Truth t(self, self.sizes());
  const int64_t n = std::min(size, count_true(t.p, t.n)), nd = self.ndim();
  const Tensor out = Tensor::empty(Ints{size, nd}, {DType::i64, self.device()});
  if (!nd || !size) return out;
  put_indices(out.ptr<int64_t>(), nd, 1, t, self.sizes(), n);
  std::fill(out.ptr<int64_t>() + n * nd, out.ptr<int64_t>() + size * nd, fill);
  return out;
}

// f(byte offset in self, k) for every element that the mask holds for, in row-major order; k counts them.
template <class F> void each_masked(const Tensor& self, const Truth& t, F&& f) {
  const Ints sizes = self.sizes();
  const int64_t nd = sizes.n, item = self.item_bytes(), inner = nd ? sizes[nd - 1] : 1, step = nd ? self.strides()[nd - 1] * item : 0;
  int64_t k = 0;
  Dims c(nd, 0);
  int64_t at = 0;
  for (int64_t i = 0; i < t.n; i += inner) {
    for (int64_t j = 0; j < inner; ++j)
      if (t.p[i + j]) f(at + j * step, k++);
    for (int64_t d = nd - 2; d >= 0; --d) {
      at += self.strides()[d] * item;
      if (++c[d] < sizes[d]) break;
      at -= self.strides()[d] * item * sizes[d];
      c[d] = 0;
    }
  }
}

void masked_scatter_cpu(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Truth t(mask, self.sizes());
  const int64_t n = count_true(t.p, t.n);
  FB_CHECK(n <= source.numel(), "masked_scatter_: mask holds for ", n, " elements of self, source of shape ", source.sizes(), " has ", source.numel());
  if (!n) return;
  Tensor s = source;
  if (!s.is_contiguous() || may_overlap(self, source)) s = op<"clone">(source, MemoryFormat::contiguous);
  char* p = self.ptr<char>();
  const char* q = s.ptr<char>();
  const size_t item = size_t(self.item_bytes());
  each_masked(self, t, [&](int64_t at, int64_t k) { std::memcpy(p + at, q + size_t(k) * item, item); });
}

template <class T> void fill_masked(T* p, T value, const bool* m, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = m[i] ? value : p[i];
}

void masked_fill_cpu(const Tensor& self, const Tensor& mask, const Scalar& value) {
  if (self.numel() == 0) return;
  const Truth t(mask, self.sizes());
  alignas(16) char v[16];
  {
    const bool known = visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16, float8_e5m2,
                                   float8_e4m3fn, uint16_t, uint32_t, uint64_t>(self.dtype(), [&]<class T>() {
      const T x = value.to<T>();
      std::memcpy(v, &x, sizeof x);
    });
    if (!known) raise_not_implemented("masked_fill_ is not there for type ", self.dtype());
  }
  char* p = self.ptr<char>();
  const int64_t item = self.item_bytes();
  auto run = [&]<class T>(T value) {
    std::memcpy(&value, v, sizeof v < sizeof(T) ? sizeof v : sizeof(T));
    if (self.is_contiguous()) {
      parallel_for(0, t.n, 32768, [&](int64_t a, int64_t b) { fill_masked(reinterpret_cast<T*>(p) + a, value, t.p + a, b - a); });
      return;
    }
    each_masked(self, t, [&](int64_t at, int64_t) { *reinterpret_cast<T*>(p + at) = value; });
  };
  switch (item) {
    case 1: return run(uint8_t());
    case 2: return run(uint16_t());
    case 4: return run(uint32_t());
    case 8: return run(uint64_t());
    default: return run(cdouble());
  }
}

}  // namespace

FB_KERNEL_DIRECT("nonzero", nonzero_cpu)
FB_KERNEL_DIRECT("_masked_take", masked_take_cpu)
FB_KERNEL_DIRECT("nonzero_static", nonzero_static_cpu)
FB_KERNEL_DIRECT("masked_scatter_", masked_scatter_cpu)
FB_KERNEL_DIRECT("masked_fill_.Scalar", masked_fill_cpu)

}  // namespace fb
