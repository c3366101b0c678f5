#include "python/dispatch_mode.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "autograd/node.h"
#include "dispatch/below_autograd.h"
#include "dispatch/invoke.h"
#include "dispatch/layers.h"
#include "dispatch/library.h"
#include "dispatch/thread_state.h"
#include "python/symbolic.h"

namespace fb::py {

// The overload that Python is told of: a call with a number goes by that for numbers.
const OpEntry& seen_as(const OpEntry& op, const Value* args);

namespace {

PyObject* s_torch_dispatch = nullptr;      // "__torch_dispatch__"
PyObject* g_disabled_dispatch = nullptr;   // TensorBase's own: takes nothing

// Active modes, innermost last. Those with a key stand below all others, in the order of their keys.
struct Mode {
  PyObject* object;  // owned
  int key;           // -1: none
};
thread_local std::vector<Mode> modes;
thread_local int disabled = 0;  // _DisableTorchDispatch

void tell_threads_state() {
  const bool on = !modes.empty() && disabled == 0;
  tls.layers = Flags(on ? tls.layers | kPython : tls.layers & ~kPython);
}

void push(Mode m) {
  auto at = modes.end();
  if (m.key >= 0)
    for (at = modes.begin(); at != modes.end() && at->key >= 0 && at->key <= m.key;) ++at;
  modes.insert(at, m);
  tell_threads_state();
}

// The innermost mode is off while it handles a call.
struct WithoutInnermost {
  Mode m = modes.back();
  WithoutInnermost() {
    modes.pop_back();
    tell_threads_state();
  }
  ~WithoutInnermost() { push(m); }
};

// Calls that a handler makes are not the call that it handles.
struct KeepCallFromPython {
  CallFromPython before = call_from_python;
  ~KeepCallFromPython() { call_from_python = before; }
};

// ---- who takes a call ----

// Arguments whose class takes calls, one of each class, subclasses before their bases; borrowed from `keep`.
void find_takers(const OpEntry& op, const Value* args, std::vector<Obj>& takers) {
  auto see = [&](const Tensor& t) {
    if (!t.defined() || !t->python) return;
    Obj o(checked(wrap(t)));
    PyTypeObject* type = Py_TYPE(o.get());
    if (!takes_dispatch(type)) return;
    for (const Obj& x : takers)
      if (Py_TYPE(x.get()) == type) return;
    for (auto i = takers.begin(); i != takers.end(); ++i)
      if (PyType_IsSubtype(type, Py_TYPE(i->get()))) {
        takers.insert(i, std::move(o));
        return;
      }
    takers.push_back(std::move(o));
  };
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (args[i].tag == Tag::tensor) see(args[i].tensor());
    else if (args[i].tag == Tag::tensors)
      for (const Tensor& t : args[i].tensor_list()) see(t);
  }
}

// ---- a call without takers ----

bool has_memory(const Tensor& t) {
  return t.is_meta() || t.numel() == 0 || (t->storage && (t->storage->data || t->storage->device.is_meta()));
}

void run_without_python(const OpEntry& op, const Value* args, Results& out, Flags flags) {
  auto see = [&](const Tensor& t) {
    FB_CHECK(!t.defined() || has_memory(t), op.schema.full_name(), ": a tensor of shape ", t.sizes(), " has no memory of its own, and its class may not "
             "take the call, since __torch_dispatch__ is switched off");
  };
  for (size_t i = 0; i < op.schema.args.size(); ++i) {
    if (args[i].tag == Tag::tensor) see(args[i].tensor());
    else if (args[i].tag == Tag::tensors)
      for (const Tensor& t : args[i].tensor_list()) see(t);
  }
  if (op.card->kind == CardKind::composite && op.form == OpForm::functional) return op.card->body(op, args, out);
  run_resolved(op, args, out, Flags(flags & ~kPython));
}

// ---- values ----

PyObject* wrap_list(const TensorSpan& l) {
  Obj r(checked(PyList_New(l.n)));
  for (int64_t i = 0; i < l.n; ++i) PyList_SET_ITEM(r.get(), i, checked(wrap(l[i])));
  return r.release();
}

PyObject* python_value(const OpEntry& op, size_t i, const Value& v) {
  switch (v.tag) {
    case Tag::tensor: {
      const Tensor& t = v.tensor();
      if (t->wrapped_number && !t->python && t.ndim() == 0 && t.device().is_cpu() && (op.card->numbers >> i & 1)) {
        BelowAutograd below;
        struct Quiet {
          Flags before = tls.layers;
          Quiet() { tls.layers = Flags(tls.layers & ~kPython); }
          ~Quiet() { tls.layers = before; }
        } quiet;
        const Scalar s = op_value<"_local_scalar_dense">(t).scalar();
        return s.is_integral() && !s.is_boolean() ? shown_number(s.to_int()) : s.is_floating() ? shown_number(s.to_double()) : wrap_scalar(s);
      }
      return wrap(t);
    }
    case Tag::tensors: return wrap_list(v.tensor_list());
    case Tag::bools: {
      Obj l(checked(PyList_New(v.len)));
      for (uint32_t k = 0; k < v.len; ++k) PyList_SET_ITEM(l.get(), k, PyBool_FromLong(v.bools[k]));
      return l.release();
    }
    case Tag::scalars: {
      Obj l(checked(PyList_New(v.len)));
      for (uint32_t k = 0; k < v.len; ++k) PyList_SET_ITEM(l.get(), k, checked(wrap_scalar(v.scalars[k])));
      return l.release();
    }
    case Tag::generator: return wrap_generator(v.gen);
    case Tag::integer:
      if (op.schema.args[i].type == ArgType::floating) return PyFloat_FromDouble(double(v.i));
      return shown_number(v.i);
    case Tag::floating: return shown_number(v.d);
    case Tag::ints: {
      Obj l(checked(PyList_New(v.len)));
      for (uint32_t k = 0; k < v.len; ++k) PyList_SET_ITEM(l.get(), k, checked(shown_number(v.ints[k])));
      return l.release();
    }
    default: return wrap_value(v);
  }
}

template <class T> bool same_elements(const T* a, const T* b, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i)
    if (!(a[i] == b[i])) return false;
  return true;
}
bool is_default(const ArgSpec& a, const Value& v) {
  if (!a.has_default) return false;
  const Value& d = a.default_value;
  if (a.type == ArgType::floating && v.is_number() && d.is_number()) return v.floating() == d.floating();
  if (v.tag != d.tag) return false;
  switch (v.tag) {
    case Tag::none: return true;
    case Tag::floating: return v.d == d.d;
    case Tag::complex: return v.c.re == d.c.re && v.c.im == d.c.im;
    case Tag::string: return v.string() == d.string();
    case Tag::ints: return v.len == d.len && same_elements(v.ints, d.ints, v.len);
    case Tag::doubles: return v.len == d.len && same_elements(v.doubles, d.doubles, v.len);
    case Tag::bools: return v.len == d.len && same_elements(v.bools, d.bools, v.len);
    case Tag::tensor: case Tag::tensors: case Tag::scalars: case Tag::generator: return false;
    default: return v.i == d.i;
  }
}

