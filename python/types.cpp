// dtype, device, layout, memory_format and Size as Python sees them.
#include "python/symbolic.h"

namespace fb::py {
namespace {

struct PyDType { PyObject_HEAD DType d; };
struct PyDevice { PyObject_HEAD Device d; };
struct PyEnum { PyObject_HEAD int v; const char* name; };

PyObject* g_dtypes[32];
PyObject* g_layouts[8];
PyObject* g_formats[4];

PyObject* dtype_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", dtype_name(reinterpret_cast<PyDType*>(o)->d)); }
PyObject* dtype_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(dtype_name(reinterpret_cast<PyDType*>(o)->d)); }
PyObject* dtype_to_real(PyObject* o, PyObject*) { return wrap_dtype(to_real(reinterpret_cast<PyDType*>(o)->d)); }
PyObject* dtype_to_complex(PyObject* o, PyObject*) { return wrap_dtype(to_complex(reinterpret_cast<PyDType*>(o)->d)); }
PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
                               {"to_real", dtype_to_real, METH_NOARGS, "The real type of the same precision."},
                               {"to_complex", dtype_to_complex, METH_NOARGS, "The complex type of the same precision."},
                               {}};
PyGetSetDef dtype_props[] = {
    {"is_floating_point", [](PyObject* o, void*) { return PyBool_FromLong(is_floating(reinterpret_cast<PyDType*>(o)->d)); }, nullptr, nullptr, nullptr},
    {"is_complex", [](PyObject* o, void*) { return PyBool_FromLong(is_complex(reinterpret_cast<PyDType*>(o)->d)); }, nullptr, nullptr, nullptr},
    {"is_signed", [](PyObject* o, void*) { return PyBool_FromLong(is_signed(reinterpret_cast<PyDType*>(o)->d)); }, nullptr, nullptr, nullptr},
    {"itemsize", [](PyObject* o, void*) { return PyLong_FromLong(long(item_size(reinterpret_cast<PyDType*>(o)->d))); }, nullptr, nullptr, nullptr},
    {}};

PyObject* device_repr(PyObject* o) {
  const Device d = reinterpret_cast<PyDevice*>(o)->d;
  if (d.index >= 0) return PyUnicode_FromFormat("device(type='%s', index=%d)", device_type_name(d.type), int(d.index));
  return PyUnicode_FromFormat("device(type='%s')", device_type_name(d.type));
}
PyObject* device_str(PyObject* o) { return PyUnicode_FromString(text(reinterpret_cast<PyDevice*>(o)->d).c_str()); }
Py_hash_t device_hash(PyObject* o) {
  const Device d = reinterpret_cast<PyDevice*>(o)->d;
  return Py_hash_t(d.type) * 1000 + d.index + 7;
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != &DeviceType_ || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const bool eq = reinterpret_cast<PyDevice*>(a)->d == reinterpret_cast<PyDevice*>(b)->d;
  return PyBool_FromLong(eq == (op == Py_EQ));
}
PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type = nullptr, *index = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "O|O:device", const_cast<char**>(names), &type, &index)) return nullptr;
  Device d;
  if (!device_from(type, d)) {
    PyErr_Format(PyExc_TypeError, "device(): argument 'type' must be a string, an index or a torch.device, not %s", Py_TYPE(type)->tp_name);
    return nullptr;
  }
  if (index && index != Py_None) {
    const long i = PyLong_AsLong(index);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    FB_CHECK(d.index < 0, "device(): an index was given both in the string and as an argument (", int(i), ")");
    FB_CHECK(i >= 0 && i < 128, "device(): index ", int64_t(i), " is outside 0 to 127");
    d.index = int8_t(i);
  }
  return wrap_device(d);
  FB_PY_END(nullptr)
}
PyObject* device_reduce(PyObject* o, PyObject*) {
  const Device d = reinterpret_cast<PyDevice*>(o)->d;
  if (d.index >= 0) return Py_BuildValue("(O(si))", &DeviceType_, device_type_name(d.type), int(d.index));
  return Py_BuildValue("(O(s))", &DeviceType_, device_type_name(d.type));
}
// `with device:` hands over to the default-device stack kept in Python.
PyObject* device_context(PyObject* o, const char* name, PyObject* args) {
  Obj mod(PyImport_ImportModule("torch._defaults"));
  if (!mod) return nullptr;
  Obj f(PyObject_GetAttrString(mod.get(), name));
  return f ? PyObject_CallFunctionObjArgs(f.get(), o, args, nullptr) : nullptr;
}
PyObject* device_enter(PyObject* o, PyObject*) { return device_context(o, "enter_device", nullptr); }
PyObject* device_exit(PyObject* o, PyObject* a) { return device_context(o, "exit_device", a); }
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr},
                                {"__enter__", device_enter, METH_NOARGS, nullptr},
                                {"__exit__", device_exit, METH_VARARGS, nullptr},
                                {}};
