// Tensors from Python data and back: torch.tensor, numpy and the buffer protocol, item, tolist.
#include <cstring>

#include "autograd/node.h"
#include "dispatch/levels.h"
#include "dispatch/pointwise.h"
#include "dispatch/thread_state.h"
#include "dispatch/trace.h"
#include "ops/math/fits.h"
#include "python/dispatch_mode.h"
#include "python/symbolic.h"
#include "python/take_over.h"

namespace fb::py {
namespace {

bool is_data_sequence(PyObject* o) {
  return PyList_Check(o) || PyTuple_Check(o) || (PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o) && !is_tensor(o));
}

DType format_type(const char* f, Py_ssize_t item) {
  if (!f) return DType::u8;
  if (*f == '@' || *f == '=' || *f == '<' || *f == '|') ++f;
  else if (*f == '>' || *f == '!') return DType::none;
  if (f[0] == 'Z') return f[1] == 'f' ? DType::c64 : f[1] == 'd' ? DType::c128 : DType::none;
  if (f[1]) return DType::none;
  switch (*f) {
    case '?': return DType::boolean;
    case 'e': return DType::f16;
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    case 'b': case 'h': case 'i': case 'l': case 'q':
      return item == 1 ? DType::i8 : item == 2 ? DType::i16 : item == 4 ? DType::i32 : DType::i64;
    case 'B': case 'H': case 'I': case 'L': case 'Q':
      return item == 1 ? DType::u8 : item == 2 ? DType::u16 : item == 4 ? DType::u32 : DType::u64;
    default: return DType::none;
  }
}

struct BufferOwner { Py_buffer view; };
void release_buffer(void* p) {
  auto* b = static_cast<BufferOwner*>(p);
  if (Py_IsInitialized()) {
    GilHold gil;
    PyBuffer_Release(&b->view);
  }
  delete b;
}

bool is_array(PyObject* o) { return PyObject_CheckBuffer(o) && !PyBytes_Check(o) && !PyByteArray_Check(o); }

// A tensor over the memory of a buffer; shares it.
Tensor from_array(PyObject* o, bool want_writable) {
  auto* b = new BufferOwner;
  bool readonly = false;
  if (PyObject_GetBuffer(o, &b->view, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, &b->view, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
      delete b;
      PyErr_Clear();
      // Types that numpy has and the buffer protocol has not, and object arrays.
      Obj dt(PyObject_GetAttrString(o, "dtype"));
      Obj s(dt ? PyObject_Str(dt.get()) : nullptr);
      PyErr_Clear();
      raise_type("can't convert an array of type ", s ? PyUnicode_AsUTF8(s.get()) : Py_TYPE(o)->tp_name,
                 " to a tensor; the supported types are float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, "
                 "uint32, uint16, uint8 and bool");
    }
    readonly = true;
  }
  const Py_buffer& v = b->view;
  const DType d = format_type(v.format, v.itemsize);
  if (d == DType::none || item_size(d) != v.itemsize) {
    const std::string f = v.format ? v.format : "";
    release_buffer(b);
    if (!f.empty() && (f[0] == '>' || f[0] == '!'))
      raise_value("the array has the other byte order (format '", f, "'); convert it with .astype of the native order first");
    raise_type("can't convert an array of format '", f, "' to a tensor; the supported types are float64, float32, float16, complex64, "
               "complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8 and bool");
  }
  Dims sizes, strides;
  for (int i = 0; i < v.ndim; ++i) {
    sizes.push_back(v.shape[i]);
    if (v.shape[i] > 1 && v.strides[i] < 0) {
      const Dims st(Span<int64_t>(reinterpret_cast<const int64_t*>(v.strides), v.ndim));
      release_buffer(b);
      raise_value("the array has a negative stride (", st, " bytes); copy it first, e.g. array.copy()");
    }
    if (v.strides[i] % v.itemsize) {
      const int64_t st = v.strides[i], item = v.itemsize;
      release_buffer(b);
      raise_value("the array's stride of ", st, " bytes is no multiple of its element size ", item, "; copy it first");
    }
    strides.push_back(v.shape[i] > 1 ? v.strides[i] / v.itemsize : (v.strides[i] < 0 ? 1 : v.strides[i] / v.itemsize));
  }
  if (readonly && want_writable &&
      PyErr_WarnEx(PyExc_UserWarning, "the array is not writable, and a tensor over it would write to it all the same; copy the array first", 1) < 0) {
    release_buffer(b);
    throw PythonErrorSet{};
  }
  Ref<Storage> s = Storage::foreign(v.buf, storage_bytes(sizes, strides, 0, v.itemsize), Device(), release_buffer, b);
  return Tensor::over(std::move(s), d, sizes, strides, 0);
}

// The type that holds every number of a nested sequence.
void infer_type(PyObject* o, DType& d, int depth) {
  if (depth > 128) raise_value("the data is nested more than 128 levels deep; a sequence that contains itself?");
  DType x = DType::none;
  if (is_tensor(o)) x = unwrap(o).dtype();
  else if (PyBool_Check(o)) x = DType::boolean;
  else if (PyLong_Check(o)) x = DType::i64;
  else if (PyFloat_Check(o)) x = PyFloat_CheckExact(o) ? default_dtype : DType::f64;
  else if (PyComplex_Check(o)) x = PyComplex_CheckExact(o) ? default_complex_dtype() : DType::c128;
  else if (PyUnicode_Check(o)) raise_type("new(): invalid data type 'str'");
  else if (is_array(o) && PyObject_HasAttrString(o, "__array_interface__")) x = from_array(o, false).dtype();
  else if (PyObject_HasAttrString(o, "dtype") && PyObject_HasAttrString(o, "item")) {  // numpy scalars
    Obj dt(PyObject_GetAttrString(o, "dtype"));
    Obj c(dt ? PyObject_GetAttrString(dt.get(), "char") : nullptr);
    Obj size(dt ? PyObject_GetAttrString(dt.get(), "itemsize") : nullptr);
    if (c && size) {
      const char* f = PyUnicode_AsUTF8(c.get());
      x = *f == 'F' ? DType::c64 : *f == 'D' ? DType::c128 : format_type(f, PyLong_AsSsize_t(size.get()));
    }
    PyErr_Clear();
  } else if (is_data_sequence(o)) {
    const Py_ssize_t n = PySequence_Size(o);
    if (n < 0) throw PythonErrorSet{};
    for (Py_ssize_t i = 0; i < n; ++i) {
      Obj e(checked(PySequence_GetItem(o, i)));
      infer_type(e.get(), d, depth + 1);
      if (d == DType::c128) return;
    }
    return;
  } else raise_type("cannot make a tensor of ", Py_TYPE(o)->tp_name, ": numbers, sequences of numbers, arrays and tensors are taken");
  if (x == DType::none) raise_type("cannot make a tensor of ", Py_TYPE(o)->tp_name);
  const DType p = d == DType::none ? x : promote(d, x);
  d = p == DType::none ? DType::f64 : p;
}

void infer_shape(PyObject* o, Dims& shape) {
  Obj hold = Obj::borrow(o);
  while (true) {
    PyObject* x = hold.get();
    if (is_tensor(x)) {
      for (int64_t s : unwrap(x).sizes()) shape.push_back(s);
      return;
    }
    if (PyFloat_Check(x) || PyLong_Check(x) || PyComplex_Check(x) || !is_data_sequence(x)) return;
    const Py_ssize_t n = PySequence_Size(x);
    if (n < 0) {
      PyErr_Clear();  // a 0-d array
      return;
    }
    shape.push_back(n);
    if (shape.size() > 64) raise_value("the data is nested more than 64 levels deep");
    if (n == 0) return;
    hold = Obj(checked(PySequence_GetItem(x, 0)));
  }
}

void store_number(char* to, DType d, PyObject* o) {
  // The common types without a detour.
  if (d == DType::f32 && PyFloat_CheckExact(o)) {
    *reinterpret_cast<float*>(to) = float(PyFloat_AS_DOUBLE(o));
    return;
  }
  if (d == DType::i64 && PyLong_CheckExact(o)) {
    const long long v = PyLong_AsLongLong(o);
    if (v == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      PyErr_Format(PyExc_RuntimeError, "the integer %R does not fit in 64 bits", o);
      throw PythonErrorSet{};
    }
    *reinterpret_cast<int64_t*>(to) = v;
    return;
  }
  Scalar s;
  if (is_tensor(o)) s = op_value<"item">(unwrap(o)).scalar();
  else if (!scalar_from(o, s)) {
    if (PyObject_HasAttrString(o, "item")) {  // 0-d arrays
      Obj n(checked(PyObject_CallMethod(o, "item", nullptr)));
      if (!scalar_from(n.get(), s)) raise_type("an element of type ", Py_TYPE(o)->tp_name, " is no number");
    } else if (PySequence_Check(o)) raise_value("expected a number at this depth, found a sequence of type ", Py_TYPE(o)->tp_name);
    else raise_type("an element of type ", Py_TYPE(o)->tp_name, " is no number");
  }
  if (s.is_complex() && !is_complex(d) && d != DType::boolean) raise_type("can't convert the complex number ", s, " to type ", d);
  if (is_integral(d) && (s.is_floating() || s.kind() == Scalar::Kind::unsigned_integer)) cards::check_fits("tensor", s, d);
  if (s.is_integral(false) && is_integral(d) && item_size(d) < 8) {
    const int64_t v = s.to_int();
    const int bits = int(item_size(d)) * 8;
    const int64_t lo = is_signed(d) ? -(int64_t(1) << (bits - 1)) : 0, hi = is_signed(d) ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
    FB_CHECK(v >= lo - (is_signed(d) ? 0 : hi) && v <= hi, "value ", v, " does not fit in type ", d, ", whose range is ", lo, " to ", hi);
  }
  if (d == DType::c32) {
    const cdouble c = s.to_complex();
    const half pair[2] = {half(float(c.re)), half(float(c.im))};
    std::memcpy(to, pair, sizeof pair);
    return;
  }
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16, uint16_t, uint32_t, uint64_t,
              float8_e5m2, float8_e4m3fn>(d, [&]<class T>() { *reinterpret_cast<T*>(to) = s.to<T>(); });
}

void fill(char* data, const Dims& shape, const Dims& strides, int64_t item, DType d, int64_t dim, PyObject* o) {
  if (dim == shape.size()) return store_number(data, d, o);
  if (is_tensor(o)) {
    const Tensor t = op<"contiguous">(op<"to.dtype">(detach(unwrap(o)), d));
    FB_CHECK_VALUE(t.sizes() == shape.span().slice(dim, shape.size() - dim), "expected a tensor of shape ",
                   shape.span().slice(dim, shape.size() - dim), " at depth ", dim, ", found ", t.sizes());
    if (t.numel()) std::memcpy(data, t.data(), size_t(t.numel() * item));
    return;
  }
  Obj seq(PySequence_Fast(o, "not a sequence"));
  if (!seq) {
    PyErr_Clear();
    raise_type("expected a sequence of length ", shape[dim], " at depth ", dim, ", found ", Py_TYPE(o)->tp_name);
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(seq.get());
  FB_CHECK_VALUE(n == shape[dim], "expected a sequence of length ", shape[dim], " at dim ", dim, ", got one of length ", int64_t(n));
  PyObject** items = PySequence_Fast_ITEMS(seq.get());
  for (Py_ssize_t i = 0; i < n; ++i) fill(data + i * strides[dim] * item, shape, strides, item, d, dim + 1, items[i]);
}

}  // namespace

Tensor tensor_from_data(PyObject* data, DType dtype, Device device, bool copy) {
  if (is_tensor(data)) {
    Tensor t = detach(unwrap(data));
    const DType d = dtype == DType::none ? t.dtype() : dtype;
    if (!(t.device() == device)) return op<"_to_copy">(t, d, std::nullopt, device);
    if (d != t.dtype()) return op<"to.dtype">(t, d);
    return copy ? op<"clone">(t) : t;
  }
  if (is_array(data) && PyObject_HasAttrString(data, "__array_interface__")) {
    Tensor t = from_array(data, !copy);
    const DType d = dtype == DType::none ? t.dtype() : dtype;
    if (!device.is_cpu()) return op<"_to_copy">(t, d, std::nullopt, device);
    if (d != t.dtype()) return op<"to.dtype">(t, d);
    return copy ? op<"clone">(t, MemoryFormat::contiguous) : t;
  }
  if (PyUnicode_Check(data)) raise_type("new(): invalid data type 'str'");
  Dims shape;
  infer_shape(data, shape);
  DType d = dtype;
  if (d == DType::none) {
    infer_type(data, d, 0);
    if (d == DType::none) d = default_dtype;  // nothing inside
  }
  Tensor t = Tensor::empty(shape, {d, Device()});
  fill(static_cast<char*>(t.data()), shape, Dims(t.strides()), t.item_bytes(), d, 0, data);
  if (mode_active()) [[unlikely]] t = op<"lift_fresh">(t);
  if (!(device == Device())) return op<"_to_copy">(t, d, std::nullopt, device);
  return t;
}

namespace {

struct TensorOptions {
  DType dtype = DType::none;
  Device device = default_device();
  bool wants_grad = false, device_given = !(device == Device());
};

void parse_options(PyObject* dtype, PyObject* device, PyObject* wants_grad, TensorOptions& o, const char* fn) {
  if (dtype && dtype != Py_None && !dtype_from(dtype, o.dtype)) raise_type(fn, "(): argument 'dtype' must be torch.dtype, not ", Py_TYPE(dtype)->tp_name);
  if (device && device != Py_None) {
    if (!device_from(device, o.device)) raise_type(fn, "(): argument 'device' must be torch.device, not ", Py_TYPE(device)->tp_name);
    o.device_given = true;
  }
  if (wants_grad) o.wants_grad = PyObject_IsTrue(wants_grad) == 1;
}

PyObject* py_tensor(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"data", "dtype", "device", "requires_grad", "pin_memory", "names", nullptr};
  PyObject *data, *dtype = nullptr, *device = nullptr, *wants_grad = nullptr, *pin = nullptr, *nm = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$OOOOO:tensor", const_cast<char**>(names), &data, &dtype, &device, &wants_grad, &pin, &nm)) return nullptr;
  TensorOptions o;
  parse_options(dtype, device, wants_grad, o, "tensor");
  if (is_tensor(data)) {
    if (PyErr_WarnEx(PyExc_UserWarning, "to copy a tensor, t.detach().clone() (or .requires_grad_(True) after it) says what is meant, rather than torch.tensor(t)", 1) < 0)
      return nullptr;
    if (!o.device_given) o.device = unwrap(data).device();
  }
  Tensor t = tensor_from_data(data, o.dtype, o.device, true);
  t = made_here(t);
  if (o.wants_grad) set_requires_grad(t, true);
  return wrap(t);
  FB_PY_END(nullptr)
}

PyObject* py_as_tensor(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"data", "dtype", "device", nullptr};
  PyObject *data, *dtype = nullptr, *device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "O|OO:as_tensor", const_cast<char**>(names), &data, &dtype, &device)) return nullptr;
  TensorOptions o;
  parse_options(dtype, device, nullptr, o, "as_tensor");
  if (is_tensor(data)) {  // history is kept
    const Tensor& t = unwrap(data);
    if (!o.device_given) o.device = t.device();
    if ((o.dtype == DType::none || o.dtype == t.dtype()) && o.device == t.device()) return Py_NewRef(data);
    return wrap(op<"_to_copy">(t, o.dtype == DType::none ? t.dtype() : o.dtype, std::nullopt, o.device));
  }
  return wrap(made_here(tensor_from_data(data, o.dtype, o.device, false)));
  FB_PY_END(nullptr)
}

