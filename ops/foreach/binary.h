// Arithmetic of each tensor of a list with its counterpart in another, or with a number.
#pragma once
#include "ops/foreach/lists.h"

namespace fb::cards {

#define FB_ALPHA ", Tensor[] other, *, Scalar alpha=1"
#define FB_LIST ", Tensor[] other"
#define FB_NUMBERS ", Scalar[] scalars"
#define FB_NUMBER ", Scalar scalar"

FB_FOREACH(ForeachAddTensor, "add", ".Tensor", ", Tensor other, *, Scalar alpha=1", (, other), (, other, alpha), const Tensor& other, const Scalar& alpha)
FB_FOREACH(ForeachAddList, "add", ".List", FB_ALPHA, (, other), (, other[i], alpha), TensorSpan other, const Scalar& alpha)
FB_FOREACH(ForeachAddScalarList, "add", ".ScalarList", FB_NUMBERS, (, scalars), (, scalars[i]), Span<Scalar> scalars)
FB_FOREACH(ForeachAddScalar, "add", ".Scalar", FB_NUMBER, (), (, scalar), const Scalar& scalar)

FB_FOREACH(ForeachSubList, "sub", ".List", FB_ALPHA, (, other), (, other[i], alpha), TensorSpan other, const Scalar& alpha)
FB_FOREACH(ForeachSubScalarList, "sub", ".ScalarList", FB_NUMBERS, (, scalars), (, scalars[i]), Span<Scalar> scalars)
FB_FOREACH(ForeachSubScalar, "sub", ".Scalar", FB_NUMBER, (), (, scalar), const Scalar& scalar)

#define FB_PRODUCT(ID, NAME)                                                                                            \
  FB_FOREACH(Foreach##ID##Tensor, NAME, ".Tensor", ", Tensor other", (, other), (, other), const Tensor& other)         \
  FB_FOREACH(Foreach##ID##List, NAME, ".List", FB_LIST, (, other), (, other[i]), TensorSpan other)                      \
  FB_FOREACH(Foreach##ID##ScalarList, NAME, ".ScalarList", FB_NUMBERS, (, scalars), (, scalars[i]), Span<Scalar> scalars) \
  FB_FOREACH(Foreach##ID##Scalar, NAME, ".Scalar", FB_NUMBER, (), (, scalar), const Scalar& scalar)
FB_PRODUCT(Mul, "mul")
FB_PRODUCT(Div, "div")
#undef FB_PRODUCT

#define FB_CLAMP(ID, NAME)                                                                                              \
  FB_FOREACH(Foreach##ID##List, NAME, ".List", FB_LIST, (, other), (, other[i]), TensorSpan other)                      \
  FB_FOREACH(Foreach##ID##ScalarList, NAME, ".ScalarList", FB_NUMBERS, (, scalars), (, scalars[i]), Span<Scalar> scalars) \
  FB_FOREACH(Foreach##ID##Scalar, NAME, ".Scalar", FB_NUMBER, (), (, scalar), const Scalar& scalar)
FB_CLAMP(ClampMin, "clamp_min")
FB_CLAMP(ClampMax, "clamp_max")
#undef FB_CLAMP

// maximum has no form in place, nor one with a number.
#define FB_EXTREME(ID, NAME, CLAMP)                                                                                     \
  FB_FOREACH_AS(Foreach##ID##List, NAME, ".List", FB_LIST, (, other), op<NAME>(self[i], other[i]),                      \
                op_list<"copy_">(self[i], op<NAME>(self[i], other[i])), TensorSpan other)                                \
  FB_FOREACH_AS(Foreach##ID##ScalarList, NAME, ".ScalarList", FB_NUMBERS, (, scalars), op<CLAMP>(self[i], scalars[i]),  \
                op_list<CLAMP "_">(self[i], scalars[i]), Span<Scalar> scalars)                                          \
  FB_FOREACH_AS(Foreach##ID##Scalar, NAME, ".Scalar", FB_NUMBER, (), op<CLAMP>(self[i], scalar), op_list<CLAMP "_">(self[i], scalar), \
                const Scalar& scalar)
FB_EXTREME(Maximum, "maximum", "clamp_min")
FB_EXTREME(Minimum, "minimum", "clamp_max")
#undef FB_EXTREME

FB_FOREACH(ForeachPowList, "pow", ".List", ", Tensor[] exponent", (, exponent), (, exponent[i]), TensorSpan exponent)
FB_FOREACH(ForeachPowScalarList, "pow", ".ScalarList", ", Scalar[] exponent", (, exponent), (, exponent[i]), Span<Scalar> exponent)
FB_FOREACH(ForeachPowScalar, "pow", ".Scalar", ", Scalar exponent", (), (, exponent), const Scalar& exponent)
struct ForeachPowScalarAndTensor : composite<ForeachPowScalarAndTensor> {
  static constexpr auto schema = "_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::visible;
  static std::vector<Tensor> body(const Scalar& self, TensorSpan exponent) {
    foreach::check("_foreach_pow", exponent);
    return foreach::each(exponent, [&](int64_t i) { return op<"pow">(self, exponent[i]); });
  }
};
FB_CARD(ForeachPowScalarAndTensor)

#undef FB_ALPHA
#undef FB_LIST
#undef FB_NUMBERS
#undef FB_NUMBER

}  // namespace fb::cards
