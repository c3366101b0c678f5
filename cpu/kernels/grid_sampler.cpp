// Sampling of planes and volumes at given positions, and its gradients. Threads take samples of the batch, whose places
// are visited in order, so that sums have one order.
#include <cmath>

#include "core/half.h"
#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// A number of a half type whose every operation rounds to the type, as PyTorch samples half types.
template <class T> struct Stepwise {
  float v = 0;
  Stepwise() = default;
  Stepwise(T x) : v(float(x)) {}
  template <class N> requires std::is_arithmetic_v<N> Stepwise(N x) : v(float(T(float(x)))) {}
  explicit operator T() const { return T(v); }
  explicit operator int64_t() const { return int64_t(v); }
  friend Stepwise operator+(Stepwise a, Stepwise b) { return a.v + b.v; }
  friend Stepwise operator-(Stepwise a, Stepwise b) { return a.v - b.v; }
  friend Stepwise operator*(Stepwise a, Stepwise b) { return a.v * b.v; }
  friend Stepwise operator/(Stepwise a, Stepwise b) { return a.v / b.v; }
  Stepwise operator-() const { return -v; }
  Stepwise& operator+=(Stepwise b) { return *this = *this + b; }
  Stepwise& operator-=(Stepwise b) { return *this = *this - b; }
  Stepwise& operator*=(Stepwise b) { return *this = *this * b; }
  friend bool operator<(Stepwise a, Stepwise b) { return a.v < b.v; }
  friend bool operator>(Stepwise a, Stepwise b) { return a.v > b.v; }
  friend bool operator==(Stepwise a, Stepwise b) { return a.v == b.v; }
};
template <class S> auto plain(S x) {
  if constexpr (std::is_arithmetic_v<S>) return x;
  else return x.v;
}
template <class S> S floor_of(S x) { return std::floor(plain(x)); }
template <class S> S remainder_of(S x, S y) { return std::fmod(plain(x), plain(y)); }

enum { kLinear, kNearest, kCubic };
enum { kZeros, kBorder, kReflection };

template <class S> S unnormalized(S x, int64_t size, bool corners, S& slope) {
  slope = S(corners ? size - 1 : size) / S(2);
  return corners ? (x + S(1)) * slope : (x + S(1)) * slope - S(0.5);
}
// NaN goes to the near edge of a plane and to the far one of a volume, as in PyTorch.
template <class S> S clipped(S x, int64_t size, bool volume, S& slope) {
  if (!(x > S(0)) && !(volume && !(x == x))) {
    slope = 0;
    return 0;
  }
  if (!(x < S(size - 1))) {
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
  const S low = S(twice_low) / S(2), span = S(twice_high - twice_low) / S(2);
  x -= low;
  if (x < S(0)) slope = -slope, x = -x;
  const S extra = remainder_of(x, span);
  const S flips = floor_of(x / span);
  if (remainder_of(flips, S(2)) == S(0)) return extra + low;
  slope = -slope;
  return span - extra + low;
}
template <class S> S padded(S x, int64_t size, int64_t padding, bool corners, bool volume, S& slope) {
  if (padding == kReflection) x = corners ? reflected(x, 0, 2 * (size - 1), slope) : reflected(x, -1, 2 * size - 1, slope);
  if (padding != kZeros) x = clipped(x, size, volume, slope);
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
  S along[2][4];  // cubic weights of columns and rows
};

struct Volume {
  int64_t nd, size[3], stride[3];  // x, y, z
};

template <class S> void cubic_weights(S t, S (&w)[4], S (&d)[4]) {
  const S a = S(-0.75);
  const S u = S(1) - t, one(1), two(2), three(3), four(4), five(5), eight(8), ten(10);
  auto near = [&](S x) { return ((a + two) * x - (a + three)) * x * x + one; };
  auto far = [&](S x) { return ((a * x - five * a) * x + eight * a) * x - four * a; };
  w[0] = far(t + one), w[1] = near(t), w[2] = near(u), w[3] = far(two - t);
  auto dnear = [&](S x) { return (three * (a + two) * x - two * (a + three)) * x; };
  auto dfar = [&](S x) { return (three * a * x - ten * a) * x + eight * a; };
  d[0] = dfar(t + one), d[1] = dnear(t), d[2] = -dnear(u), d[3] = -dfar(u + one);
}

template <class S> void find_taps(Taps<S>& taps, const Volume& v, const S* position, int64_t mode, int64_t padding, bool corners) {
  S x[3], slope[3];
  for (int i = 0; i < v.nd; ++i) {
    x[i] = unnormalized(position[i], v.size[i], corners, slope[i]);
    if (mode != kCubic) x[i] = padded(x[i], v.size[i], padding, corners, v.nd == 3, slope[i]);
  }
  if (mode == kNearest) {
    taps.n = 1;
    taps.w[0] = S(1);
    int64_t at = 0;
    for (int i = 0; i < v.nd; ++i) {
      const int64_t k = whole(S(std::nearbyint(plain(x[i]))));
      at = at < 0 || k < 0 || k >= v.size[i] ? -1 : at + k * v.stride[i];
      taps.dw[0][i] = S(0);
    }
    taps.at[0] = at;
    return;
  }
  if (mode == kLinear) {
    taps.n = 1 << v.nd;
    S low[3];
    int64_t k0[3];
    S part[3][2];  // of the nearer and the farther place
    for (int i = 0; i < v.nd; ++i) {
      low[i] = floor_of(x[i]), k0[i] = whole(low[i]);
      part[i][1] = x[i] - low[i];
      part[i][0] = v.nd == 2 ? S(1) - part[i][1] : low[i] + S(1) - x[i];
    }
    for (int t = 0; t < taps.n; ++t) {
      int64_t at = 0;
      S w(1);
      for (int i = 0; i < v.nd; ++i) {
        const int64_t k = k0[i] + (t >> i & 1);
        at = at < 0 || k < 0 || k >= v.size[i] ? -1 : at + k * v.stride[i];
        w *= part[i][t >> i & 1];
      }
      taps.at[t] = at;
      taps.w[t] = w;
      for (int i = 0; i < v.nd; ++i) {
        S d = t >> i & 1 ? slope[i] : -slope[i];
        for (int j = 0; j < v.nd; ++j)
          if (j != i) d *= part[j][t >> j & 1];
        taps.dw[t][i] = d;
      }
    }
    return;
  }
  taps.n = 16;
  auto& w = taps.along;
  S d[2][4];
  int64_t at[2][4];
  for (int i = 0; i < 2; ++i) {
    const S low = floor_of(x[i]);
    cubic_weights(x[i] - low, w[i], d[i]);
    for (int k = 0; k < 4; ++k) {
      S unused(0);
      const int64_t p = whole(padded(low + S(k - 1), v.size[i], padding, corners, false, unused));
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

template <class T> using Wide = std::conditional_t<std::is_floating_point_v<T>, T, Stepwise<T>>;

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
          S sum(0);
          if (mode == kCubic) {  // along x, then along y
            for (int j = 0; j < 4; ++j) {
              S row(0);
              for (int i = 0; i < 4; ++i) row += (taps.at[4 * j + i] >= 0 ? S(in[taps.at[4 * j + i]]) : S(0)) * taps.along[0][i];
              sum += row * taps.along[1][j];
            }
          } else {
            for (int t = 0; t < taps.n; ++t)
              if (taps.at[t] >= 0) sum += S(in[taps.at[t]]) * taps.w[t];
              else if (nd == 2) sum += S(0) * taps.w[t];  // a place that is no number gives none
          }
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
          S position[3], d[3] = {S(0), S(0), S(0)};
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
