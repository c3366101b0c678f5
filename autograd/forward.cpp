#include "autograd/forward.h"

#include <atomic>
#include <mutex>

#include "core/fork_mutex.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

constinit ForkMutex g_lock;       // of these, for a few instructions; no tensor dies within
ForwardRecord* g_first = nullptr;  // all tangents of the open level
bool g_user_level = false;         // opened by dual_level()
std::atomic<int> g_transforms{0};

bool differentiable(const Tensor& t) { return t.defined() && (t.is_floating() || t.is_complex()); }

void unlink(ForwardRecord* r) {
  if (r->prev) r->prev->next = r->next;
  else if (g_first == r) g_first = r->next;
  if (r->next) r->next->prev = r->prev;
  r->prev = r->next = nullptr;
}

// Whom t looks to for a tangent it has not itself; undefined where t is no view, or one that begins anew.
Tensor forward_base(const Tensor& t) {
  const AutogradMeta* m = t->tracked_view ? find_meta(t) : nullptr;
  if (!m || !m->view || m->view->forward_root) return {};
  return m->view->forward_base.defined() ? m->view->forward_base : m->view->base;
}

bool same_layout(const Tensor& a, const Tensor& b) {
  for (int64_t d = 0; d < a.ndim(); ++d)
    if (a.sizes()[d] > 1 && a.strides()[d] != b.strides()[d]) return false;
  return a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

// Zeros laid out as t; at a level of a transform, of the batch that `like` has.
Tensor zeros_as(const Tensor& t, const Tensor& like) {
  if ((t->flags | like->flags | tls.layers) & kLayered) {
    const Tensor z = op<"new_empty_strided">(like, t.sizes(), has_internal_overlap(t) ? contiguous_strides(t.sizes()) : Dims(t.strides()), t.dtype());
    op_list<"zero_">(z);
    return z;
  }
  Tensor z = has_internal_overlap(t) ? Tensor::empty(t.sizes(), t.options()) : Tensor::empty_strided(t.sizes(), t.strides(), t.options());
  op_list<"zero_">(z);
  return z;
}

Tangents collect(const OpEntry& op, const Value* args) {
  Tangents r;
  const size_t n = op.schema.args.size();
  auto see = [&](size_t i, const Tensor& t) {
    Tensor d = tangent_of(t);
    if (!d.defined()) return;
    if (!r.any) {
      r.any = true;
      r.one.resize(n);
      r.lists.resize(n);
    }
    r.one[i] = std::move(d);
  };
  for (uint64_t m = op.schema.tensor_mask; m; m &= m - 1) {
    const size_t i = size_t(__builtin_ctzll(m));
    if (args[i].tag == Tag::tensor) see(i, args[i].tensor());
  }
  for (uint64_t m = op.schema.list_mask; m; m &= m - 1) {
    const size_t i = size_t(__builtin_ctzll(m));
    if (args[i].tag != Tag::tensors) continue;
    const TensorSpan list = args[i].tensor_list();
    for (int64_t k = 0; k < list.n; ++k) {
      if (!list[k].defined()) continue;
      Tensor d = tangent_of(list[k]);
      if (!d.defined()) continue;
      if (!r.any) {
        r.any = true;
        r.one.resize(n);
        r.lists.resize(n);
      }
      r.lists[i].resize(size_t(list.n));
      r.lists[i][size_t(k)] = std::move(d);
    }
  }
  return r;
}

// Whether t lies in the memory of an argument's tangent, which a result that is no view may not.
bool shares_memory(const Tensor& t, const Tangents& from) {
  for (const Tensor& x : from.one)
    if (x.defined() && same_storage(x, t)) return true;
  for (const auto& l : from.lists)
    for (const Tensor& x : l)
      if (x.defined() && same_storage(x, t)) return true;
  return false;
}

}  // namespace

ForwardRecord::~ForwardRecord() {
  std::lock_guard<ForkMutex> lock(g_lock);
  unlink(this);
}

