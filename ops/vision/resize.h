// Changing the spatial size of (N, C, *spatial): every kind is a weighted sum along each axis in turn, whose gradient is
// the same sum transposed.
#pragma once
#include <cmath>
#include <utility>

#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace resize {

template <class T> typename T::Sizes sizes(const char* name, const T& x, int64_t nd, Span<typename T::Int> out) {
  FB_CHECK(out.n == nd, name, ": output_size must be ", nd, " ints, got ", out);
  FB_CHECK(x.ndim() == nd + 2, name, ": expected an input of ", nd + 2, " dimensions, got shape ", x.sizes());
  typename T::Sizes r(x.sizes().slice(0, 2));
  for (int64_t i = 0; i < nd; ++i) {
    FB_CHECK(out[i] > 0 && x.sizes()[i + 2] > 0, name, ": spatial sizes must be greater than zero, got input ", x.sizes(),
             " and output_size ", out);
    r.push_back(out[i]);
  }
  FB_CHECK(x.sizes()[1] > 0, name, ": the input must not be empty but for the batch, got shape ", x.sizes());
  return r;
}

inline Dims scaled(const char* name, const Tensor& x, int64_t nd, std::optional<Ints> size, std::optional<Span<double>> scales) {
  FB_CHECK(bool(size) != bool(scales), name, ": exactly one of output_size and scale_factors must be given");
  if (size) return Dims(*size);
  FB_CHECK(x.ndim() == nd + 2 && scales->n == nd, name, ": expected an input of ", nd + 2, " dimensions and ", nd,
           " scale_factors, got shape ", x.sizes(), " and ", scales->n, " factors");
  Dims r;
  for (int64_t i = 0; i < nd; ++i) {
    const double s = double(x.sizes()[i + 2]) * scales->p[i];
    FB_CHECK(s >= 0 && s < 9e18, name, ": scale factor ", scales->p[i], " makes no size of ", x.sizes()[i + 2]);
    r.push_back(int64_t(s));
  }
  return r;
}
inline std::optional<double> factor(std::optional<Span<double>> scales, int64_t i) {
  return scales && i < scales->n ? std::optional<double>(scales->p[i]) : std::nullopt;
}

// The numbers after output_size (and input_size): align_corners where the kind knows it, and the scales.
template <FixedString Name, int ND, class... A> struct Forward {
  template <class T> static T meta(const T& x, Span<typename T::Int> o, A...) {
    return T::empty_format(sizes(Name.s, x, ND, o), x.options(), x.suggested_format());
  }
};
template <FixedString Name, int ND, class... A> struct Backward {
  template <class T> static T meta(const T& g, Span<typename T::Int> o, Span<typename T::Int> in, A...) {
    FB_CHECK(in.n == ND + 2, Name.s, ": input_size must be ", ND + 2, " ints, got ", in);
    bool ok = g.ndim() == ND + 2 && o.n == ND && g.sizes()[0] == in[0] && g.sizes()[1] == in[1];
    for (int i = 0; ok && i < ND; ++i) ok = g.sizes()[i + 2] == o[i] && o[i] > 0 && in[i + 2] > 0;
    FB_CHECK(ok, Name.s, ": grad_output has shape ", g.sizes(), ", for input_size ", in, " and output_size ", o);
    return T::empty_format(in, g.options(), g.suggested_format());
  }
};
template <class Seq, class... A> struct Rule;
template <size_t... I, class... A> struct Rule<std::index_sequence<I...>, A...> {
  template <FixedString Back> static Tensor d(grad<0> g, shape_of<0> x, arg<1, Ints> o, arg<int(I) + 2, A>... a) {
    return op<Back>(*g, *o, x.sizes(), *a...);
  }
  template <FixedString Name> static Tensor dd(grad<0> gg, arg<1, Ints> o, arg<int(I) + 3, A>... a) {
    return op<Name>(*gg, *o, *a...);
  }
};
template <class... A> using RuleFor = Rule<std::index_sequence_for<A...>, A...>;
using F = std::optional<double>;

}  // namespace resize

// Overloads of one packet: sizes first, then `.vec`, which F.interpolate calls.
#define FB_RESIZE(NAME, ND, IN, CORNERS, SCALES, DOC, ...)                                                              \
  struct NAME##_backward : structured<NAME##_backward, symbolic>, resize::Backward<#NAME "_backward", ND, __VA_ARGS__> { \
    static constexpr auto schema = #NAME "_backward(Tensor grad_output, int[" #ND "] output_size, int[" #IN              \
                                         "] input_size, " CORNERS SCALES ") -> Tensor";                                 \
    static constexpr uint32_t forms = form::hidden;                                                                     \
    using vjp = rules<wrt<0, resize::RuleFor<__VA_ARGS__>::dd<#NAME>>>;                                                  \
  };                                                                                                                    \
  FB_CARD(NAME##_backward)                                                                                              \
  struct NAME : structured<NAME, symbolic>, resize::Forward<#NAME, ND, __VA_ARGS__> {                                   \
    static constexpr auto schema = #NAME "(Tensor self, int[" #ND "] output_size, " CORNERS SCALES ") -> Tensor";        \
    static constexpr uint32_t forms = form::nn | form::out;                                                             \
    static constexpr auto doc = DOC;                                                                                    \
    using vjp = rules<wrt<0, resize::RuleFor<__VA_ARGS__>::d<#NAME "_backward">>>;                                       \
  };                                                                                                                    \
  FB_CARD(NAME)
