// Autograd as Python sees it: backward, grad modes, nodes, hooks on tensors and nodes, saved-tensor hooks, anomaly mode.
#include "python/autograd.h"

#include <cstring>
#include <unordered_map>
#include <vector>

#include "autograd/engine.h"
#include "core/fresh_tensors.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"
#include "python/take_over.h"

namespace fb::py {

PyTypeObject NodeType{PyVarObject_HEAD_INIT(nullptr, 0)};

namespace {

// ---- hooks: dictionaries that Python's handles edit ----
struct PyHooks final : HookSet {
  std::vector<std::pair<uint32_t, PyObject*>> dicts;  // input of the node, {id: hook}
  ~PyHooks() override {
    if (!Py_IsInitialized()) return;
    GilHold gil;
    for (auto& d : dicts) Py_DECREF(d.second);
  }
};

int visit_hooks(const std::unique_ptr<HookSet>& set, visitproc visit, void* arg) {
  if (set)
    for (const auto& d : static_cast<const PyHooks&>(*set).dicts) Py_VISIT(d.second);
  return 0;
}

std::vector<Obj> hooks_in(PyObject* dict) {
  std::vector<Obj> out;
  Obj values(checked(PyMapping_Values(dict)));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values.get()); ++i) out.push_back(Obj::borrow(PyList_GET_ITEM(values.get(), i)));
  return out;
}

Tensor hook_result(PyObject* r, const Tensor& before) {
  if (!is_tensor(r)) raise_type("a hook must return None or a Tensor, not ", Py_TYPE(r)->tp_name);
  const Tensor t = unwrap(r);
  if (before.defined())
    FB_CHECK(t.sizes() == before.sizes() || is_expandable_to(before.sizes(), t.sizes()), "a hook changed the shape of the gradient from ", before.sizes(), " to ", t.sizes());
  return t;
}

void run_tensor_hooks(HookSet& set, GradList& grads) {
  GilHold gil;
  for (auto& [nr, dict] : static_cast<PyHooks&>(set).dicts) {
    if (nr >= grads.size()) continue;
    for (Obj& h : hooks_in(dict)) {
      if (!grads[nr].defined()) break;
      Obj g(wrap(grads[nr]));
      Obj r(checked(PyObject_CallOneArg(h.get(), g.get())));
      if (r.get() != Py_None) grads[nr] = hook_result(r.get(), grads[nr]);
    }
  }
}

Obj tuple_of(const GradList& l) {
  Obj t(PyTuple_New(Py_ssize_t(l.size())));
  for (size_t i = 0; i < l.size(); ++i) PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), checked(wrap(l[i])));
  return t;
}

void take_tuple(PyObject* r, GradList& l, const char* what) {
  if (r == Py_None) return;
  if (is_tensor(r) && l.size() == 1) {
    l[0] = unwrap(r);
    return;
  }
  if (!PyTuple_Check(r) && !PyList_Check(r)) raise_type(what, " must return None, a Tensor or a tuple of them, not ", Py_TYPE(r)->tp_name);
  FB_CHECK(size_t(PySequence_Fast_GET_SIZE(r)) == l.size(), what, " returned ", int64_t(PySequence_Fast_GET_SIZE(r)), " gradients, ", uint64_t(l.size()), " were given");
  for (size_t i = 0; i < l.size(); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(r, Py_ssize_t(i));
    l[i] = x == Py_None ? Tensor() : tensor_arg(x, what, "result");
  }
}

void run_pre_hooks(HookSet& set, GradList& grads) {
  GilHold gil;
  for (auto& d : static_cast<PyHooks&>(set).dicts)
    for (Obj& h : hooks_in(d.second)) {
      Obj g = tuple_of(grads);
      Obj r(checked(PyObject_CallOneArg(h.get(), g.get())));
      take_tuple(r.get(), grads, "a pre-hook of a node");
    }
}

