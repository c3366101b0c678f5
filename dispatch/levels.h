// Levels of function transforms: torch.vmap and torch.func run a function at a level of its own, where tensors are wrappers
// around those of the level outside. Levels stack per thread; a call is handled at the innermost level among its
// arguments, and comes to the next one outside from there (levels.cpp). batch.h says what happens at a level of vmap.
#pragma once
#include "dispatch/op.h"
#include "dispatch/thread_state.h"

namespace fb {

// batch: vmap. grad, forward: derivatives taken at this level, by the graph or by tangents of its wrappers.
enum class LevelKind : uint8_t { batch, grad, forward };
// What random operators do at a level of vmap: raise, draw for every example, or draw once for all.
enum class Randomness : uint8_t { error, different, same };

struct Level : RefCounted {
  LevelKind kind = LevelKind::grad;
  Randomness randomness = Randomness::error;
  bool alive = true;                 // until it is left; wrappers may live longer
  bool grad_enabled = true, forward_enabled = true;  // of the thread, where the level was entered
  int64_t depth = 1;                 // 1 is outermost
  int64_t batch = 0;                 // examples
  Ref<Level> outer;
  static void destroy(Level* l) { delete l; }
};

// What a wrapper stands for: a tensor of an outer level, one of whose dimensions is the batch (-1: none is).
struct Wrapped final : Payload {
  Ref<Level> level;
  Tensor inner;
  int64_t batch_dim = -1;
};
inline const Wrapped* wrapped_in(const Tensor& t) {
  return t.defined() && t->wrapped ? static_cast<const Wrapped*>(t->storage->payload) : nullptr;
}

// Null outside of transforms.
Level* innermost_level();
// `batch` and `randomness` are for levels of vmap.
Ref<Level> enter_level(LevelKind kind, int64_t batch, Randomness randomness);
// Leaves `level` and all that were entered within it.
void leave_level(const Ref<Level>& level);

// A tensor of `level` that stands for `inner`.
Tensor wrap_at(const Ref<Level>& level, const Tensor& inner, int64_t batch_dim);
// What a wrapper stands for, with the wrapper's own geometry where that was changed; the batch dimension, or -1.
Tensor unwrap(const Tensor& wrapper, int64_t* batch_dim = nullptr);
// Through wrappers of levels that were left, whose graphs may still run.
Tensor settled(const Tensor& t);
// `target`, which nobody else knows of yet, becomes a wrapper at `level` for its values (for each example alike).
void make_wrapper(const Tensor& target, const Ref<Level>& level, bool batched);
// Whether two tensors share memory, wrappers by what they stand for.
bool same_storage(const Tensor& a, const Tensor& b);

// `made`, or where `like` is of a level (or of a class or mode of Python's) an uninitialised tensor like it laid out so: what a body that writes piece by
// piece begins with.
Tensor beside_wrapper(const Tensor& like, const Tensor& made);
inline Tensor beside(const Tensor& like, Tensor made) {
  return (like->flags | tls.layers) & kLayered ? beside_wrapper(like, made) : made;
}
// The innermost level's among these, else the first: what a tensor made beside all of them is made like.
const Tensor& innermost_of(TensorSpan tensors);
// A tensor whose values C++ reads: without its levels; raises where they differ between the examples of a batch.
Tensor known(const Tensor& t, const char* what);
// Whether a tensor of bools without dimensions holds; for a batch, whether it does for any example; true where a class of
// Python's keeps that to itself.
bool holds(const Tensor& condition);

// The top of every call with a wrapper among its arguments, or within a transform. True: done. False: this is a call of
// the level where derivatives are taken next, or one of no level.
bool run_at_level(const OpEntry& op, const Value* args, Results& out);
// The same for composite cards, which are expanded above all levels: only those that make tensors are of a level.
bool run_factory_at_level(const OpEntry& op, const Value* args, Results& out);

// While it lives, levels outside of this one record as grad mode is now, whatever it is set to here meanwhile: for
// rules that take a derivative at their own level in order to compute.
class OuterGradMode {
 public:
  OuterGradMode();
  ~OuterGradMode();
  OuterGradMode(const OuterGradMode&) = delete;

 private:
  int8_t before_;
};

// Until they are taken back no level is open on this thread, and what runs is at none. Tensors of the levels set aside are to
// classes and modes of Python's as others are; they have a shape, and no elements that could be computed with.
void set_levels_aside();
void take_levels_back();

// Runs what follows outside of `level`.
class Outside {
 public:
  explicit Outside(const Level& level);
  ~Outside();
  Outside(const Outside&) = delete;

 private:
  bool grad_, forward_;
  int8_t outer_grad_;
  Flags layers_;
  Ref<Level> level_;
};

}  // namespace fb
