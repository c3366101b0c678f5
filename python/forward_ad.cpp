// Forward mode as Python sees it: dual levels, duals, and the switch.
#include "autograd/forward.h"
#include "dispatch/thread_state.h"
#include "python/binding.h"

namespace fb::py {
namespace {

PyObject* py_enter(PyObject*, PyObject*) {
  FB_PY_BEGIN
  enter_dual_level();
  return PyLong_FromLong(0);
  FB_PY_END(nullptr)
}
PyObject* py_exit(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"level", nullptr};
  int level = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|i:_exit_dual_level", const_cast<char**>(names), &level)) return nullptr;
  FB_CHECK(level == 0, "dual level ", level, " is not the one that is open (0)");
  exit_dual_level();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
int level_of(PyObject* o) {
  const long l = PyLong_AsLong(o);
  if (l == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  FB_CHECK(l == 0 && dual_level_open, "dual level ", int64_t(l), " is not open");
  return int(l);
}
PyObject* py_make_dual(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"primal", "tangent", "level", nullptr};
  PyObject *primal, *tangent, *level;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OOO:_make_dual", const_cast<char**>(names), &primal, &tangent, &level)) return nullptr;
  const Tensor& p = tensor_arg(primal, "_make_dual", "primal");
  const Tensor& t = tensor_arg(tangent, "_make_dual", "tangent");
  level_of(level);
  return wrap(make_dual(p, t));
  FB_PY_END(nullptr)
}
PyObject* py_unpack_dual(PyObject*, PyObject* args, PyObject* kw) {
  FB_PY_BEGIN
  static const char* names[] = {"dual", "level", nullptr};
  PyObject *dual, *level;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO:_unpack_dual", const_cast<char**>(names), &dual, &level)) return nullptr;
  const Tensor& d = tensor_arg(dual, "_unpack_dual", "dual");
  const long l = PyLong_AsLong(level);
  if (l == -1 && PyErr_Occurred()) return nullptr;
  Obj primal(checked(wrap(primal_of(d))));
  Obj tangent(checked(wrap(tls.forward_enabled && !tls.inference ? tangent_of(d) : Tensor())));
  return PyTuple_Pack(2, primal.get(), tangent.get());
  FB_PY_END(nullptr)
}
PyObject* py_fw_grad(PyObject*, PyObject* t) {
  FB_PY_BEGIN
  return wrap(tangent_of(tensor_arg(t, "_forward_tangent", "tensor")));
  FB_PY_END(nullptr)
}
PyObject* py_set_enabled(PyObject*, PyObject* v) {
  tls.forward_enabled = PyObject_IsTrue(v) == 1;
  Py_RETURN_NONE;
}
PyObject* py_is_enabled(PyObject*, PyObject*) { return PyBool_FromLong(tls.forward_enabled); }
PyObject* py_is_open(PyObject*, PyObject*) { return PyBool_FromLong(dual_level_open); }

PyMethodDef functions[] = {{"_enter_dual_level", py_enter, METH_NOARGS, "_enter_dual_level() -> int"},
                           {"_exit_dual_level", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_exit)), METH_VARARGS | METH_KEYWORDS, "_exit_dual_level(level)"},
                           {"_make_dual", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_make_dual)), METH_VARARGS | METH_KEYWORDS, "_make_dual(primal, tangent, level) -> Tensor"},
                           {"_unpack_dual", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(py_unpack_dual)), METH_VARARGS | METH_KEYWORDS, "_unpack_dual(dual, level) -> (primal, tangent)"},
                           {"_forward_tangent", py_fw_grad, METH_O, "The tangent of a tensor at the open level, or None."},
                           {"_set_fwd_grad_enabled", py_set_enabled, METH_O, nullptr},
                           {"_is_fwd_grad_enabled", py_is_enabled, METH_NOARGS, nullptr},
                           {"_is_dual_level_open", py_is_open, METH_NOARGS, nullptr},
                           {}};

}  // namespace

void init_forward_ad(PyObject* m) { checked(PyModule_AddFunctions(m, functions)); }

}  // namespace fb::py
