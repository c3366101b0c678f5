// The Python object of a tensor: its life beside the C++ tensor, and its plain attributes.
//
// Note [Two owners]: normally the Python object holds one reference to the tensor, and the tensor knows the object.
// When Python drops the object while C++ still holds the tensor, and the object carries something a user could miss
// (attributes, weak references, a subclass), ownership turns round: the tensor holds the object (py_owned), until
// Python asks for it again or the tensor dies.
#include "python/dispatch_mode.h"
#include "python/take_over.h"

#include <cstring>

#include "autograd/node.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"
#include "python/autograd.h"

namespace fb::py {

int leave_functions_alone(PyTypeObject* type);  // ops.cpp

PyTypeObject TensorMetaType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject TensorBaseType{PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject* TensorType = nullptr;
PyTypeObject* ParameterType = nullptr;

namespace {

PyTensor* as(PyObject* o) { return reinterpret_cast<PyTensor*>(o); }

// Whether C++ holds the tensor beside its object: what the object holds then is held from outside of Python, too, though
// no object refers to it but garbage. The tensor takes it over when it dies.
bool held_elsewhere(const PyTensor* t) { return t->impl && !t->impl->py_owned && t->impl->py && t->impl->refs.load(std::memory_order_acquire) > 1; }

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  PyTensor* t = as(o);
  if (!held_elsewhere(t)) Py_VISIT(t->dict);
  if (t->impl && t->impl->autograd && t->impl->refs.load(std::memory_order_acquire) == 1)
    if (const int r = visit_autograd(*t->impl, visit, arg)) return r;
  if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_VISIT(Py_TYPE(o));
  return 0;
}

int tensor_clear(PyObject* o) {
  PyTensor* t = as(o);
  // The garbage that was cleared before may have held the last reference: then the tensor has the object now.
  const bool kept = t->impl && t->impl->py_owned;
  if (!kept && !held_elsewhere(t)) Py_CLEAR(t->dict);
  return 0;
}

bool worth_keeping(PyTensor* t) {
  return t->dict != nullptr || t->weakrefs != nullptr ||
         (Py_TYPE(t) != TensorType && Py_TYPE(t) != ParameterType && Py_TYPE(t) != &TensorBaseType);
}

// Objects of torch.Tensor itself that died, kept for the next ones: a small call makes and drops one. Guarded by the GIL,
// as is every Python object's life.
constexpr int kSpares = 64;
PyObject* spare[kSpares];
int spare_count = 0;

void tensor_dealloc(PyObject* o) {
  PyTensor* t = as(o);
  if (t->impl && !t->impl->py_owned && t->impl->refs.load(std::memory_order_acquire) > 1 && t->impl->py == o && worth_keeping(t)) {
    // The tensor lives on and takes the object over.
    Py_SET_REFCNT(o, 1);
    t->impl->py_owned = true;
    t->impl->refs.fetch_sub(1, std::memory_order_acq_rel);
    return;
  }
  PyTypeObject* type = Py_TYPE(o);
  if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(o) < 0) return;  // __del__ kept it
  PyObject_GC_UnTrack(o);
  if (t->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(t->dict);
  if (t->impl) {
    TensorImpl* impl = std::exchange(t->impl, nullptr);
    if (impl->py == o) impl->py = nullptr;
    if (!impl->py_owned) Ref<TensorImpl> drop(impl);
  }
  const bool heap = type->tp_flags & Py_TPFLAGS_HEAPTYPE;
  if (type == TensorType && spare_count < kSpares) spare[spare_count++] = o;
  else type->tp_free(o);
  if (heap) Py_DECREF(type);
}

// The C++ tensor that owned its object dies.
void release_object(void* p) {
  if (!Py_IsInitialized()) return;
  GilHold gil;
  PyObject* o = static_cast<PyObject*>(p);
  as(o)->impl = nullptr;
  Py_DECREF(o);
}

PyObject* new_object(Ref<TensorImpl> impl, PyTypeObject* type) {
  PyObject* o;
  if (type == TensorType && spare_count) [[likely]] {
    o = PyObject_Init(spare[--spare_count], type);
    PyTensor* t = as(o);
    t->dict = t->weakrefs = nullptr;
    t->impl = impl.detach();
    t->impl->py = o;
    PyObject_GC_Track(o);
    return o;
  }
  o = type->tp_alloc(type, 0);
  if (!o) throw PythonErrorSet{};
  PyTensor* t = as(o);
  t->impl = impl.detach();
  t->impl->py = o;
  if (type != TensorType && type != ParameterType) t->impl->python = takes_dispatch(type);
  return o;
}

// A class with a __torch_dispatch__ and no __torch_function__ of its own gets results as they come from there.
// Every subclass gets our deallocator: Python's own would clear the attributes before we could keep the object.
int meta_init(PyObject* cls, PyObject* args, PyObject* kw) {
  if (PyType_Type.tp_init(cls, args, kw) < 0) return -1;
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  type->tp_dealloc = tensor_dealloc;
  return takes_dispatch(type) ? leave_functions_alone(type) : 0;
}

}  // namespace

PyObject* wrap_as(const Tensor& t, PyTypeObject* type) { return new_object(t.ref(), type); }

PyObject* wrap(Tensor t) {
  if (!t.defined()) Py_RETURN_NONE;
  TensorImpl* impl = t.impl();
  if (impl->py) {
    PyObject* o = static_cast<PyObject*>(impl->py);
    if (impl->py_owned) {  // turn ownership round again: the reference the tensor held goes to the caller
      impl->py_owned = false;
      impl->refs.fetch_add(1, std::memory_order_relaxed);
      return o;
    }
    return Py_NewRef(o);
  }
  return new_object(t.take(), TensorType ? TensorType : &TensorBaseType);
}

const Tensor& tensor_arg(PyObject* o, const char* function, const char* arg) {
  if (!is_tensor(o)) raise_type(function, "(): argument '", arg, "' must be Tensor, not ", Py_TYPE(o)->tp_name);
  return unwrap(o);
}

void set_python_error() {
  try {
    throw;
  } catch (PythonErrorSet&) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "an exception was announced, but none is set");
  } catch (Error& e) {
    PyObject* type = PyExc_RuntimeError;
    switch (e.kind()) {
      case ErrorKind::runtime: break;
      case ErrorKind::type: type = PyExc_TypeError; break;
      case ErrorKind::value: type = PyExc_ValueError; break;
      case ErrorKind::index: type = PyExc_IndexError; break;
      case ErrorKind::not_implemented: type = PyExc_NotImplementedError; break;
      case ErrorKind::attribute: type = PyExc_AttributeError; break;
      case ErrorKind::key: type = PyExc_KeyError; break;
      case ErrorKind::overflow: type = PyExc_OverflowError; break;
      case ErrorKind::out_of_memory: {
        Obj mod(PyImport_ImportModule("torch"));
        Obj oom(mod ? PyObject_GetAttrString(mod.get(), "OutOfMemoryError") : nullptr);
        PyErr_Clear();
        PyErr_SetString(oom ? oom.get() : PyExc_RuntimeError, e.what());
        return;
      }
    }
    PyErr_SetString(type, e.what());
  } catch (std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "out of memory");
  } catch (std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
}

