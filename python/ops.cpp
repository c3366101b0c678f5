// Every operator as a Python callable: functions of torch, methods and operators of Tensor, entries of torch.ops.
#include <cstring>
#include <string>
#include <unordered_map>

#include "autograd/node.h"
#include "dispatch/library.h"
#include "dispatch/pointwise.h"
#include "dispatch/shape_of_values.h"
#include "dispatch/table_read.h"
#include "dispatch/thread_state.h"
#include "python/dispatch_mode.h"
#include "python/parser.h"
#include "python/symbolic.h"
#include "python/take_over.h"

namespace fb::py {

__attribute__((tls_model("initial-exec"))) constinit thread_local int function_modes = 0;

namespace {

__attribute__((tls_model("initial-exec"))) constinit thread_local int g_function_disabled = 0;  // DisableTorchFunctionSubclass
PyObject* s_torch_function = nullptr;     // "__torch_function__"
PyObject* g_disabled_torch_function = nullptr; // _disabled_torch_function_impl: asks for nothing

struct OpCallable {
  PyObject_HEAD
  vectorcallfunc call;
  const Binding* binding;
  const Binding* own;   // the same where no packet keeps it; deleted with the callable
  PyObject* name;
  PyObject* module;
  PyObject* dict;
};
PyTypeObject OpFunctionType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject OpMethodType{PyVarObject_HEAD_INIT(nullptr, 0)};

OpCallable* as(PyObject* o) { return reinterpret_cast<OpCallable*>(o); }

// Types whose instances surely ask for nothing.
bool plain_type(PyTypeObject* t) {
  return t == TensorType || t == ParameterType || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type || t == &PyUnicode_Type ||
         t == Py_TYPE(Py_None) || t == &DTypeType || t == &SizeType || t == &DeviceType_ || t == &PyComplex_Type || t == &MemoryFormatType;
}

// A subclass of Tensor without a __torch_function__ of its own asks too: what it inherits gives results its class.
bool asks(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  if (plain_type(t) || t == &TensorBaseType) return false;
  PyObject* f = _PyType_Lookup(t, s_torch_function);
  return f && f != g_disabled_torch_function && f != Py_None;
}

bool any_asks(PyObject* const* args, Py_ssize_t n) {
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* o = args[i];
    if (plain_type(Py_TYPE(o))) continue;
    if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
      const Py_ssize_t m = PySequence_Fast_GET_SIZE(o);
      for (Py_ssize_t k = 0; k < m; ++k)
        if (asks(PySequence_Fast_GET_ITEM(o, k))) return true;
    } else if (asks(o)) return true;
  }
  return false;
}

PyObject* structseq_type(const OpEntry& op) {
  static std::unordered_map<std::string, PyObject*> types;
  // Written to tensors that were given, the results have a type of their own.
  const std::string name = (op.functional ? op.functional->schema.name : op.schema.name) + (op.form == OpForm::out ? "_out" : "");
  std::string key = name;
  for (auto& r : op.schema.returns) key += "," + r.name;
  PyObject*& t = types[key];
  if (!t) {
    const size_t n = op.schema.returns.size();
    auto* fields = new PyStructSequence_Field[n + 1]();
    for (size_t i = 0; i < n; ++i) fields[i].name = strdup(op.schema.returns[i].name.c_str());
    PyStructSequence_Desc d{strdup(("torch.return_types." + name).c_str()), nullptr, fields, int(n)};
    t = reinterpret_cast<PyObject*>(checked(reinterpret_cast<PyObject*>(PyStructSequence_NewType(&d))));
    Obj mod(PyImport_ImportModule("torch.return_types"));
    Obj text(mod ? PyObject_GetAttrString(mod.get(), "_text") : nullptr);
    if (text) PyObject_SetAttrString(t, "__repr__", text.get());
    if (mod) PyObject_SetAttrString(mod.get(), name.c_str(), t);
    PyErr_Clear();
  }
  return t;
}

PyObject* invoke_plain(ParsedCall& c) {
  Results r;
  {
    GilRelease release(c.work > 32768);
    c.op->invoke(*c.op, c.v, r);
  }
  if (c.requires_grad && r.size() == 1) set_requires_grad(r[0], true);
  return c.by_schema ? wrap_schema_results(*c.op, r) : wrap_results(*c.op, r);
}

// A call on tensors without elements whose sizes are codes of symbols.
PyObject* invoke_on_codes(ParsedCall& c) {
  const CallFromPython mine = call_from_python;
  Obj result, type, error, trace;
  try {
    result = Obj(invoke_plain(c));
    if (c.op->card->kind != CardKind::composite) return result.release();
  } catch (...) {
    set_python_error();
    PyObject *t, *e, *tb;
    PyErr_Fetch(&t, &e, &tb);
    PyErr_NormalizeException(&t, &e, &tb);
    type = Obj(t), error = Obj(e), trace = Obj(tb);
  }
  call_from_python = mine;
  Obj positional, keywords;
  python_arguments(*c.op, c.v, positional, keywords);
  Obj seen(check_at_example(overload_object(*c.op), positional.get(), keywords.get(), result ? result.get() : Py_None, error ? error.get() : Py_None));
  if (seen.get() != Py_NotImplemented) return seen.release();
  if (result) return result.release();
  PyErr_Restore(type.release(), error.release(), trace.release());
  throw PythonErrorSet{};
}

PyObject* invoke_parsed(ParsedCall& c) {
  call_from_python.op = c.op;
  if (codes_in_use() && call_from_python.on_python_tensors) [[unlikely]] return invoke_on_codes(c);
  return invoke_plain(c);
}

// A factory that was given no device allocates on the default one. PyTorch's normal and range do not ask for it.
void take_default_device(ParsedCall& c) {
  const Schema& s = c.op->schema;
  if ((s.tensor_mask | s.list_mask) || s.name == "normal" || s.name == "range") return;
  for (size_t i = 0; i < s.args.size(); ++i)
    if (s.args[i].type == ArgType::device && c.v[i].is_none()) c.v[i] = Value(default_device());
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  if (function_modes || (!g_function_disabled && any_asks(args, all))) return dispatch_torch_function(self, args, n, kwnames);
  ParsedCall c;
  parse_call(*as(self)->binding, args, n, kwnames, c);
  if (!(default_device() == Device())) [[unlikely]] take_default_device(c);
  return invoke_parsed(c);
  FB_PY_END(nullptr)
}

