// torch.autograd.Function: a node whose backward is Python.
#include "autograd/forward.h"
#include "autograd/saved.h"
#include "dispatch/thread_state.h"
#include "python/autograd.h"

namespace fb::py {
namespace {

struct FunctionNode;

// The ctx of a call. The node owns it; it knows the node while that lives.
struct PyContext {
  PyObject_HEAD
  FunctionNode* node;
  PyObject* to_save;           // tuple given to save_for_backward
  PyObject* needs_input_grad;
  PyObject* dirty;
  PyObject* non_differentiable;
  PyObject* for_forward;       // tuple given to save_for_forward
  bool materialize;
  bool in_jvp;
  PyObject* dict;
  PyObject* weakrefs;
};
PyTypeObject ContextType{PyVarObject_HEAD_INIT(nullptr, 0)};

struct FunctionNode final : Node {
  PyContext* ctx = nullptr;
  std::string label;
  std::vector<SavedTensor> saved;
  std::vector<bool> is_tensor_input;
  bool freed = false;

  ~FunctionNode() override {
    if (!Py_IsInitialized() || !ctx) return;
    GilHold gil;
    ctx->node = nullptr;
    py = nullptr;
    Py_DECREF(reinterpret_cast<PyObject*>(ctx));
  }
  std::string name() const override { return label; }
  void release() override {
    if (!saved.empty()) freed = true;
    for (auto& s : saved) s.reset();
  }
  GradList apply(GradList&& grads) override {
    GilHold gil;
    const Py_ssize_t n = Py_ssize_t(inputs.size());
    Obj args(PyTuple_New(n + 1));
    PyTuple_SET_ITEM(args.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(ctx)));
    for (Py_ssize_t i = 0; i < n; ++i) {
      Tensor g = size_t(i) < grads.size() ? grads[size_t(i)] : Tensor();
      if (!g.defined() && ctx->materialize && inputs[size_t(i)].defined) g = zeros_like_meta(inputs[size_t(i)]);
      PyTuple_SET_ITEM(args.get(), i + 1, checked(wrap(g)));
    }
    Obj cls(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(ctx)), "_forward_cls")));
    Obj custom(checked(PyObject_GetAttrString(cls.get(), "_has_vjp")));
    Obj fn(checked(PyObject_GetAttrString(cls.get(), PyObject_IsTrue(custom.get()) == 1 ? "vjp" : "backward")));
    Obj r(checked(PyObject_Call(fn.get(), args.get(), nullptr)));
    Obj t = PyTuple_Check(r.get()) ? Obj::borrow(r.get()) : PyList_Check(r.get()) ? Obj(PyList_AsTuple(r.get())) : Obj(PyTuple_Pack(1, r.get()));
    Py_ssize_t m = PyTuple_GET_SIZE(t.get());
    const Py_ssize_t want = Py_ssize_t(is_tensor_input.size());
    while (m > want && PyTuple_GET_ITEM(t.get(), m - 1) == Py_None) --m;
    FB_CHECK(m == want, "function ", label, " returned an incorrect number of gradients (expected ", int64_t(want), ", got ", int64_t(m), ")");
    GradList out(next.size());
    size_t edge = 0;
    for (Py_ssize_t i = 0; i < want; ++i) {
      PyObject* x = PyTuple_GET_ITEM(t.get(), i);
      if (!is_tensor_input[size_t(i)]) {
        FB_CHECK(x == Py_None, "function ", label, " returned a gradient different from None at position ", int64_t(i) + 1,
                 ", but the corresponding forward input was not a Tensor");
        continue;
      }
      const size_t e = edge++;
      if (x == Py_None) continue;
      if (!is_tensor(x)) raise_type("function ", label, ": expected a Tensor or None at position ", int64_t(i) + 1, ", got ", Py_TYPE(x)->tp_name);
      out[e] = unwrap(x);
    }
    return out;
  }
};