namespace {

#define FB_GET(name, expr)                                       \
  PyObject* get_##name(PyObject* o, void*) {                     \
    FB_PY_BEGIN                                                  \
    const Tensor& t = unwrap(o);                                 \
    (void)t;                                                     \
    return expr;                                                 \
    FB_PY_END(nullptr)                                           \
  }
FB_GET(shape, wrap_size(t.sizes()))
FB_GET(dtype, wrap_dtype(t.dtype()))
FB_GET(device, wrap_device(t.device()))
FB_GET(layout, wrap_layout(t->layout))
FB_GET(ndim, PyLong_FromLongLong(t.ndim()))
FB_GET(itemsize, PyLong_FromLongLong(t.item_bytes()))
FB_GET(nbytes, PyLong_FromLongLong(t.item_bytes() * t.numel()))
FB_GET(requires_grad, PyBool_FromLong(requires_grad(t)))
FB_GET(is_leaf, PyBool_FromLong(is_leaf(t)))
FB_GET(version, PyLong_FromUnsignedLong(t->version()))
FB_GET(is_cuda, PyBool_FromLong(t.device().type == DeviceType::cuda))
FB_GET(is_cpu, PyBool_FromLong(t.device().is_cpu()))
FB_GET(is_meta, PyBool_FromLong(t.is_meta()))
FB_GET(false, PyBool_FromLong(0))
FB_GET(retains_grad, PyBool_FromLong(find_meta(t) && find_meta(t)->retains_grad))
FB_GET(output_nr, PyLong_FromLong(find_meta(t) ? long(find_meta(t)->output_nr) : 0))
FB_GET(cdata, PyLong_FromVoidPtr(t.impl()))

