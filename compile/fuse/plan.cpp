#include "compile/fuse/plan.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "compile/fuse/lower.h"
#include "compile/llvm/machine.h"
#include "core/error.h"
#include "core/threads.h"
#include "dispatch/thread_state.h"

namespace fb::compile {

namespace {
bool is_plain(const TensorImpl* t) { return t->device.is_cpu() && t->layout == Layout::strided && !(t->flags & (kConj | kNeg)); }
}  // namespace

bool Plan::holds(TensorImpl* const* in, const std::vector<const Tensor*>& others) const {
  if (default_type != default_dtype) return false;
  auto fits = [](const Guard& g, const TensorImpl* t) {
    return t->dtype == g.dtype && t->wrapped_number == g.wrapped && is_plain(t) == g.plain && t->sizes == g.sizes && t->strides == g.strides;
  };
  for (int i = 0; i < inputs; ++i)
    if (!fits(guards[size_t(i)], in[i])) return false;
  for (int i = 0; i < constants; ++i)
    if (!fits(guards[size_t(inputs + i)], others[size_t(i)]->impl())) return false;
  return true;
}

namespace {

class Planner {
 public:
  Planner(const Graph& g, TensorImpl* const* inputs) : g_(g), p_(std::make_unique<Plan>()) {
    p_->inputs = int(g.inputs.size());
    for (int i = 0; i < p_->inputs; ++i) guard(reinterpret_cast<const Tensor&>(inputs[i]));
    for (const auto& n : g.nodes)
      if (!n.op && n.constant.defined()) {
        guard(n.constant);
        ++p_->constants;
      }
    p_->default_type = default_dtype;
    p_->eager = odd_ || !infer_shapes(g, inputs, s_, &p_->why);
    if (odd_) p_->why = "an input is not a plain tensor of the CPU";
  }
  std::unique_ptr<Plan> without_code(const std::string& why) {
    if (!p_->eager) p_->why = why;
    p_->eager = true;
    return std::move(p_);
  }
  std::unique_ptr<Plan> run() {
    if (p_->eager) return std::move(p_);
    groups_ = group(g_, s_);
    find_uses();
    number_slots();
    for (size_t i = 0; i < groups_.groups.size(); ++i) add_step(int(i));
    find_drops();
    for (const Graph::Ref& r : g_.outputs) p_->outputs.push_back(slot(r));
    return std::move(p_);
  }

 private:
  void guard(const Tensor& t) {
    p_->guards.push_back({Dims(t.sizes()), Dims(t.strides()), t.dtype(), t->wrapped_number, is_plain(t.impl())});
    odd_ |= !is_plain(t.impl());
  }
  bool is_nest(int node) const {
    const int g = groups_.group_of[size_t(node)];
    return g >= 0 && groups_.groups[size_t(g)].kind == StepKind::nest;
  }
  // Marks what must be a tensor: results, what calls read, what those are views of, what other nests read.
  void find_uses() {
    tensor_.resize(g_.nodes.size());
    for (size_t n = 0; n < g_.nodes.size(); ++n) tensor_[n].assign(s_.results[n].size(), 0);
    for (const Graph::Ref& r : g_.outputs) need(r);
    for (size_t n = g_.nodes.size(); n-- > 0;) {
      if (!g_.nodes[n].op) continue;
      const bool nest = is_nest(int(n));
      if (s_.way[n] == Shapes::Way::view) {
        bool wanted = false;
        for (char w : tensor_[n]) wanted |= w;
        if (!wanted) continue;   // seen by nests alone, through the memory of its base
      }
      for (const auto& a : g_.nodes[n].args)
        for (const auto& r : a.refs) {
          if (r.node < 0) continue;
          if (!nest) need(r);
          else if (groups_.group_of[size_t(r.node)] != groups_.group_of[n]) need(place_of(g_, s_, r).root);
        }
    }
  }
  void need(Graph::Ref r) { tensor_[size_t(r.node)][size_t(r.result)] = 1; }

  void number_slots() {
    p_->slot_of.resize(g_.nodes.size());
    int next = 0;
    auto give = [&](size_t n) {
      for (size_t r = 0; r < s_.results[n].size(); ++r) {
        p_->slot_of[n].push_back(next++);
        const Tensor& t = s_.results[n][r];
        Made m;
        if (t.defined()) m = {Dims(t.sizes()), Dims(t.strides()), t.dtype(), t.numel() > 0 && t.strides() == contiguous_strides(t.sizes())};
        p_->made.push_back(std::move(m));
      }
    };
    for (int32_t n : g_.inputs) give(size_t(n));
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (!g_.nodes[n].op && g_.nodes[n].constant.defined()) give(n);
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (g_.nodes[n].op) give(n);
  }
  int slot(Graph::Ref r) const { return p_->slot_of[size_t(r.node)][size_t(r.result)]; }

