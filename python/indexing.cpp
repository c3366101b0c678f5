// x[...] and x[...] = v: basic indexing becomes views, tensors and masks become index and index_put_.
#include <cstring>

#include "autograd/node.h"
#include "dispatch/levels.h"
#include "python/dispatch_mode.h"
#include "python/symbolic.h"

namespace fb::py {
namespace {

struct Indexed {
  Tensor t;                        // after all basic indices
  std::vector<Tensor> indices;     // by dimension of t; undefined where none
  bool advanced = false;
  bool changed = false;
  int64_t ndim = 0;                // of the whole tensor
};

std::optional<int64_t> bound(PyObject* o) {
  if (o == Py_None) return std::nullopt;
  if (is_symbolic_number(o)) [[unlikely]] {
    Obj n(plain_number_of(o));
    return PyLong_AsLongLong(n.get());
  }
  if (is_tensor(o) || !PyLong_CheckExact(o)) {
    Obj n(PyNumber_Index(o));
    if (!n) throw PythonErrorSet{};
    return PyLong_AsLongLong(n.get());
  }
  int over = 0;
  const long long v = PyLong_AsLongLongAndOverflow(o, &over);
  if (over) return over > 0 ? INT64_MAX : INT64_MIN;
  return v;
}

bool is_sequence(PyObject* o) { return PySequence_Check(o) && !PyUnicode_Check(o) && !PyBytes_Check(o); }

// Dimensions an index uses up; -1 for an ellipsis.
int64_t consumes(PyObject* o) {
  if (o == Py_None || PyBool_Check(o)) return 0;
  if (o == Py_Ellipsis) return -1;
  if (is_tensor(o)) {
    const Tensor& t = unwrap(o);
    return t.dtype() == DType::boolean || t.dtype() == DType::u8 ? t.ndim() : 1;
  }
  return 1;
}

Tensor index_tensor(PyObject* o, Device d) {
  Tensor t = tensor_from_data(o, DType::none, d, true);
  if (t.numel() == 0 && t.is_floating()) t = op<"to.dtype">(t, DType::i64);
  return t;
}

bool differs_between_examples(Tensor t) {
  while (t->flags & kWrapped) {
    const Wrapped* w = wrapped_in(t);
    if (!w) return false;
    if (w->batch_dim >= 0) return true;
    t = w->inner;
  }
  return false;
}

void apply(Indexed& r, PyObject* o, int64_t& dim, int64_t specified) {
  if (PyLong_Check(o) && !PyBool_Check(o)) {
    const long long i = PyLong_AsLongLong(o);
    if (i == -1 && PyErr_Occurred()) throw PythonErrorSet{};
    r.t = op<"select">(r.t, dim, int64_t(i));
    r.changed = true;
    return;
  }
  if (PySlice_Check(o)) {
    auto* s = reinterpret_cast<PySliceObject*>(o);
    const auto step = bound(s->step);
    if (step && *step <= 0) raise_value("slice step ", *step, " is not supported; it must be greater than zero");
    if (s->start != Py_None || s->stop != Py_None || (step && *step != 1)) {
      r.t = op<"slice">(r.t, dim, bound(s->start), bound(s->stop), step.value_or(1));
      r.changed = true;
    }
    ++dim;
    return;
  }
  if (o == Py_Ellipsis) {
    dim += r.ndim - specified;
    return;
  }
  if (o == Py_None) {
    r.t = op<"unsqueeze">(r.t, dim);
    r.changed = true;
    ++dim;
    return;
  }
  auto record = [&](Tensor t) {
    r.indices.resize(size_t(dim));
    r.indices.push_back(std::move(t));
    r.advanced = true;
  };
  if (PyBool_Check(o)) {
    r.t = op<"unsqueeze">(r.t, dim);
    Tensor m = Tensor::empty({1}, {DType::boolean, r.t.device()});
    if (!m.is_meta() && m->storage->data) *m.ptr<bool>() = o == Py_True;
    record(m);
    ++dim;
    return;
  }
  if (is_tensor(o)) {
    const Tensor& t = unwrap(o);
    if (t.ndim() == 0 && is_integral(t.dtype(), true)) {
      if (t.dtype() != DType::boolean && t.dtype() != DType::u8) {
        if (differs_between_examples(t)) {  // no number, but a place for each
          record(t);
          ++dim;
          return;
        }
        r.t = op<"select">(r.t, dim, op_value<"item">(t).scalar().to_int());
        r.changed = true;
        return;
      }
      r.t = op<"unsqueeze">(r.t, dim);
      record(op<"to.dtype">(op<"unsqueeze">(t, int64_t(0)), DType::boolean));
      ++dim;
      return;
    }
    record(t);
    // A mask covers as many dimensions as it has; index() lines the rest up.
    if (t.dtype() == DType::boolean || t.dtype() == DType::u8) {
      dim += t.ndim();
      r.indices.resize(size_t(dim));
    } else ++dim;
    return;
  }
  if (is_symbolic_number(o)) [[unlikely]] {
    Obj n(plain_number_of(o));
    return apply(r, n.get(), dim, specified);
  }
  if (PyIndex_Check(o) && !is_sequence(o)) {
    Obj n(checked(PyNumber_Index(o)));
    return apply(r, n.get(), dim, specified);
  }
  if (is_sequence(o) || PyObject_HasAttrString(o, "__array_interface__")) {
    const Tensor t = index_tensor(o, r.t.device());
    Obj w(wrap(t));
    return apply(r, w.get(), dim, specified);
  }
  if (PyUnicode_Check(o)) raise_type("an index is an int, a slice, ..., None, or a tensor or list of ints or bools, not str");
  raise(ErrorKind::index, text("an index is an int, a slice, ..., None, or a tensor or list of ints or bools, not ", Py_TYPE(o)->tp_name));
}

// A mask given for k dimensions is one entry of the indices; the driver expects the entries compacted as index() takes them.
Indexed resolve(const Tensor& self, PyObject* index) {
  call_from_python.begin();
  call_from_python.on_python_tensors = self->python;
  Obj as_tuple;
  // A short list that holds anything but numbers stands for a tuple, as in old numpy; deprecated there and here.
  if (PyList_Check(index) && PyList_GET_SIZE(index) < 32) {
    bool nested = false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(index) && !nested; ++i) {
      PyObject* o = PyList_GET_ITEM(index, i);
      nested = is_tensor(o) || is_sequence(o) || PySlice_Check(o) || o == Py_None || o == Py_Ellipsis;
    }
    if (nested) {
      as_tuple = Obj(checked(PyList_AsTuple(index)));
      index = as_tuple.get();
    }
  }
  Indexed r;
  r.t = self;
  r.ndim = self.ndim();
  int64_t dim = 0;
  if (!PyTuple_Check(index)) {
    if (consumes(index) > 0 && self.ndim() == 0 && !(is_tensor(index) && unwrap(index).ndim() == 0 && unwrap(index).dtype() == DType::boolean)) {
      if (PyLong_Check(index) || PySlice_Check(index))
        raise_index("a 0-d tensor takes no index; use tensor.item() to get its number");
    }
    apply(r, index, dim, index == Py_Ellipsis ? 0 : consumes(index));
    return r;
  }
  int64_t specified = 0;
  const Py_ssize_t n = PyTuple_GET_SIZE(index);
  for (Py_ssize_t i = 0; i < n; ++i) {
    const int64_t c = consumes(PyTuple_GET_ITEM(index, i));
    if (c > 0) specified += c;
  }
  FB_CHECK_INDEX(specified <= self.ndim(), "too many indices: ", specified, " dimensions are indexed, the tensor of shape ", self.sizes(),
                 " has ", self.ndim());
  for (Py_ssize_t i = 0; i < n; ++i) apply(r, PyTuple_GET_ITEM(index, i), dim, specified);
  return r;
}

// Entries follow dimensions; a mask over k dimensions holds the first of its k places, the others are dropped here.
std::vector<Tensor> compact(const Indexed& r) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < r.indices.size(); ++i) {
    out.push_back(r.indices[i]);
    const Tensor& t = r.indices[i];
    if (t.defined() && (t.dtype() == DType::boolean || t.dtype() == DType::u8) && t.ndim() > 1) i += size_t(t.ndim()) - 1;
  }
  while (!out.empty() && !out.back().defined()) out.pop_back();
  return out;
}

}  // namespace