// Entries of torch.ops: arguments that do not fit the schema are a RuntimeError there.
PyObject* op_vectorcall_by_schema(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
  const Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  if (function_modes || (!g_function_disabled && any_asks(args, all))) return dispatch_torch_function(self, args, n, kwnames);
  ParsedCall c;
  c.by_schema = true;
  c.one_overload = as(self)->binding->signatures().plain.size() == 1;
  try {
    parse_call(*as(self)->binding, args, n, kwnames, c);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::type) raise_runtime(e.what());
    throw;
  }
  return invoke_parsed(c);
  FB_PY_END(nullptr)
}

// A card's program over other cards, where it has one, run here: layers below see its parts.
PyObject* op_vectorcall_lowering(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  ParsedCall c;
  parse_call(*as(self)->binding, args, PyVectorcall_NARGS(nargsf), kwnames, c);
  Results r;
  c.op->card->body(*c.op, c.v, r);
  return wrap_results(*c.op, r);
  FB_PY_END(nullptr)
}

// Methods of operators whose schema has `self` further on (where, polygamma): the tensor goes to its place.
PyObject* op_vectorcall_by_self(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  static PyObject* const name_self = PyUnicode_InternFromString("self");
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf), nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (n == 0 || function_modes || (!g_function_disabled && any_asks(args, n + nkw))) return op_vectorcall(self, args, nargsf, kwnames);
  std::vector<PyObject*> moved(args + 1, args + n + nkw);
  int at = 0;
  {
    const TableRead table;
    for (const OpEntry* e : as(self)->binding->packet->overloads) at = std::max(at, e->schema.find("self"));
  }
  if (n > at) {
    moved.insert(moved.begin() + at, args[0]);
    return op_vectorcall(self, moved.data(), size_t(n), kwnames);
  }
  moved.push_back(args[0]);
  Obj names(checked(PyTuple_New(nkw + 1)));
  for (Py_ssize_t i = 0; i < nkw; ++i) PyTuple_SET_ITEM(names.get(), i, Py_NewRef(PyTuple_GET_ITEM(kwnames, i)));
  PyTuple_SET_ITEM(names.get(), nkw, Py_NewRef(name_self));
  return op_vectorcall(self, moved.data(), size_t(n - 1), names.get());
  FB_PY_END(nullptr)
}
bool self_comes_later(const Packet& p) {
  const TableRead table;
  for (const OpEntry* e : p.overloads)
    if (e->schema.find("self") > 0) return true;
  return false;
}

PyObject* op_descr_get(PyObject* self, PyObject* obj, PyObject*) {
  if (!obj || obj == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, obj);
}
PyObject* op_repr(PyObject* o) {
  if (Py_TYPE(o) == &OpMethodType) return PyUnicode_FromFormat("<method '%U' of 'torch._C.TensorBase' objects>", as(o)->name);
  return PyUnicode_FromFormat("<built-in method %U of torch>", as(o)->name);
}
PyObject* op_doc(PyObject* o, void*) {
  const char* d = as(o)->binding->packet->doc;
  std::string s = d ? d : "";
  for (const Signature& q : as(o)->binding->signatures().plain) s += (s.empty() ? "" : "\n") + q.op->schema.print();
  return PyUnicode_FromString(s.c_str());
}
PyObject* op_reduce(PyObject* o, PyObject*) {
  Obj mod(PyImport_ImportModule("torch._C"));
  Obj find(mod ? PyObject_GetAttrString(mod.get(), "_find_callable") : nullptr);
  if (!find) return nullptr;
  return Py_BuildValue("(O(OO))", find.get(), as(o)->module, as(o)->name);
}
PyGetSetDef op_props[] = {
    {"__name__", [](PyObject* o, void*) { return Py_NewRef(as(o)->name); }, nullptr, nullptr, nullptr},
    {"__qualname__", [](PyObject* o, void*) -> PyObject* {
       if (Py_TYPE(o) == &OpMethodType) return PyUnicode_FromFormat("TensorBase.%U", as(o)->name);
       return Py_NewRef(as(o)->name);
     }, nullptr, nullptr, nullptr},
    {"__module__", [](PyObject* o, void*) { return Py_NewRef(as(o)->module); }, nullptr, nullptr, nullptr},
    {"__objclass__", [](PyObject* o, void*) -> PyObject* {
       if (Py_TYPE(o) == &OpMethodType) return Py_NewRef(reinterpret_cast<PyObject*>(&TensorBaseType));
       PyErr_SetString(PyExc_AttributeError, "__objclass__");
       return nullptr;
     }, nullptr, nullptr, nullptr},
    {"__doc__", op_doc, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMethodDef op_methods[] = {{"__reduce__", op_reduce, METH_NOARGS, nullptr}, {}};

PyObject* make_callable(PyTypeObject* type, const Binding* b, const std::string& name, const char* module) {
  auto* o = PyObject_New(OpCallable, type);
  o->own = nullptr;
  o->call = op_vectorcall;
  o->binding = b;
  o->name = PyUnicode_InternFromString(name.c_str());
  o->module = PyUnicode_InternFromString(module);
  o->dict = nullptr;
  return reinterpret_cast<PyObject*>(o);
}

// One that is called by the schema's own defaults, of signatures that go with it: operators of libraries come and go.
PyObject* make_own_callable(const Packet& p, std::unique_ptr<Signatures> s, const std::string& name) {
  for (Signature& q : s->plain) q.take_schema_defaults();
  auto b = std::make_unique<Binding>();
  b->packet = &p;
  b->kept = std::move(s);
  b->now = b->kept.get();
  PyObject* f = make_callable(&OpFunctionType, b.get(), name, "torch.ops.aten");
  as(f)->own = b.release();
  as(f)->call = op_vectorcall_by_schema;
  return f;
}
void drop_callable(PyObject* f) {
  OpCallable* o = as(f);
  delete o->own;
  Py_XDECREF(o->name);
  Py_XDECREF(o->module);
  Py_XDECREF(o->dict);
  PyObject_Free(f);
}

// ---- operators of Tensor ----

struct Slot {
  const OpEntry* op = nullptr;       // the overload for tensors (numbers where the card takes them)
  const Binding* binding = nullptr;
  PyObject* method = nullptr;        // what __torch_function__ is told
  Value rest[6];                     // what stands for the arguments after the first two
  int nrest = -1;                    // -1: more than fit
};

void find_slot(Slot& s, const char* packet, const char* full) {
  const Packet* p = find_packet(packet);
  if (!p) return;
  s.op = find_op(full);
  s.binding = &binding_of(*p);
  if (s.op && s.op->schema.args.size() >= 2 && s.op->schema.args.size() <= 8) {
    s.nrest = int(s.op->schema.args.size()) - 2;
    for (int i = 0; i < s.nrest; ++i) s.rest[i] = s.op->schema.args[size_t(i) + 2].default_value;
  }
  s.method = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&TensorBaseType), packet);
  if (!s.method) {
    PyErr_Clear();
    s.method = make_callable(&OpMethodType, s.binding, packet, "torch");
  }
}

