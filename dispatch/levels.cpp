#include "dispatch/levels.h"

#include <optional>

#include "dispatch/batch.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/guess.h"
#include "dispatch/layers.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

struct Innermost {
  Ref<Level> level;
};
thread_local Innermost innermost;

thread_local std::vector<Ref<Level>> aside;

void set_innermost(Ref<Level> level) {
  if (level) tls.layers = Flags(tls.layers | kWrapped);
  else tls.layers = Flags(tls.layers & ~kWrapped);
  innermost.level = std::move(level);
}

bool same_geometry(const Tensor& w, const Tensor& inner, int64_t batch_dim) {
  if (w.offset() != inner.offset() || w.dtype() != inner.dtype()) return false;
  const int64_t nd = w.ndim();
  if (inner.ndim() != nd + (batch_dim >= 0)) return false;
  for (int64_t d = 0; d < nd; ++d) {
    const int64_t at = batch_dim >= 0 && d >= batch_dim ? d + 1 : d;
    if (w.sizes()[d] != inner.sizes()[at] || w.strides()[d] != inner.strides()[at]) return false;
  }
  return true;
}

void take_geometry(TensorImpl* w, const Tensor& inner, int64_t batch_dim) {
  w->sizes = inner->sizes;
  w->strides = inner->strides;
  if (batch_dim >= 0) {
    w->sizes.erase(batch_dim);
    w->strides.erase(batch_dim);
  }
  w->offset = inner.offset();
  w->dtype = inner.dtype();
  w->device = inner.device();
  w->layout = inner->layout;
  w->conj = inner->conj;
  w->neg = inner->neg;
  w->wrapped_number = inner->wrapped_number;
  w->refresh();
}

[[noreturn]] void raise_escaped(const Tensor& t) {
  raise_runtime("a tensor of shape ", t.sizes(), " belongs to a call of torch.vmap or of a transform of torch.func that is over, or to one "
                "further in; such tensors cannot leave the function that is transformed except as its results");
}

// Every tensor among the arguments, in place: see(Tensor&) may put another there. Copies what it changes.
struct Rewritten {
  SmallVec<Value, 8> v;
  std::vector<Tensor> one;
  std::vector<std::vector<Tensor>> lists;
  template <class F> Rewritten(const OpEntry& op, const Value* args, F&& change) {
    const size_t n = op.schema.args.size();
    v.reserve(int64_t(n));
    one.reserve(n);
    lists.reserve(n);
    for (size_t i = 0; i < n; ++i) {
      v.push_back(args[i]);
      if (args[i].tag == Tag::tensor) {
        one.push_back(change(args[i].tensor()));
        v[int64_t(i)] = Value(one.back());
      } else if (args[i].tag == Tag::tensors) {
        lists.emplace_back();
        for (const Tensor& t : args[i].tensor_list()) lists.back().push_back(t.defined() ? change(t) : t);
        v[int64_t(i)] = Value(lists.back());
      }
    }
  }
};

template <class F> void each_tensor(const OpEntry& op, const Value* args, F&& see) {
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (args[i].tag == Tag::tensor) see(i, args[i].tensor());
    else if (args[i].tag == Tag::tensors)
      for (const Tensor& t : args[i].tensor_list())
        if (t.defined()) see(i, t);
  }
}

bool at_level(const Tensor& t, const Level* level) {
  const Wrapped* w = wrapped_in(t);
  return w && w->level.get() == level;
}

// A write at a level of derivatives to a tensor that is not of it.
void claim_written(const OpEntry& op, const Value* args, const Ref<Level>& level) {
  each_tensor(op, args, [&](size_t i, const Tensor& t) {
    if (!op.schema.args[i].written || at_level(t, level.get())) return;
    if (is_fresh(t)) return make_wrapper(t, level, false);
    raise_runtime(op.schema.name, ": a function that is transformed (torch.func) wrote in place to a tensor of shape ", t.sizes(),
                  " from outside of it; pass the tensor as an argument, or write to a clone()");
  });
}

