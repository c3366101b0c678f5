// Histograms at a level of vmap: the bin of every element, then sums of all examples at once.
#include <cmath>

#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

Tensor as(const Tensor& t, DType d) { return t.dtype() == d ? t : op<"to.dtype">(t, d); }
Tensor rows_of(BatchCall& c, int i) { return as(op<"reshape">(c.expanded(i), Ints{c.n, numel_of(c.shape(i))}), DType::f64); }
bool not_finite(const Tensor& x) { return any_holds(op<"logical_not">(op<"isfinite">(x))); }
Tensor number(const Tensor& like, double v) { return op<"full">(Ints{1, 1}, Scalar(v), DType::f64, std::nullopt, like.device()); }

// The least and the greatest element of each row, `grow` apart from the only one: [n, 1].
struct Range {
  Tensor low, high;
};
Range range_of(const Tensor& x, double grow) {
  const Tensor low = op<"amin">(x, Dims{1}, true), high = op<"amax">(x, Dims{1}, true), one = op<"mul">(as(op<"eq">(low, high), DType::f64), grow);
  return {op<"sub">(low, one), op<"add">(high, one)};
}
// Sums of the weights of each bin: places [n, N] within [0, bins).
Tensor counted(const Tensor& places, const Tensor& weights, int64_t bins) {
  const Tensor none = op<"new_zeros">(weights, Ints{weights.sizes()[0], bins});
  return op<"scatter_add">(none, int64_t(1), places, weights);
}

// (self, bins, min, max)
bool histc(BatchCall& c) {
  const int64_t bins = c.arg<int64_t>(1);
  const double low = c.arg<Scalar>(2).to_double(), high = c.arg<Scalar>(3).to_double();
  const DType type = c.args[0].tensor().dtype();
  if (c.n == 0 || bins <= 0 || !(is_half(type) || type == DType::f32 || type == DType::f64) || !(low <= high) || !std::isfinite(low) || !std::isfinite(high)) return false;
  const Tensor x = rows_of(c, 0);
  Range r{number(x, low), number(x, high)};
  if (low == high) {
    if (x.sizes()[1] == 0 || not_finite(x)) return false;
    r = range_of(x, 1);
  }
  const Tensor in = op<"logical_and">(op<"ge">(x, r.low), op<"le">(x, r.high));
  const DType wide = type == DType::f64 ? DType::f64 : DType::f32;
  const Tensor from = as(r.low, wide), step = op<"div">(op<"sub">(as(x, wide), from), op<"sub">(as(r.high, wide), from));
  Tensor place = as(op<"mul">(step, Scalar(double(bins))), DType::f64);
  place = op<"where">(op<"logical_and">(in, op<"ge">(place, Scalar(0))), place, op<"zeros_like">(place));
  const Tensor at = as(op<"clamp_max">(place, Scalar(double(bins - 1))), DType::i64);
  c.give(as(counted(at, as(in, DType::f64), bins), type));
  return true;
}
FB_BATCH("histc", histc)

// Elements by edges that ascend: [m], or [n, m] for edges of each row.
bool count_by_edges(BatchCall& c, const Tensor& edges, DType type, int weight, bool density) {
  if (c.given(weight) && (c.args[weight].tensor().dtype() != type || numel_of(c.shape(weight)) != numel_of(c.shape(0)))) return false;
  const int64_t last = edges.ndim() - 1, bins = edges.sizes()[last] - 1;
  const Tensor x = rows_of(c, 0), e = as(edges, DType::f64);
  auto edge = [&](int64_t i) { return op<"narrow">(e, last, i, int64_t(1)); };
  const Tensor in = op<"logical_and">(op<"ge">(x, edge(0)), op<"le">(x, edge(bins)));
  const Tensor after = op<"searchsorted">(op<"contiguous">(e), op<"contiguous">(x), false, true);
  const Tensor at = op<"clamp">(op<"sub">(after, Scalar(1)), Scalar(0), Scalar(bins - 1));
  const Tensor weights = c.given(weight) ? op<"where">(in, rows_of(c, weight), op<"zeros_like">(x)) : as(in, DType::f64);
  Tensor count = counted(at, weights, bins);
  if (density) count = op<"div">(count, op<"mul">(op<"sum">(count, Dims{1}, true), op<"sub">(op<"narrow">(e, last, int64_t(1), bins), op<"narrow">(e, last, int64_t(0), bins))));
  c.give(as(count, type));
  return true;
}

