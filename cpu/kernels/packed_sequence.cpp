// Packing and padding of sequences: rows are copied step by step.
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

std::array<Tensor, 2> pack(const Tensor& input, const Tensor& lengths0, bool batch_first) {
  FB_CHECK(input.ndim() >= 2 && input.numel() > 0, "pack_padded_sequence: the input has dimensions (steps, batch, ...) and is not empty, its shape is ", input.sizes());
  const Tensor x = batch_first ? op<"transpose">(input, int64_t(0), int64_t(1)) : input;
  FB_CHECK(lengths0.dtype() == DType::i64 && lengths0.ndim() == 1 && lengths0.numel() == x.sizes()[1], "pack_padded_sequence: lengths must be int64 of shape (", x.sizes()[1],
           ",), they are ", lengths0.dtype(), " of shape ", lengths0.sizes());
  const Tensor lengths = op<"contiguous">(lengths0);
  const int64_t n = lengths.numel(), *len = lengths.ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    FB_CHECK(len[i] > 0, "pack_padded_sequence: lengths must be positive, number ", i, " is ", len[i]);
    FB_CHECK(i == 0 || len[i] <= len[i - 1], "pack_padded_sequence: lengths must not grow, ", len[i - 1], " is followed by ", len[i], "; see enforce_sorted");
  }
  FB_CHECK(len[0] <= x.sizes()[0], "pack_padded_sequence: length ", len[0], " exceeds the ", x.sizes()[0], " steps of the input of shape ", input.sizes());
  const Tensor sizes = Tensor::empty({len[0]}, {DType::i64, Device()});
  std::vector<Tensor> rows;
  int64_t count = n;
  for (int64_t t = 0; t < len[0]; ++t) {
    while (len[count - 1] <= t) --count;
    sizes.ptr<int64_t>()[t] = count;
    rows.push_back(op<"narrow">(op<"select">(x, int64_t(0), t), int64_t(0), int64_t(0), count));
  }
  GradMode no(false);
  return {op<"cat">(rows, int64_t(0)), sizes};
}

Tensor pad(const Tensor& data, const Tensor& sizes0, Ints shape, Scalar padding) {
  const Tensor sizes = op<"contiguous">(sizes0);
  GradMode no(false);
  const Tensor out = Tensor::empty(shape, data.options());
  op_list<"fill_">(out, padding);
  int64_t offset = 0;
  for (int64_t t = 0; t < sizes.numel(); ++t) {
    const int64_t count = sizes.ptr<int64_t>()[t];
    FB_CHECK(count > 0 && count <= shape[1] && offset + count <= data.sizes()[0], "pad_packed_sequence: batch_sizes do not fit data of shape ", data.sizes());
    op_list<"copy_">(op<"narrow">(op<"select">(out, int64_t(0), t), int64_t(0), int64_t(0), count), op<"narrow">(data, int64_t(0), offset, count));
    offset += count;
  }
  FB_CHECK(offset == data.sizes()[0], "pad_packed_sequence: batch_sizes add up to ", offset, ", the data has shape ", data.sizes());
  return out;
}

}  // namespace

FB_KERNEL_DIRECT("_pack_padded_sequence", pack)
FB_KERNEL_DIRECT("_pad_packed_sequence_to", pad)

}  // namespace fb
