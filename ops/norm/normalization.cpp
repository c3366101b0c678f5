#include "ops/norm/normalization.h"

namespace fb {

void check_norm_parameter(const char* op, const char* name, const Tensor& t, int64_t n) {
  FB_CHECK(!t.defined() || (t.ndim() == 1 && t.numel() == n), op, ": ", name, " has shape ", t.defined() ? t.sizes() : Ints(),
           "; it needs one number for each of the ", n, " channels");
}

std::array<Tensor, 2> norm_statistics(const Tensor& x, Ints dims, double eps) {
  const Tensor mean = op<"mean">(x, dims, true), d = op<"sub">(x, mean);
  return {mean, op<"rsqrt">(op<"add">(op<"mean">(op<"mul">(d, d), dims, true), Scalar(eps)))};
}

NormGradients norm_gradients(const Tensor& g, const Tensor& x, Ints dims, const Tensor& weight, const Tensor& mean, const Tensor& rstd,
                             bool through_statistics) {
  NormGradients r;
  const Tensor hat = op<"mul">(op<"sub">(x, mean), rstd);
  const Tensor gw = weight.defined() ? op<"mul">(g, weight) : g;
  if (through_statistics) {
    const Tensor a = op<"mean">(gw, dims, true), b = op<"mean">(op<"mul">(gw, hat), dims, true);
    r.input = op<"mul">(op<"sub">(op<"sub">(gw, a), op<"mul">(hat, b)), rstd);
  } else {
    r.input = op<"mul">(gw, rstd);
  }
  r.weight = op<"mul">(g, hat);
  r.bias = g;
  return r;
}

}  // namespace fb