FB_GET(T, wrap(op<"numpy_T">(t)))
FB_GET(mT, wrap(op<"mT">(t)))
FB_GET(H, wrap(op<"matrix_H">(t)))
FB_GET(mH, wrap(op<"mH">(t)))
FB_GET(real, wrap(op<"real">(t)))
FB_GET(imag, wrap(op<"imag">(t)))
#undef FB_GET

PyObject* get_base(PyObject* o, void*) {
  const AutogradMeta* m = find_meta(unwrap(o));
  if (!m || !m->view) Py_RETURN_NONE;
  return wrap(m->view->base);
}
PyObject* get_name(PyObject* o, void*) {
  const AutogradMeta* m = find_meta(unwrap(o));
  if (!m || m->name.empty()) Py_RETURN_NONE;
  return PyUnicode_FromString(m->name.c_str());
}
PyObject* get_data(PyObject* o, void*) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  if (const Wrapped* w = wrapped_in(t)) {
    FB_CHECK(w->batch_dim < 0, ".data of a tensor of a function that is mapped (torch.vmap) cannot be had; use detach()");
    return wrap(op<"detach">(t));
  }
  Tensor d = detach(t);
  // .data counts its own writes: they are invisible to backward, as documented.
  d->own_version = Storage::allocate(0, Device{DeviceType::meta, -1});
  return wrap(d);
  FB_PY_END(nullptr)
}
int set_data(PyObject* o, PyObject* v, void*) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  const Tensor n = tensor_arg(v, "set_data", "new_data");
  FB_CHECK(!t->wrapped && !n->wrapped, ".data cannot be set within a function that is transformed (torch.vmap, torch.func)");
  FB_CHECK(t->python == n->python, ".data of a ", Py_TYPE(o)->tp_name, " (shape ", t.sizes(), ") cannot be set to a ", Py_TYPE(v)->tp_name,
           ": one of them has a class with __torch_dispatch__, the other has not");
  FB_CHECK(t.device() == n.device(), ".data of a tensor of shape ", t.sizes(), " on ", t.device(), " cannot be set to one of shape ", n.sizes(), " on ", n.device());
  t->storage = n->storage;
  take_geometry(t, n);
  return 0;
  FB_PY_END(-1)
}
PyObject* get_grad(PyObject* o, void*) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  const AutogradMeta* m = find_meta(t);
  if (m && m->grad.defined()) return wrap(m->grad);
  if (!is_leaf(t) && !(m && m->retains_grad))
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "the .grad of a tensor that is no leaf is read; it is not filled by backward(). Call retain_grad() on the "
                     "tensor first, or read the .grad of the leaf", 1) < 0)
      return nullptr;
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
int set_grad(PyObject* o, PyObject* v, void*) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  if (!v || v == Py_None) {
    if (find_meta(t)) meta_of(t).grad = Tensor();
    return 0;
  }
  const Tensor& g = tensor_arg(v, "grad", "value");
  FB_CHECK(!g.is(t), "a tensor cannot be its own .grad");
  FB_CHECK(g.dtype() == t.dtype(), "a gradient of type ", g.dtype(), " was assigned to a tensor of type ", t.dtype());
  FB_CHECK(g.device() == t.device(), "a gradient on ", g.device(), " was assigned to a tensor on ", t.device());
  FB_CHECK(g.sizes() == t.sizes(), "a gradient of shape ", g.sizes(), " was assigned to a tensor of shape ", t.sizes());
  meta_of(t).grad = g;
  return 0;
  FB_PY_END(-1)
}
void check_no_transform() {
  FB_CHECK(!innermost_level(), "requires_grad_() (or torch.autograd.functional) within a function that is transformed (torch.vmap, torch.func): "
           "derivatives are taken there by torch.func.grad, vjp, jvp and their kin");
}
int set_requires(PyObject* o, PyObject* v, void*) {
  FB_PY_BEGIN
  if (!v || !PyBool_Check(v)) raise_runtime("requires_grad must be a bool");
  check_no_transform();
  set_requires_grad(unwrap(o), v == Py_True);
  return 0;
  FB_PY_END(-1)
}
#define FB_SET_PART(name)                                                      \
  int set_##name(PyObject* o, PyObject* v, void*) {                            \
    FB_PY_BEGIN                                                                \
    const Tensor part = op<#name>(unwrap(o));                                  \
    Obj p(wrap(part));                                                         \
    Obj r(PyObject_CallMethod(p.get(), is_tensor(v) ? "copy_" : "fill_", "O", v)); \
    return r ? 0 : -1;                                                         \
    FB_PY_END(-1)                                                              \
  }
