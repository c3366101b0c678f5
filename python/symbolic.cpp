// Symbolic sizes as Python sees them: ShapeEnv, SymInt, tensors with such sizes, and the shape rules of operators on them.
#include "dispatch/symbolic.h"

#include "python/dispatch_mode.h"
#include "python/symbolic.h"

namespace fb::py {

bool enum_value(PyObject* o, PyTypeObject* t, int& v);  // types.cpp

constinit thread_local CallFromPython call_from_python;
bool codes_are_in_use = false;

namespace {

PyTypeObject* g_number_types[3] = {};  // torch.SymInt, SymFloat, SymBool
PyObject* g_decoder = nullptr;         // (number) -> what stands behind that code, or the number; null where no codes are in use
PyObject* g_check = nullptr;           // see check_at_example
PyObject *s_code, *s_value;            // "_code", "_value"

// _set_symbolic_numbers(SymInt, SymFloat, SymBool)
PyObject* py_set_numbers(PyObject*, PyObject* args) {
  PyObject* t[3];
  if (!PyArg_ParseTuple(args, "O!O!O!:_set_symbolic_numbers", &PyType_Type, &t[0], &PyType_Type, &t[1], &PyType_Type, &t[2])) return nullptr;
  for (int i = 0; i < 3; ++i) g_number_types[i] = reinterpret_cast<PyTypeObject*>(Py_NewRef(t[i]));
  Py_RETURN_NONE;
}
// _set_symbolic_decoder(decode or None, check or None)
PyObject* py_set_decoder(PyObject*, PyObject* args) {
  PyObject *decode, *check;
  if (!PyArg_ParseTuple(args, "OO:_set_symbolic_decoder", &decode, &check)) return nullptr;
  Py_XSETREF(g_decoder, decode == Py_None ? nullptr : Py_NewRef(decode));
  Py_XSETREF(g_check, check == Py_None ? nullptr : Py_NewRef(check));
  codes_are_in_use = g_check != nullptr;
  Py_RETURN_NONE;
}

struct PyShapeEnv {
  PyObject_HEAD
  ShapeEnv* env;
};
struct PySymInt {
  PyObject_HEAD
  PyObject* owner;  // the ShapeEnv
  SymInt value;
};
struct PySymTensor {
  PyObject_HEAD
  PyObject* owner;
  SymTensor* tensor;
};
PyTypeObject EnvType{PyVarObject_HEAD_INIT(nullptr, 0)}, SymIntType{PyVarObject_HEAD_INIT(nullptr, 0)}, SymTensorType{PyVarObject_HEAD_INIT(nullptr, 0)};

PySymInt& sym(PyObject* o) { return *reinterpret_cast<PySymInt*>(o); }
bool is_sym(PyObject* o) { return PyObject_TypeCheck(o, &SymIntType); }
bool is_sym_tensor(PyObject* o) { return PyObject_TypeCheck(o, &SymTensorType); }

PyObject* wrap_sym(const SymInt& v, PyObject* owner) {
  if (v.is_constant()) return PyLong_FromLongLong(v.hint());
  auto* o = PyObject_New(PySymInt, &SymIntType);
  if (!o) throw PythonErrorSet{};
  o->owner = Py_NewRef(owner);
  new (&o->value) SymInt(v);
  return reinterpret_cast<PyObject*>(o);
}
PyObject* wrap_syms(SymInts l, PyObject* owner) {
  Obj t(PyTuple_New(l.n));
  for (int64_t i = 0; i < l.n; ++i) PyTuple_SET_ITEM(t.get(), i, checked(wrap_sym(l[i], owner)));
  return t.release();
}
SymInt sym_from(PyObject* o, const char* what) {
  if (is_sym(o)) return sym(o).value;
  if (!PyIndex_Check(o)) raise_type(what, " must be an int or a SymInt, not ", Py_TYPE(o)->tp_name);
  const long long v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return SymInt(int64_t(v));
}
SymDims syms_from(PyObject* o, const char* what) {
  Obj f(checked(PySequence_Fast(o, "expected a sequence of ints")));
  SymDims d;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(f.get()); ++i) d.push_back(sym_from(PySequence_Fast_GET_ITEM(f.get(), i), what));
  return d;
}

// ---- ShapeEnv ----
PyObject* env_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<PyShapeEnv*>(o)->env = new ShapeEnv;
  return o;
}
void env_dealloc(PyObject* o) {
  delete reinterpret_cast<PyShapeEnv*>(o)->env;
  Py_TYPE(o)->tp_free(o);
}
PyObject* env_symbol(PyObject* o, PyObject* args) {
  FB_PY_BEGIN
  const char* name;
  long long hint, least = 2;
  if (!PyArg_ParseTuple(args, "sL|L:symbol", &name, &hint, &least)) return nullptr;
  return wrap_sym(reinterpret_cast<PyShapeEnv*>(o)->env->symbol(name, hint, least), o);
  FB_PY_END(nullptr)
}
PyObject* env_guards(PyObject* o, void*) {
  FB_PY_BEGIN
  Obj l(PyList_New(0));
  for (const std::string& g : reinterpret_cast<PyShapeEnv*>(o)->env->guards()) checked(PyList_Append(l.get(), Obj(PyUnicode_FromString(g.c_str())).get()));
  return l.release();
  FB_PY_END(nullptr)
}
PyMethodDef env_methods[] = {{"symbol", env_symbol, METH_VARARGS, "symbol(name, hint, least=2) -> SymInt; an int where hint < least"}, {}};
PyGetSetDef env_props[] = {{"guards", env_guards, nullptr, "What decisions rested on, as Python expressions of the symbols.", nullptr}, {}};

