// The library's entry: graphs made ready and called, and single calls as graphs of one node.
#include <atomic>
#include <mutex>
#include <shared_mutex>

#include "autograd/node.h"
#include "compile/cache/disk.h"
#include "compile/fuse/parts.h"
#include "compile/fuse/plan.h"
#include "compile/fuse/reductions.h"
#include "compile/fuse/scans.h"
#include "compile/point_call.h"
#include "compile/triton/launch.h"
#include "core/error.h"
#include "core/fork_mutex.h"
#include "dispatch/thread_state.h"

namespace fb::compile {

struct Compiled {
  Graph graph;                  // as it was given, for operators one by one
  Graph parts;                  // as it is planned
  std::vector<const Tensor*> constants;
  std::vector<std::unique_ptr<Plan>> plans;   // under the lock; one that stands there stays
  std::atomic<const Plan*> last{nullptr};
};

namespace {

constexpr size_t kMostPlans = 512;  // of one graph; where shapes differ ever more, a plan is made for one call

Compiled* make(Graph g) {
  auto* c = new Compiled;
  c->graph = std::move(g);
  c->parts = in_parts(c->graph);
  for (const auto& n : c->parts.nodes)
    if (!n.op && n.constant.defined()) c->constants.push_back(&n.constant);
  return c;
}
void drop(Compiled* c) { delete c; }

constinit ForkMutex lock;       // of every graph's list of plans: held to look and to add, not while a plan is made

const Plan* find_plan(const Compiled& c, TensorImpl* const* inputs) {
  for (const auto& p : c.plans)
    if (p->holds(inputs, c.constants)) return p.get();
  return nullptr;
}

// The plan for these inputs: one that is kept, or `once`, which is then made.
const Plan& plan_for(Compiled& c, TensorImpl* const* inputs, std::unique_ptr<Plan>& once) {
  const Plan* p = c.last.load(std::memory_order_acquire);
  if (p && p->holds(inputs, c.constants)) return *p;
  {
    const std::shared_lock<ForkMutex> hold(lock);
    p = find_plan(c, inputs);
  }
  if (!p) {
    once = make_plan(c.parts, inputs);
    const std::lock_guard<ForkMutex> hold(lock);
    p = find_plan(c, inputs);   // another thread may have been faster
    if (!p && c.plans.size() < kMostPlans) {
      p = once.get();
      c.plans.push_back(std::move(once));
    }
  }
  if (!p) return *once;
  c.last.store(p, std::memory_order_release);
  return *p;
}

// Whether operators must see the call one by one: a gradient or a tangent is wanted, or a layer takes calls.
bool wants_history(const TensorImpl* t) {
  if (t->flags & kLayered) return true;
  if (!(t->flags & (kRequiresGrad | kTrackedView | kDual))) return false;
  if ((t->flags & (kDual | kTrackedView)) && carries_tangents()) return true;
  return tls.grad_enabled && requires_grad(reinterpret_cast<const Tensor&>(t));
}

void call(Compiled& c, TensorImpl* const* inputs, Tensor* outputs) {
  bool plain = !tls.layers;
  for (size_t i = 0; i < c.graph.inputs.size(); ++i) plain = plain && !wants_history(inputs[i]);
  for (const Tensor* t : c.constants) plain = plain && !wants_history(t->impl());
  if (plain) {
    std::unique_ptr<Plan> once;
    const Plan& p = plan_for(c, inputs, once);
    if (!p.eager && run_plan(p, c.parts, inputs, c.constants, outputs)) return;
  }
  run_eagerly(c.graph, inputs, outputs);  // raises what an operator raises
}

std::string describe(Compiled& c, TensorImpl* const* inputs) {
  std::unique_ptr<Plan> once;
  return text_of(plan_for(c, inputs, once), c.parts);
}

// ---- a single call ----

bool accepts(const OpEntry& op, const Value* args, std::string* why) {
  auto no = [&](auto&&... words) {
    if (why) *why = text(words...);
    return false;
  };
  if (op.form != OpForm::functional || !op.card) return no("only functional forms are compiled");
  if (argument_flags(op, args) & (kConj | kNeg)) return no("an argument is lazily conjugated or negated");
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (args[i].tag == Tag::tensor && !args[i].tensor().device().is_cpu()) return no("an argument is on ", args[i].tensor().device());
  if (op.card->kind == CardKind::pointwise) {
    PointCall c;
    return prepare_point(op, args, c, why);
  }
  if (!find_tile_reduction(op.card->schema) && !find_tile_scan(op.card->schema) && !has_parts(op)) return no("its card has neither passes nor a chain");
  // One element or none: there is nothing to loop over, and the operator itself is called.
  if (args[0].tag == Tag::tensor && (args[0].tensor().ndim() == 0 || args[0].tensor().numel() == 0)) return true;
  Results shape;
  shape_of(op, args, shape);
  std::vector<Tensor> results;
  for (int i = 0; i < shape.size(); ++i) results.push_back(shape[i]);
  if (ScanCall s; prepare_scan(op, args, results, s, why)) return true;
  if (has_parts(op)) {
    Graph g;
    std::vector<Graph::Argument> as(op.schema.args.size());
    for (size_t i = 0; i < as.size(); ++i) {
      if (args[i].tag == Tag::tensor) as[i].refs = {{g.input(), 0}};
      else as[i].value = args[i];
    }
    g.call(op, std::move(as));
    if (in_parts(g).nodes.size() > g.nodes.size()) return true;
  }
  ReductionCall c;
  return prepare_reduction(op, args, results, c, why);
}
void run(const OpEntry& op, const Value* args, Results& out) {
  std::string why;
  if (!accepts(op, args, &why)) raise_not_implemented("no compiled form of ", op.schema.full_name(), ": ", why);
  Graph g;
  std::vector<TensorImpl*> inputs;
  std::vector<Graph::Argument> as(op.schema.args.size());
  for (size_t i = 0; i < as.size(); ++i) {
    if (args[i].tag != Tag::tensor) as[i].value = args[i];
    else {
      as[i].refs = {{g.input(), 0}};
      inputs.push_back(args[i].t);
    }
  }
  const int32_t node = g.call(op, std::move(as));
  Results shape;
  shape_of(op, args, shape);    // raises what the card's checks raise
  for (int i = 0; i < shape.size(); ++i) g.outputs.push_back({node, i});
  std::vector<Tensor> results(g.outputs.size());
  GradMode no(false);
  const Graph parts = in_parts(g);
  const auto plan = make_plan(parts, inputs.data());
  if (plan->eager || !run_plan(*plan, parts, inputs.data(), {}, results.data())) run_eagerly(g, inputs.data(), results.data());
  for (Tensor& t : results) out.push(std::move(t));
}

}  // namespace
}  // namespace fb::compile

extern "C" [[gnu::visibility("default")]] const fb::compile::Compiler* fb_compiler() {
  using namespace fb::compile;
  static constexpr Compiler c{accepts, run, statistics, cache::use, &fb::triton::table, make, drop, call, describe};
  return &c;
}