const char* schema_type(ArgType t) {
  switch (t) {
    case ArgType::tensor: return "a Tensor";
    case ArgType::tensors: case ArgType::optional_tensors: return "a list of Tensors";
    case ArgType::boolean: return "a bool";
    case ArgType::integer: return "an int";
    case ArgType::floating: return "a float";
    case ArgType::dtype: return "a torch.dtype";
    default: return "a number";
  }
}

[[noreturn]] void refuse_result(const OpEntry& op, PyObject* r, ArgType want) {
  raise_runtime(op.schema.full_name(), " was handled in Python, which returned ", Py_TYPE(r)->tp_name, "; its schema returns ", schema_type(want));
}

// Several results, not all of them single tensors.
bool is_mixed(const OpEntry& op) {
  if (op.schema.returns.size() < 2) return false;
  for (const ReturnSpec& q : op.schema.returns)
    if (q.type != ArgType::tensor) return true;
  return false;
}
// Where they are more than tensors and one number, they are kept as Python gave them, under a ticket that travels as the value
// of a Results. A ticket that is never shown (of a call that failed further up, or whose caller looks at tensors alone) gives
// way to later ones.
struct Kept {
  int64_t ticket;
  PyObject* tuple;  // owned
};
constexpr size_t kMostKept = 64;                // calls within calls, far more than a thread makes
constexpr uint32_t kTicket = 0xffffffff;        // Value::len of a ticket
thread_local std::vector<Kept> kept_results;
thread_local int64_t next_ticket = 0;