bool exact_tensor(PyObject* o) { return Py_TYPE(o) == TensorType || Py_TYPE(o) == ParameterType; }

PyObject* not_there(const char* name) {
  PyErr_Format(PyExc_NotImplementedError, "operator %s is not there yet", name);
  return nullptr;
}

PyObject* call_slot(const Slot& s, PyObject* a, PyObject* b, const char* name) {
  FB_PY_BEGIN
  if (!s.binding) return not_there(name);
  PyObject* args[2] = {a, b};
  const bool ta = exact_tensor(a), tb = exact_tensor(b);
  if (!function_modes && s.op) {
    // Tensor and tensor, or tensor and number: straight to the overload.
    union Arguments {
      Value v[8];
      Arguments() {}
    } call;
    Value* const v = call.v;
    bool ok = s.nrest >= 0;
    for (int i = 0; i < 2 && ok; ++i) {
      if (exact_tensor(args[i])) v[i] = Value(unwrap(args[i]));
      else if (PyFloat_CheckExact(args[i])) v[i] = Value(PyFloat_AS_DOUBLE(args[i]));
      else if (PyLong_CheckExact(args[i])) {
        int over = 0;
        const long long x = PyLong_AsLongLongAndOverflow(args[i], &over);
        if (over) ok = false;
        else v[i] = Value(int64_t(x));
      } else ok = false;
      if (ok && v[i].tag != Tag::tensor) ok = s.op->card->numbers >> i & 1;
    }
    if (ok && (ta || tb)) {
      for (int i = 0; i < s.nrest; ++i) v[i + 2] = s.rest[i];
      int64_t work = 0;
      if (v[0].tag == Tag::tensor) work += v[0].t->numel;
      if (v[1].tag == Tag::tensor) work += v[1].t->numel;
      Results r;
      {
        GilRelease release(work > 32768);
        s.op->invoke(*s.op, v, r);
      }
      return wrap(std::move(r[0]));
    }
  }
  for (PyObject* o : args) {
    Scalar dummy;
    if (!is_tensor(o) && !asks(o) && !(PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o)) &&
        !(Py_TYPE(o)->tp_as_number && !PySequence_Check(o) && scalar_from(o, dummy)))
      Py_RETURN_NOTIMPLEMENTED;
  }
  if (function_modes || (!g_function_disabled && any_asks(args, 2))) {
    PyObject* r = dispatch_torch_function(s.method, args, 2, nullptr);
    if (r || !PyErr_ExceptionMatches(PyExc_TypeError)) return r;
    PyErr_Clear();  // nobody takes the operands: Python asks the other one, then says so itself
    Py_RETURN_NOTIMPLEMENTED;
  }
  ParsedCall c;
  parse_call(*s.binding, args, 2, nullptr, c);
  return invoke_parsed(c);
  FB_PY_END(nullptr)
}

Slot slot_add, slot_sub, slot_mul, slot_div, slot_floordiv, slot_mod, slot_pow, slot_matmul, slot_and, slot_or, slot_xor, slot_lshift,
    slot_rshift, slot_iadd, slot_isub, slot_imul, slot_idiv, slot_ifloordiv, slot_imod, slot_ipow, slot_iand, slot_ior, slot_ixor,
    slot_ilshift, slot_irshift, slot_neg, slot_abs, slot_invert, slot_positive, slot_eq, slot_ne, slot_lt, slot_le, slot_gt, slot_ge,
    slot_rsub, slot_reciprocal;

#define FB_BINARY(name, slot) \
  PyObject* nb_##name(PyObject* a, PyObject* b) { return call_slot(slot, a, b, #name); }