void run_post_hooks(HookSet& set, GradList& results, const GradList& grads) {
  GilHold gil;
  for (auto& d : static_cast<PyHooks&>(set).dicts)
    for (Obj& h : hooks_in(d.second)) {
      Obj a = tuple_of(results), g = tuple_of(grads);
      Obj r(checked(PyObject_CallFunctionObjArgs(h.get(), a.get(), g.get(), nullptr)));
      take_tuple(r.get(), results, "a hook of a node");
    }
}

void run_post_accumulate(HookSet& set, const Tensor& t) {
  GilHold gil;
  for (auto& d : static_cast<PyHooks&>(set).dicts)
    for (Obj& h : hooks_in(d.second)) {
      Obj p(wrap(t));
      Obj r(checked(PyObject_CallOneArg(h.get(), p.get())));
    }
}

void add_dict(std::unique_ptr<HookSet>& set, uint32_t nr, PyObject* dict) {
  if (!set) set = std::make_unique<PyHooks>();
  auto& list = static_cast<PyHooks&>(*set).dicts;
  for (auto& d : list)
    if (d.second == dict && d.first == nr) return;
  list.emplace_back(nr, Py_NewRef(dict));
}

// ---- saved-tensor hooks ----
struct Packed { PyObject* value; PyObject* unpack; };
thread_local std::vector<PyObject*> saved_stack;  // tuples (pack, unpack), of this thread

void* saved_pack(const Tensor& t) {
  GilHold gil;
  if (saved_stack.empty()) return nullptr;
  Obj pair = Obj::borrow(saved_stack.back());
  PyObject* pack = PyTuple_GET_ITEM(pair.get(), 0);
  if (pack == Py_None) {  // disabled, with a message
    PyErr_SetObject(PyExc_RuntimeError, PyTuple_GET_ITEM(pair.get(), 1));
    throw PythonErrorSet{};
  }
  Obj x(wrap(t));
  // The hook itself must not save through hooks.
  const int before = std::exchange(saved_hooks_active, 0);
  PyObject* r = PyObject_CallOneArg(pack, x.get());
  saved_hooks_active = before;
  checked(r);
  return new Packed{r, Py_NewRef(PyTuple_GET_ITEM(pair.get(), 1))};
}
Tensor saved_unpack(void* h) {
  GilHold gil;
  auto* p = static_cast<Packed*>(h);
  Obj r(checked(PyObject_CallOneArg(p->unpack, p->value)));
  if (!is_tensor(r.get())) raise_type("an unpack hook must return a Tensor, not ", Py_TYPE(r.get())->tp_name);
  return unwrap(r.get());
}
void saved_drop(void* h) {
  if (!Py_IsInitialized()) return;
  GilHold gil;
  auto* p = static_cast<Packed*>(h);
  Py_DECREF(p->value);
  Py_DECREF(p->unpack);
  delete p;
}
PyObject* py_push_saved(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO", &pack, &unpack)) return nullptr;
  PyObject* t = PyTuple_Pack(2, pack, unpack);
  if (!t) return nullptr;
  saved_stack.push_back(t);
  ++saved_hooks_active;
  Py_RETURN_NONE;
}
PyObject* py_pop_saved(PyObject*, PyObject*) {
  if (!saved_stack.empty()) {
    PyObject* last = saved_stack.back();
    saved_stack.pop_back();
    --saved_hooks_active;
    Py_DECREF(last);
  }
  Py_RETURN_NONE;
}
PyObject* py_switch_saved(PyObject*, PyObject* count) {
  const int before = saved_hooks_active;
  const long now = PyLong_AsLong(count);
  if (now == -1 && PyErr_Occurred()) return nullptr;
  saved_hooks_active = int(now);
  return PyLong_FromLong(before);
}

