// Layers between autograd and the back end: transforms, whose tensors wrap others, and Python classes and modes that
// take calls themselves. A layer gets primitives only (composites are expanded above it), unwraps the arguments and
// calls op.invoke again, which starts over below it; it sets tls.layers back meanwhile where it is one that sees every
// call. Autograd stands above each layer: a wrapper has autograd meta of its own, the tensor it wraps another.
#pragma once
#include "dispatch/op.h"

namespace fb {

using LayerRun = void (*)(const OpEntry& op, const Value* args, Results& out, Flags flags);

// Null until there is one. Where flags hold both, the wrapped layer goes first.
extern LayerRun wrapped_layer, python_layer;

// Runs op through the layer that `flags` ask for.
void run_layered(const OpEntry& op, const Value* args, Results& out, Flags flags);

}  // namespace fb
