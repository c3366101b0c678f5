// One number from each tensor of a list, and products of matrices of two lists.
#pragma once
#include <cmath>

#include "ops/foreach/lists.h"

namespace fb::cards {

struct ForeachMax : composite<ForeachMax> {
  static constexpr auto schema = "_foreach_max(Tensor[] self) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::visible;
  static constexpr auto doc = "The largest element of each tensor of a list, as 0-d tensors. RuntimeError for an empty tensor.";
  static std::vector<Tensor> body(TensorSpan self) {
    foreach::check("_foreach_max", self);
    return foreach::each(self, [&](int64_t i) {
      FB_CHECK(self[i].numel() > 0, "_foreach_max: self[", i, "] has no elements, its shape is ", self[i].sizes());
      return op<"max">(self[i]);
    });
  }
};
FB_CARD(ForeachMax)

struct ForeachNorm : composite<ForeachNorm> {
  static constexpr auto schema = "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::visible;
  static constexpr auto doc = "The vector norm of order `ord` over all elements of each tensor of a list, as 0-d tensors; computed in dtype where given.";
  static std::vector<Tensor> body(TensorSpan self, const Scalar& ord, DType dtype) {
    foreach::check("_foreach_norm", self);
    return foreach::each(self, [&](int64_t i) {
      FB_CHECK(self[i].numel() > 0 || !std::isinf(ord.to_double()), "_foreach_norm: self[", i, "] has no elements, its shape is ", self[i].sizes(), "; order ",
               ord.to_double(), " has no value there");
      return op<"linalg_vector_norm">(self[i], ord, std::nullopt, false, dtype);
    });
  }
};
FB_CARD(ForeachNorm)

struct ForeachPowsum : composite<ForeachPowsum> {
  static constexpr auto schema = "_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::visible;
  static constexpr auto doc = "The sum of |x|^ord over all elements of each tensor of a list, as 0-d tensors; computed in dtype where given.";
  static std::vector<Tensor> body(TensorSpan self, const Scalar& ord, DType dtype) {
    foreach::check("_foreach_powsum", self);
    return foreach::each(self, [&](int64_t i) {
      const Tensor x = dtype == DType::none ? self[i] : op<"to.dtype">(self[i], dtype);
      return op<"sum">(op<"pow">(op<"abs">(x), ord));
    });
  }
};
FB_CARD(ForeachPowsum)

struct ForeachMm : composite<ForeachMm> {
  static constexpr auto schema = "_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::visible;
  static constexpr auto doc = "The matrix product of each tensor of a list with its counterpart.";
  static std::vector<Tensor> body(TensorSpan self, TensorSpan mat2) {
    foreach::check("_foreach_mm", self, mat2);
    return foreach::each(self, [&](int64_t i) { return op<"mm">(self[i], mat2[i]); });
  }
};
FB_CARD(ForeachMm)

// Gradients scaled back from a loss that was scaled up.
struct AmpUnscale : composite<AmpUnscale> {
  static constexpr auto schema = "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()";
  static constexpr uint32_t forms = form::fn | form::visible;
  static constexpr auto doc = "Multiplies each tensor of a list by inv_scale and sets found_inf to 1 where an element of any is infinite or NaN.";
  static std::tuple<> body(TensorSpan self, const Tensor& found_inf, const Tensor& inv_scale) {
    const char* name = "_amp_foreach_non_finite_check_and_unscale_";
    FB_CHECK(found_inf.numel() == 1 && found_inf.dtype() == DType::f32, name, ": found_inf must be one float32 number, got shape ", found_inf.sizes(), " and type ",
             found_inf.dtype());
    FB_CHECK(inv_scale.numel() == 1 && inv_scale.dtype() == DType::f32, name, ": inv_scale must be one float32 number, got shape ", inv_scale.sizes(), " and type ",
             inv_scale.dtype());
    const double scale = op_value<"item">(inv_scale).floating();
    for (const Tensor& t : self) {
      FB_CHECK(t.is_floating(), name, ": self must hold floating tensors, got ", t.dtype());
      if (!op_value<"item">(op<"all">(op<"isfinite">(t))).boolean()) op_list<"fill_">(found_inf, 1.0);
      if (scale != 1) op_list<"mul_">(t, scale);
    }
    return {};
  }
};
FB_CARD(AmpUnscale)

}  // namespace fb::cards
