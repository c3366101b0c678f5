// Resizing along one axis at a time: out[o] = sum over k of w[o][k] in[index[o][k]], and its transpose.
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "core/half.h"
#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

enum class Filter { nearest, nearest_exact, linear, cubic, linear_aa, cubic_aa, lanczos_aa };
constexpr bool antialiased(Filter f) { return f >= Filter::linear_aa; }

// What one axis does: `taps` inputs for each output.
template <class S> struct AxisTable {
  int64_t in = 1, out = 1, taps = 1;
  bool identity = true, weighted = false;
  std::vector<int64_t> index;  // [out][taps]
  std::vector<S> weight;       // [out][taps], where weighted
};

template <class S> S scale_of(int64_t in, int64_t out, bool corners, std::optional<double> factor) {
  if (corners) return out > 1 ? S(in - 1) / S(out - 1) : S(0);
  return factor && *factor > 0 ? S(1 / *factor) : S(in) / S(out);
}

template <class S> S keys(S x, S a) {  // the cubic convolution kernel
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}
template <class S> S lanczos(S x) {
  if (x == 0) return 1;
  if (x <= -3 || x >= 3) return 0;
  const S p = S(3.14159265358979323846) * x;
  return 3 * std::sin(p) * std::sin(p / 3) / (p * p);
}

template <class S> AxisTable<S> axis_table(Filter f, int64_t in, int64_t out, bool corners, std::optional<double> factor) {
  AxisTable<S> t;
  t.in = in;
  t.out = out;
  t.weighted = f >= Filter::linear;
  if (f == Filter::nearest || f == Filter::nearest_exact) {
    const float scale = scale_of<float>(in, out, false, factor);
    for (int64_t o = 0; o < out; ++o) {
      const float at = f == Filter::nearest ? float(o) * scale : (float(o) + 0.5f) * scale;
      const int64_t i = at < float(in) ? int64_t(at) : in - 1;
      t.index.push_back(i < in - 1 ? i : in - 1);
    }
  } else if (!antialiased(f)) {
    const S scale = scale_of<S>(in, out, corners, factor);
    t.taps = f == Filter::linear ? 2 : 4;
    for (int64_t o = 0; o < out; ++o) {
      S at = corners ? scale * S(o) : scale * (S(o) + S(0.5)) - S(0.5);
      if (in == out && scale == 1) at = S(o);
      if (f == Filter::linear && at < 0) at = 0;
      int64_t i = int64_t(std::floor(at));
      if (f == Filter::linear && i > in - 1) i = in - 1;
      S r = at - S(i);
      r = r < 0 ? S(0) : r > 1 ? S(1) : r;
      if (f == Filter::linear) {
        t.index.push_back(i);
        t.index.push_back(i < in - 1 ? i + 1 : i);
        t.weight.push_back(1 - r);
        t.weight.push_back(r);
      } else {
        for (int64_t k = -1; k <= 2; ++k) {
          const int64_t j = i + k;
          t.index.push_back(j < 0 ? 0 : j > in - 1 ? in - 1 : j);
          t.weight.push_back(keys(r - S(k), S(-0.75)));
        }
      }
    }
  } else {
    const S scale = scale_of<S>(in, out, corners, factor);
    const S reach = f == Filter::linear_aa ? S(1) : f == Filter::cubic_aa ? S(2) : S(3);
    const S wide = scale >= 1 ? scale : S(1), support = reach * wide;
    // A window wider than the axis holds all of it; bounds are cut before they become integers.
    t.taps = support < S(in) ? std::min(2 * int64_t(std::ceil(support)) + 1, std::max<int64_t>(in, 1)) : std::max<int64_t>(in, 1);
    auto place = [&](S x) { return x > 0 ? x < S(in) ? int64_t(x) : in : 0; };
    std::vector<S> w(static_cast<size_t>(t.taps), S(0));
    for (int64_t o = 0; o < out; ++o) {
      const S center = scale * (S(o) + S(0.5));
      const int64_t lo = place(center - support + S(0.5)), hi = place(center + support + S(0.5));
      const int64_t n = hi - lo < t.taps ? hi - lo : t.taps;
      S sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        const S x = (S(k + lo) - center + S(0.5)) / wide;
        const S v = f == Filter::linear_aa ? (std::fabs(x) < 1 ? 1 - std::fabs(x) : S(0)) : f == Filter::cubic_aa ? keys(x, S(-0.5)) : lanczos(x);
        w[size_t(k)] = v;
        sum += v;
      }
      for (int64_t k = 0; k < t.taps; ++k) {
        const bool used = k < n;
        t.index.push_back(used ? lo + k : lo < in ? lo : in - 1);
        t.weight.push_back(used ? (sum != 0 ? w[size_t(k)] / sum : w[size_t(k)]) : S(0));
      }
    }
  }
  t.identity = in == out;
  for (int64_t o = 0; t.identity && o < out; ++o)
    for (int64_t k = 0; t.identity && k < t.taps; ++k) {
      const size_t at = size_t(o * t.taps + k);
      if (!t.weighted || t.weight[at] != 0) t.identity = t.index[at] == o && (!t.weighted || t.weight[at] == 1);
    }
  return t;
}

