#include "ops/scan/scan.h"

#include <limits>

#include "dispatch/levels.h"
#include "dispatch/thread_state.h"

namespace fb {

Tensor cumprod_gradient(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.numel() <= 1 || self.ndim() == 0) return g;
  const int64_t d = wrap_dim(dim, self.ndim()), n = self.sizes()[d];
  if (n == 1) return g;
  const bool zeros = !self.is_meta() && holds(op<"any">(op<"eq">(self, Scalar(0))));
  if (!zeros) return op<"div">(sum_from_behind(op<"mul">(conj(result), g), d), conj(self));
  // The gradient of element k: what comes to j >= k times the product up to j without k.
  std::vector<Tensor> parts;
  const Tensor one = op<"ones_like">(op<"narrow">(self, d, int64_t(0), int64_t(1)));
  for (int64_t k = 0; k < n; ++k) {
    Tensor product = one;
    if (k + 1 < n) {
      const std::vector<Tensor> rest{one, op<"cumprod">(op<"narrow">(self, d, k + 1, n - k - 1), d)};
      product = op<"cat">(rest, d);
    }
    if (k > 0) product = op<"mul">(product, op<"prod">(op<"narrow">(self, d, int64_t(0), k), d, true));
    parts.push_back(op<"sum">(op<"mul">(op<"narrow">(g, d, k, n - k), conj(product)), Dims{d}, true));
  }
  return op<"cat">(parts, d);
}

Tensor logcumsumexp_gradient(const Tensor& g, const Tensor& self, const Tensor& result, int64_t dim) {
  if (self.ndim() == 0 || self.numel() == 0) return g;
  auto behind = [&](const Tensor& x) { return op<"flip">(op<"logcumsumexp">(op<"flip">(x, Dims{dim}), dim), Dims{dim}); };
  const Tensor least = op<"full_like">(g, Scalar(-std::numeric_limits<double>::infinity()));
  const Tensor one = op<"ones_like">(g);
  if (self.is_complex()) {
    // conj(x_i) + log of the sum of g_j e^-conj(y_j): the exponentials alone would overflow.
    const Tensor real = op<"real">(result), falls = op<"eq">(real, op<"real">(least)), level = op<"where">(falls, op<"zeros_like">(result), result);
    const Tensor something = op<"ne">(g, Scalar(0)), log_g = op<"where">(something, op<"log">(op<"where">(something, g, one)), least);
    const Tensor all = op<"exp">(op<"add">(behind(op<"sub">(log_g, conj(level))), conj(self)));
    if (!tls.grad_enabled) return all;
    // As below, for elements of g that are 0.
    const Tensor zeros = op<"where">(something, op<"zeros_like">(g), g), top = op<"detach">(op<"amax">(op<"real">(level), Dims{dim}, true));
    const Tensor drop = op<"sub">(top, level), bounded = op<"where">(op<"gt">(op<"real">(drop), Scalar(80)), op<"zeros_like">(drop), drop);
    return op<"add">(all, op<"mul">(conj(op<"exp">(op<"sub">(self, top))), sum_from_behind(op<"mul">(zeros, conj(op<"exp">(bounded))), dim)));
  }
  // Positive and negative parts of g apart, in logarithms.
  const Tensor none = op<"zeros_like">(result);
  auto log_where = [&](const Tensor& mask, const Tensor& x) { return op<"where">(mask, op<"log">(op<"where">(mask, x, one)), least); };
  const Tensor up = log_where(op<"gt">(g, Scalar(0)), g), down = log_where(op<"lt">(g, Scalar(0)), op<"neg">(g));
  // A result of -inf is a sum of nothing; taken as it is, it would turn the second derivative into NaN.
  const Tensor level = op<"where">(op<"eq">(result, least), none, result);
  auto part = [&](const Tensor& log_g) { return op<"exp">(op<"add">(behind(op<"sub">(log_g, level)), self)); };
  const Tensor all = op<"sub">(part(up), part(down));
  if (!tls.grad_enabled) return all;
  // Elements of g that are 0 give nothing, and have a derivative: the gradient is linear in g.
  const Tensor zeros = op<"where">(op<"eq">(g, Scalar(0)), g, op<"zeros_like">(g)), top = op<"detach">(op<"amax">(level, Dims{dim}, true));
  const double far = g.dtype() == DType::f64 ? 700 : g.dtype() == DType::f16 ? 10 : 80;
  const Tensor falls = op<"exp">(op<"clamp_max">(op<"sub">(top, level), Scalar(far)));
  return op<"add">(all, op<"mul">(op<"exp">(op<"sub">(self, top)), sum_from_behind(op<"mul">(zeros, falls), dim)));
}

}  // namespace fb
