// Sampling of planes and volumes at given positions, and its gradients. Threads take samples of the batch, whose places
// are visited in order, so that sums have one order.
#include <cmath>

#include "core/half.h"
#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

enum { kLinear, kNearest, kCubic };
enum { kZeros, kBorder, kReflection };

template <class S> S unnormalized(S x, int64_t size, bool corners, S& slope) {
  slope = corners ? S(size - 1) / 2 : S(size) / 2;
  return corners ? (x + 1) / 2 * S(size - 1) : ((x + 1) * S(size) - 1) / 2;
}
template <class S> S clipped(S x, int64_t size, S& slope) {
  if (!(x > 0)) {  // NaN too
    slope = 0;
    return 0;
  }
  if (x >= S(size - 1)) {
    slope = 0;
    return S(size - 1);
  }
  return x;
}
template <class S> S reflected(S x, int64_t twice_low, int64_t twice_high, S& slope) {
  if (twice_low == twice_high) {
    slope = 0;
    return 0;
  }
  const S low = S(twice_low) / 2, span = S(twice_high - twice_low) / 2;
  x -= low;
  if (x < 0) slope = -slope, x = -x;
  const S extra = std::fmod(x, span);
  const S flips = std::floor(x / span);
  if (std::fmod(flips, S(2)) == 0) return extra + low;
  slope = -slope;
  return span - extra + low;
}
template <class S> S padded(S x, int64_t size, int64_t padding, bool corners, S& slope) {
  if (padding == kReflection) x = corners ? reflected(x, 0, 2 * (size - 1), slope) : reflected(x, -1, 2 * size - 1, slope);
  if (padding != kZeros) x = clipped(x, size, slope);
  return x;
}
// Far places and NaN are outside everything.
template <class S> int64_t whole(S x) { return x > S(-2e9) && x < S(2e9) ? int64_t(x) : -100; }

// What one place reads: offsets from the plane (negative: outside) with weights, and the weights' derivatives in each
// coordinate (already times the slope).
template <class S> struct Taps {
  int n = 0;
  int64_t at[16];
  S w[16], dw[16][3];
};

struct Volume {
  int64_t nd, size[3], stride[3];  // x, y, z
};