PyObject* py_from_numpy(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  if (!PyObject_CheckBuffer(o) || !PyObject_HasAttrString(o, "__array_interface__"))
    raise_type("from_numpy() takes a numpy.ndarray, not ", Py_TYPE(o)->tp_name);
  return wrap(made_here(from_array(o, true)));
  FB_PY_END(nullptr)
}

PyObject* py_frombuffer(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"buffer", "dtype", "count", "offset", "requires_grad", nullptr};
  PyObject *o, *dtype;
  Py_ssize_t count = -1, offset = 0;
  int wants_grad = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "O|$Onnp:frombuffer", const_cast<char**>(names), &o, &dtype, &count, &offset, &wants_grad)) return nullptr;
  DType d;
  if (!dtype_from(dtype, d)) raise_type("frombuffer(): argument 'dtype' must be torch.dtype, not ", Py_TYPE(dtype)->tp_name);
  auto* b = new BufferOwner;
  if (PyObject_GetBuffer(o, &b->view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, &b->view, PyBUF_SIMPLE) < 0) {
      delete b;
      PyErr_Clear();
      raise_value("frombuffer(): an object of type ", Py_TYPE(o)->tp_name, " has no buffer");
    }
    if (PyErr_WarnEx(PyExc_UserWarning, "the buffer is not writable, and a tensor over it would write to it all the same", 1) < 0) {
      release_buffer(b);
      return nullptr;
    }
  }
  const int64_t len = b->view.len, item = item_size(d);
  auto fail = [&](std::string s) {
    release_buffer(b);
    raise(ErrorKind::value, std::move(s));
  };
  if (len == 0 || count == 0) fail(text("frombuffer(): both the buffer (", len, " bytes) and count (", int64_t(count), ") must not be 0"));
  if (offset < 0 || offset >= len) fail(text("frombuffer(): offset ", int64_t(offset), " is outside the buffer of ", len, " bytes"));
  if (count < 0 && (len - offset) % item)
    fail(text("frombuffer(): ", len - offset, " bytes after the offset are no multiple of the element size ", item));
  if (count < 0) count = Py_ssize_t((len - offset) / item);
  if (count > (len - offset) / item)
    fail(text("frombuffer(): ", int64_t(count), " elements of ", item, " bytes were asked for, the buffer has ", len - offset, " bytes after the offset"));
  char* data = static_cast<char*>(b->view.buf) + offset;
  const int64_t n = count;
  Ref<Storage> s = Storage::foreign(data, size_t(n * item), Device(), release_buffer, b);
  Tensor t = made_here(Tensor::over(std::move(s), d, Ints(&n, 1), Ints{1}, 0));
  if (wants_grad) set_requires_grad(t, true);
  return wrap(t);
  FB_PY_END(nullptr)
}

