// Means of windows and their gradients.
#include "cpu/kernels/pool_windows.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb::pooling {
namespace {

struct Averaging {
  bool include_pad = true;
  int64_t divisor = 0;  // 0: the number of elements
};

struct Box {
  int64_t lo[3], hi[3], full[3];
  int64_t divisor(const Averaging& avg) const {
    if (avg.divisor) return avg.divisor;
    int64_t n = 1;
    for (int i = 0; i < 3; ++i) n *= avg.include_pad ? full[i] : (hi[i] > lo[i] ? hi[i] - lo[i] : 0);
    return n;
  }
};

// f(od, oh, ow, box) in the order of outputs.
template <class F> void each_window(const Windows& w, const Planes& py, F&& f) {
  Box b;
  for (int64_t od = 0; od < py.size[0]; ++od) {
    w.a[0].window(od, b.lo[0], b.hi[0], b.full[0]);
    for (int64_t oh = 0; oh < py.size[1]; ++oh) {
      w.a[1].window(oh, b.lo[1], b.hi[1], b.full[1]);
      for (int64_t ow = 0; ow < py.size[2]; ++ow) {
        w.a[2].window(ow, b.lo[2], b.hi[2], b.full[2]);
        f(od, oh, ow, b);
      }
    }
  }
}

template <class T> void average_plane(const Windows& w, const Planes& px, const Planes& py, Averaging avg, const T* in, T* out) {
  using S = Wide<T>;
  each_window(w, py, [&](int64_t od, int64_t oh, int64_t ow, const Box& b) {
    S sum{};
    for (int64_t d = b.lo[0]; d < b.hi[0]; ++d)
      for (int64_t h = b.lo[1]; h < b.hi[1]; ++h) {
        const T* row = in + px.at(d, h, 0);
        for (int64_t v = b.lo[2]; v < b.hi[2]; ++v) sum = S(sum + S(row[v * px.stride[2]]));
      }
    const int64_t n = b.divisor(avg);
    out[py.at(od, oh, ow)] = T(n ? S(sum / S(n)) : S(0));
  });
}

// Channels beside each other: the same sums in the same order, a run of channels at a time.
template <class T> void average_channels(const Windows& w, const Planes& px, const Planes& py, Averaging avg, const T* x, T* y) {
  using S = Wide<T>;
  constexpr int64_t kRun = 64;
  for_each(py.batch * py.size[0] * py.size[1], py.size[2] * py.channels * 8, [&](int64_t row) {
    const int64_t batch = row / (py.size[0] * py.size[1]), od = row / py.size[1] % py.size[0], oh = row % py.size[1];
    Box b;
    w.a[0].window(od, b.lo[0], b.hi[0], b.full[0]);
    w.a[1].window(oh, b.lo[1], b.hi[1], b.full[1]);
    for (int64_t ow = 0; ow < py.size[2]; ++ow) {
      w.a[2].window(ow, b.lo[2], b.hi[2], b.full[2]);
      const int64_t n = b.divisor(avg);
      for (int64_t c = 0; c < py.channels; c += kRun) {
        const int64_t m = py.channels - c < kRun ? py.channels - c : kRun;
        S sum[kRun] = {};
        for (int64_t d = b.lo[0]; d < b.hi[0]; ++d)
          for (int64_t h = b.lo[1]; h < b.hi[1]; ++h)
            for (int64_t v = b.lo[2]; v < b.hi[2]; ++v) {
              const T* in = x + batch * px.sb + px.at(d, h, v) + c;
              for (int64_t i = 0; i < m; ++i) sum[i] = S(sum[i] + S(in[i]));
            }
        T* out = y + batch * py.sb + py.at(od, oh, ow) + c;
        for (int64_t i = 0; i < m; ++i) out[i] = T(n ? S(sum[i] / S(n)) : S(0));
      }
    }
  });
}

void average(const char* name, Types types, Tensor& y, const Tensor& x, int64_t nd, const Windows& w, Averaging avg) {
  const Planes px = planes(x, nd), py = planes(y, nd);
  on_type(name, x.dtype(), types, [&]<class T>() {
    if (y.numel() == 0) return;
    if (px.channels > 1 && px.sc == 1 && py.sc == 1) return average_channels(w, px, py, avg, x.ptr<T>(), y.ptr<T>());
    for_each(py.count(), py.places() * 8, [&](int64_t plane) {
      average_plane(w, px, py, avg, x.ptr<T>() + px.offset(plane), y.ptr<T>() + py.offset(plane));
    });
  });
}

void average_backward(const char* name, Types types, Tensor& gx, const Tensor& gy, int64_t nd, const Windows& w, Averaging avg) {
  op_list<"zero_">(gx);
  const Planes px = planes(gx, nd), py = planes(gy, nd);
  on_type(name, gx.dtype(), types, [&]<class T>() {
    using S = Wide<T>;
    if (gy.numel() == 0) return;
    for_each(py.count(), py.places() * 8, [&](int64_t plane) {
      T* out = gx.ptr<T>() + px.offset(plane);
      const T* g = gy.ptr<T>() + py.offset(plane);
      each_window(w, py, [&](int64_t od, int64_t oh, int64_t ow, const Box& b) {
        const int64_t n = b.divisor(avg);
        if (!n) return;
        const S part = S(S(g[py.at(od, oh, ow)]) / S(n));
        for (int64_t d = b.lo[0]; d < b.hi[0]; ++d)
          for (int64_t h = b.lo[1]; h < b.hi[1]; ++h) {
            T* row = out + px.at(d, h, 0);
            for (int64_t v = b.lo[2]; v < b.hi[2]; ++v) {
              T& t = row[v * px.stride[2]];
              t = T(S(t) + part);
            }
          }
      });
    });
  });
}

#define FB_POOL(N)                                                                                                      \
  void avg_pool##N(Tensor& y, const Tensor& x, Ints k, Ints s, Ints p, bool, bool inc, std::optional<int64_t> div) {    \
    average("avg_pool" #N "d", Types::with_int64, y, x, N, windows(x, y, N, k, s, p, Ints{1}), {inc, div.value_or(0)});  \
  }                                                                                                                     \
  FB_KERNEL("avg_pool" #N "d", avg_pool##N)                                                                             \
  void avg_pool##N##_back(Tensor& gx, const Tensor& g, const Tensor& x, Ints k, Ints s, Ints p, bool, bool inc,         \
                          std::optional<int64_t> div) {                                                                 \
    average_backward("avg_pool" #N "d_backward", Types::with_int64, gx, g, N, windows(x, g, N, k, s, p, Ints{1}),       \
                     {inc, div.value_or(0)});                                                                           \
  }                                                                                                                     \
  FB_KERNEL("avg_pool" #N "d_backward", avg_pool##N##_back)                                                             \
  void adaptive_avg##N(Tensor& y, const Tensor& x, Ints) {                                                              \
    average("adaptive_avg_pool" #N "d", Types::floating, y, x, N, adaptive(x, y, N), {});                               \
  }                                                                                                                     \
  FB_KERNEL("_adaptive_avg_pool" #N "d", adaptive_avg##N)                                                               \
  void adaptive_avg##N##_back(Tensor& gx, const Tensor& g, const Tensor& x) {                                           \
    average_backward("adaptive_avg_pool" #N "d_backward", Types::floating, gx, g, N, adaptive(x, g, N), {});            \
  }                                                                                                                     \
  FB_KERNEL("_adaptive_avg_pool" #N "d_backward", adaptive_avg##N##_back)
FB_POOL(2)
FB_POOL(3)
#undef FB_POOL

}  // namespace
}  // namespace fb::pooling
