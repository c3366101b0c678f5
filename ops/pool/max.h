// The largest element of each window and where it is: its flat position in the plane it comes from.
#pragma once
#include "ops/pool/windows.h"

namespace fb::cards {

#define FB_MAX_POOL(N, MAKE, MAKE_INDICES)                                                                              \
  struct max_pool##N##d_with_indices_backward : structured<max_pool##N##d_with_indices_backward, symbolic> {            \
    static constexpr auto schema = "max_pool" #N "d_with_indices_backward(Tensor grad_output, Tensor self, int[" #N     \
                                   "] kernel_size, int[" #N "] stride, int[" #N "] padding, int[" #N                    \
                                   "] dilation, bool ceil_mode, Tensor indices) -> Tensor";                             \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    template <class T> static T meta(const T& g, const T& x, Ints, Ints, Ints, Ints, bool, const T& i) {                \
      pool::check_backward("max_pool" #N "d_with_indices_backward", g, x, N, &i);                                       \
      return MAKE;                                                                                                      \
    }                                                                                                                   \
    static Tensor d(grad<0> gg, in<7> indices, shape_of<0> out) { return pool::pick(*gg, *indices, out.sizes(), N); }   \
    using vjp = rules<wrt<0, d>, wrt_zero<1, zero_slope>>;                                                                   \
  };                                                                                                                    \
  FB_CARD(max_pool##N##d_with_indices_backward)                                                                         \
  struct max_pool##N##d_with_indices : structured<max_pool##N##d_with_indices, symbolic> {                              \
    static constexpr auto schema = "max_pool" #N "d_with_indices(Tensor self, int[" #N "] kernel_size, int[" #N         \
                                   "] stride=[], int[" #N "] padding=0, int[" #N                                        \
                                   "] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)";                           \
    static constexpr auto aliases = ".out:out,indices";                                                                 \
    static constexpr uint32_t forms = form::nn | form::out;                                                             \
    static constexpr auto doc =                                                                                         \
        "The largest element of each window and its flat position within its plane. self: (N, C, *spatial) or (C, "     \
        "*spatial), any integer or floating type but bool; NaN wins. Padding counts as smaller than everything; it is "  \
        "at most half of a window. The spatial size is floor((L + 2 padding - dilation (kernel_size - 1) - 1) / "        \
        "stride) + 1, with ceil for floor in ceil_mode, where windows that start in the right padding are dropped.";    \
    template <class T> static std::array<T, 2> meta(const T& x, Ints k, Ints s, Ints p, Ints d, bool ceil_mode) {       \
      const typename T::Sizes out = pool::window_sizes("max_pool" #N "d", x, N, k, s, p, d, ceil_mode);                 \
      return {MAKE_INDICES(x.options()), MAKE_INDICES((Options{DType::i64, x.device()}))};                              \
    }                                                                                                                   \
    static Tensor d(grad<0> g, in<0> x, arg<1, Ints> k, arg<2, Ints> s, arg<3, Ints> p, arg<4, Ints> dil,               \
                    arg<5, bool> c, result<1> indices) {                                                                \
      return op<"max_pool" #N "d_with_indices_backward">(*g, *x, *k, *s, *p, *dil, *c, *indices);                        \
    }                                                                                                                   \
    using vjp = rules<wrt<0, d>>;                                                                                       \
  };                                                                                                                    \
  FB_CARD(max_pool##N##d_with_indices)                                                                                  \
  struct max_pool##N##d : composite<max_pool##N##d> {                                                                   \
    static constexpr auto schema = "max_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int["  \
                                   #N "] padding=0, int[" #N "] dilation=1, bool ceil_mode=False) -> Tensor";           \
    static constexpr uint32_t forms = form::fn;                                                                         \
    static constexpr auto doc = "The first result of max_pool" #N "d_with_indices.";                                    \
    static Tensor body(const Tensor& x, Ints k, Ints s, Ints p, Ints d, bool c) {                                       \
      return ops<"max_pool" #N "d_with_indices", 2>(x, k, s, p, d, c)[0];                                               \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(max_pool##N##d)
#define FB_LIKE_2D(o) T::empty_format(out, o, x.suggested_format())
#define FB_LIKE_3D(o) pool::make_3d(out, x, o)
FB_MAX_POOL(2, pool::make(x.sizes(), x), FB_LIKE_2D)
FB_MAX_POOL(3, pool::make_3d(x.sizes(), x, x.options()), FB_LIKE_3D)
#undef FB_LIKE_2D
#undef FB_LIKE_3D
#undef FB_MAX_POOL

struct max_pool1d_with_indices : composite<max_pool1d_with_indices> {
  static constexpr auto schema = "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], "
                                 "int[1] dilation=[1], bool ceil_mode=False) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc =
      "The largest element of each window and its position. self: (N, C, L) or (C, L); see max_pool2d_with_indices, "
      "whose planes of height 1 it computes on.";
  static std::array<Tensor, 2> body(const Tensor& x, Ints k, Ints s, Ints p, Ints d, bool ceil_mode) {
    const char* name = "max_pool1d";
    pool::check_signals(name, x);
    auto [y, i] = ops<"max_pool2d_with_indices", 2>(
        op<"unsqueeze">(x, int64_t(-2)), pool::beside(name, "kernel_size", k, 1), pool::stride_beside(name, s, k),
        pool::beside(name, "padding", p, 0), pool::beside(name, "dilation", d, 1), ceil_mode);
    return {op<"squeeze.dim">(y, int64_t(-2)), op<"squeeze.dim">(i, int64_t(-2))};
  }
};
FB_CARD(max_pool1d_with_indices)

struct max_pool1d : composite<max_pool1d> {
  static constexpr auto schema =
      "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool "
      "ceil_mode=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = "The first result of max_pool1d_with_indices, of floating types.";
  static Tensor body(const Tensor& x, Ints k, Ints s, Ints p, Ints d, bool ceil_mode) {
    if (!x.is_floating()) raise_not_implemented("max_pool1d is not implemented for type ", x.dtype());
    return ops<"max_pool1d_with_indices", 2>(x, k, s, p, d, ceil_mode)[0];
  }
};
FB_CARD(max_pool1d)

}  // namespace fb::cards
