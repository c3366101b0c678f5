// The mean of each window.
#pragma once
#include "ops/pool/windows.h"

namespace fb::cards {

#define FB_AVG_POOL(N, MAKE)                                                                                            \
  struct avg_pool##N##d_backward : structured<avg_pool##N##d_backward, symbolic> {                                      \
    static constexpr auto schema = "avg_pool" #N "d_backward(Tensor grad_output, Tensor self, int[" #N                  \
                                   "] kernel_size, int[" #N "] stride, int[" #N                                         \
                                   "] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor"; \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    template <class T> static T meta(const T& g, const T& x, Ints k, Ints s, Ints p, bool c, bool, std::optional<int64_t> div) { \
      FB_CHECK(!div || *div != 0, "avg_pool" #N "d_backward: divisor_override must not be 0");                       \
      const typename T::Sizes of = pool::window_sizes("avg_pool" #N "d_backward", x, N, k, s, p, Ints{1}, c);           \
      FB_CHECK(g.sizes() == of, "avg_pool" #N "d_backward: grad_output has shape ", g.sizes(), ", the windows make ", of); \
      pool::check_backward("avg_pool" #N "d_backward", g, x, N);                                                        \
      const typename T::Sizes out(x.sizes());                                                                           \
      return MAKE;                                                                                                      \
    }                                                                                                                   \
    static Tensor d(grad<0> gg, arg<2, Ints> k, arg<3, Ints> s, arg<4, Ints> p, arg<5, bool> c, arg<6, bool> inc,       \
                    arg<7, std::optional<int64_t>> div) {                                                               \
      return op<"avg_pool" #N "d">(*gg, *k, *s, *p, *c, *inc, *div);                                                     \
    }                                                                                                                   \
    using vjp = rules<wrt<0, d>, wrt_zero<1, zero_slope>>;                                                                   \
  };                                                                                                                    \
  FB_CARD(avg_pool##N##d_backward)                                                                                      \
  struct avg_pool##N##d : structured<avg_pool##N##d, symbolic> {                                                        \
    static constexpr auto schema = "avg_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int["  \
                                   #N "] padding=0, bool ceil_mode=False, bool count_include_pad=True, int? "           \
                                   "divisor_override=None) -> Tensor";                                                  \
    static constexpr uint32_t forms = form::nn | form::out;                                                             \
    static constexpr auto doc =                                                                                         \
        "The mean of each window: its sum over the number of its elements, of those within the input where "            \
        "count_include_pad is false, or over divisor_override. self: (N, C, *spatial) or (C, *spatial), floating or "    \
        "int64. Sizes are those of max_pool" #N "d.";                                                                   \
    template <class T> static T meta(const T& x, Ints k, Ints s, Ints p, bool c, bool, std::optional<int64_t> div) {    \
      FB_CHECK(!div || *div != 0, "avg_pool" #N "d: divisor_override must not be 0");                                \
      const typename T::Sizes out = pool::window_sizes("avg_pool" #N "d", x, N, k, s, p, Ints{1}, c);                   \
      return MAKE;                                                                                                      \
    }                                                                                                                   \
    static Tensor d(grad<0> g, in<0> x, arg<1, Ints> k, arg<2, Ints> s, arg<3, Ints> p, arg<4, bool> c,                 \
                    arg<5, bool> inc, arg<6, std::optional<int64_t>> div) {                                             \
      return op<"avg_pool" #N "d_backward">(*g, *x, *k, *s, *p, *c, *inc, *div);                                         \
    }                                                                                                                   \
    using vjp = rules<wrt<0, d>>;                                                                                       \
  };                                                                                                                    \
  FB_CARD(avg_pool##N##d)
FB_AVG_POOL(2, pool::make(out, x))
FB_AVG_POOL(3, T::empty(out, x.options()))
#undef FB_AVG_POOL

struct avg_pool1d : composite<avg_pool1d> {
  static constexpr auto schema =
      "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool "
      "count_include_pad=True) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = "The mean of each window. self: (N, C, L) or (C, L); see avg_pool2d, whose planes of height 1 it computes on.";
  static Tensor body(const Tensor& x, Ints k, Ints s, Ints p, bool ceil_mode, bool include) {
    const char* name = "avg_pool1d";
    pool::check_signals(name, x);
    const Tensor y = op<"avg_pool2d">(op<"unsqueeze">(x, int64_t(-2)), pool::beside(name, "kernel_size", k, 1),
                                      pool::stride_beside(name, s, k), pool::beside(name, "padding", p, 0), ceil_mode,
                                      include, std::optional<int64_t>());
    return op<"squeeze.dim">(y, int64_t(-2));
  }
};
FB_CARD(avg_pool1d)

}  // namespace fb::cards