template <class S> void cubic_weights(S t, S (&w)[4], S (&d)[4]) {
  const S a = S(-0.75);
  const S u = 1 - t;
  auto near = [&](S x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [&](S x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  w[0] = far(t + 1), w[1] = near(t), w[2] = near(u), w[3] = far(u + 1);
  auto dnear = [&](S x) { return (3 * (a + 2) * x - 2 * (a + 3)) * x; };
  auto dfar = [&](S x) { return (3 * a * x - 10 * a) * x + 8 * a; };
  d[0] = dfar(t + 1), d[1] = dnear(t), d[2] = -dnear(u), d[3] = -dfar(u + 1);
}

template <class S> void find_taps(Taps<S>& taps, const Volume& v, const S* position, int64_t mode, int64_t padding, bool corners) {
  S x[3], slope[3];
  for (int i = 0; i < v.nd; ++i) {
    x[i] = unnormalized(position[i], v.size[i], corners, slope[i]);
    if (mode != kCubic) x[i] = padded(x[i], v.size[i], padding, corners, slope[i]);
  }
  if (mode == kNearest) {
    taps.n = 1;
    taps.w[0] = 1;
    int64_t at = 0;
    for (int i = 0; i < v.nd; ++i) {
      const int64_t k = whole(std::nearbyint(x[i]));
      at = at < 0 || k < 0 || k >= v.size[i] ? -1 : at + k * v.stride[i];
      taps.dw[0][i] = 0;
    }
    taps.at[0] = at;
    return;
  }
  if (mode == kLinear) {
    taps.n = 1 << v.nd;
    S low[3];
    int64_t k0[3];
    for (int i = 0; i < v.nd; ++i) low[i] = std::floor(x[i]), k0[i] = whole(low[i]);
    for (int t = 0; t < taps.n; ++t) {
      int64_t at = 0;
      S w = 1;
      for (int i = 0; i < v.nd; ++i) {
        const int64_t k = k0[i] + (t >> i & 1);
        at = at < 0 || k < 0 || k >= v.size[i] ? -1 : at + k * v.stride[i];
        w *= t >> i & 1 ? x[i] - low[i] : low[i] + 1 - x[i];
      }
      taps.at[t] = at;
      taps.w[t] = w;
      for (int i = 0; i < v.nd; ++i) {
        S d = t >> i & 1 ? slope[i] : -slope[i];
        for (int j = 0; j < v.nd; ++j)
          if (j != i) d *= t >> j & 1 ? x[j] - low[j] : low[j] + 1 - x[j];
        taps.dw[t][i] = d;
      }
    }
    return;
  }
  taps.n = 16;
  S w[2][4], d[2][4];
  int64_t at[2][4];
  for (int i = 0; i < 2; ++i) {
    const S low = std::floor(x[i]);
    cubic_weights(x[i] - low, w[i], d[i]);
    for (int k = 0; k < 4; ++k) {
      S unused = 0;
      const int64_t p = whole(padded(low + S(k - 1), v.size[i], padding, corners, unused));
      at[i][k] = p < 0 || p >= v.size[i] ? -1 : p * v.stride[i];
    }
  }
  for (int t = 0; t < 16; ++t) {
    const int i = t % 4, j = t / 4;
    taps.at[t] = at[0][i] < 0 || at[1][j] < 0 ? -1 : at[0][i] + at[1][j];
    taps.w[t] = w[0][i] * w[1][j];
    taps.dw[t][0] = d[0][i] * w[1][j] * slope[0];
    taps.dw[t][1] = w[0][i] * d[1][j] * slope[1];
  }
}

template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

Volume volume_of(const Tensor& x) {
  Volume v{x.ndim() - 2, {1, 1, 1}, {0, 0, 0}};
  for (int64_t i = 0; i < v.nd; ++i) v.size[i] = x.sizes()[x.ndim() - 1 - i], v.stride[i] = x.strides()[x.ndim() - 1 - i];
  return v;
}

template <class F> void on_type(const char* name, DType d, F&& f) {
  if (!visit_types<float, double, half, bfloat16>(d, f)) raise_not_implemented("operator ", name, " is not implemented for type ", d);
}

void sample(const char* name, Tensor& y, const Tensor& x, const Tensor& grid0, int64_t mode, int64_t padding, bool corners) {
  const Tensor grid = op<"contiguous">(grid0);
  const Volume v = volume_of(x);
  on_type(name, x.dtype(), [&]<class T>() {
    using S = Wide<T>;
    if (y.numel() == 0) return;
    const int64_t channels = x.sizes()[1], places = y.numel() / (y.sizes()[0] * channels), nd = v.nd, sc = x.strides()[1];
    parallel_for(0, y.sizes()[0] * places, 256, [&](int64_t lo, int64_t hi) {
      Taps<S> taps;
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t b = i / places, place = i % places;
        S position[3];
        for (int64_t k = 0; k < nd; ++k) position[k] = S(grid.ptr<T>()[i * nd + k]);
        find_taps(taps, v, position, mode, padding, corners);
        const T* in = x.ptr<T>() + b * x.strides()[0];
        T* out = y.ptr<T>() + b * channels * places + place;
        for (int64_t c = 0; c < channels; ++c, in += sc, out += places) {
          S sum = 0;
          for (int t = 0; t < taps.n; ++t)
            if (taps.at[t] >= 0) sum += S(in[taps.at[t]]) * taps.w[t];
            else if (nd == 2) sum += 0 * taps.w[t];  // a place that is no number gives none
          *out = T(sum);
        }
      }
    });
  });
}

void sample_backward(const char* name, Tensor& gx, Tensor& ggrid, const Tensor& g0, const Tensor& x, const Tensor& grid0, int64_t mode, int64_t padding,
                     bool corners) {
  const Tensor grid = op<"contiguous">(grid0), g = op<"contiguous">(g0);
  if (gx.defined()) op_list<"zero_">(gx);
  op_list<"zero_">(ggrid);
  const Volume v = volume_of(x);
  on_type(name, x.dtype(), [&]<class T>() {
    using S = Wide<T>;
    if (g.numel() == 0) return;
    const int64_t batch = x.sizes()[0], channels = x.sizes()[1], places = g.numel() / (batch * channels), nd = v.nd;
    const Volume to = gx.defined() ? volume_of(gx) : v;
    parallel_for(0, batch, 1, [&](int64_t lo, int64_t hi) {
      Taps<S> taps, into;
      for (int64_t b = lo; b < hi; ++b)
        for (int64_t place = 0; place < places; ++place) {
          const int64_t i = b * places + place;
          S position[3], d[3] = {0, 0, 0};
          for (int64_t k = 0; k < nd; ++k) position[k] = S(grid.ptr<T>()[i * nd + k]);
          find_taps(taps, v, position, mode, padding, corners);
          if (gx.defined()) find_taps(into, to, position, mode, padding, corners);
          for (int64_t c = 0; c < channels; ++c) {
            const S up = S(g.ptr<T>()[(b * channels + c) * places + place]);
            const T* in = x.ptr<T>() + b * x.strides()[0] + c * x.strides()[1];
            T* out = gx.defined() ? gx.ptr<T>() + b * gx.strides()[0] + c * gx.strides()[1] : nullptr;
            for (int t = 0; t < taps.n; ++t) {
              if (taps.at[t] < 0) continue;
              if (out) out[into.at[t]] = T(S(out[into.at[t]]) + up * taps.w[t]);
              for (int64_t k = 0; k < nd; ++k) d[k] += up * S(in[taps.at[t]]) * taps.dw[t][k];
            }
          }
          for (int64_t k = 0; k < nd; ++k) ggrid.ptr<T>()[i * nd + k] = T(d[k]);
        }
    });
  });
}

#define FB_SAMPLER(N)                                                                                                   \
  void sample##N(Tensor& y, const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool corners) {         \
    sample("grid_sampler_" #N "d", y, x, grid, mode, padding, corners);                                                 \
  }                                                                                                                     \
  FB_KERNEL("grid_sampler_" #N "d", sample##N)                                                                          \
  void sample##N##_back(Tensor& gx, Tensor& gg, const Tensor& g, const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding, bool corners, Span<bool>) { \
    sample_backward("grid_sampler_" #N "d_backward", gx, gg, g, x, grid, mode, padding, corners);                       \
  }                                                                                                                     \
  FB_KERNEL("grid_sampler_" #N "d_backward", sample##N##_back)
FB_SAMPLER(2)
FB_SAMPLER(3)
#undef FB_SAMPLER

}  // namespace
}  // namespace fb
