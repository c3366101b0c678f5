// Maxima put back to where they came from.
#pragma once
#include "ops/pool/windows.h"

namespace fb::cards {

namespace pool {
template <class T> Dims unpool_sizes(const char* name, const T& x, const T& indices, Ints output, int64_t nd) {
  check_input(name, x, nd);
  FB_CHECK(indices.dtype() == DType::i64, name, ": indices must be of type int64, got ", indices.dtype());
  FB_CHECK(indices.sizes() == x.sizes(), name, ": indices must have self's shape ", x.sizes(), ", got ", indices.sizes());
  FB_CHECK(output.n == nd, name, ": output_size must be ", nd, " ints, got ", output);
  Dims out(x.sizes().slice(0, x.ndim() - nd));
  for (int64_t v : output) {
    FB_CHECK(v >= 0, name, ": output_size must not be negative, got ", output);
    out.push_back(v);
  }
  return out;
}
}  // namespace pool

#define FB_UNPOOL_DOC                                                                                                   \
  "Zeros of spatial size output_size, with each element of self at the flat position that indices (int64, of self's "   \
  "shape) names in its plane; of several for one place the last stays. self: (N, C, *spatial) or (C, *spatial), "       \
  "floating. RuntimeError for a position outside the plane."

struct max_unpool2d : structured<max_unpool2d> {
  static constexpr auto schema = "max_unpool2d(Tensor self, Tensor indices, int[2] output_size) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static constexpr auto doc = FB_UNPOOL_DOC;
  template <class T> static T meta(const T& x, const T& indices, Ints output) {
    return pool::make(pool::unpool_sizes("max_unpool2d", x, indices, output, 2), x);
  }
  static Tensor d(grad<0> g, in<1> indices) { return pool::pick(*g, *indices, indices->sizes(), 2); }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(max_unpool2d)

struct max_unpool3d : structured<max_unpool3d> {
  static constexpr auto schema =
      "max_unpool3d(Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static constexpr auto doc = FB_UNPOOL_DOC;
  template <class T> static T meta(const T& x, const T& indices, Ints output, Ints stride, Ints padding) {
    FB_CHECK(stride.n == 3 && padding.n == 3, "max_unpool3d: stride and padding must be 3 ints each, got ", stride, " and ", padding);
    for (int64_t v : stride) FB_CHECK(v > 0, "max_unpool3d: stride must be greater than zero, got ", stride);
    return T::empty(pool::unpool_sizes("max_unpool3d", x, indices, output, 3), x.options());
  }
  static Tensor d(grad<0> g, in<1> indices) { return pool::pick(*g, *indices, indices->sizes(), 3); }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(max_unpool3d)
#undef FB_UNPOOL_DOC

}  // namespace fb::cards
