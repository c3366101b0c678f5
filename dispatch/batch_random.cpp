// Random operators at a level of vmap: refused, drawn for every example (as one larger draw), or drawn once for all.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

void check_allowed(BatchCall& c) {
  if (c.level->randomness == Randomness::error)
    raise_runtime("vmap: ", c.schema().name, " draws random numbers; say vmap(..., randomness='different') to draw for every example, "
                  "randomness='same' to draw once for all, or draw outside");
}
[[noreturn]] void raise_same(BatchCall& c) {
  raise_runtime("vmap: ", c.schema().name, " cannot draw the same numbers for all examples (randomness='same') from arguments that differ between them");
}

// Arguments besides the one that is written, or the first
bool others_batched(BatchCall& c) {
  for (int i = 1; i < c.count(); ++i)
    if (c.batched(i)) return true;
  return false;
}

}  // namespace

bool batch_random(BatchCall& c) {
  check_allowed(c);
  const bool same = c.level->randomness == Randomness::same;
  BatchCall::Args v = c.copy();
  Results r;
  std::vector<Tensor> keep(size_t(c.count()));
  if (c.schema().writes) {
    const Tensor self = c.args[0].tensor();
    if (same && others_batched(c)) raise_same(c);
    if (!c.batched(0)) {
      if (same) {
        c.op.invoke(c.op, v.data(), r);
        c.give_self();
        return true;
      }
      if (!is_fresh(self))
        raise_runtime("vmap: ", c.schema().name, " writes numbers that differ between examples (randomness='different') to a tensor of shape ",
                      self.sizes(), " that is the same for all of them; make it from a mapped argument");
      make_wrapper(self, c.level, true);
    }
    const Tensor x = unwrap(self);  // its batch is in front where it was just made
    const Tensor all = c.batched(0) ? c.front(0) : x;
    if (same) {
      keep[0] = op<"new_empty">(all, self.sizes());
      v[0] = Value(keep[0]);
      c.op.invoke(c.op, v.data(), r);
      op_list<"copy_">(all, keep[0]);
    } else if (c.schema().name == "_randperm_") {  // a permutation for each
      for (int64_t b = 0; b < c.n; ++b) {
        keep[0] = op<"select.int">(all, int64_t(0), b);
        v[0] = Value(keep[0]);
        Results one;
        c.op.invoke(c.op, v.data(), one);
      }
    } else {
      v[0] = Value(all);
      for (int i = 1; i < c.count(); ++i)
        if (c.given(i)) {
          keep[size_t(i)] = c.aligned(i, self.ndim());
          v[i] = Value(keep[size_t(i)]);
        }
      c.op.invoke(c.op, v.data(), r);
    }
    c.give_self();
    return true;
  }
  if (same) {
    if (c.any_batched()) raise_same(c);
    c.op.invoke(c.op, v.data(), r);
    for (int i = 0; i < r.size(); ++i) c.give(r[i], -1);
    return true;
  }
  if (c.schema().name == "multinomial") {  // rows of weights
    const Tensor w = c.rank(0) == 1 ? c.expanded(0) : c.folded(0);
    v[0] = Value(w);
    c.op.invoke(c.op, v.data(), r);
    c.give(c.rank(0) == 1 ? r[0] : c.unfolded(r[0]));
    return true;
  }
  // One draw for each element of its arguments
  int64_t rank = 0;
  for (int i = 0; i < c.count(); ++i)
    if (c.given(i)) rank = std::max(rank, c.rank(i));
  for (int i = 0; i < c.count(); ++i)
    if (c.given(i)) {
      keep[size_t(i)] = padded(c.expanded(i), rank + 1);
      v[i] = Value(keep[size_t(i)]);
    }
  c.op.invoke(c.op, v.data(), r);
  for (int i = 0; i < r.size(); ++i) c.give(r[i]);
  return true;
}

}  // namespace fb
