// What a thread carries besides its stack. Copied into the autograd engine and the pool with the work.
#pragma once
#include <cstdint>

#include "core/tensor.h"

namespace fb {

struct ThreadState {
  bool grad_enabled = true;
  bool inference = false;
  bool forward_enabled = true;   // whether tangents are carried on (forward mode)
  Flags layers = 0;              // kPython, kWrapped: layers that see every call, whatever its arguments (dispatch/layers.h)
  uint64_t sequence = 0;         // numbers autograd nodes in order of creation
};

extern __attribute__((tls_model("initial-exec"))) constinit thread_local ThreadState tls;

struct GradMode {
  bool before;
  explicit GradMode(bool on) : before(tls.grad_enabled) { tls.grad_enabled = on; }
  ~GradMode() { tls.grad_enabled = before; }
  GradMode(const GradMode&) = delete;
};

// Forward mode: whether a dual level is open, in any thread. Tangents exist only then.
extern bool dual_level_open;
inline bool carries_tangents() { return dual_level_open && tls.forward_enabled && !tls.inference; }
struct ForwardMode {
  bool before;
  explicit ForwardMode(bool on) : before(tls.forward_enabled) { tls.forward_enabled = on; }
  ~ForwardMode() { tls.forward_enabled = before; }
  ForwardMode(const ForwardMode&) = delete;
};

// The type of floating results made from nothing; torch.set_default_dtype.
extern DType default_dtype;
inline DType default_complex_dtype() { return to_complex(default_dtype); }

}  // namespace fb
