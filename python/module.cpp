// torch._C: gathers the parts.
#include "core/threads.h"
#include "python/binding.h"
#include "python/triton.h"

namespace fb::py {

void init_compiled(PyObject* m);   // compiled.cpp
void init_guards(PyObject* m);     // guards.cpp

namespace {

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(fb::get_num_threads()); }
PyObject* set_num_threads(PyObject*, PyObject* v) {
  FB_PY_BEGIN
  if (!PyLong_Check(v)) raise_type("set_num_threads expects an int, but got ", Py_TYPE(v)->tp_name);
  const long n = PyLong_AsLong(v);
  FB_CHECK(n > 0, "set_num_threads expects a positive integer, but got ", int64_t(n));
  fb::set_num_threads(int(n));
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* get_num_interop_threads(PyObject*, PyObject*) { return PyLong_FromLong(fb::get_num_interop_threads()); }
PyObject* set_num_interop_threads(PyObject*, PyObject* v) {
  FB_PY_BEGIN
  const long n = PyLong_AsLong(v);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  FB_CHECK(n > 0, "set_num_interop_threads expects a positive integer, but got ", int64_t(n));
  FB_CHECK(fb::set_num_interop_threads(int(n)), "set_num_interop_threads can be called once only");
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyMethodDef functions[] = {{"get_num_threads", get_num_threads, METH_NOARGS, "get_num_threads() -> int"},
                           {"set_num_threads", set_num_threads, METH_O, "set_num_threads(n): threads that one operator may use."},
                           {"get_num_interop_threads", get_num_interop_threads, METH_NOARGS, "get_num_interop_threads() -> int"},
                           {"set_num_interop_threads", set_num_interop_threads, METH_O, nullptr},
                           {}};
PyModuleDef module{PyModuleDef_HEAD_INIT, "torch._C", "The C++ core of torch.", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace fb::py

PyMODINIT_FUNC PyInit__C() {
  FB_PY_BEGIN
  using namespace fb::py;
  PyObject* m = checked(PyModule_Create(&module));
  init_types(m);
  init_tensor(m);
  init_storage(m);
  init_generator(m);
  init_ops(m);
  init_construct(m);
  init_autograd(m);
  init_function(m);
  init_memory(m);
  init_optim(m);
  init_dlpack(m);
  init_forward_ad(m);
  init_symbolic(m);
  init_transforms(m);
  init_dispatch_mode(m);
  init_schema_object(m);
  init_library(m);
  init_triton(m);
  init_compiled(m);
  init_guards(m);
  init_leaving(m);
  return m;
  FB_PY_END(nullptr)
}