// A call at a level of derivatives, below its autograd.
void run_wrapped(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  const Ref<Level> level = innermost.level;
  if (!level) {  // wrappers of levels that are over, or that were set aside
    const Rewritten inner(op, args, [](const Tensor& t) { return settled(t); });
    bool alive = false;
    each_tensor(op, inner.v.data(), [&](size_t, const Tensor& t) {
      if (!t->wrapped) return;
      alive = true;
      if (aside.empty() || !(flags & kPython)) raise_escaped(t);
    });
    if (alive) return python_layer(op, inner.v.data(), out, Flags(flags & ~kWrapped));
    return op.invoke(op, inner.v.data(), out);
  }
  const Level* l = level.get();
  if (l->kind == LevelKind::batch) {  // a composite that modes of Python's see: no argument is of this level, or its body runs here
    bool here = false;
    each_tensor(op, args, [&](size_t, const Tensor& t) { here |= at_level(t, l); });
    if (here) return op.card->body(op, args, out);
    Outside outside(*l);
    return op.invoke(op, args, out);
  }
  Rewritten inner(op, args, [&](const Tensor& t) { return at_level(t, l) ? unwrap(t) : t; });
  Results r;
  const bool geometry = op.form == OpForm::inplace && op.card->kind == CardKind::view;
  {
    Outside outside(*l);
    if (geometry) op.functional->invoke(*op.functional, inner.v.data(), r);
    else op.invoke(op, inner.v.data(), r);
  }
  out.value = r.value;
  if (geometry) {
    const Tensor self = args[0].tensor();
    if (!self->own_version) self->own_version = self->storage;
    auto* payload = new Wrapped;
    payload->level = level;
    payload->inner = r[0];
    self->storage = Storage::of_payload(payload, self->device);
    take_geometry(self.impl(), r[0], -1);
    out.push(self);
    return;
  }
  // What the call gave back of its arguments is the wrapper that was given for it.
  auto outer = [&](const Tensor& t) {
    Tensor found;
    if (!t.defined()) return found;
    for (size_t i = 0; i < op.schema.args.size() && !found.defined(); ++i) {
      if (inner.v[int64_t(i)].tag == Tag::tensor && inner.v[int64_t(i)].t == t.impl()) found = args[i].tensor();
      else if (inner.v[int64_t(i)].tag == Tag::tensors && args[i].tag == Tag::tensors) {
        const TensorSpan was = args[i].tensor_list(), now = inner.v[int64_t(i)].tensor_list();
        for (int64_t k = 0; k < now.n; ++k)
          if (now[k].is(t)) found = was[k];
      }
    }
    if (found.defined()) {
      if (const Wrapped* w = wrapped_in(found); w && w->level.get() == l && w->inner.is(t) && !same_geometry(found, t, -1)) take_geometry(found.impl(), t, -1);
      if (at_level(found, l)) return found;
    }
    Tensor w = wrap_at(level, t, -1);
    if (op.card->kind == CardKind::view && args[0].tag == Tag::tensor && at_level(args[0].tensor(), l)) {
      const Tensor& base = args[0].tensor();
      w->own_version = base->own_version ? base->own_version : base->storage;
    }
    return w;
  };
  if (r.is_list) {
    std::vector<Tensor> list;
    for (int i = 0; i < r.size(); ++i) list.push_back(outer(r[i]));
    out.set_list(std::move(list));
  } else
    for (int i = 0; i < r.size(); ++i) out.push(outer(r[i]));
}

}  // namespace

Level* innermost_level() { return innermost.level.get(); }

Ref<Level> enter_level(LevelKind kind, int64_t batch, Randomness randomness) {
  wrapped_layer = &run_wrapped;
  Ref<Level> l(new Level);
  l->kind = kind;
  l->batch = batch;
  l->randomness = randomness;
  l->grad_enabled = tls.grad_enabled;
  l->forward_enabled = tls.forward_enabled;
  l->outer = innermost.level;
  l->depth = l->outer ? l->outer->depth + 1 : 1;
  set_innermost(l);
  return l;
}