FB_BINARY(add, slot_add)
FB_BINARY(mul, slot_mul)
FB_BINARY(floordiv, slot_floordiv)
FB_BINARY(mod, slot_mod)
FB_BINARY(matmul, slot_matmul)
FB_BINARY(and, slot_and)
FB_BINARY(or, slot_or)
FB_BINARY(xor, slot_xor)
FB_BINARY(lshift, slot_lshift)
FB_BINARY(rshift, slot_rshift)
FB_BINARY(iadd, slot_iadd)
FB_BINARY(isub, slot_isub)
FB_BINARY(imul, slot_imul)
FB_BINARY(idiv, slot_idiv)
FB_BINARY(ifloordiv, slot_ifloordiv)
FB_BINARY(imod, slot_imod)
FB_BINARY(iand, slot_iand)
FB_BINARY(ior, slot_ior)
FB_BINARY(ixor, slot_ixor)
FB_BINARY(ilshift, slot_ilshift)
FB_BINARY(irshift, slot_irshift)
#undef FB_BINARY
// number - tensor is rsub, number / tensor the reciprocal times the number: PyTorch's results and node names.
PyObject* nb_sub(PyObject* a, PyObject* b) {
  if (!is_tensor(a) && is_tensor(b)) return call_slot(slot_rsub, b, a, "rsub");
  return call_slot(slot_sub, a, b, "sub");
}
PyObject* nb_div(PyObject* a, PyObject* b) {
  if (!is_tensor(a) && is_tensor(b) && slot_reciprocal.binding) {
    Scalar s;
    if (!(PyLong_Check(a) || PyFloat_Check(a) || PyComplex_Check(a) || scalar_from(a, s))) Py_RETURN_NOTIMPLEMENTED;
    if (taken_over(b)) {
      Obj f(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), "__rtruediv__"));
      PyObject* swapped[] = {b, a};
      return f ? dispatch_torch_function(f.get(), swapped, 2, nullptr) : nullptr;
    }
    Obj r(PyObject_CallOneArg(slot_reciprocal.method, b));
    return r ? call_slot(slot_mul, r.get(), a, "mul") : nullptr;
  }
  return call_slot(slot_div, a, b, "div");
}
PyObject* nb_pow(PyObject* a, PyObject* b, PyObject* mod) {
  if (mod != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() of tensors takes no modulus");
    return nullptr;
  }
  return call_slot(slot_pow, a, b, "pow");
}
PyObject* nb_ipow(PyObject* a, PyObject* b, PyObject*) { return call_slot(slot_ipow, a, b, "pow_"); }
#define FB_UNARY(name, slot)                                                     \
  PyObject* nb_##name(PyObject* a) {                                             \
    if (!slot.binding) return not_there(#name);                                  \
    return PyObject_CallOneArg(slot.method, a);                                  \
  }
FB_UNARY(neg, slot_neg)
FB_UNARY(abs, slot_abs)
FB_UNARY(invert, slot_invert)
FB_UNARY(positive, slot_positive)
#undef FB_UNARY

PyObject* richcompare(PyObject* a, PyObject* b, int op) {
  const Slot* s[] = {&slot_lt, &slot_le, &slot_eq, &slot_ne, &slot_gt, &slot_ge};
  if (!is_tensor(a) && is_tensor(b)) {
    const int swapped[] = {Py_GT, Py_GE, Py_EQ, Py_NE, Py_LT, Py_LE};
    return richcompare(b, a, swapped[op]);
  }
  return call_slot(*s[op], a, b, "comparison");
}

Scalar item_of(PyObject* o, const char* what) {
  const Tensor& t = unwrap(o);
  if (t.numel() != 1) raise_runtime(what, " of a tensor of shape ", t.sizes(), ": only one element can be converted");
  return op_value<"item">(t).scalar();
}
int nb_bool(PyObject* o) {
  FB_PY_BEGIN
  if (taken_over(o)) [[unlikely]] {
    Obj r(ask_method(o, "__bool__", nullptr, 0, nullptr));
    return r ? PyObject_IsTrue(r.get()) : -1;
  }
  const Tensor& t = unwrap(o);
  if (t.numel() == 0) raise_runtime("the truth value of an empty tensor of shape ", t.sizes(), " is not defined");
  if (t.numel() != 1)
    raise_runtime("the truth value of a tensor of shape ", t.sizes(), " with ", t.numel(), " elements is ambiguous; use any() or all()");
  return item_of(o, "bool()").to_bool();
  FB_PY_END(-1)
}
PyObject* nb_int(PyObject* o) {
  FB_PY_BEGIN
  if (taken_over(o)) [[unlikely]] return ask_method(o, "__int__", nullptr, 0, nullptr);
  const Tensor& t = unwrap(o);
  if (t.numel() != 1) raise_value("int() of a tensor of shape ", t.sizes(), ": only one element can be converted to a Python number");
  const Scalar s = item_of(o, "int()");
  if (s.is_complex()) raise_runtime("int() of a complex tensor");
  if (s.is_floating()) return PyLong_FromDouble(s.to_double());
  return s.is_boolean() ? PyLong_FromLong(s.to_bool()) : wrap_scalar(s);
  FB_PY_END(nullptr)
}
PyObject* nb_float(PyObject* o) {
  FB_PY_BEGIN
  if (taken_over(o)) [[unlikely]] return ask_method(o, "__float__", nullptr, 0, nullptr);
  if (unwrap(o).numel() != 1) raise_value("float() of a tensor of shape ", unwrap(o).sizes(), ": only one element can be converted to a Python number");
  return PyFloat_FromDouble(item_of(o, "float()").to_double());
  FB_PY_END(nullptr)
}
PyObject* nb_index(PyObject* o) {
  FB_PY_BEGIN
  if (taken_over(o)) [[unlikely]] return ask_method(o, "__index__", nullptr, 0, nullptr);
  const Tensor& t = unwrap(o);
  if (t.numel() != 1 || !is_integral(t.dtype(), true))
    raise_type("only an integer tensor of one element can be an index; this one is ", t.dtype(), " of shape ", t.sizes());
  const Scalar s = item_of(o, "index");
  return s.is_boolean() ? PyLong_FromLong(s.to_bool()) : wrap_scalar(s);
  FB_PY_END(nullptr)
}
PyObject* m_complex(PyObject* o, PyObject*) {
  FB_PY_BEGIN
  const cdouble c = item_of(o, "complex()").to_complex();
  return PyComplex_FromDoubles(c.re, c.im);
  FB_PY_END(nullptr)
}
Py_ssize_t tensor_len(PyObject* o) {
  const Tensor& t = unwrap(o);
  if (t.ndim() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return t.sizes()[0];
}
// Iteration through sq_item: unbind is one operator, but PySequence_Fast and min() come this way.
PyObject* sequence_item(PyObject* o, Py_ssize_t i) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  if (t.ndim() == 0) raise_type("iteration over a 0-d tensor");
  FB_CHECK_INDEX(i >= 0 && i < t.sizes()[0], "index ", int64_t(i), " is out of range for dimension 0 of size ", t.sizes()[0]);
  return wrap(op<"select">(t, int64_t(0), int64_t(i)));
  FB_PY_END(nullptr)
}

PyNumberMethods number_slots{};
PySequenceMethods sequence_slots{};
PyMappingMethods mapping_slots{};
PyMethodDef complex_method[] = {{"__complex__", m_complex, METH_NOARGS, nullptr}, {}};

