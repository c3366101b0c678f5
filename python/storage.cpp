// torch.UntypedStorage: the bytes under tensors, with the buffer protocol; and torch.Generator.
#include "python/binding.h"

#include <cstring>

#include "core/drawing.h"

namespace fb::py {

PyTypeObject StorageType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject GeneratorType{PyVarObject_HEAD_INIT(nullptr, 0)};

namespace {

struct PyStorage { PyObject_HEAD Storage* s; PyObject* weakrefs; PyObject* dict; };
Ref<Storage> of(PyObject* o) { return Ref<Storage>::share(reinterpret_cast<PyStorage*>(o)->s); }

PyObject* storage_new_from(PyTypeObject* type, Ref<Storage> s) {
  PyObject* o = type->tp_alloc(type, 0);
  if (!o) throw PythonErrorSet{};
  s->py = o;
  reinterpret_cast<PyStorage*>(o)->s = s.detach();
  return o;
}

void storage_dealloc(PyObject* o) {
  auto* p = reinterpret_cast<PyStorage*>(o);
  if (p->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(p->dict);
  if (p->s) {
    if (p->s->py == o) p->s->py = nullptr;
    Ref<Storage> drop(p->s);
  }
  // The reference to a class defined in Python is dropped by that class's own dealloc, which called this.
  Py_TYPE(o)->tp_free(o);
}

PyObject* storage_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"size", "device", nullptr};
  PyObject *size = nullptr, *device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:UntypedStorage", const_cast<char**>(names), &size, &device)) return nullptr;
  Device d;
  if (device && device != Py_None && !device_from(device, d)) raise_type("UntypedStorage(): argument 'device' must be torch.device");
  if (!size) return storage_new_from(type, Storage::allocate(0, d));
  if (PyLong_Check(size)) {
    const long long n = PyLong_AsLongLong(size);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    FB_CHECK(n >= 0, "UntypedStorage(): the size ", int64_t(n), " is negative");
    return storage_new_from(type, Storage::allocate(size_t(n), d));
  }
  Obj bytes(PySequence_List(size));
  if (!bytes) return nullptr;
  Ref<Storage> s = Storage::allocate(size_t(PyList_GET_SIZE(bytes.get())), Device());
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(bytes.get()); ++i) {
    const long v = PyLong_AsLong(PyList_GET_ITEM(bytes.get(), i));
    if (v == -1 && PyErr_Occurred()) return nullptr;
    static_cast<uint8_t*>(s->data)[i] = uint8_t(v);
  }
  return storage_new_from(type, std::move(s));
  FB_PY_END(nullptr)
}

int storage_buffer(PyObject* o, Py_buffer* view, int flags) {
  Storage* s = reinterpret_cast<PyStorage*>(o)->s;
  if (!s->device.is_cpu()) {
    PyErr_SetString(PyExc_BufferError, "only storages on the cpu have a buffer");
    return -1;
  }
  static char empty;
  return PyBuffer_FillInfo(view, o, s->data ? s->data : &empty, Py_ssize_t(s->nbytes), 0, flags);
}
PyBufferProcs storage_buffers{storage_buffer, nullptr};

