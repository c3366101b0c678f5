// What the loops of pooling share: planes of one to three dimensions and the windows over them.
#pragma once
#include <limits>
#include <type_traits>

#include "core/half.h"
#include "core/tensor.h"
#include "core/threads.h"

namespace fb::pooling {

// A tensor as (batch, channels, depth, height, width); strides in elements.
struct Planes {
  int64_t batch = 1, channels = 1, size[3] = {1, 1, 1};
  int64_t sb = 0, sc = 0, stride[3] = {0, 0, 0};
  int64_t count() const { return batch * channels; }
  int64_t places() const { return size[0] * size[1] * size[2]; }
  int64_t offset(int64_t plane) const { return plane / channels * sb + plane % channels * sc; }
  int64_t at(int64_t d, int64_t h, int64_t w) const { return d * stride[0] + h * stride[1] + w * stride[2]; }
};
inline Planes planes(const Tensor& t, int64_t nd) {
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

// The window of output position o along one axis: [lo, hi) by `dilation`, and how many elements it counts with padding.
struct Axis {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, in = 1, out = 1;
  bool adaptive = false;
  const int64_t* starts = nullptr;  // of windows placed one by one
  void window(int64_t o, int64_t& lo, int64_t& hi, int64_t& full) const {
    if (starts) {
      lo = starts[o];
      hi = lo + kernel;
      full = kernel;
      return;
    }
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
inline Windows windows(const Tensor& in, const Tensor& out, int64_t nd, Ints k, Ints s, Ints p, Ints d) {
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
inline Windows adaptive(const Tensor& in, const Tensor& out, int64_t nd) {
  Windows w;
  for (int64_t i = 0; i < nd; ++i) {
    Axis& a = w.a[3 - nd + i];
    a.adaptive = true;
    a.in = in.sizes()[in.ndim() - nd + i];
    a.out = out.sizes()[out.ndim() - nd + i];
  }
  return w;
}

// f(i) for n pieces of `work` steps each.
template <class F> void for_each(int64_t n, int64_t work, F&& f) {
  const int64_t grain = work > 0 ? (32768 / work > 0 ? 32768 / work : 1) : 1;
  parallel_for(0, n, grain, [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) f(i);
  });
}

// What elements of a type are compared and summed in.
template <class T> using Wide = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

enum class Types { floating, with_int64, numeric };
template <class F> void on_type(const char* name, DType d, Types types, F&& f) {
  if (visit_types<float, double, half, bfloat16>(d, f)) return;
  if (types != Types::floating && d == DType::i64) return f.template operator()<int64_t>();
  if (types == Types::numeric && visit_types<uint8_t, int8_t, int16_t, int32_t>(d, f)) return;
  raise_not_implemented("operator ", name, " is not implemented for type ", d);
}

}  // namespace fb::pooling