// ---- torch.ops ----
PyObject* py_op_names(PyObject*, PyObject*) {
  PyObject* l = PyList_New(0);
  for (const Packet* p : all_packets()) {
    Obj n(PyUnicode_FromString(p->name.c_str()));
    PyList_Append(l, n.get());
  }
  return l;
}
PyObject* py_op_overloads(PyObject*, PyObject* name) {
  FB_PY_BEGIN
  Packet* p = find_packet(PyUnicode_AsUTF8(name));
  if (!p) Py_RETURN_NONE;
  std::vector<std::string> names;
  {
    const TableRead table;
    for (const OpEntry* e : p->overloads) names.push_back(e->schema.overload.empty() ? "default" : e->schema.overload);
  }
  Obj l(checked(PyList_New(0)));
  for (const std::string& n : names) checked(PyList_Append(l.get(), Obj(checked(PyUnicode_FromString(n.c_str()))).get()));
  return l.release();
  FB_PY_END(nullptr)
}
// _op(name, overload or None, lowering=False): a callable for one overload, or for the whole packet; with `lowering` the
// program over other cards that stands for the overload, None where it has none.
PyObject* py_op(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char *name, *overload = nullptr;
  int lowering = 0;
  if (!PyArg_ParseTuple(args, "s|zp:_op", &name, &overload, &lowering)) return nullptr;
  Packet* p = find_packet(name);
  if (!p) Py_RETURN_NONE;
  if (!overload) {
    std::unique_ptr<Signatures> l = signatures_of(*p);
    l->plain.insert(l->plain.end(), l->with_out.begin(), l->with_out.end());
    return make_own_callable(*p, std::move(l), name);
  }
  const std::string want = strcmp(overload, "default") == 0 ? "" : overload;
  const OpEntry* e = nullptr;
  {
    const TableRead table;
    for (const OpEntry* q : p->overloads)
      if (q->schema.overload == want) {
        e = q;
        break;
      }
  }
  if (!e || (lowering && (e->form != OpForm::functional || !e->card->body || e->card->forms & form::library))) Py_RETURN_NONE;
  auto only = std::make_unique<Signatures>();
  only->plain.push_back(signature_of(*e));
  only->plain.back().take_schema_defaults();
  only->with_out = only->plain;
  PyObject* f = make_own_callable(*p, std::move(only), std::string(name) + "." + overload);
  if (lowering) as(f)->call = op_vectorcall_lowering;
  return f;
  FB_PY_END(nullptr)
}
PyObject* py_op_schema(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char *name, *overload;
  if (!PyArg_ParseTuple(args, "ss", &name, &overload)) return nullptr;
  const std::string full = strcmp(overload, "default") == 0 ? name : std::string(name) + "." + overload;
  const OpEntry* e = find_op(full);
  if (!e) Py_RETURN_NONE;
  return PyUnicode_FromString(("aten::" + e->schema.print()).c_str());
  FB_PY_END(nullptr)
}
// Of what a card says of names (dispatch/registry.cpp), those of other packets, separated by spaces.
std::string other_names(const char* aliases) {
  std::string out, word;
  for (const char* a = aliases; a; ++a) {
    if (*a && *a != ' ') {
      word += *a;
      continue;
    }
    if (!word.empty() && word[0] != '.' && word.compare(0, 2, "_.") != 0) out += (out.empty() ? "" : " ") + word.substr(0, word.find('.'));
    word.clear();
    if (!*a) break;
  }
  return out;
}
// What the registry knows of an overload, for the test sweep.
PyObject* py_op_info(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char* full;
  if (!PyArg_ParseTuple(args, "s", &full)) return nullptr;
  const OpEntry* e = find_op(full);
  if (!e) Py_RETURN_NONE;
  const char* kinds[] = {"composite", "pointwise", "view", "structured", "direct", "lowered"};
  // A kernel without a shape rule of its own makes its results, or gives a number, which depends on the elements.
  const bool reads = (e->schema.tensor_mask | e->schema.list_mask) && !e->schema.writes && e->form == OpForm::functional && !e->schema.returns.empty();
  const ArgType first = reads ? e->schema.returns[0].type : ArgType::tensor;
  const bool tensors = first == ArgType::tensor || first == ArgType::tensors;
  const bool shape_by_kernel = reads && tensors && e->card->kind == CardKind::direct && !e->card->meta && !(e->card->forms & form::library);
  const bool dynamic_shape = reads && shape_depends_on_values(*e);
  const bool data_dependent = reads && !tensors && !(e->card->forms & form::library) && (e->card->kind == CardKind::direct || first == ArgType::scalar);
  const char* forms[] = {"functional", "inplace", "out"};
  Obj types(PyList_New(0));  // those that a pointwise card computes in
  if (const PointwiseCard* p = e->card->pointwise)
    for (int d = 0; d < 32; ++d)
      if (p->types >> d & 1) checked(PyList_Append(types.get(), Obj(wrap_dtype(DType(d))).get()));
  return Py_BuildValue("{s:s,s:s,s:s,s:O,s:i,s:I,s:I,s:s,s:s,s:O,s:O,s:O,s:O}", "kind", e->card->forms & form::library ? "library" : kinds[int(e->card->kind)], "form", forms[int(e->form)],
                       "grad_name", e->grad_name.c_str(), "differentiable", e->card->vjp || e->card->pointwise ? Py_True : Py_False,
                       "kernels", int(e->cpu.size()), "forms", e->card->forms & ~form::shape_of_values, "packet_forms", e->packet->forms & ~form::shape_of_values, "functional",
                       e->functional ? e->functional->schema.full_name().c_str() : "", "aliases", other_names(e->card->aliases).c_str(), "types", types.get(),
                       "shape_by_kernel", shape_by_kernel ? Py_True : Py_False, "dynamic_shape", dynamic_shape ? Py_True : Py_False, "data_dependent", data_dependent ? Py_True : Py_False);
  FB_PY_END(nullptr)
}
// _op_resolve(name, *args, **kwargs): the overload that such a call of the packet takes.
PyObject* py_op_resolve(PyObject*, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  FB_PY_BEGIN
  const Packet* p = n ? find_packet(PyUnicode_AsUTF8(args[0])) : nullptr;
  if (!p) Py_RETURN_NONE;
  ParsedCall c;
  parse_call(binding_of(*p), args + 1, n - 1, kwnames, c);
  return PyUnicode_FromString(c.op->schema.full_name().c_str());
  FB_PY_END(nullptr)
}
PyObject* py_find_callable(PyObject*, PyObject* args) {
  const char *module, *name;
  if (!PyArg_ParseTuple(args, "ss", &module, &name)) return nullptr;
  Obj mod(PyImport_ImportModule(module));
  return mod ? PyObject_GetAttrString(mod.get(), name) : nullptr;
}
PyObject* py_has_torch_function(PyObject*, PyObject* args) {
  PyObject* seq;
  if (!PyArg_ParseTuple(args, "O", &seq)) return nullptr;
  if (function_modes) Py_RETURN_TRUE;
  if (g_function_disabled) Py_RETURN_FALSE;
  Obj t(PySequence_Tuple(seq));
  if (!t) return nullptr;
  return PyBool_FromLong(any_asks(PySequence_Fast_ITEMS(t.get()), PyTuple_GET_SIZE(t.get())));
}
PyObject* py_has_torch_function_each(PyObject*, PyObject* const* args, Py_ssize_t n) {
  if (function_modes) Py_RETURN_TRUE;
  if (g_function_disabled) Py_RETURN_FALSE;
  return PyBool_FromLong(any_asks(args, n));
}
PyObject* py_disable_torch_function(PyObject*, PyObject* on) {
  g_function_disabled += PyObject_IsTrue(on) ? 1 : -1;
  Py_RETURN_NONE;
}
PyObject* py_torch_function_enabled(PyObject*, PyObject*) { return PyBool_FromLong(g_function_disabled == 0); }
PyObject* py_set_disabled(PyObject*, PyObject* f) {
  Py_XSETREF(g_disabled_torch_function, Py_NewRef(f));
  Py_RETURN_NONE;
}
PyObject* py_set_function_modes(PyObject*, PyObject* n) {
  function_modes = int(PyLong_AsLong(n));
  Py_RETURN_NONE;
}
// TensorBase.__torch_function__: runs func with dispatch off; results of subclasses keep the class.
PyObject* default_torch_function(PyObject* cls, PyObject* args) {
  PyObject *func, *types, *a = nullptr, *kw = nullptr;
  if (!PyArg_ParseTuple(args, "OO|OO:__torch_function__", &func, &types, &a, &kw)) return nullptr;
  Obj mod(PyImport_ImportModule("torch._tensor"));
  Obj f(mod ? PyObject_GetAttrString(mod.get(), "_default_torch_function") : nullptr);
  if (!f) return nullptr;
  Obj empty(PyTuple_New(0));
  return PyObject_CallFunctionObjArgs(f.get(), cls, func, types, a ? a : empty.get(), kw ? kw : Py_None, nullptr);
}
PyMethodDef default_torch_function_def = {"__torch_function__", default_torch_function, METH_VARARGS | METH_CLASS, nullptr};