// Bytes that are there: a storage on the meta device, or one of a tensor that stands for others, has a size alone.
bool has_bytes(const Storage* s) { return s->data != nullptr; }
void check_bytes(const Storage* s, const char* what) {
  if (s->nbytes && !has_bytes(s)) raise_not_implemented(what, ": a storage of ", uint64_t(s->nbytes), " bytes on device ", s->device, " has no bytes that could be read");
}
Py_ssize_t storage_len(PyObject* o) { return Py_ssize_t(reinterpret_cast<PyStorage*>(o)->s->nbytes); }
PyObject* storage_get(PyObject* o, PyObject* i) {
  FB_PY_BEGIN
  Storage* s = reinterpret_cast<PyStorage*>(o)->s;
  if (PySlice_Check(i)) {
    Py_ssize_t a, b, st;
    if (PySlice_Unpack(i, &a, &b, &st) < 0) return nullptr;
    PySlice_AdjustIndices(Py_ssize_t(s->nbytes), &a, &b, st);
    if (st != 1) raise_runtime("a slice of a storage takes step 1, not ", int64_t(st));
    if (b < a) b = a;
    if (!has_bytes(s)) return storage_new_from(&StorageType, Storage::allocate(size_t(b - a), Device{DeviceType::meta, -1}));
    struct Keep { Ref<Storage> s; };
    auto* k = new Keep{of(o)};
    return storage_new_from(&StorageType, Storage::foreign(static_cast<char*>(s->data) + a, size_t(b - a), s->device,
                                                           [](void* p) { delete static_cast<Keep*>(p); }, k));
  }
  Py_ssize_t k = PyNumber_AsSsize_t(i, PyExc_IndexError);
  if (k == -1 && PyErr_Occurred()) return nullptr;
  if (k < 0) k += Py_ssize_t(s->nbytes);
  if (k < 0 || size_t(k) >= s->nbytes) raise_index("index ", int64_t(k), " is out of range for a storage of ", uint64_t(s->nbytes), " bytes");
  check_bytes(s, "storage[i]");
  return PyLong_FromLong(static_cast<uint8_t*>(s->data)[k]);
  FB_PY_END(nullptr)
}
int storage_set(PyObject* o, PyObject* i, PyObject* v) {
  FB_PY_BEGIN
  Storage* s = reinterpret_cast<PyStorage*>(o)->s;
  Py_ssize_t k = PyNumber_AsSsize_t(i, PyExc_IndexError);
  if (k == -1 && PyErr_Occurred()) return -1;
  if (k < 0) k += Py_ssize_t(s->nbytes);
  if (k < 0 || size_t(k) >= s->nbytes) raise_index("index ", int64_t(k), " is out of range for a storage of ", uint64_t(s->nbytes), " bytes");
  const long b = v ? PyLong_AsLong(v) : -1;
  if (b == -1 && PyErr_Occurred()) return -1;
  if (has_bytes(s)) static_cast<uint8_t*>(s->data)[k] = uint8_t(b);
  return 0;
  FB_PY_END(-1)
}
PySequenceMethods storage_sequence{};
PyMappingMethods storage_mapping{storage_len, storage_get, storage_set};

PyObject* s_nbytes(PyObject* o, PyObject*) { return PyLong_FromSize_t(reinterpret_cast<PyStorage*>(o)->s->nbytes); }
PyObject* s_data_ptr(PyObject* o, PyObject*) { return PyLong_FromVoidPtr(reinterpret_cast<PyStorage*>(o)->s->data); }
PyObject* s_resize(PyObject* o, PyObject* n) {
  FB_PY_BEGIN
  const long long v = PyLong_AsLongLong(n);
  if (v == -1 && PyErr_Occurred()) return nullptr;
  FB_CHECK(v >= 0, "resize_(): the size ", int64_t(v), " is negative");
  reinterpret_cast<PyStorage*>(o)->s->resize(size_t(v));
  return Py_NewRef(o);
  FB_PY_END(nullptr)
}
PyObject* s_resizable(PyObject* o, PyObject*) { return PyBool_FromLong(reinterpret_cast<PyStorage*>(o)->s->resizable); }
PyObject* s_clone(PyObject* o, PyObject*) {
  FB_PY_BEGIN
  Storage* s = reinterpret_cast<PyStorage*>(o)->s;
  Ref<Storage> c = Storage::allocate(s->nbytes, s->device);
  if (c->data && has_bytes(s)) std::memcpy(c->data, s->data, s->nbytes);
  return storage_new_from(&StorageType, std::move(c));
  FB_PY_END(nullptr)
}
PyObject* s_copy_(PyObject* o, PyObject* args) {
  FB_PY_BEGIN
  PyObject *src, *nb = nullptr;
  if (!PyArg_ParseTuple(args, "O!|O", &StorageType, &src, &nb)) return nullptr;
  Storage *a = reinterpret_cast<PyStorage*>(o)->s, *b = reinterpret_cast<PyStorage*>(src)->s;
  FB_CHECK(a->nbytes == b->nbytes, "copy_(): a storage of ", uint64_t(b->nbytes), " bytes into one of ", uint64_t(a->nbytes));
  if (has_bytes(a)) check_bytes(b, "copy_()");
  if (has_bytes(a) && has_bytes(b)) std::memmove(a->data, b->data, a->nbytes);
  return Py_NewRef(o);
  FB_PY_END(nullptr)
}
PyObject* s_fill_(PyObject* o, PyObject* v) {
  const long b = PyLong_AsLong(v);
  if (b == -1 && PyErr_Occurred()) return nullptr;
  Storage* s = reinterpret_cast<PyStorage*>(o)->s;
  if (has_bytes(s)) std::memset(s->data, int(b), s->nbytes);
  return Py_NewRef(o);
}
PyObject* s_tolist(PyObject* o, PyObject*) {
  FB_PY_BEGIN
  Storage* s = reinterpret_cast<PyStorage*>(o)->s;
  check_bytes(s, "tolist()");
  PyObject* l = PyList_New(Py_ssize_t(s->nbytes));
  for (size_t i = 0; i < s->nbytes; ++i) PyList_SET_ITEM(l, Py_ssize_t(i), PyLong_FromLong(static_cast<uint8_t*>(s->data)[i]));
  return l;
  FB_PY_END(nullptr)
}
PyObject* s_use_count(PyObject* o, PyObject*) { return PyLong_FromLongLong(reinterpret_cast<PyStorage*>(o)->s->refs.load()); }