const char* numpy_name(DType d) {
  switch (d) {
    case DType::boolean: return "bool";
    case DType::bf16: case DType::f8_e5m2: case DType::f8_e4m3fn: case DType::c32: return nullptr;
    default: return dtype_name(d);
  }
}

PyObject* m_numpy(PyObject* self, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"force", nullptr};
  int force = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|$p:numpy", const_cast<char**>(names), &force)) return nullptr;
  Tensor t = unwrap(self);
  FB_CHECK(!t->wrapped, "numpy() of a tensor of a function that is transformed (torch.vmap, torch.func), which has no memory of its own");
  FB_CHECK(!t->python, "numpy() is not there for tensors whose class has __torch_dispatch__ (", Py_TYPE(self)->tp_name, ")");
  if (force) t = op<"contiguous">(op<"resolve_neg">(op<"resolve_conj">(detach(t))));
  FB_CHECK(!requires_grad(t), "numpy() of a tensor that requires grad would lose its history; call detach().numpy()");
  FB_CHECK(!t.is_conj() && !t.is_neg(), "numpy() of a lazily conjugated or negated tensor; call resolve_conj().resolve_neg() first");
  if (!t.device().is_cpu()) raise_type("numpy() takes tensors on the cpu; this one is on ", t.device());
  const char* name = numpy_name(t.dtype());
  if (!name) raise_type("numpy has no type for ", t.dtype(), "; convert first, e.g. with .float()");
  Obj np(checked(PyImport_ImportModule("numpy")));
  Obj shape(wrap_size(t.sizes()));
  Obj plain(PySequence_Tuple(shape.get()));
  Obj strides(PyTuple_New(t.ndim()));
  for (int64_t i = 0; i < t.ndim(); ++i) PyTuple_SET_ITEM(strides.get(), i, PyLong_FromLongLong(t.strides()[i] * t.item_bytes()));
  Obj storage(checked(wrap_storage(t.storage())));
  Obj cls(checked(PyObject_GetAttrString(np.get(), "ndarray")));
  if (t.numel() == 0) return PyObject_CallFunction(cls.get(), "Os", plain.get(), name);
  t.storage()->resizable = false;   // the array has the address of its memory
  return PyObject_CallFunction(cls.get(), "OsOLO", plain.get(), name, storage.get(), (long long)(t.offset() * t.item_bytes()), strides.get());
  FB_PY_END(nullptr)
}

