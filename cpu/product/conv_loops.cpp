#include "cpu/product/conv_loops.h"

#include <algorithm>
#include <vector>

#include "core/threads.h"
#include "cpu/product/kernel.h"
#include "cpu/product/scratch.h"

namespace fb::product {
namespace {

constexpr int64_t elements_per_task = 1 << 16;

// One axis of a stencil: tap t of output o reads position o * step + offset[t] of the input.
struct Axis {
  int64_t outputs, inputs, step;
  std::vector<int64_t> offset;
  int64_t low() const { return *std::min_element(offset.begin(), offset.end()); }
  int64_t high() const {
    return (outputs - 1) * step + *std::max_element(offset.begin(), offset.end());
  }
};

// A plane with its padding: positions low()..high() of each axis, zeros outside the input. Along
// the last axis positions are sorted by their remainder modulo the step, so that neighbouring
// outputs read neighbouring elements.
template <class Real>
struct PaddedPlane {
  static constexpr int64_t slack = 4 * Vec<Real>::width;
  const Axis* axis;
  int64_t low[3], extent[3], lane, row;  // lane: elements for one remainder

  explicit PaddedPlane(const Axis a[3]) : axis(a) {
    for (int i = 0; i < 3; ++i) {
      low[i] = a[i].low();
      extent[i] = a[i].high() - low[i] + 1;
    }
    lane = (extent[2] + a[2].step - 1) / a[2].step + slack;
    row = lane * a[2].step;
  }
  int64_t size() const { return extent[0] * extent[1] * row; }

  void fill(Real* to, const Real* from, const int64_t stride[3]) const {
    std::memset(to, 0, size_t(size()) * sizeof(Real));
    const int64_t step = axis[2].step;
    const int64_t w0 = std::max<int64_t>(0, low[2]),
                  w1 = std::min(axis[2].inputs, low[2] + extent[2]);
    for (int64_t d = std::max<int64_t>(0, low[0]); d < std::min(axis[0].inputs, low[0] + extent[0]);
         ++d)
      for (int64_t h = std::max<int64_t>(0, low[1]);
           h < std::min(axis[1].inputs, low[1] + extent[1]); ++h) {
        const Real* p = from + d * stride[0] + h * stride[1];
        Real* q = to + ((d - low[0]) * extent[1] + (h - low[1])) * row;
        if (w1 <= w0) continue;
        if (step == 1 && stride[2] == 1) {
          std::memcpy(q + w0 - low[2], p + w0, size_t(w1 - w0) * sizeof(Real));
        } else if (step == 1) {
          for (int64_t w = w0; w < w1; ++w) q[w - low[2]] = p[w * stride[2]];
        } else {
          int64_t r = (w0 - low[2]) % step, i = (w0 - low[2]) / step;
          for (int64_t w = w0; w < w1; ++w) {
            q[r * lane + i] = p[w * stride[2]];
            if (++r == step) r = 0, ++i;
          }
        }
      }
  }
  // As fill, for `count` <= W channels that are adjacent in memory, into planes `plane_size` apart.
  void fill_adjacent(Real* to, int64_t plane_size, const Real* from, const int64_t stride[3],
                     int count) const {
    using V = Vec<Real>;
    constexpr int W = V::width;
    std::memset(to, 0, size_t(plane_size * count) * sizeof(Real));
    const int64_t step = axis[2].step;
    const int64_t w0 = std::max<int64_t>(0, low[2]),
                  w1 = std::min(axis[2].inputs, low[2] + extent[2]);
    for (int64_t d = std::max<int64_t>(0, low[0]); d < std::min(axis[0].inputs, low[0] + extent[0]);
         ++d)
      for (int64_t h = std::max<int64_t>(0, low[1]);
           h < std::min(axis[1].inputs, low[1] + extent[1]); ++h) {
        const Real* p = from + d * stride[0] + h * stride[1];
        Real* q = to + ((d - low[0]) * extent[1] + (h - low[1])) * row;
        int64_t w = w0;
        if (step == 1 && count == W)
          for (; w + W <= w1; w += W) {
            typename V::type x[W];
#pragma GCC unroll 8
            for (int i = 0; i < W; ++i) x[i] = V::load(p + (w + i) * stride[2]);
            V::transpose(x);
#pragma GCC unroll 8
            for (int i = 0; i < W; ++i) V::store(q + i * plane_size + w - low[2], x[i]);
          }
        for (; w < w1; ++w)
          for (int i = 0; i < count; ++i)
            q[i * plane_size + (w - low[2]) % step * lane + (w - low[2]) / step] =
                p[w * stride[2] + i];
      }
  }
  // Offset of each tap from an output row's first element.
  std::vector<int64_t> taps() const {
    std::vector<int64_t> at;
    for (int64_t d : axis[0].offset)
      for (int64_t h : axis[1].offset)
        for (int64_t w : axis[2].offset) {
          const int64_t p = w - low[2];
          at.push_back(((d - low[0]) * extent[1] + h - low[1]) * row + p % axis[2].step * lane +
                       p / axis[2].step);
        }
    return at;
  }
  int64_t row_start(int64_t d, int64_t h) const {
    return (d * axis[0].step * extent[1] + h * axis[1].step) * row;
  }
};

template <class T, class Real>
struct Target {
  T* data;
  int64_t stride[3];
  Real bias;
  bool has_bias;
};

template <int NV, class T, class Real>
void stencil_vectors(const Real* from, const int64_t* taps, const Real* weights, int64_t count,
                     T* out, int64_t stride, int64_t n, Real bias, bool has_bias) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  typename V::type acc[NV];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) acc[v] = V::zero();
  for (int64_t t = 0; t < count; ++t) {
    const Real* p = from + taps[t];
    const typename V::type w = V::splat(weights + t);
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) acc[v] = V::fma(w, V::load(p + v * W), acc[v]);
  }
  if (has_bias) {
    const typename V::type b = V::splat(&bias);
#pragma GCC unroll 4
    for (int v = 0; v < NV; ++v) acc[v] = acc[v] + b;
  }
  if constexpr (std::is_same_v<T, Real>) {
    if (stride == 1 && n == NV * W) {
#pragma GCC unroll 4
      for (int v = 0; v < NV; ++v) V::store(out + v * W, acc[v]);
      return;
    }
  }
  alignas(64) Real got[NV * W];