// ---- anomaly mode ----
void* anomaly_record() {
  GilHold gil;
  Obj mod(PyImport_ImportModule("traceback"));
  Obj s(mod ? PyObject_CallMethod(mod.get(), "format_stack", nullptr) : nullptr);
  PyErr_Clear();
  if (!s) return nullptr;
  // (stack, name of the node whose backward made this one or None, what that one recorded or None)
  const Node* from = evaluated_node;
  Obj name(from ? PyUnicode_FromString(from->name().c_str()) : Py_NewRef(Py_None));
  return PyTuple_Pack(3, s.get(), name.get(), from && from->anomaly ? static_cast<PyObject*>(from->anomaly) : Py_None);
}
void anomaly_report(const Node& n) {
  GilHold gil;
  PyObject *et, *ev, *tb;
  PyErr_Fetch(&et, &ev, &tb);
  std::string s = "the gradient of " + n.name() + " failed; the forward call that made this node was:\n";
  for (PyObject* made = static_cast<PyObject*>(n.anomaly); made && made != Py_None; made = PyTuple_GET_ITEM(made, 2)) {
    Obj empty(PyUnicode_FromString(""));
    Obj j(PyUnicode_Join(empty.get(), PyTuple_GET_ITEM(made, 0)));
    if (j) s += PyUnicode_AsUTF8(j.get());
    PyObject* from = PyTuple_GET_ITEM(made, 1);
    if (from != Py_None) s += text("that was within the backward of ", PyUnicode_AsUTF8(from), ", whose forward call was:\n");
  }
  PyErr_Clear();
  if (PyErr_WarnEx(PyExc_UserWarning, s.c_str(), 1) < 0) PyErr_Clear();
  PyErr_Restore(et, ev, tb);
}
void anomaly_drop(void* p) {
  if (!Py_IsInitialized()) return;
  GilHold gil;
  Py_DECREF(static_cast<PyObject*>(p));
}

// ---- nodes ----
Node& of(PyObject* o) { return *reinterpret_cast<PyNode*>(o)->node; }

void node_dealloc(PyObject* o) {
  auto* p = reinterpret_cast<PyNode*>(o);
  if (p->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(p->dict);
  if (p->node) {
    if (p->node->py == o) p->node->py = nullptr;
    Ref<Node> drop(p->node);
  }
  PyTypeObject* t = Py_TYPE(o);
  t->tp_free(o);
  if (t->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_DECREF(t);
}

PyTypeObject* node_type(const std::string& name) {
  static std::unordered_map<std::string, PyTypeObject*> types;
  PyTypeObject*& t = types[name];
  if (!t) {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)}, {0, nullptr}};
    PyType_Spec spec{strdup(("builtins." + name).c_str()), sizeof(PyNode), 0, Py_TPFLAGS_DEFAULT, slots};
    Obj bases(PyTuple_Pack(1, &NodeType));
    t = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpecWithBases(&spec, bases.get())));
    t->tp_name = spec.name + std::strlen("builtins.");  // what a type of builtins prints as
  }
  return t;
}