Value keep_results(Obj tuple) {
  if (kept_results.size() == kMostKept) {
    Obj oldest(kept_results.front().tuple);
    kept_results.erase(kept_results.begin());
  }
  kept_results.push_back({++next_ticket, tuple.release()});
  Value v(next_ticket);
  v.len = kTicket;
  return v;
}
Obj kept_under(const Value& v) {
  if (v.tag != Tag::integer || v.len != kTicket) return {};
  for (size_t i = 0; i < kept_results.size(); ++i)
    if (kept_results[i].ticket == v.i) {
      Obj tuple(kept_results[i].tuple);
      kept_results.erase(kept_results.begin() + int64_t(i));
      return tuple;
    }
  return {};
}

Tensor tensor_result(const OpEntry& op, PyObject* r) {
  if (r == Py_None) return {};
  if (!is_tensor(r)) refuse_result(op, r, ArgType::tensor);
  return unwrap(r);
}

// ---- the layer ----

// torch.library.register_torch_dispatch: for an operator, what a class of modes or tensors does on it.
std::unordered_map<const OpEntry*, PyObject*>& rules() {  // dictionaries {class: function}
  static auto* m = new std::unordered_map<const OpEntry*, PyObject*>;
  return *m;
}

PyObject* handler_result(PyObject* of, const OpEntry& op, PyObject* types, PyObject* args, PyObject* kwargs) {
  if (!rules().empty())
    if (const auto i = rules().find(&op); i != rules().end()) {
      const bool is_class = PyType_Check(of);
      Obj f = Obj::borrow(PyDict_GetItemWithError(i->second, is_class ? of : reinterpret_cast<PyObject*>(Py_TYPE(of))));
      if (f && is_class) return checked(PyObject_CallFunctionObjArgs(f.get(), overload_object(op), types, args, kwargs, nullptr));
      if (f) return checked(PyObject_CallFunctionObjArgs(f.get(), of, overload_object(op), types, args, kwargs, nullptr));
    }
  Obj f(checked(PyObject_GetAttr(of, s_torch_dispatch)));
  return checked(PyObject_CallFunctionObjArgs(f.get(), overload_object(op), types, args, kwargs, nullptr));
}

void run_python_layer(const OpEntry& called, const Value* args, Results& out, Flags flags) {
  GilHold gil;
  const OpEntry& op = seen_as(called, args);
  std::vector<Obj> takers;
  const bool mode = (tls.layers & kPython) && !modes.empty();
  if (disabled == 0) find_takers(op, args, takers);
  if (!mode && takers.empty()) return run_without_python(op, args, out, flags);
  Obj types(checked(PyTuple_New(Py_ssize_t(takers.size()))));
  for (size_t i = 0; i < takers.size(); ++i) PyTuple_SET_ITEM(types.get(), Py_ssize_t(i), Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(takers[i].get()))));
  Obj positional, keywords;
  python_arguments(op, args, positional, keywords);
  BelowAutograd below;
  KeepCallFromPython keep;
  Obj result;
  if (mode) {
    WithoutInnermost innermost;
    result = Obj(handler_result(innermost.m.object, op, types.get(), positional.get(), keywords.get()));
    if (result.get() != Py_NotImplemented) return take_python_results(op, args, result.get(), out);
  }
  for (Obj& x : takers) {
    result = Obj(handler_result(reinterpret_cast<PyObject*>(Py_TYPE(x.get())), op, types.get(), positional.get(), keywords.get()));
    if (result.get() != Py_NotImplemented) return take_python_results(op, args, result.get(), out);
  }
  std::string names;
  for (Obj& x : takers) names += text(names.empty() ? "" : ", ", Py_TYPE(x.get())->tp_name);
  raise_type(op.schema.full_name(), ": every __torch_dispatch__ returned NotImplemented (", mode ? "the active mode" : "no mode is active",
             names.empty() ? "" : "; classes ", names, ")");
}

// ---- functions of torch._C ----

