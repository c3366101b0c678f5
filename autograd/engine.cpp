#include "autograd/engine.h"

#include <algorithm>
#include <cmath>

#include "dispatch/call.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

struct NodeState {
  Node* node = nullptr;
  int32_t dependencies = 0;
  bool needed = true, queued = false;
  GradList buffer;
};

// Node -> state: open addressing over a vector of states; one task's nodes only.
class StateMap {
 public:
  StateMap() { grow(64); }
  NodeState* find(Node* n) {
    for (size_t i = hash(n);; i = (i + 1) & mask_) {
      if (!slots_[i]) return nullptr;
      NodeState& s = states_[size_t(slots_[i] - 1)];
      if (s.node == n) return &s;
    }
  }
  // The state of n, and whether it is new.
  std::pair<int32_t, bool> insert(Node* n) {
    if (states_.size() * 2 >= slots_.size()) grow(slots_.size() * 2);
    size_t i = hash(n);
    for (; slots_[i]; i = (i + 1) & mask_)
      if (states_[size_t(slots_[i] - 1)].node == n) return {slots_[i] - 1, false};
    states_.emplace_back();
    states_.back().node = n;
    slots_[i] = int32_t(states_.size());
    return {slots_[i] - 1, true};
  }
  NodeState& at(int32_t i) { return states_[size_t(i)]; }

 private:
  size_t hash(Node* n) const { return (reinterpret_cast<uintptr_t>(n) >> 5) * 0x9E3779B97F4A7C15ull >> shift_; }
  void grow(size_t n) {
    slots_.assign(n, 0);
    mask_ = n - 1;
    shift_ = 64 - __builtin_ctzll(n);
    for (size_t k = 0; k < states_.size(); ++k) {
      size_t i = hash(states_[k].node);
      while (slots_[i]) i = (i + 1) & mask_;
      slots_[i] = int32_t(k + 1);
    }
  }
  std::vector<int32_t> slots_;
  std::vector<NodeState> states_;
  size_t mask_ = 0;
  int shift_ = 0;
};

// Adds a gradient to what has come for one input of a node.
void accumulate(Tensor& sum, Tensor g) {
  if (!g.defined()) return;
  if (!sum.defined()) {
    sum = std::move(g);
    return;
  }
  const bool mine = !tls.grad_enabled && !((sum->flags | g->flags | tls.layers) & kLayered) && sum->refs.load(std::memory_order_acquire) == 1 &&
                    sum->storage.use_count() == 1 && sum.dtype() == g.dtype() && sum.sizes() == g.sizes() && sum.is_non_overlapping_and_dense();
  if (mine) op_list<"add_">(sum, g);
  else sum = op<"add">(sum, g);
}

struct Capture {
  Node* fn;
  uint32_t nr;
  size_t index;
};

void check_nan(const Node& node, const GradList& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].defined() || out[i].numel() == 0) continue;
    GradMode no(false);
    if (op_value<"_has_nan">(out[i]).boolean()) {
      if (autograd_python.anomaly_report) autograd_python.anomaly_report(node);
      raise_runtime(node.name(), " gave NaN values in gradient ", uint64_t(i), " of shape ", out[i].sizes());
    }
  }
}

}  // namespace