struct Owner { Py_buffer view; };
void release_owner(void* p) {
  auto* b = static_cast<Owner*>(p);
  if (Py_IsInitialized()) {
    GilHold gil;
    PyBuffer_Release(&b->view);
  }
  delete b;
}
// _from_buffer(buffer): shares its memory.
PyObject* s_from_buffer(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  auto* b = new Owner;
  if (PyObject_GetBuffer(o, &b->view, PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, &b->view, PyBUF_SIMPLE) < 0) {
      delete b;
      return nullptr;
    }
  }
  return storage_new_from(&StorageType, Storage::foreign(b->view.buf, size_t(b->view.len), Device(), release_owner, b));
  FB_PY_END(nullptr)
}
PyGetSetDef storage_props[] = {
    {"device", [](PyObject* o, void*) { return wrap_device(reinterpret_cast<PyStorage*>(o)->s->device); }, nullptr, nullptr, nullptr},
    {"_cdata", [](PyObject* o, void*) { return PyLong_FromVoidPtr(reinterpret_cast<PyStorage*>(o)->s); }, nullptr, nullptr, nullptr},
    {"is_cuda", [](PyObject*, void*) { return PyBool_FromLong(0); }, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};
PyMethodDef storage_methods[] = {{"nbytes", s_nbytes, METH_NOARGS, "Its bytes."},
                                 {"size", s_nbytes, METH_NOARGS, "Its bytes."},
                                 {"data_ptr", s_data_ptr, METH_NOARGS, "Address of the first byte."},
                                 {"resize_", s_resize, METH_O, "resize_(nbytes): keeps the leading bytes."},
                                 {"resizable", s_resizable, METH_NOARGS, nullptr},
                                 {"clone", s_clone, METH_NOARGS, "A copy."},
                                 {"copy_", s_copy_, METH_VARARGS, "copy_(other): the bytes of another of the same size."},
                                 {"fill_", s_fill_, METH_O, "Sets every byte."},
                                 {"tolist", s_tolist, METH_NOARGS, "The bytes as ints."},
                                 {"_use_count", s_use_count, METH_NOARGS, nullptr},
                                 {"_from_buffer", s_from_buffer, METH_O | METH_STATIC, nullptr},
                                 {}};

// ---- Generator ----
struct PyGenerator { PyObject_HEAD Generator* g; bool owned; PyObject* weakrefs; };
PyObject* g_default_generator = nullptr;

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"device", nullptr};
  PyObject* device = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
  Device d;
  if (device && device != Py_None && !device_from(device, d)) raise_type("Generator(): argument 'device' must be torch.device");
  FB_CHECK(d.is_cpu(), "Generator(): there is no generator for device ", d);
  PyObject* o = type->tp_alloc(type, 0);
  reinterpret_cast<PyGenerator*>(o)->g = new Generator;
  reinterpret_cast<PyGenerator*>(o)->owned = true;
  return o;
  FB_PY_END(nullptr)
}
void generator_dealloc(PyObject* o) {
  auto* p = reinterpret_cast<PyGenerator*>(o);
  if (p->weakrefs) PyObject_ClearWeakRefs(o);
  if (p->owned) delete p->g;
  PyTypeObject* t = Py_TYPE(o);
  t->tp_free(o);
  if (t->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_DECREF(t);
}
Generator& gen(PyObject* o) { return *reinterpret_cast<PyGenerator*>(o)->g; }
PyObject* g_manual_seed(PyObject* o, PyObject* v) {
  FB_PY_BEGIN
  Obj n(checked(PyNumber_Index(v)));
  int over = 0;
  const long long i = PyLong_AsLongLongAndOverflow(n.get(), &over);
  uint64_t s = uint64_t(i);
  if (over > 0) {
    s = PyLong_AsUnsignedLongLong(n.get());
    if (PyErr_Occurred()) return nullptr;
  } else if (over < 0) raise_runtime("manual_seed(): the seed is below -2^63");
  {
    const Drawing lock(gen(o));
    gen(o).manual_seed(s);
  }
  return Py_NewRef(o);
  FB_PY_END(nullptr)
}
PyObject* g_seed(PyObject* o, PyObject*) {
  uint64_t s;
  {
    const Drawing lock(gen(o));
    s = gen(o).seed();
  }
  return PyLong_FromUnsignedLongLong(s);
}
PyObject* g_initial_seed(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(gen(o).initial_seed()); }
PyObject* g_get_state(PyObject* o, PyObject*) {
  FB_PY_BEGIN
  const int64_t n = int64_t(Generator::state_size);
  Tensor t = Tensor::empty(Ints(&n, 1), {DType::u8, Device()});
  {
    const Drawing lock(gen(o));
    gen(o).get_state(t.ptr<uint8_t>());
  }
  return wrap(t);
  FB_PY_END(nullptr)
}
PyObject* g_set_state(PyObject* o, PyObject* v) {
  FB_PY_BEGIN
  const Tensor& t = tensor_arg(v, "set_state", "new_state");
  if (t.dtype() != DType::u8) raise_type("set_state(): the state must be a uint8 tensor, not ", t.dtype());
  FB_CHECK(t.numel() == int64_t(Generator::state_size) && t.is_contiguous(), "set_state(): the state has shape ", t.sizes(), ", a CPU state has ",
           uint64_t(Generator::state_size), " bytes");
  bool good;
  {
    const Drawing lock(gen(o));
    good = gen(o).set_state(t.ptr<uint8_t>());
  }
  FB_CHECK(good, "set_state(): the bytes are no state of a CPU generator");
  return Py_NewRef(o);
  FB_PY_END(nullptr)
}
PyObject* g_clone_state(PyObject* o, PyObject*) {
  PyObject* r = GeneratorType.tp_alloc(&GeneratorType, 0);
  reinterpret_cast<PyGenerator*>(r)->g = new Generator(gen(o));
  reinterpret_cast<PyGenerator*>(r)->owned = true;
  return r;
}
PyGetSetDef generator_props[] = {{"device", [](PyObject*, void*) { return wrap_device(Device()); }, nullptr, nullptr, nullptr}, {}};
PyMethodDef generator_methods[] = {{"manual_seed", g_manual_seed, METH_O, "manual_seed(seed) -> Generator"},
                                   {"seed", g_seed, METH_NOARGS, "Reseeds from the system and returns the seed."},
                                   {"initial_seed", g_initial_seed, METH_NOARGS, "The seed given last."},
                                   {"get_state", g_get_state, METH_NOARGS, "The state as a uint8 tensor of 5056 bytes."},
                                   {"set_state", g_set_state, METH_O, "Takes a state that get_state() gave."},
                                   {"clone_state", g_clone_state, METH_NOARGS, "A generator with the same state."},
                                   {"graphsafe_get_state", g_clone_state, METH_NOARGS, nullptr},
                                   {}};

}  // namespace