PyObject* node_name(PyObject* o, PyObject*) { return PyUnicode_FromString(of(o).name().c_str()); }
PyObject* node_next(PyObject* o, void*) {
  FB_PY_BEGIN
  return next_functions(of(o));
  FB_PY_END(nullptr)
}
PyObject* node_metadata(PyObject* o, void*) {
  auto* p = reinterpret_cast<PyNode*>(o);
  if (!p->dict) p->dict = PyDict_New();
  PyObject* m = PyDict_GetItemString(p->dict, "metadata");
  if (!m) {
    Obj d(PyDict_New());
    PyDict_SetItemString(p->dict, "metadata", d.get());
    m = PyDict_GetItemString(p->dict, "metadata");
  }
  return Py_NewRef(m);
}
PyObject* node_variable(PyObject* o, void*) {
  if (auto* a = dynamic_cast<AccumulateGrad*>(&of(o))) return wrap(a->variable);
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", of(o).name().c_str());
  return nullptr;
}
PyObject* node_sequence(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(of(o).sequence); }
PyObject* handle_for(PyObject* dict, PyObject* hook) {
  Obj mod(PyImport_ImportModule("torch.utils.hooks"));
  Obj cls(mod ? PyObject_GetAttrString(mod.get(), "RemovableHandle") : nullptr);
  Obj handle(cls ? PyObject_CallOneArg(cls.get(), dict) : nullptr);
  if (!handle) return nullptr;
  Obj id(PyObject_GetAttrString(handle.get(), "id"));
  if (!id || PyObject_SetItem(dict, id.get(), hook) < 0) return nullptr;
  return handle.release();
}
PyObject* ordered_dict() {
  Obj mod(PyImport_ImportModule("collections"));
  return mod ? PyObject_CallMethod(mod.get(), "OrderedDict", nullptr) : nullptr;
}
PyObject* node_register_hook(PyObject* o, PyObject* hook) { return register_node_hook(of(o), hook, false); }
PyObject* node_register_prehook(PyObject* o, PyObject* hook) { return register_node_hook(of(o), hook, true); }
PyGetSetDef node_props[] = {{"next_functions", node_next, nullptr, "((node, input number), ...) that gradients flow to.", nullptr},
                            {"metadata", node_metadata, nullptr, "A dict for the user.", nullptr},
                            {"variable", node_variable, nullptr, "The leaf of an AccumulateGrad.", nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {}};
PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, "The name, e.g. 'AddBackward0'."},
                              {"_sequence_nr", node_sequence, METH_NOARGS, nullptr},
                              {"register_hook", node_register_hook, METH_O, "register_hook(fn(grad_inputs, grad_outputs)) -> handle"},
                              {"register_prehook", node_register_prehook, METH_O, "register_prehook(fn(grad_outputs)) -> handle"},
                              {}};

// ---- properties and methods of tensors ----
PyObject* get_grad_fn(PyObject* o, void*) {
  FB_PY_BEGIN
  return wrap_node(grad_fn(unwrap(o)));
  FB_PY_END(nullptr)
}
PyObject* m_retain_grad(PyObject* o, PyObject*) {
  FB_PY_BEGIN
  retain_grad(unwrap(o));
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* m_detach_(PyObject* o, PyObject*) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  FB_CHECK(!(find_meta(t) && find_meta(t)->view), "detach_() of a view of shape ", t.sizes(), " is not allowed; use detach()");
  if (AutogradMeta* m = find_meta(t)) {
    m->grad_fn = Ref<Node>();
    m->output_nr = 0;
  }
  t->requires_grad = false;
  return Py_NewRef(o);
  FB_PY_END(nullptr)
}
// _register_tensor_hook(tensor, hook) -> handle
PyObject* m_register_hook(PyObject* o, PyObject* hook) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  FB_CHECK(requires_grad(t), "a hook cannot be registered on a tensor that does not require grad");
  Obj d(checked(ordered_dict()));
  Obj h(checked(handle_for(d.get(), hook)));
  if (const Ref<Node> fn = grad_fn(t)) add_dict(fn->tensor_hooks, find_meta(t)->output_nr, d.get());
  else add_dict(meta_of(t).hooks, 0, d.get());
  return h.release();
  FB_PY_END(nullptr)
}
PyObject* m_register_post_accumulate(PyObject* o, PyObject* hook) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  FB_CHECK(requires_grad(t), "a hook cannot be registered on a tensor that does not require grad");
  FB_CHECK(is_leaf(t), "post accumulate grad hooks can be registered on leaf tensors only");
  Obj d(checked(ordered_dict()));
  Obj h(checked(handle_for(d.get(), hook)));
  add_dict(meta_of(t).post_accumulate, 0, d.get());
  return h.release();
  FB_PY_END(nullptr)
}
PyGetSetDef tensor_props[] = {{"grad_fn", asked_get<get_grad_fn>, nullptr, "The node that made this tensor, or None.", const_cast<char*>("grad_fn")}, {}};
PyMethodDef tensor_methods[] = {{"retain_grad", asked<"retain_grad", m_retain_grad>, METH_NOARGS, "Makes backward fill .grad of this tensor, which is no leaf."},
                                {"detach_", asked<"detach_", m_detach_>, METH_NOARGS, "Cuts this tensor off its history, in place."},
                                {"_register_hook", m_register_hook, METH_O, nullptr},
                                {"_register_post_accumulate_grad_hook", m_register_post_accumulate, METH_O, nullptr},
                                {}};

