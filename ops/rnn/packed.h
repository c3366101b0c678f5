// Packed sequences: the steps of several sequences one after another, each with the sequences that are still running.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"
#include "ops/create/known_values.h"

namespace fb::cards {

struct pack_padded_sequence : direct<pack_padded_sequence> {
  static constexpr auto schema = "_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "PackPaddedSequenceBackward0";
  static Tensor d_input(grad<0> g, shape_of<0> input, result<1> batch_sizes, arg<2, bool> batch_first) {
    return op<"_pack_padded_sequence_backward">(*g, input.sizes(), *batch_sizes, *batch_first);
  }
  using vjp = rules<wrt<0, d_input>>;
  static constexpr auto doc = R"(_pack_padded_sequence(input, lengths, batch_first) -> (Tensor, Tensor)

The first lengths[i] steps of each sequence of input, (steps, N, *) or with batch_first (N, steps, *), step by step, and how
many sequences each step has. lengths, int64 on the CPU, must not grow and are at least 1.)";
};
FB_CARD(pack_padded_sequence)

struct pack_padded_sequence_backward : composite<pack_padded_sequence_backward> {
  static constexpr auto schema = "_pack_padded_sequence_backward(Tensor grad, int[] input_size, Tensor batch_sizes, bool batch_first) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& g, Ints input_size, const Tensor& batch_sizes, bool batch_first) {
    Dims shape(input_size);
    if (batch_first) std::swap(shape[0], shape[1]);
    const Tensor r = op<"_pad_packed_sequence_to">(g, batch_sizes, shape, Scalar(0.0));
    return batch_first ? op<"transpose">(r, int64_t(0), int64_t(1)) : r;
  }
};
FB_CARD(pack_padded_sequence_backward)

// Padded sequences of a given shape (steps, N, *) from packed ones.
struct pad_packed_sequence_to : direct<pad_packed_sequence_to> {
  static constexpr auto schema = "_pad_packed_sequence_to(Tensor data, Tensor batch_sizes, int[] size, Scalar padding_value) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "PadPackedSequenceBackward0";
  // Each step's rows again.
  static Tensor d_data(grad<0> g, in<1> batch_sizes) {
    std::vector<Tensor> rows;
    const Dims sizes = known_integers(*batch_sizes);
    for (int64_t t = 0; t < sizes.size(); ++t) rows.push_back(op<"narrow">(op<"select">(*g, int64_t(0), t), int64_t(0), int64_t(0), sizes[t]));
    return op<"cat">(rows, int64_t(0));
  }
  using vjp = rules<wrt<0, d_data>>;
};
FB_CARD(pad_packed_sequence_to)

struct pad_packed_sequence : composite<pad_packed_sequence> {
  static constexpr auto schema =
      "_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 2> body(const Tensor& data, const Tensor& batch_sizes, bool batch_first, Scalar padding, int64_t total) {
    FB_CHECK(batch_sizes.dtype() == DType::i64 && batch_sizes.ndim() == 1 && batch_sizes.numel() > 0 && batch_sizes.device().is_cpu(),
             "pad_packed_sequence: batch_sizes is a list of int64 on the CPU, its shape is ", batch_sizes.sizes(), " and its type ", batch_sizes.dtype());
    const Dims sizes = known_integers(batch_sizes);
    const int64_t steps = sizes.size(), length = total > 0 ? total : steps;
    FB_CHECK(length >= steps, "pad_packed_sequence: total_length must be at least the ", steps, " steps of the longest sequence, ", total, " was given");
    Dims shape(data.sizes());
    shape[0] = sizes[0];
    shape.insert(0, length);
    const Tensor r = op<"_pad_packed_sequence_to">(data, batch_sizes, shape, padding);
    const Tensor lengths = Tensor::empty({sizes[0]}, {DType::i64, Device()});
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t i = t + 1 < steps ? sizes[t + 1] : 0; i < sizes[t] && i < sizes[0]; ++i) lengths.ptr<int64_t>()[i] = t + 1;
    return {batch_first ? op<"transpose">(r, int64_t(0), int64_t(1)) : r, op<"lift_fresh">(lengths)};
  }
  static constexpr auto doc = R"(_pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length) -> (Tensor, Tensor)

Undoes _pack_padded_sequence: sequences of equal length, filled up with padding_value, and their lengths.)";
};
FB_CARD(pad_packed_sequence)

struct pad_sequence : composite<pad_sequence> {
  static constexpr auto schema = "pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str padding_side=\"right\") -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(TensorSpan sequences, bool batch_first, double padding, std::string_view side) {
    FB_CHECK(sequences.size() > 0, "pad_sequence: no sequences were given");
    FB_CHECK(side == "left" || side == "right", "pad_sequence: padding_side must be 'left' or 'right', '", side, "' was given");
    int64_t longest = 0;
    for (const Tensor& s : sequences) {
      FB_CHECK(s.ndim() > 0 && s.ndim() == sequences[0].ndim() && s.sizes().slice(1, s.ndim() - 1) == sequences[0].sizes().slice(1, s.ndim() - 1),
               "pad_sequence: sequences must agree in all dimensions but the first, their shapes are ", sequences[0].sizes(), " and ", s.sizes());
      longest = std::max(longest, s.sizes()[0]);
    }
    std::vector<Tensor> padded;
    for (const Tensor& s : sequences) {
      Dims pads(2 * s.ndim(), 0);
      pads[2 * s.ndim() - (side == "left" ? 2 : 1)] = longest - s.sizes()[0];
      padded.push_back(op<"constant_pad_nd">(s, pads, Scalar(padding)));
    }
    return op<"stack">(padded, batch_first ? int64_t(0) : int64_t(1));
  }
  static constexpr auto doc = R"(pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right") -> Tensor

Sequences (L, *) of different lengths, filled up to the longest, side by side: (longest, N, *), or with batch_first
(N, longest, *).)";
};
FB_CARD(pad_sequence)

}  // namespace fb::cards
