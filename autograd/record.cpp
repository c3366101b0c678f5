// Records a call of a differentiable operator: one generic node class serves every card.
#include "autograd/forward.h"
#include "autograd/saved.h"
#include "dispatch/first_result.h"
#include "dispatch/below_autograd.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/invoke.h"
#include "dispatch/layers.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

// Arguments kept for a rule: plain values own what they point to; tensors are dropped.
struct KeptArgs {
  SmallVec<Value, 4> v;
  std::vector<std::unique_ptr<char[]>> owned;

  static_assert(std::is_trivially_copyable_v<Value>);
  void keep(const Value* args, size_t n) {
    v.reserve(int64_t(n));
    for (size_t i = 0; i < n; ++i) {
      Value x = args[i];
      auto own = [&](const void* p, size_t bytes) {
        owned.emplace_back(new char[bytes + 1]);
        std::memcpy(owned.back().get(), p, bytes);
        return owned.back().get();
      };
      switch (x.tag) {
        case Tag::tensor: case Tag::tensors: x = Value(); break;
        case Tag::ints: if (x.len) x.ints = reinterpret_cast<const int64_t*>(own(x.ints, x.len * 8)); break;
        case Tag::doubles: if (x.len) x.doubles = reinterpret_cast<const double*>(own(x.doubles, x.len * 8)); break;
        case Tag::bools: if (x.len) x.bools = reinterpret_cast<const bool*>(own(x.bools, x.len)); break;
        case Tag::scalars: if (x.len) x.scalars = reinterpret_cast<const Scalar*>(own(x.scalars, x.len * sizeof(Scalar))); break;
        case Tag::string: x.str = own(x.str, x.len); break;
        default: break;
      }
      v.push_back(x);
    }
  }
};

}  // namespace

Tensor number_as_tensor(const Scalar& s, DType like) {
  const DType d = !is_floating(like) && !is_complex(like) ? s.dtype() : s.is_complex() ? to_complex(like) : like;
  if (tls.layers & kPython) return op<"scalar_tensor">(s, d, std::nullopt, Device(), false);
  Tensor t = Tensor::empty({}, {d, Device()});
  op_list<"fill_">(t, s);
  return t;
}

InputMeta meta_from(const Tensor& t) {
  InputMeta m;
  if (!t.defined()) return m;
  m.sizes = Dims(t.sizes());
  m.strides = Dims(t.strides());
  m.offset = t.offset();
  m.options = t.options();
  m.defined = true;
  return m;
}

namespace {

struct OpNode final : Node {
  const OpEntry* op;
  KeptArgs args;
  uint64_t needed = 0;         // arguments with an edge
  uint64_t saved_in = 0, saved_out = 0;
  InlineList<SavedTensor, 2> in;                     // those of the masks, in order
  InlineList<SavedTensor, 1> out;
  std::vector<std::vector<SavedTensor>> in_lists;    // list arguments that are saved, in order
  std::vector<std::pair<int, InputMeta>> metas;
  std::vector<std::pair<int, std::vector<InputMeta>>> list_metas;
  struct Edges { int32_t first = -1, count = 0; };
  SmallVec<Edges, 6> edges;                          // of each argument, none where it has no gradient
  bool freed = false;

  explicit OpNode(const OpEntry& o) : op(o.functional) {}
  std::string name() const override { return op->grad_name; }
  void release() override {
    if (saved_in | saved_out) freed = true;
    for (auto& s : in) s.reset();
    for (auto& s : out) s.reset();
    for (auto& l : in_lists)
      for (auto& s : l) s.reset();
  }

  void result_tangent(uint32_t nr, const Tensor& tangent) override {
    size_t at = 0;
    for (uint64_t m = saved_out; m && at < out.size(); m &= m - 1, ++at)
      if (uint32_t(__builtin_ctzll(m)) == nr) out[at].set_tangent(tangent);
  }

