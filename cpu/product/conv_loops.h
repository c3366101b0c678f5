// Convolutions with one input channel for each output: no product to block, so loops of their own
// over padded planes (or over channels as lanes, where they are adjacent).
#pragma once
#include "cpu/product/conv.h"

namespace fb::product {

// Each returns false where the shape is not its own (more taps than one chain holds). The sums are
// those of the engine, bit for bit.
template <class T, class Real>
bool depthwise_forward(const ConvShape& s, View5<const Real> x, View5<const Real> w, const T* bias,
                       View5<T> y);
template <class T, class Real>
bool depthwise_backward_input(const ConvShape& s, View5<const Real> gy, View5<const Real> w,
                              const T* bias, View5<T> gx);

// The weight gradient has a definition of its own: within an image, pixel (d, h, w) goes to lane w
// mod 8, each lane is a chain over the rows in order, lanes are folded 4, 2, 1 apart, and images by
// the tree that pairs neighbours.
template <class T, class Real>
bool depthwise_backward_weight(const ConvShape& s, View5<const Real> x, View5<const Real> gy,
                               View5<T> gw);

}  // namespace fb::product