int context_traverse(PyObject* o, visitproc visit, void* arg) {
  auto* c = reinterpret_cast<PyContext*>(o);
  Py_VISIT(c->to_save);
  Py_VISIT(c->dirty);
  Py_VISIT(c->non_differentiable);
  Py_VISIT(c->for_forward);
  Py_VISIT(c->dict);
  return 0;
}
int context_clear(PyObject* o) {
  auto* c = reinterpret_cast<PyContext*>(o);
  Py_CLEAR(c->to_save);
  Py_CLEAR(c->needs_input_grad);
  Py_CLEAR(c->dirty);
  Py_CLEAR(c->non_differentiable);
  Py_CLEAR(c->for_forward);
  Py_CLEAR(c->dict);
  return 0;
}
void context_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  auto* c = reinterpret_cast<PyContext*>(o);
  if (c->weakrefs) PyObject_ClearWeakRefs(o);
  context_clear(o);
  PyTypeObject* t = Py_TYPE(o);
  t->tp_free(o);
}
PyObject* context_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<PyContext*>(o)->materialize = true;
  return o;
}

PyContext* as(PyObject* o) { return reinterpret_cast<PyContext*>(o); }
PyObject* c_save(PyObject* o, PyObject* args) {
  Py_INCREF(args);
  Py_XSETREF(as(o)->to_save, args);
  Py_RETURN_NONE;
}
PyObject* c_save_forward(PyObject* o, PyObject* args) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    PyObject* x = PyTuple_GET_ITEM(args, i);
    if (x != Py_None && !is_tensor(x))
      return PyErr_Format(PyExc_TypeError, "save_for_forward takes tensors and None; argument %zd is of type %s", i, Py_TYPE(x)->tp_name);
  }
  Py_INCREF(args);
  Py_XSETREF(as(o)->for_forward, args);
  Py_RETURN_NONE;
}
PyObject* c_for_forward(PyObject* o, void*) { return Py_NewRef(as(o)->for_forward ? as(o)->for_forward : Py_None); }
PyObject* c_dirty(PyObject* o, PyObject* args) {
  Py_INCREF(args);
  Py_XSETREF(as(o)->dirty, args);
  Py_RETURN_NONE;
}
PyObject* c_non_diff(PyObject* o, PyObject* args) {
  Py_INCREF(args);
  Py_XSETREF(as(o)->non_differentiable, args);
  Py_RETURN_NONE;
}
PyObject* c_materialize(PyObject* o, PyObject* v) {
  as(o)->materialize = PyObject_IsTrue(v) == 1;
  Py_RETURN_NONE;
}
PyObject* c_saved(PyObject* o, void*) {
  FB_PY_BEGIN
  PyContext* c = as(o);
  if (c->in_jvp && c->for_forward) return Py_NewRef(c->for_forward);
  if (!c->node) {
    if (c->to_save) return Py_NewRef(c->to_save);
    return PyTuple_New(0);
  }
  FB_CHECK(!c->node->freed, "the saved tensors of ", c->node->label, " (result shape ",
           c->node->inputs.empty() ? Ints() : c->node->inputs[0].sizes.span(), ") were freed by an earlier backward; pass retain_graph=True there to go through the graph again");
  Obj t(PyTuple_New(Py_ssize_t(c->node->saved.size())));
  for (size_t i = 0; i < c->node->saved.size(); ++i) PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), checked(wrap(c->node->saved[i].unpack(*c->node))));
  return t.release();
  FB_PY_END(nullptr)
}
PyObject* c_needs(PyObject* o, void*) { return Py_NewRef(as(o)->needs_input_grad ? as(o)->needs_input_grad : Py_None); }
int c_set_needs(PyObject* o, PyObject* v, void*) {
  Py_XINCREF(v);
  Py_XSETREF(as(o)->needs_input_grad, v);
  return 0;
}
PyObject* c_to_save(PyObject* o, void*) { return Py_NewRef(as(o)->to_save ? as(o)->to_save : Py_None); }
PyObject* c_name(PyObject* o, PyObject*) { return PyUnicode_FromString(as(o)->node ? as(o)->node->label.c_str() : Py_TYPE(o)->tp_name); }
PyObject* c_hook(PyObject* o, PyObject* hook, bool before) {
  FB_PY_BEGIN
  FB_CHECK(as(o)->node, Py_TYPE(o)->tp_name, " is no node of a graph: a hook is registered after forward, on the grad_fn of a result");
  return register_node_hook(*as(o)->node, hook, before);
  FB_PY_END(nullptr)
}
PyObject* c_register_hook(PyObject* o, PyObject* hook) { return c_hook(o, hook, false); }
PyObject* c_register_prehook(PyObject* o, PyObject* hook) { return c_hook(o, hook, true); }
PyObject* c_next(PyObject* o, void*) {
  FB_PY_BEGIN
  return as(o)->node ? next_functions(*as(o)->node) : PyTuple_New(0);
  FB_PY_END(nullptr)
}