  GradList apply(GradList&& g) override {
    FB_CHECK(!freed, "the saved tensors of ", name(), " (result shape ", inputs.empty() ? Ints() : inputs[0].sizes.span(),
             ") were freed by an earlier backward; pass retain_graph=True there to go through the graph again");
    const size_t n = op->schema.args.size();
    GradList grads(next.size());
    if (op->card->pointwise && !op->card->vjp) {
      if (!g[0].defined()) return grads;
      apply_pointwise(g[0], grads);
      return grads;
    }
    const VjpRule* rule = op->card->vjp;
    if (!rule)
      raise_not_implemented("the derivative of ", op->schema.name, " is not there yet; its result of shape ",
                            inputs.empty() ? Ints() : inputs[0].sizes.span(), " cannot be passed backward");
    bool any = false;
    for (const Tensor& t : g) any |= t.defined();
    if (!any) return grads;
    std::vector<Tensor> tin(n), tout(64 - size_t(__builtin_clzll(saved_out | 1))), result(n);
    std::vector<std::vector<Tensor>> lists(n), result_lists(n);
    size_t at = 0, at_list = 0;
    for (uint64_t m = saved_in; m; m &= m - 1) {
      const size_t i = size_t(__builtin_ctzll(m));
      if (op->schema.list_mask >> i & 1) {
        for (auto& s : in_lists[at_list]) lists[i].push_back(s.unpack(*this));
        ++at_list;
      } else tin[i] = in[at++].unpack(*this);
    }
    at = 0;
    for (uint64_t m = saved_out; m; m &= m - 1) tout[size_t(__builtin_ctzll(m))] = out[at++].unpack(*this);
    std::vector<InputMeta> meta(metas.empty() ? 0 : n);
    for (auto& [i, m] : metas) meta[size_t(i)] = m;
    std::vector<std::vector<InputMeta>> list_meta(list_metas.empty() ? 0 : n);
    for (auto& [i, m] : list_metas) list_meta[size_t(i)] = m;
    VjpView v;
    v.grads = g.data();
    v.in = tin.data();
    v.out = tout.data();
    v.lists = lists.data();
    v.args = args.v.data();
    v.meta = meta.data();
    v.list_meta = list_meta.data();
    v.out_meta = inputs.data();
    v.results = int(inputs.size());
    v.needed = needed;
    v.result = result.data();
    v.result_lists = result_lists.data();
    for (int i = 0; i < rule->count; ++i)
      if (rule->each[i].wrt & needed) rule->each[i].run(v);
    for (size_t i = 0; i < n; ++i) {
      if (edges[int64_t(i)].first < 0) continue;
      const size_t e = size_t(edges[int64_t(i)].first);
      if (op->schema.list_mask >> i & 1) {
        for (size_t k = 0; k < result_lists[i].size() && k < size_t(edges[int64_t(i)].count); ++k) grads[e + k] = std::move(result_lists[i][k]);
      } else if (needed >> i & 1) grads[e] = std::move(result[i]);
    }
    return grads;
  }