  void add_step(int at) {
    const Group& group = groups_.groups[size_t(at)];
    Step step;
    step.kind = group.kind;
    if (group.kind != StepKind::nest) {
      step.node = group.nodes[0];
      bool wanted = group.kind == StepKind::call;
      for (size_t r = 0; r < tensor_[size_t(step.node)].size(); ++r) {
        wanted |= tensor_[size_t(step.node)][r];
        step.makes.push_back(slot({step.node, int32_t(r)}));
      }
      if (wanted) p_->steps.push_back(std::move(step));
      return;
    }
    std::vector<Graph::Ref> used;
    for (int n : group.nodes)
      for (size_t r = 0; r < tensor_[size_t(n)].size(); ++r)
        if (tensor_[size_t(n)][r] && s_.results[size_t(n)][r].defined()) used.push_back({n, int32_t(r)});
    if (used.empty()) return;
    Lowered l = lower_group(g_, s_, group, used);
    for (const Graph::Ref& r : used) step.makes.push_back(slot(r));
    for (size_t o = 0; o < l.refs.size(); ++o) step.operands.push_back({slot(l.refs[o]), l.nest.operands[o].offset});
    fit(l.nest, step);
    p_->steps.push_back(std::move(step));
  }
  // A slot is dropped after the last step that reads it.
  void find_drops() {
    std::vector<int> last(p_->made.size(), -1);
    auto reads = [&](Graph::Ref r, int step) {
      if (r.node >= 0) last[size_t(slot(r))] = step;
    };
    for (size_t i = 0; i < p_->steps.size(); ++i) {
      const Step& s = p_->steps[i];
      for (int m : s.makes) last[size_t(m)] = int(i);
      for (const auto& [slot, offset] : s.operands) last[size_t(slot)] = int(i);
      if (s.node >= 0)
        for (const auto& a : g_.nodes[size_t(s.node)].args)
          for (const auto& r : a.refs) reads(r, int(i));
    }
    for (const Graph::Ref& r : g_.outputs) last[size_t(slot(r))] = -1;
    for (size_t s = size_t(p_->inputs + p_->constants); s < last.size(); ++s)
      if (last[s] >= 0) p_->steps[size_t(last[s])].drops.push_back(int(s));
  }

  const Graph& g_;
  std::unique_ptr<Plan> p_;
  Shapes s_;
  Grouping groups_;
  std::vector<std::vector<char>> tensor_;
  bool odd_ = false;
};

// Memory of a thread for one step; small needs stay on the stack.
struct Room {
  alignas(64) char small[2048];
  Tensor large;
  int64_t take(int64_t bytes) {
    if (bytes <= 0) return 0;
    if (bytes <= int64_t(sizeof small)) return reinterpret_cast<int64_t>(small);
    large = Tensor::empty(Dims{bytes}, {DType::u8, DeviceType::cpu});
    return reinterpret_cast<int64_t>(large.data());
  }
};

template <class At> int32_t run_nest(const Step& s, At&& at) {
  int32_t errors = 0;
  Tensor partial, folds;
  if (s.shared) {
    if (s.partial_bytes) partial = Tensor::empty(Dims{s.partial_bytes}, {DType::u8, DeviceType::cpu});
    if (s.fold_bytes) folds = Tensor::empty(Dims{s.fold_bytes * std::max(1, s.launches[0].folds)}, {DType::u8, DeviceType::cpu});
  }
  for (const Launch& l : s.launches) {
    using Words = SmallVec<int64_t, 96>;
    Words w(Ints(l.words.data(), int64_t(l.words.size())));
    for (size_t o = 0; o < s.operands.size(); ++o) {
      const TensorImpl* t = at(s.operands[o].first);
      w[l.bases[o]] = reinterpret_cast<int64_t>(static_cast<char*>(t->storage->data) + t->offset * item_size(t->dtype)) + s.operands[o].second;
    }
    if (s.shared) {
      w[l.partial] = partial.defined() ? reinterpret_cast<int64_t>(partial.data()) : 0;
      for (int i = 0; i < l.folds; ++i) w[l.first_fold + i] = reinterpret_cast<int64_t>(folds.data()) + i * s.fold_bytes;
    }
    auto some = [&](int64_t* words, int64_t lo, int64_t hi) {
      words[0] = lo;
      words[1] = hi;
      if (s.shared || s.scratch_bytes + s.partial_bytes == 0) return l.code->entry(words);
      Room own;
      const int64_t first = own.take(s.scratch_bytes + s.partial_bytes + 64);
      words[l.scratch] = first;
      words[l.partial] = first + (s.scratch_bytes + 63) / 64 * 64;
      return l.code->entry(words);
    };
    if (l.units <= l.grain) {
      errors |= some(w.data(), 0, l.units);
      continue;
    }
    parallel_for(0, l.units, l.grain, [&](int64_t lo, int64_t hi) {
      Words own(w);
      if (const int32_t e = some(own.data(), lo, hi)) __atomic_fetch_or(&errors, e, __ATOMIC_RELAXED);
    });
  }
  return errors;
}

}  // namespace

std::unique_ptr<Plan> make_plan(const Graph& g, TensorImpl* const* inputs) {
  try {
    return Planner(g, inputs).run();
  } catch (const NoMachineCode& e) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warn(e.text() + ". Compiled functions run operator by operator, with the same results");
    return Planner(g, inputs).without_code(e.text());
  }
}