FB_SET_PART(real)
FB_SET_PART(imag)

// Who takes an attribute over is told this name of it.
void* told(const char* name) { return const_cast<char*>(name); }
PyGetSetDef tensor_props[] = {
    {"shape", asked_get<get_shape>, nullptr, "The sizes, as torch.Size.", told("shape")},
    {"dtype", asked_get<get_dtype>, nullptr, "The element type.", told("dtype")},
    {"device", asked_get<get_device>, nullptr, "Where the elements are.", told("device")},
    {"layout", asked_get<get_layout>, nullptr, "torch.strided for dense tensors.", told("layout")},
    {"ndim", asked_get<get_ndim>, nullptr, "The number of dimensions.", told("ndim")},
    {"itemsize", asked_get<get_itemsize>, nullptr, "Bytes of one element.", told("itemsize")},
    {"nbytes", asked_get<get_nbytes>, nullptr, "Bytes of all elements.", told("nbytes")},
    {"requires_grad", asked_get<get_requires_grad>, asked_set<set_requires>, "Whether gradients are computed for this tensor.", told("requires_grad")},
    {"is_leaf", asked_get<get_is_leaf>, nullptr, "Whether no recorded operation made this tensor.", told("is_leaf")},
    {"_version", asked_get<get_version>, nullptr, "How often the storage was written in place.", told("_version")},
    {"is_cuda", asked_get<get_is_cuda>, nullptr, nullptr, told("is_cuda")},
    {"is_cpu", asked_get<get_is_cpu>, nullptr, nullptr, told("is_cpu")},
    {"is_meta", asked_get<get_is_meta>, nullptr, nullptr, told("is_meta")},
    {"is_sparse", asked_get<get_false>, nullptr, nullptr, told("is_sparse")},
    {"is_sparse_csr", asked_get<get_false>, nullptr, nullptr, told("is_sparse_csr")},
    {"is_quantized", asked_get<get_false>, nullptr, nullptr, told("is_quantized")},
    {"is_mkldnn", asked_get<get_false>, nullptr, nullptr, told("is_mkldnn")},
    {"is_nested", asked_get<get_false>, nullptr, nullptr, told("is_nested")},
    {"is_xpu", asked_get<get_false>, nullptr, nullptr, told("is_xpu")},
    {"is_mps", asked_get<get_false>, nullptr, nullptr, told("is_mps")},
    {"is_xla", asked_get<get_false>, nullptr, nullptr, told("is_xla")},
    {"retains_grad", asked_get<get_retains_grad>, nullptr, "Whether retain_grad() was called.", told("retains_grad")},
    {"output_nr", asked_get<get_output_nr>, nullptr, nullptr, told("output_nr")},
    {"_cdata", asked_get<get_cdata>, nullptr, nullptr, told("_cdata")},
    {"_base", asked_get<get_base>, nullptr, "The tensor that this one is a differentiable view of.", told("_base")},
    {"name", asked_get<get_name>, nullptr, nullptr, told("name")},
    {"data", asked_get<get_data>, asked_set<set_data>, "The same elements without history; writes to it are not seen by backward.", told("data")},
    {"grad", asked_get<get_grad>, asked_set<set_grad>, "The accumulated gradient, or None.", told("grad")},
    {"_grad", asked_get<get_grad>, asked_set<set_grad>, nullptr, told("grad")},
    {"T", asked_get<get_T>, nullptr, "All dimensions reversed.", told("T")},
    {"mT", asked_get<get_mT>, nullptr, "The last two dimensions swapped.", told("mT")},
    {"H", asked_get<get_H>, nullptr, "The conjugate transpose of a matrix.", told("H")},
    {"mH", asked_get<get_mH>, nullptr, "The last two dimensions swapped, conjugated.", told("mH")},
    {"real", asked_get<get_real>, asked_set<set_real>, "The real part, a view.", told("real")},
    {"imag", asked_get<get_imag>, asked_set<set_imag>, "The imaginary part, a view.", told("imag")},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {}};