// ---- backward ----
std::vector<Tensor> tensors_of(PyObject* seq, const char* what, bool none_ok) {
  Obj f(PySequence_Fast(seq, "expected a sequence of tensors"));
  if (!f) throw PythonErrorSet{};
  std::vector<Tensor> v;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(f.get()); ++i) {
    PyObject* x = PySequence_Fast_GET_ITEM(f.get(), i);
    if (x == Py_None && none_ok) v.emplace_back();
    else v.push_back(tensor_arg(x, "backward", what));
  }
  return v;
}

// Whether a tensor of levels of transforms stands for one of a class of Python's.
bool stands_for_python(const Tensor& t) {
  Tensor x = t;
  while (const Wrapped* w = wrapped_in(x)) x = w->inner;
  return x->python;
}
// _run_backward(tensors, grads, retain_graph, create_graph, inputs or None, allow_unused, accumulate)
PyObject* py_run_backward(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensors, *grads, *inputs;
  int retain, create, allow_unused, accumulate;
  if (!PyArg_ParseTuple(args, "OOppOpp:_run_backward", &tensors, &grads, &retain, &create, &inputs, &allow_unused, &accumulate)) return nullptr;
  const std::vector<Tensor> roots = tensors_of(tensors, "tensors", false), gs = tensors_of(grads, "grad_tensors", true);
  BackwardRequest r;
  r.retain_graph = retain;
  r.create_graph = create;
  r.accumulate = accumulate;
  for (size_t i = 0; i < roots.size(); ++i) {
    const Tensor& t = roots[i];
    const Edge e = gradient_edge(t);
    FB_CHECK(bool(e), "element ", uint64_t(i), " of tensors, of shape ", t.sizes(), ", does not require grad and does not have a grad_fn");
    Tensor g = i < gs.size() ? gs[i] : Tensor();
    if (!g.defined()) {
      FB_CHECK(t.numel() == 1, "grad can be implicitly created only for scalar outputs; element ", uint64_t(i), " has shape ", t.sizes());
      FB_CHECK(!t.is_complex(), "grad can be implicitly created only for real scalar outputs but got ", t.dtype());
      GradMode no(false);
      if (((t->flags | tls.layers) & kPython) || stands_for_python(t)) g = op<"ones_like">(t, DType::none, std::nullopt, std::nullopt, false, MemoryFormat::preserve);
      else {
        g = Tensor::empty(t.sizes(), t.options());
        op_list<"fill_">(g, 1.0);
      }
    } else {
      FB_CHECK(g.sizes() == t.sizes(), "grad_tensors[", uint64_t(i), "] has shape ", g.sizes(), ", the output has shape ", t.sizes());
      FB_CHECK(g.is_complex() == t.is_complex() || !g.is_complex(), "grad_tensors[", uint64_t(i), "] is ", g.dtype(), ", the output is ", t.dtype());
      if (g.dtype() != t.dtype()) g = op<"to.dtype">(g, t.dtype());
    }
    r.roots.push_back(e);
    r.grads.push_back(g);
  }
  std::vector<Tensor> ins;
  if (inputs != Py_None) {
    ins = tensors_of(inputs, "inputs", false);
    FB_CHECK(!ins.empty() || !accumulate, "'inputs' argument to backward() cannot be empty");
    for (size_t i = 0; i < ins.size(); ++i) {
      FB_CHECK(requires_grad(ins[i]), "one of the differentiated tensors (inputs[", uint64_t(i), "], shape ", ins[i].sizes(), ") does not require grad");
      if (accumulate && !is_leaf(ins[i])) retain_grad(ins[i]);
      r.inputs.push_back(gradient_edge(ins[i]));
    }
  }
  GradList out;
  {
    GilRelease release;
    out = run_backward(std::move(r));
  }
  if (accumulate) Py_RETURN_NONE;
  Obj result(PyTuple_New(Py_ssize_t(out.size())));
  for (size_t i = 0; i < out.size(); ++i) {
    FB_CHECK(out[i].defined() || allow_unused, "one of the differentiated tensors (inputs[", uint64_t(i), "], shape ", ins[i].sizes(),
             ") appears to not have been used in the graph; set allow_unused=True if this is meant");
    PyTuple_SET_ITEM(result.get(), Py_ssize_t(i), checked(wrap(out[i])));
  }
  return result.release();
  FB_PY_END(nullptr)
}