// ---- SymInt ----
void sym_dealloc(PyObject* o) {
  Py_CLEAR(sym(o).owner);
  PyObject_Free(o);
}
PyObject* sym_repr(PyObject* o) {
  FB_PY_BEGIN
  return PyUnicode_FromString(text(sym(o).value).c_str());
  FB_PY_END(nullptr)
}
template <class F> PyObject* binary(PyObject* a, PyObject* b, F f) {
  if ((!is_sym(a) && !PyLong_Check(a)) || (!is_sym(b) && !PyLong_Check(b))) Py_RETURN_NOTIMPLEMENTED;
  FB_PY_BEGIN
  PyObject* owner = is_sym(a) ? sym(a).owner : sym(b).owner;
  return wrap_sym(f(sym_from(a, "an operand"), sym_from(b, "an operand")), owner);
  FB_PY_END(nullptr)
}
PyObject* sym_add(PyObject* a, PyObject* b) { return binary(a, b, [](const SymInt& x, const SymInt& y) { return x + y; }); }
PyObject* sym_sub(PyObject* a, PyObject* b) { return binary(a, b, [](const SymInt& x, const SymInt& y) { return x - y; }); }
PyObject* sym_mul(PyObject* a, PyObject* b) { return binary(a, b, [](const SymInt& x, const SymInt& y) { return x * y; }); }
PyObject* sym_div(PyObject* a, PyObject* b) { return binary(a, b, [](const SymInt& x, const SymInt& y) { return x / y; }); }
PyObject* sym_mod(PyObject* a, PyObject* b) { return binary(a, b, [](const SymInt& x, const SymInt& y) { return x % y; }); }
PyObject* sym_neg(PyObject* a) {
  FB_PY_BEGIN
  return wrap_sym(-sym(a).value, sym(a).owner);
  FB_PY_END(nullptr)
}
PyObject* sym_compare(PyObject* a, PyObject* b, int op) {
  if (!is_sym(b) && !PyLong_Check(b)) Py_RETURN_NOTIMPLEMENTED;
  FB_PY_BEGIN
  const SymInt x = sym(a).value, y = sym_from(b, "an operand");
  bool r = false;
  switch (op) {
    case Py_EQ: r = x == y; break;
    case Py_NE: r = x != y; break;
    case Py_LT: r = x < y; break;
    case Py_LE: r = x <= y; break;
    case Py_GT: r = x > y; break;
    case Py_GE: r = x >= y; break;
  }
  return PyBool_FromLong(r);
  FB_PY_END(nullptr)
}
int sym_bool(PyObject* o) { return sym(o).value == SymInt(0) ? 0 : 1; }
PyObject* sym_int(PyObject* o) { return PyLong_FromLongLong(sym(o).value.specialized()); }
PyObject* sym_hint(PyObject* o, void*) { return PyLong_FromLongLong(sym(o).value.hint()); }
PyNumberMethods sym_number{};
PyGetSetDef sym_props[] = {{"hint", sym_hint, nullptr, "The value in the example.", nullptr}, {}};

