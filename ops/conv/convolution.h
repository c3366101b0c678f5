// Convolutions of one to three dimensions, plain and transposed: one primitive and the functions that users call.
#pragma once
#include <tuple>

#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace conv {

// Sizes of y = convolution(x, w): [N, out, spatial...].
template <class T>
typename T::Sizes result_sizes(const T& x, const T& w, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
  using I = typename T::Int;
  typename T::Sizes y;
  y.push_back(x.sizes()[0]);
  y.push_back(transposed ? w.sizes()[1] * groups : w.sizes()[0]);
  for (int64_t i = 0; i < stride.n; ++i) {
    const I in = x.sizes()[2 + i], k = dilation[i] * (w.sizes()[2 + i] - 1) + 1;
    y.push_back(transposed ? (in - 1) * stride[i] - 2 * padding[i] + k + output_padding[i]
                           : (in + 2 * padding[i] - k >= 0 ? (in + 2 * padding[i] - k) / stride[i] + 1 : I(0)));
  }
  return y;
}

template <class T>
void check(const T& x, const T& w, const T& bias, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
  const int64_t nd = w.ndim() - 2;
  FB_CHECK(nd >= 1 && nd <= 3, "convolution: expected a weight of 3 to 5 dimensions, got shape ", w.sizes());
  FB_CHECK(x.ndim() == w.ndim(), "convolution: input of shape ", x.sizes(), " and weight of shape ", w.sizes(), " must have the same number of dimensions");
  FB_CHECK(stride.n == nd && padding.n == nd && dilation.n == nd && output_padding.n == nd, "convolution: expected ", nd, " values each for stride ", stride,
           ", padding ", padding, ", dilation ", dilation, " and output_padding ", output_padding);
  FB_CHECK(groups > 0, "convolution: groups must be positive, got ", groups);
  for (int64_t i = 0; i < nd; ++i) {
    // Beyond this, positions would not fit into 64 bits.
    for (Ints v : {stride, padding, dilation, output_padding})
      FB_CHECK(v[i] <= INT32_MAX, "convolution: stride ", stride, ", padding ", padding, ", dilation ", dilation, " and output_padding ", output_padding, " are at most ", INT32_MAX);
    FB_CHECK(stride[i] > 0, "convolution: stride must be positive, got ", stride);
    FB_CHECK(padding[i] >= 0, "convolution: padding must not be negative, got ", padding);
    FB_CHECK(dilation[i] > 0, "convolution: dilation must be positive, got ", dilation);
    FB_CHECK(output_padding[i] >= 0, "convolution: output_padding must not be negative, got ", output_padding);
    FB_CHECK(!transposed || output_padding[i] < stride[i] || output_padding[i] < dilation[i],
             "convolution: output_padding must be smaller than stride or dilation, got output_padding ", output_padding, ", stride ", stride, ", dilation ", dilation);
  }
  FB_CHECK(x.dtype() == w.dtype(), "convolution: input of type ", x.dtype(), " and weight of type ", w.dtype(), " must have the same type");
  const typename T::Int out = transposed ? w.sizes()[1] * groups : w.sizes()[0];
  FB_CHECK(w.sizes()[0] >= groups && w.sizes()[0] % groups == 0, "convolution: the weight of shape ", w.sizes(), " does not divide into ", groups, " groups");
  const typename T::Int channels = transposed ? w.sizes()[0] : w.sizes()[1] * groups;
  FB_CHECK(x.sizes()[1] == channels, "convolution: the weight of shape ", w.sizes(), " with groups=", groups, " expects an input of ", channels, " channels, got shape ",
           x.sizes());
  FB_CHECK(!bias.defined() || (bias.ndim() == 1 && bias.sizes()[0] == out), "convolution: expected a bias of ", out, " elements for a weight of shape ", w.sizes(),
           ", got shape ", bias.defined() ? bias.sizes() : Span<typename T::Int>());
  FB_CHECK(!bias.defined() || bias.dtype() == x.dtype(), "convolution: input of type ", x.dtype(), " and bias of type ", bias.defined() ? bias.dtype() : x.dtype(),
           " must have the same type");
  if (!transposed)
    for (int64_t i = 0; i < nd; ++i)
      FB_CHECK(x.sizes()[2 + i] + 2 * padding[i] >= dilation[i] * (w.sizes()[2 + i] - 1) + 1, "convolution: the kernel of size ",
               dilation[i] * (w.sizes()[2 + i] - 1) + 1, " (dilation ", dilation, ") is larger than the padded input of size ", x.sizes()[2 + i] + 2 * padding[i],
               " in spatial dimension ", i, "; input shape ", x.sizes());
  for (const auto& s : w.sizes().slice(2, nd)) FB_CHECK(s > 0, "convolution: kernel sizes must be positive, got weight shape ", w.sizes());
}