bool run_plan(const Plan& p, const Graph& g, TensorImpl* const* inputs, const std::vector<const Tensor*>& constants, Tensor* outputs) {
  constexpr size_t kInline = 24;
  const size_t slots = p.made.size();
  Tensor few[kInline];
  std::vector<Tensor> many;
  Tensor* made = few;
  if (slots > kInline) {
    many.resize(slots);
    made = many.data();
  }
  const int given = p.inputs + p.constants;
  auto at = [&](int slot) -> TensorImpl* {
    return slot >= given ? made[slot].impl() : slot < p.inputs ? inputs[slot] : constants[size_t(slot - p.inputs)]->impl();
  };
  GradMode no(false);
  for (const Step& s : p.steps) {
    if (s.kind == StepKind::nest) {
      for (int m : s.makes) {
        const Made& k = p.made[size_t(m)];
        made[m] = k.contiguous ? Tensor::empty(k.sizes, {k.dtype, DeviceType::cpu}) : Tensor::empty_strided(k.sizes, k.strides, {k.dtype, DeviceType::cpu});
      }
      if (run_nest(s, at)) return false;
    } else {
      const Graph::Node& node = g.nodes[size_t(s.node)];
      const NodeArguments args(node, [&](Graph::Ref r) -> Tensor {
        return Tensor(Ref<TensorImpl>::share(at(p.slot_of[size_t(r.node)][size_t(r.result)])));
      });
      Results r;
      (*node.op)(args.values.data(), r);
      if (r.size() != int(s.makes.size())) return false;
      for (int i = 0; i < r.size(); ++i) {
        const Made& k = p.made[size_t(s.makes[size_t(i)])];
        if (r[i].defined() && !(r[i]->device.is_cpu() && r[i]->dtype == k.dtype && r[i]->sizes == k.sizes && r[i]->strides == k.strides)) return false;
        made[s.makes[size_t(i)]] = std::move(r[i]);
      }
    }
    for (int d : s.drops) made[d] = Tensor();
  }
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    const int slot = p.outputs[i];
    outputs[i] = slot >= given ? made[slot] : Tensor(Ref<TensorImpl>::share(at(slot)));
  }
  return true;
}

void run_eagerly(const Graph& g, TensorImpl* const* inputs, Tensor* outputs) {
  std::vector<std::vector<Tensor>> values(g.nodes.size());
  for (size_t i = 0; i < g.inputs.size(); ++i) values[size_t(g.inputs[i])] = {reinterpret_cast<const Tensor&>(inputs[i])};
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const Graph::Node& node = g.nodes[n];
    if (!node.op) {
      if (node.constant.defined()) values[n] = {node.constant};
      continue;
    }
    const NodeArguments args(node, [&](Graph::Ref r) -> const Tensor& { return values[size_t(r.node)][size_t(r.result)]; });
    Results r;
    (*node.op)(args.values.data(), r);
    for (int i = 0; i < r.size(); ++i) values[n].push_back(r[i]);
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) outputs[i] = values[size_t(g.outputs[i].node)][size_t(g.outputs[i].result)];
}

std::string text_of(const Plan& p, const Graph& g) {
  if (p.eager) return "operator by operator: " + p.why + "\n";
  std::string s;
  for (const Step& step : p.steps) {
    if (step.kind != StepKind::nest) s += text(step.kind == StepKind::view ? "view " : "call ", g.nodes[size_t(step.node)].op->schema.full_name(), "\n");
    for (const Launch& l : step.launches) s += text(l.what, ", ", l.units, " units\n");
  }
  return s;
}

}  // namespace fb::compile