// ---- tensors ----
PyObject* wrap_sym_tensor(const SymTensor& t, PyObject* owner) {
  auto* o = PyObject_New(PySymTensor, &SymTensorType);
  if (!o) throw PythonErrorSet{};
  o->owner = Py_NewRef(owner);
  o->tensor = new SymTensor(t);
  return reinterpret_cast<PyObject*>(o);
}
const SymTensor& tensor_of(PyObject* o) { return *reinterpret_cast<PySymTensor*>(o)->tensor; }
void tensor_dealloc(PyObject* o) {
  delete reinterpret_cast<PySymTensor*>(o)->tensor;
  Py_CLEAR(reinterpret_cast<PySymTensor*>(o)->owner);
  PyObject_Free(o);
}
PyObject* tensor_shape(PyObject* o, void*) { return wrap_syms(tensor_of(o).sizes(), reinterpret_cast<PySymTensor*>(o)->owner); }
PyObject* tensor_strides(PyObject* o, void*) { return wrap_syms(tensor_of(o).strides(), reinterpret_cast<PySymTensor*>(o)->owner); }
PyObject* tensor_offset(PyObject* o, void*) { return wrap_sym(tensor_of(o).offset(), reinterpret_cast<PySymTensor*>(o)->owner); }
PyObject* tensor_dtype(PyObject* o, void*) { return wrap_dtype(tensor_of(o).dtype()); }
PyObject* tensor_repr(PyObject* o) {
  FB_PY_BEGIN
  const SymTensor& t = tensor_of(o);
  return PyUnicode_FromString(text("SymbolicTensor(size=", t.sizes(), ", stride=", t.strides(), ", dtype=", t.dtype(), ")").c_str());
  FB_PY_END(nullptr)
}
PyGetSetDef tensor_props[] = {{"shape", tensor_shape, nullptr, nullptr, nullptr}, {"strides", tensor_strides, nullptr, nullptr, nullptr},
                              {"storage_offset", tensor_offset, nullptr, nullptr, nullptr}, {"dtype", tensor_dtype, nullptr, nullptr, nullptr}, {}};

// _symbolic_tensor(env, sizes, strides=None, dtype=float32)
PyObject* py_tensor(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *env, *sizes, *strides = Py_None, *dtype = nullptr;
  if (!PyArg_ParseTuple(args, "O!O|OO:_symbolic_tensor", &EnvType, &env, &sizes, &strides, &dtype)) return nullptr;
  Options o;
  o.device = Device{DeviceType::meta, -1};
  if (dtype && !dtype_from(dtype, o.dtype)) raise_type("_symbolic_tensor: dtype must be a torch.dtype, not ", Py_TYPE(dtype)->tp_name);
  const SymDims s = syms_from(sizes, "a size");
  if (strides == Py_None) return wrap_sym_tensor(SymTensor::empty(s, o), env);
  const SymDims st = syms_from(strides, "a stride");
  FB_CHECK(st.size() == s.size(), "_symbolic_tensor: ", s.size(), " sizes and ", st.size(), " strides were given");
  return wrap_sym_tensor(SymTensor::empty_strided(s, st, o), env);
  FB_PY_END(nullptr)
}

// What plain values of a call point to.
struct Kept {
  std::vector<std::unique_ptr<std::vector<double>>> doubles;
  std::vector<std::unique_ptr<bool[]>> bools;
};