void enter_dual_level() {
  FB_CHECK(!g_user_level, "a dual level is open already; forward mode does not nest levels yet");
  std::lock_guard<ForkMutex> lock(g_lock);
  g_user_level = dual_level_open = true;
}

void exit_dual_level() {
  FB_CHECK(g_user_level, "no dual level is open, so none can be left");
  std::vector<Tensor> drop;  // tangents die outside the lock
  {
    std::lock_guard<ForkMutex> lock(g_lock);
    g_user_level = false;
    dual_level_open = g_transforms > 0;
    for (ForwardRecord *r = g_first, *next; r; r = next) {
      next = r->next;
      if (r->owner->wrapped) continue;  // of a transform
      unlink(r);
      r->owner->dual = false;
      drop.push_back(std::move(r->tangent));
    }
  }
}

void enter_forward_transform() {
  std::lock_guard<ForkMutex> lock(g_lock);  // of both, so that one thread's leaving does not close another's
  ++g_transforms;
  dual_level_open = true;
}
void leave_forward_transform() {
  std::lock_guard<ForkMutex> lock(g_lock);
  if (--g_transforms == 0) dual_level_open = g_user_level;
}

Tensor tangent_of(const Tensor& t) {
  if (!t.defined()) return {};
  if (t->dual) return find_meta(t)->forward->tangent;
  if (!dual_level_open) return {};
  const Tensor base = forward_base(t);
  if (!base.defined() || !base->dual || !differentiable(t)) return {};
  ForwardMode off(false);
  return same_window(t, base, tangent_of(base));
}

void set_tangent(const Tensor& t, Tensor tangent) {
  if (!tangent.defined()) {
    if (!t->dual) return;
    t->dual = false;
    find_meta(t)->forward.reset();
    return;
  }
  ForwardMode off(false);
  if (!same_layout(t, tangent) && !has_internal_overlap(t)) {
    Tensor whole = beside(tangent, Tensor::empty_strided(t.sizes(), t.strides(), tangent.options()));
    whole->conj = t->conj && whole.is_complex();
    whole->neg = t->neg;
    op_list<"copy_">(whole, tangent);
    tangent = whole;
  }
  AutogradMeta& m = meta_of(t);
  if (!m.forward) m.forward = std::make_unique<ForwardRecord>();
  m.forward->tangent = std::move(tangent);
  m.forward->owner = t.impl();
  t->dual = true;
  std::lock_guard<ForkMutex> lock(g_lock);
  ForwardRecord* r = m.forward.get();
  if (r->prev || r->next || g_first == r) return;
  r->next = g_first;
  if (g_first) g_first->prev = r;
  g_first = r;
}

void write_tangent(const Tensor& self, const Tensor& tangent) {
  if (!differentiable(self)) return;
  ForwardMode off(false);
  Tensor mine = tangent_of(self);
  if (!mine.defined()) {
    if (!tangent.defined()) return;
    const Tensor base = forward_base(self);
    if (!base.defined()) {  // others may have the same tangent, which later writes to self leave alone
      set_tangent(self, op<"clone">(tangent));
      return;
    }
    // A part of a base that had no tangent: the rest of the base has a tangent of zeros from now on.
    set_tangent(base, zeros_as(base, tangent));
    mine = same_window(self, base, tangent_of(base));
  }
  if (tangent.defined()) op_list<"copy_">(mine, tangent);
  else op_list<"zero_">(mine);
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent) {
  FB_CHECK(dual_level_open, "make_dual needs an open dual level: call it within torch.autograd.forward_ad.dual_level()");
  FB_CHECK_VALUE(differentiable(primal), "make_dual: the primal of shape ", primal.sizes(), " is ", primal.dtype(),
                 "; only floating and complex types have tangents");
  FB_CHECK(!tangent_of(primal).defined(), "make_dual: the primal of shape ", primal.sizes(), " has a tangent already");
  FB_CHECK(!tangent_of(tangent).defined(), "make_dual: the tangent of shape ", tangent.sizes(), " has a tangent itself; levels do not nest");
  FB_CHECK(tangent.sizes() == primal.sizes(), "make_dual: the tangent has shape ", tangent.sizes(), ", the primal ", primal.sizes());
  const Tensor d = primal_of(primal);
  if (tls.forward_enabled) set_tangent(d, tangent);
  return d;
}

