#include "cpu/product/conv.h"

#include <memory>
#include <vector>

#include "cpu/product/conv_loops.h"
#include "cpu/product/gemm.h"
#include "cpu/product/patches.h"
#include "cpu/product/store.h"

namespace fb::product {
namespace {

int64_t volume(const int64_t e[3]) { return e[0] * e[1] * e[2]; }

// Calls f(group): groups side by side where there are many, else one after the other, each in
// parallel.
template <class F>
void each_group(int64_t groups, F&& f) {
  const bool many = groups >= 4 * get_num_threads();
  parallel_for(0, groups, many ? 1 : groups, [&](int64_t lo, int64_t hi) {
    for (int64_t g = lo; g < hi; ++g) f(g);
  });
}

// Whether the three axes are one axis with the stride of the last.
bool one_axis(const int64_t stride[3], const int64_t extent[3]) {
  int64_t want = 0;
  bool known = false;
  for (int a = 2; a >= 0; --a) {
    if (extent[a] == 1) continue;
    if (known && stride[a] != want) return false;
    want = stride[a] * extent[a];
    known = true;
  }
  return true;
}
int64_t axis_stride(const int64_t stride[3], const int64_t extent[3]) {
  for (int a = 2; a >= 0; --a)
    if (extent[a] != 1) return stride[a];
  return 1;
}

// Images: element (channel i, pixel j of a batch of grids).
template <class D, class Real>
struct PixelStore {
  D* data;
  int64_t batch_stride, channel_stride, stride[3], grid[3];
  const D* bias;
};

template <class D, class Real>
void store_pixels(const void* target, const Real* tile, int64_t i0, int rows, int64_t j0,
                  int cols) {
  constexpr int panel = RealTiles<Real>::panel;
  const PixelStore<D, Real>& s = *static_cast<const PixelStore<D, Real>*>(target);
  int64_t at[panel];
  int64_t w = j0 % s.grid[2], rest = j0 / s.grid[2];
  int64_t h = rest % s.grid[1];
  rest /= s.grid[1];
  int64_t d = rest % s.grid[0], n = rest / s.grid[0];
  bool adjacent = true;
  for (int c = 0; c < cols; ++c) {
    at[c] = n * s.batch_stride + d * s.stride[0] + h * s.stride[1] + w * s.stride[2];
    adjacent &= at[c] == at[0] + c;
    if (++w == s.grid[2]) {
      w = 0;
      if (++h == s.grid[1]) {
        h = 0;
        if (++d == s.grid[0]) d = 0, ++n;
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    D* out = s.data + (i0 + r) * s.channel_stride;
    const Real* t = tile + r * panel;
    const D* bias = s.bias ? s.bias + i0 + r : nullptr;
    int c = adjacent ? store_row(out + at[0], t, bias, 0, cols) : 0;
    for (; c < cols; ++c) out[at[c]] = narrow<D>(bias ? t[c] + widen(*bias) : t[c]);
  }
}

template <class D, class Real>
void set_output(Output<Real>& out, const PixelStore<D, Real>& s) {
  out.store = store_pixels<D, Real>;
  out.target = &s;
  if constexpr (std::is_same_v<D, Real>) {
    if (!s.bias && one_axis(s.stride, s.grid) && axis_stride(s.stride, s.grid) == 1) {
      out.direct = s.data;
      out.i_stride = s.channel_stride;
      out.run = volume(s.grid);
      out.run_stride = s.batch_stride;
    }
  }
}

// A weight gradient: element (out channel i, tap j as pack_taps counts).
template <class D, class Real>
struct WeightStore {
  D* data;
  int64_t stride[5];
  const Patches<Real>* patches;
};

template <class D, class Real>
void store_weights(const void* target, const Real* tile, int64_t i0, int rows, int64_t j0,
                   int cols) {
  constexpr int panel = RealTiles<Real>::panel;
  const WeightStore<D, Real>& s = *static_cast<const WeightStore<D, Real>*>(target);
  for (int c = 0; c < cols; ++c) {
    int64_t channel, tap;
    tap_index(*s.patches, j0 + c, &channel, &tap);
    const int64_t t2 = tap % s.patches->taps[2], t1 = tap / s.patches->taps[2] % s.patches->taps[1];
    const int64_t t0 = tap / s.patches->taps[2] / s.patches->taps[1];
    D* out =
        s.data + channel * s.stride[1] + t0 * s.stride[2] + t1 * s.stride[3] + t2 * s.stride[4];
    for (int r = 0; r < rows; ++r) out[(i0 + r) * s.stride[0]] = narrow<D>(tile[r * panel + c]);
  }
}

// An operand in the type of the chain: half types are widened once, into memory of the same layout
// where that is dense.
template <class T>
struct Widened {
  using Real = typename ChainType<T>::type;
  View5<const Real> view;
  std::unique_ptr<Real[]> own;

  Widened(View5<const T> v, const int64_t size[5]) {
    if constexpr (std::is_same_v<T, Real>) {
      view = v;
    } else {
      int64_t span = 1, count = 1;
      bool dense = true;
      for (int a = 0; a < 5; ++a) {
        count *= size[a];
        span += (size[a] - 1) * v.stride[a];
        dense &= v.stride[a] >= 0;
      }
      dense &= span <= count + count / 4;
      if (count <= 0) return;
      if (dense) {
        own.reset(new Real[size_t(span)]);
        parallel_for(0, span, 1 << 16, [&](int64_t lo, int64_t hi) {
          int64_t i = lo;
          for (; i + 8 <= hi; i += 8) _mm256_storeu_ps(own.get() + i, load_wide(v.data + i));
          for (; i < hi; ++i) own[size_t(i)] = widen(v.data[i]);
        });
        for (int a = 0; a < 5; ++a) view.stride[a] = v.stride[a];
      } else {
        own.reset(new Real[size_t(count)]);
        int64_t stride = 1;
        for (int a = 4; a >= 0; --a) {
          view.stride[a] = stride;
          stride *= size[a];
        }
        parallel_for(0, size[0] * size[1], 1, [&](int64_t lo, int64_t hi) {
          for (int64_t i = lo; i < hi; ++i) {
            const T* p = v.data + i / size[1] * v.stride[0] + i % size[1] * v.stride[1];
            Real* to = own.get() + i * view.stride[1];
            for (int64_t d = 0; d < size[2]; ++d)
              for (int64_t h = 0; h < size[3]; ++h)
                for (int64_t w = 0; w < size[4]; ++w)
                  *to++ = widen(p[d * v.stride[2] + h * v.stride[3] + w * v.stride[4]]);
          }
        });
      }
      view.data = own.get();
    }
  }
};

// Weights whose (channel, taps) do not lie in that order are copied so once, for panels are packed
// along them.
template <class Real>
struct OrderedWeights {
  View5<const Real> view;
  std::unique_ptr<Real[]> own;

  OrderedWeights(View5<const Real> w, const int64_t size[5]) : view(w) {
    const int64_t taps = volume(size + 2), channels = size[1];
    if (one_axis(w.stride + 2, size + 2) &&
        (taps == 1 || axis_stride(w.stride + 2, size + 2) == 1) &&
        (channels == 1 || w.stride[1] == taps))
      return;
    if (size[0] * channels * taps <= 0) return;
    own.reset(new Real[size_t(size[0] * channels * taps)]);
    parallel_for(0, size[0], std::max<int64_t>(1, (1 << 15) / (channels * taps)),
                 [&](int64_t lo, int64_t hi) {
                   for (int64_t o = lo; o < hi; ++o)
                     copy(w, size, o, own.get() + o * channels * taps);
                 });
    view.data = own.get();
    int64_t stride = 1;
    for (int a : {4, 3, 2, 1, 0}) {
      view.stride[a] = stride;
      stride *= size[a];
    }
  }

 private:
  static void copy(View5<const Real> w, const int64_t size[5], int64_t o, Real* to) {
    const int64_t taps = volume(size + 2), cs = w.stride[1];
    int64_t t = 0;
    for (int64_t d = 0; d < size[2]; ++d)
      for (int64_t h = 0; h < size[3]; ++h)
        for (int64_t v = 0; v < size[4]; ++v, ++t) {
          const Real* p =
              w.data + o * w.stride[0] + d * w.stride[2] + h * w.stride[3] + v * w.stride[4];
          for (int64_t c = 0; c < size[1]; ++c) to[c * taps + t] = p[c * cs];
        }
  }
};

// Without neighbours, and where images follow each other as their pixels do, patches are just a
// matrix: pixel j of channel c at image[j * pixel_stride + c * channel_stride].
template <class Real>
bool is_matrix(const Patches<Real>& p, int64_t batch, int64_t* pixel_stride) {
  for (int a = 0; a < 3; ++a)
    if (p.taps[a] != 1 || p.tap[a][0] != 0 || p.step[a] != 1 || p.grid[a] != p.extent[a])
      return false;
  if (!one_axis(p.stride, p.extent)) return false;
  const int64_t pixels = volume(p.grid);
  *pixel_stride = pixels == 1 ? p.batch_stride : axis_stride(p.stride, p.extent);
  return batch == 1 || p.batch_stride == pixels * *pixel_stride;
}

template <class Real>
void set_matrix(Operand<Real>& o, const Strided<Real>& s) {
  o.pack = pack_strided<Real, Real>;
  o.source = &s;
  o.direct = s.p;
  o.i_stride = s.i_stride;
  o.k_stride = s.k_stride;
}

template <class Real>
Patches<Real> image_of(View5<const Real> v, const int64_t extent[3], const int64_t grid[3],
                       int64_t channels) {
  Patches<Real> p{};
  p.image = v.data;
  p.batch_stride = v.stride[0];
  p.channel_stride = v.stride[1];
  p.channels = channels;
  for (int a = 0; a < 3; ++a) {
    p.stride[a] = v.stride[2 + a];
    p.extent[a] = extent[a];
    p.grid[a] = grid[a];
    p.step[a] = 1;
  }
  return p;
}

// Without neighbours (1 × 1 taps on the pixel itself) rows of an image join into one.
template <class Real>
void join_rows(Patches<Real>& p) {
  for (int a = 0; a < 3; ++a)
    if (p.taps[a] != 1 || p.tap[a][0] != 0 || p.step[a] != 1 || p.grid[a] != p.extent[a]) return;
  if (!one_axis(p.stride, p.extent)) return;
  const int64_t unit = axis_stride(p.stride, p.extent), pixels = volume(p.grid);
  for (int a = 0; a < 3; ++a) {
    p.stride[a] = a == 2 ? unit : 0;
    p.extent[a] = p.grid[a] = a == 2 ? pixels : 1;
  }
}

// Weights as an operand over k = (channel, taps): a table of offsets unless they are contiguous.
template <class Real>
struct WeightOperand {
  std::vector<int64_t> table;
  Strided<Real> strided;

  WeightOperand(const Real* data, int64_t i_stride, int64_t channels, int64_t channel_stride,
                const std::vector<int64_t>& tap_offsets) {
    const int64_t taps = int64_t(tap_offsets.size());
    bool contiguous = true;
    table.reserve(size_t(channels * taps));
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t at = c * channel_stride + tap_offsets[size_t(t)];
        contiguous &= at == int64_t(table.size());
        table.push_back(at);
      }
    strided = {data, i_stride, 1, contiguous ? nullptr : table.data()};
  }
  WeightOperand(const WeightOperand&) = delete;

  void set(Operand<Real>& o) const {
    o.pack = pack_strided<Real, Real>;
    o.source = &strided;
    if (!strided.k_table) {
      o.direct = strided.p;
      o.i_stride = strided.i_stride;
      o.k_stride = 1;
    }
  }
};

template <class T>
void sizes_of_image(const ConvShape& s, bool input, int64_t size[5]) {
  size[0] = s.batch;
  size[1] = input ? s.in_channels : s.out_channels;
  for (int a = 0; a < 3; ++a) size[2 + a] = input ? s.in[a] : s.out[a];
}
void sizes_of_weight(const ConvShape& s, int64_t size[5]) {
  size[0] = s.out_channels;
  size[1] = s.in_channels / s.groups;
  for (int a = 0; a < 3; ++a) size[2 + a] = s.kernel[a];
}

}  // namespace

template <class T>
void conv_forward(const ConvShape& s, View5<const T> x, View5<const T> w, const T* bias,
                  View5<T> y) {
  using Real = typename ChainType<T>::type;
  const int64_t pixels = s.batch * volume(s.out);
  if (pixels <= 0 || s.out_channels <= 0) return;
  int64_t size[5];
  sizes_of_image<T>(s, true, size);
  const Widened<T> image(x, size);
  sizes_of_weight(s, size);
  const Widened<T> wide(w, size);
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  if (ci == 1 && depthwise_forward<T, Real>(s, image.view, wide.view, bias, y)) return;
  const OrderedWeights<Real> weight(wide.view, size);

  std::vector<int64_t> taps[3], offsets;
  for (int a = 0; a < 3; ++a)
    for (int64_t t = 0; t < s.kernel[a]; ++t) taps[a].push_back(t * s.dilation[a] - s.padding[a]);
  const int64_t* ws = weight.view.stride;
  for (int64_t d = 0; d < s.kernel[0]; ++d)
    for (int64_t h = 0; h < s.kernel[1]; ++h)
      for (int64_t v = 0; v < s.kernel[2]; ++v)
        offsets.push_back(d * ws[2] + h * ws[3] + v * ws[4]);
  each_group(s.groups, [&](int64_t g) {
    Patches<Real> patches = image_of(image.view, s.in, s.out, ci);
    patches.image += g * ci * patches.channel_stride;
    for (int a = 0; a < 3; ++a) {
      patches.step[a] = s.stride[a];
      patches.taps[a] = s.kernel[a];
      patches.tap[a] = taps[a].data();
    }
    join_rows(patches);
    const WeightOperand<Real> left(weight.view.data + g * co * ws[0], ws[0], ci, ws[1], offsets);
    const PixelStore<T, Real> store{y.data + g * co * y.stride[1],
                                    y.stride[0],
                                    y.stride[1],
                                    {y.stride[2], y.stride[3], y.stride[4]},
                                    {s.out[0], s.out[1], s.out[2]},
                                    bias ? bias + g * co : nullptr};
    Problem<Real> p;
    p.m = co;
    p.n = pixels;
    p.k = ci * int64_t(offsets.size());
    left.set(p.a);
    Strided<Real> matrix{patches.image, 1, patches.channel_stride};
    if (is_matrix(patches, s.batch, &matrix.i_stride)) {
      set_matrix(p.b, matrix);
    } else {
      p.b.pack = pack_pixels<Real>;
      p.b.source = &patches;
    }
    set_output<T, Real>(p.out, store);
    multiply(p);
  });
}

template <class T>
void conv_backward_input(const ConvShape& s, View5<const T> gy, View5<const T> w, const T* bias,
                         View5<T> gx) {
  using Real = typename ChainType<T>::type;
  if (s.batch * volume(s.in) <= 0 || s.in_channels <= 0) return;
  int64_t size[5];
  sizes_of_image<T>(s, false, size);
  const Widened<T> image(gy, size);
  sizes_of_weight(s, size);
  const Widened<T> wide(w, size);
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  if (ci == 1 && co == 1 && depthwise_backward_input<T, Real>(s, image.view, wide.view, bias, gx))
    return;
  const OrderedWeights<Real> weight(wide.view, size);

  // Pixels of x that agree modulo the stride meet the same taps, and read gy with step 1.
  const int64_t* ws = weight.view.stride;
  const int64_t phases = volume(s.stride);
  for (int64_t phase = 0; phase < phases; ++phase) {
    const int64_t r[3] = {phase / (s.stride[1] * s.stride[2]), phase / s.stride[2] % s.stride[1],
                          phase % s.stride[2]};
    std::vector<int64_t> taps[3], at[3], offsets;
    int64_t grid[3];
    for (int a = 0; a < 3; ++a) {
      grid[a] = s.in[a] > r[a] ? (s.in[a] - r[a] + s.stride[a] - 1) / s.stride[a] : 0;
      for (int64_t t = 0; t < s.kernel[a]; ++t) {
        const int64_t reach = r[a] + s.padding[a] - t * s.dilation[a];
        if (reach % s.stride[a] == 0) {
          taps[a].push_back(reach / s.stride[a]);
          at[a].push_back(t * ws[2 + a]);
        }
      }
    }
    if (volume(grid) == 0) continue;
    for (int64_t d : at[0])
      for (int64_t h : at[1])
        for (int64_t v : at[2]) offsets.push_back(d + h + v);
    each_group(s.groups, [&](int64_t g) {
      Patches<Real> patches = image_of(image.view, s.out, grid, co);
      patches.image += g * co * patches.channel_stride;
      for (int a = 0; a < 3; ++a) {
        patches.taps[a] = int64_t(taps[a].size());
        patches.tap[a] = taps[a].data();
      }
      if (!offsets.empty()) join_rows(patches);
      const WeightOperand<Real> left(weight.view.data + g * co * ws[0], ws[1], co, ws[0], offsets);
      PixelStore<T, Real> store{gx.data + g * ci * gx.stride[1],
                                gx.stride[0],
                                gx.stride[1],
                                {},
                                {grid[0], grid[1], grid[2]},
                                bias ? bias + g * ci : nullptr};
      for (int a = 0; a < 3; ++a) {
        store.data += r[a] * gx.stride[2 + a];
        store.stride[a] = gx.stride[2 + a] * s.stride[a];
      }
      Problem<Real> p;
      p.m = ci;
      p.n = s.batch * volume(grid);
      p.k = co * int64_t(offsets.size());
      left.set(p.a);
      Strided<Real> matrix{patches.image, 1, patches.channel_stride};
      if (!offsets.empty() && is_matrix(patches, s.batch, &matrix.i_stride)) {
        set_matrix(p.b, matrix);
      } else {
        p.b.pack = pack_pixels<Real>;
        p.b.source = &patches;
      }
      set_output<T, Real>(p.out, store);
      multiply(p);
    });
  }
}

template <class T>
void conv_backward_weight(const ConvShape& s, View5<const T> x, View5<const T> gy, View5<T> gw) {
  using Real = typename ChainType<T>::type;
  const int64_t ci = s.in_channels / s.groups, co = s.out_channels / s.groups;
  if (ci <= 0 || co <= 0 || volume(s.kernel) <= 0) return;
  int64_t size[5];
  sizes_of_image<T>(s, true, size);
  const Widened<T> image(x, size);
  sizes_of_image<T>(s, false, size);
  const Widened<T> grad(gy, size);
  if (ci == 1 && co == 1 && depthwise_backward_weight<T, Real>(s, image.view, grad.view, gw))
    return;

  std::vector<int64_t> taps[3];
  for (int a = 0; a < 3; ++a)
    for (int64_t t = 0; t < s.kernel[a]; ++t) taps[a].push_back(t * s.dilation[a] - s.padding[a]);
  // The pixels of gy in order: one stride where they lie so, else a table.
  const int64_t pixels = volume(s.out), *gs = grad.view.stride;
  const int64_t unit = axis_stride(gs + 2, s.out);
  std::vector<int64_t> table;
  if (!one_axis(gs + 2, s.out) || (s.batch > 1 && gs[0] != pixels * unit)) {
    table.reserve(size_t(s.batch * pixels));
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t d = 0; d < s.out[0]; ++d)
        for (int64_t h = 0; h < s.out[1]; ++h)
          for (int64_t v = 0; v < s.out[2]; ++v)
            table.push_back(n * gs[0] + d * gs[2] + h * gs[3] + v * gs[4]);
  }
  each_group(s.groups, [&](int64_t g) {
    Patches<Real> patches = image_of(image.view, s.in, s.out, ci);
    patches.image += g * ci * patches.channel_stride;
    for (int a = 0; a < 3; ++a) {
      patches.step[a] = s.stride[a];
      patches.taps[a] = s.kernel[a];
      patches.tap[a] = taps[a].data();
    }
    join_rows(patches);
    const Strided<Real> left{grad.view.data + g * co * gs[1], gs[1], unit,
                             table.empty() ? nullptr : table.data()};
    WeightStore<T, Real> store{gw.data + g * co * gw.stride[0], {}, &patches};
    for (int a = 0; a < 5; ++a) store.stride[a] = gw.stride[a];
    // Joining rows changes neither channels nor taps, so the store may count by the same patches.
    Problem<Real> p;
    p.m = co;
    p.n = ci * volume(s.kernel);
    p.k = s.batch * pixels;
    p.a.pack = pack_strided<Real, Real>;
    p.a.source = &left;
    Strided<Real> matrix{patches.image, patches.channel_stride, 1};
    if (is_matrix(patches, s.batch, &matrix.k_stride)) {
      set_matrix(p.b, matrix);
    } else {
      p.b.pack = pack_taps<Real>;
      p.b.source = &patches;
    }
    p.out.store = store_weights<T, Real>;
    p.out.target = &store;
    if constexpr (std::is_same_v<T, Real>) {
      // Columns of a gradient in memory order are written in place.
      const bool ordered =
          axis_stride(gw.stride + 2, s.kernel) == 1 && one_axis(gw.stride + 2, s.kernel) &&
          (ci == 1 || gw.stride[1] == volume(s.kernel)) && !patches.channels_last();
      if (ordered) {
        p.out.direct = store.data;
        p.out.i_stride = gw.stride[0];
      }
    }
    multiply(p);
  });
}

#define FB_CONV(T)                                                                              \
  template void conv_forward(const ConvShape&, View5<const T>, View5<const T>, const T*,        \
                             View5<T>);                                                         \
  template void conv_backward_input(const ConvShape&, View5<const T>, View5<const T>, const T*, \
                                    View5<T>);                                                  \
  template void conv_backward_weight(const ConvShape&, View5<const T>, View5<const T>, View5<T>);
FB_CONV(float)
FB_CONV(double)
FB_CONV(half)
FB_CONV(bfloat16)

}  // namespace fb::product
