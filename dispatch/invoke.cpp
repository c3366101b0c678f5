#include "dispatch/invoke.h"

#include "dispatch/below_autograd.h"
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/layers.h"
#include "dispatch/levels.h"
#include "dispatch/out_rule.h"
#include "dispatch/out_type.h"
#include "dispatch/repeated.h"
#include "dispatch/pointwise.h"
#include "dispatch/thread_state.h"
#include "dispatch/trace.h"
#include "dispatch/visible.h"

namespace fb {

constinit thread_local ThreadState tls;
__attribute__((tls_model("initial-exec"))) constinit thread_local bool below_autograd = false;
bool dual_level_open = false;
LayerRun wrapped_layer = nullptr, python_layer = nullptr;
DType default_dtype = DType::f32;
constinit thread_local Tracer* tracer = nullptr;

Flags argument_flags(const OpEntry& op, const Value* args) {
  Flags f = tls.layers;
  for (uint64_t m = op.schema.tensor_mask; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    if (v.tag == Tag::tensor) f |= v.t->flags;
  }
  for (uint64_t m = op.schema.list_mask; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    if (v.tag == Tag::tensors)
      for (const Tensor& t : v.tensor_list())
        if (t.defined()) f |= t->flags;
  }
  return f;
}

Device common_device(const OpEntry& op, const Value* args) {
  Device d;
  bool found = false;
  const Tensor* first = nullptr;
  auto see = [&](const Tensor& t) {
    if (t->wrapped_number) return;
    if (!found || first->ndim() == 0) {
      if (!found || t.ndim() > 0 || !(t.device() == d)) {
        if (!found || t.ndim() > 0) {
          d = t.device();
          first = &t;
          found = true;
        }
      }
      return;
    }
    if (!(t.device() == d) && t.ndim() > 0)
      raise_runtime("operator ", op.schema.name, " was given tensors on different devices, ", d, " (shape ", first->sizes(),
                    ") and ", t.device(), " (shape ", t.sizes(), ")");
  };
  for (uint64_t m = op.schema.tensor_mask; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    if (v.tag == Tag::tensor) see(v.tensor());
  }
  for (uint64_t m = op.schema.list_mask; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    if (v.tag == Tag::tensors)
      for (const Tensor& t : v.tensor_list())
        if (t.defined()) see(t);
  }
  if (!found)
    for (size_t i = 0; i < op.schema.args.size(); ++i)
      if (args[i].tag == Tag::device) d = args[i].device();
  return d;
}

const KernelRecord& select_kernel(const OpEntry& op, Device device, const Value* args) {
  if (device.is_cpu())
    for (const KernelRecord* k : op.cpu)
      if (!k->accepts || k->accepts(args)) return *k;
  raise_not_implemented("operator ", op.schema.full_name(), " has no kernel for device ", device,
                        op.cpu.empty() || !device.is_cpu() ? "" : " that accepts these arguments");
}

void prepare_out(const OpEntry& op, const Tensor& to, Ints sizes, DType dtype) {
  FB_CHECK(can_cast(dtype, to.dtype()), op.schema.name, ": a result of type ", dtype, " cannot be written to out of type ", to.dtype());
  if (to.sizes() == sizes) return;
  if (to.numel() != 0)
    warn(text("out of shape ", to.sizes(), " was resized to the result's shape ", sizes, " of ", op.schema.name,
              "; pass an empty tensor (t.resize_(0)) to say that this is meant"));
  op_list<"resize_">(to, sizes);
}

void write_out(const OpEntry& op, const Tensor& to, const Tensor& from) {
  FB_CHECK(to.device() == from.device(), op.schema.name, ": out is on ", to.device(), ", the result on ", from.device());
  prepare_out(op, to, from.sizes(), from.dtype());
  GradMode no(false);
  op_list<"copy_">(to, from);
}

void check_inplace_result(const OpEntry& op, const Tensor& t, Ints sizes, DType dtype) {
  FB_CHECK(t.sizes() == sizes, op.schema.name, ": the result of shape ", sizes, " does not fit into self of shape ", t.sizes());
  FB_CHECK(can_cast(dtype, t.dtype()), op.schema.name, ": a result of type ", dtype, " cannot be written to self of type ", t.dtype());
}

namespace {

// ---- below autograd ----

// A kernel of the CPU reads all its arguments, 0-d ones too.
void check_readable(const OpEntry& op, Device d, const Value* args) {
  if (!d.is_cpu() || ((op.schema.tensor_mask & (op.schema.tensor_mask - 1)) == 0 && !op.schema.list_mask)) return;
  auto see = [&](const Tensor& t) {
    FB_CHECK(t.device().is_cpu(), "operator ", op.schema.name, " was given tensors on different devices, ", d, " and ", t.device(), " (shape ",
             t.sizes(), ")");
  };
  for (uint64_t m = op.schema.tensor_mask; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    if (v.tag == Tag::tensor && v.t) see(v.tensor());
  }
  for (uint64_t m = op.schema.list_mask; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    if (v.tag == Tag::tensors)
      for (const Tensor& t : v.tensor_list())
        if (t.defined()) see(t);
  }
}

void run_structured(const OpEntry& op, const Value* args, Results& out) {
  op.card->meta(op, args, out);
  int made = 0;  // results that were not asked for are undefined
  while (made < out.size() && !out[made].defined()) ++made;
  const Device d = made < out.size() ? out[made].device() : common_device(op, args);
  if (d.is_meta()) return;
  check_readable(op, d, args);
  select_kernel(op, d, args).run(op, args, out);
}

void run_direct(const OpEntry& op, const Value* args, Results& out) {
  const Device d = op.schema.writes && args[0].tag == Tag::tensor ? args[0].tensor().device() : common_device(op, args);
  if (op.card->meta) {
    op.card->meta(op, args, out);
    if (d.is_meta()) return;
    out.clear();
  }
  check_readable(op, d, args);
  select_kernel(op, d, args).run(op, args, out);
}

// Views within the lowering are its own affair: a result is no view, and its writes are none of a caller's.
void run_lowered(const OpEntry& op, const Value* args, Results& out) {
  BelowAutograd below;
  GradMode no(false);
  op.card->body(op, args, out);
  if (op.schema.writes) return;
  for (int i = 0; i < out.size(); ++i)  // what the body made it from is seen by nobody: to the caller it is no view
    if (out[i].defined() && out[i]->tracked_view && !(out[i]->flags & kLayered)) out[i] = out[i].alias();
}

void run_view(const OpEntry& op, const Value* args, Results& out) { op.card->view(op, args, out); }

// In place: the functional result written over self.
void run_generic_inplace(const OpEntry& op, const Value* args, Results& out) {
  const Tensor self = args[0].tensor();
  if (op.card->kind == CardKind::view) {  // only the geometry changes
    Results r;
    op.card->view(op, args, r);
    self->sizes = r[0]->sizes;
    self->strides = r[0]->strides;
    self->offset = r[0]->offset;
    self->refresh();
    out.push(self);
    return;
  }
  Results r;
  op.functional->run(*op.functional, args, r);
  check_inplace_result(op, self, r[0].sizes(), r[0].dtype());
  GradMode no(false);
  if ((op.card->forms & form::out_repeated) && has_internal_overlap(self)) write_repeated(self, r[0], fb::op<"ne">(r[0], self));
  else op_list<"copy_">(self, r[0]);
  out.push(self);
}

// Memory that out= tensors share with what is read, or with each other.
void check_out_memory(const OpEntry& op, const Value* args, int nargs, int nout) {
  const uint32_t forms = op.card->forms;
  for (int i = 0; i < nout; ++i) {
    const Tensor& to = args[nargs + i].tensor();
    if (!to->storage || to.is_meta()) continue;  // no memory
    for (int k = 0; k < i; ++k)
      FB_CHECK(to.numel() == 0 || !may_overlap(to, args[nargs + k].tensor()), op.schema.name, ": two of the tensors in out, of shapes ",
               args[nargs + k].tensor().sizes(), " and ", to.sizes(), ", share memory");
    FB_CHECK(!(forms & form::out_single) || to.numel() == 0 || !has_internal_overlap(to), op.schema.name, ": several elements of out, of shape ", to.sizes(),
             " and strides ", to.strides(), ", are one place in memory");
    if (!(forms & (form::out_apart | form::out_same_or_apart)) || to.numel() == 0) continue;
    for (uint64_t m = op.functional->schema.tensor_mask; m; m &= m - 1) {
      const Value& v = args[__builtin_ctzll(m)];
      if (v.tag != Tag::tensor || !may_overlap(v.tensor(), to)) continue;
      const Tensor& t = v.tensor();
      const bool same = t.data() == to.data() && t.sizes() == to.sizes() && t.strides() == to.strides() && t.dtype() == to.dtype();
      FB_CHECK(same && !(forms & form::out_apart), op.schema.name, ": out of shape ", to.sizes(), " shares memory with an argument of shape ",
               t.sizes(), "; clone() one of them first");
    }
  }
}

void run_generic_out(const OpEntry& op, const Value* args, Results& out) {
  const int nout = int(op.schema.returns.size()), nargs = int(op.schema.args.size()) - nout;
  Results r;
  check_out_memory(op, args, nargs, nout);
  for (uint64_t m = op.functional->schema.list_mask; m; m &= m - 1) {
    const Value& list = args[__builtin_ctzll(m)];
    if (list.tag != Tag::tensors) continue;
    for (const Tensor& t : list.tensor_list())
      for (int i = 0; i < nout; ++i)
        FB_CHECK(!t.defined() || !t.is(args[nargs + i].tensor()), op.schema.name, ": out of shape ", args[nargs + i].tensor().sizes(),
                 " is one of the tensors that are read");
  }
  GradMode no(false);
  SmallVec<Value, 8> v;
  const bool factory = !(op.functional->schema.tensor_mask | op.functional->schema.list_mask);
  if (factory) {  // makes what out holds
    for (int i = 0; i < nargs; ++i) v.push_back(args[i].is_none() && op.schema.args[size_t(i)].type == ArgType::dtype ? Value(args[nargs].tensor().dtype()) : args[i]);
    op.functional->invoke(*op.functional, v.data(), r);
  } else op.functional->invoke(*op.functional, args, r);
  for (int i = 0; i < nout; ++i) {
    const Tensor to = args[nargs + i].tensor();
    // A truth may be written as uint8, which older programs keep masks in.
    FB_CHECK(factory || (op.card->forms & form::out_converts) || r[i].dtype() == to.dtype() || (r[i].dtype() == DType::boolean && to.dtype() == DType::u8),
             op.schema.name, ": out is of type ", to.dtype(), ", the result of type ", r[i].dtype(), "; it is not converted");
    if ((op.card->forms & form::out_type_error) && !can_cast(r[i].dtype(), to.dtype()))
      raise_type(op.schema.name, ": a result of type ", r[i].dtype(), " cannot be written to out of type ", to.dtype());
    if ((op.card->forms & form::out_repeated) && to.sizes() == r[i].sizes() && to.device() == r[i].device() && has_internal_overlap(to))
      write_repeated(op, args, to, r[i]);
    else write_out(op, to, r[i]);
    out.push(to);
  }
}

}  // namespace

void run_layered(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  const LayerRun layer = flags & kWrapped ? wrapped_layer : python_layer;
  if (!layer) raise_runtime(op.schema.full_name(), ": no layer takes calls on such tensors");
  layer(op, args, out, flags);
}

// What was written to make a result counts as no write to it: nobody else has seen it yet.
static void born(const OpEntry& op, const Results& out) {
  if (op.schema.writes || op.schema.is_view) return;
  for (int i = 0; i < out.size(); ++i) {
    const Tensor& t = out[i];
    if (!t.defined() || !t->storage || t->storage->version == 0) continue;
    if (t->refs.load(std::memory_order_acquire) == 1 && !t->py && !t->own_version && t->storage.use_count() == 1) t->storage->version = 0;
  }
}

void run_resolved(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  if (flags & kLayered) [[unlikely]] return run_layered(op, args, out, flags);
  if ((flags & (kConj | kNeg)) == 0 || op.card->lazy_bits) {
    op.run(op, args, out);
    return born(op, out);
  }
  constexpr int kMax = 64;
  Value v[kMax];
  std::vector<Tensor> keep;
  std::vector<std::vector<Tensor>> lists;
  keep.reserve(op.schema.args.size());
  lists.reserve(op.schema.args.size());
  auto real = [](const Tensor& t) { return !t.defined() || !(t->flags & (kConj | kNeg)) ? t : op_list<"clone">(t)[0]; };
  uint64_t written = 0;
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    v[i] = args[i];
    if (args[i].tag == Tag::tensor && (args[i].t->flags & (kConj | kNeg))) {
      if (op.schema.args[i].written) written |= uint64_t(1) << i;
      keep.push_back(real(args[i].tensor()));
      v[i] = Value(keep.back());
    } else if (args[i].tag == Tag::tensors) {
      lists.emplace_back();
      for (const Tensor& t : args[i].tensor_list()) lists.back().push_back(real(t));
      v[i] = Value(lists.back());
    }
  }
  op.run(op, v, out);
  for (; written; written &= written - 1) {  // the copy was written; bring it home through copy_, which takes the bits
    GradMode no(false);
    const int i = __builtin_ctzll(written);
    const Tensor home = args[i].tensor(), copy = v[i].tensor();
    op_list<"copy_">(home, copy);
    for (int k = 0; k < out.size(); ++k)
      if (out[k].is(copy)) out[k] = home;
  }
  born(op, out);
}

