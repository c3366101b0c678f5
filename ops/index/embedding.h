// Rows of a table: embedding.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/index/reads.h"

namespace fb::cards {

struct embedding_dense_backward : structured<embedding_dense_backward, symbolic> {
  static constexpr auto schema =
      "embedding_dense_backward(Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T& g, const T& indices, typename T::Int num_weights, int64_t, bool) {
    FB_CHECK(indices.dtype() == DType::i64 || indices.dtype() == DType::i32, "embedding_dense_backward: indices are ", indices.dtype(), ", they must be int64 or int32");
    return T::empty({num_weights, g.sizes()[g.ndim() - 1]}, g.options());
  }
  // Each gradient row is what its index receives; padding rows receive nothing.
  static Tensor d_grad(grad<0> g, in<1> indices, arg<3, int64_t> padding, arg<4, bool> scale) {
    if (*scale) raise_not_implemented("the second derivative of embedding with scale_grad_by_freq=True");
    const Tensor r = op<"embedding">(*g, *indices);
    if (*padding < 0) return r;
    return op<"masked_fill">(r, op<"unsqueeze">(op<"eq">(*indices, Scalar(*padding)), int64_t(-1)), Scalar(0));
  }
  using vjp = rules<wrt<0, d_grad>>;
};
FB_CARD(embedding_dense_backward)

struct embedding : structured<embedding, symbolic> {
  static constexpr auto schema =
      "embedding(Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  template <class T> static T meta(const T& weight, const T& indices, int64_t, bool, bool) {
    FB_CHECK(weight.ndim() == 2, "embedding: weight must have 2 dimensions, its shape is ", weight.sizes());
    FB_CHECK(indices.dtype() == DType::i64 || indices.dtype() == DType::i32, "embedding: indices are ", indices.dtype(), ", they must be int64 or int32");
    typename T::Sizes sizes(indices.sizes());
    sizes.push_back(weight.sizes()[1]);
    return T::empty(sizes, weight.options());
  }
  static ReadRule read_rule(const Value*) { return {0, 1, 0, ReadRule::rows}; }
  static Tensor d_weight(grad<0> g, shape_of<0> weight, in<1> indices, arg<2, int64_t> padding, arg<3, bool> scale, arg<4, bool> sparse) {
    if (*sparse) raise_not_implemented("embedding with sparse=True: sparse gradients are not there");
    return op<"embedding_dense_backward">(*g, *indices, weight.sizes()[0], *padding, *scale);
  }
  using vjp = rules<wrt<0, d_weight>>;
  static constexpr auto doc = R"(embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False) -> Tensor

Row i of weight, shape (rows, width), for each i of indices: shape (*indices.shape, width). The row padding_idx receives no
gradient. IndexError outside [0, rows).)";
};
FB_CARD(embedding)

}  // namespace fb::cards
