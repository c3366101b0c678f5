// The roads of a call: how an entry of each kind and form is invoked, and run below autograd.
#pragma once
#include "dispatch/op.h"

namespace fb {

// Sets e.invoke and e.run from its card and form.
void set_invoke(OpEntry& e);

// Runs op.run with lazily conjugated or negated arguments made real first, where the card does not take the bits.
void run_resolved(const OpEntry& op, const Value* args, Results& out, Flags flags);

// A call that writes a tensor is one write, however many its kernel or its lowering made.
struct OneWrite {
  const Storage* storage = nullptr;
  uint32_t version = 0;
  OneWrite() = default;
  explicit OneWrite(const Tensor& t) : storage(t->storage.get()), version(t->version()) {}
  void count(const Tensor& t) const {
    if (t->storage.get() != storage) t->bump_version();  // other memory now
    else if (t->own_version) t->own_version->version = version + 1;
    else if (t->storage) t->storage->version = version + 1;
  }
};

}  // namespace fb