PyGetSetDef device_props[] = {
    {"type", [](PyObject* o, void*) { return PyUnicode_FromString(device_type_name(reinterpret_cast<PyDevice*>(o)->d.type)); }, nullptr, nullptr, nullptr},
    {"index", [](PyObject* o, void*) -> PyObject* {
       const int i = reinterpret_cast<PyDevice*>(o)->d.index;
       if (i < 0) Py_RETURN_NONE;
       return PyLong_FromLong(i);
     }, nullptr, nullptr, nullptr},
    {}};

PyObject* enum_repr(PyObject* o) { return PyUnicode_FromFormat("torch.%s", reinterpret_cast<PyEnum*>(o)->name); }
PyObject* enum_reduce(PyObject* o, PyObject*) { return PyUnicode_FromString(reinterpret_cast<PyEnum*>(o)->name); }
PyMethodDef enum_methods[] = {{"__reduce__", enum_reduce, METH_NOARGS, nullptr}, {}};

PyObject* make_enum(PyTypeObject* t, int v, const char* name) {
  auto* e = PyObject_New(PyEnum, t);
  e->v = v;
  e->name = name;
  return reinterpret_cast<PyObject*>(e);
}

// ---- Size ----
PyObject* size_repr(PyObject* o) {
  std::string s = "torch.Size([";
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    Obj r(PyObject_Repr(PyTuple_GET_ITEM(o, i)));
    if (!r) return nullptr;
    s += (i ? ", " : "") + std::string(PyUnicode_AsUTF8(r.get()));
  }
  return PyUnicode_FromString((s + "])").c_str());
}
PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  Obj t(PyTuple_Type.tp_new(type, args, kw));
  if (!t) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t.get()); ++i) {
    PyObject* x = PyTuple_GET_ITEM(t.get(), i);
    if (PyLong_Check(x) || is_symbolic_number(x)) continue;
    PyObject* n = PyNumber_Index(x);
    if (!n) {
      PyErr_Format(PyExc_TypeError, "torch.Size() takes an iterable of int, element %zd is %s", i, Py_TYPE(x)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(t.get(), i, n);
    Py_DECREF(x);
  }
  return t.release();
}
PyObject* as_size(PyObject* tuple) {
  if (!tuple || !PyTuple_Check(tuple)) return tuple;
  Obj hold(tuple);
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(&SizeType), tuple);
}
PyObject* size_concat(PyObject* a, PyObject* b) { return as_size(PyTuple_Type.tp_as_sequence->sq_concat(a, b)); }
PyObject* size_repeat(PyObject* a, Py_ssize_t n) { return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(a, n)); }
PyObject* size_subscript(PyObject* a, PyObject* i) {
  PyObject* r = PyTuple_Type.tp_as_mapping->mp_subscript(a, i);
  return PySlice_Check(i) ? as_size(r) : r;
}
PyObject* size_numel(PyObject* o, PyObject*) {
  Obj n(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) n = Obj(PyNumber_Multiply(n.get(), PyTuple_GET_ITEM(o, i)));
  return n.release();
}
PyObject* size_reduce(PyObject* o, PyObject*) {
  Obj t(PySequence_Tuple(o));
  Obj plain(PyTuple_New(PyTuple_GET_SIZE(o)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) PyTuple_SET_ITEM(plain.get(), i, Py_NewRef(PyTuple_GET_ITEM(o, i)));
  return Py_BuildValue("(O(O))", &SizeType, plain.get());
}
PyMethodDef size_methods[] = {{"numel", size_numel, METH_NOARGS, "The product of the sizes."},
                              {"__reduce__", size_reduce, METH_NOARGS, nullptr},
                              {}};
PySequenceMethods size_sequence{};
PyMappingMethods size_mapping{};

}  // namespace