namespace {

// ---- the top of a call ----

// Whether a trace takes the call: it runs nothing then but shape rules.
bool traced(const OpEntry& op, const Value* args, Results& out) {
  Tracer* const t = tracer;
  if (!t) return false;
  t->call(op, args, out);
  return true;
}

void invoke_composite(const OpEntry& op, const Value* args, Results& out) {
  if ((tls.layers & kWrapped) && run_factory_at_level(op, args, out)) return;
  if (op.card->forms & form::visible) {
    const Flags f = argument_flags(op, args);
    // Lists whose call is recorded are expanded: their derivatives are those of the parts.
    const bool recorded = op.schema.list_mask && (f & (kRequiresGrad | kTrackedView)) && tls.grad_enabled && !below_autograd;
    if ((f & kPython) && !recorded) return run_layered(op, args, out, f);
    if ((f & kTraced) && op.schema.name == "detach" && traced(op, args, out)) return;   // its body makes the view itself
  }
  op.card->body(op, args, out);
  born(op, out);
}

void invoke_functional(const OpEntry& op, const Value* args, Results& out) {
  const Flags f = argument_flags(op, args);
  if (f & (kRequiresGrad | kTrackedView | kDual | kWrapped | kTraced)) {
    if ((f & kWrapped) && run_at_level(op, args, out)) return;
    if ((f & kTraced) && traced(op, args, out)) return;
    if (below_autograd) return run_resolved(op, args, out, f);
    if (carries_tangents() && forward_invoke(op, args, out)) return;
    if ((f & (kRequiresGrad | kTrackedView)) && tls.grad_enabled && (op.card->vjp || op.card->pointwise))
      return autograd_invoke(op, args, out, f);
  }
  run_resolved(op, args, out, f);
}

// No argument is a tensor that could bear the mark of a trace.
void invoke_factory(const OpEntry& op, const Value* args, Results& out) {
  if (tracer && traced(op, args, out)) return;
  invoke_functional(op, args, out);
}

void invoke_view(const OpEntry& op, const Value* args, Results& out) {
  const Flags f = Flags(tls.layers | (args[0].tag == Tag::tensor ? args[0].t->flags : 0));
  if ((f & kWrapped) && run_at_level(op, args, out)) return;
  if ((f & kTraced) && traced(op, args, out)) return;
  autograd_invoke_view(op, args, out, f);
}

void invoke_inplace(const OpEntry& op, const Value* args, Results& out) {
  const Flags f = argument_flags(op, args);
  if ((f & kWrapped) && run_at_level(op, args, out)) return;
  if ((f & kTraced) && traced(op, args, out)) return;
  if (below_autograd) [[unlikely]] return run_resolved(op, args, out, f);  // the call above counts the write
  if (f & (kRequiresGrad | kTrackedView | kInference | kDual) || tls.inference) return autograd_invoke_inplace(op, args, out, f);
  const OneWrite write(args[0].tensor());
  run_resolved(op, args, out, f);
  write.count(args[0].tensor());
}

void invoke_out(const OpEntry& op, const Value* args, Results& out) {
  const Flags f = argument_flags(op, args);
  if ((f & kWrapped) && run_at_level(op, args, out)) return;
  if ((f & kTraced) && traced(op, args, out)) return;
  if (below_autograd) [[unlikely]] return run_resolved(op, args, out, f & ~(kConj | kNeg));
  if ((f & (kTrackedView | kDual)) && carries_tangents()) forward_refuse_out(op, args);
  if ((f & kInference) && !tls.inference)
    for (size_t i = op.functional->schema.args.size(); i < op.schema.args.size(); ++i)
      FB_CHECK(!args[i].t->inference, op.schema.name, ": out of shape ", args[i].t->sizes,
               " is an inference tensor, which may not be written outside InferenceMode; clone() it first");
  if ((f & kRequiresGrad) && tls.grad_enabled)
    raise_runtime(op.schema.name, ": out= was given, but an argument requires grad; results written to out= are not "
                  "recorded for backward (use torch.no_grad() or leave out= away)");
  const int first = int(op.functional->schema.args.size()), last = int(op.schema.args.size());
  SmallVec<OneWrite, 4> writes;
  for (int i = first; i < last; ++i) writes.push_back(OneWrite(args[i].tensor()));
  run_resolved(op, args, out, f & ~(kConj | kNeg));
  for (int i = 0; i < out.size(); ++i)
    if (!out[i]->inference) writes[i].count(out[i]);
}

}  // namespace