PyObject* py_set_grad_enabled(PyObject*, PyObject* v) {
  tls.grad_enabled = PyObject_IsTrue(v) == 1;
  Py_RETURN_NONE;
}
PyObject* py_is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(tls.grad_enabled); }
PyObject* py_set_inference(PyObject*, PyObject* v) {
  tls.inference = PyObject_IsTrue(v) == 1;
  fresh_tensor_flags = tls.inference ? kInference : 0;
  Py_RETURN_NONE;
}
PyObject* py_is_inference(PyObject*, PyObject*) { return PyBool_FromLong(tls.inference); }
PyObject* py_set_anomaly(PyObject*, PyObject* args) {
  int on, nan = 1;
  if (!PyArg_ParseTuple(args, "p|p", &on, &nan)) return nullptr;
  anomaly_enabled = on;
  anomaly_check_nan = nan;
  Py_RETURN_NONE;
}
PyObject* py_is_anomaly(PyObject*, PyObject*) { return PyBool_FromLong(anomaly_enabled); }
PyObject* py_is_anomaly_nan(PyObject*, PyObject*) { return PyBool_FromLong(anomaly_check_nan); }
PyObject* py_gradient_edge(PyObject*, PyObject* t) {
  FB_PY_BEGIN
  const Edge e = gradient_edge(tensor_arg(t, "get_gradient_edge", "tensor"));
  FB_CHECK(bool(e), "get_gradient_edge(): the tensor does not require grad");
  Obj n(wrap_node(e.fn));
  return Py_BuildValue("(OI)", n.get(), e.nr);
  FB_PY_END(nullptr)
}

PyObject* py_increment_version(PyObject*, PyObject* t) {
  FB_PY_BEGIN
  const Tensor& tensor = tensor_arg(t, "increment_version", "tensor");
  if (!tensor->inference) tensor->bump_version();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {{"_run_backward", py_run_backward, METH_VARARGS, nullptr},
                           {"_increment_version", py_increment_version, METH_O, "_increment_version(tensor): counts a write to its memory."},
                           {"_set_grad_enabled", py_set_grad_enabled, METH_O, nullptr},
                           {"is_grad_enabled", py_is_grad_enabled, METH_NOARGS, "is_grad_enabled() -> bool"},
                           {"_set_inference_mode", py_set_inference, METH_O, nullptr},
                           {"is_inference_mode_enabled", py_is_inference, METH_NOARGS, "is_inference_mode_enabled() -> bool"},
                           {"_set_anomaly", py_set_anomaly, METH_VARARGS, nullptr},
                           {"is_anomaly_enabled", py_is_anomaly, METH_NOARGS, nullptr},
                           {"is_anomaly_check_nan_enabled", py_is_anomaly_nan, METH_NOARGS, nullptr},
                           {"_push_saved_hooks", py_push_saved, METH_VARARGS, nullptr},
                           {"_pop_saved_hooks", py_pop_saved, METH_NOARGS, nullptr},
                           {"_switch_saved_hooks", py_switch_saved, METH_O,
                            "_switch_saved_hooks(int) -> int\n\nHow many of this thread's hooks on saved tensors are active; 0 leaves them aside. Gives the number before."},
                           {"_gradient_edge", py_gradient_edge, METH_O, nullptr},
                           {}};

void warn_python(const std::string& s) {
  GilHold gil;
  if (PyErr_WarnEx(PyExc_UserWarning, s.c_str(), 1) < 0) throw PythonErrorSet{};
}

}  // namespace

