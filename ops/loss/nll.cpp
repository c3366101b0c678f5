#include "ops/loss/nll.h"

namespace fb::cards {

Tensor nll_loss_nd::body(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore) {
  if (x.ndim() < 1) raise_value("nll_loss: expected an input of one dimension or more, got shape ", x.sizes());
  if (x.ndim() != 1 && x.sizes()[0] != t.size(0))
    raise_value("nll_loss: expected the input's batch size (", x.sizes()[0], ") to match the target's (", t.size(0), "); shapes ", x.sizes(), " and ", t.sizes());
  if (x.ndim() <= 2) return op<"nll_loss">(x, t, w, reduction, ignore);
  if (x.ndim() == 4) return op<"nll_loss2d">(x, t, w, reduction, ignore);
  // Three, or five and more dimensions: the spatial ones as one plane of height 1.
  const int64_t n = x.sizes()[0], c = x.sizes()[1];
  Dims out(x.sizes());
  out.erase(1);
  if (!(t.sizes().slice(1, t.ndim() - 1) == x.sizes().slice(2, x.ndim() - 2))) raise_runtime("nll_loss: expected a target of shape ", out, ", got ", t.sizes());
  const int64_t rest = numel_of(x.sizes().slice(2, x.ndim() - 2));
  const Tensor r = op<"nll_loss2d">(op<"reshape">(x, Ints{n, c, 1, rest}), op<"reshape">(t, Ints{n, 1, rest}), w, reduction, ignore);
  return reduction == loss::kNone ? op<"reshape">(r, out) : r;
}

Tensor cross_entropy_loss::body(const Tensor& x, const Tensor& t, const Tensor& w, int64_t reduction, int64_t ignore, double smoothing) {
  const int64_t dim = x.ndim() == 1 ? 0 : 1;
  FB_CHECK(x.ndim() > 0, "cross_entropy: expected an input of one dimension or more, got shape ", x.sizes());
  FB_CHECK(smoothing >= 0 && smoothing <= 1, "cross_entropy: label_smoothing must be between 0 and 1, got ", smoothing);
  const int64_t classes = x.sizes()[dim];
  FB_CHECK(!w.defined() || (w.ndim() == 1 && w.numel() == classes), "cross_entropy: expected a weight of ", classes, " elements or none, got shape ", w.defined() ? w.sizes() : Ints());
  Dims per_class(x.ndim(), 1);
  per_class[dim] = classes;
  if (x.sizes() == t.sizes() && t.is_floating()) {  // probabilities
    FB_CHECK(ignore < 0, "cross_entropy: ignore_index is not supported for targets that are probabilities, got ", ignore);
    Tensor p = t;
    if (smoothing > 0) p = op<"add">(op<"mul">(t, 1 - smoothing), smoothing / double(classes));
    Tensor l = op<"mul">(op<"log_softmax.int">(x, dim), p);
    if (w.defined()) l = op<"mul">(l, op<"reshape">(w, per_class));
    if (reduction == loss::kNone) return op<"neg">(op<"sum">(l, Ints{dim}));
    const Tensor s = op<"neg">(op<"sum">(l));
    if (reduction == loss::kSum) return s;
    return op<"div.Tensor">(s, double(x.numel() / (classes ? classes : 1)));
  }
  FB_CHECK(!t.is_floating() || t.sizes() == x.sizes(), "cross_entropy: a target of type ", t.dtype(), " must hold probabilities in the input's shape ", x.sizes(), ", got shape ", t.sizes());
  const Tensor lp = op<"log_softmax.int">(x, dim);
  if (smoothing == 0) return op<"nll_loss_nd">(lp, t, w, reduction, ignore);
  const Tensor nll = op<"nll_loss_nd">(lp, t, w, reduction, ignore);
  Tensor smooth = op<"neg">(op<"sum">(w.defined() ? op<"mul">(lp, op<"reshape">(w, per_class)) : lp, Ints{dim}));
  const Tensor skip = op<"eq">(t, ignore);
  smooth = op<"masked_fill">(smooth, skip, 0.0);
  if (reduction == loss::kMean) {
    if (w.defined()) {
      const Tensor clean = op<"masked_fill">(t, skip, 0.0);
      const Tensor total = op<"sum">(op<"masked_fill">(op<"reshape">(op<"gather">(w, int64_t(0), op<"reshape">(clean, Ints{-1})), clean.sizes()), skip, 0.0));
      smooth = op<"div.Tensor">(op<"sum">(smooth), total);
    } else {
      smooth = op<"div.Tensor">(op<"sum">(smooth), op<"sum">(op<"logical_not">(skip)));
    }
  } else if (reduction == loss::kSum) smooth = op<"sum">(smooth);
  return op<"add">(op<"mul">(nll, 1 - smoothing), op<"mul">(smooth, smoothing / double(classes)));
}

}  // namespace fb::cards