constexpr int64_t kWork = 16384;
int64_t grain_of(int64_t each) { return each > 0 ? (kWork / each > 0 ? kWork / each : 1) : kWork; }

// in [outer][t.in][inner] -> out [outer][t.out][inner]
template <class S> void gather_axis(const AxisTable<S>& t, int64_t outer, int64_t inner, const S* in, S* out) {
  if (inner == 1) {
    return parallel_for(0, outer, grain_of(t.out * t.taps), [&](int64_t lo, int64_t hi) {
      for (int64_t r = lo; r < hi; ++r) {
        const S* from = in + r * t.in;
        S* to = out + r * t.out;
        const int64_t* index = t.index.data();
        const S* w = t.weight.data();
        for (int64_t o = 0; o < t.out; ++o, index += t.taps, w += t.taps) {
          S sum = w[0] * from[index[0]];
          for (int64_t k = 1; k < t.taps; ++k) sum += w[k] * from[index[k]];
          to[o] = sum;
        }
      }
    });
  }
  parallel_for(0, outer * t.out, grain_of(inner * t.taps), [&](int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; ++r) {
      const int64_t o = r % t.out;
      const S* from = in + r / t.out * t.in * inner;
      S* __restrict to = out + r * inner;
      const int64_t* index = &t.index[size_t(o * t.taps)];
      const S* w = &t.weight[size_t(o * t.taps)];
      const S *a = from + index[0] * inner, w0 = w[0];
      for (int64_t i = 0; i < inner; ++i) to[i] = w0 * a[i];
      for (int64_t k = 1; k < t.taps; ++k) {
        const S *b = from + index[k] * inner, wk = w[k];
        for (int64_t i = 0; i < inner; ++i) to[i] += wk * b[i];
      }
    }
  });
}

// The transpose: out [outer][t.out][inner] adds into zeroed in [outer][t.in][inner], outputs in order.
template <class S> void scatter_axis(const AxisTable<S>& t, int64_t outer, int64_t inner, S* in, const S* out) {
  constexpr int64_t kChunk = 512;
  const int64_t chunks = (inner + kChunk - 1) / kChunk;
  parallel_for(0, outer * chunks, grain_of(t.out * t.taps * (inner < kChunk ? inner : kChunk)), [&](int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; ++r) {
      const int64_t first = r % chunks * kChunk, n = inner - first < kChunk ? inner - first : kChunk;
      S* to = in + r / chunks * t.in * inner + first;
      const S* from = out + r / chunks * t.out * inner + first;
      for (int64_t o = 0; o < t.out; ++o)
        for (int64_t k = 0; k < t.taps; ++k) {
          const S w = t.weighted ? t.weight[size_t(o * t.taps + k)] : S(1);
          S* __restrict a = to + t.index[size_t(o * t.taps + k)] * inner;
          const S* __restrict b = from + o * inner;
          for (int64_t i = 0; i < n; ++i) a[i] += w * b[i];
        }
    }
  });
}