  void apply_pointwise(const Tensor& g, GradList& grads) {
    const PointwiseCard& c = *op->card->pointwise;
    Tensor x[kMaxOperands];
    size_t at = 0;
    for (int k = 0; k < c.nin; ++k)
      if (saved_in >> k & 1) x[k] = in[at++].unpack(*this);
    // Numbers in tensor positions were not tensors when saved; they come back as constants.
    int k = 0;
    for (size_t i = 0; i < op->schema.args.size(); ++i) {
      if (!(c.operands >> i & 1)) continue;
      if (args.v[int64_t(i)].is_number()) x[k] = number_as_tensor(args.v[int64_t(i)].scalar(), g.dtype());
      ++k;
    }
    const Tensor y = saved_out ? out[0].unpack(*this) : Tensor();
    k = 0;
    for (size_t i = 0; i < op->schema.args.size(); ++i) {
      if (!(c.operands >> i & 1)) continue;
      if (needed >> i & 1) grads[size_t(edges[int64_t(i)].first)] = run_pointwise_grad(*op, k, g, x, y, args.v.data());
      ++k;
    }
  }
};

// Builds the node of a call, its edges, and what it saves of the inputs. Null where no argument that the card
// differentiates wants a gradient.
OpNode* make_node(const OpEntry& op, const Value* args, bool inplace) {
  const OpEntry& f = *op.functional;
  const size_t n = f.schema.args.size();
  const PointwiseCard* pw = op.card->vjp ? nullptr : op.card->pointwise;
  const VjpRule* rule = op.card->vjp;
  const uint64_t operands = pw ? pw->operands : f.schema.tensor_mask;
  uint64_t want = 0;
  int operand = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bit = uint64_t(1) << i;
    if (operands & bit) {
      const int k = operand++;
      if (args[i].tag != Tag::tensor || !requires_grad(args[i].tensor())) continue;
      if (pw ? !pw->grads[k].has : rule && !(rule->wrt & bit)) continue;
      want |= bit;
    } else if ((f.schema.list_mask & bit) && args[i].tag == Tag::tensors) {
      if (rule && !(rule->wrt & bit)) continue;
      for (const Tensor& t : args[i].tensor_list())
        if (t.defined() && requires_grad(t)) want |= bit;
    }
  }
  if (!want) return nullptr;
  auto* node = new OpNode(op);
  node->needed = want;
  uint64_t save_meta = 0;
  if (pw) {
    operand = 0;
    for (size_t i = 0; i < n; ++i) {
      if (!(operands >> i & 1)) continue;
      if (want >> i & 1) {
        node->saved_in |= pw->grads[operand].saves_in;  // a mask of operands
        node->saved_out |= pw->grads[operand].saves_out;
      }
      ++operand;
    }
  } else if (rule) {
    for (int r = 0; r < rule->count; ++r)
      if (rule->each[r].wrt & want) {
        node->saved_in |= rule->each[r].saves_in;
        node->saved_out |= rule->each[r].saves_out;
        save_meta |= rule->each[r].saves_meta;
      }
  }
  operand = 0;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bit = uint64_t(1) << i;
    node->edges.push_back({});
    if (operands & bit) {
      const int k = operand++;
      const Tensor& t = args[i].tag == Tag::tensor ? args[i].tensor() : FromValue<Tensor>::none;
      // Edge 0 of an in-place write is the past of what is written, wanted or not.
      if ((want & bit) || (pw ? pw->grads[k].has && (f.schema.tensor_mask & bit) : rule && (rule->wrt & bit))) {
        node->edges[int64_t(i)] = {int32_t(node->next.size()), 1};
        node->next.push_back(want & bit ? gradient_edge(t) : Edge());
      }
      const uint64_t save = pw ? node->saved_in >> k & 1 : node->saved_in >> i & 1;
      if (save) {
        if (!t.defined()) {
          if (pw) node->saved_in &= ~(uint64_t(1) << k);  // a number
          else node->in.emplace_back();
        } else if (inplace && i == 0) {
          // The rule needs self as it was; the copy carries self's past.
          Tensor copy;
          if (t->wrapped) {  // history of this level only: outer ones have their own
            const OpEntry& clone = *find_op("clone");
            const Value v[] = {Value(t), Value()};
            Results r;
            run_layered(clone, v, r, t->flags);
            copy = r[0];
          } else {
            GradMode no(false);
            copy = fb::op<"clone">(t);
          }
          if (dual_level_open)
            if (const Tensor tangent = tangent_of(t); tangent.defined()) set_tangent(copy, fb::op<"clone">(tangent));
          if (requires_grad(t)) {
            const Edge e = gradient_edge(t);
            AutogradMeta& m = meta_of(copy);
            m.grad_fn = e.fn;
            m.output_nr = e.nr;
            copy->requires_grad = true;
          }
          node->in.emplace_back(copy, false);
        } else node->in.emplace_back(t, false);
      }
      if (save_meta & bit) node->metas.emplace_back(int(i), meta_from(t));
    } else if (f.schema.list_mask & bit) {
      const TensorSpan list = args[i].tag == Tag::tensors ? args[i].tensor_list() : TensorSpan();
      if (want & bit) {
        node->edges[int64_t(i)] = {int32_t(node->next.size()), int32_t(list.n)};
        for (const Tensor& t : list) node->next.push_back(t.defined() && requires_grad(t) ? gradient_edge(t) : Edge());
      }
      if (node->saved_in & bit) {
        node->in_lists.emplace_back();
        for (const Tensor& t : list) node->in_lists.back().emplace_back(t, false);
      }
      if (save_meta & bit) {
        node->list_metas.emplace_back(int(i), std::vector<InputMeta>());
        for (const Tensor& t : list) node->list_metas.back().second.push_back(meta_from(t));
      }
    }
  }
  node->args.keep(args, n);
  return node;
}

bool differentiable(const Tensor& t) { return t.defined() && (t.is_floating() || t.is_complex()); }

void save_outputs(OpNode& node, const Results& out) {
  for (uint64_t m = node.saved_out; m; m &= m - 1) {
    const int i = __builtin_ctzll(m);
    const bool has_fn = out[i].defined() && find_meta(out[i]) && find_meta(out[i])->grad_fn.get() == &node;
    node.out.emplace_back(out[i], has_fn);
  }
}

void finish(const Ref<Node>& ref, OpNode& node, const Results& out, bool first_only) {
  for (int i = 0; i < out.size(); ++i) {
    if (differentiable(out[i]) && !(first_only && i > 0)) set_history(out[i], ref);
    else if (out[i].defined()) node.add_input(out[i]);
    else node.inputs.emplace_back();
  }
  save_outputs(node, out);
}

}  // namespace