Tensor primal_of(const Tensor& dual) {
  ForwardMode off(false);
  Tensor p = op<"view">(dual, dual.sizes());
  if (AutogradMeta* m = find_meta(p); m && m->view) m->view->forward_root = true;
  return p;
}

bool forward_invoke(const OpEntry& op, const Value* args, Results& out) {
  const Tangents t = collect(op, args);
  if (!t.any) return false;
  ForwardMode off(false);
  op.invoke(op, args, out);
  if (op.schema.writes && op.schema.returns.empty())
    raise_not_implemented("forward mode through ", op.schema.name, ", which writes lists of tensors, is not there yet");
  bool wanted = false;
  for (int i = 0; i < out.size(); ++i) wanted |= differentiable(out[i]);
  if (!wanted) return true;
  GradList d = apply_jvp(op, args, t, out);
  for (int i = 0; i < out.size() && size_t(i) < d.size(); ++i) {
    Tensor& x = d[size_t(i)];
    if (!x.defined() || !differentiable(out[i])) continue;
    if (op.card->kind != CardKind::view && shares_memory(x, t)) x = fb::op<"clone">(x);
    set_tangent(out[i], x);
    if (const AutogradMeta* m = find_meta(out[i]); m && m->grad_fn) m->grad_fn->result_tangent(m->output_nr, tangent_of(out[i]));
  }
  return true;
}

bool forward_invoke_inplace(const OpEntry& op, const Value* args, Results& out) {
  Tangents t = collect(op, args);
  if (!t.any) return false;
  const OpEntry& f = *op.functional;
  const Tensor self = args[0].tensor();
  ForwardMode off(false);
  if (op.card->kind == CardKind::view) {  // only the geometry changes, of the tangent as of the value
    Results r;
    SmallVec<Value, 8> v;
    for (size_t i = 0; i < op.schema.args.size(); ++i) v.push_back(args[i]);
    v[0] = Value(t.one[0]);
    f.invoke(f, v.data(), r);
    set_tangent(self, Tensor());
    op.invoke(op, args, out);
    set_tangent(self, r[0]);
    return true;
  }
  const bool has_rule = op.card->linear || op.card->jvp || op.card->vjp || op.card->pointwise;
  // Rules may need self, and what shares its memory, as it was.
  SmallVec<Value, 8> v;
  std::vector<Tensor> old(op.schema.args.size());
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (has_rule && args[i].tag == Tag::tensor && same_storage(args[i].tensor(), self)) {
      old[i] = fb::op<"clone">(args[i].tensor());
      v.push_back(Value(old[i]));
    } else v.push_back(args[i]);
  }
  // What is recorded of the rule keeps tangents, and self's is written over below.
  if (has_rule && tls.grad_enabled && t.one[0].defined()) {
    const Tensor mine = t.one[0];
    for (Tensor& x : t.one)
      if (x.defined() && same_storage(x, mine)) x = fb::op<"clone">(x);
  }
  op.invoke(op, args, out);
  if (!has_rule) {  // zero_, fill_ with a number, random values: nothing of the past remains
    if (!t.one[0].defined()) return true;
    if (self.sizes() == t.one[0].sizes()) write_tangent(self, Tensor());
    else set_tangent(self, Tensor());
    return true;
  }
  GradList d = apply_jvp(f, v.data(), t, out);
  write_tangent(self, d.empty() ? Tensor() : d[0]);
  if (const AutogradMeta* m = find_meta(self); m && m->grad_fn && self->dual) m->grad_fn->result_tangent(0, tangent_of(self));
  return true;
}

void forward_refuse_out(const OpEntry& op, const Value* args) {
  if (collect(op, args).any)
    raise_not_implemented(op.schema.name, ": an argument has a tangent, and out= was given; results written to out= carry none");
}

}  // namespace fb