PyObject* number_at(const char* p, DType d) {
  if (d == DType::c32) {
    const half* const pair = reinterpret_cast<const half*>(p);
    return PyComplex_FromDoubles(float(pair[0]), float(pair[1]));
  }
  PyObject* r = nullptr;
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16, uint16_t, uint32_t, uint64_t,
              float8_e5m2, float8_e4m3fn>(d, [&]<class T>() {
    const T v = *reinterpret_cast<const T*>(p);
    if constexpr (std::is_same_v<T, bool>) r = PyBool_FromLong(v);
    else if constexpr (is_complex_v<T>) r = PyComplex_FromDoubles(v.re, v.im);
    else if constexpr (std::is_integral_v<T>) r = std::is_signed_v<T> ? PyLong_FromLongLong((long long)v) : PyLong_FromUnsignedLongLong((unsigned long long)v);
    else r = PyFloat_FromDouble(double(float(v)) == double(float(v)) && !std::is_same_v<T, double> ? double(float(v)) : [&] {
      if constexpr (std::is_same_v<T, double>) return v;
      else return double(float(v));
    }());
  });
  return r;
}

PyObject* list_of(const Tensor& t, int64_t dim, const char* p) {
  if (dim == t.ndim()) return number_at(p, t.dtype());
  const int64_t n = t.sizes()[dim], step = t.strides()[dim] * t.item_bytes();
  PyObject* l = PyList_New(n);
  for (int64_t i = 0; i < n; ++i) {
    PyObject* x = list_of(t, dim + 1, p + i * step);
    if (!x) {
      Py_DECREF(l);
      return nullptr;
    }
    PyList_SET_ITEM(l, i, x);
  }
  return l;
}