// Elements moved as they are, along all axes at once.
template <class T> void pick_axes(const AxisTable<float>* t, int64_t outer, int64_t inner, const T* in, T* out) {
  const int64_t rows = outer * t[0].out * t[1].out;
  parallel_for(0, rows, grain_of(t[2].out * inner), [&](int64_t lo, int64_t hi) {
    for (int64_t r = lo; r < hi; ++r) {
      const int64_t b = r / (t[0].out * t[1].out), d = t[0].index[size_t(r / t[1].out % t[0].out)], h = t[1].index[size_t(r % t[1].out)];
      const T* from = in + ((b * t[0].in + d) * t[1].in + h) * t[2].in * inner;
      T* to = out + r * t[2].out * inner;
      const int64_t* index = t[2].index.data();
      if (inner == 1)
        for (int64_t o = 0; o < t[2].out; ++o) to[o] = from[index[o]];
      else
        for (int64_t o = 0; o < t[2].out; ++o) std::memcpy(to + o * inner, from + index[o] * inner, size_t(inner) * sizeof(T));
    }
  });
}

struct Shape {
  int64_t outer, inner, in[3], out[3];
};
// channels_last has the channels innermost, else they count among the outer dimensions.
Shape shape_of(Ints in, Ints out, int64_t nd, bool channels_last) {
  Shape s{in[0] * (channels_last ? 1 : in[1]), channels_last ? in[1] : 1, {1, 1, 1}, {1, 1, 1}};
  for (int64_t i = 0; i < nd; ++i) s.in[3 - nd + i] = in[2 + i], s.out[3 - nd + i] = out[2 + i];
  return s;
}
MemoryFormat format_of(const Tensor& t) { return t.suggested_format(); }

template <class S> void tables(AxisTable<S>* t, Filter f, const Shape& s, int64_t nd, bool corners, const std::optional<double>* factors) {
  for (int64_t i = 0; i < 3; ++i)
    t[i] = axis_table<S>(f, s.in[i], s.out[i], corners, i >= 3 - nd ? factors[i - (3 - nd)] : std::nullopt);
}

// Weights of bytes are whole multiples of a power of two, the finest that 16 bits hold; sums of them are exact.
void byte_tables(AxisTable<float>* t, Filter f, const Shape& s, int64_t nd, bool corners, const std::optional<double>* factors) {
  AxisTable<double> exact[3];
  tables(exact, f, s, nd, corners, factors);
  for (int i = 0; i < 3; ++i) {
    const AxisTable<double>& e = exact[i];
    double most = 0;
    for (double w : e.weight) most = w > most ? w : most;
    double unit = 1;
    for (int bits = 0; bits < 22 && 0.5 + most * unit * 2 < 32768; ++bits) unit *= 2;
    t[i].in = e.in, t[i].out = e.out, t[i].taps = e.taps, t[i].identity = e.identity, t[i].weighted = e.weighted;
    t[i].index = e.index;
    for (double w : e.weight) t[i].weight.push_back(float(std::trunc(w * unit + (w < 0 ? -0.5 : 0.5)) / unit));
  }
}

void check_type(const char* name, Filter f, int64_t nd, DType d) {
  const bool half_type = d == DType::f16 || d == DType::bf16;
  const bool bytes = d == DType::u8 && (f <= Filter::nearest_exact || nd == 2);
  if (!(d == DType::f32 || d == DType::f64 || bytes || (half_type && !antialiased(f))))
    raise_not_implemented("operator ", name, " is not implemented for type ", d);
}

// Bytes round (half up) after each axis, as images do that are resized in two passes.
void to_bytes(float* p, int64_t n) {
  parallel_for(0, n, kWork, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) {
      const float v = std::floor(p[i] + 0.5f);
      p[i] = v < 0 ? 0.0f : v > 255 ? 255.0f : v;
    }
  });
}

