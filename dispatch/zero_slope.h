// A rule for an argument that a result depends on, though its derivative is 0: it only chooses, or only tells a shape. With
// it the result requires grad where that argument does, and what comes back to it is zeros. Both have one shape.
#pragma once
#include "dispatch/call.h"
#include "dispatch/vjp.h"

namespace fb {
inline Tensor zero_slope(grad<0> g) { return op<"zeros_like">(*g); }
}  // namespace fb
