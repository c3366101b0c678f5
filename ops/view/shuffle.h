// Channels and pixels in another order: pixel_shuffle, pixel_unshuffle, channel_shuffle.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/levels.h"

namespace fb::cards {

namespace shuffle {
// A copy of `t` in this shape and in the format of `like`.
inline Tensor laid_as(const Tensor& t, Ints shape, const Tensor& like) {
  const Tensor out = beside(t, Tensor::empty_format(shape, t.options(), like.suggested_format()));
  op_list<"copy_">(out, op<"reshape">(t, shape));
  return out;
}
inline void check_factor(const char* name, const Tensor& x, int64_t factor) {
  FB_CHECK(x.ndim() >= 3, name, ": the input has dimensions (..., channels, height, width), its shape is ", x.sizes());
  FB_CHECK(factor > 0, name, ": the factor must be positive, ", factor, " was given");
}
}  // namespace shuffle

struct pixel_shuffle : lowered<pixel_shuffle> {
  static constexpr auto schema = "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor lowering(const Tensor& x, int64_t r) {
    shuffle::check_factor("pixel_shuffle", x, r);
    const int64_t d = x.ndim(), c = x.size(-3), h = x.size(-2), w = x.size(-1);
    FB_CHECK(c / r % r == 0 && c % r == 0, "pixel_shuffle: the channels of an input of shape ", x.sizes(), " are not divisible by the square of ", r);
    Dims split(x.sizes().slice(0, d - 3)), order, out(split);
    for (int64_t n : {c / (r * r), r, r, h, w}) split.push_back(n);
    for (int64_t i = 0; i < d - 3; ++i) order.push_back(i);
    for (int64_t i : {0, 3, 1, 4, 2}) order.push_back(d - 3 + i);
    for (int64_t n : {c / (r * r), h * r, w * r}) out.push_back(n);
    return shuffle::laid_as(op<"permute">(op<"reshape">(x, split), order), out, x);
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> r) { return op<"pixel_unshuffle">(*g, *r); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(pixel_shuffle(input, upscale_factor) -> Tensor

(*, C r^2, H, W) to (*, C, H r, W r): each pixel's channels become r x r pixels (Shi et al. 2016).)";
};
FB_CARD(pixel_shuffle)

struct pixel_unshuffle : lowered<pixel_unshuffle> {
  static constexpr auto schema = "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor lowering(const Tensor& x, int64_t r) {
    shuffle::check_factor("pixel_unshuffle", x, r);
    const int64_t d = x.ndim(), c = x.size(-3), h = x.size(-2), w = x.size(-1);
    FB_CHECK(h % r == 0 && w % r == 0, "pixel_unshuffle: height and width of an input of shape ", x.sizes(), " are not divisible by ", r);
    Dims split(x.sizes().slice(0, d - 3)), order, out(split);
    for (int64_t n : {c, h / r, r, w / r, r}) split.push_back(n);
    for (int64_t i = 0; i < d - 3; ++i) order.push_back(i);
    for (int64_t i : {0, 2, 4, 1, 3}) order.push_back(d - 3 + i);
    for (int64_t n : {c * r * r, h / r, w / r}) out.push_back(n);
    return shuffle::laid_as(op<"permute">(op<"reshape">(x, split), order), out, x);
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> r) { return op<"pixel_shuffle">(*g, *r); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "pixel_unshuffle(input, downscale_factor) -> Tensor\n\n(*, C, H r, W r) to (*, C r^2, H, W): undoes pixel_shuffle.";
};
FB_CARD(pixel_unshuffle)

struct channel_shuffle : lowered<channel_shuffle> {
  static constexpr auto schema = "channel_shuffle(Tensor self, int groups) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor lowering(const Tensor& x, int64_t groups) {
    FB_CHECK(x.ndim() > 2, "channel_shuffle: the input has more than 2 dimensions, its shape is ", x.sizes());
    FB_CHECK(groups > 0, "channel_shuffle: groups must be positive, ", groups, " was given");
    const int64_t c = x.sizes()[1];
    FB_CHECK(c % groups == 0, "channel_shuffle: the channels of an input of shape ", x.sizes(), " are not divisible by ", groups);
    if (x.numel() == 0) return op<"clone">(x);
    Dims split(x.sizes());
    split[1] = groups;
    split.insert(2, c / groups);
    return shuffle::laid_as(op<"transpose">(op<"reshape">(x, split), int64_t(1), int64_t(2)), x.sizes(), x);
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> groups) { return *groups == 0 ? *g : op<"channel_shuffle">(*g, g->sizes()[1] / *groups); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(channel_shuffle(input, groups) -> Tensor

Channels (dimension 1) taken in turn from `groups` groups of equal size (Zhang et al. 2018), in input's shape.)";
};
FB_CARD(channel_shuffle)
struct native_channel_shuffle : composite<native_channel_shuffle> {
  static constexpr auto schema = "native_channel_shuffle(Tensor self, int groups) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, int64_t groups) { return op<"channel_shuffle">(x, groups); }
};
FB_CARD(native_channel_shuffle)

}  // namespace fb::cards
