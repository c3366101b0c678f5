// Pooling: one loop over planes and windows for every kind and number of dimensions.
#include <limits>

#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// A tensor as (planes, depth, height, width); strides in elements.
struct Planes {
  int64_t batch = 1, channels = 1, size[3] = {1, 1, 1};
  int64_t sb = 0, sc = 0, stride[3] = {0, 0, 0};
  int64_t count() const { return batch * channels; }
  int64_t offset(int64_t plane) const { return plane / channels * sb + plane % channels * sc; }
};
Planes planes(const Tensor& t, int64_t nd) {
  Planes p;
  const int64_t lead = t.ndim() - nd;
  p.channels = t.sizes()[lead - 1];
  p.sc = t.strides()[lead - 1];
  if (lead == 2) p.batch = t.sizes()[0], p.sb = t.strides()[0];
  for (int64_t i = 0; i < nd; ++i) {
    p.size[3 - nd + i] = t.sizes()[lead + i];
    p.stride[3 - nd + i] = t.strides()[lead + i];
  }
  return p;
}

// The window of output position o along one axis, [lo, hi) by `step`.
struct Axis {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, in = 1, out = 1;
  bool adaptive = false;
  void window(int64_t o, int64_t& lo, int64_t& hi, int64_t& full) const {
    if (adaptive) {
      lo = o * in / out;
      hi = ((o + 1) * in + out - 1) / out;
      full = hi - lo;
      return;
    }
    lo = o * stride - padding;
    const int64_t end = lo + (kernel - 1) * dilation + 1, limit = in + padding;
    full = (end < limit ? end : limit) - lo;
    hi = end < in ? end : in;
    if (lo < 0) lo += (-lo + dilation - 1) / dilation * dilation;
  }
};
struct Windows {
  Axis a[3];
};
Windows windows(const Tensor& in, const Tensor& out, int64_t nd, Ints k, Ints s, Ints p, Ints d) {
  Windows w;
  auto at = [](Ints v, int64_t i) { return v.n == 1 ? v[0] : v[i]; };
  for (int64_t i = 0; i < nd; ++i) {
    Axis& a = w.a[3 - nd + i];
    a.kernel = at(k, i);
    a.stride = s.n ? at(s, i) : a.kernel;
    a.padding = at(p, i);
    a.dilation = at(d, i);
    a.in = in.sizes()[in.ndim() - nd + i];
    a.out = out.sizes()[out.ndim() - nd + i];
  }
  return w;
}
Windows adaptive(const Tensor& in, const Tensor& out, int64_t nd) {
  Windows w;
  for (int64_t i = 0; i < nd; ++i) {
    Axis& a = w.a[3 - nd + i];
    a.adaptive = true;
    a.in = in.sizes()[in.ndim() - nd + i];
    a.out = out.sizes()[out.ndim() - nd + i];
  }
  return w;
}

template <class F> void for_planes(int64_t n, int64_t work, F&& f) {
  const int64_t grain = work > 0 ? (32768 / work > 0 ? 32768 / work : 1) : 1;
  parallel_for(0, n, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) f(i);
  });
}

template <class T> using Sum = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

template <class F> void on_type(const char* name, DType d, F&& f) {
  if (!visit_types<float, double, half, bfloat16, uint8_t, int8_t, int16_t, int32_t, int64_t>(d, f))
    raise_not_implemented("operator ", name, " is not implemented for type ", d);
}

void max_forward(const char* name, Tensor& y, Tensor& idx, const Tensor& x, int64_t nd, const Windows& w) {
  if (y.numel() == 0) return;
  const Planes px = planes(x, nd), py = planes(y, nd), pi = planes(idx, nd);
  on_type(name, x.dtype(), [&]<class T>() {
    using S = Sum<T>;
    for_planes(py.count(), py.size[0] * py.size[1] * py.size[2] * 8, [&](int64_t plane) {
      const T* in = x.ptr<T>() + px.offset(plane);
      T* out = y.ptr<T>() + py.offset(plane);
      int64_t* where = idx.ptr<int64_t>() + pi.offset(plane);
      int64_t lo[3], hi[3], full;
      for (int64_t od = 0; od < py.size[0]; ++od) {
        w.a[0].window(od, lo[0], hi[0], full);
        for (int64_t oh = 0; oh < py.size[1]; ++oh) {
          w.a[1].window(oh, lo[1], hi[1], full);
          for (int64_t ow = 0; ow < py.size[2]; ++ow) {
            w.a[2].window(ow, lo[2], hi[2], full);
            int64_t best = (lo[0] * px.size[1] + lo[1]) * px.size[2] + lo[2];
            S top{};
            bool any = false;
            for (int64_t d = lo[0]; d < hi[0]; d += w.a[0].dilation)
              for (int64_t h = lo[1]; h < hi[1]; h += w.a[1].dilation)
                for (int64_t v = lo[2]; v < hi[2]; v += w.a[2].dilation) {
                  const S value = S(in[d * px.stride[0] + h * px.stride[1] + v * px.stride[2]]);
                  if (!any || value > top || value != value) {
                    top = value;
                    best = (d * px.size[1] + h) * px.size[2] + v;
                    any = true;
                  }
                }
            if (!any) {
              if constexpr (std::numeric_limits<S>::has_infinity) top = -std::numeric_limits<S>::infinity();
              else top = std::numeric_limits<S>::lowest();
            }
            out[od * py.stride[0] + oh * py.stride[1] + ow * py.stride[2]] = T(top);
            where[od * pi.stride[0] + oh * pi.stride[1] + ow * pi.stride[2]] = best;
          }
        }
      }
    });
  });
}

