// Tangents of results from what a card says: a view or linear card applies itself to the tangent; a pointwise one
// multiplies by its derivative; any other differentiates its vjp, which is linear in the gradient, in that gradient.
#include "autograd/engine.h"
#include "autograd/forward.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/first_result.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"

namespace fb {
namespace {

bool differentiable(const Tensor& t) { return t.defined() && (t.is_floating() || t.is_complex()); }

void add_to(Tensor& sum, Tensor t) {
  if (!t.defined()) return;
  sum = sum.defined() ? op<"add">(sum, t) : std::move(t);
}

// Of the result's type and shape.
Tensor fitted(Tensor t, const Tensor& like) {
  if (!t.defined()) return t;
  if (t.is_complex() && !like.is_complex()) t = op<"real">(t);
  if (t.dtype() != like.dtype()) t = op<"to.dtype">(t, like.dtype());
  if (!(t.sizes() == like.sizes())) t = op<"clone">(op<"expand">(t, like.sizes()));
  return t;
}

using Args = SmallVec<Value, 8>;
Args copy_args(const OpEntry& op, const Value* args) {
  Args v;
  for (size_t i = 0; i < op.schema.args.size(); ++i) v.push_back(args[i]);
  return v;
}

GradList along_view(const OpEntry& op, const Value* args, const Tangents& t) {
  Args v = copy_args(op, args);
  const Tensor& self = args[0].tensor();
  v[0] = Value(t.one[0]);
  // as_strided alone looks at storage: its offset counts from there.
  if (op.schema.name == "as_strided" && v[3].tag == Tag::integer) v[3] = Value(v[3].integer() - self.offset() + t.one[0].offset());
  Results r;
  op.invoke(op, v.data(), r);
  GradList d;
  for (int i = 0; i < r.size(); ++i) d.push_back(std::move(r[i]));
  return d;
}

GradList along_linear(const OpEntry& op, const Value* args, const Tangents& t, const Results& out) {
  GradList d(size_t(out.size()));
  for (uint64_t m = op.card->linear; m; m &= m - 1) {
    const size_t i = size_t(__builtin_ctzll(m));
    Args v = copy_args(op, args);
    std::vector<Tensor> list;
    if (op.schema.list_mask >> i & 1) {
      if (t.lists[i].empty()) continue;
      const TensorSpan given = args[i].tensor_list();
      for (int64_t k = 0; k < given.n; ++k) list.push_back(t.lists[i][size_t(k)].defined() ? t.lists[i][size_t(k)] : zeros_like_meta(meta_from(given[k])));
      v[int64_t(i)] = Value(list);
    } else {
      if (!t.one[i].defined()) continue;
      v[int64_t(i)] = Value(t.one[i]);
    }
    Results r;
    op.invoke(op, v.data(), r);
    for (int k = 0; k < r.size(); ++k)
      if (differentiable(out[k])) add_to(d[size_t(k)], std::move(r[k]));
  }
  return d;
}

// Of one operand of a pointwise card. Over reals its vjp is its own transpose; a derivative d of a complex variable gives
// t * d; any other map of complex numbers is linear over the reals only, and is taken apart into its two rows.
Tensor along_operand(const OpEntry& op, int k, Tensor t, const Tensor* x, const Tensor& y, const Value* args) {
  if (!(t.sizes() == y.sizes())) t = fb::op<"expand">(t, y.sizes());
  if (!y.is_complex() && !t.is_complex() && !x[k].is_complex()) return run_pointwise_grad(op, k, t, x, y, args);
  if (op.card->pointwise->grads[k].holomorphic) return fb::op<"conj">(run_pointwise_grad(op, k, fb::op<"conj">(t), x, y, args));
  auto row = [&](const Tensor& g) { return fb::op<"real">(fb::op<"mul">(fb::op<"conj">(fitted(run_pointwise_grad(op, k, g, x, y, args), t)), t)); };
  Tensor one = fb::op<"ones_like">(y);
  const Tensor re = row(one);
  if (!y.is_complex()) return re;
  return fb::op<"complex">(re, row(fb::op<"mul">(one, Scalar(cdouble(0, 1)))));
}

Tensor along_pointwise(const OpEntry& op, const Value* args, const Tangents& t, const Tensor& y) {
  const PointwiseCard& c = *op.card->pointwise;
  Tensor x[kMaxOperands];
  int k = 0;
  for (uint64_t m = c.operands; m; m &= m - 1, ++k) {
    const Value& a = args[__builtin_ctzll(m)];
    if (a.is_number()) x[k] = number_as_tensor(a.scalar(), y.dtype());
    else if (a.tag == Tag::tensor) x[k] = a.tensor();
  }
  Tensor d;
  k = 0;
  for (uint64_t m = c.operands; m; m &= m - 1, ++k) {
    const Tensor& ti = t.one[size_t(__builtin_ctzll(m))];
    if (ti.defined() && c.grads[k].has) add_to(d, fitted(along_operand(op, k, ti, x, y, args), y));
  }
  return d;
}

// Everything a rule may ask for, from the arguments at hand.
struct RuleArguments {
  std::vector<Tensor> in, out, result, grads;
  std::vector<std::vector<Tensor>> lists, result_lists;
  std::vector<InputMeta> meta, out_meta;
  std::vector<std::vector<InputMeta>> list_meta;

