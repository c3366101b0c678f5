// Guards of compiled code, each one call: the state of thread and process, and what is fixed of the tensors that come in.
#include <vector>

#include "autograd/node.h"
#include "dispatch/guess.h"
#include "dispatch/levels.h"
#include "dispatch/library.h"
#include "dispatch/thread_state.h"
#include "python/binding.h"
#include "python/dispatch_mode.h"

namespace fb::py {
namespace {

struct State {
  bool grad, inference;
  DType dtype;
  Device device;
  uint64_t replacements;   // kernels in the place of cards'
  bool operator==(const State&) const = default;
  static State now() { return {tls.grad_enabled, tls.inference, default_dtype, default_device(), library_replacements()}; }
};
// A number that no class had before this one was as it is now. 0: it was changed since it was last asked for an attribute.
unsigned version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030C0000
  return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
#else
  return 1;   // byte code is followed on 3.11 alone
#endif
}
// What sees every operator as it comes: modes, transforms, dual levels.
bool watched() { return function_modes || active_dispatch_modes() || innermost_level() || dual_level_open; }

struct PyStateGuard {
  PyObject_HEAD
  vectorcallfunc call;
  State seen;
  PyTypeObject* type;      // torch.Tensor: its methods may be replaced
  unsigned version;
};
PyObject* py_watched(PyObject*, PyObject*) { return PyBool_FromLong(watched()); }
PyObject* py_guesses(PyObject*, PyObject* may) {
  const bool before = !no_guesses;
  const int now = PyObject_IsTrue(may);
  if (now < 0) return nullptr;
  no_guesses = !now;
  return PyBool_FromLong(before);
}
PyMethodDef functions[] = {
    {"_may_guess", py_guesses, METH_O, "_may_guess(bool) -> bool\n\nWhether derivatives that hang on values guess where tensors have none, on this thread; gives what was so before."},
    {"_operators_are_watched", py_watched, METH_NOARGS, "_operators_are_watched() -> bool\n\nWhether a mode, a transform or a dual level sees operators as they come."}, {}};

PyTypeObject StateGuardType{PyVarObject_HEAD_INIT(nullptr, 0)}, TensorGuardType{PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* state_holds(PyObject* self, PyObject* const*, size_t, PyObject*) {
  const auto& g = *reinterpret_cast<PyStateGuard*>(self);
  return PyBool_FromLong(!watched() && State::now() == g.seen && version_of(g.type) == g.version);
}
PyTypeObject* class_of_tensors() {
  static PyTypeObject* type = nullptr;
  if (!type) {
    Obj torch(checked(PyImport_ImportModule("torch")));
    PyObject* t = checked(PyObject_GetAttrString(torch.get(), "Tensor"));
    if (!PyType_Check(t)) raise_type("torch.Tensor is no class");
    type = reinterpret_cast<PyTypeObject*>(t);
  }
  return type;
}
PyObject* state_new(PyTypeObject* type, PyObject*, PyObject*) {
  FB_PY_BEGIN
  PyTypeObject* tensors = class_of_tensors();
  Obj asked(checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensors), "shape")));   // so that it has a version
  PyObject* o = checked(type->tp_alloc(type, 0));
  auto* g = reinterpret_cast<PyStateGuard*>(o);
  g->call = state_holds;
  g->seen = State::now();
  g->type = tensors;
  g->version = version_of(tensors);
  return o;
  FB_PY_END(nullptr)
}

struct Seen {
  Obj type;
  DType dtype;
  Device device;
  Layout layout;
  bool gradient, conj, neg, exact;   // exact: all sizes, and the strides
  Dims sizes, strides;               // -1 where any size will do
  explicit Seen(PyObject* o, PyObject* free) : type(Obj::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)))) {
    const Tensor& t = unwrap(o);
    dtype = t->dtype, device = t->device, layout = t->layout;
    gradient = requires_grad(t), conj = t->conj, neg = t->neg;
    sizes = t->sizes, strides = t->strides;
    Obj items(checked(PySequence_Fast(free, "_TensorGuard: the free dimensions of a tensor are a sequence")));
    exact = PySequence_Fast_GET_SIZE(items.get()) == 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      const Py_ssize_t d = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(items.get(), i));
      if (d == -1 && PyErr_Occurred()) throw PythonErrorSet{};
      FB_CHECK_INDEX(d >= 0 && d < sizes.size(), "_TensorGuard: dimension ", int64_t(d), " of a tensor of ", sizes.size(), " dimensions");
      sizes[d] = -1;
    }
  }
  bool holds(PyObject* o) const {
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != type.get()) return false;
    const Tensor& t = unwrap(o);
    if (t->dtype != dtype || t->device != device || t->layout != layout || t->conj != conj || t->neg != neg) return false;
    if (t->sizes.size() != sizes.size() || requires_grad(t) != gradient) return false;
    for (int64_t i = 0; i < sizes.size(); ++i)
      if ((sizes[i] >= 0 && t->sizes[i] != sizes[i]) || (exact && t->strides[i] != strides[i])) return false;
    return true;
  }
};