#pragma GCC unroll 4
  for (int v = 0; v < NV; ++v) V::store(got + v * W, acc[v]);
  for (int64_t i = 0; i < n; ++i) out[i * stride] = narrow<T>(got[i]);
}

// One output plane from one padded plane.
template <class T, class Real>
void stencil(const PaddedPlane<Real>& plane, const Real* from, const std::vector<int64_t>& taps,
             const Real* weights, const Target<T, Real>& out) {
  constexpr int W = Vec<Real>::width;
  const int64_t count = int64_t(taps.size()), width = plane.axis[2].outputs;
  for (int64_t d = 0; d < plane.axis[0].outputs; ++d)
    for (int64_t h = 0; h < plane.axis[1].outputs; ++h) {
      const Real* p = from + plane.row_start(d, h);
      T* o = out.data + d * out.stride[0] + h * out.stride[1];
      for (int64_t w = 0; w < width;) {
        const int64_t left = width - w, vectors = std::min<int64_t>(4, (left + W - 1) / W);
        const int64_t n = std::min(left, vectors * W);
        auto run = [&]<int NV>() {
          stencil_vectors<NV>(p + w, taps.data(), weights, count, o + w * out.stride[2],
                              out.stride[2], n, out.bias, out.has_bias);
        };
        if (vectors == 4)
          run.template operator()<4>();
        else if (vectors == 3)
          run.template operator()<3>();
        else if (vectors == 2)
          run.template operator()<2>();
        else
          run.template operator()<1>();
        w += n;
      }
    }
}