PyMethodDef functions[] = {
    {"_op_names", py_op_names, METH_NOARGS, nullptr},
    {"_op_overloads", py_op_overloads, METH_O, nullptr},
    {"_op", py_op, METH_VARARGS, nullptr},
    {"_op_schema", py_op_schema, METH_VARARGS, nullptr},
    {"_op_info", py_op_info, METH_VARARGS, nullptr},
    {"_op_resolve", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_op_resolve)), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"_find_callable", py_find_callable, METH_VARARGS, nullptr},
    {"_has_torch_function", py_has_torch_function, METH_VARARGS, nullptr},
    {"_has_torch_function_each", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_has_torch_function_each)), METH_FASTCALL, nullptr},
    {"_disable_torch_function", py_disable_torch_function, METH_O, nullptr},
    {"_is_torch_function_enabled", py_torch_function_enabled, METH_NOARGS, nullptr},
    {"_set_function_modes", py_set_function_modes, METH_O, nullptr},
    {"_set_disabled_torch_function", py_set_disabled, METH_O, nullptr},
    {}};

}  // namespace

// Functions run on instances of this class as on plain tensors, unless it has a __torch_function__ other than Tensor's.
int leave_functions_alone(PyTypeObject* type) {
  PyObject* own = PyDict_GetItemWithError(TensorBaseType.tp_dict, s_torch_function);
  if (!own || !g_disabled_torch_function || _PyType_Lookup(type, s_torch_function) != own) return 0;
  return PyObject_SetAttr(reinterpret_cast<PyObject*>(type), s_torch_function, g_disabled_torch_function);
}

bool has_torch_function(PyObject* o) { return !g_function_disabled && asks(o); }

PyObject* wrap_results(const OpEntry& op, Results& r) {
  if (op.card->forms & form::library) [[unlikely]]
    if (PyObject* mixed = python_results(op, r)) return mixed;
  if (r.value.tag != Tag::none || (r.size() == 0 && !r.is_list)) {
    if (op.schema.returns.empty()) Py_RETURN_NONE;
    if (r.value.tag == Tag::integer) return shown_number(r.value.i);
    if (r.value.tag == Tag::floating) return shown_number(r.value.d);
    return wrap_value(r.value);
  }
  if (r.is_list) {
    PyObject* t = PyTuple_New(r.size());
    for (int i = 0; i < r.size(); ++i) PyTuple_SET_ITEM(t, i, checked(wrap(std::move(r[i]))));
    return t;
  }
  if (r.size() == 1) return wrap(std::move(r[0]));
  bool named = true;
  for (auto& q : op.schema.returns) named = named && !q.name.empty();
  if (named) {
    PyObject* t = PyStructSequence_New(reinterpret_cast<PyTypeObject*>(structseq_type(op)));
    for (int i = 0; i < r.size(); ++i) PyStructSequence_SET_ITEM(t, i, checked(wrap(std::move(r[i]))));
    return t;
  }
  PyObject* t = PyTuple_New(r.size());
  for (int i = 0; i < r.size(); ++i) PyTuple_SET_ITEM(t, i, checked(wrap(std::move(r[i]))));
  return t;
}