GradList run_backward(BackwardRequest r) {
  StateMap states;
  std::vector<Ref<Node>> keep;  // roots, so that nothing in the graph dies before the end
  // Count, for every node reachable from the roots, the edges that lead to it.
  std::vector<Node*> stack;
  for (Edge& e : r.roots) {
    if (!e.fn) continue;
    keep.push_back(e.fn);
    if (states.insert(e.fn.get()).second) stack.push_back(e.fn.get());
  }
  while (!stack.empty()) {
    Node* n = stack.back();
    stack.pop_back();
    for (const Edge& e : n->next) {
      if (!e.fn) continue;
      const auto [i, fresh] = states.insert(e.fn.get());
      ++states.at(i).dependencies;
      if (fresh) stack.push_back(e.fn.get());
    }
  }
  // With inputs named, only nodes on a path to one of them run.
  std::vector<Capture> captures;
  GradList captured(r.inputs.size());
  if (!r.inputs.empty()) {
    for (size_t i = 0; i < r.inputs.size(); ++i)
      if (r.inputs[i].fn) captures.push_back({r.inputs[i].fn.get(), r.inputs[i].nr, i});
    // Depth-first with an explicit stack: a node is needed when it is an input or any next node is needed.
    struct Frame {
      Node* n;
      size_t edge;
      bool needed;
    };
    StateMap seen;
    std::vector<Frame> frames;
    auto is_input = [&](Node* n) {
      for (const Capture& c : captures)
        if (c.fn == n) return true;
      return false;
    };
    for (Edge& root : r.roots) {
      if (!root.fn || !seen.insert(root.fn.get()).second) continue;
      frames.push_back({root.fn.get(), 0, is_input(root.fn.get())});
      while (!frames.empty()) {
        Frame& f = frames.back();
        if (f.edge < f.n->next.size()) {
          Node* next = f.n->next[f.edge++].fn.get();
          if (!next) continue;
          if (seen.insert(next).second) frames.push_back({next, 0, is_input(next)});
          else f.needed |= states.find(next)->needed;
          continue;
        }
        const bool needed = f.needed;
        states.find(f.n)->needed = needed;
        frames.pop_back();
        if (!frames.empty()) frames.back().needed |= needed;
      }
    }
  }
  // The ready queue: latest sequence first.
  std::vector<Node*> ready;
  auto later = [](Node* a, Node* b) { return a->sequence < b->sequence; };
  auto push = [&](Node* n) {
    ready.push_back(n);
    std::push_heap(ready.begin(), ready.end(), later);
  };
  GradMode mode(r.create_graph);
  for (size_t i = 0; i < r.roots.size(); ++i) {
    Edge& e = r.roots[i];
    if (!e.fn) continue;
    NodeState& s = *states.find(e.fn.get());
    if (s.buffer.size() < e.fn->inputs.size()) s.buffer.resize(e.fn->inputs.size());
    if (s.buffer.size() <= e.nr) s.buffer.resize(e.nr + 1);
    accumulate(s.buffer[e.nr], r.grads[i]);
  }
  for (Edge& e : r.roots) {
    if (!e.fn) continue;
    NodeState& s = *states.find(e.fn.get());
    if (s.dependencies == 0 && !s.queued) {
      s.queued = true;
      push(e.fn.get());
    }
  }
  r.grads.clear();
  // A node is owned by an edge of a node that ran before it; a released graph may drop it, so each is held while queued.
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    Node* n = ready.back();
    ready.pop_back();
    GradList grads;
    bool needed;
    {
      NodeState& s = *states.find(n);
      grads = std::move(s.buffer);
      needed = s.needed;
    }
    grads.resize(std::max(grads.size(), n->inputs.size()));
    GradList out;
    if (needed) {
      if (n->tensor_hooks) autograd_python.run_tensor(*n->tensor_hooks, grads);
      for (auto& [nr, keeper] : n->retain) {
        if (!keeper->tensor || !grads[size_t(nr)].defined()) continue;
        const Tensor t(Ref<TensorImpl>::share(keeper->tensor));
        AutogradMeta& m = meta_of(t);
        if (m.grad.defined()) m.grad = op<"add">(m.grad, grads[size_t(nr)]);
        else m.grad = tls.grad_enabled ? grads[size_t(nr)] : detach(grads[size_t(nr)]);
      }
      bool only_capture = !captures.empty() && n->sequence == UINT64_MAX;
      for (const Capture& c : captures)
        if (c.fn == n && c.nr < grads.size()) {
          Tensor g = grads[c.nr];
          if (auto* a = n->sequence == UINT64_MAX ? dynamic_cast<AccumulateGrad*>(n) : nullptr) {
            AutogradMeta& m = meta_of(a->variable);
            if (m.hooks && g.defined()) {
              GradList l{g};
              autograd_python.run_tensor(*m.hooks, l);
              g = l[0];
            }
          }
          captured[c.index] = g;
        }
      bool runs = true;
      if (!r.inputs.empty()) {
        if (!r.accumulate && only_capture) runs = false;
        if (runs && only_capture) {
          runs = false;
          for (const Capture& c : captures) runs |= c.fn == n;
        }
        // An input's own node runs only where the path goes on to another input.
        if (runs && !only_capture) {
          runs = false;
          for (const Edge& e : n->next)
            if (e.fn) runs |= states.find(e.fn.get())->needed;
        }
      }
      if (runs) {
        if (n->pre_hooks) autograd_python.run_pre(*n->pre_hooks, grads);
        struct Evaluated {
          Node* before = anomaly_enabled ? evaluated_node : nullptr;
          explicit Evaluated(Node* n) { if (anomaly_enabled) evaluated_node = n; }
          ~Evaluated() { if (anomaly_enabled) evaluated_node = before; }
        } evaluated(n);
        try {
          if (n->post_hooks) {
            GradList copy = grads;
            out = n->apply(std::move(copy));
            autograd_python.run_post(*n->post_hooks, out, grads);
          } else {
            out = n->apply(std::move(grads));
          }
        } catch (...) {
          if (anomaly_enabled && n->anomaly && autograd_python.anomaly_report) autograd_python.anomaly_report(*n);
          throw;
        }
        if (anomaly_enabled && anomaly_check_nan) check_nan(*n, out);
      }
    }
    std::vector<Ref<Node>> hold;
    for (size_t i = 0; i < n->next.size(); ++i) {
      const Edge& e = n->next[i];
      if (!e.fn) continue;
      NodeState& s = *states.find(e.fn.get());
      if (i < out.size() && out[i].defined() && s.needed) {
        if (s.buffer.size() < e.fn->inputs.size()) s.buffer.resize(e.fn->inputs.size());
        if (s.buffer.size() <= e.nr) s.buffer.resize(e.nr + 1);
        Tensor g = std::move(out[i]);
        if (e.nr < e.fn->inputs.size() && e.fn->inputs[e.nr].defined) {
          const InputMeta& m = e.fn->inputs[e.nr];
          if (!(g.sizes() == m.sizes) || g.dtype() != m.options.dtype) g = fit_gradient(std::move(g), m, *n);
        }
        accumulate(s.buffer[e.nr], std::move(g));
      }
      if (--s.dependencies == 0 && !s.queued) {
        s.queued = true;
        push(e.fn.get());
      }
    }
    if (!r.retain_graph && needed) n->release();
  }
  return captured;
}

}  // namespace fb