// Each gradient goes to the place its maximum came from; places of one plane are visited in order.
void max_backward(const char* name, Tensor& gx, const Tensor& gy, const Tensor& idx, int64_t nd) {
  op_list<"zero_">(gx);
  if (gy.numel() == 0) return;
  const Planes px = planes(gx, nd), py = planes(gy, nd), pi = planes(idx, nd);
  on_type(name, gx.dtype(), [&]<class T>() {
    using S = Sum<T>;
    for_planes(py.count(), py.size[0] * py.size[1] * py.size[2] * 4, [&](int64_t plane) {
      T* out = gx.ptr<T>() + px.offset(plane);
      const T* g = gy.ptr<T>() + py.offset(plane);
      const int64_t* where = idx.ptr<int64_t>() + pi.offset(plane);
      for (int64_t d = 0; d < py.size[0]; ++d)
        for (int64_t h = 0; h < py.size[1]; ++h)
          for (int64_t v = 0; v < py.size[2]; ++v) {
            const int64_t i = where[d * pi.stride[0] + h * pi.stride[1] + v * pi.stride[2]];
            const int64_t x = i % px.size[2], y = i / px.size[2] % px.size[1], z = i / (px.size[2] * px.size[1]);
            if (i < 0 || z >= px.size[0]) continue;
            T& t = out[z * px.stride[0] + y * px.stride[1] + x * px.stride[2]];
            t = T(S(t) + S(g[d * py.stride[0] + h * py.stride[1] + v * py.stride[2]]));
          }
    });
  });
}

struct Averaging {
  bool include_pad = true;
  int64_t divisor = 0;  // 0: the number of elements
};

template <class F> void each_window(const Windows& w, const int64_t (&out)[3], const Averaging& avg, F&& f) {
  int64_t lo[3], hi[3], full[3];
  for (int64_t od = 0; od < out[0]; ++od) {
    w.a[0].window(od, lo[0], hi[0], full[0]);
    for (int64_t oh = 0; oh < out[1]; ++oh) {
      w.a[1].window(oh, lo[1], hi[1], full[1]);
      for (int64_t ow = 0; ow < out[2]; ++ow) {
        w.a[2].window(ow, lo[2], hi[2], full[2]);
        int64_t n = 1;
        if (avg.divisor) n = avg.divisor;
        else
          for (int i = 0; i < 3; ++i) n *= avg.include_pad ? full[i] : (hi[i] > lo[i] ? hi[i] - lo[i] : 0);
        f(od, oh, ow, lo, hi, n);
      }
    }
  }
}

void avg_forward(const char* name, Tensor& y, const Tensor& x, int64_t nd, const Windows& w, Averaging avg) {
  if (y.numel() == 0) return;
  const Planes px = planes(x, nd), py = planes(y, nd);
  on_type(name, x.dtype(), [&]<class T>() {
    using S = Sum<T>;
    for_planes(py.count(), py.size[0] * py.size[1] * py.size[2] * 8, [&](int64_t plane) {
      const T* in = x.ptr<T>() + px.offset(plane);
      T* out = y.ptr<T>() + py.offset(plane);
      each_window(w, py.size, avg, [&](int64_t od, int64_t oh, int64_t ow, const int64_t* lo, const int64_t* hi, int64_t n) {
        S sum{};
        for (int64_t d = lo[0]; d < hi[0]; ++d)
          for (int64_t h = lo[1]; h < hi[1]; ++h)
            for (int64_t v = lo[2]; v < hi[2]; ++v) sum = S(sum + S(in[d * px.stride[0] + h * px.stride[1] + v * px.stride[2]]));
        out[od * py.stride[0] + oh * py.stride[1] + ow * py.stride[2]] = T(n ? S(sum / S(n)) : S(0));
      });
    });
  });
}

