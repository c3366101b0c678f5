// Nodes that are more than one thing: a graph in which each stands as its parts.
#pragma once
#include "compile/graph.h"

namespace fb::compile {

// The diagonal and its sum for a trace; one call for rows and one for parameters where a gradient has both. The same bits
// below autograd; inputs, constants and outputs keep their order.
Graph in_parts(const Graph& g);
// Whether some call of op is split.
bool has_parts(const OpEntry& op);

}  // namespace fb::compile
