// What a step of an optimizer does per parameter in Python, done per list: gradients and state are collected.
#include "autograd/node.h"
#include "python/binding.h"

namespace fb::py {
namespace {

bool is_plain(PyObject* o) { return Py_TYPE(o) == TensorType || Py_TYPE(o) == ParameterType; }

// (simple, params, grads, *lists): the parameters that have a gradient, their gradients, and for each name the entries
// of state[param]. `simple`: every list is complete, and all are dense tensors of one floating type on the CPU, so that
// one call on lists can take them. Where it is false the caller goes through the parameters itself.
PyObject* collect(PyObject*, PyObject* const* args, Py_ssize_t n) {
  FB_PY_BEGIN
  if (n != 3 || !PyList_Check(args[0]) || !PyDict_Check(args[1]) || !PyTuple_Check(args[2]))
    raise_type("_collect_for_step takes (list of parameters, dict of states, tuple of names)");
  PyObject *all = args[0], *states = args[1], *names = args[2];
  const Py_ssize_t kinds = PyTuple_GET_SIZE(names);
  Obj out(checked(PyTuple_New(3 + kinds)));
  for (Py_ssize_t k = 0; k < 2 + kinds; ++k) PyTuple_SET_ITEM(out.get(), 1 + k, checked(PyList_New(0)));
  PyObject *params = PyTuple_GET_ITEM(out.get(), 1), *grads = PyTuple_GET_ITEM(out.get(), 2);
  bool simple = function_modes == 0;
  DType dtype = DType::none;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all) && simple; ++i) {
    PyObject* p = PyList_GET_ITEM(all, i);
    if (!is_plain(p)) {
      simple = false;
      break;
    }
    const Tensor& t = unwrap(p);
    const AutogradMeta* m = find_meta(t);
    if (!m || !m->grad.defined()) continue;
    const Tensor& g = m->grad;
    if (dtype == DType::none) dtype = t.dtype();
    if (t.dtype() != dtype || !t.is_floating() || !t.device().is_cpu() || t->layout != Layout::strided ||
        g.dtype() != dtype || g->layout != Layout::strided || g->conj || g->neg || t->neg) {
      simple = false;
      break;
    }
    Obj grad(checked(wrap(g)));
    checked(PyList_Append(params, p));
    checked(PyList_Append(grads, grad.get()));
    if (!kinds) continue;
    PyObject* state = PyDict_GetItemWithError(states, p);
    if (!state || !PyDict_Check(state)) {
      if (PyErr_Occurred()) return nullptr;
      simple = false;
      break;
    }
    for (Py_ssize_t k = 0; k < kinds; ++k) {
      PyObject* v = PyDict_GetItemWithError(state, PyTuple_GET_ITEM(names, k));
      if (!v || !is_plain(v)) {
        if (!v && PyErr_Occurred()) return nullptr;
        simple = false;
        break;
      }
      checked(PyList_Append(PyTuple_GET_ITEM(out.get(), 3 + k), v));
    }
  }
  PyTuple_SET_ITEM(out.get(), 0, PyBool_FromLong(simple));
  return out.release();
  FB_PY_END(nullptr)
}

// Drops the gradients of a list of parameters.
PyObject* drop_grads(PyObject*, PyObject* all) {
  FB_PY_BEGIN
  if (!PyList_Check(all)) raise_type("_drop_grads takes a list of parameters");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(all); ++i) {
    PyObject* p = PyList_GET_ITEM(all, i);
    if (!is_plain(p)) {
      checked(PyObject_SetAttrString(p, "grad", Py_None));
      continue;
    }
    const Tensor& t = unwrap(p);
    if (find_meta(t)) meta_of(t).grad = Tensor();
  }
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {
    {"_collect_for_step", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(collect)), METH_FASTCALL, nullptr},
    {"_drop_grads", drop_grads, METH_O, nullptr},
    {}};

}  // namespace

void init_optim(PyObject* m) { checked(PyModule_AddFunctions(m, functions)); }

}  // namespace fb::py