bool contains(PyObject* tuple, PyObject* x) {
  if (!tuple) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i)
    if (PyTuple_GET_ITEM(tuple, i) == x) return true;
  return false;
}

bool has_tangents(const Tensor& t) { return t.is_floating() || t.is_complex(); }

// Gives the results of a call the tangents that cls.jvp makes from those of the arguments.
void run_jvp(PyObject* cls, PyContext* ctx, PyObject* args, PyObject* outs, PyObject* shown) {
  const Py_ssize_t n = PyTuple_GET_SIZE(args), m = PyTuple_GET_SIZE(outs);
  std::vector<Tensor> given(static_cast<size_t>(n));
  bool any = false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* x = PyTuple_GET_ITEM(args, i);
    if (is_tensor(x)) given[size_t(i)] = tangent_of(unwrap(x));
    any |= given[size_t(i)].defined();
  }
  if (!any) return;
  ForwardMode off(false);
  Obj call(PyTuple_New(n + 1));
  PyTuple_SET_ITEM(call.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(ctx)));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* x = PyTuple_GET_ITEM(args, i);
    Tensor t = given[size_t(i)];
    if (!t.defined() && ctx->materialize && is_tensor(x) && has_tangents(unwrap(x))) t = zeros_like_meta(meta_from(unwrap(x)));
    PyTuple_SET_ITEM(call.get(), i + 1, checked(wrap(t)));
  }
  Obj fn(checked(PyObject_GetAttrString(cls, "jvp")));
  ctx->in_jvp = true;
  Obj r(PyObject_Call(fn.get(), call.get(), nullptr));
  ctx->in_jvp = false;
  checked(r.get());
  Obj t = PyTuple_Check(r.get()) ? Obj::borrow(r.get()) : PyList_Check(r.get()) ? Obj(PyList_AsTuple(r.get())) : Obj(PyTuple_Pack(1, r.get()));
  const char* name = reinterpret_cast<PyTypeObject*>(cls)->tp_name;
  FB_CHECK(PyTuple_GET_SIZE(t.get()) == m, "jvp of ", name, " returned ", int64_t(PyTuple_GET_SIZE(t.get())), " tangents, forward ",
           int64_t(m), " results");
  for (Py_ssize_t i = 0; i < m; ++i) {
    PyObject *x = PyTuple_GET_ITEM(outs, i), *d = PyTuple_GET_ITEM(t.get(), i), *to = PyTuple_GET_ITEM(shown, i);
    if (d == Py_None || !is_tensor(to)) continue;
    if (!is_tensor(d)) raise_type("jvp of ", name, " returned a ", Py_TYPE(d)->tp_name, " at position ", int64_t(i), "; it must be a Tensor or None");
    const Tensor& out = unwrap(to);
    const Tensor& tangent = unwrap(d);
    FB_CHECK(has_tangents(out), "jvp of ", name, " returned a tangent for result ", int64_t(i), " of type ", out.dtype(), ", which can have none");
    FB_CHECK(tangent.sizes() == out.sizes(), "jvp of ", name, ": the tangent of result ", int64_t(i), " has shape ", tangent.sizes(),
             ", the result ", out.sizes());
    const bool dirty = contains(ctx->dirty, x);
    for (Py_ssize_t k = 0; k < n; ++k) {
      PyObject* a = PyTuple_GET_ITEM(args, k);
      const Tensor& from = given[size_t(k)];
      if (!is_tensor(a) || !from.defined() || unwrap(a)->storage.get() != unwrap(x)->storage.get()) continue;
      FB_CHECK(!dirty || tangent->storage.get() == from->storage.get(), "jvp of ", name, ": forward writes argument ", int64_t(k),
               " in place, so jvp must write its tangent in place and return it");
      FB_CHECK(dirty || tangent->storage.get() == from->storage.get(), "jvp of ", name, ": result ", int64_t(i), " is a view of argument ",
               int64_t(k), " (or that itself), so its tangent must be a view of that argument's tangent");
    }
    set_tangent(out, tangent);
  }
}

