// Integers that decide what a composite does: read from memory, or asked of the class or mode that stands for the tensor.
#pragma once
#include "dispatch/call.h"

namespace fb {

// The elements of an int64 tensor on the CPU of at most one dimension.
inline Dims known_integers(const Tensor& t) {
  Dims out;
  const int64_t n = t.numel(), step = t.ndim() ? t.strides()[0] : 0;
  const bool here = t->storage && t->storage->data && !(t->flags & (kLayered | kConj | kNeg));
  for (int64_t i = 0; i < n; ++i) {
    if (here) out.push_back(t.ptr<int64_t>()[i * step]);
    else out.push_back(op_value<"item">(t.ndim() ? op<"select">(t, int64_t(0), i) : t).integer());
  }
  return out;
}

}  // namespace fb