int mode_key(PyObject* mode) {
  Obj k(PyObject_GetAttrString(mode, "_mode_key"));
  if (!k) {
    PyErr_Clear();
    return -1;
  }
  if (k.get() == Py_None) return -1;
  Obj v(PyObject_GetAttrString(k.get(), "value"));
  if (!v) PyErr_Clear();
  const long n = PyLong_AsLong(v ? v.get() : k.get());
  if (n == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return int(n);
}

PyObject* py_push(PyObject*, PyObject* mode) {
  FB_PY_BEGIN
  const int key = mode_key(mode);
  push({Py_NewRef(mode), key});
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
// _pop_torch_dispatch_stack(key=None): the innermost mode, or the one with this key.
PyObject* py_pop(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject* key = Py_None;
  if (!PyArg_ParseTuple(args, "|O:_pop_torch_dispatch_stack", &key)) return nullptr;
  if (key == Py_None) {
    FB_CHECK(!modes.empty(), "_pop_torch_dispatch_stack: no dispatch mode is active");
    PyObject* m = modes.back().object;
    modes.pop_back();
    tell_threads_state();
    return m;
  }
  Obj v(PyObject_GetAttrString(key, "value"));
  PyErr_Clear();
  const long want = PyLong_AsLong(v ? v.get() : key);
  if (want == -1 && PyErr_Occurred()) return nullptr;
  for (size_t i = modes.size(); i-- > 0;)
    if (modes[i].key == want) {
      PyObject* m = modes[i].object;
      modes.erase(modes.begin() + int64_t(i));
      tell_threads_state();
      return m;
    }
  raise_runtime("_pop_torch_dispatch_stack: no mode with key ", int64_t(want), " is active");
  FB_PY_END(nullptr)
}
PyObject* py_length(PyObject*, PyObject*) { return PyLong_FromSize_t(active_dispatch_modes()); }
PyObject* py_at(PyObject*, PyObject* i) {
  FB_PY_BEGIN
  const Py_ssize_t k = PyLong_AsSsize_t(i);
  if (k == -1 && PyErr_Occurred()) return nullptr;
  FB_CHECK_INDEX(k >= 0 && size_t(k) < modes.size(), "_get_dispatch_stack_at: index ", int64_t(k), " is out of range for ", uint64_t(modes.size()), " active modes");
  return Py_NewRef(modes[size_t(k)].object);
  FB_PY_END(nullptr)
}
PyObject* py_get_mode(PyObject*, PyObject* key) {
  FB_PY_BEGIN
  Obj v(PyObject_GetAttrString(key, "value"));
  PyErr_Clear();
  const long want = PyLong_AsLong(v ? v.get() : key);
  if (want == -1 && PyErr_Occurred()) return nullptr;
  for (const Mode& m : modes)
    if (m.key == want) return Py_NewRef(m.object);
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_disable(PyObject*, PyObject* on) {
  disabled += PyObject_IsTrue(on) ? 1 : -1;
  tell_threads_state();
  Py_RETURN_NONE;
}
PyObject* py_below_autograd(PyObject*, PyObject* on) {
  const bool before = below_autograd;
  below_autograd = PyObject_IsTrue(on) == 1;
  return PyBool_FromLong(before);
}
PyObject* disabled_dispatch_impl(PyObject*, PyObject* args, PyObject*) {
  PyObject *func, *types, *a = nullptr, *kw = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO:_disabled_torch_dispatch_impl", &func, &types, &a, &kw)) return nullptr;
  Obj empty(PyTuple_New(0));
  ++disabled;
  tell_threads_state();
  PyObject* r = PyObject_Call(func, a ? a : empty.get(), kw && kw != Py_None ? kw : nullptr);
  --disabled;
  tell_threads_state();
  return r;
}

bool ints_from(PyObject* o, Dims& d, const char* name) {
  if (!PyTuple_Check(o) && !PyList_Check(o)) raise_type("_make_wrapper_subclass(): argument '", name, "' must be a tuple of ints, not ", Py_TYPE(o)->tp_name);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    Obj n(PyNumber_Index(PySequence_Fast_GET_ITEM(o, i)));
    if (!n) throw PythonErrorSet{};
    const long long v = PyLong_AsLongLong(n.get());
    if (v == -1 && PyErr_Occurred()) throw PythonErrorSet{};
    d.push_back(v);
  }
  return true;
}

PyTypeObject* class_argument(PyObject* cls, const char* function) {
  if (!PyType_Check(cls)) raise_type(function, "(): cls must be a class, not ", Py_TYPE(cls)->tp_name);
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (!PyType_IsSubtype(type, &TensorBaseType)) raise_type(function, "(): cls must be a subclass of Tensor, ", type->tp_name, " is none");
  return type;
}

PyObject* make_wrapper(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"cls", "size", "strides", "storage_offset", "memory_format", "dtype", "layout", "device", "pin_memory",
                                "requires_grad", "dispatch_sizes_strides_policy", "dispatch_device", "dispatch_layout", nullptr};
  PyObject *cls, *size, *strides = Py_None, *offset = Py_None, *format = Py_None, *dtype = Py_None, *layout = Py_None, *device = Py_None, *policy = Py_None;
  int pin = 0, wants_grad = 0, dispatch_device = 0, dispatch_layout = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|OOOOOOppOpp:_make_wrapper_subclass", const_cast<char**>(names), &cls, &size, &strides, &offset,
                                   &format, &dtype, &layout, &device, &pin, &wants_grad, &policy, &dispatch_device, &dispatch_layout))
    return nullptr;
  PyTypeObject* type = class_argument(cls, "_make_wrapper_subclass");
  if (!takes_dispatch(type)) raise_type("_make_wrapper_subclass(): ", type->tp_name, " must define __torch_dispatch__, since its instances have no memory");
  if (policy != Py_None) raise_not_implemented("_make_wrapper_subclass: dispatch_sizes_strides_policy is not there");
  if (dispatch_device) raise_not_implemented("_make_wrapper_subclass: dispatch_device is not there");
  if (dispatch_layout) raise_not_implemented("_make_wrapper_subclass: dispatch_layout is not there");
  FB_CHECK(!pin, "_make_wrapper_subclass: pin_memory=True needs an accelerator, and none is there");
  Dims s, st;
  ints_from(size, s, "size");
  for (int64_t x : s) FB_CHECK(x >= 0, "_make_wrapper_subclass: size ", x, " in shape ", s, " is negative; sizes are at least 0");
  DType d = default_dtype;
  if (dtype != Py_None && !dtype_from(dtype, d)) raise_type("_make_wrapper_subclass(): argument 'dtype' must be torch.dtype, not ", Py_TYPE(dtype)->tp_name);
  Device where;
  if (device != Py_None && !device_from(device, where)) raise_type("_make_wrapper_subclass(): argument 'device' must be torch.device, not ", Py_TYPE(device)->tp_name);
  if (strides != Py_None) {
    ints_from(strides, st, "strides");
    FB_CHECK(st.size() == s.size(), "_make_wrapper_subclass: ", s.size(), " sizes ", s, " were given with ", st.size(), " strides ", st);
  } else {
    MemoryFormat f = MemoryFormat::contiguous;
    if (format != Py_None)
      for (int i = 0; i < 4; ++i)
        if (Obj w(wrap_memory_format(MemoryFormat(i))); w.get() == format) f = MemoryFormat(i);
    // Of a tensor without memory the strides alone are wanted.
    st = Dims(Tensor::empty_format(s, {d, Device{DeviceType::meta, -1}}, f).strides());
  }
  long long at = 0;
  if (offset != Py_None && (at = PyLong_AsLongLong(offset)) == -1 && PyErr_Occurred()) return nullptr;
  storage_bytes(s, st, at, item_size(d));  // raises where 63 bits do not reach
  Tensor t = Tensor::over(Storage::of_payload(nullptr, where), d, s, st, at);
  t->device = where;
  Obj o(wrap_as(t, type));
  set_requires_grad(t, wants_grad);
  return o.release();
  FB_PY_END(nullptr)
}