void leave_level(const Ref<Level>& level) {
  FB_CHECK(level->alive, "a level of a transform was left twice");
  Ref<Level> l = innermost.level;
  while (l && l->depth >= level->depth) {
    l->alive = false;
    l = l->outer;
  }
  level->alive = false;
  set_innermost(level->outer);
}

void set_levels_aside() {
  aside.push_back(innermost.level);
  set_innermost({});
}

void take_levels_back() {
  FB_CHECK(!aside.empty(), "levels of transforms were taken back that nobody set aside");
  set_innermost(std::move(aside.back()));
  aside.pop_back();
}

Tensor wrap_at(const Ref<Level>& level, const Tensor& inner, int64_t batch_dim) {
  auto* payload = new Wrapped;
  payload->level = level;
  payload->inner = inner;
  payload->batch_dim = batch_dim;
  TensorImpl* w = TensorImpl::make();
  Tensor t{Ref<TensorImpl>(w)};
  w->storage = Storage::of_payload(payload, inner.device());
  take_geometry(w, inner, batch_dim);
  w->wrapped = true;
  return t;
}

Tensor unwrap(const Tensor& t, int64_t* batch_dim) {
  const Wrapped* w = wrapped_in(t);
  if (batch_dim) *batch_dim = w->batch_dim;
  if (same_geometry(t, w->inner, w->batch_dim) && t.is_conj() == w->inner.is_conj() && t.is_neg() == w->inner.is_neg()) return w->inner;
  // A view that was made by geometry alone: the same part of what is wrapped, the batch dimension in front.
  std::optional<Outside> outside;
  if (w->level->alive) outside.emplace(*w->level);
  Tensor base = w->inner;
  Dims sizes(t.sizes()), strides(t.strides());
  int64_t offset = t.offset();
  if (w->batch_dim >= 0) {
    sizes.insert(0, base.sizes()[w->batch_dim]);
    strides.insert(0, base.strides()[w->batch_dim]);
    if (batch_dim) *batch_dim = 0;
  }
  if (t.dtype() != base.dtype()) {
    FB_CHECK(!base->requires_grad, "a view of type ", t.dtype(), " on a tensor of type ", base.dtype(), " has no history at a level of a transform");
    if (w->batch_dim >= 0) strides[0] = strides[0] * base.item_bytes() / t.item_bytes();
    base = base.alias();
    base->dtype = t.dtype();
    base = base.alias(sizes, strides, offset);
  } else base = op<"as_strided">(base, sizes.span(), strides.span(), offset);
  if (t.is_conj() != base.is_conj()) base = op<"_conj">(base);
  if (t.is_neg() != base.is_neg()) base = op<"_neg_view">(base);
  return base;
}

Tensor settled(const Tensor& t) {
  Tensor x = t;
  while (const Wrapped* w = wrapped_in(x)) {
    if (w->level->alive) break;
    if (w->level->kind == LevelKind::batch) raise_escaped(x);
    x = unwrap(x);
  }
  return x;
}

void make_wrapper(const Tensor& target, const Ref<Level>& level, bool batched) {
  Tensor inner = target.alias();
  inner->wrapped = target->wrapped;
  inner->wrapped_number = target->wrapped_number;
  if (batched) {
    Outside outside(*level);
    Dims sizes(target.sizes()), strides(target.strides());
    const int64_t span = int64_t(storage_bytes(sizes, strides, 0, 1));
    sizes.insert(0, level->batch);
    strides.insert(0, span > 0 ? span : 1);
    Tensor many = inner->wrapped ? op<"new_empty_strided">(inner, sizes.span(), strides.span())
                                 : Tensor::empty_strided(sizes, strides, target.options());
    op_list<"copy_">(many, inner);
    inner = many;
    target->offset = inner.offset();
  }
  auto* payload = new Wrapped;
  payload->level = level;
  payload->inner = inner;
  payload->batch_dim = batched ? 0 : -1;
  target->own_version = Ref<Storage>();
  target->storage = Storage::of_payload(payload, target->device);
  target->wrapped = true;
}