namespace detail {
static Tensor view_of(const Tensor& base, const Geometry& g) {
  Tensor t = base.alias(g.sizes, g.strides, g.offset);
  if (g.dtype != DType::none) t->dtype = g.dtype;
  if (g.bits >= 0) {
    t->conj = g.bits & kConj;
    t->neg = g.bits & kNeg;
  }
  return t;
}
void put_views(Results& out, const Tensor& base, const Geometry& g) { out.push(view_of(base, g)); }
void put_views(Results& out, const Tensor& base, const std::vector<Geometry>& gs) {
  std::vector<Tensor> v;
  v.reserve(gs.size());
  for (const Geometry& g : gs) v.push_back(view_of(base, g));
  out.set_list(std::move(v));
}
}  // namespace detail

void set_invoke(OpEntry& e) {
  const CardKind k = e.card->kind;
  if (e.form == OpForm::out) {
    e.run = k == CardKind::pointwise ? &run_pointwise : &run_generic_out;
    e.invoke = &invoke_out;
    return;
  }
  if (e.form == OpForm::inplace) {
    e.run = k == CardKind::pointwise ? &run_pointwise : &run_generic_inplace;
    e.invoke = &invoke_inplace;
    if (k == CardKind::composite) {
      // The body makes a new tensor; writing it over self is one recorded copy.
      e.invoke = +[](const OpEntry& op, const Value* args, Results& out) {
        Results r;
        op.card->body(op, args, r);
        const Tensor self = args[0].tensor();
        check_inplace_result(op, self, r[0].sizes(), r[0].dtype());
        op_list<"copy_">(self, r[0]);
        out.push(self);
      };
    }
    return;
  }
  switch (k) {
    case CardKind::composite: e.run = e.invoke = &invoke_composite; return;
    case CardKind::pointwise: e.run = &run_pointwise; break;
    case CardKind::view: e.run = &run_view; e.invoke = &invoke_view; return;
    case CardKind::structured: e.run = &run_structured; break;
    case CardKind::direct: e.run = &run_direct; break;
    case CardKind::lowered: e.run = &run_lowered; break;
  }
  // A card that writes lists has no one tensor whose version and history are self's: its kernel counts the writes.
  const bool lists = e.schema.writes && e.schema.returns.empty() && e.schema.args[0].type == ArgType::tensors;
  e.invoke = e.schema.writes && !lists ? &invoke_inplace : e.schema.tensor_mask | e.schema.list_mask ? &invoke_functional : &invoke_factory;
}

}  // namespace fb