template <class S> void passes(const AxisTable<S>* t, const Shape& s, const S* in, S* out, bool bytes = false) {
  // Last axis first; what is not the last pass goes to a buffer.
  std::unique_ptr<S[]> buffers[2];
  int left = 0, which = 0;
  for (int i = 0; i < 3; ++i) left += !t[i].identity;
  if (!left) {
    std::memcpy(out, in, size_t(s.outer * s.inner * s.in[0] * s.in[1] * s.in[2]) * sizeof(S));
    return;
  }
  int64_t size[3] = {s.in[0], s.in[1], s.in[2]};
  for (int i = 2; i >= 0; --i) {
    if (t[i].identity) continue;
    int64_t outer = s.outer, inner = s.inner;
    for (int j = 0; j < i; ++j) outer *= size[j];
    for (int j = i + 1; j < 3; ++j) inner *= size[j];
    size[i] = s.out[i];
    S* to = out;
    if (--left) {
      buffers[which].reset(new S[size_t(outer * size[i] * inner)]);
      to = buffers[which].get();
      which ^= 1;
    }
    gather_axis(t[i], outer, inner, in, to);
    if constexpr (std::is_same_v<S, float>)
      if (bytes) to_bytes(to, outer * size[i] * inner);
    in = to;
  }
}

template <class S> void transposed_passes(const AxisTable<S>* t, const Shape& s, S* in, const S* out) {
  std::unique_ptr<S[]> buffers[2];
  int left = 0, which = 0;
  for (int i = 0; i < 3; ++i) left += !t[i].identity;
  if (!left) {
    std::memcpy(in, out, size_t(s.outer * s.inner * s.in[0] * s.in[1] * s.in[2]) * sizeof(S));
    return;
  }
  int64_t size[3] = {s.out[0], s.out[1], s.out[2]};
  for (int i = 0; i < 3; ++i) {
    if (t[i].identity) continue;
    int64_t outer = s.outer, inner = s.inner;
    for (int j = 0; j < i; ++j) outer *= size[j];
    for (int j = i + 1; j < 3; ++j) inner *= size[j];
    size[i] = s.in[i];
    const size_t n = size_t(outer * size[i] * inner);
    S* to = in;
    if (--left) {
      buffers[which].reset(new S[n]);
      to = buffers[which].get();
      which ^= 1;
    }
    std::memset(to, 0, n * sizeof(S));
    scatter_axis(t[i], outer, inner, to, out);
    out = to;
  }
}

void resize(const char* name, Filter f, Tensor& y, const Tensor& x, bool corners, const std::optional<double>* factors) {
  const int64_t nd = x.ndim() - 2;
  check_type(name, f, nd, x.dtype());
  if (y.numel() == 0) return;
  const MemoryFormat format = format_of(y);
  const Shape s = shape_of(x.sizes(), y.sizes(), nd, format != MemoryFormat::contiguous);
  const Tensor in = op<"contiguous">(x, format);
  if (f <= Filter::nearest_exact) {
    AxisTable<float> t[3];
    tables(t, f, s, nd, false, factors);
    switch (x.item_bytes()) {
      case 1: return pick_axes(t, s.outer, s.inner, in.ptr<uint8_t>(), y.ptr<uint8_t>());
      case 2: return pick_axes(t, s.outer, s.inner, in.ptr<uint16_t>(), y.ptr<uint16_t>());
      case 4: return pick_axes(t, s.outer, s.inner, in.ptr<uint32_t>(), y.ptr<uint32_t>());
      default: return pick_axes(t, s.outer, s.inner, in.ptr<uint64_t>(), y.ptr<uint64_t>());
    }
  }
  if (x.dtype() == DType::f64) {
    AxisTable<double> t[3];
    tables(t, f, s, nd, corners, factors);
    return passes(t, s, in.ptr<double>(), y.ptr<double>());
  }
  AxisTable<float> t[3];
  if (x.dtype() == DType::u8) byte_tables(t, f, s, nd, corners, factors);
  else tables(t, f, s, nd, corners, factors);
  if (x.dtype() == DType::f32) return passes(t, s, in.ptr<float>(), y.ptr<float>());
  const Tensor wide = op<"to.dtype">(in, DType::f32);
  const Tensor r = Tensor::empty_format(y.sizes(), {DType::f32, y.device()}, format);
  passes(t, s, wide.ptr<float>(), r.ptr<float>(), x.dtype() == DType::u8);
  op_list<"copy_">(y, r);
}