PyObject* tensor_getitem(PyObject* self, PyObject* index) {
  FB_PY_BEGIN
  PyObject* args[2] = {self, index};
  if (function_modes || has_torch_function(self) || has_torch_function(index)) {
    Obj m(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), "__getitem__"));
    return dispatch_torch_function(m.get(), args, 2, nullptr);
  }
  const Tensor& t = unwrap(self);
  if (PyLong_CheckExact(index) && t.ndim() > 0) {
    const long long i = PyLong_AsLongLong(index);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    return wrap(op<"select">(t, int64_t(0), int64_t(i)));
  }
  Indexed r = resolve(t, index);
  if (!r.advanced) return wrap(r.changed ? r.t : op<"alias">(r.t));
  const std::vector<Tensor> idx = compact(r);
  GilRelease release(r.t.numel() > 32768);
  Tensor out = op<"index">(r.t, idx);
  if (release.state) {
    take_lock(std::exchange(release.state, nullptr));
  }
  return wrap(out);
  FB_PY_END(nullptr)
}

int tensor_setitem(PyObject* self, PyObject* index, PyObject* value) {
  FB_PY_BEGIN
  if (!value) raise_type("elements of a tensor cannot be deleted");
  if (function_modes || has_torch_function(self) || has_torch_function(index) || has_torch_function(value)) {
    Obj m(PyObject_GetAttrString(reinterpret_cast<PyObject*>(TensorType), "__setitem__"));
    PyObject* args[3] = {self, index, value};
    Obj r(dispatch_torch_function(m.get(), args, 3, nullptr));
    return r ? 0 : -1;
  }
  const Tensor& t = unwrap(self);
  Indexed r = resolve(t, index);
  Scalar s;
  const bool number = !is_tensor(value) && scalar_from(value, s);
  // A half type takes a number too large for it as infinity, here as in torch.tensor.
  if (number && s.is_integral() + s.is_floating() && t.is_floating() && t.item_bytes() < 4)
    visit_types<half, bfloat16, float8_e5m2, float8_e4m3fn>(t.dtype(), [&]<class T>() { s = Scalar(double(float(s.to<T>()))); });
  if (number && !r.advanced && !dispatches(t)) {
    op_list<"fill_">(r.t, s);
    return 0;
  }
  Tensor v;
  if (is_tensor(value)) v = unwrap(value);
  else if (number) {
    if (dispatches(t)) v = tensor_from_data(value, t.dtype(), Device(), true);
    else v = op<"full">(Ints(), s, t.dtype(), std::nullopt, t.device());
  } else if (is_sequence(value) || value == Py_None || PyObject_HasAttrString(value, "__array_interface__")) {
    raise_type("elements of a tensor are set from a number or a tensor, not from a ", Py_TYPE(value)->tp_name, "; torch.tensor(value) makes one");
  } else v = tensor_from_data(value, t.dtype(), t.device(), true);
  // Leading dimensions of size 1 that the target lacks fall away, as in numpy.
  auto fit = [](Tensor v, int64_t ndim) {
    int64_t drop = 0;
    while (v.ndim() - drop > ndim && v.sizes()[drop] == 1) ++drop;
    if (!drop) return v;
    return op<"reshape">(v, v.sizes().slice(drop, v.ndim() - drop));
  };
  if (number && !r.advanced) {
    op_list<"fill_">(r.t, v);
    return 0;
  }
  if (!r.advanced) {
    op_list<"copy_">(r.t, fit(v, r.t.ndim()));
    return 0;
  }
  const std::vector<Tensor> idx = compact(r);
  if (PyBool_Check(index) && v.dtype() != t.dtype()) v = op<"to.dtype">(v, t.dtype());  // all of t or nothing: a copy
  op_list<"index_put_">(r.t, idx, v, false);
  return 0;
  FB_PY_END(-1)
}

}  // namespace fb::py
