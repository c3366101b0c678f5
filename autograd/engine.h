// Runs a graph backwards, on the calling thread, later nodes first.
#pragma once
#include "autograd/node.h"

namespace fb {

struct BackwardRequest {
  std::vector<Edge> roots;
  GradList grads;                 // one for each root
  bool retain_graph = false, create_graph = false;
  bool accumulate = true;         // into .grad of leaves; otherwise gradients of `inputs` are returned
  std::vector<Edge> inputs;       // empty: all leaves
};

// Gradients of request.inputs in order, undefined where unreached; empty when accumulating.
GradList run_backward(BackwardRequest request);

}  // namespace fb
