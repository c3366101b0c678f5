// repeat_interleave.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/shape_of_values.h"

namespace fb::cards {

struct repeat_interleave_places : direct<repeat_interleave_places> {
  static constexpr auto schema = "repeat_interleave.Tensor(Tensor repeats, *, int? output_size=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::shape_of_values;
  static constexpr auto doc = R"(repeat_interleave(input, repeats, dim=None, *, output_size=None) -> Tensor
repeat_interleave(repeats, *, output_size=None) -> Tensor

Each entry of input along dim, or each element of the flattened input, repeated: all of them `repeats` times where that is a
number, entry i repeats[i] times where it is a vector of ints. With repeats alone, the number i repeats[i] times.
output_size, where given, must be the length of the result. RuntimeError for negative repeats.)";
};
FB_CARD(repeat_interleave_places)

struct repeat_interleave_each : composite<repeat_interleave_each> {
  static constexpr auto schema = "repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor";
  static constexpr uint32_t forms = composite<repeat_interleave_each>::forms | form::shape_of_values;
  static Tensor body(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
    const Tensor x = dim ? self : op<"flatten">(self);
    const int64_t d = dim ? wrap_dim(*dim, x.ndim()) : 0, n = x.ndim() ? x.sizes()[d] : 1;
    FB_CHECK(repeats.ndim() <= 1, "repeat_interleave: repeats must be a number or a vector, their shape is ", repeats.sizes());
    Tensor r = op<"reshape">(repeats, Ints{-1});
    if (r.numel() == 1) r = op<"expand">(r, Ints{n});
    FB_CHECK(r.numel() == n, "repeat_interleave: repeats of shape ", repeats.sizes(), " must have ", n, " elements, one for each entry of input, of shape ",
             self.sizes(), ", along dimension ", d);
    if (r.dtype() == DType::i16 || r.dtype() == DType::i8 || r.dtype() == DType::u8) r = op<"to.dtype">(r, DType::i64);
    return op<"index_select">(x, d, output_size ? op<"repeat_interleave">(r, *output_size) : op<"repeat_interleave">(r));
  }
};
FB_CARD(repeat_interleave_each)

struct repeat_interleave_number : composite<repeat_interleave_number> {
  static constexpr auto schema = "repeat_interleave.self_int(Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor";
  static Tensor body(const Tensor& self, int64_t repeats, std::optional<int64_t> dim, std::optional<int64_t> output_size) {
    Tensor x = dim ? self : op<"flatten">(self);
    const int64_t d = dim ? wrap_dim(*dim, x.ndim()) : 0;
    if (x.ndim() == 0) x = op<"unsqueeze">(x, int64_t(0));
    FB_CHECK(repeats >= 0, "repeat_interleave: repeats must not be negative, they are ", repeats);
    Dims wide(x.sizes()), out(x.sizes());
    FB_CHECK(!__builtin_mul_overflow(out[d], repeats, &out[d]), "repeat_interleave: ", x.sizes()[d], " entries ", repeats, " times are too many");
    FB_CHECK(!output_size || *output_size == out[d], "repeat_interleave: output_size is ", output_size.value_or(0), ", the result has length ", out[d]);
    wide.push_back(0);
    for (int64_t i = wide.size() - 1; i > d + 1; --i) wide[i] = wide[i - 1];
    wide[d + 1] = repeats;
    const Tensor repeated = op<"expand">(op<"unsqueeze">(x, d + 1), wide);
    return op<"view">(op<"clone">(repeated, MemoryFormat::contiguous), out);
  }
};
FB_CARD(repeat_interleave_number)

}  // namespace fb::cards