template <class T> MemoryFormat format(const T& x, const T& w) {
  const MemoryFormat fx = x.suggested_format(), fw = w.suggested_format();
  return fx != MemoryFormat::contiguous ? fx : fw;
}

}  // namespace conv

struct convolution : structured<convolution, symbolic> {
  static constexpr auto schema =
      "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  template <class T>
  static T meta(const T& x, const T& w, const T& bias, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
    conv::check(x, w, bias, stride, padding, dilation, transposed, output_padding, groups);
    const auto y = conv::result_sizes(x, w, stride, padding, dilation, transposed, output_padding, groups);
    for (const auto& s : y) FB_CHECK(s >= 0, "convolution: the result would have shape ", y, "; input shape ", x.sizes(), ", weight shape ", w.sizes());
    return T::empty_format(y, x.options(), conv::format(x, w));
  }
  static std::array<Tensor, 3> d(grad<0> g, in<0> x, in<1> w, shape_of<2> bias, arg<3, Ints> stride, arg<4, Ints> padding, arg<5, Ints> dilation,
                                 arg<6, bool> transposed, arg<7, Ints> output_padding, arg<8, int64_t> groups, needs n) {
    const bool mask[3] = {n[0], n[1], n[2]};
    return ops<"convolution_backward", 3>(*g, *x, *w, bias->defined ? std::optional<Ints>(bias.sizes()) : std::nullopt, *stride, *padding, *dilation, *transposed,
                                          *output_padding, *groups, Span<bool>(mask, 3));
  }
  using vjp = rules<joint<d, 0, 1, 2>>;
  // Linear in the input and in the weight; the bias is added.
  static Tensor moved(maybe_tangent<0> dx, maybe_tangent<1> dw, maybe_tangent<2> db, in<0> x, in<1> w, result<> y, arg<3, Ints> stride,
                      arg<4, Ints> padding, arg<5, Ints> dilation, arg<6, bool> transposed, arg<7, Ints> output_padding, arg<8, int64_t> groups) {
    auto apply = [&](const Tensor& a, const Tensor& b, const Tensor& bias) {
      return op<"convolution">(a, b, bias, *stride, *padding, *dilation, *transposed, *output_padding, *groups);
    };
    Tensor t;
    if (dx.defined()) t = apply(*dx, *w, *db);
    if (dw.defined()) {
      const Tensor by_weight = apply(*x, *dw, t.defined() ? Tensor() : *db);
      t = t.defined() ? op<"add">(t, by_weight) : by_weight;
    }
    if (t.defined()) return t;
    Dims column(y->ndim(), 1);
    column[1] = db.t.numel();
    return op<"clone">(op<"expand">(op<"reshape">(*db, column), y->sizes()));
  }
  using jvp = forward<moved>;
  static constexpr auto doc = R"(convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups) -> Tensor

The cross-correlation of input (N, C, spatial...) with weight (out, C / groups, kernel...), or its transpose.)";
};
FB_CARD(convolution)