// A node that another holds too may be held by a graph that nobody can see from here. A view is left alone: its node is made
// anew by whoever asks, perhaps in a thread that does not hold the lock.
int visit_autograd(const TensorImpl& t, visitproc visit, void* arg) {
  const auto* m = static_cast<const AutogradMeta*>(t.autograd);
  if (!m || t.tracked_view) return 0;
  if (const int r = visit_hooks(m->hooks, visit, arg)) return r;
  if (const int r = visit_hooks(m->post_accumulate, visit, arg)) return r;
  if (m->grad_fn.use_count() != 1) return 0;
  const Node& fn = *m->grad_fn;
  for (const auto* set : {&fn.tensor_hooks, &fn.pre_hooks, &fn.post_hooks})
    if (const int r = visit_hooks(*set, visit, arg)) return r;
  Py_VISIT(context_of(fn));
  return 0;
}

PyObject* register_node_hook(Node& n, PyObject* hook, bool before) {
  FB_PY_BEGIN
  if (!PyCallable_Check(hook)) raise_type("a hook must be callable, not ", Py_TYPE(hook)->tp_name);
  Obj d(checked(ordered_dict()));
  Obj h(checked(handle_for(d.get(), hook)));
  add_dict(before ? n.pre_hooks : n.post_hooks, 0, d.get());
  return h.release();
  FB_PY_END(nullptr)
}

PyObject* wrap_node(const Ref<Node>& n) {
  if (!n) Py_RETURN_NONE;
  if (n->py) return Py_NewRef(static_cast<PyObject*>(n->py));
  PyTypeObject* t = node_type(n->name());
  PyObject* o = t->tp_alloc(t, 0);
  if (!o) throw PythonErrorSet{};
  Ref<Node> keep = n;
  reinterpret_cast<PyNode*>(o)->node = keep.detach();
  n->py = o;
  return o;
}

PyObject* next_functions(const Node& n) {
  Obj t(PyTuple_New(Py_ssize_t(n.next.size())));
  for (size_t i = 0; i < n.next.size(); ++i) {
    Obj f(wrap_node(n.next[i].fn));
    PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), Py_BuildValue("(OI)", f.get(), n.next[i].nr));
  }
  return t.release();
}

void init_autograd(PyObject* m) {
  set_warning_handler(warn_python);
  autograd_python = {run_pre_hooks, run_tensor_hooks, run_post_hooks, run_post_accumulate, saved_pack, saved_unpack, saved_drop,
                     anomaly_record, anomaly_report, anomaly_drop};
  NodeType.tp_name = "torch.autograd.graph.Node";
  NodeType.tp_basicsize = sizeof(PyNode);
  NodeType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  NodeType.tp_dealloc = node_dealloc;
  NodeType.tp_weaklistoffset = offsetof(PyNode, weakrefs);
  NodeType.tp_dictoffset = offsetof(PyNode, dict);
  NodeType.tp_getset = node_props;
  NodeType.tp_methods = node_methods;
  checked(PyType_Ready(&NodeType));
  checked(PyModule_AddObjectRef(m, "_Node", reinterpret_cast<PyObject*>(&NodeType)));
  checked(PyModule_AddFunctions(m, functions));
  for (PyMethodDef* d = tensor_methods; d->ml_name; ++d) {
    Obj f(PyDescr_NewMethod(&TensorBaseType, d));
    PyDict_SetItemString(TensorBaseType.tp_dict, d->ml_name, f.get());
  }
  for (PyGetSetDef* d = tensor_props; d->name; ++d) {
    Obj f(PyDescr_NewGetSet(&TensorBaseType, d));
    PyDict_SetItemString(TensorBaseType.tp_dict, d->name, f.get());
  }
  PyType_Modified(&TensorBaseType);
}

}  // namespace fb::py