// _set_geometry(t, like): t takes sizes, strides, offset and type of `like`, and its storage where `share`; nothing is dispatched.
PyObject* py_set_geometry(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *a, *b;
  int share = 0;
  if (!PyArg_ParseTuple(args, "OO|p:_set_geometry", &a, &b, &share)) return nullptr;
  const Tensor& t = tensor_arg(a, "_set_geometry", "tensor");
  const Tensor& like = tensor_arg(b, "_set_geometry", "like");
  take_geometry(t, like);
  if (share) t->storage = like->storage;
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
// _alias_storage(t, base): from now on t counts as a view of base's storage; geometry stays.
PyObject* py_alias_storage(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO:_alias_storage", &a, &b)) return nullptr;
  const Tensor& t = tensor_arg(a, "_alias_storage", "tensor");
  const Tensor& base = tensor_arg(b, "_alias_storage", "base");
  FB_CHECK(t->python && base->python, "_alias_storage: both tensors must be of classes with __torch_dispatch__");
  t->storage = base->storage;
  t->own_version = base->own_version;
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
// _wrap_over(cls, elem, device): an instance of cls over the storage and geometry of elem, said to be on `device`.
PyObject* py_wrap_over(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *cls, *elem, *device;
  if (!PyArg_ParseTuple(args, "OOO:_wrap_over", &cls, &elem, &device)) return nullptr;
  PyTypeObject* type = class_argument(cls, "_wrap_over");
  if (!takes_dispatch(type)) raise_type("_wrap_over(): ", type->tp_name, " must define __torch_dispatch__");
  Device d;
  if (!device_from(device, d)) raise_type("_wrap_over(): argument 'device' must be torch.device, not ", Py_TYPE(device)->tp_name);
  Tensor t = tensor_arg(elem, "_wrap_over", "elem").alias();
  FB_CHECK(t.is_meta(), "_wrap_over: elem must be on the meta device, it is on ", t.device());
  t->device = d;
  return wrap_as(t, type);
  FB_PY_END(nullptr)
}

// _meta_alias(t): a plain tensor on the meta device over the storage and geometry of a fake one.
PyObject* py_meta_alias(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  const Tensor& t = tensor_arg(o, "_meta_alias", "tensor");
  FB_CHECK(t->storage->device.is_meta(), "_meta_alias: a tensor of shape ", t.sizes(), " on ", t.device(), " has elements");
  Tensor m = t.alias();
  m->device = t->storage->device;
  return wrap(m);
  FB_PY_END(nullptr)
}
PyObject* py_is_wrapped_number(PyObject*, PyObject* o) { return PyBool_FromLong(is_tensor(o) && unwrap(o)->wrapped_number); }
// _set_dispatch_rule(name, cls, fn)
PyObject* py_set_rule(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char* name;
  PyObject *cls, *fn;
  if (!PyArg_ParseTuple(args, "sO!O:_set_dispatch_rule", &name, &PyType_Type, &cls, &fn)) return nullptr;
  const OpEntry* op = find_op(name);
  if (!op) raise_runtime("operator ", name, " does not exist");
  PyObject*& d = rules()[op];
  if (!d) d = checked(PyDict_New());
  checked(PyDict_SetItem(d, cls, fn));
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {
    {"_meta_alias", py_meta_alias, METH_O, nullptr},
    {"_is_wrapped_number", py_is_wrapped_number, METH_O, nullptr},
    {"_set_dispatch_rule", py_set_rule, METH_VARARGS, nullptr},
    {"_push_on_torch_dispatch_stack", py_push, METH_O, nullptr},
    {"_pop_torch_dispatch_stack", py_pop, METH_VARARGS, nullptr},
    {"_len_torch_dispatch_stack", py_length, METH_NOARGS, nullptr},
    {"_get_dispatch_stack_at", py_at, METH_O, nullptr},
    {"_get_dispatch_mode", py_get_mode, METH_O, nullptr},
    {"_disable_torch_dispatch", py_disable, METH_O, nullptr},
    {"_set_below_autograd", py_below_autograd, METH_O, "_set_below_autograd(on) -> bool: what it was before."},
    {"_disabled_torch_dispatch_impl", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(disabled_dispatch_impl)), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"_set_geometry", py_set_geometry, METH_VARARGS, nullptr},
    {"_alias_storage", py_alias_storage, METH_VARARGS, nullptr},
    {"_wrap_over", py_wrap_over, METH_VARARGS, nullptr},
    {}};
PyMethodDef make_wrapper_def[] = {
    {"_make_wrapper_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(make_wrapper)), METH_VARARGS | METH_KEYWORDS | METH_STATIC,
     "_make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, layout=torch.strided, device=None,\n"
     "                       pin_memory=False, requires_grad=False) -> an instance of cls without memory of its own.\n\n"
     "cls must define __torch_dispatch__, which sees every operator on it. TypeError where it does not."},
    {}};

}  // namespace

bool takes_dispatch(PyTypeObject* type) {
  if (type == TensorType || type == ParameterType || type == &TensorBaseType) return false;
  PyObject* f = _PyType_Lookup(type, s_torch_dispatch);
  return f && f != g_disabled_dispatch && f != Py_None;
}

size_t active_dispatch_modes() { return modes.size(); }
bool mode_active() { return (tls.layers & kPython) != 0; }
bool dispatches(const Tensor& t) { return ((t->flags | tls.layers) & kPython) != 0; }

// Numbers in place of tensors: these operators keep them there, all others have an overload for numbers that a mode sees.
static bool keeps_numbers(const std::string& name) { return name == "add" || name == "sub" || name == "mul" || name == "div"; }

const OpEntry& seen_as(const OpEntry& op, const Value* args) {
  if (op.schema.overload != "Tensor" || op.schema.args.size() < 2 || op.schema.args[1].type != ArgType::tensor) return op;
  const bool number = args[1].is_number() || (args[1].tag == Tag::tensor && args[1].t->wrapped_number && !args[1].t->python && args[1].t->numel == 1);
  if (!number || (op.card->forms & form::library) || keeps_numbers(op.functional->schema.name)) return op;
  const std::string name = op.functional->schema.name + (op.form == OpForm::inplace ? "_" : "");  // its own, whatever it was called by
  const OpEntry* scalar = find_op(name + ".Scalar");
  if (!scalar) scalar = find_op(name + ".Tensor_Scalar");
  return scalar && scalar->schema.args.size() == op.schema.args.size() && scalar->schema.args[1].type == ArgType::scalar ? *scalar : op;
}

PyObject* overload_object(const OpEntry& given) {
  static std::unordered_map<const OpEntry*, PyObject*> objects;
  PyObject*& o = objects[&given];
  if (!o) {
    const char* text = given.card->schema;
    std::string name(text, strcspn(text, ".("));
    if (given.form == OpForm::inplace) name += "_";
    const std::string& overload = given.schema.overload;
    const OpEntry* op = find_op(overload.empty() ? name : name + "." + overload);
    if (!op) op = &given;
    Obj mod(checked(PyImport_ImportModule("torch._ops")));
    o = checked(PyObject_CallMethod(mod.get(), "_overload", "ss", op->schema.name.c_str(), op->schema.overload.c_str()));
  }
  return o;
}

void python_arguments(const OpEntry& op, const Value* args, Obj& positional, Obj& keywords) {
  const auto& specs = op.schema.args;
  const bool factory = !(op.schema.tensor_mask | op.schema.list_mask);
  Obj first;  // a tensor of Python's among the arguments
  for (size_t i = 0; codes_in_use() && !first && i < specs.size(); ++i) {
    if (args[i].tag == Tag::tensor && args[i].tensor().defined() && args[i].tensor()->python) first = Obj(wrap(args[i].tensor()));
    else if (args[i].tag == Tag::tensors)
      for (const Tensor& t : args[i].tensor_list())
        if (!first && t.defined() && t->python) first = Obj(wrap(t));
  }
  const ShownWith with(first ? first.get() : factory ? nullptr : Py_False);
  int n = op.schema.positional;
  while (n > 0 && is_default(specs[size_t(n) - 1], args[n - 1])) --n;
  positional = Obj(checked(PyTuple_New(n)));
  for (int i = 0; i < n; ++i) PyTuple_SET_ITEM(positional.get(), i, checked(python_value(op, size_t(i), args[i])));
  keywords = Obj(checked(PyDict_New()));
  for (size_t i = size_t(op.schema.positional); i < specs.size(); ++i) {
    Obj v;
    // A factory says where it allocates.
    if (factory && args[i].is_none() && specs[i].type == ArgType::device) v = Obj(wrap_device(Device()));
    else if (factory && args[i].is_none() && specs[i].name == "pin_memory") v = Obj(PyBool_FromLong(0));
    else if (is_default(specs[i], args[i])) continue;
    else v = Obj(python_value(op, i, args[i]));
    checked(v.get());
    checked(PyDict_SetItemString(keywords.get(), specs[i].name.c_str(), v.get()));
  }
}

void take_python_results(const OpEntry& op, const Value* args, PyObject* r, Results& out) {
  const auto& returns = op.schema.returns;
  if (returns.empty()) return;
  // What an operator writes is what it returns, whatever Python gave back.
  size_t at = 0;
  bool written = false;
  for (const ReturnSpec& q : returns) {
    if (!q.written) continue;
    while (at < op.schema.args.size() && !op.schema.args[at].written) ++at;
    if (at == op.schema.args.size()) break;
    written = true;
    if (args[at].tag == Tag::tensor) out.push(args[at].tensor());
    ++at;
  }
  if (written && out.size() == int(returns.size())) return;
  out.clear();
  auto not_the_base = [&](const Tensor& t) {
    if (op.card->kind == CardKind::view && args[0].tag == Tag::tensor && t.defined())
      FB_CHECK(!t.is(args[0].tensor()), op.schema.full_name(), " makes a view, but Python returned its argument of shape ", t.sizes(),
               " itself; return a new tensor (e.g. detach() of it)");
  };
  if (returns.size() > 1) {
    if (!PyTuple_Check(r) && !PyList_Check(r)) raise_runtime(op.schema.full_name(), " has ", uint64_t(returns.size()), " results, Python returned ", Py_TYPE(r)->tp_name);
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(r);
    FB_CHECK(n == Py_ssize_t(returns.size()), op.schema.full_name(), " has ", uint64_t(returns.size()), " results, Python returned ", int64_t(n));
    if (is_mixed(op)) {
      for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* x = PySequence_Fast_GET_ITEM(r, i);
        const ArgType t = returns[size_t(i)].type;
        const bool list = PyList_Check(x) || PyTuple_Check(x);
        Scalar s;
        if (t == ArgType::tensor) out.push(tensor_result(op, x));
        else if (t == ArgType::tensors ? !list : t == ArgType::boolean ? !PyBool_Check(x) : t == ArgType::string ? !PyUnicode_Check(x) : !list && !scalar_from(x, s))
          refuse_result(op, x, t);
        else if (!list && t != ArgType::string) out.value = PyBool_Check(x) ? Value(x == Py_True) : Value(s);
      }
      // The tensors and one number are what a Results holds.
      const auto others = std::count_if(returns.begin(), returns.end(), [](const ReturnSpec& q) { return q.type != ArgType::tensor; });
      if (others > 1 || out.value.is_none()) out.value = keep_results(Obj(checked(PySequence_Tuple(r))));
      return;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      Tensor t = tensor_result(op, PySequence_Fast_GET_ITEM(r, i));
      not_the_base(t);
      out.push(std::move(t));
    }
    return;
  }
  switch (returns[0].type) {
    case ArgType::tensor: {
      Tensor t = tensor_result(op, r);
      not_the_base(t);
      out.push(std::move(t));
      return;
    }
    case ArgType::tensors: case ArgType::optional_tensors: {
      if (!PyTuple_Check(r) && !PyList_Check(r)) refuse_result(op, r, returns[0].type);
      std::vector<Tensor> l;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(r); ++i) {
        l.push_back(tensor_result(op, PySequence_Fast_GET_ITEM(r, i)));
        not_the_base(l.back());
      }
      out.set_list(std::move(l));
      return;
    }
    case ArgType::boolean:
      if (!PyBool_Check(r)) refuse_result(op, r, returns[0].type);
      out.value = Value(r == Py_True);
      return;
    case ArgType::dtype: {
      DType d;
      if (!dtype_from(r, d)) refuse_result(op, r, returns[0].type);
      out.value = Value(d);
      return;
    }
    case ArgType::scalar: case ArgType::integer: case ArgType::floating: {
      Scalar s;
      if (is_symbolic_number(r)) call_from_python.on_python_tensors = true;  // its code; the caller in Python looks it up
      if (is_tensor(r) || !scalar_from(r, s)) refuse_result(op, r, returns[0].type);
      out.value = Value(s);
      return;
    }
    default: raise_not_implemented(op.schema.full_name(), ": a result of this type cannot come from Python");
  }
}

