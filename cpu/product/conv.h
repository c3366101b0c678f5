// Convolutions of one to three dimensions on raw memory, forward and both gradients.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace fb::product {

// Spatial axes are (depth, height, width); a convolution of fewer dimensions has leading axes of
// extent, kernel, stride and dilation 1 and padding 0. Padding is that of the low side; that of the
// high side follows from `out`. Channels are those of the whole tensors; both are multiples of
// groups.
struct ConvShape {
  int64_t batch, in_channels, out_channels, groups = 1;
  int64_t in[3], out[3], kernel[3];
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
};

// A tensor of five axes with strides in elements: images are (batch, channel, depth, height,
// width), weights (out channel, in channel of the group, kernel depth, height, width).
template <class T>
struct View5 {
  T* data;
  int64_t stride[5];
};

// y[n, o, p] = bias[o] + sum over (c, taps) of w[o, c, tap] * x[n, c, p * stride - padding + tap *
// dilation]. Sums are chains and blocks as in gemm.h, with k in the order (c, taps) whatever the
// memory format; taps in the padding count as zeros. bias may be null (element stride 1).
//
// float, double, half, bfloat16 (computed in float, rounded once); cfloat, cdouble and integers by
// plain loops.
template <class T>
void conv_forward(const ConvShape& s, View5<const T> x, View5<const T> w, const T* bias,
                  View5<T> y);

// The gradient of x, which is also the transposed convolution of gy. Each sum runs over (o, taps
// that meet the pixel); bias, one for each in channel, may be null.
template <class T>
void conv_backward_input(const ConvShape& s, View5<const T> gy, View5<const T> w, const T* bias,
                         View5<T> gx);

// The gradient of w. Each sum runs over (batch, pixels of y).
template <class T>
void conv_backward_weight(const ConvShape& s, View5<const T> x, View5<const T> gy, View5<T> gw);

}  // namespace fb::product