void resize_backward(const char* name, Filter f, Tensor& gx, const Tensor& g, bool corners, const std::optional<double>* factors) {
  const int64_t nd = g.ndim() - 2;
  check_type(name, f, nd, g.dtype());
  if (gx.numel() == 0) return;
  const MemoryFormat format = format_of(gx);
  const Shape s = shape_of(gx.sizes(), g.sizes(), nd, format != MemoryFormat::contiguous);
  const Tensor out = op<"contiguous">(g, format);
  if (g.dtype() == DType::f64) {
    AxisTable<double> t[3];
    tables(t, f, s, nd, corners, factors);
    return transposed_passes(t, s, gx.ptr<double>(), out.ptr<double>());
  }
  AxisTable<float> t[3];
  tables(t, f, s, nd, corners, factors);
  if (g.dtype() == DType::f32) return transposed_passes(t, s, gx.ptr<float>(), out.ptr<float>());
  const Tensor wide = op<"to.dtype">(out, DType::f32);
  const Tensor r = Tensor::empty_format(gx.sizes(), {DType::f32, gx.device()}, format);
  transposed_passes(t, s, r.ptr<float>(), wide.ptr<float>());
  op_list<"copy_">(gx, r);
}

using F = std::optional<double>;
#define FB_RESIZE(NAME, FILTER, PARAMS, CORNERS, ...)                                                                   \
  void NAME##_run(Tensor& y, const Tensor& x, Ints, PARAMS) {                                                           \
    const F factors[] = {__VA_ARGS__};                                                                                  \
    resize(#NAME, Filter::FILTER, y, x, CORNERS, factors);                                                              \
  }                                                                                                                     \
  FB_KERNEL(#NAME, NAME##_run)                                                                                          \
  void NAME##_back(Tensor& gx, const Tensor& g, Ints, Ints, PARAMS) {                                                   \
    const F factors[] = {__VA_ARGS__};                                                                                  \
    resize_backward(#NAME "_backward", Filter::FILTER, gx, g, CORNERS, factors);                                        \
  }                                                                                                                     \
  FB_KERNEL(#NAME "_backward", NAME##_back)
#define FB_P1 F a
#define FB_P2 F a, F b
#define FB_P3 F a, F b, F c
#define FB_C1 bool corners, F a
#define FB_C2 bool corners, F a, F b
#define FB_C3 bool corners, F a, F b, F c
FB_RESIZE(upsample_nearest1d, nearest, FB_P1, false, a)
FB_RESIZE(upsample_nearest2d, nearest, FB_P2, false, a, b)
FB_RESIZE(upsample_nearest3d, nearest, FB_P3, false, a, b, c)
FB_RESIZE(_upsample_nearest_exact1d, nearest_exact, FB_P1, false, a)
FB_RESIZE(_upsample_nearest_exact2d, nearest_exact, FB_P2, false, a, b)
FB_RESIZE(_upsample_nearest_exact3d, nearest_exact, FB_P3, false, a, b, c)
FB_RESIZE(upsample_linear1d, linear, FB_C1, corners, a)
FB_RESIZE(upsample_bilinear2d, linear, FB_C2, corners, a, b)
FB_RESIZE(upsample_trilinear3d, linear, FB_C3, corners, a, b, c)
FB_RESIZE(upsample_bicubic2d, cubic, FB_C2, corners, a, b)
FB_RESIZE(_upsample_bilinear2d_aa, linear_aa, FB_C2, corners, a, b)
FB_RESIZE(_upsample_bicubic2d_aa, cubic_aa, FB_C2, corners, a, b)
FB_RESIZE(_upsample_lanczos2d_aa, lanczos_aa, FB_C2, corners, a, b)

}  // namespace
}  // namespace fb