void autograd_invoke(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  OpNode* node = tls.grad_enabled ? make_node(op, args, false) : nullptr;
  if (!node) return run_resolved(op, args, out, flags);
  Ref<Node> ref(node);
  run_resolved(op, args, out, flags);
  finish(ref, *node, out, op.card->forms & form::first_result_differentiable);
}

void autograd_invoke_view(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  const Tensor& self = args[0].tensor();
  if (below_autograd) [[unlikely]] return flags & kLayered ? run_layered(op, args, out, flags) : op.run(op, args, out);
  if ((flags & (kDual | kTrackedView)) && carries_tangents() && forward_invoke(op, args, out)) return;
  OpNode* node = nullptr;
  if (tls.grad_enabled && (flags & (kRequiresGrad | kTrackedView))) node = make_node(op, args, false);
  Ref<Node> ref(node);
  if (flags & kLayered) [[unlikely]] run_layered(op, args, out, flags);
  else op.run(op, args, out);
  if (node) finish(ref, *node, out, op.card->forms & form::first_result_differentiable);
  if (self->inference) return;  // so are its views, and none is tracked
  const auto made = tls.inference ? ViewInfo::Made::inference : !tls.grad_enabled ? ViewInfo::Made::no_grad : out.is_list ? ViewInfo::Made::multi_output : ViewInfo::Made::normal;
  const bool of_python = (flags & kPython) && !(flags & kWrapped) && self->python;
  const std::vector<Tensor> places = of_python ? places_by_rule(op, args) : std::vector<Tensor>();
  for (int i = 0; i < out.size(); ++i) {
    if (out[i].is(self)) continue;
    const bool same = out[i]->storage.get() == self->storage.get();
    if (!same && of_python && out[i]->python && !(find_meta(out[i]) && find_meta(out[i])->view)) {
      // What a class gives for a view is one, though it does not say that they share memory: writes count for both.
      out[i]->own_version = self->own_version ? self->own_version : self->storage;
    } else if (!same && !((flags & kWrapped) && same_storage(out[i], self))) continue;
    track_view(out[i], self, made);
    if (size_t(i) < places.size() && places.size() == size_t(out.size())) tell_place(out[i], places[size_t(i)]);
  }
}

void autograd_invoke_inplace(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  const Tensor self = args[0].tensor();
  FB_CHECK(!(self->inference && !tls.inference), op.schema.name, ": an inference tensor of shape ", self.sizes(),
           " may not be written in place outside InferenceMode; clone() it first");
  if ((flags & (kDual | kTrackedView)) && carries_tangents() && forward_invoke_inplace(op, args, out)) return;
  bool record = false;
  if (tls.grad_enabled) {
    for (size_t i = 0; i < op.schema.args.size() && !record; ++i) {
      if (args[i].tag == Tag::tensor) record = requires_grad(args[i].tensor());
      else if (args[i].tag == Tag::tensors && (op.schema.list_mask >> i & 1))
        for (const Tensor& t : args[i].tensor_list()) record |= t.defined() && requires_grad(t);
    }
  }
  if (tls.grad_enabled && !record && self->tracked_view)  // a view without history of what has one
    if (const AutogradMeta* m = find_meta(self)) record = m->view && requires_grad(m->view->base);
  if (record && differentiable(self)) check_inplace(self, op.schema.name.c_str());
  OpNode* node = record && differentiable(self) ? make_node(op, args, true) : nullptr;
  Ref<Node> ref(node);
  const OneWrite write(self);
  const bool moves_view = op.card->kind == CardKind::view && (flags & kPython) && self->python && find_meta(self) && find_meta(self)->view;
  const std::vector<Tensor> places = moves_view ? places_by_rule(op, args) : std::vector<Tensor>();
  if (flags & kLayered) run_resolved(op, args, out, flags);  // what a layer runs is its own affair
  else {
    GradMode no(false);
    run_resolved(op, args, out, flags);
  }
  if (!self->inference) write.count(self);
  AutogradMeta* own = find_meta(self);
  if (op.card->kind == CardKind::view && own && own->view) {
    // Only the geometry changed; the window on the base is made anew from it.
    if (moves_view) {
      own->view->place = Tensor();
      if (places.size() == 1) tell_place(self, places[0]);
    }
    own->view->version = self->version() - 1;
    grad_fn(self);
  } else if (node) {
    rebase_history(self, ref);
    for (uint64_t m = node->saved_out; m; m &= m - 1) {
      // The written tensor is the result; inside CopySlices its node is not the tensor's own, so it is kept plain.
      const AutogradMeta* meta = find_meta(self);
      node->out.emplace_back(self, meta && meta->grad_fn.get() == node);
    }
  }
}

}  // namespace fb