// ---- methods that no operator gives ----
PyObject* m_size(PyObject* o, PyObject* const* a, Py_ssize_t n, PyObject* kw) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  PyObject* dim = n > 0 ? a[0] : kw && PyTuple_GET_SIZE(kw) ? a[n] : nullptr;
  if (!dim || dim == Py_None) return wrap_size(t.sizes());
  const int64_t d = PyLong_AsLongLong(dim);
  if (d == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(t.sizes()[wrap_dim(d, t.ndim(), false)]);
  FB_PY_END(nullptr)
}
PyObject* m_stride(PyObject* o, PyObject* const* a, Py_ssize_t n, PyObject* kw) {
  FB_PY_BEGIN
  const Tensor& t = unwrap(o);
  PyObject* dim = n > 0 ? a[0] : kw && PyTuple_GET_SIZE(kw) ? a[n] : nullptr;
  if (!dim || dim == Py_None) {
    PyObject* r = PyTuple_New(t.ndim());
    for (int64_t i = 0; i < t.ndim(); ++i) PyTuple_SET_ITEM(r, i, PyLong_FromLongLong(t.strides()[i]));
    return r;
  }
  const int64_t d = PyLong_AsLongLong(dim);
  if (d == -1 && PyErr_Occurred()) return nullptr;
  return PyLong_FromLongLong(t.strides()[wrap_dim(d, t.ndim(), false)]);
  FB_PY_END(nullptr)
}
const Tensor& with_memory(const Tensor& t, bool storage) {
  if (t->wrapped) {
    const std::string what = "a tensor of a function that is transformed (torch.vmap, torch.func) has no memory of its own";
    if (storage) raise_not_implemented("untyped_storage(): ", what);
    raise_runtime("data_ptr(): ", what);
  }
  return t;
}
#define FB_METHOD(name, expr)                            \
  PyObject* m_##name(PyObject* o, PyObject*) {           \
    FB_PY_BEGIN                                          \
    [[maybe_unused]] const Tensor& t = unwrap(o);        \
    return expr;                                         \
    FB_PY_END(nullptr)                                   \
  }
FB_METHOD(dim, PyLong_FromLongLong(t.ndim()))
FB_METHOD(numel, PyLong_FromLongLong(t.numel()))
FB_METHOD(element_size, PyLong_FromLongLong(t.item_bytes()))
FB_METHOD(data_ptr, PyLong_FromVoidPtr(with_memory(t, false).is_meta() || t.numel() == 0 || !t->storage->data ? nullptr : t.data()))
FB_METHOD(storage_offset, PyLong_FromLongLong(t.offset()))
FB_METHOD(is_floating_point, PyBool_FromLong(t.is_floating()))
FB_METHOD(is_complex, PyBool_FromLong(t.is_complex()))
FB_METHOD(is_signed, PyBool_FromLong(is_signed(t.dtype())))
FB_METHOD(is_conj, PyBool_FromLong(t.is_conj()))
FB_METHOD(is_neg, PyBool_FromLong(t.is_neg()))
FB_METHOD(is_inference, PyBool_FromLong(t->inference))
FB_METHOD(get_device, PyLong_FromLong(t.device().is_cpu() ? -1 : t.device().index < 0 ? 0 : t.device().index))
FB_METHOD(untyped_storage, wrap_storage(with_memory(t, true).storage()))
FB_METHOD(is_view, PyBool_FromLong(find_meta(t) && find_meta(t)->view))
FB_METHOD(has_names, PyBool_FromLong(0))
FB_METHOD(is_pinned, PyBool_FromLong(0))

