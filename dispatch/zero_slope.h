// A rule for an argument that a result depends on, though its derivative is 0: it only chooses, or only tells a shape. With
// it the result requires grad where that argument does, and what comes back to it is zeros. Both have one shape.
#pragma once
#include "dispatch/call.h"
#include "dispatch/vjp.h"

namespace fb {
inline Tensor zero_slope(grad<0> g) { return op<"zeros_like">(*g); }

// Whether that is the rule: forward mode then need not ask its zeros for their values, which a tensor of a trace has not.
inline bool is_zero_slope(const VjpEach& e) {
  return [&]<int... I>(std::integer_sequence<int, I...>) { return ((e.run == &wrt<I, zero_slope>::run) || ...); }(std::make_integer_sequence<int, 8>());
}
}  // namespace fb
