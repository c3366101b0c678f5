#include "autograd/node.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>

#include "core/no_fork.h"
#include "dispatch/below_autograd.h"
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"

namespace fb {

AutogradPython autograd_python;
bool anomaly_enabled = false, anomaly_check_nan = true;
thread_local Node* evaluated_node = nullptr;
__attribute__((tls_model("initial-exec"))) constinit thread_local int saved_hooks_active = 0;

Node::Node() : sequence(tls.sequence++) {
  if (anomaly_enabled && autograd_python.anomaly_record) anomaly = autograd_python.anomaly_record();
}

Node::~Node() {
  if (anomaly && autograd_python.anomaly_drop) autograd_python.anomaly_drop(anomaly);
}

// A long chain must not unwind through recursion: nodes that die while another is taken down wait in a list, linked
// through the sequence number that they no longer need.
namespace {
struct Dying {
  bool active = false;
  Node* first = nullptr;
};
__attribute__((tls_model("initial-exec"))) constinit thread_local Dying dying;
}  // namespace

void Node::destroy(Node* n) {
  if (dying.active) {
    n->sequence = reinterpret_cast<uintptr_t>(dying.first);
    dying.first = n;
    return;
  }
  dying.active = true;
  while (n) {
    delete n;
    n = dying.first;
    if (n) dying.first = reinterpret_cast<Node*>(n->sequence);
  }
  dying.active = false;
}

uint32_t Node::add_input(const Tensor& t) {
  InputMeta& m = inputs.emplace_back();
  m.sizes = t->sizes;
  m.options = t.options();
  m.defined = true;
  return uint32_t(inputs.size() - 1);
}

AutogradMeta::~AutogradMeta() {
  if (keeper) keeper->tensor = nullptr;
}

void retain_grad(const Tensor& t) {
  FB_CHECK(requires_grad(t), "retain_grad() on a tensor of shape ", t.sizes(), " that does not require grad");
  if (is_leaf(t)) return;
  AutogradMeta& m = meta_of(t);
  if (m.retains_grad) return;
  m.retains_grad = true;
  m.keeper = Ref<RetainGrad>(new RetainGrad);
  m.keeper->tensor = t.impl();
  grad_fn(t)->retain.emplace_back(int(m.output_nr), m.keeper);
}

AutogradMeta& meta_of(const Tensor& t) {
  if (!t->autograd) t->autograd = new AutogradMeta;
  return *static_cast<AutogradMeta*>(t->autograd);
}

static bool differentiable(DType d) { return is_floating(d) || is_complex(d); }

// Note [Views after a write]: a write to one view of a storage gives the base a new node. Every other view of that
// base must then come from the new node too. A view remembers the storage's version; where that has moved on and the
// base has history, grad_fn() makes the view's node anew as a strided window on the base.
static bool view_is_stale(const Tensor& t, const AutogradMeta& m) {
  return m.view && m.view->version != t->version();
}

bool requires_grad(const Tensor& t) {
  if (t->requires_grad) return true;
  if (!t->tracked_view) return false;
  const AutogradMeta* m = find_meta(t);
  return m && view_is_stale(t, *m) && differentiable(t.dtype()) && requires_grad(m->view->base);
}

bool is_leaf(const Tensor& t) { return !requires_grad(t) || !grad_fn(t); }

void set_requires_grad(const Tensor& t, bool on) {
  if (on == requires_grad(t)) return;
  FB_CHECK(!on || differentiable(t.dtype()), "only tensors of floating or complex type can require gradients; this one of shape ",
           t.sizes(), " is ", t.dtype());
  FB_CHECK(on || is_leaf(t), "requires_grad can be switched off on leaves only; this tensor of shape ", t.sizes(),
           " was made by ", on ? "" : grad_fn(t)->name(), ". Use detach()");
  FB_CHECK(!(on && t->inference && !tls.inference), "an inference tensor cannot be made to require gradients outside InferenceMode");
  t->requires_grad = on;
}

namespace {

// Sizes and strides of a window of complex numbers, counted in real ones.
Dims with_pairs(Ints sizes) {
  Dims d(sizes);
  d.push_back(2);
  return d;
}
Dims real_strides(Ints strides) {
  Dims d(strides);
  for (int64_t& s : d) s *= 2;
  d.push_back(1);
  return d;
}

// Where a view lies on its base: strides and offset (from the base's first element) count elements of the view's type,
// which may be complex on a real base or the other way round, and lazily conjugated or negated.
struct Window {
  Dims sizes, strides, base_sizes, base_strides;
  int64_t offset = 0;
  DType dtype = DType::none, base_dtype = DType::none;
  bool conj = false, neg = false;

