#include "ops/loss/ctc.h"
#include "ops/create/known_values.h"

#include <limits>

namespace fb::cards::ctc {

Dims lengths_of(const char* what, const Tensor& lengths) {
  FB_CHECK(is_integral(lengths.dtype()), "ctc_loss: ", what, " must be integers, their type is ", lengths.dtype());
  return known_integers(op<"reshape">(lengths.dtype() == DType::i64 ? lengths : op<"to">(lengths, DType::i64), Ints{-1}));
}

Tensor loss(const Tensor& log_probs, const Tensor& targets, Ints input_lengths, Ints target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  FB_CHECK(log_probs.ndim() == 2 || log_probs.ndim() == 3, "ctc_loss: log_probs have dimensions (steps, batch, classes) or (steps, classes), their shape is ", log_probs.sizes());
  const bool single = log_probs.ndim() == 2;
  Tensor r = ops<"_ctc_loss", 2>(single ? op<"unsqueeze">(log_probs, int64_t(1)) : log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0];
  if (zero_infinity) r = op<"where">(op<"eq">(r, std::numeric_limits<double>::infinity()), op<"zeros_like">(r), r);
  if (single) r = op<"squeeze">(r, int64_t(0));
  if (reduction == cards::loss::kSum) return op<"sum">(r);
  if (reduction != cards::loss::kMean) return r;
  Tensor lengths = Tensor::empty({target_lengths.size()}, {DType::i64, Device()});
  for (int64_t i = 0; i < target_lengths.size(); ++i) lengths.ptr<int64_t>()[i] = std::max<int64_t>(1, target_lengths[i]);
  return op<"mean">(op<"div">(r, op<"to.device">(op<"lift_fresh">(lengths), r.device(), r.dtype())));
}

}  // namespace fb::cards::ctc