SymValue value_from(PyObject* o, const ArgSpec& a, PyObject*& owner, Kept& kept) {
  if (o == Py_None) return SymValue();
  if (is_sym_tensor(o)) {
    owner = reinterpret_cast<PySymTensor*>(o)->owner;
    return SymValue(tensor_of(o));
  }
  switch (a.type) {
    case ArgType::tensors: case ArgType::optional_tensors: {
      Obj f(checked(PySequence_Fast(o, "expected a sequence of tensors")));
      std::vector<SymTensor> l;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(f.get()); ++i) {
        PyObject* x = PySequence_Fast_GET_ITEM(f.get(), i);
        if (x == Py_None) l.emplace_back();
        else if (is_sym_tensor(x)) {
          owner = reinterpret_cast<PySymTensor*>(x)->owner;
          l.push_back(tensor_of(x));
        } else raise_type("_symbolic_meta: '", a.name, "' takes symbolic tensors, not ", Py_TYPE(x)->tp_name);
      }
      return SymValue(std::move(l));
    }
    case ArgType::integer: return SymValue(sym_from(o, a.name.c_str()));
    case ArgType::ints:
      if (PyLong_Check(o) || is_sym(o)) {
        SymDims d(a.list_size > 0 ? a.list_size : 1, sym_from(o, a.name.c_str()));
        return SymValue(d.span());
      }
      return SymValue(syms_from(o, a.name.c_str()).span());
    case ArgType::floating: return SymValue(Value(PyFloat_AsDouble(o)));
    case ArgType::boolean: return SymValue(Value(PyObject_IsTrue(o) == 1));
    case ArgType::scalar: {
      Scalar s;
      if (!scalar_from(o, s)) raise_type("_symbolic_meta: '", a.name, "' must be a number, not ", Py_TYPE(o)->tp_name);
      return SymValue(Value(s));
    }
    case ArgType::tensor: {  // a number in a tensor's place
      Scalar s;
      if (scalar_from(o, s)) return SymValue(Value(s));
      raise_type("_symbolic_meta: '", a.name, "' must be a symbolic tensor, not ", Py_TYPE(o)->tp_name);
    }
    case ArgType::string: return SymValue(Value(std::string_view(PyUnicode_AsUTF8(o))));
    case ArgType::dtype: {
      DType d;
      if (!dtype_from(o, d)) raise_type("_symbolic_meta: '", a.name, "' must be a torch.dtype");
      return SymValue(Value(d));
    }
    case ArgType::bools: {
      Obj f(checked(PySequence_Fast(o, "expected a sequence of bools")));
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(f.get());
      kept.bools.push_back(std::make_unique<bool[]>(size_t(n) + 1));
      for (Py_ssize_t i = 0; i < n; ++i) kept.bools.back()[size_t(i)] = PyObject_IsTrue(PySequence_Fast_GET_ITEM(f.get(), i)) == 1;
      return SymValue(Value(Span<bool>(kept.bools.back().get(), n)));
    }
    case ArgType::device: {
      Device d;
      if (!device_from(o, d)) raise_type("_symbolic_meta: '", a.name, "' must be a torch.device");
      return SymValue(Value(d));
    }
    case ArgType::layout: case ArgType::memory_format: {
      int v;
      if (!enum_value(o, a.type == ArgType::layout ? &LayoutType : &MemoryFormatType, v)) raise_type("_symbolic_meta: '", a.name, "' is a ", Py_TYPE(o)->tp_name);
      return SymValue(a.type == ArgType::layout ? Value(Layout(v)) : Value(MemoryFormat(v)));
    }
    case ArgType::generator: return SymValue(Value(generator_from(o)));
    case ArgType::doubles: {
      Obj f(checked(PySequence_Fast(o, "expected a sequence of floats")));
      kept.doubles.push_back(std::make_unique<std::vector<double>>());
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(f.get()); ++i) kept.doubles.back()->push_back(PyFloat_AsDouble(PySequence_Fast_GET_ITEM(f.get(), i)));
      return SymValue(Value(Span<double>(kept.doubles.back()->data(), int64_t(kept.doubles.back()->size()))));
    }
    default: raise_not_implemented("_symbolic_meta: argument '", a.name, "' of this kind");
  }
}

