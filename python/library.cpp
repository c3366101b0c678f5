// torch.library: operators and kernels that Python registers.
#include "dispatch/library_load.h"

#include "python/dispatch_mode.h"
#include "python/parser.h"

namespace fb::py {
namespace {

void run_python_kernel(void* context, const OpEntry& op, const Value* args, Results& out) {
  GilHold gil;
  Obj fn = Obj::borrow(static_cast<PyObject*>(context));  // it may be replaced while it runs
  Obj positional, keywords;
  python_arguments(op, args, positional, keywords);
  Obj r(checked(PyObject_Call(fn.get(), positional.get(), keywords.get())));
  take_python_results(op, args, r.get(), out);
}
void drop_python_kernel(void* context) {
  if (!Py_IsInitialized()) return;
  GilHold gil;
  Py_DECREF(static_cast<PyObject*>(context));
}

const OpEntry& entry(const char* name) {
  const OpEntry* e = find_op(name);
  if (!e) raise_runtime("operator ", name, " does not exist");
  return *e;
}

PyObject* py_define(PyObject*, PyObject* schema) {
  FB_PY_BEGIN
  Py_ssize_t n;
  const char* s = PyUnicode_AsUTF8AndSize(schema, &n);
  if (!s) return nullptr;
  const OpEntry& op = library_define(std::string_view(s, size_t(n)));
  refresh_binding(*op.packet);
  return PyUnicode_FromString(op.schema.full_name().c_str());
  FB_PY_END(nullptr)
}
PyObject* py_undefine(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char* name;
  if (!PyArg_ParseTuple(args, "s:_library_undefine", &name)) return nullptr;
  const OpEntry& op = entry(name);
  library_undefine(op);
  refresh_binding(*op.packet);
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_impl(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char *name, *key;
  PyObject* fn;
  if (!PyArg_ParseTuple(args, "ssO:_library_impl", &name, &key, &fn)) return nullptr;
  if (!PyCallable_Check(fn)) raise_type("a kernel of ", name, " must be callable, got ", Py_TYPE(fn)->tp_name);
  const LibraryKey k = library_key(key);
  const OpEntry& op = entry(name);
  return PyLong_FromLongLong(library_impl(op, k, {run_python_kernel, Py_NewRef(fn), drop_python_kernel}));
  FB_PY_END(nullptr)
}
PyObject* py_remove(PyObject*, PyObject* number) {
  FB_PY_BEGIN
  const long long n = PyLong_AsLongLong(number);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  library_remove(n);
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_has(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  const char *name, *key;
  if (!PyArg_ParseTuple(args, "ss:_library_has", &name, &key)) return nullptr;
  return PyBool_FromLong(library_has_kernel(entry(name), library_key(key)));
  FB_PY_END(nullptr)
}
// Raises what went wrong while a shared object loaded; the packets that it may have added to are made anew.
PyObject* py_loaded(PyObject*, PyObject*) {
  FB_PY_BEGIN
  for (const Packet* p : all_packets())
    if (p->forms & form::library) refresh_binding(*p);
  const std::string errors = library_take_errors();
  FB_CHECK(errors.empty(), errors);
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_replacements(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(library_replacements()); }
PyObject* py_bump(PyObject*, PyObject* t) {
  FB_PY_BEGIN
  tensor_arg(t, "_bump_version", "tensor")->bump_version();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_same_storage(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO:_same_storage", &a, &b)) return nullptr;
  return PyBool_FromLong(tensor_arg(a, "_same_storage", "a")->storage.get() == tensor_arg(b, "_same_storage", "b")->storage.get());
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {{"_library_define", py_define, METH_O, "_library_define(\"ns::name(...) -> ...\") -> the name in the registry"},
                           {"_library_undefine", py_undefine, METH_VARARGS, nullptr},
                           {"_library_impl", py_impl, METH_VARARGS, "_library_impl(name, key, fn) -> a number for _library_remove"},
                           {"_library_remove", py_remove, METH_O, nullptr},
                           {"_library_has", py_has, METH_VARARGS, nullptr},
                           {"_library_loaded", py_loaded, METH_NOARGS, nullptr},
                           {"_library_replacements", py_replacements, METH_NOARGS, "_library_replacements() -> a number that changes when a kernel takes the place of a card's"},
                           {"_bump_version", py_bump, METH_O, nullptr},
                           {"_same_storage", py_same_storage, METH_VARARGS, nullptr},
                           {}};

}  // namespace

void init_library(PyObject* m) { checked(PyModule_AddFunctions(m, functions)); }

}  // namespace fb::py