// apply(cls, *args): runs forward without recording, then ties the results to the node.
PyObject* function_apply(PyObject* cls, PyObject* args) {
  FB_PY_BEGIN
  Obj backward_cls(checked(PyObject_GetAttrString(cls, "_backward_cls")));
  Obj ctx_obj(checked(PyObject_CallNoArgs(backward_cls.get())));
  PyContext* ctx = as(ctx_obj.get());
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  bool record = false;
  Obj needs(PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* x = PyTuple_GET_ITEM(args, i);
    const bool need = is_tensor(x) && requires_grad(unwrap(x));
    record |= need;
    PyTuple_SET_ITEM(needs.get(), i, Py_NewRef(need && tls.grad_enabled ? Py_True : Py_False));
  }
  record = record && tls.grad_enabled;
  Py_XSETREF(ctx->needs_input_grad, needs.release());
  FunctionNode* node = nullptr;
  Ref<Node> ref;
  if (record) {
    node = new FunctionNode;
    ref = Ref<Node>(node);
    Obj nm(checked(PyObject_GetAttrString(backward_cls.get(), "__name__")));
    node->label = PyUnicode_AsUTF8(nm.get());
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* x = PyTuple_GET_ITEM(args, i);
      node->is_tensor_input.push_back(is_tensor(x));
      if (is_tensor(x)) node->next.push_back(requires_grad(unwrap(x)) ? gradient_edge(unwrap(x)) : Edge());
    }
  }
  Obj out;
  {
    GradMode no(false);
    ForwardMode off(false);
    Obj forward(checked(PyObject_GetAttrString(cls, "forward")));
    Obj split(checked(PyObject_GetAttrString(cls, "_has_setup_context")));
    if (PyObject_IsTrue(split.get()) == 1) {
      out = Obj(checked(PyObject_Call(forward.get(), args, nullptr)));
      Obj setup(checked(PyObject_GetAttrString(cls, "setup_context")));
      Obj r(checked(PyObject_CallFunctionObjArgs(setup.get(), ctx_obj.get(), args, out.get(), nullptr)));
    } else {
      Obj all(PyTuple_New(n + 1));
      PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(ctx_obj.get()));
      for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
      out = Obj(checked(PyObject_Call(forward.get(), all.get(), nullptr)));
    }
  }
  const bool single = !PyTuple_Check(out.get());
  Obj outs = single ? Obj(PyTuple_Pack(1, out.get())) : Obj::borrow(out.get());
  const Py_ssize_t m = PyTuple_GET_SIZE(outs.get());
  Obj result(PyTuple_New(m));
  std::vector<std::pair<PyObject*, Tensor>> made;  // forward's object, what the caller gets
  for (Py_ssize_t i = 0; i < m; ++i) {
    PyObject* x = PyTuple_GET_ITEM(outs.get(), i);
    if (!is_tensor(x)) {
      if (node) node->inputs.emplace_back();
      PyTuple_SET_ITEM(result.get(), i, Py_NewRef(x));
      continue;
    }
    Tensor t = unwrap(x);
    PyObject* shown = nullptr;
    const bool input = contains(args, x), dirty = contains(ctx->dirty, x);
    if (node) {
      if (contains(ctx->non_differentiable, x) || !(t.is_floating() || t.is_complex())) {
        if (input && !dirty) t = detach(t);
        else if (!input) t->requires_grad = false;
        node->add_input(t);
      } else if (dirty) {
        check_inplace(t, node->label.c_str());
        t->bump_version();
        auto before = node->inputs;
        rebase_history(t, ref);
        // rebase_history numbers the written tensor 0; a function has all its outputs in order.
        if (AutogradMeta* mt = find_meta(t); mt->grad_fn.get() == node) {
          before.push_back(node->inputs.back());
          node->inputs = before;
          mt->output_nr = uint32_t(node->inputs.size() - 1);
        }
      } else {
        if (input || grad_fn(t) || (t->requires_grad && is_leaf(t))) t = detach(t);
        else if (find_meta(t) && find_meta(t)->view) {
          // Views made inside are plain results outside.
          t->tracked_view = false;
          find_meta(t)->view.reset();
        }
        set_history(t, ref);
      }
    } else if (input && !dirty) {
      t = op<"alias">(t);
    }
    if (t.is(unwrap(x))) shown = Py_NewRef(x);
    else shown = Py_TYPE(x) == TensorType || Py_TYPE(x) == ParameterType ? checked(wrap(t)) : wrap_as(t, Py_TYPE(x));
    made.emplace_back(x, t);
    PyTuple_SET_ITEM(result.get(), i, shown);
  }
  if (carries_tangents()) run_jvp(cls, ctx, args, outs.get(), result.get());
  if (node) {
    if (ctx->to_save)
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ctx->to_save); ++i) {
        PyObject* x = PyTuple_GET_ITEM(ctx->to_save, i);
        if (x == Py_None) {
          node->saved.emplace_back();
          continue;
        }
        if (!is_tensor(x)) raise_type("save_for_backward can only save variables, but argument ", int64_t(i), " is of type ", Py_TYPE(x)->tp_name);
        Tensor t = unwrap(x);
        bool is_output = false;
        for (auto& [o, made_t] : made)
          if (o == x) {
            t = made_t;
            is_output = find_meta(t) && find_meta(t)->grad_fn.get() == node;
          }
        node->saved.emplace_back(t, is_output);
      }
    Py_CLEAR(ctx->to_save);
    Py_CLEAR(ctx->dirty);
    Py_CLEAR(ctx->non_differentiable);
    ctx->node = node;
    node->py = ctx_obj.get();
    node->ctx = reinterpret_cast<PyContext*>(ctx_obj.release());
  }
  if (single) return Py_NewRef(PyTuple_GET_ITEM(result.get(), 0));
  return result.release();
  FB_PY_END(nullptr)
}

