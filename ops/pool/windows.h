// Pooling over windows of one to three dimensions: maxima with their places, averages, and the adaptive kinds.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace pool {

inline Dims full(const char* name, const char* arg, Ints v, int64_t nd) {
  FB_CHECK(v.n == 1 || v.n == nd, name, ": ", arg, " must be one int or ", nd, " ints, got ", v);
  Dims d(v);
  while (d.size() < nd) d.push_back(v[0]);
  return d;
}

template <class T> void check_input(const char* name, const T& x, int64_t nd) {
  bool ok = x.ndim() == nd + 1 || x.ndim() == nd + 2;
  for (int64_t i = x.ndim() == nd + 2 ? 1 : 0; ok && i < x.ndim(); ++i) ok = x.sizes()[i] > 0;
  FB_CHECK(ok, name, ": expected an input of ", nd + 1, " or ", nd + 2, " dimensions, not empty but for the batch, got shape ", x.sizes());
}

// Spatial sizes after windows of this kind, with everything that may be wrong checked.
template <class T>
Dims window_sizes(const char* name, const T& x, int64_t nd, Ints kernel0, Ints stride0, Ints padding0, Ints dilation0, bool ceil_mode) {
  check_input(name, x, nd);
  const Dims k = full(name, "kernel_size", kernel0, nd), s = stride0.n ? full(name, "stride", stride0, nd) : k, p = full(name, "padding", padding0, nd),
             dil = full(name, "dilation", dilation0, nd);
  Dims out(x.sizes().slice(0, x.ndim() - nd));
  for (int64_t i = 0; i < nd; ++i) {
    const int64_t in = x.sizes()[x.ndim() - nd + i];
    FB_CHECK(k[i] > 0, name, ": kernel_size must be greater than zero, got ", k);
    FB_CHECK(s[i] > 0, name, ": stride must be greater than zero, got ", s);
    FB_CHECK(dil[i] > 0, name, ": dilation must be greater than zero, got ", dil);
    FB_CHECK(p[i] >= 0, name, ": padding must not be negative, got ", p);
    FB_CHECK(p[i] <= ((k[i] - 1) * dil[i] + 1) / 2, name, ": padding must be at most half of the (dilated) kernel size, got padding ", p, " and kernel_size ", k);
    const int64_t room = in + 2 * p[i] - dil[i] * (k[i] - 1) - 1 + (ceil_mode ? s[i] - 1 : 0);
    int64_t o = (room >= 0 ? room / s[i] : -((-room + s[i] - 1) / s[i])) + 1;
    if (ceil_mode && (o - 1) * s[i] >= in + p[i]) --o;
    FB_CHECK(o >= 1, name, ": the output would have size ", o, " in spatial dimension ", i, " for an input of shape ", x.sizes(), ", kernel_size ", k, ", stride ", s,
             ", padding ", p);
    out.push_back(o);
  }
  return out;
}

template <class T> T make(Ints sizes, const T& x) {
  const MemoryFormat f = x.suggested_format();
  return T::empty_format(sizes, x.options(), sizes.n == x.ndim() ? f : MemoryFormat::contiguous);
}
template <class T> T make_indices(Ints sizes, const T& x) {
  return T::empty_format(sizes, {DType::i64, x.device()}, x.suggested_format());
}

}  // namespace pool