  RuleArguments(const OpEntry& op, const Value* args, const Results& r, bool history) {
    const size_t n = op.schema.args.size();
    in.resize(n), result.resize(n), lists.resize(n), result_lists.resize(n), meta.resize(n), list_meta.resize(n);
    auto value = [&](const Tensor& t) { return history || !t.defined() || !(t->flags & (kRequiresGrad | kTrackedView)) ? t : detach(t); };
    for (size_t i = 0; i < n; ++i) {
      if (args[i].tag == Tag::tensor) {
        in[i] = value(args[i].tensor());
        meta[i] = meta_from(in[i]);
      } else if (args[i].tag == Tag::tensors) {
        for (const Tensor& t : args[i].tensor_list()) {
          lists[i].push_back(value(t));
          list_meta[i].push_back(meta_from(t));
        }
      }
    }
    for (int i = 0; i < r.size(); ++i) {
      out.push_back(value(r[i]));
      out_meta.push_back(meta_from(r[i]));
    }
    grads.resize(out.size());
  }
  void fill(VjpView& v, const Value* args, uint64_t needed) {
    v.grads = grads.data();
    v.in = in.data();
    v.out = out.data();
    v.lists = lists.data();
    v.args = args;
    v.meta = meta.data();
    v.list_meta = list_meta.data();
    v.out_meta = out_meta.data();
    v.results = int(out.size());
    v.needed = needed;
    v.result = result.data();
    v.result_lists = result_lists.data();
  }
};

// A node to name in errors about shapes.
struct Named final : Node {
  std::string label;
  GradList apply(GradList&&) override { return {}; }
  std::string name() const override { return label; }
};

bool wants_history(const Value* args, const Tangents& t, const OpEntry& entry) {
  if (!tls.grad_enabled) return false;
  bool any = false;
  for (size_t i = 0; i < entry.schema.args.size(); ++i) {
    if (args[i].tag == Tag::tensor) any |= requires_grad(args[i].tensor());
    else if (args[i].tag == Tag::tensors)
      for (const Tensor& x : args[i].tensor_list()) any |= x.defined() && requires_grad(x);
    any |= t.one[i].defined() && requires_grad(t.one[i]);
    for (const Tensor& x : t.lists[i]) any |= x.defined() && requires_grad(x);
  }
  return any;
}

// jvp(t) = d/dg <vjp(g), t>, at a g of ones.
GradList along_vjp(const OpEntry& op, const Value* args, const Tangents& t, const Results& out) {
  const VjpRule& rule = *op.card->vjp;
  const bool first_only = op.card->forms & form::first_result_differentiable;
  GradList d(size_t(out.size()));
  uint64_t needed = 0;
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (t.one[i].defined() || !t.lists[i].empty()) needed |= uint64_t(1) << i;
  needed &= rule.wrt;
  for (int i = 0; i < rule.count; ++i)
    if (rule.each[i].zero) needed &= ~rule.each[i].wrt;
  if (!needed) return d;
  const bool again = wants_history(args, t, op);
  const OuterGradMode outer;
  GradMode on(true);
  struct HooksOff {  // what is saved here lives no longer than this call
    int before;
    explicit HooksOff(bool on) : before(saved_hooks_active) { if (on) saved_hooks_active = 0; }
    ~HooksOff() { saved_hooks_active = before; }
  } hooks(!again);
  RuleArguments a(op, args, out, again);
  BackwardRequest back;
  for (int i = 0; i < out.size(); ++i) {
    if (!differentiable(out[i]) || (first_only && i > 0)) continue;
    Tensor g;
    if (out[i]->wrapped) g = detach(fb::op<"ones_like">(out[i]));  // of the result's level
    else {
      g = Tensor::empty(out[i].sizes(), out[i].options());
      fb::op_list<"fill_">(g, 1.0);
    }
    set_requires_grad(g, true);
    a.grads[size_t(i)] = g;
    back.inputs.push_back(gradient_edge(g));
  }
  VjpView v;
  a.fill(v, args, needed);
  for (int i = 0; i < rule.count; ++i)
    if (rule.each[i].wrt & needed) rule.each[i].run(v);
  Ref<Node> named(new Named);
  static_cast<Named&>(*named).label = op.schema.name;
  auto pair = [&](Tensor r, const InputMeta& m, const Tensor& tangent) {
    if (!r.defined() || !tangent.defined()) return;
    r = fit_gradient(r, m, *named);
    if (!requires_grad(r)) {
      if (r.numel() && holds(fb::op<"any">(fb::op<"ne">(r, Scalar(0)))))
        raise_not_implemented("forward mode through ", op.schema.name, " (argument of shape ", m.sizes,
                              "): its backward has no derivative in the gradient yet, and the card gives no jvp");
      return;
    }
    back.roots.push_back(gradient_edge(r));
    back.grads.push_back(tangent.dtype() == r.dtype() ? tangent : fb::op<"to.dtype">(tangent, r.dtype()));
  };
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (!(needed >> i & 1)) continue;
    if (op.schema.list_mask >> i & 1) {
      for (size_t k = 0; k < a.result_lists[i].size() && k < t.lists[i].size(); ++k)
        if (t.lists[i][k].defined()) pair(a.result_lists[i][k], a.list_meta[i][k], t.lists[i][k]);
    } else pair(a.result[i], a.meta[i], t.one[i]);
  }
  if (back.roots.empty()) return d;
  back.create_graph = back.retain_graph = again;
  back.accumulate = false;
  GradList r = run_backward(std::move(back));
  size_t at = 0;
  for (int i = 0; i < out.size(); ++i)
    if (a.grads[size_t(i)].defined()) d[size_t(i)] = std::move(r[at++]);
  return d;
}

}  // namespace