// Channels as lanes: one output row of pixels. weights are [tap][channels of the inputs repeated].
template <class T, class Real>
void stencil_channels(const Axis axis[3], View5<const Real> x, const Real* image,
                      const Real* weights, const Real* zeros, int64_t channels, int64_t multiplier,
                      const T* bias, T* out, int64_t out_w, int64_t out_c, int64_t d, int64_t h) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  const int64_t taps =
      int64_t(axis[0].offset.size() * axis[1].offset.size() * axis[2].offset.size());
  const Real* at[block_length<Real>];
  for (int64_t w = 0; w < axis[2].outputs; ++w) {
    int64_t t = 0;
    auto inside = [&](int a, int64_t p) { return p >= 0 && p < axis[a].inputs; };
    for (int64_t od : axis[0].offset)
      for (int64_t oh : axis[1].offset)
        for (int64_t ow : axis[2].offset) {
          const int64_t pd = d * axis[0].step + od, ph = h * axis[1].step + oh,
                        pw = w * axis[2].step + ow;
          at[t++] = inside(0, pd) && inside(1, ph) && inside(2, pw)
                        ? image + pd * x.stride[2] + ph * x.stride[3] + pw * x.stride[4]
                        : zeros;
        }
    T* o = out + w * out_w;
    int64_t c = 0;
    const int64_t outputs = channels * multiplier;
    auto finish = [&](int64_t channel, Real v) {
      if (bias) v = v + Real(widen(bias[channel]));
      o[channel * out_c] = narrow<T>(v);
    };
    if (multiplier == 1) {
      auto vectors = [&]<int NV>() {
        typename V::type acc[NV];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) acc[v] = V::zero();
        for (int64_t i = 0; i < taps; ++i) {
#pragma GCC unroll 4
          for (int v = 0; v < NV; ++v)
            acc[v] = V::fma(V::load(weights + i * outputs + c + v * W), V::load(at[i] + c + v * W),
                            acc[v]);
        }
        if constexpr (std::is_same_v<T, Real>) {
          if (!bias && out_c == 1) {
#pragma GCC unroll 4
            for (int v = 0; v < NV; ++v) V::store(o + c + v * W, acc[v]);
            c += NV * W;
            return;
          }
        }
        alignas(64) Real got[NV * W];
#pragma GCC unroll 4
        for (int v = 0; v < NV; ++v) V::store(got + v * W, acc[v]);
        for (int i = 0; i < NV * W; ++i) finish(c + i, got[i]);
        c += NV * W;
      };
      while (c + 4 * W <= channels) vectors.template operator()<4>();
      while (c + W <= channels) vectors.template operator()<1>();
    }
    for (int64_t j = c * multiplier; j < outputs; ++j) {
      Real acc = 0;
      for (int64_t i = 0; i < taps; ++i)
        acc = fma1(weights[i * outputs + j], at[i][j / multiplier], acc);
      finish(j, acc);
    }
  }
}

// Output channel o reads input channel o / multiplier with the weights listed in `order`.
template <class T, class Real>
void run_stencil(const Axis axis[3], int64_t batch, int64_t channels, int64_t multiplier,
                 View5<const Real> x, View5<const Real> w, const std::vector<int64_t>& order,
                 const T* bias, View5<T> y) {
  const int64_t outputs = channels * multiplier, taps = int64_t(order.size());
  const int64_t pixels = axis[0].outputs * axis[1].outputs * axis[2].outputs;
  if (pixels <= 0) return;
  if (x.stride[1] == 1 && channels >= 4) {
    std::vector<Real> weights(size_t(taps * outputs)), zeros(size_t(channels), Real(0));
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t o = 0; o < outputs; ++o)
        weights[size_t(t * outputs + o)] = w.data[o * w.stride[0] + order[size_t(t)]];
    const int64_t rows = axis[0].outputs * axis[1].outputs;
    const int64_t grain = std::max<int64_t>(1, elements_per_task / (axis[2].outputs * outputs));
    parallel_for(0, batch * rows, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t n = i / rows, d = i % rows / axis[1].outputs, h = i % axis[1].outputs;
        stencil_channels<T, Real>(axis, x, x.data + n * x.stride[0], weights.data(), zeros.data(),
                                  channels, multiplier, bias,
                                  y.data + n * y.stride[0] + d * y.stride[2] + h * y.stride[3],
                                  y.stride[4], y.stride[1], d, h);
      }
    });
    return;
  }
  const PaddedPlane<Real> plane(axis);
  const std::vector<int64_t> at = plane.taps();
  const int64_t grain = std::max<int64_t>(1, elements_per_task / (pixels * multiplier));
  parallel_for(0, batch * channels, grain, [&](int64_t lo, int64_t hi) {
    Real* buffer = scratch<Real>(Slot::image, plane.size() + taps);
    Real* weights = buffer + plane.size();
    for (int64_t i = lo; i < hi; ++i) {
      const int64_t n = i / channels, c = i % channels;
      plane.fill(buffer, x.data + n * x.stride[0] + c * x.stride[1], x.stride + 2);
      for (int64_t m = 0; m < multiplier; ++m) {
        const int64_t o = c * multiplier + m;
        for (int64_t t = 0; t < taps; ++t) weights[t] = w.data[o * w.stride[0] + order[size_t(t)]];
        const Target<T, Real> out{y.data + n * y.stride[0] + o * y.stride[1],
                                  {y.stride[2], y.stride[3], y.stride[4]},
                                  bias ? Real(widen(bias[o])) : Real(0),
                                  bias != nullptr};
        stencil(plane, buffer, at, weights, out);
      }
    }
  });
}

