// Pooling to a given size: window o of O over L elements is [floor(o L / O), ceil((o + 1) L / O)).
#pragma once
#include "ops/pool/windows.h"

namespace fb::cards {

#define FB_ADAPTIVE(N, MAKE, CHANNELS)                                                                                  \
  struct adaptive_avg_pool##N##d_backward : structured<adaptive_avg_pool##N##d_backward, symbolic> {                    \
    static constexpr auto schema = "_adaptive_avg_pool" #N "d_backward(Tensor grad_output, Tensor self) -> Tensor";      \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    template <class T> static T meta(const T& g, const T& x) {                                                          \
      pool::check_input("adaptive_avg_pool" #N "d_backward", g, N, false);                                              \
      pool::check_backward("adaptive_avg_pool" #N "d_backward", g, x, N);                                               \
      const typename T::Sizes out(x.sizes());                                                                           \
      return MAKE(x.options());                                                                                         \
    }                                                                                                                   \
    static Tensor d(grad<0> gg, shape_of<0> out) {                                                                      \
      return op<"_adaptive_avg_pool" #N "d">(*gg, out.sizes().slice(out.sizes().n - N, N));                              \
    }                                                                                                                   \
    using vjp = rules<wrt<0, d>, wrt_zero<1, zero_slope>>;                                                                   \
  };                                                                                                                    \
  FB_CARD(adaptive_avg_pool##N##d_backward)                                                                             \
  struct adaptive_avg_pool##N##d_primitive : structured<adaptive_avg_pool##N##d_primitive, symbolic> {                  \
    static constexpr auto schema = "_adaptive_avg_pool" #N "d(Tensor self, int[" #N "] output_size) -> Tensor";          \
    static constexpr uint32_t forms = form::hidden | form::out;                                                         \
    template <class T> static T meta(const T& x, Ints o) {                                                              \
      const typename T::Sizes out = pool::adaptive_sizes("adaptive_avg_pool" #N "d", x, N, o, CHANNELS);                \
      return MAKE(x.options());                                                                                         \
    }                                                                                                                   \
    static Tensor d(grad<0> g, in<0> x) { return op<"_adaptive_avg_pool" #N "d_backward">(*g, *x); }                     \
    using vjp = rules<wrt<0, d>>;                                                                                       \
  };                                                                                                                    \
  FB_CARD(adaptive_avg_pool##N##d_primitive)                                                                            \
  struct adaptive_avg_pool##N##d : composite<adaptive_avg_pool##N##d> {                                                 \
    static constexpr auto schema = "adaptive_avg_pool" #N "d(Tensor self, int[" #N "] output_size) -> Tensor";           \
    static constexpr uint32_t forms = form::nn | form::out;                                                             \
    static constexpr auto doc =                                                                                         \
        "The means of output_size windows that cover the input. self: (N, C, *spatial) or (C, *spatial), floating. "    \
        "To size 1 this is the mean over the spatial dimensions.";                                                      \
    static Tensor body(const Tensor& x, Ints o) {                                                                       \
      const Dims sizes = pool::exact("adaptive_avg_pool" #N "d", "output_size", o, N);                                  \
      bool ones = true;                                                                                                 \
      for (int64_t v : sizes) ones = ones && v == 1;                                                                    \
      return ones ? pool::mean_plane(x, N) : op<"_adaptive_avg_pool" #N "d">(x, sizes);                                  \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(adaptive_avg_pool##N##d)                                                                                      \
  struct adaptive_max_pool##N##d_backward : structured<adaptive_max_pool##N##d_backward, symbolic> {                    \
    static constexpr auto schema =                                                                                      \
        "adaptive_max_pool" #N "d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor";                  \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    template <class T> static T meta(const T& g, const T& x, const T& i) {                                              \
      pool::check_backward("adaptive_max_pool" #N "d_backward", g, x, N, &i);                                           \
      const typename T::Sizes out(x.sizes());                                                                           \
      return MAKE(x.options());                                                                                         \
    }                                                                                                                   \
    static Tensor d(grad<0> gg, in<2> indices, shape_of<0> out) { return pool::pick(*gg, *indices, out.sizes(), N); }   \
    using vjp = rules<wrt<0, d>, wrt_zero<1, zero_slope>>;                                                                   \
  };                                                                                                                    \
  FB_CARD(adaptive_max_pool##N##d_backward)                                                                             \
  struct adaptive_max_pool##N##d : structured<adaptive_max_pool##N##d, symbolic> {                                      \
    static constexpr auto schema = "adaptive_max_pool" #N "d(Tensor self, int[" #N "] output_size) -> (Tensor, Tensor)"; \
    static constexpr auto aliases = ".out:out,indices";                                                                 \
    static constexpr uint32_t forms = form::nn | form::out;                                                             \
    static constexpr auto doc =                                                                                         \
        "The maxima of output_size windows that cover the input, and their flat positions. self: (N, C, *spatial) or "   \
        "(C, *spatial), floating.";                                                                                     \
    template <class T> static std::array<T, 2> meta(const T& x, Ints o) {                                               \
      const typename T::Sizes out = pool::adaptive_sizes("adaptive_max_pool" #N "d", x, N, o);                          \
      return {MAKE(x.options()), MAKE((Options{DType::i64, x.device()}))};                                              \
    }                                                                                                                   \
    static Tensor d(grad<0> g, in<0> x, result<1> indices) {                                                            \
      return op<"adaptive_max_pool" #N "d_backward">(*g, *x, *indices);                                                  \
    }                                                                                                                   \
    using vjp = rules<wrt<0, d>>;                                                                                       \
  };                                                                                                                    \
  FB_CARD(adaptive_max_pool##N##d)

namespace pool {
inline Tensor mean_plane(const Tensor& x, int64_t nd) {
  Dims dims;
  for (int64_t i = 1; i <= nd; ++i) dims.push_back(-i);
  const Tensor y = op<"mean.dim">(x, dims, true);
  // Sizes of one leave the format open; layers after this one are to see the input's.
  if (x.suggested_format() == MemoryFormat::channels_last && y.is_non_overlapping_and_dense()) {
    y->strides = channels_last_strides(y.sizes());
    y->refresh();
  }
  return y;
}
}  // namespace pool

#define FB_LIKE_2D(o) T::empty_format(out, o, x.suggested_format())
#define FB_LIKE_3D(o) T::empty(out, o)
FB_ADAPTIVE(2, FB_LIKE_2D, false)
FB_ADAPTIVE(3, FB_LIKE_3D, true)
#undef FB_LIKE_2D
#undef FB_LIKE_3D
#undef FB_ADAPTIVE

struct adaptive_avg_pool1d : composite<adaptive_avg_pool1d> {
  static constexpr auto schema = "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = "The means of output_size windows that cover the input. self: (N, C, L) or (C, L), floating.";
  static Tensor body(const Tensor& x, Ints o) {
    const char* name = "adaptive_avg_pool1d";
    pool::check_signals(name, x);
    const Tensor y = op<"adaptive_avg_pool2d">(op<"unsqueeze">(x, int64_t(-2)), pool::beside(name, "output_size", o, 1));
    return op<"squeeze.dim">(y, int64_t(-2));
  }
};
FB_CARD(adaptive_avg_pool1d)

struct adaptive_max_pool1d : composite<adaptive_max_pool1d> {
  static constexpr auto schema = "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc =
      "The maxima of output_size windows that cover the input, and their positions. self: (N, C, L) or (C, L), floating.";
  static std::array<Tensor, 2> body(const Tensor& x, Ints o) {
    const char* name = "adaptive_max_pool1d";
    pool::check_signals(name, x);
    auto [y, i] = ops<"adaptive_max_pool2d", 2>(op<"unsqueeze">(x, int64_t(-2)), pool::beside(name, "output_size", o, 1));
    return {op<"squeeze.dim">(y, int64_t(-2)), op<"squeeze.dim">(i, int64_t(-2))};
  }
};
FB_CARD(adaptive_max_pool1d)

}  // namespace fb::cards
