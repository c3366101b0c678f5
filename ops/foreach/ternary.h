// Sums with products and blends of each tensor of a list with its counterparts in two others.
#pragma once
#include "ops/foreach/lists.h"

namespace fb::cards {

// With a tensor of numbers the two cards have a text of their own.
#define FB_BY_TENSOR(ID, NAME)                                                                                          \
  struct ID : composite<ID> {                                                                                           \
    static constexpr auto schema = "_foreach_" NAME ".Tensor(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> Tensor[]"; \
    static constexpr uint32_t forms = form::fn | form::visible;                                                                         \
    static std::vector<Tensor> body(TensorSpan self, TensorSpan a, TensorSpan b, const Tensor& scalars) {               \
      foreach::check("_foreach_" NAME, self, a, b);                                                                     \
      const std::vector<Scalar> v = foreach::numbers("_foreach_" NAME, self, scalars);                                  \
      return foreach::each(self, [&](int64_t i) { return op<NAME>(self[i], a[i], b[i], v[size_t(i)]); });               \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(ID)                                                                                                           \
  struct ID##InPlace : composite<ID##InPlace> {                                                                         \
    static constexpr auto schema = "_foreach_" NAME "_.Tensor(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Tensor scalars) -> ()"; \
    static constexpr uint32_t forms = form::fn | form::visible;                                                                         \
    static std::tuple<> body(TensorSpan self, TensorSpan a, TensorSpan b, const Tensor& scalars) {                      \
      foreach::check("_foreach_" NAME "_", self, a, b);                                                                 \
      const std::vector<Scalar> v = foreach::numbers("_foreach_" NAME "_", self, scalars);                              \
      return foreach::each_inplace(self, [&](int64_t i) { op_list<NAME "_">(self[i], a[i], b[i], v[size_t(i)]); });     \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(ID##InPlace)
#define FB_PRODUCT_SUM(ID, NAME)                                                                                        \
  FB_BY_TENSOR(Foreach##ID##Tensor, NAME)                                                                               \
  FB_FOREACH(Foreach##ID##ScalarList, NAME, ".ScalarList", ", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars",     \
             (, a, b, scalars), (, a[i], b[i], scalars[i]), TensorSpan a, TensorSpan b, Span<Scalar> scalars)           \
  FB_FOREACH(Foreach##ID##Scalar, NAME, ".Scalar", ", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1", (, a, b),     \
             (, a[i], b[i], value), TensorSpan a, TensorSpan b, const Scalar& value)
FB_PRODUCT_SUM(Addcmul, "addcmul")
FB_PRODUCT_SUM(Addcdiv, "addcdiv")
#undef FB_PRODUCT_SUM
#undef FB_BY_TENSOR

FB_FOREACH(ForeachLerpList, "lerp", ".List", ", Tensor[] tensors1, Tensor[] weights", (, tensors1, weights), (, tensors1[i], weights[i]), TensorSpan tensors1,
           TensorSpan weights)
FB_FOREACH(ForeachLerpScalarList, "lerp", ".ScalarList", ", Tensor[] tensors1, Scalar[] weight", (, tensors1, weight), (, tensors1[i], weight[i]), TensorSpan tensors1,
           Span<Scalar> weight)
FB_FOREACH(ForeachLerpScalar, "lerp", ".Scalar", ", Tensor[] tensors1, Scalar weight", (, tensors1), (, tensors1[i], weight), TensorSpan tensors1, const Scalar& weight)

}  // namespace fb::cards
