// Patches of planes as columns, and back. Threads take (sample, channel) pairs.
#include "core/complex.h"
#include "core/half.h"
#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

struct Window {
  int64_t k[2], d[2], p[2], s[2], size[2], out[2];
};
Window window_of(Ints size, Ints k, Ints d, Ints p, Ints s) {
  Window w{};
  for (int i = 0; i < 2; ++i) {
    w.k[i] = k[i], w.d[i] = d[i], w.p[i] = p[i], w.s[i] = s[i], w.size[i] = size[i];
    w.out[i] = (size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) / s[i] + 1;
  }
  return w;
}

// f(row of the column matrix, oh, ow range [lo, hi), ih, iw of ow = 0): every run of columns that reads within the plane.
template <class F> void each_run(const Window& w, F&& f) {
  for (int64_t i = 0; i < w.k[0]; ++i)
    for (int64_t j = 0; j < w.k[1]; ++j) {
      const int64_t first = j * w.d[1] - w.p[1];
      int64_t lo = first < 0 ? (-first + w.s[1] - 1) / w.s[1] : 0;
      int64_t hi = first < w.size[1] ? (w.size[1] - 1 - first) / w.s[1] + 1 : 0;
      if (hi > w.out[1]) hi = w.out[1];
      if (lo > hi) lo = hi;
      for (int64_t oh = 0; oh < w.out[0]; ++oh) f(i * w.k[1] + j, oh, lo, hi, oh * w.s[0] - w.p[0] + i * w.d[0], first);
    }
}

template <class F> void for_planes(int64_t n, int64_t work, F&& f) {
  parallel_for(0, n, work < 32768 ? 32768 / (work + 1) + 1 : 1, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) f(i);
  });
}

template <class T> void to_columns(const Window& w, int64_t planes, int64_t channels, const T* x, Ints st, int64_t sb, T* y) {
  const int64_t places = w.out[0] * w.out[1], rows = w.k[0] * w.k[1];
  for_planes(planes, rows * places, [&](int64_t plane) {
    const T* in = x + plane / channels * sb + plane % channels * st[0];
    T* out = y + plane * rows * places;
    each_run(w, [&](int64_t row, int64_t oh, int64_t lo, int64_t hi, int64_t ih, int64_t iw) {
      T* to = out + row * places + oh * w.out[1];
      if (ih < 0 || ih >= w.size[0]) lo = hi = 0;
      for (int64_t o = 0; o < lo; ++o) to[o] = T{};
      const T* from = in + ih * st[1];
      for (int64_t o = lo; o < hi; ++o) to[o] = from[(iw + o * w.s[1]) * st[2]];
      for (int64_t o = hi; o < w.out[1]; ++o) to[o] = T{};
    });
  });
}

template <class T, class S> void from_columns(const Window& w, int64_t planes, const T* x, T* y) {
  const int64_t places = w.out[0] * w.out[1], rows = w.k[0] * w.k[1], area = w.size[0] * w.size[1];
  for_planes(planes, rows * places, [&](int64_t plane) {
    const T* in = x + plane * rows * places;
    T* out = y + plane * area;
    for (int64_t i = 0; i < area; ++i) out[i] = T{};
    each_run(w, [&](int64_t row, int64_t oh, int64_t lo, int64_t hi, int64_t ih, int64_t iw) {
      if (ih < 0 || ih >= w.size[0]) return;
      const T* from = in + row * places + oh * w.out[1];
      T* to = out + ih * w.size[1] + iw;
      for (int64_t o = lo; o < hi; ++o) {
        T& t = to[o * w.s[1]];
        if constexpr (std::is_same_v<T, bool>) t = t || from[o];
        else t = T(S(t) + S(from[o]));
      }
    });
  });
}

template <class F> void on_type(const char* name, DType d, F&& f) {
  if (!visit_types<float, double, half, bfloat16, cfloat, cdouble, bool>(d, f)) raise_not_implemented("operator ", name, " is not implemented for type ", d);
}
template <class T> using Sum = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

void im2col(Tensor& y, const Tensor& x, Ints k, Ints d, Ints p, Ints s) {
  const int64_t n = x.ndim(), channels = x.sizes()[n - 3];
  on_type("im2col", x.dtype(), [&]<class T>() {
    if (y.numel() == 0) return;
    to_columns(window_of(x.sizes().slice(n - 2, 2), k, d, p, s), channels * (n == 4 ? x.sizes()[0] : 1), channels, x.ptr<T>(), x.strides().slice(n - 3, 3),
               n == 4 ? x.strides()[0] : 0, y.ptr<T>());
  });
}
FB_KERNEL("im2col", im2col)

void col2im(Tensor& y, const Tensor& x, Ints size, Ints k, Ints d, Ints p, Ints s) {
  const Tensor in = op<"contiguous">(x);
  on_type("col2im", x.dtype(), [&]<class T>() {
    if (y.numel() == 0) return;
    from_columns<T, Sum<T>>(window_of(size, k, d, p, s), y.numel() / (size[0] * size[1]), in.ptr<T>(), y.ptr<T>());
  });
}
FB_KERNEL("col2im", col2im)

}  // namespace
}  // namespace fb