PyObject* m_is_contiguous(PyObject* o, PyObject* const* a, Py_ssize_t n, PyObject* kw) {
  FB_PY_BEGIN
  MemoryFormat f = MemoryFormat::contiguous;
  PyObject* v = n > 0 ? a[0] : kw && PyTuple_GET_SIZE(kw) ? a[n] : nullptr;
  if (v) {
    if (Py_TYPE(v) != &MemoryFormatType) raise_type("is_contiguous(): argument 'memory_format' must be torch.memory_format, not ", Py_TYPE(v)->tp_name);
    for (int i = 0; i < 4; ++i) {
      Obj w(wrap_memory_format(MemoryFormat(i)));
      if (w.get() == v) f = MemoryFormat(i);
    }
  }
  return PyBool_FromLong(unwrap(o).is_contiguous(f));
  FB_PY_END(nullptr)
}
PyObject* m_requires_grad_(PyObject* o, PyObject* const* a, Py_ssize_t n, PyObject* kw) {
  FB_PY_BEGIN
  PyObject* v = n > 0 ? a[0] : kw && PyTuple_GET_SIZE(kw) ? a[n] : Py_True;
  if (!PyBool_Check(v)) raise_type("requires_grad_(): argument 'requires_grad' must be bool, not ", Py_TYPE(v)->tp_name);
  check_no_transform();
  set_requires_grad(unwrap(o), v == Py_True);
  return Py_NewRef(o);
  FB_PY_END(nullptr)
}
PyObject* m_make_subclass(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"cls", "data", "require_grad", nullptr};
  PyObject *cls, *data;
  int req = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|p:_make_subclass", const_cast<char**>(names), &cls, &data, &req)) return nullptr;
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &TensorBaseType))
    raise_type("_make_subclass(): argument 'cls' must be a subclass of Tensor");
  Tensor t = tensor_arg(data, "_make_subclass", "data").alias();  // no layer sees it
  set_requires_grad(t, req);
  return wrap_as(t, reinterpret_cast<PyTypeObject*>(cls));
  FB_PY_END(nullptr)
}
PyObject* m_as_subclass(PyObject* o, PyObject* cls) {
  FB_PY_BEGIN
  if (!PyType_Check(cls) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), &TensorBaseType))
    raise_type("as_subclass(): argument 'cls' must be a subclass of Tensor");
  const Tensor t = op<"alias">(unwrap(o));
  if (t->py) return wrap(t);  // made by a class that takes calls: it has its object
  return wrap_as(t, reinterpret_cast<PyTypeObject*>(cls));
  FB_PY_END(nullptr)
}
PyObject* tensor_base_new(PyTypeObject* type, PyObject* args, PyObject* kw) {
  // torch.Tensor(...) is the legacy constructor, kept in Python beside the class.
  Obj mod(PyImport_ImportModule("torch._tensor"));
  Obj f(mod ? PyObject_GetAttrString(mod.get(), "_legacy_new") : nullptr);
  if (!f) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  Obj all(PyTuple_New(n + 1));
  PyTuple_SET_ITEM(all.get(), 0, Py_NewRef(reinterpret_cast<PyObject*>(type)));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(all.get(), i + 1, Py_NewRef(PyTuple_GET_ITEM(args, i)));
  return PyObject_Call(f.get(), all.get(), kw);
}

