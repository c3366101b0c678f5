// Largest elements of windows, and where they stood.
#include <vector>

#include "cpu/kernels/pool_windows.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb::pooling {
namespace {

template <class S> constexpr S lowest() {
  if constexpr (std::numeric_limits<S>::has_infinity) return -std::numeric_limits<S>::infinity();
  else return std::numeric_limits<S>::lowest();
}

// One plane. The first of equal elements wins, the last NaN wins over all; a window of padding alone has its first place.
template <class T>
void max_plane(const Windows& w, const Planes& px, const Planes& py, const Planes& pi, const T* in, T* out, int64_t* where) {
  using S = Wide<T>;
  int64_t lo[3], hi[3], full;
  for (int64_t od = 0; od < py.size[0]; ++od) {
    w.a[0].window(od, lo[0], hi[0], full);
    for (int64_t oh = 0; oh < py.size[1]; ++oh) {
      w.a[1].window(oh, lo[1], hi[1], full);
      for (int64_t ow = 0; ow < py.size[2]; ++ow) {
        w.a[2].window(ow, lo[2], hi[2], full);
        int64_t best = (lo[0] * px.size[1] + lo[1]) * px.size[2] + lo[2];
        S top = lowest<S>();
        for (int64_t d = lo[0]; d < hi[0]; d += w.a[0].dilation)
          for (int64_t h = lo[1]; h < hi[1]; h += w.a[1].dilation) {
            const T* row = in + px.at(d, h, 0);
            const int64_t first = (d * px.size[1] + h) * px.size[2];
            for (int64_t v = lo[2]; v < hi[2]; v += w.a[2].dilation) {
              const S value = S(row[v * px.stride[2]]);
              if (value > top || value != value) {
                top = value;
                best = first + v;
              }
            }
          }
        out[py.at(od, oh, ow)] = T(top);
        where[pi.at(od, oh, ow)] = best;
      }
    }
  }
}

// Channels beside each other: the same, a run of channels at a time. Places are kept in numbers as wide as the elements,
// so that vectors of both have as many lanes.
template <class S> using Place = std::conditional_t<sizeof(S) == 8, int64_t, int32_t>;
template <class T>
void max_channels(const Windows& w, const Planes& px, const Planes& py, const Planes& pi, const T* x, T* y, int64_t* idx) {
  using S = Wide<T>;
  using P = Place<S>;
  constexpr int64_t kRun = 64;
  const int64_t rows = py.batch * py.size[0] * py.size[1];
  for_each(rows, py.size[2] * py.channels * 8, [&](int64_t row) {
    const int64_t b = row / (py.size[0] * py.size[1]), od = row / py.size[1] % py.size[0], oh = row % py.size[1];
    int64_t lo[3], hi[3], full;
    w.a[0].window(od, lo[0], hi[0], full);
    w.a[1].window(oh, lo[1], hi[1], full);
    for (int64_t ow = 0; ow < py.size[2]; ++ow) {
      w.a[2].window(ow, lo[2], hi[2], full);
      const P start = P((lo[0] * px.size[1] + lo[1]) * px.size[2] + lo[2]);
      for (int64_t c = 0; c < py.channels; c += kRun) {
        const int64_t n = py.channels - c < kRun ? py.channels - c : kRun;
        alignas(64) S top[kRun];
        alignas(64) P best[kRun];
        for (int64_t i = 0; i < kRun; ++i) top[i] = lowest<S>(), best[i] = start;
        for (int64_t d = lo[0]; d < hi[0]; d += w.a[0].dilation)
          for (int64_t h = lo[1]; h < hi[1]; h += w.a[1].dilation)
            for (int64_t v = lo[2]; v < hi[2]; v += w.a[2].dilation) {
              const T* __restrict in = x + b * px.sb + px.at(d, h, v) + c;
              const P place = P((d * px.size[1] + h) * px.size[2] + v);
              auto take = [&](int64_t m) {
                for (int64_t i = 0; i < m; ++i) {
                  const S value = S(in[i]);
                  const bool more = (value > top[i]) | (value != value);
                  top[i] = more ? value : top[i];
                  best[i] = more ? place : best[i];
                }
              };
              if (n == kRun) take(kRun);
              else take(n);
            }
        T* out = y + b * py.sb + py.at(od, oh, ow) + c;
        int64_t* where = idx + b * pi.sb + pi.at(od, oh, ow) + c;
        for (int64_t i = 0; i < n; ++i) out[i] = T(top[i]), where[i] = best[i];
      }
    }
  });
}

void max_forward(const char* name, Types types, Tensor& y, Tensor& idx, const Tensor& x, int64_t nd, const Windows& w) {
  const Planes px = planes(x, nd), py = planes(y, nd), pi = planes(idx, nd);
  on_type(name, x.dtype(), types, [&]<class T>() {
    if (y.numel() == 0) return;
    if (px.channels > 1 && px.sc == 1 && py.sc == 1 && pi.sc == 1 && px.places() < INT32_MAX) return max_channels(w, px, py, pi, x.ptr<T>(), y.ptr<T>(), idx.ptr<int64_t>());
    for_each(py.count(), py.places() * 8, [&](int64_t plane) {
      max_plane(w, px, py, pi, x.ptr<T>() + px.offset(plane), y.ptr<T>() + py.offset(plane), idx.ptr<int64_t>() + pi.offset(plane));
    });
  });
}

// Starts of `n` windows of `kernel` elements over `in`, in the arithmetic of type T as it is (each step rounds).
template <class T> void fractional_starts(int64_t* starts, T u, int64_t in, int64_t n, int64_t kernel) {
  if (n > 1) {
    const T a = T(Wide<T>(T(Wide<T>(in - kernel))) / Wide<T>(T(Wide<T>(n - 1))));
    const int64_t base = int64_t(Wide<T>(T(Wide<T>(u) * Wide<T>(a))));
    for (int64_t i = 0; i + 1 < n; ++i) {
      const T at = T(Wide<T>(T(Wide<T>(T(Wide<T>(i))) + Wide<T>(u))) * Wide<T>(a));
      int64_t s = int64_t(Wide<T>(at)) - base;
      if (!(s >= 0)) s = 0;  // samples outside [0, 1) stay within the input
      starts[i] = s < in - kernel ? s : in - kernel;
    }
  }
  if (n > 0) starts[n - 1] = in - kernel;
}

void fractional(const char* name, Tensor& y, Tensor& idx, const Tensor& x, Ints k, const Tensor& samples, int64_t nd) {
  const Planes px = planes(x, nd), py = planes(y, nd), pi = planes(idx, nd);
  on_type(name, x.dtype(), Types::floating, [&]<class T>() {
    if (y.numel() == 0) return;
    const Ints ss = samples.strides();
    for_each(py.count(), py.places() * 8, [&](int64_t plane) {
      std::vector<int64_t> starts[3];
      Windows w;
      const T* u = samples.ptr<T>() + plane / py.channels * ss[0] + plane % py.channels * ss[1];
      for (int64_t i = 0; i < nd; ++i) {
        const int64_t at = 3 - nd + i;
        // The samples of a plane are (width, height), those of a volume (depth, height, width).
        const T sample = u[(nd == 2 ? 1 - i : i) * ss[2]];
        Axis& a = w.a[at];
        a.kernel = k.n == 1 ? k[0] : k[i];
        starts[at].resize(size_t(py.size[at]));
        fractional_starts(starts[at].data(), sample, px.size[at], py.size[at], a.kernel);
        a.starts = starts[at].data();
      }
      max_plane(w, px, py, pi, x.ptr<T>() + px.offset(plane), y.ptr<T>() + py.offset(plane), idx.ptr<int64_t>() + pi.offset(plane));
    });
  });
}

#define FB_POOL(N)                                                                                                      \
  void max_pool##N(Tensor& y, Tensor& i, const Tensor& x, Ints k, Ints s, Ints p, Ints d, bool) {                       \
    max_forward("max_pool" #N "d", Types::numeric, y, i, x, N, windows(x, y, N, k, s, p, d));                           \
  }                                                                                                                     \
  FB_KERNEL("max_pool" #N "d_with_indices", max_pool##N)                                                                \
  void adaptive_max##N(Tensor& y, Tensor& i, const Tensor& x, Ints) {                                                   \
    max_forward("adaptive_max_pool" #N "d", Types::floating, y, i, x, N, adaptive(x, y, N));                            \
  }                                                                                                                     \
  FB_KERNEL("adaptive_max_pool" #N "d", adaptive_max##N)                                                                \
  void fractional##N(Tensor& y, Tensor& i, const Tensor& x, Ints k, Ints, const Tensor& samples) {                      \
    fractional("fractional_max_pool" #N "d", y, i, x, k, samples, N);                                                   \
  }                                                                                                                     \
  FB_KERNEL("fractional_max_pool" #N "d", fractional##N)
FB_POOL(2)
FB_POOL(3)
#undef FB_POOL

}  // namespace
}  // namespace fb::pooling