PyGetSetDef context_props[] = {{"saved_tensors", c_saved, nullptr, "The tensors given to save_for_backward.", nullptr},
                               {"saved_variables", c_saved, nullptr, nullptr, nullptr},
                               {"needs_input_grad", c_needs, c_set_needs, "For each argument of forward, whether it wants a gradient.", nullptr},
                               {"saved_for_forward", c_for_forward, nullptr, "The tensors given to save_for_forward, or None.", nullptr},
                               {"to_save", c_to_save, nullptr, nullptr, nullptr},
                               {"next_functions", c_next, nullptr, nullptr, nullptr},
                               {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                               {}};
PyMethodDef context_methods[] = {{"save_for_backward", c_save, METH_VARARGS, "save_for_backward(*tensors): kept for backward, with version checks."},
                                 {"save_for_forward", c_save_forward, METH_VARARGS, "save_for_forward(*tensors): kept for jvp, which finds them in saved_tensors."},
                                 {"mark_dirty", c_dirty, METH_VARARGS, "mark_dirty(*tensors): inputs that forward wrote in place."},
                                 {"mark_non_differentiable", c_non_diff, METH_VARARGS, "mark_non_differentiable(*tensors): outputs without a gradient."},
                                 {"set_materialize_grads", c_materialize, METH_O, "set_materialize_grads(value): whether absent gradients come as zeros."},
                                 {"name", c_name, METH_NOARGS, nullptr},
                                 {"register_hook", c_register_hook, METH_O, "register_hook(fn(grad_inputs, grad_outputs)) -> handle"},
                                 {"register_prehook", c_register_prehook, METH_O, "register_prehook(fn(grad_outputs)) -> handle"},
                                 {"apply", reinterpret_cast<PyCFunction>(function_apply), METH_VARARGS | METH_CLASS, "apply(*args): runs the function."},
                                 {}};

}  // namespace

PyObject* context_of(const Node& n) {
  const auto* f = dynamic_cast<const FunctionNode*>(&n);
  return f ? reinterpret_cast<PyObject*>(f->ctx) : nullptr;
}

void init_function(PyObject* m) {
  PyTypeObject& t = ContextType;
  t.tp_name = "torch._C._FunctionBase";
  t.tp_basicsize = sizeof(PyContext);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_new = context_new;
  t.tp_dealloc = context_dealloc;
  t.tp_traverse = context_traverse;
  t.tp_clear = context_clear;
  t.tp_dictoffset = offsetof(PyContext, dict);
  t.tp_weaklistoffset = offsetof(PyContext, weakrefs);
  t.tp_getset = context_props;
  t.tp_methods = context_methods;
  checked(PyType_Ready(&t));
  checked(PyModule_AddObjectRef(m, "_FunctionBase", reinterpret_cast<PyObject*>(&t)));
}

}  // namespace fb::py