// (self, bins, *, weight, density)
bool histogram_by_edges(BatchCall& c) {
  const DType type = c.args[0].tensor().dtype();
  if (c.n == 0 || (type != DType::f32 && type != DType::f64) || c.args[1].tensor().dtype() != type || c.rank(1) != 1 || c.shape(1)[0] < 2) return false;
  const Tensor edges = c.front(1);
  if (!count_by_edges(c, edges, type, 2, c.arg<bool>(3))) return false;
  c.give(op<"clone">(edges), c.batched(1) ? 0 : -1);
  return true;
}
FB_BATCH("histogram.bins_tensor", histogram_by_edges)

// (self, bins, *, range, weight, density)
bool histogram_by_count(BatchCall& c) {
  const DType type = c.args[0].tensor().dtype();
  const int64_t bins = c.arg<int64_t>(1);
  const Span<double> range = c.arg<Span<double>>(2);
  if (c.n == 0 || (type != DType::f32 && type != DType::f64) || bins <= 0) return false;
  if (!range.empty() || numel_of(c.shape(0)) == 0) {  // the same for all examples
    const Tensor none = op<"new_empty">(c.front(0), Ints{0});
    const Tensor edges = ops<"histogram.bin_ct", 2>(none, bins, range.empty() ? Value() : Value(range), std::nullopt, false)[1];
    if (!count_by_edges(c, edges, type, 3, c.arg<bool>(4))) return false;
    c.give(edges, -1);
    return true;
  }
  const Tensor x = rows_of(c, 0);
  if (not_finite(x)) return false;
  // As linspace: from both ends.
  const Range r = range_of(x, 0.5);
  const Tensor step = op<"div">(op<"sub">(r.high, r.low), Scalar(double(bins)));
  const Tensor i = op<"arange">(Scalar(bins + 1), DType::f64, std::nullopt, x.device());
  const Tensor up = op<"add">(r.low, op<"mul">(step, i)), down = op<"sub">(r.high, op<"mul">(step, op<"rsub">(i, Scalar(double(bins)))));
  const Tensor edges = as(op<"where">(op<"lt">(i, Scalar(double((bins + 1) / 2))), up, down), type);  // [n, bins + 1]
  if (!count_by_edges(c, edges, type, 3, c.arg<bool>(4))) return false;
  c.give(edges);
  return true;
}
FB_BATCH("histogram.bin_ct", histogram_by_count)

// (self, weights, minlength). Where the examples' counts have one length, as with a minlength that covers all of them.
bool bincount(BatchCall& c) {
  const Tensor x0 = c.expanded(0);
  if (c.rank(0) != 1 || !is_integral(x0.dtype()) || c.n == 0 || x0->wrapped || x0->python || x0.is_meta()) return false;
  if (c.given(1) && !(c.shape(1) == c.shape(0))) return false;
  const Tensor x = as(x0, DType::i64);
  int64_t length = std::max<int64_t>(0, c.arg<int64_t>(2));
  if (x.numel()) {
    FB_CHECK(!any_holds(op<"lt">(x, Scalar(0))), "bincount: the input of shape ", c.shape(0), " holds numbers below 0");
    const Tensor most = op<"clamp_min">(op<"add">(op<"amax">(x, Dims{1}), Scalar(1)), Scalar(length));  // [n]
    length = op_value<"item">(op<"amax">(most)).integer();
    if (op_value<"item">(op<"amin">(most)).integer() != length) return false;
  }
  const Tensor step = op<"mul">(op<"arange">(Scalar(c.n), DType::i64, std::nullopt, x.device()), Scalar(length));
  const Tensor at = op<"reshape">(op<"add">(x, op<"unsqueeze">(step, int64_t(1))), Ints{-1});
  const Tensor all = op<"bincount">(at, c.given(1) ? op<"reshape">(c.expanded(1), Ints{-1}) : Tensor(), c.n * length);
  c.give(op<"view">(all, Ints{c.n, length}));
  return true;
}
FB_BATCH("bincount", bincount)

}  // namespace
}  // namespace fb
