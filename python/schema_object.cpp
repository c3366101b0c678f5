// Schemas and kernels of operators as torch/_schema.py and torch/_ops.py ask for them.
#include "dispatch/library.h"
#include "dispatch/schema_words.h"
#include "dispatch/visible.h"
#include "python/dispatch_mode.h"

namespace fb::py {
namespace {

PyObject* default_value(const ArgSpec& a) {
  const Value& v = a.default_value;
  if (v.tag == Tag::bools) {
    Obj l(PyList_New(v.len));
    for (uint32_t i = 0; i < v.len; ++i) PyList_SET_ITEM(l.get(), i, PyBool_FromLong(v.bools[i]));
    return l.release();
  }
  if (a.type == ArgType::floating && v.tag == Tag::integer) return PyFloat_FromDouble(double(v.i));
  return wrap_value(v);
}

const OpEntry& entry(PyObject* name) {
  const char* s = PyUnicode_AsUTF8(name);
  if (!s) throw PythonErrorSet{};
  const OpEntry* e = find_op(s);
  if (!e) raise_runtime("there is no operator ", s);
  return *e;
}

// (text, qualified name, overload, [(name, type, optional elements, list, optional, keyword only, written, aliased, size, has default, default)],
//  [(name, type, list, written, aliased)])
PyObject* py_parts(PyObject*, PyObject* name) {
  FB_PY_BEGIN
  const OpEntry& e = entry(name);
  const Schema& s = e.schema;
  Obj args(checked(PyList_New(0))), returns(checked(PyList_New(0)));
  for (const ArgSpec& a : s.args) {
    Obj d(checked(default_value(a)));
    Obj t(checked(Py_BuildValue("(ssOOOOOOiOO)", a.name.c_str(), type_word(a.type), a.type == ArgType::optional_tensors ? Py_True : Py_False,
                                is_list(a.type) ? Py_True : Py_False, a.optional ? Py_True : Py_False, a.kwarg_only ? Py_True : Py_False,
                                a.written ? Py_True : Py_False, a.aliased ? Py_True : Py_False, int(a.list_size), a.has_default ? Py_True : Py_False, d.get())));
    checked(PyList_Append(args.get(), t.get()));
  }
  for (const ReturnSpec& r : s.returns) {
    Obj t(checked(Py_BuildValue("(ssOOO)", r.name.c_str(), type_word(r.type), is_list(r.type) ? Py_True : Py_False, r.written ? Py_True : Py_False,
                                r.aliased ? Py_True : Py_False)));
    checked(PyList_Append(returns.get(), t.get()));
  }
  const bool qualified = s.name.find("::") != std::string::npos;
  const bool library = e.card->forms & form::library;  // printed as it was written
  return Py_BuildValue("(sssOO)", ((qualified ? "" : "aten::") + (library ? print_as_written(e.card->schema, s) : s.print())).c_str(), ((qualified ? "" : "aten::") + s.name).c_str(), s.overload.c_str(),
                       args.get(), returns.get());
  FB_PY_END(nullptr)
}

// _op_has_kernel(name, key)
PyObject* py_has_kernel(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject* name;
  const char* key;
  if (!PyArg_ParseTuple(args, "Os:_op_has_kernel", &name, &key)) return nullptr;
  const OpEntry& e = entry(name);
  const std::string_view k(key);
  const bool composite = e.card->kind == CardKind::composite && e.form == OpForm::functional;
  const bool visible = e.card->forms & form::visible;
  bool has = false;
  if (e.card->forms & form::library) return PyBool_FromLong(library_has_kernel(e, library_key(k)));
  if (k == "CompositeImplicitAutograd") has = composite && !visible;
  else if (k == "CompositeExplicitAutograd") has = (composite && visible) || e.card->kind == CardKind::lowered || e.card->kind == CardKind::view;
  else if (k == "CPU") has = !composite && (!e.cpu.empty() || e.card->kind == CardKind::lowered || e.card->kind == CardKind::view || e.form != OpForm::functional);
  else if (k == "Meta") has = !composite && e.card->kind != CardKind::direct;
  else if (k.substr(0, 8) == "Autograd") has = !composite;
  return PyBool_FromLong(has);
  FB_PY_END(nullptr)
}

PyObject* py_takes(PyObject*, PyObject* o) { return PyBool_FromLong(is_tensor(o) && takes_dispatch(Py_TYPE(o))); }

PyMethodDef functions[] = {{"_op_schema_parts", py_parts, METH_O, nullptr},
                           {"_op_has_kernel", py_has_kernel, METH_VARARGS, nullptr},
                           {"_takes_dispatch", py_takes, METH_O, "_takes_dispatch(tensor) -> bool: whether its class takes calls itself."},
                           {}};

}  // namespace

void init_schema_object(PyObject* m) { checked(PyModule_AddFunctions(m, functions)); }

}  // namespace fb::py