// _symbolic_meta("mm", *args): "packet.overload", or the default overload, positional arguments in schema order.
PyObject* py_meta(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const Py_ssize_t n = PyTuple_GET_SIZE(args) - 1;
  const char* name = n < 0 ? nullptr : PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, 0));
  if (!name) raise_type("_symbolic_meta takes the name of an operator and its arguments");
  const OpEntry* op = find_op(name);
  if (!op) raise_not_implemented("_symbolic_meta: there is no operator ", name);
  FB_CHECK(n <= Py_ssize_t(op->schema.args.size()), "_symbolic_meta: ", op->schema.print(), " was given ", int64_t(n), " arguments");
  std::vector<SymValue> v;
  Kept kept;
  PyObject* owner = nullptr;
  for (size_t i = 0; i < op->schema.args.size(); ++i) {
    if (Py_ssize_t(i) < n) v.push_back(value_from(PyTuple_GET_ITEM(args, Py_ssize_t(i) + 1), op->schema.args[i], owner, kept));
    else v.emplace_back(op->schema.args[i].default_value);
  }
  if (!owner) raise_type("_symbolic_meta: no argument of ", name, " is a symbolic tensor");
  const SymResults r = symbolic_meta(*op, v.data());
  if (r.size() == 1 && op->schema.returns.size() == 1 && op->schema.returns[0].type == ArgType::tensor) return wrap_sym_tensor(r[0], owner);
  Obj t(PyTuple_New(Py_ssize_t(r.size())));
  for (size_t i = 0; i < r.size(); ++i) PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), r[i].defined() ? wrap_sym_tensor(r[i], owner) : Py_NewRef(Py_None));
  return t.release();
  FB_PY_END(nullptr)
}
// _called_from_python(): the name of the operator that Python called last on this thread, None where it was none.
PyObject* py_called(PyObject*, PyObject*) {
  if (!call_from_python.op) Py_RETURN_NONE;
  return PyUnicode_FromString(call_from_python.op->schema.full_name().c_str());
}
PyObject* py_has(PyObject*, PyObject* name) {
  FB_PY_BEGIN
  const char* s = PyUnicode_AsUTF8(name);
  if (!s) return nullptr;
  const OpEntry* op = find_op(s);
  return PyBool_FromLong(op && has_symbolic_rule(*op));
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {{"_symbolic_tensor", py_tensor, METH_VARARGS, "_symbolic_tensor(env, sizes, strides=None, dtype=torch.float32)"},
                           {"_symbolic_meta", py_meta, METH_VARARGS, "_symbolic_meta(name, *args): the results' sizes, strides and types."},
                           {"_set_symbolic_numbers", py_set_numbers, METH_VARARGS, nullptr},
                           {"_set_symbolic_decoder", py_set_decoder, METH_VARARGS, nullptr},
                           {"_called_from_python", py_called, METH_NOARGS, nullptr},
                           {"_has_symbolic_rule", py_has, METH_O, "_has_symbolic_rule(name) -> bool"},
                           {}};

}  // namespace