Tensor readable(const Tensor& wrapper, const char* fn) {
  Tensor t = wrapper;
  while (const Wrapped* w = wrapped_in(t)) {
    if (w->batch_dim >= 0)
      raise_runtime("vmap: ", fn, "() asks for the values of a tensor, which differ between examples; a function that is mapped cannot "
                    "branch on them or turn them into numbers. Use torch.where");
    t = unwrap(t);
  }
  if (t->flags & kTraced) raise_not_implemented(fn, "(): the values of a tensor of shape ", t.sizes(), " cannot be followed without them");
  if (t.is_meta()) raise_runtime(fn, "() of a tensor on the meta device of shape ", t.sizes(), ": it has no values");
  FB_CHECK(!t->python && (t.numel() == 0 || t->storage->data), fn, "() is not there for tensors whose class has __torch_dispatch__ (shape ", t.sizes(), ")");
  if (t.is_conj() || t.is_neg()) {
    GradMode no(false);
    return op<"clone">(t);
  }
  return t;
}

PyObject* m_tolist(PyObject* self, PyObject*) {
  FB_PY_BEGIN
  const Tensor t = readable(unwrap(self), "tolist");
  return list_of(t, 0, t.numel() ? static_cast<const char*>(t.data()) : nullptr);
  FB_PY_END(nullptr)
}