  void set(const Tensor& view, const Tensor& base) {
    const AutogradMeta* m = find_meta(view);
    const Tensor& t = m && m->view && m->view->place.defined() ? m->view->place : view;
    sizes = Dims(t.sizes());
    strides = Dims(t.strides());
    base_sizes = Dims(base.sizes());
    base_strides = Dims(base.strides());
    dtype = t.dtype();
    base_dtype = base.dtype();
    conj = t.is_conj() != base.is_conj();
    neg = t.is_neg() != base.is_neg();
    const int64_t scale = base.item_bytes() >= t.item_bytes() ? base.item_bytes() / t.item_bytes() : 1;
    offset = t.offset() - (base.item_bytes() >= t.item_bytes() ? base.offset() * scale : base.offset() * base.item_bytes() / t.item_bytes());
  }
  // The window on `whole`, which is laid out as the base.
  Tensor on(const Tensor& whole) const {
    Tensor t = whole;
    if (is_complex(base_dtype) && !is_complex(dtype))
      t = op<"as_strided">(op<"view_as_real">(t), sizes.span(), strides.span(), t.offset() * 2 + offset);
    else if (!is_complex(base_dtype) && is_complex(dtype))
      t = op<"view_as_complex">(op<"as_strided">(t, with_pairs(sizes), real_strides(strides), t.offset() + offset * 2));
    else t = op<"as_strided">(t, sizes.span(), strides.span(), t.offset() + offset);
    if (conj && is_complex(dtype)) t = op<"_conj">(t);
    if (neg) t = op<"_neg_view">(t);
    return t;
  }
  // The gradient of the base from that of the window.
  Tensor backward(Tensor g) const {
    if (neg) g = op<"neg">(g);
    if (conj && is_complex(dtype)) g = op<"conj">(g);
    if (is_complex(base_dtype) && !is_complex(dtype)) {
      g = op<"as_strided_backward">(g, with_pairs(base_sizes), real_strides(base_strides), sizes.span(), strides.span(), offset);
      return op<"view_as_complex">(g);
    }
    if (!is_complex(base_dtype) && is_complex(dtype))
      return op<"as_strided_backward">(op<"view_as_real">(op<"resolve_conj">(g)), base_sizes.span(), base_strides.span(), with_pairs(sizes),
                                       real_strides(strides), offset * 2);
    return op<"as_strided_backward">(g, base_sizes.span(), base_strides.span(), sizes.span(), strides.span(), offset);
  }
};

// The window of a view on its base, by geometry alone.
struct ViewWindow final : Node {
  Window window;
  GradList apply(GradList&& g) override {
    GradList out(1);
    if (g[0].defined()) out[0] = window.backward(g[0]);
    return out;
  }
  std::string name() const override { return "AsStridedBackward0"; }
};

}  // namespace

Ref<Node> grad_fn(const Tensor& t) {
  AutogradMeta* m = find_meta(t);
  if (!m) return {};
  if (view_is_stale(t, *m) && requires_grad(m->view->base)) {
    const Tensor& base = m->view->base;
    if (differentiable(t.dtype())) {
      auto* w = new ViewWindow;
      w->window.set(t, base);
      w->next.push_back(gradient_edge(base));
      Ref<Node> fn(w);
      m->output_nr = w->add_input(t);
      m->grad_fn = fn;
      t->requires_grad = true;
    }
    m->view->version = t->version();
  }
  return m->grad_fn;
}

// Guards the weak pointers from leaves to their accumulators. Held for a few instructions, so who waits spins at first.
static std::atomic_flag g_accumulators = ATOMIC_FLAG_INIT;
static void lock_accumulators() {
  for (int i = 0; g_accumulators.test_and_set(std::memory_order_acquire); ++i)
    if (i > 64) sched_yield();
}
static void unlock_accumulators() { g_accumulators.clear(std::memory_order_release); }
struct AccumulatorLock {
  AccumulatorLock() {
    static constinit FirstUse<int> handlers;
    handlers.get([] { return pthread_atfork(lock_accumulators, unlock_accumulators, unlock_accumulators); });
    lock_accumulators();
  }
  ~AccumulatorLock() { unlock_accumulators(); }
};

// The leaf's accumulator, where it has a live one; it may be dying in another thread. Under the lock.
static Ref<Node> live_accumulator(const AutogradMeta& m) {
  if (!m.accumulator) return {};
  int64_t n = m.accumulator->refs.load(std::memory_order_acquire);
  while (n > 0 && !m.accumulator->refs.compare_exchange_weak(n, n + 1)) {
  }
  return n > 0 ? Ref<Node>(m.accumulator) : Ref<Node>();
}

Edge gradient_edge(const Tensor& t) {
  if (Ref<Node> fn = grad_fn(t)) return {fn, find_meta(t)->output_nr};
  if (!t->requires_grad) return {};
  AutogradMeta& m = meta_of(t);
  {
    AccumulatorLock lock;
    if (Ref<Node> a = live_accumulator(m)) return {std::move(a), 0};
  }
  Ref<Node> fresh(new AccumulateGrad(t));  // made outside the lock: it takes memory
  AccumulatorLock lock;
  if (Ref<Node> a = live_accumulator(m)) return {std::move(a), 0};
  m.accumulator = fresh.get();
  return {std::move(fresh), 0};
}

AccumulateGrad::AccumulateGrad(const Tensor& v) : variable(v) {
  sequence = UINT64_MAX;
  add_input(v);
}

AccumulateGrad::~AccumulateGrad() {
  AccumulatorLock lock;
  AutogradMeta* m = find_meta(variable);
  if (m && m->accumulator == this) m->accumulator = nullptr;
}

// Whether a gradient has the strides of the variable, but for sizes of 1, whose strides say nothing; row-major ones where the
// variable has gaps or overlaps.
static bool laid_out_alike(const Tensor& g, const Tensor& variable) {
  if (g.strides() == variable.strides()) return true;
  if (g.sizes() != variable.sizes()) return false;
  if (!variable.is_non_overlapping_and_dense()) return g.is_contiguous();
  for (int64_t d = 0; d < g.ndim(); ++d)
    if (g.sizes()[d] != 1 && g.strides()[d] != variable.strides()[d]) return false;
  return true;
}

GradList AccumulateGrad::apply(GradList&& grads) {
  Tensor g = std::move(grads[0]);
  if (!g.defined()) return {};
  AutogradMeta& m = meta_of(variable);
  if (m.hooks) {
    GradList l{g};
    autograd_python.run_tensor(*m.hooks, l);
    g = l[0];
    if (!g.defined()) return {};
  }
  if (!m.grad.defined()) {
    // A gradient nobody else holds, laid out as the variable, is taken over; anything else is copied.
    const bool layered = (g->flags | tls.layers) & kLayered, python = (g->flags | tls.layers) & kPython;
    const bool own = g->refs.load(std::memory_order_acquire) == 1 && (python || g->storage.use_count() == 1) && !tls.grad_enabled &&
                     laid_out_alike(g, variable) && !(g->flags & (kConj | kNeg | kDual)) && g.is_non_overlapping_and_dense();
    if (own) m.grad = detach(g);
    else if (tls.grad_enabled || layered) m.grad = op<"clone">(g);
    else {
      Tensor copy = variable.is_non_overlapping_and_dense()
                        ? Tensor::empty_strided(variable.sizes(), variable.strides(), g.options())
                        : Tensor::empty(variable.sizes(), g.options());
      op_list<"copy_">(copy, g);
      m.grad = copy;
    }
  } else if (tls.grad_enabled || ((m.grad->flags | g->flags | tls.layers) & kLayered)) {
    m.grad = op<"add">(m.grad, g);
  } else {
    op_list<"add_">(m.grad, g);
  }
  if (m.post_accumulate) autograd_python.run_post_accumulate(*m.post_accumulate, variable);
  return {};
}

void set_history(const Tensor& r, const Ref<Node>& fn) {
  AutogradMeta& m = meta_of(r);
  m.grad_fn = fn;
  m.output_nr = fn->add_input(r);
  r->requires_grad = true;
}

namespace {

// Whether a level of vmap is open.
bool batch_is_open() {
  for (const Level* l = innermost_level(); l; l = l->outer.get())
    if (l->kind == LevelKind::batch) return true;
  return false;
}

// A write to a part of a base: the part's gradient passes through the operation, the rest goes on unchanged.
struct CopySlices final : Node {
  Ref<Node> fn;
  Window window;
  GradList apply(GradList&& g) override {
    GradList out(next.size());
    if (!g[0].defined()) return out;
    FB_CHECK(fn, "the graph of CopySlices (shape ", window.base_sizes, ") was freed by an earlier backward; pass retain_graph=True there to go through it again");
    const bool layered = (g[0]->flags | tls.layers) & kLayered;
    Tensor whole = layered ? op<"new_empty_strided">(g[0], window.base_sizes, window.base_strides)
                           : Tensor::empty_strided(window.base_sizes, window.base_strides, g[0].options());
    op_list<"copy_">(whole, g[0]);
    Tensor part = window.on(whole);
    GradList inner{op<"clone">(part)};
    GradList r = fn->apply(std::move(inner));
    if (next[0] && r[0].defined() && r[0]->wrapped && batch_is_open()) {  // its examples may differ where those of g do not
      whole = op<"new_empty_strided">(r[0], window.base_sizes, window.base_strides);
      op_list<"copy_">(whole, g[0]);
      part = window.on(whole);
    }
    for (size_t i = 0; i < r.size() && i < next.size(); ++i) {
      if (i > 0) {
        out[i] = std::move(r[i]);
        continue;
      }
      if (!next[0]) continue;
      if (r[0].defined()) op_list<"copy_">(part, fit_gradient(r[0], fn->inputs[0], *fn));
      else op_list<"zero_">(part);
      out[0] = whole;
    }
    if (r.empty() && next[0]) {
      op_list<"zero_">(part);
      out[0] = whole;
    }
    return out;
  }
  void release() override {
    if (fn) fn->release();
  }
  std::string name() const override { return "CopySlices"; }
};

}  // namespace

void rebase_history(const Tensor& t, const Ref<Node>& fn) {
  AutogradMeta& m = meta_of(t);
  if (m.view) {
    const Tensor base = m.view->base;
    fn->inputs.clear();
    fn->add_input(t);
    auto* c = new CopySlices;
    c->fn = fn;
    c->window.set(t, base);
    c->next.push_back(gradient_edge(base));
    for (size_t i = 1; i < fn->next.size(); ++i) c->next.push_back(fn->next[i]);
    Ref<Node> ref(c);
    set_history(base, ref);
    m.view->version = t->version() - 1;  // stale: grad_fn(t) makes the window anew
    t->requires_grad = true;
    grad_fn(t);
    return;
  }
  fn->inputs.clear();
  set_history(t, fn);
}

void check_inplace(const Tensor& t, const char* op_name) {
  const AutogradMeta* m = find_meta(t);
  if (m && m->view) {
    const char* how = nullptr;
    switch (m->view->made) {
      case ViewInfo::Made::normal: break;
      case ViewInfo::Made::no_grad: how = "was made in no_grad mode, and is now written with grad mode on"; break;
      case ViewInfo::Made::multi_output: how = "is one of several results of an operator that makes views"; break;
      case ViewInfo::Made::inference: how = "was made in inference mode"; break;
      case ViewInfo::Made::custom_function: how = "was made inside a custom autograd Function"; break;
    }
    if (how)
      raise_runtime(op_name, ": the tensor of shape ", t.sizes(), " is a view that ", how,
                    ", so its history cannot be rebuilt; clone() it, or write to the base instead");
    const Tensor& base = m->view->base;
    FB_CHECK(!(base->requires_grad && is_leaf(base)), op_name, ": the tensor of shape ", t.sizes(),
             " is a view of a leaf that requires grad (shape ", base.sizes(), "), which may not be written in place");
    // The leaf may itself be a view of something that needs no gradient.
    FB_CHECK(base->requires_grad || !t->requires_grad, op_name, ": the tensor of shape ", t.sizes(), is_leaf(t) ? " is" : " is a view of",
             " a leaf that requires grad, which may not be written in place");
  }
  FB_CHECK(!(t->requires_grad && is_leaf(t)), op_name, ": the tensor of shape ", t.sizes(),
           " is a leaf that requires grad, which may not be written in place; use torch.no_grad() or detach()");
}

void track_view(const Tensor& v, const Tensor& base, ViewInfo::Made made) {
  AutogradMeta& m = meta_of(v);
  m.view.emplace();
  const AutogradMeta* b = find_meta(base);
  if (b && b->view) {
    m.view->base = b->view->base;
    m.view->forward_base = b->view->forward_root ? base : b->view->forward_base;
    if (made == ViewInfo::Made::normal && b->view->made != ViewInfo::Made::normal) made = b->view->made;
  } else {
    m.view->base = base;
  }
  m.view->made = made;
  m.view->version = v->version();
  v->tracked_view = true;
}

std::vector<Tensor> places_by_rule(const OpEntry& op, const Value* args) {
  const Tensor& self = args[0].tensor();
  const AutogradMeta* m = find_meta(self);
  const Tensor from = m && m->view && m->view->place.defined() ? m->view->place : self.alias();
  SmallVec<Value, 8> v;
  for (size_t i = 0; i < op.schema.args.size(); ++i) v.push_back(args[i]);
  v[0] = Value(from);
  Results r;
  try {
    op.card->view(*op.functional, v.data(), r);
  } catch (const Error&) {  // laid out otherwise inside than it says
    return {};
  }
  std::vector<Tensor> places;
  for (int i = 0; i < r.size(); ++i) places.push_back(r[i]);
  return places;
}

void tell_place(const Tensor& t, const Tensor& place) {
  AutogradMeta* m = find_meta(t);
  if (!m || !m->view || !(place.sizes() == t.sizes()) || place.dtype() != t.dtype()) return;
  const bool same = place.strides() == t.strides() && place.offset() == t.offset() && place.is_conj() == t.is_conj() && place.is_neg() == t.is_neg();
  m->view->place = same ? Tensor() : place;
}

Tensor detach(const Tensor& t) {
  // A class or a mode of Python's decides what that is; at a level of a transform, what is wrapped keeps its history there.
  if (!t->wrapped && ((t->flags | tls.layers) & kPython)) [[unlikely]] {
    BelowAutograd below;
    return op<"detach">(t);
  }
  return t.alias();
}

Tensor same_window(const Tensor& view, const Tensor& base, const Tensor& whole) {
  Window w;
  w.set(view, base);
  return w.on(whole);
}

Tensor zeros_like_meta(const InputMeta& m) {
  if (tls.layers & kPython) [[unlikely]] return op<"zeros">(m.sizes, m.options.dtype, std::nullopt, m.options.device);
  Tensor z = Tensor::empty(m.sizes, m.options);
  op_list<"zero_">(z);
  return z;
}

Tensor fit_gradient(Tensor g, const InputMeta& m, const Node& from) {
  if (!(g.sizes() == m.sizes)) {
    FB_CHECK(is_expandable_to(m.sizes, g.sizes()), from.name(), " gave a gradient of shape ", g.sizes(),
             " for an input of shape ", m.sizes);
    g = op<"sum_to_size">(g, m.sizes.span());
  }
  if (g.dtype() != m.options.dtype) {
    if (g.is_complex() && !is_complex(m.options.dtype)) g = op<"real">(g);
    if (g.dtype() != m.options.dtype) g = op<"to.dtype">(g, m.options.dtype);
  }
  return g;
}

}  // namespace fb