PyObject* wrap_storage(const Ref<Storage>& s) {
  if (s->py) return Py_NewRef(static_cast<PyObject*>(s->py));
  Obj mod(PyImport_ImportModule("torch.storage"));
  Obj cls(mod ? PyObject_GetAttrString(mod.get(), "UntypedStorage") : nullptr);
  PyErr_Clear();
  PyTypeObject* t = cls && PyType_Check(cls.get()) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.get()), &StorageType)
                        ? reinterpret_cast<PyTypeObject*>(cls.get()) : &StorageType;
  return storage_new_from(t, s);
}

Generator* generator_from(PyObject* o) { return PyObject_TypeCheck(o, &GeneratorType) ? reinterpret_cast<PyGenerator*>(o)->g : nullptr; }
PyObject* wrap_generator(Generator* g) {
  if (g == &default_cpu_generator()) return Py_NewRef(g_default_generator);
  Py_RETURN_NONE;
}

// set_(storage, offset, size, stride): a tensor over given bytes, as unpicklers rebuild them.
static PyObject* py_tensor_over(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *storage, *dtype, *size, *stride;
  long long offset;
  if (!PyArg_ParseTuple(args, "O!OLOO:_tensor_over", &StorageType, &storage, &dtype, &offset, &size, &stride)) return nullptr;
  DType d;
  if (!dtype_from(dtype, d)) raise_type("_tensor_over(): argument 'dtype' must be torch.dtype");
  Dims sz, st;
  for (auto [from, to] : {std::pair<PyObject*, Dims*>{size, &sz}, {stride, &st}}) {
    Obj t(PySequence_Tuple(from));
    if (!t) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(t.get()); ++i) {
      const long long v = PyLong_AsLongLong(PyTuple_GET_ITEM(t.get(), i));
      if (v == -1 && PyErr_Occurred()) return nullptr;
      FB_CHECK(v >= 0, "_tensor_over(): sizes and strides are at least 0, ", int64_t(v), " was given");
      to->push_back(v);
    }
  }
  FB_CHECK(sz.size() == st.size(), "_tensor_over(): ", sz.size(), " sizes and ", st.size(), " strides");
  FB_CHECK(offset >= 0, "_tensor_over(): the storage offset ", int64_t(offset), " is negative");
  Ref<Storage> s = of(storage);
  const size_t need = storage_bytes(sz, st, offset, item_size(d));
  FB_CHECK(need <= s->nbytes, "a tensor of shape ", sz, ", strides ", st, ", offset ", int64_t(offset), " and type ", d, " needs ", uint64_t(need),
           " bytes, the storage has ", uint64_t(s->nbytes));
  return wrap(Tensor::over(std::move(s), d, sz, st, offset));
  FB_PY_END(nullptr)
}
static PyMethodDef storage_functions[] = {{"_tensor_over", py_tensor_over, METH_VARARGS, "_tensor_over(storage, dtype, offset, size, stride) -> Tensor"}, {}};

