// Maxima of windows placed at random (B. Graham, Fractional Max-Pooling, 2014).
#pragma once
#include "ops/pool/windows.h"

namespace fb::cards {

namespace pool {
template <class T> Dims fractional_sizes(const char* name, const T& x, int64_t nd, Ints kernel, Ints output, const T& samples) {
  check_input(name, x, nd);
  const Dims k = exact(name, "kernel_size", kernel, nd), o = exact(name, "output_size", output, nd);
  FB_CHECK(samples.dtype() == x.dtype(), name, ": random_samples must be of self's type ", x.dtype(), ", got ", samples.dtype());
  const int64_t batch = x.ndim() == nd + 2 ? x.sizes()[0] : 1, channels = x.sizes()[x.ndim() - nd - 1];
  FB_CHECK(samples.ndim() == 3 && samples.sizes()[0] >= batch && samples.sizes()[1] == channels && samples.sizes()[2] == nd, name,
           ": random_samples must have shape [", batch, ", ", channels, ", ", nd, "] for an input of shape ", x.sizes(), ", got ",
           samples.sizes());
  Dims out(x.sizes().slice(0, x.ndim() - nd));
  for (int64_t i = 0; i < nd; ++i) {
    const int64_t in = x.sizes()[x.ndim() - nd + i];
    FB_CHECK(k[i] > 0, name, ": kernel_size must be greater than zero, got ", k);
    FB_CHECK(o[i] >= 0, name, ": output_size must not be negative, got ", o);
    FB_CHECK(o[i] + k[i] - 1 <= in, name, ": ", o[i], " windows of size ", k[i], " do not fit in spatial dimension ", i,
             " of an input of shape ", x.sizes());
    out.push_back(o[i]);
  }
  return out;
}
}  // namespace pool

#define FB_FRACTIONAL(N)                                                                                                \
  struct fractional_max_pool##N##d_backward : structured<fractional_max_pool##N##d_backward> {                          \
    static constexpr auto schema = "fractional_max_pool" #N "d_backward(Tensor grad_output, Tensor self, int[" #N       \
                                   "] kernel_size, int[" #N "] output_size, Tensor indices) -> Tensor";                 \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    template <class T> static T meta(const T& g, const T& x, Ints, Ints, const T& i) {                                  \
      pool::check_backward("fractional_max_pool" #N "d_backward", g, x, N, &i);                                         \
      return T::empty(x.sizes(), x.options());                                                                          \
    }                                                                                                                   \
    static Tensor d(grad<0> gg, in<4> indices, shape_of<0> out) { return pool::pick(*gg, *indices, out.sizes(), N); }   \
    using vjp = rules<wrt<0, d>, wrt_zero<1, zero_slope>>;                                                                   \
  };                                                                                                                    \
  FB_CARD(fractional_max_pool##N##d_backward)                                                                           \
  struct fractional_max_pool##N##d : structured<fractional_max_pool##N##d> {                                            \
    static constexpr auto schema = "fractional_max_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N           \
                                   "] output_size, Tensor random_samples) -> (Tensor, Tensor)";                         \
    static constexpr auto aliases = ".output:output,indices";                                                           \
    static constexpr uint32_t forms = form::nn | form::out;                                                             \
    static constexpr auto doc =                                                                                         \
        "The maxima of output_size windows of kernel_size elements, and their flat positions. self: (N, C, *spatial) "  \
        "or (C, *spatial), floating. random_samples: (N, C, " #N ") of self's type, in [0, 1): with a = (L - "          \
        "kernel_size) / (output_size - 1), window i starts at floor((i + u) a) - floor(u a), the last one at L - "      \
        "kernel_size.";                                                                                                 \
    template <class T> static std::array<T, 2> meta(const T& x, Ints k, Ints o, const T& samples) {                     \
      const Dims out = pool::fractional_sizes("fractional_max_pool" #N "d", x, N, k, o, samples);                       \
      return {T::empty(out, x.options()), T::empty(out, {DType::i64, x.device()})};                                     \
    }                                                                                                                   \
    static Tensor d(grad<0> g, in<0> x, arg<1, Ints> k, arg<2, Ints> o, result<1> indices) {                            \
      return op<"fractional_max_pool" #N "d_backward">(*g, *x, *k, *o, *indices);                                        \
    }                                                                                                                   \
    using vjp = rules<wrt<0, d>>;                                                                                       \
  };                                                                                                                    \
  FB_CARD(fractional_max_pool##N##d)
FB_FRACTIONAL(2)
FB_FRACTIONAL(3)
#undef FB_FRACTIONAL

}  // namespace fb::cards
