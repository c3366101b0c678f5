// torch._C._functorch: entering and leaving levels of transforms, wrapping and unwrapping. torch/_functorch/ does the rest.
#include "autograd/forward.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"
#include "python/binding.h"

namespace fb::py {
namespace {

Level* level_at(PyObject* depth) {
  const long n = PyLong_AsLong(depth);
  if (n == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  for (Level* l = innermost_level(); l; l = l->outer.get())
    if (l->depth == n) return l;
  raise_runtime("no transform is open at level ", int64_t(n));
}
Ref<Level> shared(Level* l) { return Ref<Level>::share(l); }

int64_t integer(PyObject* o) {
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return n;
}

PyObject* enter(LevelKind kind, int64_t batch, Randomness r) { return PyLong_FromLongLong(enter_level(kind, batch, r)->depth); }

PyObject* py_enter_vmap(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  long long batch;
  const char* randomness;
  if (!PyArg_ParseTuple(args, "Ls:_vmap_increment_nesting", &batch, &randomness)) return nullptr;
  const std::string_view r(randomness);
  FB_CHECK(r == "error" || r == "different" || r == "same", "randomness must be 'error', 'different' or 'same', it is '", r, "'");
  return enter(LevelKind::batch, batch, r == "error" ? Randomness::error : r == "same" ? Randomness::same : Randomness::different);
  FB_PY_END(nullptr)
}
PyObject* py_enter_grad(PyObject*, PyObject*) {
  FB_PY_BEGIN
  return enter(LevelKind::grad, 0, Randomness::error);
  FB_PY_END(nullptr)
}
PyObject* py_enter_jvp(PyObject*, PyObject*) {
  FB_PY_BEGIN
  enter_forward_transform();
  return enter(LevelKind::forward, 0, Randomness::error);
  FB_PY_END(nullptr)
}
// Leaves the innermost level; its depth is given back.
PyObject* py_leave(PyObject*, PyObject*) {
  FB_PY_BEGIN
  Level* l = innermost_level();
  FB_CHECK(l, "no transform is open, so none can be left");
  const Ref<Level> keep = shared(l);
  leave_level(keep);
  if (keep->kind == LevelKind::forward) leave_forward_transform();
  return PyLong_FromLongLong(keep->depth);
  FB_PY_END(nullptr)
}

const Wrapped* at(const Tensor& t, const Level* l) {
  const Wrapped* w = wrapped_in(t);
  return w && w->level.get() == l ? w : nullptr;
}

// _add_batch_dim(tensor, dim, level): what each example sees of tensor.
PyObject* py_add_batch_dim(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensor, *dim, *depth;
  if (!PyArg_ParseTuple(args, "OOO:_add_batch_dim", &tensor, &dim, &depth)) return nullptr;
  const Tensor t = settled(tensor_arg(tensor, "_add_batch_dim", "tensor"));
  const int64_t d = wrap_dim(integer(dim), t.ndim(), false);
  return wrap(wrap_at(shared(level_at(depth)), t, d));
  FB_PY_END(nullptr)
}
// _remove_batch_dim(tensor, level, size, dim): the whole batch of a result, its dimension at dim.
PyObject* py_remove_batch_dim(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensor, *depth, *size, *dim;
  if (!PyArg_ParseTuple(args, "OOOO:_remove_batch_dim", &tensor, &depth, &size, &dim)) return nullptr;
  const Tensor t = settled(tensor_arg(tensor, "_remove_batch_dim", "tensor"));
  const Level* l = level_at(depth);
  const int64_t to = wrap_dim(integer(dim), t.ndim() + 1, false);
  int64_t from = -1;
  const Ref<Level> keep = shared(const_cast<Level*>(l));
  const bool mine = at(t, l) != nullptr;
  Tensor x = mine ? unwrap(t, &from) : t;
  Outside outside(*l);
  if (from < 0) {
    x = op<"unsqueeze">(x, to);
    Dims sizes(x.sizes());
    sizes[to] = integer(size);
    return wrap(op<"expand">(x, sizes.span()));
  }
  if (from == to) return wrap(x);
  Dims order;
  for (int64_t d = 0; d < x.ndim(); ++d)
    if (d != from) order.push_back(d);
  order.insert(to, from);
  return wrap(op<"permute">(x, order.span()));
  FB_PY_END(nullptr)
}
// _wrap_for_grad(tensor, level)
PyObject* py_wrap_for_grad(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensor, *depth;
  if (!PyArg_ParseTuple(args, "OO:_wrap_for_grad", &tensor, &depth)) return nullptr;
  return wrap(wrap_at(shared(level_at(depth)), settled(tensor_arg(tensor, "_wrap_for_grad", "tensor")), -1));
  FB_PY_END(nullptr)
}
// _unwrap_for_grad(tensor, level): the tensor itself where it is not of that level.
PyObject* py_unwrap_for_grad(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensor, *depth;
  if (!PyArg_ParseTuple(args, "OO:_unwrap_for_grad", &tensor, &depth)) return nullptr;
  const Tensor& t = tensor_arg(tensor, "_unwrap_for_grad", "tensor");
  const Tensor s = settled(t);
  const Level* l = level_at(depth);
  if (at(s, l)) return wrap(unwrap(s));
  return s.is(t) ? Py_NewRef(tensor) : wrap(s);
  FB_PY_END(nullptr)
}
// _create_differentiable(wrapper): the wrapper, as a variable of its level.
PyObject* py_create_differentiable(PyObject*, PyObject* tensor) {
  FB_PY_BEGIN
  set_requires_grad(tensor_arg(tensor, "_create_differentiable", "tensor"), true);
  return Py_NewRef(tensor);
  FB_PY_END(nullptr)
}
// _set_tangent(wrapper, tangent) and _get_tangent(wrapper), at the wrapper's own level
PyObject* py_set_tangent(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensor, *tangent;
  if (!PyArg_ParseTuple(args, "OO:_set_tangent", &tensor, &tangent)) return nullptr;
  const Tensor& p = tensor_arg(tensor, "_set_tangent", "tensor");
  const Tensor& t = tensor_arg(tangent, "_set_tangent", "tangent");
  FB_CHECK(p.sizes() == t.sizes(), "the tangent has shape ", t.sizes(), ", its primal ", p.sizes());
  set_tangent(p, t.dtype() == p.dtype() ? t : op<"to.dtype">(t, p.dtype()));
  return Py_NewRef(tensor);
  FB_PY_END(nullptr)
}
PyObject* py_get_tangent(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *tensor, *depth;
  if (!PyArg_ParseTuple(args, "OO:_get_tangent", &tensor, &depth)) return nullptr;
  const Tensor t = settled(tensor_arg(tensor, "_get_tangent", "tensor"));
  return wrap(at(t, level_at(depth)) ? tangent_of(t) : Tensor());
  FB_PY_END(nullptr)
}

PyObject* py_is_batched(PyObject*, PyObject* o) {
  if (!is_tensor(o)) Py_RETURN_FALSE;
  const Wrapped* w = wrapped_in(unwrap(o));
  return PyBool_FromLong(w && w->level->kind == LevelKind::batch);
}
PyObject* py_is_grad_tracking(PyObject*, PyObject* o) {
  if (!is_tensor(o)) Py_RETURN_FALSE;
  const Wrapped* w = wrapped_in(unwrap(o));
  return PyBool_FromLong(w && w->level->kind != LevelKind::batch);
}
PyObject* py_is_wrapped(PyObject*, PyObject* o) { return PyBool_FromLong(is_tensor(o) && unwrap(o)->wrapped); }
PyObject* py_is_dead(PyObject*, PyObject* o) {
  if (!is_tensor(o)) Py_RETURN_FALSE;
  const Wrapped* w = wrapped_in(unwrap(o));
  return PyBool_FromLong(w && !w->level->alive);
}
PyObject* py_get_unwrapped(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  const Tensor& t = tensor_arg(o, "get_unwrapped", "tensor");
  return t->wrapped ? wrap(unwrap(t)) : Py_NewRef(o);
  FB_PY_END(nullptr)
}
PyObject* py_maybe_get_bdim(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  const Wrapped* w = wrapped_in(tensor_arg(o, "maybe_get_bdim", "tensor"));
  return PyLong_FromLongLong(w ? w->batch_dim : -1);
  FB_PY_END(nullptr)
}
PyObject* py_maybe_get_level(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  const Wrapped* w = wrapped_in(tensor_arg(o, "maybe_get_level", "tensor"));
  return PyLong_FromLongLong(!w ? -1 : w->level->alive ? w->level->depth : -2);
  FB_PY_END(nullptr)
}
PyObject* py_maybe_current_level(PyObject*, PyObject*) {
  const Level* l = innermost_level();
  return l ? PyLong_FromLongLong(l->depth) : Py_NewRef(Py_None);
}
// (kind, depth, batch size, randomness) of the innermost level, or None
PyObject* py_level_info(PyObject*, PyObject*) {
  const Level* l = innermost_level();
  if (!l) Py_RETURN_NONE;
  return Py_BuildValue("(sLLs)", l->kind == LevelKind::batch ? "vmap" : l->kind == LevelKind::grad ? "grad" : "jvp", (long long)l->depth,
                       (long long)l->batch, l->randomness == Randomness::error ? "error" : l->randomness == Randomness::same ? "same" : "different");
}
// _outside(function, level): calls function() as outside of that level.
PyObject* py_outside(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *fn, *depth;
  if (!PyArg_ParseTuple(args, "OO:_outside", &fn, &depth)) return nullptr;
  const Ref<Level> l = shared(level_at(depth));
  Outside outside(*l);
  return PyObject_CallNoArgs(fn);
  FB_PY_END(nullptr)
}

PyObject* py_set_aside(PyObject*, PyObject*) {
  FB_PY_BEGIN
  set_levels_aside();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* py_take_back(PyObject*, PyObject*) {
  FB_PY_BEGIN
  take_levels_back();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {
    {"_vmap_increment_nesting", py_enter_vmap, METH_VARARGS, "_vmap_increment_nesting(batch_size, randomness) -> level"},
    {"_vmap_decrement_nesting", py_leave, METH_NOARGS, nullptr},
    {"_grad_increment_nesting", py_enter_grad, METH_NOARGS, "_grad_increment_nesting() -> level"},
    {"_grad_decrement_nesting", py_leave, METH_NOARGS, nullptr},
    {"_jvp_increment_nesting", py_enter_jvp, METH_NOARGS, "_jvp_increment_nesting() -> level"},
    {"_jvp_decrement_nesting", py_leave, METH_NOARGS, nullptr},
    {"_add_batch_dim", py_add_batch_dim, METH_VARARGS, "_add_batch_dim(tensor, dim, level) -> Tensor"},
    {"_remove_batch_dim", py_remove_batch_dim, METH_VARARGS, "_remove_batch_dim(tensor, level, batch_size, dim) -> Tensor"},
    {"_wrap_for_grad", py_wrap_for_grad, METH_VARARGS, "_wrap_for_grad(tensor, level) -> Tensor"},
    {"_unwrap_for_grad", py_unwrap_for_grad, METH_VARARGS, "_unwrap_for_grad(tensor, level) -> Tensor"},
    {"_create_differentiable", py_create_differentiable, METH_O, nullptr},
    {"_set_tangent", py_set_tangent, METH_VARARGS, nullptr},
    {"_get_tangent", py_get_tangent, METH_VARARGS, nullptr},
    {"_outside", py_outside, METH_VARARGS, nullptr},
    {"_set_levels_aside", py_set_aside, METH_NOARGS, "No level is open until _take_levels_back()."},
    {"_take_levels_back", py_take_back, METH_NOARGS, nullptr},
    {"_level_info", py_level_info, METH_NOARGS, nullptr},
    {"is_batchedtensor", py_is_batched, METH_O, "Whether a tensor stands for one example within torch.vmap."},
    {"is_gradtrackingtensor", py_is_grad_tracking, METH_O, "Whether a tensor is of a level where torch.func takes derivatives."},
    {"is_functorch_wrapped_tensor", py_is_wrapped, METH_O, nullptr},
    {"is_dead_tensor_wrapper", py_is_dead, METH_O, nullptr},
    {"get_unwrapped", py_get_unwrapped, METH_O, "What a wrapper stands for, one level further out."},
    {"maybe_get_bdim", py_maybe_get_bdim, METH_O, "The dimension of the batch, -1 where there is none."},
    {"maybe_get_level", py_maybe_get_level, METH_O, "The level of a wrapper, -1 of a plain tensor, -2 of a level that was left."},
    {"maybe_current_level", py_maybe_current_level, METH_NOARGS, nullptr},
    {}};
PyModuleDef module{PyModuleDef_HEAD_INIT, "torch._C._functorch", "Levels of function transforms.", -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

void init_transforms(PyObject* m) {
  PyObject* sub = checked(PyModule_Create(&module));
  PyObject* modules = PyImport_GetModuleDict();
  checked(PyDict_SetItemString(modules, "torch._C._functorch", sub));
  checked(PyModule_AddObject(m, "_functorch", sub));
}

}  // namespace fb::py
