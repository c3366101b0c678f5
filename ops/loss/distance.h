// Likeness of vectors: cosine_similarity, pairwise_distance.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/thread_state.h"

namespace fb::cards {

struct cosine_similarity : composite<cosine_similarity> {
  static constexpr auto schema = "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor unit(const Tensor& x, Ints dims, double eps) {
    const Tensor norm = op<"clone">(op<"linalg_vector_norm">(x, Scalar(2), dims, true));
    GradMode no(false);  // the gradient is that of the norm itself
    op_list<"clamp_min_">(norm, eps);
    return norm;
  }
  static Tensor body(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
    const DType type = promote(x1.dtype(), x2.dtype());
    FB_CHECK(is_floating(type), "cosine_similarity: the inputs must be floating, their types are ", x1.dtype(), " and ", x2.dtype());
    const Dims shape = broadcast_sizes(x1.sizes(), x2.sizes()), dims{dim};
    auto ready = [&](const Tensor& x) {
      const Tensor t = x.dtype() == type ? x : op<"to">(x, type);
      return t.sizes() == shape ? t : op<"expand">(t, shape);
    };
    const Tensor a = ready(x1), b = ready(x2);
    return op<"sum">(op<"mul">(op<"div">(a, unit(a, dims, eps)), op<"div">(b, unit(b, dims, eps))), dims);
  }
  static constexpr auto doc = R"(cosine_similarity(x1, x2, dim=1, eps=1e-8) -> Tensor

The sum over dim of x1 / max(|x1|, eps) * x2 / max(|x2|, eps); x1 and x2, floating, broadcast to one shape.)";
};
FB_CARD(cosine_similarity)

struct pairwise_distance : composite<pairwise_distance> {
  static constexpr auto schema = "pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
    const int64_t dims = std::max(x1.ndim(), x2.ndim());
    return op<"norm">(op<"add">(op<"sub">(x1, x2), eps), Scalar(p), dims ? Dims{dims - 1} : Dims{}, keepdim);
  }
  static constexpr auto doc = R"(pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False) -> Tensor

The p-norm of x1 - x2 + eps along the last dimension: (N, D) and (N, D), or (D) and (D), which broadcast, to (N) or ().)";
};
FB_CARD(pairwise_distance)

}  // namespace fb::cards