#define FB_MAX_POOL(N)                                                                                                                                      \
  struct max_pool##N##d_with_indices_backward : structured<max_pool##N##d_with_indices_backward> {                                                          \
    static constexpr auto schema = "max_pool" #N "d_with_indices_backward(Tensor grad_output, Tensor self, int[" #N "] kernel_size, int[" #N "] stride, int[" #N \
                                   "] padding, int[" #N "] dilation, bool ceil_mode, Tensor indices) -> Tensor";                                            \
    static constexpr uint32_t forms = form::hidden;                                                                                                         \
    template <class T> static T meta(const T& g, const T& x, Ints, Ints, Ints, Ints, bool, const T&) { return pool::make(x.sizes(), x); }                   \
    static Tensor d(grad<0> gg, in<7> indices, shape_of<0> out) {                                                                                           \
      const int64_t nd = N, lead = gg->ndim() - nd;                                                                                                         \
      Dims flat(gg->sizes().slice(0, lead)), flat_out = flat;                                                                                               \
      flat.push_back(numel_of(gg->sizes().slice(lead, nd)));                                                                                                \
      flat_out.push_back(numel_of(out.sizes().slice(lead, nd)));                                                                                            \
      return op<"reshape">(op<"gather">(op<"reshape">(*gg, flat), int64_t(-1), op<"reshape">(*indices, flat_out)), out.sizes());                            \
    }                                                                                                                                                       \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(max_pool##N##d_with_indices_backward)                                                                                                             \
  struct max_pool##N##d_with_indices : structured<max_pool##N##d_with_indices> {                                                                            \
    static constexpr auto schema = "max_pool" #N "d_with_indices(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N "] padding=0, int[" #N  \
                                   "] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)";                                                               \
    static constexpr uint32_t forms = N == 1 ? form::fn : form::nn;                                                                                         \
    template <class T> static std::array<T, 2> meta(const T& x, Ints k, Ints s, Ints p, Ints d, bool ceil_mode) {                                           \
      const Dims out = pool::window_sizes("max_pool" #N "d", x, N, k, s, p, d, ceil_mode);                                                                  \
      return {pool::make(out, x), pool::make_indices(out, x)};                                                                                              \
    }                                                                                                                                                       \
    static Tensor d(grad<0> g, in<0> x, arg<1, Ints> k, arg<2, Ints> s, arg<3, Ints> p, arg<4, Ints> dil, arg<5, bool> c, result<1> indices) {              \
      return op<"max_pool" #N "d_with_indices_backward">(*g, *x, *k, *s, *p, *dil, *c, *indices);                                                            \
    }                                                                                                                                                       \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(max_pool##N##d_with_indices)                                                                                                                      \
  struct max_pool##N##d : composite<max_pool##N##d> {                                                                                                       \
    static constexpr auto schema = "max_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N "] padding=0, int[" #N "] dilation=1, " \
                                   "bool ceil_mode=False) -> Tensor";                                                                                       \
    static constexpr uint32_t forms = form::fn;                                                                                                             \
    static Tensor body(const Tensor& x, Ints k, Ints s, Ints p, Ints d, bool c) { return ops<"max_pool" #N "d_with_indices", 2>(x, k, s, p, d, c)[0]; }     \
  };                                                                                                                                                        \
  FB_CARD(max_pool##N##d)
FB_MAX_POOL(1)
FB_MAX_POOL(2)
FB_MAX_POOL(3)
#undef FB_MAX_POOL

#define FB_AVG_POOL(N, FORM, DIVISOR, ...)                                                                                                                  \
  struct avg_pool##N##d_backward : structured<avg_pool##N##d_backward> {                                                                                    \
    static constexpr auto schema = "avg_pool" #N "d_backward(Tensor grad_output, Tensor self, int[" #N "] kernel_size, int[" #N "] stride, int[" #N            \
                                   "] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor";                                   \
    static constexpr uint32_t forms = form::hidden;                                                                                                         \
    template <class T> static T meta(const T& g, const T& x, Ints, Ints, Ints, bool, bool, std::optional<int64_t>) { return pool::make(x.sizes(), x); }     \
    static Tensor d(grad<0> gg, arg<2, Ints> k, arg<3, Ints> s, arg<4, Ints> p, arg<5, bool> c, arg<6, bool> inc, arg<7, std::optional<int64_t>> div) {     \
      return op<"_avg_pool" #N "d">(*gg, *k, *s, *p, *c, *inc, *div);                                                                                        \
    }                                                                                                                                                       \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(avg_pool##N##d_backward)                                                                                                                          \
  struct avg_pool##N##d_primitive : structured<avg_pool##N##d_primitive> {                                                                                  \
    static constexpr auto schema = "_avg_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride, int[" #N "] padding, bool ceil_mode, "          \
                                   "bool count_include_pad, int? divisor_override) -> Tensor";                                                              \
    static constexpr uint32_t forms = form::hidden;                                                                                                         \
    static constexpr auto grad_name = "AvgPool" #N "DBackward0";                                                                                             \
    template <class T> static T meta(const T& x, Ints k, Ints s, Ints p, bool c, bool, std::optional<int64_t> div) {                                        \
      FB_CHECK(!div || *div != 0, "avg_pool" #N "d: divisor_override must not be zero");                                                                    \
      return pool::make(pool::window_sizes("avg_pool" #N "d", x, N, k, s, p, Ints{1}, c), x);                                                               \
    }                                                                                                                                                       \
    static Tensor d(grad<0> g, in<0> x, arg<1, Ints> k, arg<2, Ints> s, arg<3, Ints> p, arg<4, bool> c, arg<5, bool> inc,                                   \
                    arg<6, std::optional<int64_t>> div) {                                                                                                   \
      return op<"avg_pool" #N "d_backward">(*g, *x, *k, *s, *p, *c, *inc, *div);                                                                             \
    }                                                                                                                                                       \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(avg_pool##N##d_primitive)                                                                                                                         \
  struct avg_pool##N##d : composite<avg_pool##N##d> {                                                                                                       \
    static constexpr auto schema = "avg_pool" #N "d(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N "] padding=0, bool ceil_mode=False, " \
                                   "bool count_include_pad=True" DIVISOR ") -> Tensor";                                                                     \
    static constexpr uint32_t forms = FORM;                                                                                                                 \
    static Tensor body(const Tensor& x, Ints k, Ints s, Ints p, bool c, bool inc __VA_OPT__(, ) __VA_ARGS__);                                               \
  };                                                                                                                                                        \
  FB_CARD(avg_pool##N##d)
FB_AVG_POOL(1, form::fn, "")
FB_AVG_POOL(2, form::nn, ", int? divisor_override=None", std::optional<int64_t> divisor)
FB_AVG_POOL(3, form::nn, ", int? divisor_override=None", std::optional<int64_t> divisor)
#undef FB_AVG_POOL
inline Tensor avg_pool1d::body(const Tensor& x, Ints k, Ints s, Ints p, bool c, bool inc) { return op<"_avg_pool1d">(x, k, s, p, c, inc, std::optional<int64_t>()); }
inline Tensor avg_pool2d::body(const Tensor& x, Ints k, Ints s, Ints p, bool c, bool inc, std::optional<int64_t> d) { return op<"_avg_pool2d">(x, k, s, p, c, inc, d); }
inline Tensor avg_pool3d::body(const Tensor& x, Ints k, Ints s, Ints p, bool c, bool inc, std::optional<int64_t> d) { return op<"_avg_pool3d">(x, k, s, p, c, inc, d); }

namespace pool {
template <class T> Dims adaptive_sizes(const char* name, const T& x, int64_t nd, Ints out) {
  FB_CHECK(x.ndim() == nd + 1 || x.ndim() == nd + 2, name, ": expected an input of ", nd + 1, " or ", nd + 2, " dimensions, got shape ", x.sizes());
  for (int64_t i = x.ndim() == nd + 2 ? 1 : 0; i < x.ndim(); ++i)
    FB_CHECK(x.sizes()[i] > 0, name, ": the input must not be empty but for the batch, got shape ", x.sizes());
  const Dims o = full(name, "output_size", out, nd);
  Dims sizes(x.sizes().slice(0, x.ndim() - nd));
  for (int64_t v : o) {
    FB_CHECK(v >= 0, name, ": output_size must not be negative, got ", o);
    sizes.push_back(v);
  }
  return sizes;
}
}  // namespace pool

#define FB_ADAPTIVE(N)                                                                                                                                      \
  struct adaptive_avg_pool##N##d_backward : structured<adaptive_avg_pool##N##d_backward> {                                                                  \
    static constexpr auto schema = "_adaptive_avg_pool" #N "d_backward(Tensor grad_output, Tensor self) -> Tensor";                                           \
    static constexpr uint32_t forms = form::hidden;                                                                                                         \
    template <class T> static T meta(const T& g, const T& x) { return pool::make(x.sizes(), x); }                                                           \
    static Tensor d(grad<0> gg, shape_of<0> out) { return op<"_adaptive_avg_pool" #N "d">(*gg, out.sizes().slice(out.sizes().n - N, N)); }                   \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(adaptive_avg_pool##N##d_backward)                                                                                                                 \
  struct adaptive_avg_pool##N##d_primitive : structured<adaptive_avg_pool##N##d_primitive> {                                                                \
    static constexpr auto schema = "_adaptive_avg_pool" #N "d(Tensor self, int[" #N "] output_size) -> Tensor";                                               \
    static constexpr uint32_t forms = form::hidden;                                                                                                         \
    template <class T> static T meta(const T& x, Ints o) { return pool::make(pool::adaptive_sizes("adaptive_avg_pool" #N "d", x, N, o), x); }               \
    static Tensor d(grad<0> g, in<0> x) { return op<"_adaptive_avg_pool" #N "d_backward">(*g, *x); }                                                         \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(adaptive_avg_pool##N##d_primitive)                                                                                                                \
  struct adaptive_avg_pool##N##d : composite<adaptive_avg_pool##N##d> {                                                                                     \
    static constexpr auto schema = "adaptive_avg_pool" #N "d(Tensor self, int[" #N "] output_size) -> Tensor";                                                \
    static constexpr uint32_t forms = N == 1 ? form::fn : form::nn;                                                                                         \
    static Tensor body(const Tensor& x, Ints o) {                                                                                                           \
      const Dims sizes = pool::adaptive_sizes("adaptive_avg_pool" #N "d", x, N, o);                                                                          \
      bool ones = N == 2;                                                                                                                                   \
      for (int64_t i = sizes.size() - N; i < sizes.size(); ++i) ones = ones && sizes[i] == 1;                                                               \
      if (ones && !is_integral(x.dtype(), true)) return op<"mean.dim">(x, Ints{-1, -2}, true);                                                               \
      return op<"_adaptive_avg_pool" #N "d">(x, o);                                                                                                          \
    }                                                                                                                                                       \
  };                                                                                                                                                        \
  FB_CARD(adaptive_avg_pool##N##d)                                                                                                                          \
  struct adaptive_max_pool##N##d_backward : structured<adaptive_max_pool##N##d_backward> {                                                                  \
    static constexpr auto schema = "adaptive_max_pool" #N "d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor";                            \
    static constexpr uint32_t forms = form::hidden;                                                                                                         \
    template <class T> static T meta(const T& g, const T& x, const T&) { return pool::make(x.sizes(), x); }                                                 \
  };                                                                                                                                                        \
  FB_CARD(adaptive_max_pool##N##d_backward)                                                                                                                 \
  struct adaptive_max_pool##N##d : structured<adaptive_max_pool##N##d> {                                                                                    \
    static constexpr auto schema = "adaptive_max_pool" #N "d(Tensor self, int[" #N "] output_size) -> (Tensor, Tensor)";                                      \
    static constexpr uint32_t forms = N == 1 ? form::fn : form::nn;                                                                                         \
    template <class T> static std::array<T, 2> meta(const T& x, Ints o) {                                                                                   \
      const Dims out = pool::adaptive_sizes("adaptive_max_pool" #N "d", x, N, o);                                                                            \
      return {pool::make(out, x), pool::make_indices(out, x)};                                                                                              \
    }                                                                                                                                                       \
    static Tensor d(grad<0> g, in<0> x, result<1> indices) { return op<"adaptive_max_pool" #N "d_backward">(*g, *x, *indices); }                             \
    using vjp = rules<wrt<0, d>>;                                                                                                                           \
  };                                                                                                                                                        \
  FB_CARD(adaptive_max_pool##N##d)
FB_ADAPTIVE(1)
FB_ADAPTIVE(2)
FB_ADAPTIVE(3)
#undef FB_ADAPTIVE

}  // namespace fb::cards
