// Sums in place over lists of tensors. Each element is one add_, so autograd and versions follow from it.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace foreach {
inline void check_lists(const char* name, TensorSpan self, int64_t others) {
  FB_CHECK(self.size() > 0, name, ": self is an empty list; it must hold a tensor");
  FB_CHECK(self.size() == others, name, ": self holds ", self.size(), " tensors and the other list ", others, "; both must be as long");
}
}  // namespace foreach

struct ForeachAddTensor : composite<ForeachAddTensor> {
  static constexpr auto schema = "_foreach_add_.Tensor(Tensor(a!)[] self, Tensor other, *, Scalar alpha=1) -> ()";
  static constexpr uint32_t forms = form::fn;
  static std::tuple<> body(TensorSpan self, const Tensor& other, Scalar alpha) {
    foreach::check_lists("_foreach_add_", self, self.size());
    FB_CHECK(other.ndim() == 0, "_foreach_add_: other must be a 0-d tensor, it has shape ", other.sizes());
    for (const Tensor& t : self) op_list<"add_.Tensor">(t, other, alpha);
    return {};
  }
};
FB_CARD(ForeachAddTensor)

struct ForeachAddList : composite<ForeachAddList> {
  static constexpr auto schema = "_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()";
  static constexpr uint32_t forms = form::fn;
  static std::tuple<> body(TensorSpan self, TensorSpan other, Scalar alpha) {
    foreach::check_lists("_foreach_add_", self, other.size());
    for (int64_t i = 0; i < self.size(); ++i) op_list<"add_.Tensor">(self[i], other[i], alpha);
    return {};
  }
};
FB_CARD(ForeachAddList)

struct ForeachAddScalarList : composite<ForeachAddScalarList> {
  static constexpr auto schema = "_foreach_add_.ScalarList(Tensor(a!)[] self, Scalar[] scalars) -> ()";
  static constexpr uint32_t forms = form::fn;
  static std::tuple<> body(TensorSpan self, Span<Scalar> scalars) {
    foreach::check_lists("_foreach_add_", self, scalars.size());
    for (int64_t i = 0; i < self.size(); ++i) op_list<"add_">(self[i], scalars[i]);
    return {};
  }
};
FB_CARD(ForeachAddScalarList)

struct ForeachAddScalar : composite<ForeachAddScalar> {
  static constexpr auto schema = "_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()";
  static constexpr uint32_t forms = form::fn;
  static std::tuple<> body(TensorSpan self, Scalar scalar) {
    foreach::check_lists("_foreach_add_", self, self.size());
    for (const Tensor& t : self) op_list<"add_">(t, scalar);
    return {};
  }
};
FB_CARD(ForeachAddScalar)

}  // namespace fb::cards
