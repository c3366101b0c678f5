#include "ops/loss/pair_distances.h"

#include <cmath>

namespace fb::cards {

namespace {

// The gradient of the p-norm `dist` (..., 1) of `diff` (..., D) along its elements, and the derivatives of that with respect
// to diff and dist, each taken alone. Undefined where it is zero everywhere.
struct Slopes {
  Tensor value, by_difference, by_distance;
};
Slopes slopes_of(const Tensor& diff, const Tensor& dist, double p) {
  if (p == 0) return {};
  const Tensor sign = op<"sign">(diff);
  if (p == 1) return {sign, {}, {}};
  if (std::isinf(p)) return {op<"mul">(sign, op<"to.dtype">(op<"eq">(op<"abs">(diff), dist), diff.dtype())), {}, {}};
  const Tensor none = op<"eq">(dist, int64_t(0));
  const Tensor inverse = op<"masked_fill">(op<"reciprocal">(op<"masked_fill">(dist, none, 1.0)), none, 0.0);
  if (p == 2) {
    const Tensor s = op<"mul">(diff, inverse);
    return {s, inverse, op<"neg">(op<"mul">(s, inverse))};
  }
  // sign(x) (|x| / d)^(p - 1)
  const Tensor size = op<"abs">(diff), zero = op<"logical_or">(op<"eq">(size, int64_t(0)), none);
  const Tensor ratio = op<"masked_fill">(op<"mul">(size, inverse), zero, 1.0);
  auto power = [&](double e) { return op<"masked_fill">(op<"pow">(ratio, Scalar(e)), zero, 0.0); };
  const Tensor s = op<"mul">(sign, power(p - 1));
  return {s, op<"mul">(op<"mul">(power(p - 2), inverse), p - 1), op<"mul">(op<"mul">(s, inverse), 1 - p)};
}

Tensor summed(const Tensor& t, int64_t dim) { return op<"sum">(t, Dims{dim}, false); }

}  // namespace

// out[i] = sum_j g[i, j] S(a[i] - b[j], dist[i, j])
std::array<Tensor, 4> cdist_backward::second(grad<0> u, in<0> g, in<1> a, in<2> b, arg<3, double> p, in<4> dist, needs want) {
  const Tensor diff = op<"sub">(op<"unsqueeze">(*a, int64_t(-2)), op<"unsqueeze">(*b, int64_t(-3)));  // (..., P, R, D)
  const Slopes s = slopes_of(diff, op<"unsqueeze">(*dist, int64_t(-1)), *p);
  const Tensor each = op<"unsqueeze">(*u, int64_t(-2));  // (..., P, 1, D)
  std::array<Tensor, 4> r;
  if (want[0] && s.value.defined()) r[0] = summed(op<"mul">(each, s.value), -1);
  if (!s.by_difference.defined()) {
    if (want[1]) r[1] = op<"zeros_like">(*a);
    if (want[2]) r[2] = op<"zeros_like">(*b);
    return r;
  }
  const Tensor weighted = op<"mul">(op<"unsqueeze">(*g, int64_t(-1)), each);
  if (want[1] || want[2]) {
    const Tensor q = op<"mul">(weighted, s.by_difference);
    if (want[1]) r[1] = summed(q, -2);
    if (want[2]) r[2] = op<"neg">(summed(q, -3));
  }
  if (want[4]) r[3] = summed(op<"mul">(weighted, s.by_distance), -1);
  return r;
}

// out[i] += g S(x[i] - x[j], dist) and out[j] -= the same, for the pairs i < j in their order
std::array<Tensor, 3> pdist_backward::second(grad<0> u, in<0> g, in<1> x, arg<2, double> p, in<3> dist, needs want) {
  const int64_t rows = x->sizes()[0];
  const Tensor pairs = op<"triu_indices">(rows, rows, int64_t(1), DType::i64, std::nullopt, x->device());  // (2, pairs)
  const Tensor i = op<"select">(pairs, int64_t(0), int64_t(0)), j = op<"select">(pairs, int64_t(0), int64_t(1));
  auto between = [&](const Tensor& t) { return op<"sub">(op<"index_select">(t, int64_t(0), i), op<"index_select">(t, int64_t(0), j)); };
  const Slopes s = slopes_of(between(*x), op<"unsqueeze">(*dist, int64_t(-1)), *p);
  const Tensor each = between(*u);  // (pairs, D)
  std::array<Tensor, 3> r;
  if (want[0] && s.value.defined()) r[0] = summed(op<"mul">(each, s.value), -1);
  if (!s.by_difference.defined()) {
    if (want[1]) r[1] = op<"zeros_like">(*x);
    return r;
  }
  const Tensor weighted = op<"mul">(op<"unsqueeze">(*g, int64_t(-1)), each);
  if (want[1]) {
    const Tensor q = op<"mul">(weighted, s.by_difference);
    r[1] = op<"index_add">(op<"index_add">(op<"zeros_like">(*x), int64_t(0), i, q), int64_t(0), j, op<"neg">(q));
  }
  if (want[3]) r[2] = summed(op<"mul">(weighted, s.by_distance), -1);
  return r;
}

}  // namespace fb::cards
