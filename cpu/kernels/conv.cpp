// Convolutions: cards' arguments to the engine of cpu/product/, where spatial axes are always three.
#include "cpu/product/conv.h"

#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/conv/convolution.h"

namespace fb {
namespace {

template <class T> product::View5<T> view5(const Tensor& t) {
  product::View5<T> v;
  v.data = const_cast<T*>(static_cast<const T*>(t.data()));
  const int64_t nd = t.ndim() - 2;
  v.stride[0] = t.strides()[0];
  v.stride[1] = t.strides()[1];
  for (int64_t i = 0; i < 3; ++i) v.stride[2 + i] = i < 3 - nd ? 0 : t.strides()[2 + i - (3 - nd)];
  return v;
}

// The shape of the plain convolution from `image` to `result`; a transposed one runs it backwards.
product::ConvShape shape(const Tensor& image, const Tensor& result, const Tensor& w, Ints stride, Ints padding, Ints dilation, int64_t groups) {
  product::ConvShape s;
  s.batch = image.sizes()[0];
  s.in_channels = image.sizes()[1];
  s.out_channels = result.sizes()[1];
  s.groups = groups;
  const int64_t nd = w.ndim() - 2;
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t d = i - (3 - nd);
    s.in[i] = d < 0 ? 1 : image.sizes()[2 + d];
    s.out[i] = d < 0 ? 1 : result.sizes()[2 + d];
    s.kernel[i] = d < 0 ? 1 : w.sizes()[2 + d];
    if (d >= 0) {
      s.stride[i] = stride[d];
      s.padding[i] = padding[d];
      s.dilation[i] = dilation[d];
    }
  }
  return s;
}

template <class F> void on_type(const char* name, DType d, F&& f) {
  if (!visit_types<float, double, half, bfloat16, cfloat, cdouble, int64_t, int32_t, int16_t, int8_t, uint8_t>(d, f))
    raise_not_implemented("operator ", name, " is not implemented for type ", d);
}

Tensor dense_vector(const Tensor& b) { return !b.defined() || b.is_contiguous() ? b : op<"contiguous">(b); }

void convolution_cpu(Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias, Ints stride, Ints padding, Ints dilation, bool transposed, Ints, int64_t groups) {
  if (y.numel() == 0) return;
  const Tensor b = dense_vector(bias);
  on_type("convolution", x.dtype(), [&]<class T>() {
    const T* pb = b.defined() ? b.ptr<T>() : nullptr;
    if (transposed) product::conv_backward_input<T>(shape(y, x, w, stride, padding, dilation, groups), view5<const T>(x), view5<const T>(w), pb, view5<T>(y));
    else product::conv_forward<T>(shape(x, y, w, stride, padding, dilation, groups), view5<const T>(x), view5<const T>(w), pb, view5<T>(y));
  });
}

std::array<Tensor, 3> convolution_backward_cpu(const Tensor& gy, const Tensor& x0, const Tensor& w0, std::optional<Ints> bias_sizes, Ints stride, Ints padding, Ints dilation,
                                               bool transposed, Ints output_padding, int64_t groups, Span<bool> mask) {
  std::array<Tensor, 3> r;
  // The gradient is that of the bilinear form over complex numbers, too: the other factor is conjugated.
  const Tensor x = x0.is_complex() ? op<"clone">(op<"conj">(x0)) : x0, w = w0.is_complex() ? op<"clone">(op<"conj">(w0)) : w0;
  const MemoryFormat f = cards::conv::format(x, w);
  if (mask[0]) {
    r[0] = Tensor::empty_format(x.sizes(), x.options(), f);
    if (r[0].numel()) {
      if (gy.numel() == 0) op_list<"zero_">(r[0]);
      else
        on_type("convolution_backward", x.dtype(), [&]<class T>() {
          if (transposed) product::conv_forward<T>(shape(gy, x, w, stride, padding, dilation, groups), view5<const T>(gy), view5<const T>(w), nullptr, view5<T>(r[0]));
          else product::conv_backward_input<T>(shape(x, gy, w, stride, padding, dilation, groups), view5<const T>(gy), view5<const T>(w), nullptr, view5<T>(r[0]));
        });
    }
  }
  if (mask[1]) {
    r[1] = Tensor::empty_format(w.sizes(), w.options(), f);
    if (gy.numel() == 0 || x.numel() == 0) op_list<"zero_">(r[1]);
    else
      on_type("convolution_backward", x.dtype(), [&]<class T>() {
        if (transposed) product::conv_backward_weight<T>(shape(gy, x, w, stride, padding, dilation, groups), view5<const T>(gy), view5<const T>(x), view5<T>(r[1]));
        else product::conv_backward_weight<T>(shape(x, gy, w, stride, padding, dilation, groups), view5<const T>(x), view5<const T>(gy), view5<T>(r[1]));
      });
  }
  if (mask[2]) {
    Dims dims;
    for (int64_t i = 0; i < gy.ndim(); ++i)
      if (i != 1) dims.push_back(i);
    r[2] = op<"sum">(gy, dims);
  }
  return r;
}

FB_KERNEL("convolution", convolution_cpu)
FB_KERNEL_DIRECT("convolution_backward", convolution_backward_cpu)

}  // namespace
}  // namespace fb