#define FAST(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)), METH_FASTCALL | METH_KEYWORDS
PyMethodDef tensor_methods[] = {
    {"size", FAST((asked_fast<"size", m_size>)), "size(dim=None) -> torch.Size or int"},
    {"stride", FAST((asked_fast<"stride", m_stride>)), "stride(dim=None) -> tuple of int or int, in elements"},
    {"is_contiguous", FAST((asked_fast<"is_contiguous", m_is_contiguous>)), "is_contiguous(memory_format=torch.contiguous_format) -> bool"},
    {"requires_grad_", FAST((asked_fast<"requires_grad_", m_requires_grad_>)), "requires_grad_(requires_grad=True) -> Tensor"},
    {"dim", asked<"dim", m_dim>, METH_NOARGS, "The number of dimensions."},
    {"ndimension", asked<"ndimension", m_dim>, METH_NOARGS, "The number of dimensions."},
    {"numel", asked<"numel", m_numel>, METH_NOARGS, "The number of elements."},
    {"nelement", asked<"nelement", m_numel>, METH_NOARGS, "The number of elements."},
    {"element_size", asked<"element_size", m_element_size>, METH_NOARGS, "Bytes of one element."},
    {"data_ptr", asked<"data_ptr", m_data_ptr>, METH_NOARGS, "Address of the first element."},
    {"storage_offset", asked<"storage_offset", m_storage_offset>, METH_NOARGS, "Elements between the storage's start and the first element."},
    {"is_floating_point", asked<"is_floating_point", m_is_floating_point>, METH_NOARGS, nullptr},
    {"is_complex", asked<"is_complex", m_is_complex>, METH_NOARGS, nullptr},
    {"is_signed", asked<"is_signed", m_is_signed>, METH_NOARGS, nullptr},
    {"is_conj", asked<"is_conj", m_is_conj>, METH_NOARGS, nullptr},
    {"is_neg", asked<"is_neg", m_is_neg>, METH_NOARGS, nullptr},
    {"is_inference", asked<"is_inference", m_is_inference>, METH_NOARGS, nullptr},
    {"is_pinned", asked<"is_pinned", m_is_pinned>, METH_NOARGS, nullptr},
    {"get_device", asked<"get_device", m_get_device>, METH_NOARGS, nullptr},
    {"has_names", asked<"has_names", m_has_names>, METH_NOARGS, nullptr},
    {"untyped_storage", asked<"untyped_storage", m_untyped_storage>, METH_NOARGS, "The bytes under this tensor."},
    {"_is_view", asked<"_is_view", m_is_view>, METH_NOARGS, nullptr},
    {"as_subclass", m_as_subclass, METH_O, "as_subclass(cls) -> an instance of cls over the same elements"},
    {"_make_subclass", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(m_make_subclass)), METH_VARARGS | METH_KEYWORDS | METH_STATIC, nullptr},
    {}};

PyMethodDef set_types_def[] = {{"_set_tensor_types", [](PyObject*, PyObject* args) -> PyObject* {
                                  PyObject *t, *p = nullptr;
                                  if (!PyArg_ParseTuple(args, "O|O", &t, &p)) return nullptr;
                                  if (t != Py_None) TensorType = reinterpret_cast<PyTypeObject*>(Py_NewRef(t));
                                  if (p) ParameterType = reinterpret_cast<PyTypeObject*>(Py_NewRef(p));
                                  Py_RETURN_NONE;
                                }, METH_VARARGS, nullptr},
                               {}};

}  // namespace

void init_tensor(PyObject* m) {
  tensor_python_release = release_object;
  TensorMetaType.tp_name = "torch._C._TensorMeta";
  TensorMetaType.tp_base = &PyType_Type;
  TensorMetaType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  TensorMetaType.tp_init = meta_init;
  checked(PyType_Ready(&TensorMetaType));
  checked(PyModule_AddObjectRef(m, "_TensorMeta", reinterpret_cast<PyObject*>(&TensorMetaType)));
  PyTypeObject& t = TensorBaseType;
  Py_SET_TYPE(&t, &TensorMetaType);
  t.tp_name = "torch._C.TensorBase";
  t.tp_basicsize = sizeof(PyTensor);
  t.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  t.tp_dealloc = tensor_dealloc;
  t.tp_traverse = tensor_traverse;
  t.tp_clear = tensor_clear;
  t.tp_dictoffset = offsetof(PyTensor, dict);
  t.tp_weaklistoffset = offsetof(PyTensor, weakrefs);
  t.tp_getset = tensor_props;
  t.tp_methods = tensor_methods;
  t.tp_new = tensor_base_new;
  t.tp_hash = [](PyObject* o) { return Py_hash_t(reinterpret_cast<uintptr_t>(o)); };  // id(o), as programs rely on
  // Number, sequence and comparison slots come with the operators (ops.cpp), before PyType_Ready.
}

void finish_tensor(PyObject* m) {
  checked(PyType_Ready(&TensorBaseType));
  checked(PyModule_AddObjectRef(m, "TensorBase", reinterpret_cast<PyObject*>(&TensorBaseType)));
  checked(PyModule_AddFunctions(m, set_types_def));
}

}  // namespace fb::py