PyObject* wrap_schema_results(const OpEntry& op, Results& r) {
  if (!r.is_list && (r.value.tag != Tag::none || r.size() < 2)) return wrap_results(op, r);
  if (op.card->forms & form::library) [[unlikely]]
    if (PyObject* mixed = python_results(op, r)) return mixed;
  Obj t(checked(r.is_list ? PyList_New(r.size()) : PyTuple_New(r.size())));
  for (int i = 0; i < r.size(); ++i) {
    PyObject* x = checked(wrap(std::move(r[i])));
    if (r.is_list) PyList_SET_ITEM(t.get(), i, x);
    else PyTuple_SET_ITEM(t.get(), i, x);
  }
  return t.release();
}

// What a class or mode is asked for an accessor of Tensor: func is Tensor.NAME.__get__, __set__ or __delete__.
PyObject* ask_accessor(PyObject* o, const char* name, const char* accessor, PyObject* value) {
  Obj descriptor(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&TensorBaseType), name));
  Obj func(descriptor ? PyObject_GetAttrString(descriptor.get(), accessor) : nullptr);
  if (!func) return nullptr;
  PyObject* args[] = {o, value};
  return dispatch_torch_function(func.get(), args, value ? 2 : 1, nullptr);
}
PyObject* ask_method(PyObject* o, const char* name, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  Obj func(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), name));
  if (!func) return nullptr;
  std::vector<PyObject*> all{o};
  all.insert(all.end(), args, args + n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  return dispatch_torch_function(func.get(), all.data(), n + 1, kwnames);
}
PyObject* ask_method(PyObject* o, const char* name, PyObject* args, PyObject* kw) {
  Obj func(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), name));
  if (!func) return nullptr;
  std::vector<PyObject*> all{o};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) all.push_back(PyTuple_GET_ITEM(args, i));
  const Py_ssize_t n = Py_ssize_t(all.size());
  Obj names(PyTuple_New(kw ? PyDict_Size(kw) : 0));
  Py_ssize_t at = 0;
  PyObject *key, *value;
  for (Py_ssize_t i = 0; kw && PyDict_Next(kw, &at, &key, &value); ++i) {
    PyTuple_SET_ITEM(names.get(), i, Py_NewRef(key));
    all.push_back(value);
  }
  return dispatch_torch_function(func.get(), all.data(), n, names.get());
}

PyObject* ask_modes(PyObject* fn, PyObject* args, PyObject* kw) {
  Obj mod(PyImport_ImportModule("torch._torch_function"));
  Obj ask(mod ? PyObject_GetAttrString(mod.get(), "ask_modes") : nullptr);
  Obj none(kw ? nullptr : PyDict_New());
  return ask ? PyObject_CallFunctionObjArgs(ask.get(), fn, args, kw ? kw : none.get(), nullptr) : nullptr;
}

PyObject* dispatch_torch_function(PyObject* fn, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  // torch/_torch_function.py orders the overloaded arguments and calls them; it is the slow road by nature.
  Obj mod(PyImport_ImportModule("torch._torch_function"));
  Obj handle(mod ? PyObject_GetAttrString(mod.get(), "dispatch") : nullptr);
  if (!handle) return nullptr;
  Obj a(PyTuple_New(nargs));
  for (Py_ssize_t i = 0; i < nargs; ++i) PyTuple_SET_ITEM(a.get(), i, Py_NewRef(args[i]));
  Obj kw(PyDict_New());
  if (kwnames)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k) PyDict_SetItem(kw.get(), PyTuple_GET_ITEM(kwnames, k), args[nargs + k]);
  return PyObject_CallFunctionObjArgs(handle.get(), fn, a.get(), kw.get(), nullptr);
}

void finish_tensor(PyObject* m);  // tensor_object.cpp

