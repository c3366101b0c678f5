// Reductions that go over their elements more than once, as text on the domain: which folds, and what is done with what
// they give. Every back end runs them over the tree of ops/reduce/tree.h.
#pragma once
#include <optional>

#include "ops/reduce/folds.h"
#include "ops/reduce/shape.h"

namespace fb::passes {

// var and std: the mean, then the squared distances from it.
template <bool root> struct spread {
  using first = folds::sum;
  template <class V> FB_INLINE static V between(V sum, V count) { return sum / count; }
  using second = folds::squared_deviation;  // its parameter is what `between` gave
  // number: how many elements count, after the correction.
  template <class V> FB_INLINE static V finish(V sum, V number) {
    if constexpr (root) return math::own::sqrt_of(sum / number);
    else return sum / number;
  }
  // args: of var.correction.
  static double number(const Value* args, int64_t count) {
    const double left = double(count) - (args[2].is_none() ? 1.0 : args[2].floating());
    return left > 0 ? left : 0;
  }
};

}  // namespace fb::passes
