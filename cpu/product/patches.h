// Image patches as a product's operand: read from the image as panels are packed, with zeros where
// a tap lies in the padding. The matrix of patches never exists.
#pragma once
#include "cpu/product/engine.h"

namespace fb::product {

// A grid of pixels (batch × three axes) and, for each channel, taps around each pixel: along an
// axis, tap t of pixel o reads position o * step + tap[t] of the image, or zero outside [0,
// extent). k or free index of a tap: (channel * taps0 + t0) * taps1 + t1) * taps2 + t2.
template <class Real>
struct Patches {
  const Real* image;
  int64_t batch_stride, channel_stride, stride[3], extent[3];
  int64_t grid[3], step[3];
  int64_t taps[3];
  const int64_t* tap[3];
  int64_t channels;

  int64_t tap_count() const { return taps[0] * taps[1] * taps[2]; }
  int64_t lane_stride() const { return step[2] * stride[2]; }
  bool channels_last() const { return channel_stride == 1 && lane_stride() != 1 && channels > 1; }
};

// Pixels as the free index, taps as k.
template <class Real>
void pack_pixels(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
                 Real* to);
// Taps as the free index, pixels as k. With channels last the free index is (tap, channel), not
// (channel, tap): see tap_index.
template <class Real>
void pack_taps(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
               Real* to);

// The (channel, tap) of free index j of pack_taps.
template <class Real>
void tap_index(const Patches<Real>& s, int64_t j, int64_t* channel, int64_t* tap) {
  const int64_t t = s.tap_count();
  *channel = s.channels_last() ? j % s.channels : j / t;
  *tap = s.channels_last() ? j / s.channels : j % t;
}

}  // namespace fb::product