// A plane is padded in full: stencils that reach far beyond small images are left to the engine.
bool fits(const Axis axis[3]) {
  int64_t padded = 1, used = 1;
  for (int a = 0; a < 3; ++a) {
    padded *= axis[a].high() - axis[a].low() + 1;
    used *= std::max(axis[a].outputs * axis[a].step, axis[a].inputs);
  }
  return padded <= 4 * used + 4096;
}

}  // namespace

template <class T, class Real>
bool depthwise_forward(const ConvShape& s, View5<const Real> x, View5<const Real> w, const T* bias,
                       View5<T> y) {
  if (s.kernel[0] * s.kernel[1] * s.kernel[2] > block_length<Real>) return false;
  Axis axis[3];
  std::vector<int64_t> order;
  for (int a = 0; a < 3; ++a) {
    axis[a] = {s.out[a], s.in[a], s.stride[a], {}};
    for (int64_t t = 0; t < s.kernel[a]; ++t)
      axis[a].offset.push_back(t * s.dilation[a] - s.padding[a]);
    if (axis[a].offset.empty()) return false;
  }
  if (!fits(axis)) return false;
  for (int64_t d = 0; d < s.kernel[0]; ++d)
    for (int64_t h = 0; h < s.kernel[1]; ++h)
      for (int64_t v = 0; v < s.kernel[2]; ++v)
        order.push_back(d * w.stride[2] + h * w.stride[3] + v * w.stride[4]);
  run_stencil<T, Real>(axis, s.batch, s.groups, s.out_channels / s.groups, x, w, order, bias, y);
  return true;
}

template <class T, class Real>
bool depthwise_backward_input(const ConvShape& s, View5<const Real> gy, View5<const Real> w,
                              const T* bias, View5<T> gx) {
  if (s.kernel[0] * s.kernel[1] * s.kernel[2] > block_length<Real>) return false;
  const int64_t phases = s.stride[0] * s.stride[1] * s.stride[2];
  // First see that every phase has taps and fits; then run.
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t phase = 0; phase < phases; ++phase) {
      const int64_t r[3] = {phase / (s.stride[1] * s.stride[2]), phase / s.stride[2] % s.stride[1],
                            phase % s.stride[2]};
      Axis axis[3];
      std::vector<int64_t> at[3], order;
      View5<T> out = gx;
      bool empty = false;
      for (int a = 0; a < 3; ++a) {
        const int64_t outputs =
            s.in[a] > r[a] ? (s.in[a] - r[a] + s.stride[a] - 1) / s.stride[a] : 0;
        axis[a] = {outputs, s.out[a], 1, {}};
        empty |= outputs == 0;
        for (int64_t t = 0; t < s.kernel[a]; ++t) {
          const int64_t reach = r[a] + s.padding[a] - t * s.dilation[a];
          if (reach % s.stride[a]) continue;
          axis[a].offset.push_back(reach / s.stride[a]);
          at[a].push_back(t * w.stride[2 + a]);
        }
        out.data += r[a] * gx.stride[2 + a];
        out.stride[2 + a] = gx.stride[2 + a] * s.stride[a];
      }
      if (empty) continue;
      if (pass == 0) {
        if (at[0].empty() || at[1].empty() || at[2].empty() || !fits(axis)) return false;
        continue;
      }
      for (int64_t d : at[0])
        for (int64_t h : at[1])
          for (int64_t v : at[2]) order.push_back(d + h + v);
      run_stencil<T, Real>(axis, s.batch, s.groups, 1, gy, w, order, bias, out);
    }
  return true;
}