PyObject* python_results(const OpEntry& op, Results& r) {
  if (!is_mixed(op)) return nullptr;
  if (const Obj kept = kept_under(r.value)) {
    // Tensors are those of the call, which a level of a transform may have wrapped since.
    Obj t(checked(PyTuple_New(PyTuple_GET_SIZE(kept.get()))));
    int at = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kept.get()); ++i) {
      const bool tensor = op.schema.returns[size_t(i)].type == ArgType::tensor && at < r.size();
      PyTuple_SET_ITEM(t.get(), i, tensor ? checked(wrap(r[at++])) : Py_NewRef(PyTuple_GET_ITEM(kept.get(), i)));
    }
    return t.release();
  }
  // From C++: the tensors in their order, and one other value.
  Obj t(checked(PyTuple_New(Py_ssize_t(op.schema.returns.size()))));
  int at = 0;
  bool value = false;
  for (size_t i = 0; i < op.schema.returns.size(); ++i) {
    PyObject* x;
    if (op.schema.returns[i].type == ArgType::tensor && at < r.size()) x = wrap(r[at++]);
    else if (op.schema.returns[i].type != ArgType::tensor && !value) {
      x = wrap_value(r.value);
      value = true;
    } else raise_not_implemented(op.schema.full_name(), ": more than one number, or a list among several results, from C++");
    PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), checked(x));
  }
  return t.release();
}

void init_dispatch_mode(PyObject* m) {
  s_torch_dispatch = PyUnicode_InternFromString("__torch_dispatch__");
  python_layer = run_python_layer;
  checked(PyModule_AddFunctions(m, functions));
  g_disabled_dispatch = checked(PyObject_GetAttrString(m, "_disabled_torch_dispatch_impl"));
  PyDict_SetItem(TensorBaseType.tp_dict, s_torch_dispatch, g_disabled_dispatch);
  Obj f(checked(PyCFunction_New(make_wrapper_def, nullptr)));
  Obj st(checked(PyStaticMethod_New(f.get())));
  PyDict_SetItemString(TensorBaseType.tp_dict, "_make_wrapper_subclass", st.get());
  PyType_Modified(&TensorBaseType);
}

}  // namespace fb::py
