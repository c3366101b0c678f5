// The graph of a backward pass: nodes, edges, and what autograd keeps on a tensor.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/allocator.h"
#include "core/inline_list.h"
#include "dispatch/vjp.h"

namespace fb {

struct Node;

// Where a gradient flows: input `nr` of `fn`.
struct Edge {
  Ref<Node> fn;
  uint32_t nr = 0;
  explicit operator bool() const { return bool(fn); }
};

// Python's hooks on a node or tensor, kept as opaque handles; python/ installs the functions.
struct HookSet {
  virtual ~HookSet() = default;
};

using GradList = std::vector<Tensor>;

struct Node : RefCounted {
  InlineList<Edge, 2> next;
  InlineList<InputMeta, 1> inputs;  // of each gradient this node takes: shape, type and device of a forward result
  uint64_t sequence = 0;           // later nodes run first; the largest value runs as soon as it can
  std::unique_ptr<HookSet> tensor_hooks, pre_hooks, post_hooks;
  std::vector<std::pair<int, Ref<struct RetainGrad>>> retain;  // tensors that keep the gradient of input first
  void* anomaly = nullptr;         // where in Python this node was made, in anomaly mode
  void* py = nullptr;              // the Python object that stands for this node, borrowed

  Node();
  virtual ~Node();
  // Gradients of the inputs, one for each edge; entries may stay undefined.
  virtual GradList apply(GradList&& grads) = 0;
  virtual std::string name() const = 0;
  // Drops saved tensors; a later apply raises.
  virtual void release() {}
  // Result `nr` of the call has this tangent: a copy that was saved of it takes it too.
  virtual void result_tangent(uint32_t, const Tensor&) {}
  uint32_t add_input(const Tensor& forward_result);
  bool needs(size_t edge) const { return edge < next.size() && next[edge].fn; }
  static void destroy(Node*);
  // Nodes come and go with every call: from the thread's cache of small blocks.
  static void* operator new(size_t n) { return cpu_allocate(n); }
  static void operator delete(void* p, size_t n) { cpu_free(p, n); }
};

// A tensor that asked to keep its gradient (retain_grad): weak, so that the graph does not keep it alive.
struct RetainGrad : RefCounted {
  TensorImpl* tensor = nullptr;
  static void destroy(RetainGrad* r) { delete r; }
};

struct ViewInfo {
  Tensor base;
  Tensor forward_base;       // whose tangent this is a window on, where that is not `base`
  bool forward_root = false; // tangents do not come from a base: a dual, or the primal taken out of one
  enum class Made : uint8_t { normal, no_grad, multi_output, inference, custom_function } made = Made::normal;
  uint32_t version = 0;   // of the storage, when grad_fn was last right
  // Of a class of Python's that tells another geometry than the rules of the views that made it: theirs, over the base's.
  Tensor place;
};

// The tangent of a tensor, in a list of all there are, so that the end of the level can drop them.
struct ForwardRecord {
  Tensor tangent;
  TensorImpl* owner = nullptr;
  ForwardRecord *prev = nullptr, *next = nullptr;
  ~ForwardRecord();
};

struct AutogradMeta : AutogradMetaBase {
  Tensor grad;
  Ref<Node> grad_fn;
  uint32_t output_nr = 0;
  Node* accumulator = nullptr;     // weak
  std::optional<ViewInfo> view;
  std::unique_ptr<HookSet> hooks;  // of a leaf; those of results stand on their node
  std::unique_ptr<HookSet> post_accumulate;
  bool retains_grad = false;
  Ref<RetainGrad> keeper;          // what the node of this tensor fills, where retain_grad() was called
  std::string name;
  std::unique_ptr<ForwardRecord> forward;
  ~AutogradMeta() override;
  static void* operator new(size_t n) { return cpu_allocate(n); }
  static void operator delete(void* p, size_t n) { cpu_free(p, n); }
};

AutogradMeta& meta_of(const Tensor& t);                     // made when absent
inline AutogradMeta* find_meta(const Tensor& t) { return static_cast<AutogradMeta*>(t->autograd); }

bool requires_grad(const Tensor& t);
void set_requires_grad(const Tensor& t, bool on);           // raises for types without gradients and for results
bool is_leaf(const Tensor& t);
// The node that made t; remade where t views a tensor that was written in place since. Null for leaves.
Ref<Node> grad_fn(const Tensor& t);
// Where the gradient of t flows: its node, or the accumulator of a leaf that wants a gradient.
Edge gradient_edge(const Tensor& t);
// From now on backward leaves the gradient of t, which is no leaf, in t.grad.
void retain_grad(const Tensor& t);
void set_history(const Tensor& result, const Ref<Node>& fn);
// After an in-place write: t (and where t is a view, its base) now comes from fn, whose first edge is t's past.
void rebase_history(const Tensor& t, const Ref<Node>& fn);
// Raises where t may not be written in place by an operation that is recorded.
void check_inplace(const Tensor& t, const char* op_name);
// Marks `view` as a differentiable view of base.
void track_view(const Tensor& view, const Tensor& base, ViewInfo::Made made);
// Where the results of a call of a view card lie by its rule; empty where the rule refuses the geometry that self tells.
std::vector<Tensor> places_by_rule(const OpEntry& op, const Value* args);
// Keeps that of one result where it differs from what the view tells of itself.
void tell_place(const Tensor& view, const Tensor& place);
// The part of `whole`, which is laid out as `base`, that `view` is of base.
Tensor same_window(const Tensor& view, const Tensor& base, const Tensor& whole);
// t without history, sharing storage and version.
Tensor detach(const Tensor& t);

// Sums a gradient down to the shape of the input it belongs to, and gives it that input's type.
Tensor fit_gradient(Tensor g, const InputMeta& m, const Node& from);

struct AccumulateGrad final : Node {
  Tensor variable;
  explicit AccumulateGrad(const Tensor& v);
  ~AccumulateGrad() override;
  GradList apply(GradList&& grads) override;
  std::string name() const override { return "AccumulateGrad"; }
};

// Installed by the Python layer; null without it.
struct AutogradPython {
  // Runs hooks over the gradients of a node (or, with `one`, of a leaf); may replace them.
  void (*run_pre)(HookSet&, GradList& grads) = nullptr;
  void (*run_tensor)(HookSet&, GradList& grads) = nullptr;
  void (*run_post)(HookSet&, GradList& results, const GradList& grads) = nullptr;
  void (*run_post_accumulate)(HookSet&, const Tensor&) = nullptr;
  void* (*saved_pack)(const Tensor&) = nullptr;       // null result: no hook is active
  Tensor (*saved_unpack)(void* handle) = nullptr;
  void (*saved_drop)(void* handle) = nullptr;
  void* (*anomaly_record)() = nullptr;
  void (*anomaly_report)(const Node&) = nullptr;      // warns with the lines that made the node
  void (*anomaly_drop)(void*) = nullptr;
};
extern AutogradPython autograd_python;
extern bool anomaly_enabled, anomaly_check_nan;
extern thread_local Node* evaluated_node;  // the node that runs backward now, in anomaly mode: nodes made meanwhile come from it
extern __attribute__((tls_model("initial-exec"))) constinit thread_local int saved_hooks_active;

}  // namespace fb