template <class T, class Real>
bool depthwise_backward_weight(const ConvShape& s, View5<const Real> x, View5<const Real> gy,
                               View5<T> gw) {
  using V = Vec<Real>;
  constexpr int W = V::width, lanes = 8, parts = lanes / W;
  Axis axis[3];
  for (int a = 0; a < 3; ++a) {
    axis[a] = {s.out[a], s.in[a], s.stride[a], {}};
    for (int64_t t = 0; t < s.kernel[a]; ++t)
      axis[a].offset.push_back(t * s.dilation[a] - s.padding[a]);
    if (axis[a].offset.empty() || s.out[a] <= 0) return false;
  }
  if (s.batch <= 0 || !fits(axis)) return false;
  const PaddedPlane<Real> plane(axis);
  const std::vector<int64_t> taps = plane.taps();
  const int64_t count = int64_t(taps.size()), channels = s.groups, width = s.out[2];
  const int64_t grad_row = (width + lanes - 1) / lanes * lanes, rows = s.out[0] * s.out[1];
  const int64_t grain = std::max<int64_t>(1, elements_per_task / (rows * width * s.batch));
  // The last lanes of a row that has none there: x is masked, so that 0 * inf cannot appear.
  alignas(64) Real keep[lanes];
  for (int l = 0; l < lanes; ++l) {
    const bool live = l < width - (grad_row - lanes);
    std::memset(&keep[l], live ? 0xff : 0, sizeof(Real));
  }
  auto and_mask = [](typename V::type v, typename V::type m) {
    if constexpr (sizeof(Real) == 4)
      return _mm256_and_ps(v, m);
    else
      return _mm256_and_pd(v, m);
  };
  // Where channels are adjacent in memory a vector of them is read at once.
  const bool last = x.stride[1] == 1 && gy.stride[1] == 1 && channels > 1;
  const int64_t together = last ? W : 1;
  parallel_for(0, (channels + together - 1) / together, grain, [&](int64_t lo, int64_t hi) {
    Real* buffers = scratch<Real>(Slot::image, (plane.size() + rows * grad_row) * together);
    Real* grads = buffers + plane.size() * together;
    std::vector<Real> all_sums(size_t(s.batch * count * together));
    for (int64_t g = lo; g < hi; ++g) {
      const int64_t c0 = g * together, group_size = std::min(together, channels - c0);
      for (int64_t n = 0; n < s.batch; ++n) {
        const Real* image = x.data + n * x.stride[0] + c0 * x.stride[1];
        const Real* grad_image = gy.data + n * gy.stride[0] + c0 * gy.stride[1];
        if (last)
          plane.fill_adjacent(buffers, plane.size(), image, x.stride + 2, int(group_size));
        else
          plane.fill(buffers, image, x.stride + 2);
        for (int64_t r = 0; r < rows; ++r) {
          const Real* p = grad_image + r / s.out[1] * gy.stride[2] + r % s.out[1] * gy.stride[3];
          Real* q = grads + r * grad_row;
          if (last) {
            for (int64_t i = 0; i < width; ++i)
              for (int64_t c = 0; c < group_size; ++c)
                q[c * rows * grad_row + i] = p[i * gy.stride[4] + c];
          } else if (gy.stride[4] == 1) {
            std::memcpy(q, p, size_t(width) * sizeof(Real));
          } else {
            for (int64_t i = 0; i < width; ++i) q[i] = p[i * gy.stride[4]];
          }
          for (int64_t c = 0; c < group_size; ++c)
            std::fill(q + c * rows * grad_row + width, q + c * rows * grad_row + grad_row, Real(0));
        }
        for (int64_t c = 0; c < group_size; ++c) {
          const Real* buffer = buffers + c * plane.size();
          const Real* grad = grads + c * rows * grad_row;
          Real* sums = all_sums.data() + c * s.batch * count;
          // Up to four taps at a time share the loads of the gradient.
          auto group = [&]<int taps_at_once>(int64_t t0) {
            typename V::type acc[taps_at_once][parts];
#pragma GCC unroll 4
            for (int t = 0; t < taps_at_once; ++t)
#pragma GCC unroll 2
              for (int v = 0; v < parts; ++v) acc[t][v] = V::zero();
            for (int64_t r = 0; r < rows; ++r) {
              const Real* p = buffer + plane.row_start(r / s.out[1], r % s.out[1]);
              const Real* q = grad + r * grad_row;
              int64_t i = 0;
              for (; i + lanes <= width; i += lanes)
#pragma GCC unroll 2
                for (int v = 0; v < parts; ++v) {
                  const typename V::type gv = V::load(q + i + v * W);
#pragma GCC unroll 4
                  for (int t = 0; t < taps_at_once; ++t)
                    acc[t][v] =
                        V::fma(gv, V::load(p + taps[size_t(t0 + t)] + i + v * W), acc[t][v]);
                }
              if (i < width)
#pragma GCC unroll 2
                for (int v = 0; v < parts; ++v) {
                  const typename V::type gv = V::load(q + i + v * W), m = V::load(keep + v * W);
#pragma GCC unroll 4
                  for (int t = 0; t < taps_at_once; ++t)
                    acc[t][v] = V::fma(
                        gv, and_mask(V::load(p + taps[size_t(t0 + t)] + i + v * W), m), acc[t][v]);
                }
            }
            for (int t = 0; t < taps_at_once; ++t) {
              alignas(64) Real got[lanes];
#pragma GCC unroll 2
              for (int v = 0; v < parts; ++v) V::store(got + v * W, acc[t][v]);
              for (int half = lanes / 2; half; half /= 2)
                for (int l = 0; l < half; ++l) got[l] += got[l + half];
              sums[n * count + t0 + t] = got[0];
            }
          };
          int64_t t = 0;
          for (; t + 3 <= count; t += 3) group.template operator()<3>(t);
          for (; t < count; ++t) group.template operator()<1>(t);
        }
      }
      for (int64_t c = 0; c < group_size; ++c)
        for (int64_t t = 0; t < count; ++t) {
          Real* sums = all_sums.data() + c * s.batch * count + t;
          for (int64_t step = 1; step < s.batch; step *= 2)
            for (int64_t n = 0; n + step < s.batch; n += 2 * step)
              sums[n * count] += sums[(n + step) * count];
          const int64_t k2 = t % s.kernel[2], k1 = t / s.kernel[2] % s.kernel[1],
                        k0 = t / s.kernel[2] / s.kernel[1];
          gw.data[(c0 + c) * gw.stride[0] + k0 * gw.stride[2] + k1 * gw.stride[3] +
                  k2 * gw.stride[4]] = narrow<T>(sums[0]);
        }
    }
  });
  return true;
}

#define FB_DEPTHWISE(T, Real)                                                                      \
  template bool depthwise_forward<T, Real>(const ConvShape&, View5<const Real>, View5<const Real>, \
                                           const T*, View5<T>);                                    \
  template bool depthwise_backward_input<T, Real>(const ConvShape&, View5<const Real>,             \
                                                  View5<const Real>, const T*, View5<T>);          \
  template bool depthwise_backward_weight<T, Real>(const ConvShape&, View5<const Real>,            \
                                                   View5<const Real>, View5<T>);
FB_DEPTHWISE(float, float)
FB_DEPTHWISE(double, double)
FB_DEPTHWISE(half, float)
FB_DEPTHWISE(bfloat16, float)

}  // namespace fb::product
