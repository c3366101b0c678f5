// What a card says among its forms where sizes of its results, or how many there are, depend on values of its arguments:
// such a call cannot be batched, has no shape without elements, and does not go into a graph for other data.
#pragma once
#include "dispatch/op.h"

namespace fb {
namespace form {
inline constexpr uint32_t shape_of_values = 1u << 16;
}
inline bool shape_depends_on_values(const OpEntry& op) { return op.card->forms & form::shape_of_values; }
}  // namespace fb