bool same_storage(const Tensor& a, const Tensor& b) {
  if (a->storage.get() == b->storage.get()) return true;
  const Wrapped *wa = wrapped_in(a), *wb = wrapped_in(b);
  if (!wa && !wb) return false;
  return same_storage(wa ? wa->inner : a, wb ? wb->inner : b);
}

Tensor beside_wrapper(const Tensor& like, const Tensor& made) {
  return op<"new_empty_strided">(like, made.sizes(), made.strides(), made.dtype());
}

const Tensor& innermost_of(TensorSpan tensors) {
  const Tensor* best = &tensors[0];
  int64_t depth = 0;
  for (const Tensor& t : tensors)
    if (const Wrapped* w = wrapped_in(t); w && w->level->depth > depth) {
      best = &t;
      depth = w->level->depth;
    }
  return *best;
}

Tensor known(const Tensor& t, const char* what) {
  Tensor x = t;
  while (const Wrapped* w = wrapped_in(x)) {
    FB_CHECK(w->batch_dim < 0, "vmap: ", what, " asks for the values of a tensor of shape ", t.sizes(), ", which differ between examples");
    x = unwrap(x);
  }
  return x;
}

thread_local bool no_guesses = false;

bool holds(const Tensor& condition) {
  Tensor x = condition;
  while (const Wrapped* w = wrapped_in(x)) x = w->inner;
  if (x->python) {  // of a class of Python's: it may have no elements
    if (no_guesses) raise_not_implemented("what is computed here hangs on values, which a tensor of shape ", x.sizes(), " that stands for others does not have");
    return true;
  }
  if (x.numel() == 1) return *x.ptr<bool>();
  const Ref<Level> before = innermost.level;
  set_innermost({});
  const Tensor any = op<"any">(x);
  set_innermost(before);
  return *any.ptr<bool>();
}

bool run_at_level(const OpEntry& op, const Value* args, Results& out) {
  const Ref<Level> level = innermost.level;
  const int64_t depth = level ? level->depth : 0;
  bool over = false, here = false, foreign = false;
  each_tensor(op, args, [&](size_t, const Tensor& t) {
    const Wrapped* w = wrapped_in(t);
    if (w && !w->level->alive) over = true;
    else if (w && w->level->depth > depth && aside.empty()) raise_escaped(t);
    else if (w && w->level.get() == level.get()) here = true;
    else if (t->flags & (kRequiresGrad | kTrackedView | kDual)) foreign = true;
  });
  if (over) {
    const Rewritten inner(op, args, [](const Tensor& t) { return settled(t); });
    op.invoke(op, inner.v.data(), out);
    return true;
  }
  if (!level) return false;
  if (level->kind == LevelKind::batch) {
    if (here || is_random(op)) run_batched(op, args, out, level);
    else {
      Outside outside(*level);
      op.invoke(op, args, out);
    }
    return true;
  }
  if (op.schema.writes) claim_written(op, args, level);
  if (!foreign) return false;
  // To this level's autograd, tensors of outer levels are constants.
  const Rewritten lifted(op, args, [&](const Tensor& t) { return (t->flags & (kRequiresGrad | kTrackedView | kDual)) && !at_level(t, level.get()) ? wrap_at(level, t, -1) : t; });
  op.invoke(op, lifted.v.data(), out);
  return true;
}

