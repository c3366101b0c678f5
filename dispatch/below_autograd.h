// Whether calls run below autograd: what a layer or a kernel written outside computes with is not recorded a second time.
// Grad mode stays as the user set it; nodes, tangents, views and versions belong to the call above.
#pragma once

namespace fb {

extern __attribute__((tls_model("initial-exec"))) constinit thread_local bool below_autograd;

struct BelowAutograd {
  bool before;
  explicit BelowAutograd(bool on = true) : before(below_autograd) { below_autograd = on; }
  ~BelowAutograd() { below_autograd = before; }
  BelowAutograd(const BelowAutograd&) = delete;
};

}  // namespace fb