GradList apply_jvp(const OpEntry& op, const Value* args, const Tangents& t, const Results& out) {
  ForwardMode off(false);
  const CardRecord& c = *op.card;
  GradList d;
  if (c.kind == CardKind::view) {
    if (!t.one[0].defined()) return {};
    return along_view(op, args, t);
  }
  if (c.linear) d = along_linear(op, args, t, out);
  else if (c.jvp) {
    d.resize(size_t(out.size()));
    RuleArguments a(op, args, out, true);
    JvpView v;
    a.fill(v, args, 0);
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (t.one[i].defined() || !t.lists[i].empty()) v.needed |= uint64_t(1) << i;
    v.tangents = t.one.data();
    v.tangent_lists = t.lists.data();
    v.result_tangents = d.data();
    c.jvp(v);
  } else if (c.pointwise && !c.vjp) d.push_back(along_pointwise(op, args, t, out[0]));
  else if (c.vjp) d = along_vjp(op, args, t, out);
  d.resize(size_t(out.size()));
  const bool none = !c.linear && !c.jvp && !c.vjp && !c.pointwise;
  for (int i = 0; i < out.size(); ++i) {
    if (!differentiable(out[i]) || none) continue;
    // A differentiable result that no tangent reaches does not move; it has zeros where its card has a rule.
    if (d[size_t(i)].defined()) d[size_t(i)] = fitted(std::move(d[size_t(i)]), out[i]);
  }
  return d;
}

}  // namespace fb
