#include "ops/reduce/order.h"

namespace fb::cards {

Tensor quantile_scalar(const char* name, const Tensor& self, double q) {
  FB_CHECK(q >= 0 && q <= 1, name, ": q is ", q, "; it lies in [0, 1]");
  return op<"full">(Ints(), Scalar(q), self.dtype(), std::nullopt, self.device());
}

Tensor quantile_of(const char* name, const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view how, bool skip_nan) {
  FB_CHECK(how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest", name, ": interpolation is '", how,
           "'; it is linear, lower, higher, midpoint or nearest");
  FB_CHECK(self.numel() > 0, name, ": the input of shape ", self.sizes(), " is empty");
  FB_CHECK(q.ndim() <= 1, name, ": q has shape ", q.sizes(), "; it is a number or one row of numbers");
  FB_CHECK(self.dtype() == DType::f32 || self.dtype() == DType::f64, name, " takes float and double, the input is ", self.dtype());
  FB_CHECK(q.dtype() == self.dtype(), name, ": q is ", q.dtype(), ", the input ", self.dtype(), "; both have one type");
  const int64_t d = wrap_dim(dim.value_or(0), self.ndim());
  Tensor x = !dim ? op<"reshape">(self, Dims{-1}) : self.ndim() == 0 ? op<"reshape">(self, Dims{1}) : op<"movedim">(self, Dims{d}, Dims{-1});
  const Tensor sorted = ops<"sort", 2>(x, int64_t(-1), false)[0];
  const int64_t n = sorted.sizes()[sorted.ndim() - 1];
  const Tensor qs = q.ndim() == 0 ? op<"unsqueeze">(q, int64_t(0)) : q;
  // Places within a sorted row, one for each q: [..., Q].
  Dims places(sorted.sizes());
  places.back() = qs.numel();
  Tensor rank;
  if (skip_nan) {
    const Tensor count = op<"sum">(op<"logical_not">(op<"isnan">(op<"detach">(sorted))), Dims{-1}, true);
    rank = op<"mul">(qs, op<"to">(op<"sub">(count, Scalar(1)), self.dtype()));
    rank = op<"masked_fill">(rank, op<"lt">(rank, Scalar(0)), Scalar(0));
  } else {
    const Tensor last = op<"isnan">(op<"detach">(op<"narrow">(sorted, int64_t(-1), n - 1, int64_t(1))));
    rank = op<"masked_fill">(op<"expand">(op<"mul">(qs, Scalar(n - 1)), places), last, Scalar(n - 1));
  }
  rank = op<"expand">(rank, places);
  if (how == "lower") rank = op<"floor">(rank);
  else if (how == "higher") rank = op<"ceil">(rank);
  else if (how == "nearest") rank = op<"round">(rank);
  auto pick = [&](const Tensor& r) { return op<"gather">(sorted, int64_t(-1), op<"contiguous">(op<"to">(r, DType::i64))); };
  const Tensor below = op<"floor">(rank);
  Tensor values = pick(below);
  if (how == "linear" || how == "midpoint") {
    const Tensor above = pick(op<"ceil">(rank));
    const Tensor weight = how == "midpoint" ? op<"full_like">(rank, Scalar(0.5)) : op<"sub">(rank, below);
    values = op<"lerp">(values, above, weight);
  }
  // [..., Q] -> [Q, ...]: with the reduced dimensions as they are to be.
  if (q.ndim() == 0) {
    if (!keepdim) values = op<"squeeze">(values, int64_t(-1));
  } else {
    values = op<"movedim">(values, Dims{-1}, Dims{0});
  }
  if (keepdim) {
    const int64_t lead = q.ndim();
    Dims sizes;
    if (lead) sizes.push_back(qs.numel());
    for (int64_t i = 0; i < self.ndim(); ++i) sizes.push_back(!dim || i == d ? 1 : self.sizes()[i]);
    if (q.ndim() == 0 && dim && self.ndim()) values = op<"movedim">(values, Dims{-1}, Dims{d});
    values = op<"reshape">(values, sizes);
  }
  return values;
}

}  // namespace fb::cards