struct PyTensorGuard {
  PyObject_HEAD
  vectorcallfunc call;
  std::vector<Seen>* seen;
};
const std::vector<Seen>& seen_of(PyObject* o) { return *reinterpret_cast<PyTensorGuard*>(o)->seen; }

PyObject* tensors_hold(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  const std::vector<Seen>& seen = seen_of(self);
  const size_t n = size_t(PyVectorcall_NARGS(nargsf));
  if (n != seen.size() || kwnames) raise_type("_TensorGuard takes ", uint64_t(seen.size()), " tensors, but ", uint64_t(n), " were given");
  for (size_t i = 0; i < n; ++i)
    if (!seen[i].holds(args[i])) Py_RETURN_FALSE;
  Py_RETURN_TRUE;
  FB_PY_END(nullptr)
}
PyObject* tensors_new(PyTypeObject* type, PyObject* args, PyObject*) {
  FB_PY_BEGIN
  PyObject *tensors, *free;
  if (!PyArg_ParseTuple(args, "O!O!:_TensorGuard", &PyTuple_Type, &tensors, &PyTuple_Type, &free)) return nullptr;
  if (PyTuple_GET_SIZE(tensors) != PyTuple_GET_SIZE(free)) raise_type("_TensorGuard: one sequence of free dimensions for each tensor");
  std::vector<Seen> seen;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); ++i) {
    tensor_arg(PyTuple_GET_ITEM(tensors, i), "_TensorGuard", "tensors");
    seen.emplace_back(PyTuple_GET_ITEM(tensors, i), PyTuple_GET_ITEM(free, i));
  }
  PyObject* o = checked(type->tp_alloc(type, 0));
  reinterpret_cast<PyTensorGuard*>(o)->call = tensors_hold;
  reinterpret_cast<PyTensorGuard*>(o)->seen = new std::vector<Seen>(std::move(seen));
  return o;
  FB_PY_END(nullptr)
}
void tensors_dealloc(PyObject* o) {
  delete reinterpret_cast<PyTensorGuard*>(o)->seen;
  Py_TYPE(o)->tp_free(o);
}

void ready(PyObject* m, PyTypeObject& type, const char* name, const char* attribute, size_t size, size_t offset, newfunc make, const char* doc) {
  type.tp_name = name;
  type.tp_basicsize = Py_ssize_t(size);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_vectorcall_offset = Py_ssize_t(offset);
  type.tp_call = PyVectorcall_Call;
  type.tp_new = make;
  type.tp_doc = doc;
  checked(PyType_Ready(&type));
  checked(PyModule_AddObjectRef(m, attribute, reinterpret_cast<PyObject*>(&type)));
}

}  // namespace

void init_guards(PyObject* m) {
  checked(PyModule_AddFunctions(m, functions));
  TensorGuardType.tp_dealloc = tensors_dealloc;
  ready(m, StateGuardType, "torch._C._StateGuard", "_StateGuard", sizeof(PyStateGuard), offsetof(PyStateGuard, call), state_new,
        "_StateGuard()() -> bool\n\nWhether grad and inference mode, default dtype and device, the methods of torch.Tensor and the kernels in place of\n"
        "torch's own are as when it was made, and no mode, transform or dual level sees operators as they come.");
  ready(m, TensorGuardType, "torch._C._TensorGuard", "_TensorGuard", sizeof(PyTensorGuard), offsetof(PyTensorGuard, call), tensors_new,
        "_TensorGuard(tensors, free)(*tensors) -> bool\n\nWhether tensors are of the types, dtypes, devices, sizes and strides of those it was made of, and want\n"
        "gradients where those did. free: for each a sequence of dimensions that may have any size; then strides are free too.");
}

}  // namespace fb::py