bool is_symbolic_number(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  return t == g_number_types[0] || t == g_number_types[1] || t == g_number_types[2];
}
PyObject* plain_number_of(PyObject* o) {
  const bool coded = mode_active() || call_from_python.on_python_tensors;
  return checked(PyObject_CallMethodNoArgs(o, coded ? s_code : s_value));
}
PyObject* check_at_example(PyObject* overload, PyObject* args, PyObject* kwargs, PyObject* result, PyObject* error) {
  const Obj check = Obj::borrow(g_check);  // the last environment may have gone while the call ran
  if (!check) return Py_NewRef(Py_NotImplemented);
  return checked(PyObject_CallFunctionObjArgs(check.get(), overload, args, kwargs, result, error, nullptr));
}
static thread_local PyObject* shown_with = nullptr;
ShownWith::ShownWith(PyObject* tensor) : before(shown_with) { shown_with = tensor; }
ShownWith::~ShownWith() { shown_with = before; }
static PyObject* decoded(Obj n) {
  const Obj decoder = Obj::borrow(g_decoder);
  return PyObject_CallFunctionObjArgs(decoder.get(), n.get(), shown_with ? shown_with : Py_None, nullptr);
}
PyObject* shown_number(int64_t v) {
  if (!g_decoder || !CallFromPython::may_be_code(v) || v == INT64_MAX || call_from_python.has_written(v)) return PyLong_FromLongLong(v);
  return decoded(Obj(PyLong_FromLongLong(v)));
}
PyObject* shown_number(double v) {
  Obj n(PyFloat_FromDouble(v));
  return g_decoder ? decoded(std::move(n)) : n.release();
}

PyObject* item_shown(PyObject* tensor) {
  static const OpEntry* const item = find_op("item");
  call_from_python.begin();
  call_from_python.op = item;
  call_from_python.on_python_tensors = true;
  const Value v = op_value<"item">(unwrap(tensor));
  const ShownWith with(tensor);
  return v.tag == Tag::integer ? shown_number(v.i) : v.tag == Tag::floating ? shown_number(v.d) : wrap_value(v);
}

void init_symbolic(PyObject* m) {
  s_code = PyUnicode_InternFromString("_code");
  s_value = PyUnicode_InternFromString("_value");
  EnvType.tp_name = "torch._C.ShapeEnv";
  EnvType.tp_basicsize = sizeof(PyShapeEnv);
  EnvType.tp_flags = Py_TPFLAGS_DEFAULT;
  EnvType.tp_new = env_new;
  EnvType.tp_dealloc = env_dealloc;
  EnvType.tp_methods = env_methods;
  EnvType.tp_getset = env_props;
  EnvType.tp_doc = "Symbols for sizes, and the guards that decisions about them rested on.";
  sym_number.nb_add = sym_add;
  sym_number.nb_subtract = sym_sub;
  sym_number.nb_multiply = sym_mul;
  sym_number.nb_floor_divide = sym_div;
  sym_number.nb_remainder = sym_mod;
  sym_number.nb_negative = sym_neg;
  sym_number.nb_bool = sym_bool;
  sym_number.nb_int = sym_int;
  sym_number.nb_index = sym_int;
  SymIntType.tp_name = "torch._C.SymInt";
  SymIntType.tp_basicsize = sizeof(PySymInt);
  SymIntType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  SymIntType.tp_dealloc = sym_dealloc;
  SymIntType.tp_repr = sym_repr;
  SymIntType.tp_richcompare = sym_compare;
  SymIntType.tp_hash = PyObject_HashNotImplemented;
  SymIntType.tp_as_number = &sym_number;
  SymIntType.tp_getset = sym_props;
  SymIntType.tp_doc = "An integer that is an expression over symbols. A comparison that the expression does not decide goes by "
                      "the example's value and leaves a guard; int() keeps that value, with a guard.";
  SymTensorType.tp_name = "torch._C.SymbolicTensor";
  SymTensorType.tp_basicsize = sizeof(PySymTensor);
  SymTensorType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  SymTensorType.tp_dealloc = tensor_dealloc;
  SymTensorType.tp_repr = tensor_repr;
  SymTensorType.tp_getset = tensor_props;
  for (PyTypeObject* t : {&EnvType, &SymIntType, &SymTensorType}) checked(PyType_Ready(t));
  checked(PyModule_AddObjectRef(m, "ShapeEnv", reinterpret_cast<PyObject*>(&EnvType)));
  checked(PyModule_AddObjectRef(m, "SymInt", reinterpret_cast<PyObject*>(&SymIntType)));
  checked(PyModule_AddFunctions(m, functions));
}

}  // namespace fb::py