PyTypeObject DTypeType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject DeviceType_{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject LayoutType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject MemoryFormatType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject SizeType{PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* wrap_dtype(DType d) { return Py_NewRef(d == DType::none ? Py_None : g_dtypes[int(d)]); }
PyObject* wrap_device(Device d) {
  auto* o = PyObject_New(PyDevice, &DeviceType_);
  o->d = d;
  return reinterpret_cast<PyObject*>(o);
}
PyObject* wrap_layout(Layout l) { return Py_NewRef(g_layouts[int(l)]); }
PyObject* wrap_memory_format(MemoryFormat f) { return Py_NewRef(g_formats[int(f)]); }

PyObject* wrap_size(Ints s) {
  PyObject* t = SizeType.tp_alloc(&SizeType, s.n);
  if (!t) return nullptr;
  for (int64_t i = 0; i < s.n; ++i) PyTuple_SET_ITEM(t, i, PyLong_FromLongLong(s[i]));
  return t;
}

PyObject* wrap_scalar(const Scalar& s) {
  switch (s.kind()) {
    case Scalar::Kind::boolean: return PyBool_FromLong(s.to_bool());
    case Scalar::Kind::integer: return PyLong_FromLongLong(s.to_int());
    case Scalar::Kind::unsigned_integer: return PyLong_FromUnsignedLongLong(uint64_t(s.to_int()));
    case Scalar::Kind::floating: return PyFloat_FromDouble(s.to_double());
    case Scalar::Kind::complex: return PyComplex_FromDoubles(s.to_complex().re, s.to_complex().im);
  }
  return nullptr;
}

PyObject* wrap_value(const Value& v) {
  switch (v.tag) {
    case Tag::none: Py_RETURN_NONE;
    case Tag::tensor: return wrap(v.tensor());
    case Tag::string: return PyUnicode_FromStringAndSize(v.str, v.len);
    case Tag::dtype: return wrap_dtype(v.dtype());
    case Tag::device: return wrap_device(v.device());
    case Tag::layout: return wrap_layout(Layout(v.i));
    case Tag::memory_format: return wrap_memory_format(MemoryFormat(v.i));
    case Tag::ints: {
      PyObject* l = PyList_New(v.len);
      for (uint32_t i = 0; i < v.len; ++i) PyList_SET_ITEM(l, i, PyLong_FromLongLong(v.ints[i]));
      return l;
    }
    case Tag::doubles: {
      PyObject* l = PyList_New(v.len);
      for (uint32_t i = 0; i < v.len; ++i) PyList_SET_ITEM(l, i, PyFloat_FromDouble(v.doubles[i]));
      return l;
    }
    default: return v.is_number() ? wrap_scalar(v.scalar()) : Py_NewRef(Py_None);
  }
}

bool dtype_from(PyObject* o, DType& d) {
  if (Py_TYPE(o) == &DTypeType) d = reinterpret_cast<PyDType*>(o)->d;
  else if (o == reinterpret_cast<PyObject*>(&PyFloat_Type)) d = DType::f64;
  else if (o == reinterpret_cast<PyObject*>(&PyLong_Type)) d = DType::i64;
  else if (o == reinterpret_cast<PyObject*>(&PyBool_Type)) d = DType::boolean;
  else if (o == reinterpret_cast<PyObject*>(&PyComplex_Type)) d = DType::c128;
  else return false;
  return true;
}

bool device_from(PyObject* o, Device& d) {
  if (Py_TYPE(o) == &DeviceType_) d = reinterpret_cast<PyDevice*>(o)->d;
  else if (PyUnicode_Check(o)) d = parse_device(PyUnicode_AsUTF8(o));
  else if (PyLong_Check(o) && !PyBool_Check(o)) d = Device{DeviceType::cuda, int8_t(PyLong_AsLong(o))};
  else return false;
  return true;
}

bool enum_value(PyObject* o, PyTypeObject* t, int& v) {
  if (Py_TYPE(o) != t) return false;
  v = reinterpret_cast<PyEnum*>(o)->v;
  return true;
}

void init_types(PyObject* m) {
  auto ready = [&](PyTypeObject& t, const char* name, size_t size, const char* attr) {
    t.tp_name = name;
    t.tp_basicsize = Py_ssize_t(size);
    t.tp_flags |= Py_TPFLAGS_DEFAULT;
    checked(PyType_Ready(&t));
    // Values are pickled by name, as part of the module that they say they belong to.
    Obj torch(PyUnicode_FromString("torch"));
    checked(PyDict_SetItemString(t.tp_dict, "__module__", torch.get()));
    checked(PyModule_AddObjectRef(m, attr, reinterpret_cast<PyObject*>(&t)));
  };
  DTypeType.tp_repr = dtype_repr;
  DTypeType.tp_methods = dtype_methods;
  DTypeType.tp_getset = dtype_props;
  ready(DTypeType, "torch.dtype", sizeof(PyDType), "dtype");
  DeviceType_.tp_repr = device_repr;
  DeviceType_.tp_str = device_str;
  DeviceType_.tp_hash = device_hash;
  DeviceType_.tp_richcompare = device_compare;
  DeviceType_.tp_new = device_new;
  DeviceType_.tp_methods = device_methods;
  DeviceType_.tp_getset = device_props;
  ready(DeviceType_, "torch.device", sizeof(PyDevice), "device");
  LayoutType.tp_repr = enum_repr;
  LayoutType.tp_methods = enum_methods;
  ready(LayoutType, "torch.layout", sizeof(PyEnum), "layout");
  MemoryFormatType.tp_repr = enum_repr;
  MemoryFormatType.tp_methods = enum_methods;
  ready(MemoryFormatType, "torch.memory_format", sizeof(PyEnum), "memory_format");
  size_sequence = *PyTuple_Type.tp_as_sequence;
  size_sequence.sq_concat = size_concat;
  size_sequence.sq_repeat = size_repeat;
  size_mapping = *PyTuple_Type.tp_as_mapping;
  size_mapping.mp_subscript = size_subscript;
  SizeType.tp_base = &PyTuple_Type;
  SizeType.tp_itemsize = PyTuple_Type.tp_itemsize;
  SizeType.tp_repr = size_repr;
  SizeType.tp_new = size_new;
  SizeType.tp_methods = size_methods;
  SizeType.tp_as_sequence = &size_sequence;
  SizeType.tp_as_mapping = &size_mapping;
  SizeType.tp_flags = Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_BASETYPE;
  ready(SizeType, "torch.Size", size_t(PyTuple_Type.tp_basicsize), "Size");

  auto add_dtype = [&](DType d, std::initializer_list<const char*> names) {
    auto* o = PyObject_New(PyDType, &DTypeType);
    o->d = d;
    g_dtypes[int(d)] = reinterpret_cast<PyObject*>(o);
    for (const char* n : names) checked(PyModule_AddObjectRef(m, n, g_dtypes[int(d)]));
  };
  add_dtype(DType::u8, {"uint8"});
  add_dtype(DType::i8, {"int8"});
  add_dtype(DType::i16, {"int16", "short"});
  add_dtype(DType::i32, {"int32", "int"});
  add_dtype(DType::i64, {"int64", "long"});
  add_dtype(DType::f16, {"float16", "half"});
  add_dtype(DType::f32, {"float32", "float"});
  add_dtype(DType::f64, {"float64", "double"});
  add_dtype(DType::c32, {"complex32", "chalf"});
  add_dtype(DType::c64, {"complex64", "cfloat"});
  add_dtype(DType::c128, {"complex128", "cdouble"});
  add_dtype(DType::boolean, {"bool"});
  add_dtype(DType::bf16, {"bfloat16"});
  add_dtype(DType::f8_e5m2, {"float8_e5m2"});
  add_dtype(DType::f8_e4m3fn, {"float8_e4m3fn"});
  add_dtype(DType::u16, {"uint16"});
  add_dtype(DType::u32, {"uint32"});
  add_dtype(DType::u64, {"uint64"});
  const char* layouts[] = {"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged", "_mkldnn"};
  for (int i = 0; i < 8; ++i) {
    g_layouts[i] = make_enum(&LayoutType, i, layouts[i]);
    checked(PyModule_AddObjectRef(m, layouts[i], g_layouts[i]));
  }
  const char* formats[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
  for (int i = 0; i < 4; ++i) {
    g_formats[i] = make_enum(&MemoryFormatType, i, formats[i]);
    checked(PyModule_AddObjectRef(m, formats[i], g_formats[i]));
  }
}

}  // namespace fb::py