struct convolution_backward : direct<convolution_backward> {
  static constexpr auto schema =
      "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[] padding, int[] dilation, bool transposed, "
      "int[] output_padding, int groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden;
  static std::array<Tensor, 3> check(const Tensor& gy, const Tensor& x, const Tensor& w, std::optional<Ints> bias_sizes, Ints stride, Ints padding, Ints dilation,
                                     bool transposed, Ints output_padding, int64_t groups, Span<bool> mask) {
    conv::check(x, w, Tensor(), stride, padding, dilation, transposed, output_padding, groups);
    const Dims result = conv::result_sizes(x, w, stride, padding, dilation, transposed, output_padding, groups);
    FB_CHECK(gy.sizes() == Ints(result) && gy.dtype() == x.dtype(), "convolution_backward: grad_output must have shape ", result, " and type ", x.dtype(),
             ", it has ", gy.sizes(), " and ", gy.dtype());
    FB_CHECK(!bias_sizes || (bias_sizes->n == 1 && (*bias_sizes)[0] == result[1]), "convolution_backward: bias_sizes must be [", result[1], "], got ",
             bias_sizes ? *bias_sizes : Ints());
    if (!x.is_meta()) return {};
    const MemoryFormat f = conv::format(x, w);
    const DType sum = is_integral(gy.dtype(), true) ? DType::i64 : gy.dtype();
    return {mask[0] ? Tensor::empty_format(x.sizes(), x.options(), f) : Tensor(), mask[1] ? Tensor::empty_format(w.sizes(), w.options(), f) : Tensor(),
            mask[2] ? Tensor::empty({result[1]}, {sum, gy.device()}) : Tensor()};
  }
  // The map (gy, x, w) -> (gx, gw, gb) is bilinear in each pair; its derivatives are convolutions again.
  static std::array<Tensor, 3> d(maybe_grad<0> gx, maybe_grad<1> gw, maybe_grad<2> gb, in<0> gy, in<1> x, in<2> w, arg<4, Ints> stride, arg<5, Ints> padding,
                                 arg<6, Ints> dilation, arg<7, bool> transposed, arg<8, Ints> output_padding, arg<9, int64_t> groups, needs n) {
    auto forward = [&](const Tensor& a, const Tensor& b) { return op<"convolution">(a, b, Tensor(), *stride, *padding, *dilation, *transposed, *output_padding, *groups); };
    auto backward = [&](const Tensor& a, const Tensor& b, const Tensor& c, bool wx, bool ww) {
      const bool mask[3] = {wx, ww, false};
      return ops<"convolution_backward", 3>(a, b, c, std::optional<Ints>(), *stride, *padding, *dilation, *transposed, *output_padding, *groups, Span<bool>(mask, 3));
    };
    auto plus = [](Tensor& sum, const Tensor& t) { sum = sum.defined() ? op<"add">(sum, t) : t; };
    std::array<Tensor, 3> r;
    if (n[0]) {
      if (gx->defined()) plus(r[0], forward(*gx, *w));
      if (gw->defined()) plus(r[0], forward(*x, *gw));
      if (gb->defined()) {
        Dims shape(gy->ndim(), 1);
        shape[1] = gb->numel();
        plus(r[0], op<"expand">(op<"reshape">(*gb, shape), gy->sizes()));
      }
    }
    if (n[1] && gw->defined()) r[1] = backward(*gy, *x, *gw, true, false)[0];
    if (n[2] && gx->defined()) r[2] = backward(*gy, *gx, *w, false, true)[1];
    return r;
  }
  using vjp = rules<joint<d, 0, 1, 2>>;
};
FB_CARD(convolution_backward)

namespace conv {
// A list of nd values; one value stands for all.
inline Dims full(const char* name, const char* arg, Ints v, int64_t nd) {
  FB_CHECK(v.n == nd || v.n == 1, name, ": expected ", nd, " values for ", arg, ", got ", v);
  Dims d(v);
  while (d.size() < nd) d.push_back(v[0]);
  return d;
}

// Adds a batch dimension to an input without one; says so.
template <class T> T batched(const char* name, int64_t nd, const T& x, const T& w, bool& added) {
  FB_CHECK(w.ndim() == nd + 2, name, ": expected a weight of ", nd + 2, " dimensions, got shape ", w.sizes());
  FB_CHECK(x.ndim() == nd + 2 || x.ndim() == nd + 1, name, ": expected an input of ", nd + 1, " (one sample) or ", nd + 2, " dimensions (a batch), got shape ", x.sizes());
  added = x.ndim() == nd + 1;
  return added ? op<"unsqueeze">(x, int64_t(0)) : x;
}

template <class T>
T run(bool added, const T& x, const T& w, const T& b, Ints stride, Ints padding, Ints dilation, bool transposed, Ints output_padding, int64_t groups) {
  const T y = op<"convolution">(x, w, b, stride, padding, dilation, transposed, output_padding, groups);
  return added ? op<"squeeze">(y, int64_t(0)) : y;
}

template <class T>
T plain(const char* name, int64_t nd, const T& x, const T& w, const T& b, Ints stride, Ints padding, Ints dilation, int64_t groups) {
  bool added;
  const T xb = batched(name, nd, x, w, added);
  return run(added, xb, w, b, full(name, "stride", stride, nd), full(name, "padding", padding, nd), full(name, "dilation", dilation, nd), false, Dims(nd, 0), groups);
}

template <class T>
T transposed(const char* name, int64_t nd, const T& x, const T& w, const T& b, Ints stride, Ints padding, Ints output_padding, int64_t groups, Ints dilation) {
  bool added;
  const T xb = batched(name, nd, x, w, added);
  return run(added, xb, w, b, full(name, "stride", stride, nd), full(name, "padding", padding, nd), full(name, "dilation", dilation, nd), true,
             full(name, "output_padding", output_padding, nd), groups);
}
Tensor named(const char* name, int64_t nd, const Tensor& x, const Tensor& w, const Tensor& b, Ints stride, std::string_view padding, Ints dilation, int64_t groups);
}  // namespace conv

