// The extension module: how C++ values look in Python. No logic of its own beyond parsing, wrapping and errors.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "core/allocator_history.h"
#include "dispatch/call.h"
#include "dispatch/op.h"

namespace fb::py {

struct PyTensor {
  PyObject_HEAD
  TensorImpl* impl;   // one reference, except while the tensor owns this object (impl->py_owned)
  PyObject* dict;
  PyObject* weakrefs;
};

// A Python reference that is dropped at the end of its scope.
class Obj {
 public:
  Obj() = default;
  explicit Obj(PyObject* owned) : p_(owned) {}
  Obj(Obj&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Obj& operator=(Obj&& o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  Obj(const Obj&) = delete;
  ~Obj() { Py_XDECREF(p_); }
  static Obj borrow(PyObject* p) {
    Py_XINCREF(p);
    return Obj(p);
  }
  PyObject* get() const { return p_; }
  PyObject* release() { return std::exchange(p_, nullptr); }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

// A failed Python call becomes a C++ exception that carries the error already set.
inline PyObject* checked(PyObject* p) {
  if (!p) throw PythonErrorSet{};
  return p;
}
inline void checked(int status) {
  if (status < 0) throw PythonErrorSet{};
}

// Sets the Python exception for the C++ one in flight; called in a catch block.
void set_python_error();
#define FB_PY_BEGIN try {
#define FB_PY_END(failed)        \
  }                              \
  catch (...) {                  \
    ::fb::py::set_python_error(); \
    return failed;               \
  }

// The innermost line of Python outside this package that this thread runs; the GIL is held.
OriginId python_line() noexcept;
// The same for code that runs without the GIL: noted when it is given up.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local OriginId line_without_gil;

// Takes the interpreter's lock back; where the interpreter is ending, a thread other than the last never returns.
void take_lock(PyThreadState* state);  // leaving.cpp
struct GilRelease {
  PyThreadState* state = nullptr;
  explicit GilRelease(bool on = true) {
    if (!on) return;
    line_without_gil = python_line();
    state = PyEval_SaveThread();
  }
  ~GilRelease() {
    if (state) take_lock(state);
  }
};
struct GilHold {
  PyGILState_STATE state = PyGILState_Ensure();
  ~GilHold() { PyGILState_Release(state); }
};

// ---- tensors ----
extern PyTypeObject TensorBaseType, TensorMetaType;
extern PyTypeObject* TensorType;     // torch.Tensor, once torch/_tensor.py defined it
extern PyTypeObject* ParameterType;  // torch.nn.Parameter, once it exists
PyObject* wrap(Tensor t);            // None for an undefined tensor
PyObject* wrap_as(const Tensor& t, PyTypeObject* type);  // a fresh object of a subclass
inline bool is_tensor(PyObject* o) {
  return Py_TYPE(o) == TensorType || Py_TYPE(o) == ParameterType || PyObject_TypeCheck(o, &TensorBaseType);
}
inline const Tensor& unwrap(PyObject* o) { return reinterpret_cast<const Tensor&>(reinterpret_cast<PyTensor*>(o)->impl); }
// Raises TypeError naming function and argument where o is no tensor.
const Tensor& tensor_arg(PyObject* o, const char* function, const char* arg);

// t takes the geometry and type of `like`; storage and history stay.
inline void take_geometry(const Tensor& t, const Tensor& like) {
  t->sizes = like->sizes;
  t->strides = like->strides;
  t->offset = like->offset;
  t->dtype = like->dtype;
  t->conj = like->conj;
  t->neg = like->neg;
  t->refresh();
}

// ---- small values ----
extern PyTypeObject DTypeType, DeviceType_, LayoutType, MemoryFormatType, SizeType, GeneratorType, StorageType;
PyObject* wrap_dtype(DType d);
PyObject* wrap_device(Device d);
PyObject* wrap_layout(Layout l);
PyObject* wrap_memory_format(MemoryFormat f);
PyObject* wrap_size(Ints sizes);
PyObject* wrap_scalar(const Scalar& s);
PyObject* wrap_value(const Value& v);
PyObject* wrap_storage(const Ref<Storage>& s);
PyObject* wrap_generator(Generator* g);
bool dtype_from(PyObject* o, DType& d);    // dtype objects, float, int, bool, complex
bool device_from(PyObject* o, Device& d);  // devices, strings, ints
Generator* generator_from(PyObject* o);
bool scalar_from(PyObject* o, Scalar& s);  // numbers, numpy scalars; not tensors
Device default_device();                   // torch.set_default_device

// ---- calls ----
PyObject* wrap_results(const OpEntry& op, Results& r);         // as torch.NAME gives them: lists are tuples, several may have names
PyObject* wrap_schema_results(const OpEntry& op, Results& r);  // as torch.ops gives them
// Calls the packet as Python would: parses, dispatches to __torch_function__ where an argument asks for it.
PyObject* call_packet(const Packet& p, PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                      PyObject* public_function, bool method);
bool has_torch_function(PyObject* o);
extern __attribute__((tls_model("initial-exec"))) constinit thread_local int function_modes;  // active TorchFunctionModes
PyObject* dispatch_torch_function(PyObject* public_function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

// ---- module parts ----
void init_types(PyObject* m);
void init_tensor(PyObject* m);
void init_ops(PyObject* m);
void init_construct(PyObject* m);
void init_storage(PyObject* m);
void init_autograd(PyObject* m);
void init_function(PyObject* m);
void init_generator(PyObject* m);
void init_memory(PyObject* m);
void init_optim(PyObject* m);
void init_dlpack(PyObject* m);
void init_forward_ad(PyObject* m);
void init_symbolic(PyObject* m);
void init_transforms(PyObject* m);
void init_dispatch_mode(PyObject* m);
void init_schema_object(PyObject* m);
void init_library(PyObject* m);
void init_leaving(PyObject* m);

PyObject* tensor_getitem(PyObject* self, PyObject* index);
int tensor_setitem(PyObject* self, PyObject* index, PyObject* value);
PyObject* tensor_item(PyObject* self);
Tensor tensor_from_data(PyObject* data, DType dtype, Device device, bool copy);

}  // namespace fb::py
