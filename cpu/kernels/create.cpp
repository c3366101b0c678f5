// Kernels of ops/create/ranges.h and of triangles.
#include <algorithm>
#include <cstring>

#include "core/threads.h"
#include "cpu/loops/copy.h"
#include "dispatch/box.h"
#include "ops/math/math.h"
#include "ops/math/number_domain.h"

namespace fb {
namespace {

constexpr int64_t kGrain = 1 << 14;

// Element i is start + i * step, in int64 for integers and in double otherwise, rounded once.
void arange_cpu(Tensor& out, const Scalar& start, const Scalar& end, const Scalar& step, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, half, bfloat16, float, double>(out.dtype(), [&]<class T>() {
    T* p = out.ptr<T>();
    parallel_for(0, out.numel(), kGrain, [&](int64_t lo, int64_t hi) {
      if constexpr (std::is_integral_v<T>) {
        const uint64_t a = uint64_t(start.to_int()), s = uint64_t(step.to_int());
        for (int64_t i = lo; i < hi; ++i) p[i] = T(a + s * uint64_t(i));
      } else {
        const double a = start.to_double(), s = step.to_double();
        for (int64_t i = lo; i < hi; ++i) {
          if constexpr (std::is_same_v<T, double>) p[i] = a + s * double(i);
          else p[i] = T(float(a + s * double(i)));
        }
      }
    });
  });
}

// Complex numbers in double.
struct Z { double re, im; };
Z lerp_at(cdouble a, cdouble b, int64_t i, int64_t steps, double n) {
  const double re = (b.re - a.re) / n, im = (b.im - a.im) / n;
  if (i < steps / 2) return {a.re + re * double(i), a.im + im * double(i)};
  const double k = double(steps - 1 - i);
  return {b.re - re * k, b.im - im * k};
}

// f(i) -> a double or a Z.
template <class F> void fill_by(Tensor& out, F&& f) {
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, half, bfloat16, float, double, cfloat, cdouble>(out.dtype(), [&]<class T>() {
    T* p = out.ptr<T>();
    parallel_for(0, out.numel(), kGrain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const Z v = f(i);
        if constexpr (is_complex_v<T>) p[i] = T(cdouble(v.re, v.im));
        else if constexpr (std::is_integral_v<T>) p[i] = T(Scalar(v.re).to_int());
        else if constexpr (std::is_same_v<T, double>) p[i] = v.re;
        else p[i] = T(float(v.re));
      }
    });
  });
}

void linspace_cpu(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  const double n = steps > 1 ? double(steps - 1) : 1;
  // Integers take whole ends, bytes those that the type holds.
  const bool whole = is_integral(out.dtype()), bytes = out.dtype() == DType::u8;
  auto bound = [&](const Scalar& s) {
    return whole ? cdouble(bytes ? double(uint8_t(s.to_int())) : double(s.to_int()), 0) : s.to_complex();
  };
  const cdouble a = bound(start), b = bound(end);
  if (steps == 1) return fill_by(out, [&](int64_t) { return Z{a.re, a.im}; });
  fill_by(out, [&](int64_t i) { return lerp_at(a, b, i, steps, n); });
}

void logspace_cpu(Tensor& out, const Scalar& start, const Scalar& end, int64_t steps, double base, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  const double n = steps > 1 ? double(steps - 1) : 1;
  const bool z = is_complex(out.dtype()), whole = is_integral(out.dtype());
  const cdouble a = whole ? cdouble(double(start.to_int()), 0) : start.to_complex(), b = whole ? cdouble(double(end.to_int()), 0) : end.to_complex();
  const double log_abs = math::log(base < 0 ? -base : base), turn = base < 0 ? 3.14159265358979323846 : 0;
  fill_by(out, [&](int64_t i) {
    const Z e = steps == 1 ? Z{a.re, a.im} : lerp_at(a, b, i, steps, n);
    if (!z) return Z{math::pow(base, e.re), 0};
    // base^e = exp(e * log(base))
    const double re = e.re * log_abs - e.im * turn, im = e.im * log_abs + e.re * turn, r = math::exp(re);
    return Z{r * math::cos(im), r * math::sin(im)};
  });
}

template <class T> void triangle(Tensor& out, int64_t rows, int64_t cols, int64_t offset, bool lower) {
  const int64_t n = out.sizes()[1];
  T *r = out.ptr<T>(), *c = r + n;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t edge = std::clamp<int64_t>(lower ? i + offset + 1 : i + offset, 0, cols);
    for (int64_t j = lower ? 0 : edge; j < (lower ? edge : cols); ++j) *r++ = T(i), *c++ = T(j);
  }
}
template <bool lower> void triangle_cpu(Tensor& out, int64_t rows, int64_t cols, int64_t offset, DType, std::optional<Layout>, std::optional<Device>, std::optional<bool>) {
  visit_types<int32_t, int64_t>(out.dtype(), [&]<class T>() { triangle<T>(out, rows, cols, offset, lower); });
}

// Rows of the result: the part kept is copied, the rest is zero.
template <bool lower> void triangular_cpu(Tensor& out, const Tensor& self, int64_t k) {
  if (out.numel() == 0) return;
  const int64_t n = out.ndim(), rows = out.sizes()[n - 2], cols = out.sizes()[n - 1], item = out.item_bytes();
  Tensor from = self;
  if (!self.is_contiguous()) {
    from = Tensor::empty(self.sizes(), self.options());
    copy_strided(from.ptr<char>(), byte_strides(from.strides(), item), from.dtype(), self.ptr<char>(), byte_strides(self.strides(), item), from.dtype(), self.sizes());
  }
  const char* src = from.ptr<char>();
  char* dst = out.ptr<char>();
  parallel_for(0, out.numel() / cols, std::max<int64_t>(1, (1 << 15) / cols), [&](int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; ++r) {
      const int64_t i = r % rows;
      // First column of the upper part of the row.
      int64_t edge = 0;
      if (__builtin_add_overflow(i, k, &edge) || (lower && __builtin_add_overflow(edge, int64_t(1), &edge))) edge = k > 0 ? cols : 0;
      edge = std::clamp<int64_t>(edge, 0, cols);
      char* d = dst + r * cols * item;
      const char* s = src + r * cols * item;
      const size_t left = size_t(edge * item), right = size_t((cols - edge) * item);
      if (lower) {
        std::memcpy(d, s, left);
        std::memset(d + left, 0, right);
      } else {
        std::memset(d, 0, left);
        std::memcpy(d + left, s + left, right);
      }
    }
  });
}

}  // namespace

FB_KERNEL("arange.start_step", arange_cpu)
FB_KERNEL("range.step", arange_cpu)
FB_KERNEL("linspace", linspace_cpu)
FB_KERNEL("logspace", logspace_cpu)
FB_KERNEL("tril_indices", triangle_cpu<true>)
FB_KERNEL("triu_indices", triangle_cpu<false>)
FB_KERNEL("tril", triangular_cpu<true>)
FB_KERNEL("triu", triangular_cpu<false>)

}  // namespace fb
