// A call at a level of vmap: the rule of its card on the whole batch. Rules are derived from what a card says (pointwise,
// view, lowered, dimensions by the names of its arguments); where that does not do, a file batch_*.cpp gives one with
// FB_BATCH; what has none runs once for each example.
#pragma once
#include "dispatch/box.h"
#include "dispatch/levels.h"

namespace fb {

// One that only the call at hand knows of: made by a rule or a body in C++, and written there.
inline bool is_fresh(const Tensor& t) { return !t->py && !t->autograd && t->storage.use_count() == 1; }
// Draws random numbers: takes a generator.
bool is_random(const OpEntry& op);
// Runs op at `level`, which is the innermost one.
void run_batched(const OpEntry& op, const Value* args, Results& out, const Ref<Level>& level);

// The arguments of a call taken apart, by position in the schema. Shapes: a batched argument of logical shape [d0, d1..]
// has an inner tensor with one more dimension, of size n.
class BatchCall {
 public:
  BatchCall(const OpEntry& op, const Value* args, Results& out, const Ref<Level>& level);

  const OpEntry& op;         // the form that was called
  const Value* args;
  Results& out;
  const Ref<Level>& level;
  const int64_t n;           // examples

  const Schema& schema() const { return op.schema; }
  int count() const { return int(op.schema.args.size()); }
  bool given(int i) const { return args[i].tag == Tag::tensor; }
  bool batched(int i) const { return bdim_[size_t(i)] >= 0 || list_batched_ >> i & 1; }
  bool any_batched() const { return any_; }
  int64_t rank(int i) const { return args[i].tensor().ndim(); }  // without the batch
  Ints shape(int i) const { return args[i].tensor().sizes(); }
  template <class T> T arg(int i) const { return FromValue<T>::get(args[i]); }
  // The inner tensor with the batch first where it has one; undefined where argument i is absent.
  Tensor front(int i) const;
  // The same with the batch always: [n, ...], of stride 0 where i has none.
  Tensor expanded(int i) const;
  // The same with ones after the batch, so that it broadcasts as one of `rank` dimensions. Without a batch: as it is.
  Tensor aligned(int i, int64_t rank) const;
  // [n * d0, d1..] and back
  Tensor folded(int i) const;
  Tensor unfolded(const Tensor& t) const;
  Tensor inner(int i, int64_t* bdim) const;
  // Elements of a list argument.
  int64_t list_size(int i) const { return int64_t(lists_[size_t(i)].size()); }
  Tensor list_front(int i, int64_t k) const;
  Tensor list_expanded(int i, int64_t k) const;
  bool list_batched(int i, int64_t k) const { return lists_[size_t(i)][size_t(k)].bdim >= 0; }

  // Results: of shape [n, ...], or with the batch elsewhere; -1: the same for all examples.
  void give(const Tensor& t, int64_t bdim = 0);
  void give_list(const std::vector<Tensor>& l, int64_t bdim = 0);
  // The written argument, for calls in place.
  void give_self() { out.push(args[0].tensor()); }

  // A copy of the arguments to change and call on.
  using Args = SmallVec<Value, 8>;
  Args copy() const;

 private:
  struct One {
    Tensor t;
    int64_t bdim = -1;
  };
  std::vector<Tensor> inner_;
  std::vector<int64_t> bdim_;
  std::vector<std::vector<One>> lists_;
  uint64_t list_batched_ = 0;
  bool any_ = false;
};

// Moves dimension `from` to the front.
Tensor to_front(const Tensor& t, int64_t from);
// Whether it holds anywhere; false where there are no elements to read (meta, or of a class of Python's).
bool any_holds(const Tensor& condition);
// Size-1 dimensions after the first one, until there are `ndim`.
Tensor padded(const Tensor& t, int64_t ndim);

// False: this call is not one for the rule.
using BatchRun = bool (*)(BatchCall& call);
struct BatchRecord {
  const char* name;  // of a packet, or of one overload ("max.dim"); of the functional form
  BatchRun run;
};
// The rule of an operator's functional form (derived in-place and out= forms follow from it), run outside of the level.
#define FB_BATCH(name, fn)                                                                           \
  [[gnu::section("fb_batch"), gnu::used]] static constinit const ::fb::BatchRecord FB_CONCAT(fb_batch_, __COUNTER__) \
      __attribute__((aligned(8))) = {name, fn};

// Rules that several families share.
bool batch_pointwise(BatchCall& c);       // broadcasts its tensors
bool batch_view(BatchCall& c);
bool batch_dims(BatchCall& c);            // one tensor, and dimensions among the arguments
bool batch_dims_all(BatchCall& c);        // several tensors of one rank
bool batch_leading(BatchCall& c);         // looks at last dimensions only: the batch is one more in front
bool batch_fold(BatchCall& c);            // first dimension is a batch already: [n * d0, ...]
bool batch_random(BatchCall& c);
void batch_loop(BatchCall& c);            // once for each example

}  // namespace fb
