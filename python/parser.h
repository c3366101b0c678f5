// Python arguments to the Values of one overload, without allocation in the usual case.
#pragma once
#include <atomic>
#include <memory>

#include "python/binding.h"

namespace fb::py {

// One overload as the parser sees it.
struct Signature {
  const OpEntry* op = nullptr;
  std::vector<PyObject*> names;   // interned, in schema order
  bool collects = false;          // f(1, 2, 3) stands for f((1, 2, 3))
  bool factory = false;           // takes requires_grad besides its schema
  std::vector<Value> defaults;    // of each argument; nothing where it has none
  void take_schema_defaults() {
    for (size_t i = 0; i < defaults.size(); ++i) defaults[i] = op->schema.args[i].default_value;
  }
  Py_ssize_t required = 0;        // so many arguments must be given by position in a call without keywords
};

// What a packet's name may mean: the overloads of a plain call, and those that take out=.
struct Signatures {
  std::vector<Signature> plain, with_out;
};
struct Binding {
  const Packet* packet = nullptr;
  std::atomic<const Signatures*> now{nullptr};
  std::unique_ptr<const Signatures> kept;   // of a binding that goes when its callable does
  const Signatures& signatures() const { return *now.load(std::memory_order_acquire); }
};
const Binding& binding_of(const Packet& p);
Signature signature_of(const OpEntry& e);
std::unique_ptr<Signatures> signatures_of(const Packet& p);
// After an overload came or went: the same object with other signatures. The old ones stay: a call that another thread
// makes may be reading them.
void refresh_binding(const Packet& p);

constexpr int kMaxArgs = 40;

struct ParsedCall {
  const OpEntry* op = nullptr;
  union {
    Value v[kMaxArgs];            // the first op->schema.args.size() are set
  };
  ParsedCall() {}
  ~ParsedCall() {}
  bool requires_grad = false;
  bool by_schema = false;         // a call of torch.ops: several results are a plain tuple, a list of tensors a list
  bool one_overload = false;      // of torch.ops, where bools are ints and ints are bools: there is no other overload that they could mean
  bool asks_for_numbers = true;   // of a tensor whose class or mode takes calls; not while an overload for tensors may fit
  int64_t work = 0;               // elements of all tensors: whether the GIL is worth giving up

  // Memory behind lists; grows on the heap only for long ones.
  int64_t ints[48];
  int nints = 0;
  TensorImpl* tensors[48];
  int ntensors = 0;
  std::vector<std::unique_ptr<char[]>> heap;
  std::vector<Tensor> keep;
  void* take(size_t bytes) {
    heap.emplace_back(new char[bytes ? bytes : 1]);
    return heap.back().get();
  }
};

// Fills `call` from the first overload that fits; raises TypeError otherwise.
void parse_call(const Binding& b, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, ParsedCall& call);

}  // namespace fb::py
