// Chooses the loops of a fold by compute type.
#pragma once
#include "cpu/kernels/reduce_bodies.h"
#include "cpu/loops/reduce_body.h"

namespace fb {

template <class F, class... A> const ReduceBody& pick(const char* name, DType compute) {
  const ReduceBody* r = nullptr;
  ((compute == dtype_of<A> ? (r = &reduce_body_of<F, A>, 0) : 0), ...);
  if (!r) raise_not_implemented(name, " is not there for type ", compute);
  return *r;
}

}  // namespace fb