PyObject* m_item(PyObject* self, PyObject*) {
  FB_PY_BEGIN
  return tensor_item(self);
  FB_PY_END(nullptr)
}

// A function of torch that makes tensors from data: modes alone take it over, whatever the data is.
template <FixedString Name, PyCFunctionWithKeywords F>
PyObject* for_modes(PyObject* module, PyObject* args, PyObject* kw) {
  if (!function_modes) [[likely]] return F(module, args, kw);
  Obj torch(PyImport_ImportModule("torch"));
  Obj func(torch ? PyObject_GetAttrString(torch.get(), Name.s) : nullptr);
  return func ? ask_modes(func.get(), args, kw) : nullptr;
}

// `with torch.device(...)` and torch.set_default_device change where the factories that Python calls allocate, in this thread.
constinit thread_local Device g_default_device;
PyObject* py_set_default_device(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  Device d;
  if (o != Py_None && !device_from(o, d)) raise_type("set_default_device(): argument must be torch.device, not ", Py_TYPE(o)->tp_name);
  g_default_device = d;
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_get_default_device(PyObject*, PyObject*) { return wrap_device(g_default_device); }
PyObject* py_set_default_dtype(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  DType d;
  if (Py_TYPE(o) != &DTypeType || !dtype_from(o, d)) raise_type("set_default_dtype(): argument must be torch.dtype, not ", Py_TYPE(o)->tp_name);
  if (!is_floating(d)) raise_type("the default dtype must be a floating point type, not ", d);
  default_dtype = d;
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_get_default_dtype(PyObject*, PyObject*) { return wrap_dtype(default_dtype); }

PyObject* py_result_type(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  Value v[2];
  for (int i = 0; i < 2; ++i) {
    PyObject* o = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, i) : nullptr;
    Scalar s;
    if (!o) raise_type("result_type() takes two arguments");
    if (is_tensor(o)) v[i] = Value(unwrap(o));
    else if (scalar_from(o, s)) v[i] = Value(s);
    else raise_type("result_type(): arguments must be Tensors or numbers, not ", Py_TYPE(o)->tp_name);
  }
  const DType d = result_type(v, 2);
  FB_CHECK(d != DType::none, "result_type(): the types have no common type");
  return wrap_dtype(d);
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {
    {"_result_type", py_result_type, METH_VARARGS, nullptr},
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&for_modes<"tensor", py_tensor>)), METH_VARARGS | METH_KEYWORDS,
     "tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor\n\nA new tensor that holds a copy of data: a number, "
     "a nested sequence of numbers, an array. Types are inferred where dtype is None (float -> the default dtype, int -> int64)."},
    {"as_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&for_modes<"as_tensor", py_as_tensor>)), METH_VARARGS | METH_KEYWORDS,
     "as_tensor(data, dtype=None, device=None) -> Tensor\n\nLike tensor(), but shares memory (and history) where type and device allow."},
    {"from_numpy", py_from_numpy, METH_O, "from_numpy(ndarray) -> Tensor\n\nA tensor over the memory of the array."},
    {"frombuffer", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_frombuffer)), METH_VARARGS | METH_KEYWORDS,
     "frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False) -> Tensor\n\nA 1-d tensor over the memory of a buffer."},
    {"_set_default_device", py_set_default_device, METH_O, nullptr},
    {"_get_default_device", py_get_default_device, METH_NOARGS, nullptr},
    {"set_default_dtype", py_set_default_dtype, METH_O, "set_default_dtype(d): the type of floating results made from nothing."},
    {"get_default_dtype", py_get_default_dtype, METH_NOARGS, "get_default_dtype() -> torch.dtype"},
    {}};
