// Sliding patches as columns (im2col) and columns summed into images (col2im), each the transpose of the other.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace patches {
inline Dims pair(const char* name, const char* arg, Ints v, int64_t least) {
  FB_CHECK(v.n == 2, name, ": ", arg, " must be 2 ints, got ", v);
  FB_CHECK(v[0] >= least && v[1] >= least, name, ": ", arg, " must be at least ", least, ", got ", v);
  return Dims(v);
}
// Places of the window along height and width.
inline Dims places(const char* name, Ints size, Ints k, Ints d, Ints p, Ints s) {
  pair(name, "kernel_size", k, 1), pair(name, "dilation", d, 1), pair(name, "padding", p, 0), pair(name, "stride", s, 1);
  Dims r;
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t room = size[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1;
    FB_CHECK(room >= 0, name, ": kernel_size ", k, " with dilation ", d, " does not fit in a plane of ", size, " with padding ", p);
    r.push_back(room / s[i] + 1);
  }
  return r;
}
}  // namespace patches

struct im2col : structured<im2col> {
  static constexpr auto schema = "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static constexpr auto doc =
      "The patches under a sliding window: (N, C, H, W) to (N, C kh kw, L), or without the batch; row (c kh + i) kw + j, column oh OW + ow "
      "holds input (c, oh stride - padding + i dilation, ..), zero outside. Floating, complex or bool.";
  template <class T> static T meta(const T& x, Ints k, Ints d, Ints p, Ints s) {
    const int64_t n = x.ndim();
    bool ok = n == 3 || n == 4;
    for (int64_t i = n - 3; ok && i < n; ++i) ok = x.sizes()[i] > 0;
    FB_CHECK(ok, "im2col: expected an input of 3 or 4 dimensions, not empty but for the batch, got shape ", x.sizes());
    const Dims o = patches::places("im2col", x.sizes().slice(n - 2, 2), k, d, p, s);
    Dims out(x.sizes().slice(0, n - 3));
    out.push_back(x.sizes()[n - 3] * k[0] * k[1]);
    out.push_back(o[0] * o[1]);
    return T::empty(out, x.options());
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, Ints> k, arg<2, Ints> d, arg<3, Ints> p, arg<4, Ints> s) {
    return op<"col2im">(*g, x.sizes().slice(x.sizes().n - 2, 2), *k, *d, *p, *s);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(im2col)

struct col2im : structured<col2im> {
  static constexpr auto schema =
      "col2im(Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static constexpr auto doc =
      "Columns summed into planes of output_size where they overlap: (N, C kh kw, L) to (N, C, H, W), or without the batch. The transpose of "
      "im2col. Floating, complex or bool.";
  template <class T> static T meta(const T& x, Ints size, Ints k, Ints d, Ints p, Ints s) {
    const int64_t n = x.ndim();
    FB_CHECK((n == 2 || n == 3) && x.sizes()[n - 1] > 0 && x.sizes()[n - 2] > 0,
             "col2im: expected an input of 2 or 3 dimensions, not empty but for the batch, got shape ", x.sizes());
    patches::pair("col2im", "output_size", size, INT64_MIN);
    const Dims o = patches::places("col2im", size, k, d, p, s);
    FB_CHECK(x.sizes()[n - 2] % (k[0] * k[1]) == 0, "col2im: rows must be a multiple of the kernel's ", k[0] * k[1], " elements, got shape ", x.sizes());
    FB_CHECK(x.sizes()[n - 1] == o[0] * o[1], "col2im: output_size ", size, " has ", o[0] * o[1], " places for the window, the input is of shape ", x.sizes());
    Dims out(x.sizes().slice(0, n - 2));
    out.push_back(x.sizes()[n - 2] / (k[0] * k[1]));
    out.push_back(size[0]);
    out.push_back(size[1]);
    return T::empty(out, x.options());
  }
  static Tensor d_self(grad<0> g, arg<2, Ints> k, arg<3, Ints> d, arg<4, Ints> p, arg<5, Ints> s) { return op<"im2col">(*g, *k, *d, *p, *s); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(col2im)

}  // namespace fb::cards