void avg_backward(const char* name, Tensor& gx, const Tensor& gy, int64_t nd, const Windows& w, Averaging avg) {
  op_list<"zero_">(gx);
  if (gy.numel() == 0) return;
  const Planes px = planes(gx, nd), py = planes(gy, nd);
  on_type(name, gx.dtype(), [&]<class T>() {
    using S = Sum<T>;
    for_planes(py.count(), py.size[0] * py.size[1] * py.size[2] * 8, [&](int64_t plane) {
      T* out = gx.ptr<T>() + px.offset(plane);
      const T* g = gy.ptr<T>() + py.offset(plane);
      each_window(w, py.size, avg, [&](int64_t od, int64_t oh, int64_t ow, const int64_t* lo, const int64_t* hi, int64_t n) {
        if (!n) return;
        const S part = S(S(g[od * py.stride[0] + oh * py.stride[1] + ow * py.stride[2]]) / S(n));
        for (int64_t d = lo[0]; d < hi[0]; ++d)
          for (int64_t h = lo[1]; h < hi[1]; ++h)
            for (int64_t v = lo[2]; v < hi[2]; ++v) {
              T& t = out[d * px.stride[0] + h * px.stride[1] + v * px.stride[2]];
              t = T(S(t) + part);
            }
      });
    });
  });
}

#define FB_POOL(N)                                                                                                                                     \
  void max_pool##N(Tensor& y, Tensor& i, const Tensor& x, Ints k, Ints s, Ints p, Ints d, bool) {                                                      \
    max_forward("max_pool" #N "d", y, i, x, N, windows(x, y, N, k, s, p, d));                                                                          \
  }                                                                                                                                                    \
  FB_KERNEL("max_pool" #N "d_with_indices", max_pool##N)                                                                                               \
  void max_pool##N##_back(Tensor& gx, const Tensor& g, const Tensor&, Ints, Ints, Ints, Ints, bool, const Tensor& i) { max_backward("max_pool" #N "d", gx, g, i, N); } \
  FB_KERNEL("max_pool" #N "d_with_indices_backward", max_pool##N##_back)                                                                               \
  void avg_pool##N(Tensor& y, const Tensor& x, Ints k, Ints s, Ints p, bool, bool inc, std::optional<int64_t> div) {                                   \
    avg_forward("avg_pool" #N "d", y, x, N, windows(x, y, N, k, s, p, Ints{1}), {inc, div.value_or(0)});                                                \
  }                                                                                                                                                    \
  FB_KERNEL("_avg_pool" #N "d", avg_pool##N)                                                                                                           \
  void avg_pool##N##_back(Tensor& gx, const Tensor& g, const Tensor& x, Ints k, Ints s, Ints p, bool, bool inc, std::optional<int64_t> div) {          \
    avg_backward("avg_pool" #N "d", gx, g, N, windows(x, g, N, k, s, p, Ints{1}), {inc, div.value_or(0)});                                              \
  }                                                                                                                                                    \
  FB_KERNEL("avg_pool" #N "d_backward", avg_pool##N##_back)                                                                                            \
  void adaptive_avg##N(Tensor& y, const Tensor& x, Ints) { avg_forward("adaptive_avg_pool" #N "d", y, x, N, adaptive(x, y, N), {}); }                   \
  FB_KERNEL("_adaptive_avg_pool" #N "d", adaptive_avg##N)                                                                                              \
  void adaptive_avg##N##_back(Tensor& gx, const Tensor& g, const Tensor& x) { avg_backward("adaptive_avg_pool" #N "d", gx, g, N, adaptive(x, g, N), {}); } \
  FB_KERNEL("_adaptive_avg_pool" #N "d_backward", adaptive_avg##N##_back)                                                                              \
  void adaptive_max##N(Tensor& y, Tensor& i, const Tensor& x, Ints) { max_forward("adaptive_max_pool" #N "d", y, i, x, N, adaptive(x, y, N)); }         \
  FB_KERNEL("adaptive_max_pool" #N "d", adaptive_max##N)                                                                                               \
  void adaptive_max##N##_back(Tensor& gx, const Tensor& g, const Tensor&, const Tensor& i) { max_backward("adaptive_max_pool" #N "d", gx, g, i, N); }    \
  FB_KERNEL("adaptive_max_pool" #N "d_backward", adaptive_max##N##_back)
FB_POOL(1)
FB_POOL(2)
FB_POOL(3)

}  // namespace
}  // namespace fb