PyMethodDef methods[] = {
    {"numpy", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&asked_keywords<"numpy", m_numpy>)), METH_VARARGS | METH_KEYWORDS,
     "numpy(*, force=False) -> numpy.ndarray over the same memory"},
    {"tolist", asked<"tolist", m_tolist>, METH_NOARGS, "tolist() -> nested lists of Python numbers"},
    {"item", asked<"item", m_item>, METH_NOARGS, "item() -> the Python number of a tensor of one element"},
    {}};

}  // namespace

Device default_device() { return g_default_device; }

PyObject* tensor_item(PyObject* self) {
  const Tensor& u = unwrap(self);
  if (dispatches(u)) [[unlikely]] return item_shown(self);
  if (u.numel() != 1) raise_runtime("item() of a tensor of shape ", u.sizes(), " with ", u.numel(), " elements: only one element can be converted to a number");
  const Tensor t = readable(u, "item");
  return number_at(static_cast<const char*>(t.data()), t.dtype());
}

void init_construct(PyObject* m) {
  checked(PyModule_AddFunctions(m, functions));
  for (PyMethodDef* d = methods; d->ml_name; ++d) {
    Obj f(PyDescr_NewMethod(&TensorBaseType, d));
    PyDict_SetItemString(TensorBaseType.tp_dict, d->ml_name, f.get());
  }
  PyType_Modified(&TensorBaseType);
}

}  // namespace fb::py
