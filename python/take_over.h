// Attributes and methods of tensors written in C++ that classes with __torch_function__ and TorchFunctionModes take over.
// A plain tensor outside of modes pays for two comparisons.
#pragma once
#include "python/binding.h"

namespace fb::py {

inline bool taken_over(PyObject* o) {
  return function_modes || (Py_TYPE(o) != TensorType && Py_TYPE(o) != ParameterType && has_torch_function(o));
}

// Calls who takes over; as func it gets Tensor.NAME.ACCESSOR, or Tensor.NAME.
PyObject* ask_accessor(PyObject* o, const char* name, const char* accessor, PyObject* value);
PyObject* ask_method(PyObject* o, const char* name, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
PyObject* ask_method(PyObject* o, const char* name, PyObject* args, PyObject* kw);

// Calls the innermost mode; arguments are not asked.
PyObject* ask_modes(PyObject* fn, PyObject* args, PyObject* kw);

// For PyGetSetDef, whose closure is the attribute's name.
template <getter G>
PyObject* asked_get(PyObject* o, void* name) {
  if (taken_over(o)) [[unlikely]] return ask_accessor(o, static_cast<const char*>(name), "__get__", nullptr);
  return G(o, nullptr);
}
template <setter S>
int asked_set(PyObject* o, PyObject* value, void* name) {
  if (taken_over(o)) [[unlikely]] {
    Obj r(ask_accessor(o, static_cast<const char*>(name), value ? "__set__" : "__delete__", value));
    return r ? 0 : -1;
  }
  return S(o, value, nullptr);
}

// For PyMethodDef: methods without arguments or with one, fast ones, and those with a dict of keywords.
template <FixedString Name, PyCFunction F>
PyObject* asked(PyObject* o, PyObject* arg) {
  if (taken_over(o)) [[unlikely]] return ask_method(o, Name.s, &arg, arg ? 1 : 0, nullptr);
  return F(o, arg);
}
template <FixedString Name, PyObject* (*F)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)>
PyObject* asked_fast(PyObject* o, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  if (taken_over(o)) [[unlikely]] return ask_method(o, Name.s, args, n, kwnames);
  return F(o, args, n, kwnames);
}
template <FixedString Name, PyCFunctionWithKeywords F>
PyObject* asked_keywords(PyObject* o, PyObject* args, PyObject* kw) {
  if (taken_over(o)) [[unlikely]] return ask_method(o, Name.s, args, kw);
  return F(o, args, kw);
}

}  // namespace fb::py
