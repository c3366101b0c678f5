// Elements moved between channels and places.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace shuffle {
// x as `shape`, its dimensions in the order `perm`, as `to`: dense, in the format of x where that holds.
inline Tensor arranged(const Tensor& x, Ints shape, Ints perm, Ints to) {
  const Tensor moved = op<"permute">(op<"reshape">(x, shape), perm);
  const MemoryFormat f = x.ndim() == to.n ? x.suggested_format() : MemoryFormat::contiguous;
  if (f == MemoryFormat::contiguous) return op<"clone">(op<"reshape">(moved, to), MemoryFormat::contiguous);
  return op<"clone">(op<"reshape">(moved, to), f);
}
}  // namespace shuffle

struct pixel_shuffle : lowered<pixel_shuffle> {
  static constexpr auto schema = "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc =
      "pixel_shuffle(input, upscale_factor): (*, C r^2, H, W) to (*, C, H r, W r), channel c r^2 + i r + j going to places "
      "(h r + i, w r + j) (Shi et al., 2016). Any type.";
  static Tensor lowering(const Tensor& x, int64_t r) {
    const int64_t n = x.ndim();
    FB_CHECK(n >= 3, "pixel_shuffle: expected an input of 3 dimensions or more, got shape ", x.sizes());
    FB_CHECK(r > 0, "pixel_shuffle: upscale_factor must be positive, got ", r);
    int64_t square = 0;
    const int64_t c = x.sizes()[n - 3], h = x.sizes()[n - 2], w = x.sizes()[n - 1];
    FB_CHECK(!__builtin_mul_overflow(r, r, &square) && c % square == 0, "pixel_shuffle: the channels must be a multiple of upscale_factor squared, got shape ", x.sizes(),
             " and upscale_factor ", r);
    Dims shape(x.sizes().slice(0, n - 3)), perm, to = shape;
    for (int64_t i = 0; i < n - 3; ++i) perm.push_back(i);
    for (int64_t v : {c / square, r, r, h, w}) shape.push_back(v);
    for (int64_t v : {n - 3, n, n - 2, n + 1, n - 1}) perm.push_back(v);
    for (int64_t v : {c / square, h * r, w * r}) to.push_back(v);
    return shuffle::arranged(x, shape, perm, to);
  }
  static Tensor d(grad<0> g, arg<1, int64_t> r) { return op<"pixel_unshuffle">(*g, *r); }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(pixel_shuffle)

struct pixel_unshuffle : lowered<pixel_unshuffle> {
  static constexpr auto schema = "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = "pixel_unshuffle(input, downscale_factor): (*, C, H r, W r) to (*, C r^2, H, W), the inverse of pixel_shuffle.";
  static Tensor lowering(const Tensor& x, int64_t r) {
    const int64_t n = x.ndim();
    FB_CHECK(n >= 3, "pixel_unshuffle: expected an input of 3 dimensions or more, got shape ", x.sizes());
    FB_CHECK(r > 0, "pixel_unshuffle: downscale_factor must be positive, got ", r);
    const int64_t c = x.sizes()[n - 3], h = x.sizes()[n - 2], w = x.sizes()[n - 1];
    FB_CHECK(h % r == 0 && w % r == 0, "pixel_unshuffle: height and width must be multiples of downscale_factor, got shape ", x.sizes(), " and downscale_factor ", r);
    Dims shape(x.sizes().slice(0, n - 3)), perm, to = shape;
    for (int64_t i = 0; i < n - 3; ++i) perm.push_back(i);
    for (int64_t v : {c, h / r, r, w / r, r}) shape.push_back(v);
    for (int64_t v : {n - 3, n - 1, n + 1, n - 2, n}) perm.push_back(v);
    for (int64_t v : {c * r * r, h / r, w / r}) to.push_back(v);
    return shuffle::arranged(x, shape, perm, to);
  }
  static Tensor d(grad<0> g, arg<1, int64_t> r) { return op<"pixel_shuffle">(*g, *r); }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(pixel_unshuffle)

namespace shuffle {
inline Tensor channels(const Tensor& x, int64_t groups) {
  FB_CHECK(x.ndim() > 2, "channel_shuffle: expected an input of more than 2 dimensions, got shape ", x.sizes());
  FB_CHECK(groups > 0, "channel_shuffle: groups must be positive, got ", groups);
  const int64_t n = x.ndim(), at = n == 3 ? 0 : 1, c = x.sizes()[at];
  FB_CHECK(c % groups == 0, "channel_shuffle: the channels must be a multiple of groups, got shape ", x.sizes(), " and groups ", groups);
  Dims shape, perm;
  for (int64_t i = 0; i < n; ++i) {
    if (i == at) {
      for (int64_t v : {groups, c / groups}) shape.push_back(v);
      for (int64_t v : {at + 1, at}) perm.push_back(v);
    } else {
      shape.push_back(x.sizes()[i]);
      perm.push_back(i < at ? i : i + 1);
    }
  }
  return arranged(x, shape, perm, x.sizes());
}
}  // namespace shuffle

#define FB_CHANNEL_SHUFFLE_DOC \
  "channel_shuffle(input, groups): channel g k + i of (N, C, *), with k = C / groups, goes to i groups + g (Zhang et al., 2018). Any type."
struct channel_shuffle : lowered<channel_shuffle> {
  static constexpr auto schema = "channel_shuffle(Tensor self, int groups) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = FB_CHANNEL_SHUFFLE_DOC;
  static Tensor lowering(const Tensor& x, int64_t groups) { return shuffle::channels(x, groups); }
  static Tensor d(grad<0> g, arg<1, int64_t> groups) {
    const int64_t c = g->sizes()[g->ndim() == 3 ? 0 : 1];
    return op<"channel_shuffle">(*g, c ? c / *groups : int64_t(1));
  }
  using vjp = rules<wrt<0, d>>;
};
FB_CARD(channel_shuffle)

struct native_channel_shuffle : lowered<native_channel_shuffle> {
  static constexpr auto schema = "native_channel_shuffle(Tensor self, int groups) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto doc = FB_CHANNEL_SHUFFLE_DOC;
  static Tensor lowering(const Tensor& x, int64_t groups) { return shuffle::channels(x, groups); }
};
FB_CARD(native_channel_shuffle)
#undef FB_CHANNEL_SHUFFLE_DOC

}  // namespace fb::cards