namespace {
enum class Factory : uint8_t { none, plain, like, sized, strided };
Factory factory_of(const OpEntry& op) {
  const std::string& s = op.schema.name;
  if (s.size() > 5 && s.compare(s.size() - 5, 5, "_like") == 0)
    return s == "empty_like" || s == "zeros_like" || s == "ones_like" || s == "full_like" ? Factory::like : Factory::none;
  if (s.compare(0, 4, "new_") == 0) return s == "new_empty_strided" ? Factory::strided : Factory::sized;
  if (op.schema.tensor_mask | op.schema.list_mask) return Factory::none;
  return op.schema.returns.size() == 1 && op.schema.returns[0].type == ArgType::tensor && op.schema.find("dtype") >= 0 ? Factory::plain : Factory::none;
}
}  // namespace

bool run_factory_at_level(const OpEntry& op, const Value* args, Results& out) {
  const Ref<Level> level = innermost.level;
  if (!level || op.form != OpForm::functional) return false;
  if (op.schema.name == "detach") {  // from the history of every level
    const Tensor t = settled(args[0].tensor());
    if (!t->wrapped) return false;
    int64_t batch_dim;
    const Wrapped* w = wrapped_in(t);
    const Tensor inner = unwrap(t, &batch_dim);
    Tensor d;
    {
      Outside outside(*w->level);
      d = fb::op<"detach">(inner);
    }
    const Tensor r = wrap_at(w->level, d, batch_dim);
    r->own_version = t->own_version ? t->own_version : t->storage;
    out.push(r);
    return true;
  }
  const Factory f = factory_of(op);
  if (f == Factory::none) return false;
  const Tensor self = f == Factory::plain ? Tensor() : settled(args[0].tensor());
  const bool here = self.defined() && at_level(self, level.get());
  if (!here && level->kind == LevelKind::batch) {
    if (!self.defined() || !self->wrapped) return false;
    // Like a tensor from further out, which may be the batch of a level there: what its examples are written to in place has to be that too.
    SmallVec<Value, 8> v;
    for (size_t i = 0; i < op.schema.args.size(); ++i) v.push_back(args[i]);
    v[0] = Value(self);
    Outside outside(*level);
    op.invoke(op, v.data(), out);
    return true;
  }
  int64_t batch_dim = -1;
  const Tensor inner = here ? unwrap(self, &batch_dim) : self;
  SmallVec<Value, 8> v;
  for (size_t i = 0; i < op.schema.args.size(); ++i) v.push_back(args[i]);
  if (self.defined()) v[0] = Value(inner);
  Dims sizes, strides;
  if (batch_dim >= 0 && f != Factory::like) {
    sizes = Dims(args[1].int_list());
    sizes.insert(0, level->batch);
    v[1] = Value(sizes);
    if (f == Factory::strided) {
      strides = Dims(args[2].int_list());
      strides.insert(0, std::max<int64_t>(1, int64_t(storage_bytes(args[1].int_list(), strides, 0, 1))));
      v[2] = Value(strides);
    }
    batch_dim = 0;
  }
  Results r;
  {
    Outside outside(*level);
    op.invoke(op, v.data(), r);
  }
  out.push(wrap_at(level, r[0], batch_dim));
  return true;
}

static thread_local int8_t outer_grad = -1;  // of levels outside: off, on, or (-1) as it is here

OuterGradMode::OuterGradMode() : before_(outer_grad) {
  if (outer_grad < 0) outer_grad = tls.grad_enabled;
}
OuterGradMode::~OuterGradMode() { outer_grad = before_; }

Outside::Outside(const Level& l)
    : grad_(tls.grad_enabled), forward_(tls.forward_enabled), outer_grad_(outer_grad), layers_(tls.layers), level_(innermost.level) {
  if (outer_grad >= 0) tls.grad_enabled = outer_grad;
  outer_grad = -1;
  if (l.kind != LevelKind::batch) tls.grad_enabled = tls.grad_enabled && l.grad_enabled;
  tls.forward_enabled = l.forward_enabled;
  set_innermost(l.outer);
}

Outside::~Outside() {
  tls.grad_enabled = grad_;
  tls.forward_enabled = forward_;
  outer_grad = outer_grad_;
  innermost.level = std::move(level_);
  tls.layers = layers_;
}

}  // namespace fb