void init_storage(PyObject* m) {
  PyTypeObject& t = StorageType;
  t.tp_name = "torch._C.StorageBase";
  t.tp_basicsize = sizeof(PyStorage);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  t.tp_new = storage_new;
  t.tp_dealloc = storage_dealloc;
  t.tp_methods = storage_methods;
  t.tp_getset = storage_props;
  t.tp_as_buffer = &storage_buffers;
  storage_sequence.sq_length = storage_len;
  t.tp_as_sequence = &storage_sequence;
  t.tp_as_mapping = &storage_mapping;
  t.tp_weaklistoffset = offsetof(PyStorage, weakrefs);
  t.tp_dictoffset = offsetof(PyStorage, dict);
  checked(PyType_Ready(&t));
  checked(PyModule_AddObjectRef(m, "StorageBase", reinterpret_cast<PyObject*>(&t)));
  checked(PyModule_AddFunctions(m, storage_functions));
}

void init_generator(PyObject* m) {
  PyTypeObject& t = GeneratorType;
  t.tp_name = "torch._C.Generator";
  t.tp_basicsize = sizeof(PyGenerator);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  t.tp_new = generator_new;
  t.tp_dealloc = generator_dealloc;
  t.tp_methods = generator_methods;
  t.tp_getset = generator_props;
  t.tp_weaklistoffset = offsetof(PyGenerator, weakrefs);
  checked(PyType_Ready(&t));
  checked(PyModule_AddObjectRef(m, "Generator", reinterpret_cast<PyObject*>(&t)));
  g_default_generator = t.tp_alloc(&t, 0);
  reinterpret_cast<PyGenerator*>(g_default_generator)->g = &default_cpu_generator();
  checked(PyModule_AddObjectRef(m, "default_generator", g_default_generator));
}

}  // namespace fb::py
