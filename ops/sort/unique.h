// Distinct elements and slices: _unique2, unique_dim, unique_consecutive and kin.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/shape_of_values.h"

namespace fb::cards {

inline Tensor unique_gradient(grad<0>) { raise_not_implemented("the derivative of unique"); }
using UniqueVjp = rules<wrt<0, unique_gradient>>;

struct _unique2 : direct<_unique2> {
  using vjp = UniqueVjp;
  static constexpr auto schema =
      "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn | form::shape_of_values;
  static constexpr auto grad_name = "Unique2Backward0";
  static constexpr auto doc = R"(_unique2(input, sorted=True, return_inverse=False, return_counts=False) -> (values, inverse, counts)

The distinct elements of input in ascending order, the place among them of each element of input (int64, shape of input)
and how often each occurs (int64); inverse and counts are empty where they are not asked for. No NaN equals another.
torch.unique calls this.)";
};
FB_CARD(_unique2)

struct _unique : direct<_unique> {
  using vjp = UniqueVjp;
  static constexpr auto schema = "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn | form::shape_of_values;
  static constexpr auto doc = "_unique(input, sorted=True, return_inverse=False) -> (values, inverse)\n\n_unique2 without counts.";
};
FB_CARD(_unique)

struct unique_dim : direct<unique_dim> {
  using vjp = UniqueVjp;
  static constexpr auto schema =
      "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden | form::shape_of_values;
};
FB_CARD(unique_dim)

struct unique_dim_consecutive : direct<unique_dim_consecutive> {
  using vjp = UniqueVjp;
  static constexpr auto schema =
      "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden | form::shape_of_values;
};
FB_CARD(unique_dim_consecutive)

struct unique_consecutive : direct<unique_consecutive> {
  using vjp = UniqueVjp;
  static constexpr auto schema =
      "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden | form::shape_of_values;
};
FB_CARD(unique_consecutive)

}  // namespace fb::cards