#define FB_RESIZE_VEC(NAME, ND, ...)                                                                                    \
  struct NAME##_vec : composite<NAME##_vec> {                                                                           \
    static constexpr auto schema = #NAME ".vec(Tensor input, int[]? output_size, float[]? scale_factors) -> Tensor";     \
    static constexpr uint32_t forms = form::nn;                                                                         \
    static Tensor body(const Tensor& x, std::optional<Ints> o, std::optional<Span<double>> s) {                         \
      return op<#NAME>(x, resize::scaled(#NAME, x, ND, o, s), __VA_ARGS__);                                              \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(NAME##_vec)
#define FB_RESIZE_VEC_CORNERS(NAME, ND, ...)                                                                            \
  struct NAME##_vec : composite<NAME##_vec> {                                                                           \
    static constexpr auto schema =                                                                                      \
        #NAME ".vec(Tensor input, int[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor";            \
    static constexpr uint32_t forms = form::nn;                                                                         \
    static Tensor body(const Tensor& x, std::optional<Ints> o, bool corners, std::optional<Span<double>> s) {           \
      return op<#NAME>(x, resize::scaled(#NAME, x, ND, o, s), corners, __VA_ARGS__);                                     \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(NAME##_vec)
#define FB_CORNERS "bool align_corners, "
#define FB_SCALES1 "float? scales=None"
#define FB_SCALES2 "float? scales_h=None, float? scales_w=None"
#define FB_SCALES3 "float? scales_d=None, float? scales_h=None, float? scales_w=None"
#define FB_S1 resize::factor(s, 0)
#define FB_S2 resize::factor(s, 0), resize::factor(s, 1)
#define FB_S3 resize::factor(s, 0), resize::factor(s, 1), resize::factor(s, 2)

#define FB_NEAREST(NAME, WHICH)                                                                                         \
  "Each output takes the input element " WHICH " along each axis, scale being the inverse of the factor where one is "   \
  "given, else L / L_out. self: (N, C, *spatial), floating or uint8; channels_last stays."
#define FB_NEAREST_KIND(NAME, WHICH)                                                                                    \
  FB_RESIZE(NAME##1d, 1, 3, "", FB_SCALES1, FB_NEAREST(NAME, WHICH), resize::F)                                         \
  FB_RESIZE_VEC(NAME##1d, 1, FB_S1)                                                                                     \
  FB_RESIZE(NAME##2d, 2, 4, "", FB_SCALES2, FB_NEAREST(NAME, WHICH), resize::F, resize::F)                              \
  FB_RESIZE_VEC(NAME##2d, 2, FB_S2)                                                                                     \
  FB_RESIZE(NAME##3d, 3, 5, "", FB_SCALES3, FB_NEAREST(NAME, WHICH), resize::F, resize::F, resize::F)                   \
  FB_RESIZE_VEC(NAME##3d, 3, FB_S3)
FB_NEAREST_KIND(upsample_nearest, "floor(i scale)")
FB_NEAREST_KIND(_upsample_nearest_exact, "floor((i + 0.5) scale)")

#define FB_WHERE                                                                                                        \
  " Output i stands at i (L - 1) / (L_out - 1) with align_corners, else at (i + 0.5) scale - 0.5. self: (N, C, "         \
  "*spatial), floating (2-d kinds: or uint8); channels_last stays."
FB_RESIZE(upsample_linear1d, 1, 3, FB_CORNERS, FB_SCALES1, "Linear interpolation." FB_WHERE, bool, resize::F)
FB_RESIZE_VEC_CORNERS(upsample_linear1d, 1, FB_S1)
FB_RESIZE(upsample_bilinear2d, 2, 4, FB_CORNERS, FB_SCALES2, "Linear interpolation along both axes." FB_WHERE, bool, resize::F, resize::F)
FB_RESIZE_VEC_CORNERS(upsample_bilinear2d, 2, FB_S2)
FB_RESIZE(upsample_trilinear3d, 3, 5, FB_CORNERS, FB_SCALES3, "Linear interpolation along three axes." FB_WHERE, bool, resize::F, resize::F, resize::F)
FB_RESIZE_VEC_CORNERS(upsample_trilinear3d, 3, FB_S3)
FB_RESIZE(upsample_bicubic2d, 2, 4, FB_CORNERS, FB_SCALES2, "Cubic convolution (R. Keys, 1981) with a = -0.75 along both axes; the border repeats." FB_WHERE,
          bool, resize::F, resize::F)
FB_RESIZE_VEC_CORNERS(upsample_bicubic2d, 2, FB_S2)
#define FB_WIDENED " filter, widened by the scale where the image shrinks, its weights summing to one." FB_WHERE
FB_RESIZE(_upsample_bilinear2d_aa, 2, 4, FB_CORNERS, FB_SCALES2, "A triangle" FB_WIDENED, bool, resize::F, resize::F)
FB_RESIZE_VEC_CORNERS(_upsample_bilinear2d_aa, 2, FB_S2)
FB_RESIZE(_upsample_bicubic2d_aa, 2, 4, FB_CORNERS, FB_SCALES2, "A cubic (a = -0.5)" FB_WIDENED, bool, resize::F, resize::F)
FB_RESIZE_VEC_CORNERS(_upsample_bicubic2d_aa, 2, FB_S2)
FB_RESIZE(_upsample_lanczos2d_aa, 2, 4, FB_CORNERS, FB_SCALES2, "A Lanczos (three lobes)" FB_WIDENED, bool, resize::F, resize::F)
FB_RESIZE_VEC_CORNERS(_upsample_lanczos2d_aa, 2, FB_S2)

#undef FB_RESIZE
#undef FB_RESIZE_VEC
#undef FB_RESIZE_VEC_CORNERS
#undef FB_CORNERS
#undef FB_SCALES1
#undef FB_SCALES2
#undef FB_SCALES3
#undef FB_S1
#undef FB_S2
#undef FB_S3
#undef FB_NEAREST
#undef FB_NEAREST_KIND
#undef FB_WHERE
#undef FB_WIDENED

}  // namespace fb::cards
