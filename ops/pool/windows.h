// Sizes and checks that all kinds of pooling share. Inputs are (N, C, *spatial) or (C, *spatial).
#pragma once
#include <algorithm>

#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/zero_slope.h"

namespace fb::cards::pool {

// Sizes of a result are said one by one.
inline Dims exact(const char* name, const char* arg, Ints v, int64_t nd) {
  FB_CHECK(v.n == nd, name, ": ", arg, " must be ", nd, " ints, got ", v);
  return Dims(v);
}
// One number may stand for all dimensions.
inline Dims full(const char* name, const char* arg, Ints v, int64_t nd) {
  FB_CHECK(v.n == 1 || v.n == nd, name, ": ", arg, " must be one int or ", nd, " ints, got ", v);
  Dims d(v);
  while (d.size() < nd) d.push_back(v[0]);
  return d;
}

// Without `channels`, the dimension of channels may be empty.
template <class T> void check_input(const char* name, const T& x, int64_t nd, bool channels = true) {
  bool ok = x.ndim() == nd + 1 || x.ndim() == nd + 2;
  for (int64_t i = x.ndim() - nd - (channels ? 1 : 0); ok && i < x.ndim(); ++i) ok = x.sizes()[i] > 0;
  FB_CHECK(ok, name, ": expected an input of ", nd + 1, " or ", nd + 2,
           " dimensions, not empty but for the batch, got shape ", x.sizes());
}

// Of gradients: grad (.., *places) and self (.., *spatial) of the same leading dimensions, and indices as grad.
template <class T> void check_backward(const char* name, const T& g, const T& x, int64_t nd, const T* indices = nullptr) {
  const int64_t lead = x.ndim() - nd;
  bool ok = (lead == 1 || lead == 2) && g.ndim() == x.ndim() && (!indices || indices->sizes() == g.sizes());
  for (int64_t i = 0; ok && i < lead; ++i) ok = g.sizes()[i] == x.sizes()[i];
  FB_CHECK(ok, name, ": grad_output has shape ", g.sizes(), ", which does not go with self of shape ", x.sizes(),
           indices ? " and indices of shape " : "", indices ? text(indices->sizes()) : std::string());
  FB_CHECK(!indices || indices->dtype() == DType::i64, name, ": indices must be of type int64, got ", indices ? indices->dtype() : DType::i64);
  FB_CHECK(g.dtype() == x.dtype(), name, ": grad_output is of type ", g.dtype(), " and self of type ", x.dtype());
}

// Of the inputs of one-dimensional kinds, which compute as planes of height 1.
inline void check_signals(const char* name, const Tensor& x) {
  FB_CHECK(x.ndim() == 2 || x.ndim() == 3, name, ": expected an input of 2 or 3 dimensions, got shape ", x.sizes());
}
// One number for the last axis of such a plane, with `other` for the axis of size 1.
inline Dims beside(const char* name, const char* arg, Ints v, int64_t other) {
  FB_CHECK(v.n == 1, name, ": ", arg, " must be one int, got ", v);
  Dims d;
  d.push_back(other);
  d.push_back(v[0]);
  return d;
}
inline Dims stride_beside(const char* name, Ints stride, Ints kernel) {
  return beside(name, "stride", stride.n ? stride : kernel, 1);
}

// Sizes after windows of this kind, with everything that may be wrong checked.
template <class T>
typename T::Sizes window_sizes(const char* name, const T& x, int64_t nd, Ints kernel0, Ints stride0, Ints padding0, Ints dilation0,
                  bool ceil_mode) {
  check_input(name, x, nd);
  const Dims k = full(name, "kernel_size", kernel0, nd), s = stride0.n ? full(name, "stride", stride0, nd) : k;
  const Dims p = full(name, "padding", padding0, nd), dil = full(name, "dilation", dilation0, nd);
  using I = typename T::Int;
  typename T::Sizes out(x.sizes().slice(0, x.ndim() - nd));
  for (int64_t i = 0; i < nd; ++i) {
    const I in = x.sizes()[x.ndim() - nd + i];
    // Beyond this, positions would not fit into 64 bits.
    FB_CHECK(std::max({k[i], s[i], p[i], dil[i]}) <= INT32_MAX, name, ": kernel_size ", k, ", stride ", s, ", padding ", p, " and dilation ", dil, " are at most ", INT32_MAX);
    FB_CHECK(k[i] > 0, name, ": kernel_size must be greater than zero, got ", k);
    FB_CHECK(s[i] > 0, name, ": stride must be greater than zero, got ", s);
    FB_CHECK(dil[i] > 0, name, ": dilation must be greater than zero, got ", dil);
    FB_CHECK(p[i] >= 0, name, ": padding must not be negative, got ", p);
    FB_CHECK(p[i] <= ((k[i] - 1) * dil[i] + 1) / 2, name,
             ": padding must be at most half of the (dilated) kernel size, got padding ", p, " and kernel_size ", k);
    const I room = in + 2 * p[i] - dil[i] * (k[i] - 1) - 1 + (ceil_mode ? s[i] - 1 : 0);
    I o = (room >= 0 ? room / s[i] : -((-room + s[i] - 1) / s[i])) + 1;
    if (ceil_mode && (o - 1) * s[i] >= in + p[i]) --o;
    FB_CHECK(o >= 1, name, ": the output would have size ", o, " in spatial dimension ", i, " for an input of shape ",
             x.sizes(), ", kernel_size ", k, ", stride ", s, ", padding ", p);
    out.push_back(o);
  }
  return out;
}

template <class T> typename T::Sizes adaptive_sizes(const char* name, const T& x, int64_t nd, Ints out, bool channels = true) {
  check_input(name, x, nd, channels);
  const Dims o = exact(name, "output_size", out, nd);
  typename T::Sizes sizes(x.sizes().slice(0, x.ndim() - nd));
  for (int64_t v : o) {
    FB_CHECK(v >= 0, name, ": output_size must not be negative, got ", o);
    sizes.push_back(v);
  }
  return sizes;
}

// Results keep channels_last where the input says so.
template <class T> T make(Span<typename T::Int> sizes, const T& x) { return T::empty_format(sizes, x.options(), x.suggested_format()); }
template <class T> T make_indices(Span<typename T::Int> sizes, const T& x) {
  return T::empty_format(sizes, {DType::i64, x.device()}, x.suggested_format());
}
// (C, D, H, W) whose strides are those of one sample of channels_last_3d counts as such, too.
template <class I> bool channels_last_sample(Span<I> sizes, Span<I> strides) {
  I least = 0;
  for (int64_t d : {0, 3, 2, 1}) {
    if (sizes[d] == 0 || strides[d] < least || strides[0] == 0 || (d == 1 && least == strides[0])) return false;
    least = strides[d] * (sizes[d] > 1 ? sizes[d] : I(1));
  }
  return true;
}
template <class T> T make_3d(Span<typename T::Int> sizes, const T& x, Options o) {
  if (x.ndim() == 5) return T::empty_format(sizes, o, x.suggested_format());
  if (!channels_last_sample(x.sizes(), x.strides())) return T::empty(sizes, o);
  const typename T::Int c = sizes[0], h = sizes[2], w = sizes[3];
  return T::empty_strided(sizes, Span<typename T::Int>{1, c * w * h, c * w, c}, o);
}

// Of each plane of x (.., *spatial), the elements that `indices` (.., *places) name.
inline Tensor pick(const Tensor& x, const Tensor& indices, Ints places, int64_t nd) {
  const int64_t lead = x.ndim() - nd;
  Dims flat(x.sizes().slice(0, lead)), flat_places = flat;
  flat.push_back(numel_of(x.sizes().slice(lead, nd)));
  flat_places.push_back(numel_of(places.slice(lead, nd)));
  return op<"reshape">(op<"gather">(op<"reshape">(x, flat), int64_t(-1), op<"reshape">(indices, flat_places)), places);
}

}  // namespace fb::cards::pool