#define FB_CONV(N)                                                                                                                              \
  struct conv##N##d : composite<conv##N##d> {                                                                                                   \
    static constexpr auto schema = "conv" #N "d(Tensor input, Tensor weight, Tensor? bias=None, int[" #N "] stride=1, int[" #N "] padding=0, "   \
                                   "int[" #N "] dilation=1, int groups=1) -> Tensor";                                                           \
    static constexpr uint32_t forms = form::fn;                                                                                                 \
    template <class T>                                                                                                                          \
    static T body(const T& x, const T& w, const T& b, Ints stride, Ints padding, Ints dilation, int64_t groups) {                               \
      return conv::plain("conv" #N "d", N, x, w, b, stride, padding, dilation, groups);                                                         \
    }                                                                                                                                           \
  };                                                                                                                                            \
  FB_CARD(conv##N##d)                                                                                                                           \
  struct conv##N##d_named : composite<conv##N##d_named> {                                                                                       \
    static constexpr auto schema = "conv" #N "d.padding(Tensor input, Tensor weight, Tensor? bias=None, int[" #N "] stride=1, "                  \
                                   "str padding=\"valid\", int[" #N "] dilation=1, int groups=1) -> Tensor";                                    \
    static constexpr uint32_t forms = form::fn;                                                                                                 \
    static Tensor body(const Tensor& x, const Tensor& w, const Tensor& b, Ints stride, std::string_view padding, Ints dilation, int64_t groups) { \
      return conv::named("conv" #N "d", N, x, w, b, stride, padding, dilation, groups);                                                         \
    }                                                                                                                                           \
  };                                                                                                                                            \
  FB_CARD(conv##N##d_named)
FB_CONV(1)
FB_CONV(2)
FB_CONV(3)
#undef FB_CONV

#define FB_CONV_TRANSPOSE(N, SUFFIX)                                                                                                            \
  struct conv_transpose##N##d : composite<conv_transpose##N##d> {                                                                               \
    static constexpr auto schema = "conv_transpose" #N "d" SUFFIX "(Tensor input, Tensor weight, Tensor? bias=None, int[" #N "] stride=1, "      \
                                   "int[" #N "] padding=0, int[" #N "] output_padding=0, int groups=1, int[" #N "] dilation=1) -> Tensor";       \
    static constexpr uint32_t forms = form::fn;                                                                                                 \
    template <class T>                                                                                                                          \
    static T body(const T& x, const T& w, const T& b, Ints stride, Ints padding, Ints output_padding, int64_t groups, Ints dilation) {          \
      return conv::transposed("conv_transpose" #N "d", N, x, w, b, stride, padding, output_padding, groups, dilation);                           \
    }                                                                                                                                           \
  };                                                                                                                                            \
  FB_CARD(conv_transpose##N##d)
FB_CONV_TRANSPOSE(1, "")
FB_CONV_TRANSPOSE(2, ".input")
FB_CONV_TRANSPOSE(3, ".input")
#undef FB_CONV_TRANSPOSE

struct conv_tbc : composite<conv_tbc> {
  static constexpr auto schema = "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  // (time, batch, channels) and a weight (kernel, in, out).
  static Tensor body(const Tensor& x, const Tensor& w, const Tensor& b, int64_t pad) {
    FB_CHECK(x.ndim() == 3 && w.ndim() == 3, "conv_tbc: expected three dimensions each, got input ", x.sizes(), " and weight ", w.sizes());
    const Tensor y = op<"conv1d">(op<"permute">(x, Ints{1, 2, 0}), op<"permute">(w, Ints{2, 1, 0}), b, Ints{1}, Ints{pad});
    return op<"permute">(y, Ints{2, 0, 1});
  }
};
FB_CARD(conv_tbc)

}  // namespace fb::cards
