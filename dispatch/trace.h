// Following what a piece of code calls without computing it: tensors that bear the mark of a trace hand their calls to the
// thread's tracer. Composites are followed into what they are made of.
#pragma once
#include "dispatch/op.h"

namespace fb {

constexpr Flags kTraced = 512;   // beside the TensorFlags

struct Tracer {
  virtual void call(const OpEntry& op, const Value* args, Results& out) = 0;

 protected:
  ~Tracer() = default;
};
extern __attribute__((tls_model("initial-exec"))) constinit thread_local Tracer* tracer;

}  // namespace fb
