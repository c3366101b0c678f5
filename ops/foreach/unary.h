// Functions of one tensor for each of a list.
#pragma once
#include "ops/foreach/lists.h"

namespace fb::cards {

#define FB_UNARY(ID, NAME) FB_FOREACH(Foreach##ID, NAME, "", "", (), ())
FB_UNARY(Abs, "abs")
FB_UNARY(Acos, "acos")
FB_UNARY(Asin, "asin")
FB_UNARY(Atan, "atan")
FB_UNARY(Ceil, "ceil")
FB_UNARY(Cos, "cos")
FB_UNARY(Cosh, "cosh")
FB_UNARY(Erf, "erf")
FB_UNARY(Erfc, "erfc")
FB_UNARY(Exp, "exp")
FB_UNARY(Expm1, "expm1")
FB_UNARY(Floor, "floor")
FB_UNARY(Frac, "frac")
FB_UNARY(Lgamma, "lgamma")
FB_UNARY(Log, "log")
FB_UNARY(Log10, "log10")
FB_UNARY(Log1p, "log1p")
FB_UNARY(Log2, "log2")
FB_UNARY(Neg, "neg")
FB_UNARY(Reciprocal, "reciprocal")
FB_UNARY(Round, "round")
FB_UNARY(Rsqrt, "rsqrt")
FB_UNARY(Sigmoid, "sigmoid")
FB_UNARY(Sign, "sign")
FB_UNARY(Sin, "sin")
FB_UNARY(Sinh, "sinh")
FB_UNARY(Sqrt, "sqrt")
FB_UNARY(Tan, "tan")
FB_UNARY(Tanh, "tanh")
FB_UNARY(Trunc, "trunc")
#undef FB_UNARY

FB_FOREACH_AS(ForeachZero, "zero", "", "", (), op<"zeros_like">(self[i]), op_list<"zero_">(self[i]))
FB_FOREACH_AS(ForeachCopy, "copy", "", ", Tensor[] src, bool non_blocking=False", (, src), op<"copy_">(op<"empty_like">(self[i]), src[i], non_blocking),
              op_list<"copy_">(self[i], src[i], non_blocking), TensorSpan src, bool non_blocking)

struct ForeachClone : composite<ForeachClone> {
  static constexpr auto schema = "_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::visible;
  static constexpr auto doc = "A copy of each tensor of a list.";
  static std::vector<Tensor> body(TensorSpan self, std::optional<MemoryFormat> format) {
    foreach::check("_foreach_clone", self);
    return foreach::each(self, [&](int64_t i) { return op<"clone">(self[i], format); });
  }
};
FB_CARD(ForeachClone)

}  // namespace fb::cards