void init_ops(PyObject* m) {
  s_torch_function = PyUnicode_InternFromString("__torch_function__");
  auto ready = [&](PyTypeObject& t, const char* name) {
    t.tp_name = name;
    t.tp_basicsize = sizeof(OpCallable);
    t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
    t.tp_call = PyVectorcall_Call;
    t.tp_vectorcall_offset = offsetof(OpCallable, call);
    t.tp_dictoffset = offsetof(OpCallable, dict);
    t.tp_dealloc = drop_callable;
    t.tp_repr = op_repr;
    t.tp_getset = op_props;
    t.tp_methods = op_methods;
  };
  ready(OpFunctionType, "builtin_function_or_method");
  ready(OpMethodType, "method_descriptor");
  OpMethodType.tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
  OpMethodType.tp_descr_get = op_descr_get;
  checked(PyType_Ready(&OpFunctionType));
  checked(PyType_Ready(&OpMethodType));
  checked(PyModule_AddObjectRef(m, "_OpFunction", reinterpret_cast<PyObject*>(&OpFunctionType)));
  checked(PyModule_AddObjectRef(m, "_OpMethod", reinterpret_cast<PyObject*>(&OpMethodType)));

  PyNumberMethods& n = number_slots;
  n.nb_add = nb_add; n.nb_subtract = nb_sub; n.nb_multiply = nb_mul; n.nb_true_divide = nb_div; n.nb_floor_divide = nb_floordiv;
  n.nb_remainder = nb_mod; n.nb_power = nb_pow; n.nb_matrix_multiply = nb_matmul; n.nb_and = nb_and; n.nb_or = nb_or; n.nb_xor = nb_xor;
  n.nb_lshift = nb_lshift; n.nb_rshift = nb_rshift; n.nb_inplace_add = nb_iadd; n.nb_inplace_subtract = nb_isub;
  n.nb_inplace_multiply = nb_imul; n.nb_inplace_true_divide = nb_idiv; n.nb_inplace_floor_divide = nb_ifloordiv;
  n.nb_inplace_remainder = nb_imod; n.nb_inplace_power = nb_ipow; n.nb_inplace_and = nb_iand; n.nb_inplace_or = nb_ior;
  n.nb_inplace_xor = nb_ixor; n.nb_inplace_lshift = nb_ilshift; n.nb_inplace_rshift = nb_irshift; n.nb_negative = nb_neg;
  n.nb_positive = nb_positive; n.nb_absolute = nb_abs; n.nb_invert = nb_invert; n.nb_bool = nb_bool; n.nb_int = nb_int;
  n.nb_float = nb_float; n.nb_index = nb_index;
  sequence_slots.sq_length = tensor_len;
  sequence_slots.sq_item = sequence_item;
  mapping_slots.mp_length = tensor_len;
  mapping_slots.mp_subscript = tensor_getitem;
  mapping_slots.mp_ass_subscript = [](PyObject* o, PyObject* i, PyObject* v) { return tensor_setitem(o, i, v); };
  TensorBaseType.tp_as_number = &number_slots;
  TensorBaseType.tp_as_sequence = &sequence_slots;
  TensorBaseType.tp_as_mapping = &mapping_slots;
  TensorBaseType.tp_richcompare = richcompare;
  finish_tensor(m);

  PyObject* dict = TensorBaseType.tp_dict;
  Obj cm(PyDescr_NewMethod(&TensorBaseType, complex_method));
  PyDict_SetItemString(dict, "__complex__", cm.get());
  Obj tf(PyDescr_NewClassMethod(&TensorBaseType, &default_torch_function_def));
  PyDict_SetItemString(dict, "__torch_function__", tf.get());

  auto submodule = [&](const char* name) {
    PyObject* s = checked(PyModule_New((std::string("torch._C.") + name).c_str()));
    checked(PyModule_AddObjectRef(m, name, s));
    return s;
  };
  PyObject *vf = submodule("_VariableFunctions"), *nn = submodule("_nn"), *special = submodule("_special"), *linalg = submodule("_linalg"),
           *fft = submodule("_fft");
  for (const Packet* p : all_packets()) {
    if (p->forms & form::hidden && !(p->forms & (form::fn | form::method | form::nn))) continue;
    const Binding* b = nullptr;
    auto bind = [&]() { return b ? b : b = &binding_of(*p); };
    auto put = [&](PyObject* mod, const std::string& name, const char* module) {
      Obj f(make_callable(&OpFunctionType, bind(), name, module));
      checked(PyObject_SetAttrString(mod, name.c_str(), f.get()));
    };
    const std::string& name = p->name;
    auto starts = [&](const char* s) { return name.rfind(s, 0) == 0; };
    if (starts("special_")) put(special, name.substr(8), "torch.special");
    else if (starts("linalg_")) put(linalg, name.substr(7), "torch.linalg");
    else if (starts("fft_")) put(fft, name.substr(4), "torch.fft");
    else {
      if (p->forms & form::fn) put(vf, name, "torch");
      if (p->forms & form::nn) put(nn, name, "torch._C._nn");
      if (p->forms & form::method) {
        if (PyDict_GetItemString(dict, name.c_str()) && name.rfind("__", 0) != 0) continue;
        Obj f(make_callable(&OpMethodType, bind(), name, "torch"));
        if (self_comes_later(*p)) as(f.get())->call = op_vectorcall_by_self;
        PyDict_SetItemString(dict, name.c_str(), f.get());
      }
    }
  }
  PyType_Modified(&TensorBaseType);
  find_slot(slot_add, "add", "add.Tensor"); find_slot(slot_sub, "sub", "sub.Tensor"); find_slot(slot_mul, "mul", "mul.Tensor");
  find_slot(slot_div, "div", "div.Tensor"); find_slot(slot_floordiv, "floor_divide", "floor_divide"); find_slot(slot_mod, "remainder", "remainder.Tensor");
  find_slot(slot_pow, "pow", "pow.Tensor_Tensor"); find_slot(slot_matmul, "matmul", "matmul"); find_slot(slot_and, "bitwise_and", "bitwise_and.Tensor");
  find_slot(slot_or, "bitwise_or", "bitwise_or.Tensor"); find_slot(slot_xor, "bitwise_xor", "bitwise_xor.Tensor");
  find_slot(slot_lshift, "bitwise_left_shift", "bitwise_left_shift.Tensor"); find_slot(slot_rshift, "bitwise_right_shift", "bitwise_right_shift.Tensor");
  find_slot(slot_iadd, "add_", "add_.Tensor"); find_slot(slot_isub, "sub_", "sub_.Tensor"); find_slot(slot_imul, "mul_", "mul_.Tensor");
  find_slot(slot_idiv, "div_", "div_.Tensor"); find_slot(slot_ifloordiv, "floor_divide_", "floor_divide_.Tensor"); find_slot(slot_imod, "remainder_", "remainder_.Tensor");
  find_slot(slot_ipow, "pow_", "pow_.Tensor"); find_slot(slot_iand, "bitwise_and_", "bitwise_and_.Tensor"); find_slot(slot_ior, "bitwise_or_", "bitwise_or_.Tensor");
  find_slot(slot_ixor, "bitwise_xor_", "bitwise_xor_.Tensor"); find_slot(slot_ilshift, "bitwise_left_shift_", "bitwise_left_shift_.Tensor");
  find_slot(slot_irshift, "bitwise_right_shift_", "bitwise_right_shift_.Tensor"); find_slot(slot_neg, "neg", "neg"); find_slot(slot_abs, "abs", "abs");
  find_slot(slot_invert, "bitwise_not", "bitwise_not"); find_slot(slot_positive, "positive", "positive"); find_slot(slot_eq, "eq", "eq.Tensor");
  find_slot(slot_ne, "ne", "ne.Tensor"); find_slot(slot_lt, "lt", "lt.Tensor"); find_slot(slot_le, "le", "le.Tensor"); find_slot(slot_gt, "gt", "gt.Tensor");
  find_slot(slot_ge, "ge", "ge.Tensor"); find_slot(slot_rsub, "rsub", "rsub.Tensor"); find_slot(slot_reciprocal, "reciprocal", "reciprocal");
  checked(PyModule_AddFunctions(m, functions));
}

}  // namespace fb::py
