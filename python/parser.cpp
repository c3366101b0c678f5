#include "python/parser.h"

#include <cstring>
#include <unordered_map>

#include "autograd/node.h"
#include "dispatch/levels.h"
#include "dispatch/library.h"
#include "dispatch/table_read.h"
#include "python/symbolic.h"

namespace fb::py {

bool enum_value(PyObject* o, PyTypeObject* t, int& v);  // types.cpp

namespace {

PyObject *s_self, *s_input, *s_dim, *s_axis, *s_keepdim, *s_keepdims, *s_out, *s_requires_grad, *s_other, *s_x2, *s_x, *s_a, *s_x1,
    *s_names, *s_dtype, *s_pin_memory;

void intern_names() {
  if (s_self) return;
  auto in = [](const char* s) { return PyUnicode_InternFromString(s); };
  s_self = in("self"); s_input = in("input"); s_dim = in("dim"); s_axis = in("axis"); s_keepdim = in("keepdim");
  s_keepdims = in("keepdims"); s_out = in("out"); s_requires_grad = in("requires_grad"); s_other = in("other");
  s_x2 = in("x2"); s_x = in("x"); s_a = in("a"); s_x1 = in("x1"); s_names = in("names"); s_dtype = in("dtype");
  s_pin_memory = in("pin_memory");
}

Signature make_signature(const OpEntry& e) {
  intern_names();
  Signature s;
  s.op = &e;
  bool dtype = false, layout = false, device = false;
  int positional_after_self = 0;
  for (size_t i = 0; i < e.schema.args.size(); ++i) {
    const ArgSpec& a = e.schema.args[i];
    s.names.push_back(PyUnicode_InternFromString(a.name.c_str()));
    dtype |= a.type == ArgType::dtype;
    layout |= a.type == ArgType::layout;
    device |= a.type == ArgType::device;
    if (!a.kwarg_only && !(i == 0 && a.type == ArgType::tensor)) ++positional_after_self;
  }
  s.factory = dtype && layout && device;
  for (size_t i = 0; i < e.schema.args.size(); ++i) {
    // PyTorch's losses, unlike its torch.ops, do not reduce unless they are told to.
    const ArgSpec& a = e.schema.args[i];
    const bool ours = e.card && !(e.card->forms & form::library);
    const bool reduction = ours && a.name == "reduction" && a.type == ArgType::integer && a.has_default;
    s.defaults.push_back(reduction ? Value(int64_t(0)) : e.schema.args[i].default_value);
    if (!e.schema.args[i].has_default) s.required = Py_ssize_t(i) + 1;
  }
  const size_t first = !e.schema.args.empty() && e.schema.args[0].type == ArgType::tensor ? 1 : 0;
  s.collects = positional_after_self == 1 && first < e.schema.args.size() && e.schema.args[first].type == ArgType::ints &&
               e.schema.args[first].list_size != 0;
  return s;
}

bool number_protocol(PyObject* o) {
  const PyNumberMethods* n = Py_TYPE(o)->tp_as_number;
  return n && (n->nb_index || n->nb_float) && !is_tensor(o) && !PySequence_Check(o);
}

// A tensor of one element stands for a number where it carries no gradient.
bool tensor_number(PyObject* o, const ParsedCall& c, Scalar& s) {
  const Tensor& t = unwrap(o);
  if (t->python && !c.asks_for_numbers) return false;
  if (t.ndim() != 0 || t.is_meta() || requires_grad(t) || t->dual) return false;
  for (const Wrapped* w = wrapped_in(t); w; w = wrapped_in(w->inner))
    if (w->batch_dim >= 0 || requires_grad(w->inner) || w->inner->dual) return false;
  s = op_value<"item">(t).scalar();
  return true;
}

bool index_from(PyObject* o, int64_t& v, bool takes_bool = false) {
  if (PyLong_CheckExact(o)) {
    int over = 0;
    v = PyLong_AsLongLongAndOverflow(o, &over);
    if (over) {
      PyErr_Format(PyExc_RuntimeError, "the integer %R does not fit in 64 bits", o);
      throw PythonErrorSet{};
    }
    call_from_python.wrote(v);
    return true;
  }
  if (PyBool_Check(o)) {
    v = o == Py_True;
    return takes_bool;
  }
  if (is_symbolic_number(o)) [[unlikely]] {
    Obj n(plain_number_of(o));
    return PyLong_CheckExact(n.get()) && ((v = PyLong_AsLongLong(n.get())) != -1 || !PyErr_Occurred());
  }
  if (is_tensor(o)) {
    const Tensor& t = unwrap(o);
    if (t.numel() != 1 || !is_integral(t.dtype()) || t.is_meta() || t.ndim() > 0) return false;
    v = op_value<"item">(t).scalar().to_int();
    return true;
  }
  if (!PyIndex_Check(o)) return false;
  Obj n(PyNumber_Index(o));
  if (!n) {
    PyErr_Clear();
    return false;
  }
  v = PyLong_AsLongLong(n.get());
  if (v == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return true;
}

// Converts one argument; false where it does not fit, with `why` for the message.
bool convert(const ArgSpec& a, PyObject* o, bool numbers, ParsedCall& c, Value& out) {
  if (o == Py_None) {
    out = Value();
    return a.optional || (a.type == ArgType::dtype && a.has_default);
  }
  switch (a.type) {
    case ArgType::tensor: {
      if (is_tensor(o)) {
        const Tensor& t = unwrap(o);
        out = Value(t);
        c.work += t.numel();
        if (t->python) [[unlikely]] call_from_python.on_python_tensors = true;
        return true;
      }
      Scalar s;
      if (numbers && scalar_from(o, s)) {
        out = Value(s);
        return true;
      }
      return false;
    }
    case ArgType::tensors: case ArgType::optional_tensors: {
      if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      PyObject** items = PySequence_Fast_ITEMS(o);
      TensorImpl** p;
      if (c.ntensors + n <= 48) {
        p = c.tensors + c.ntensors;
        c.ntensors += int(n);
      } else p = static_cast<TensorImpl**>(c.take(size_t(n) * sizeof(TensorImpl*)));
      for (Py_ssize_t i = 0; i < n; ++i) {
        if (is_tensor(items[i])) {
          p[i] = unwrap(items[i]).impl();
          c.work += p[i]->numel;
          if (p[i]->python) [[unlikely]] call_from_python.on_python_tensors = true;
        } else if (items[i] == Py_None && a.type == ArgType::optional_tensors) p[i] = nullptr;
        else return false;
      }
      out = Value(TensorSpan(reinterpret_cast<const Tensor*>(p), n));
      return true;
    }
    case ArgType::scalar: {
      Scalar s;
      if (scalar_from(o, s) || (is_tensor(o) && tensor_number(o, c, s))) {
        out = Value(s);
        return true;
      }
      return false;
    }
    case ArgType::scalars: {
      if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      auto* p = static_cast<Scalar*>(c.take(size_t(n) * sizeof(Scalar)));
      for (Py_ssize_t i = 0; i < n; ++i) {
        new (p + i) Scalar();
        if (!scalar_from(PySequence_Fast_GET_ITEM(o, i), p[i])) return false;
      }
      out = Value(Span<Scalar>(p, n));
      return true;
    }
    case ArgType::integer: {
      int64_t v;
      if (!index_from(o, v, c.one_overload)) return false;
      out = Value(v);
      return true;
    }
    case ArgType::ints: {
      int64_t v;
      if (a.list_size > 0 && index_from(o, v, c.one_overload)) {
        if (c.nints + a.list_size > 48) return false;
        int64_t* p = c.ints + c.nints;
        for (int i = 0; i < a.list_size; ++i) p[i] = v;
        c.nints += a.list_size;
        // "int[1]": a list of one; "int[2]": the number for both.
        out = Value(Ints(p, a.list_size));
        return true;
      }
      if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      int64_t* p;
      if (c.nints + n <= 48) {
        p = c.ints + c.nints;
        c.nints += int(n);
      } else p = static_cast<int64_t*>(c.take(size_t(n) * 8));
      for (Py_ssize_t i = 0; i < n; ++i)
        if (!index_from(PySequence_Fast_GET_ITEM(o, i), p[i], c.one_overload)) return false;
      out = Value(Ints(p, n));
      return true;
    }
    case ArgType::floating: {
      if (PyFloat_Check(o) || PyLong_Check(o)) {
        const double d = PyFloat_AsDouble(o);
        if (d == -1 && PyErr_Occurred()) throw PythonErrorSet{};
        out = Value(d);
        return true;
      }
      Scalar s;
      if (is_tensor(o) ? tensor_number(o, c, s) : (number_protocol(o) && scalar_from(o, s))) {
        out = Value(s.to_double());
        return true;
      }
      return false;
    }
    case ArgType::doubles: {
      if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      auto* p = static_cast<double*>(c.take(size_t(n) * 8));
      for (Py_ssize_t i = 0; i < n; ++i) {
        Scalar s;
        if (!scalar_from(PySequence_Fast_GET_ITEM(o, i), s) || s.is_complex()) return false;
        p[i] = s.to_double();
      }
      out = Value(Span<double>(p, n));
      return true;
    }
    case ArgType::boolean:
      if (PyBool_Check(o)) {
        out = Value(o == Py_True);
        return true;
      }
      if (c.one_overload && PyLong_CheckExact(o)) {
        out = Value(PyObject_IsTrue(o) == 1);
        return true;
      }
      if (is_symbolic_number(o)) {
        Obj n(plain_number_of(o));
        out = Value(n.get() == Py_True);
        return PyBool_Check(n.get());
      }
      if (strcmp(Py_TYPE(o)->tp_name, "numpy.bool") == 0 || strcmp(Py_TYPE(o)->tp_name, "numpy.bool_") == 0) {
        out = Value(PyObject_IsTrue(o) == 1);
        return true;
      }
      return false;
    case ArgType::bools: {
      if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      auto* p = static_cast<bool*>(c.take(size_t(n)));
      for (Py_ssize_t i = 0; i < n; ++i) {
        PyObject* x = PySequence_Fast_GET_ITEM(o, i);
        if (!PyBool_Check(x)) return false;
        p[i] = x == Py_True;
      }
      if (a.list_size > 0 && n != a.list_size) raise_runtime("argument '", a.name, "' is a list of ", int(a.list_size), " bools, got ", int64_t(n));
      out = Value(Span<bool>(p, n));
      return true;
    }
    case ArgType::string: {
      if (!PyUnicode_Check(o)) return false;
      Py_ssize_t n;
      const char* s = PyUnicode_AsUTF8AndSize(o, &n);
      if (!s) throw PythonErrorSet{};
      out = Value(std::string_view(s, size_t(n)));
      return true;
    }
    case ArgType::dtype: {
      DType d;
      if (!dtype_from(o, d)) return false;
      out = Value(d);
      return true;
    }
    case ArgType::device: {
      Device d;
      if (!device_from(o, d)) return false;
      out = Value(d);
      return true;
    }
    case ArgType::layout: {
      int v;
      if (!enum_value(o, &LayoutType, v)) return false;
      out = Value(Layout(v));
      return true;
    }
    case ArgType::memory_format: {
      int v;
      if (!enum_value(o, &MemoryFormatType, v)) return false;
      out = Value(MemoryFormat(v));
      return true;
    }
    case ArgType::generator: {
      Generator* g = generator_from(o);
      if (!g) return false;
      out = Value(g);
      return true;
    }
  }
  return false;
}

const char* type_text(ArgType t) {
  switch (t) {
    case ArgType::tensor: return "Tensor";
    case ArgType::tensors: return "tuple of Tensors";
    case ArgType::optional_tensors: return "tuple of Tensors or None";
    case ArgType::scalar: return "Number";
    case ArgType::scalars: return "tuple of Numbers";
    case ArgType::integer: return "int";
    case ArgType::ints: return "tuple of ints";
    case ArgType::floating: return "float";
    case ArgType::doubles: return "tuple of floats";
    case ArgType::boolean: return "bool";
    case ArgType::bools: return "tuple of bools";
    case ArgType::string: return "str";
    case ArgType::dtype: return "torch.dtype";
    case ArgType::device: return "torch.device";
    case ArgType::layout: return "torch.layout";
    case ArgType::memory_format: return "torch.memory_format";
    case ArgType::generator: return "torch.Generator";
  }
  return "?";
}

bool name_matches(PyObject* given, PyObject* name) {
  if (given == name) return true;
  if (name == s_self) return given == s_input || given == s_x || given == s_a || given == s_x1;
  if (name == s_dim) return given == s_axis;
  if (name == s_keepdim) return given == s_keepdims;
  if (name == s_other) return given == s_x2;
  return false;
}

// Keyword names from C or exec'd code may not be interned; compare by text then.
bool same_name(PyObject* given, PyObject* name) {
  if (name_matches(given, name)) return true;
  if (PyUnicode_CHECK_INTERNED(given)) return false;
  PyObject* in = Py_NewRef(given);
  PyUnicode_InternInPlace(&in);
  const bool m = name_matches(in, name);
  Py_DECREF(in);
  return m;
}

bool try_signature(const Signature& s, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, ParsedCall& c, std::string* why) {
  const Schema& sc = s.op->schema;
  const size_t n = sc.args.size();
  const Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  c.nints = c.ntensors = 0;
  c.work = 0;
  call_from_python.begin();
  c.requires_grad = false;
  PyObject* collected_tuple = nullptr;
  Obj hold;
  Py_ssize_t npos = nargs;
  const size_t first = n && sc.args[0].type == ArgType::tensor ? 1 : 0;
  Ints collected;  // f(2, 3): read at once where all are plain ints
  const bool collects = s.collects && !(nargs == Py_ssize_t(first) + 1 && sc.args[first].list_size > 1);  // one int of "int[2]" stands for both
  if (collects && !nkw && nargs > Py_ssize_t(first) && nargs - Py_ssize_t(first) <= 48 && PyLong_CheckExact(args[first])) {
    int over = 0;
    Py_ssize_t i = Py_ssize_t(first);
    for (; i < nargs && PyLong_CheckExact(args[i]); ++i) {
      c.ints[i - Py_ssize_t(first)] = PyLong_AsLongLongAndOverflow(args[i], &over);
      if (over) break;
      call_from_python.wrote(c.ints[i - Py_ssize_t(first)]);
    }
    if (i == nargs) {
      c.nints = int(nargs - Py_ssize_t(first));
      collected = {c.ints, c.nints};
      npos = Py_ssize_t(first) + 1;
    }
  }
  if (collects && collected.empty() && nargs > Py_ssize_t(first)) {
    PyObject* x = args[first];
    if (nargs > Py_ssize_t(first) + 1 || !(PyList_Check(x) || PyTuple_Check(x) || x == Py_None)) {
      int64_t v;
      if (nargs > Py_ssize_t(first) + 1 || index_from(x, v)) {
        hold = Obj(PyTuple_New(nargs - Py_ssize_t(first)));
        for (Py_ssize_t i = Py_ssize_t(first); i < nargs; ++i) PyTuple_SET_ITEM(hold.get(), i - Py_ssize_t(first), Py_NewRef(args[i]));
        collected_tuple = hold.get();
        npos = Py_ssize_t(first) + 1;
      }
    }
  }
  if (npos > sc.positional) {
    if (why) *why = text("takes at most ", int64_t(sc.positional), " positional arguments, ", int64_t(nargs), " were given");
    return false;
  }
  Py_ssize_t used = 0;
  size_t upto = n;
  if (!nkw && npos >= s.required) {
    upto = size_t(npos);
    for (size_t i = upto; i < n; ++i) c.v[i] = s.defaults[i];
  }
  for (size_t i = 0; i < upto; ++i) {
    const ArgSpec& a = sc.args[i];
    PyObject* o = nullptr;
    if (i == first && !collected.empty()) {
      c.v[i] = Value(collected);
      continue;
    }
    if (Py_ssize_t(i) < npos) o = collected_tuple && i == first ? collected_tuple : args[i];
    if (nkw > used || (o && nkw)) {
      for (Py_ssize_t k = 0; k < nkw; ++k)
        if (same_name(PyTuple_GET_ITEM(kwnames, k), s.names[i])) {
          if (o) {
            if (why) *why = text("got two values for argument '", a.name, "'");
            return false;
          }
          o = args[nargs + k];
          ++used;
          break;
        }
    }
    if (!o) {
      if (!a.has_default) {
        if (why) *why = text("missing argument '", a.name == "self" ? "input" : a.name, "' (position ", int64_t(i) + 1, ")");
        return false;
      }
      c.v[i] = s.defaults[i];
      continue;
    }
    if (!convert(a, o, s.op->card && (s.op->card->numbers >> i & 1), c, c.v[i])) {
      if (why) {
        std::string got = Py_TYPE(o)->tp_name;
        if ((PyList_Check(o) || PyTuple_Check(o)) && PySequence_Fast_GET_SIZE(o))
          for (Py_ssize_t q = 0; q < PySequence_Fast_GET_SIZE(o); ++q) {
            PyObject* x = PySequence_Fast_GET_ITEM(o, q);
            if (!PyLong_Check(x) && !is_tensor(x)) {
              got += text(" with ", Py_TYPE(x)->tp_name, " at position ", int64_t(q));
              break;
            }
          }
        *why = text("argument '", a.name == "self" ? "input" : a.name, "' (position ", int64_t(i) + 1, ") must be ", type_text(a.type),
                    ", not ", got);
      }
      return false;
    }
  }
  if (used < nkw) {
    for (Py_ssize_t k = 0; k < nkw; ++k) {
      PyObject* name = PyTuple_GET_ITEM(kwnames, k);
      bool known = false;
      for (size_t i = 0; i < n && !known; ++i) known = same_name(name, s.names[i]);
      if (known) continue;
      if (s.factory && same_name(name, s_requires_grad) && PyBool_Check(args[nargs + k])) {
        c.requires_grad = args[nargs + k] == Py_True;
        continue;
      }
      if ((same_name(name, s_names) || same_name(name, s_out)) && args[nargs + k] == Py_None) continue;
      if (why) *why = text("got an unexpected keyword argument '", PyUnicode_AsUTF8(name), "'");
      return false;
    }
  }
  c.op = s.op;
  return true;
}

// out= of an operator with several results is one tuple.
bool has_out(PyObject* kwnames, PyObject* const* kwargs) {
  if (!kwnames) return false;
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k)
    if (same_name(PyTuple_GET_ITEM(kwnames, k), s_out)) return kwargs[k] != Py_None;
  return false;
}

}  // namespace

bool scalar_from(PyObject* o, Scalar& s) {
  if (PyBool_Check(o)) s = Scalar(o == Py_True);
  else if (PyLong_Check(o)) {
    int over = 0;
    const long long v = PyLong_AsLongLongAndOverflow(o, &over);
    if (over) {
      const unsigned long long u = PyLong_AsUnsignedLongLong(o);
      if (PyErr_Occurred()) {
        PyErr_Clear();
        PyErr_Format(PyExc_RuntimeError, "the integer %R does not fit in 64 bits", o);
        throw PythonErrorSet{};
      }
      s = Scalar(uint64_t(u));
    } else {
      s = Scalar(int64_t(v));
      call_from_python.wrote(v);
    }
  } else if (PyFloat_Check(o)) s = Scalar(PyFloat_AS_DOUBLE(o));
  else if (is_symbolic_number(o)) [[unlikely]] {
    const int before = call_from_python.n;
    Obj n(plain_number_of(o));
    const bool fits = scalar_from(n.get(), s);
    call_from_python.n = before;  // a code, no number that the call wrote
    return fits;
  }
  else if (PyComplex_Check(o)) s = Scalar(cdouble(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  else if (number_protocol(o)) {
    const char* t = Py_TYPE(o)->tp_name;
    if (strncmp(t, "numpy.bool", 10) == 0) s = Scalar(PyObject_IsTrue(o) == 1);
    else if (strncmp(t, "numpy.complex", 13) == 0) {
      const Py_complex c = PyComplex_AsCComplex(o);
      s = Scalar(cdouble(c.real, c.imag));
    } else if (PyIndex_Check(o)) {
      Obj n(PyNumber_Index(o));
      if (!n) {
        PyErr_Clear();
        return false;
      }
      return scalar_from(n.get(), s);
    } else {
      const double d = PyFloat_AsDouble(o);
      if (d == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
      }
      s = Scalar(d);
    }
  } else return false;
  return true;
}

Signature signature_of(const OpEntry& e) { return make_signature(e); }

static std::unordered_map<const Packet*, Binding*> bindings;

std::unique_ptr<Signatures> signatures_of(const Packet& p) {
  auto l = std::make_unique<Signatures>();
  auto writes_out = [](const OpEntry& e) {  // derived, or a schema of its own that ends in a list of tensors to write
    return e.form == OpForm::out || (!e.schema.args.empty() && e.schema.args.back().written && e.schema.args.back().name == "out");
  };
  // The overload for numbers of a card that takes them anyway is called by its name alone.
  auto by_name_only = [](const OpEntry& e) {
    return !(e.card->forms & form::library) && e.schema.args.size() > 1 && e.schema.args[1].type == ArgType::scalar &&
           (e.card->numbers & 2) && e.functional != &e && e.functional->schema.overload == "Tensor" && e.schema.overload != "Tensor" && e.form != OpForm::out;
  };
  const TableRead table;
  for (const OpEntry* e : p.overloads)
    if (!by_name_only(*e)) (writes_out(*e) ? l->with_out : l->plain).push_back(make_signature(*e));
  return l;
}

void refresh_binding(const Packet& p) {
  const auto i = bindings.find(&p);
  if (i != bindings.end()) i->second->now.store(signatures_of(p).release(), std::memory_order_release);
}

const Binding& binding_of(const Packet& p) {
  Binding*& b = bindings[&p];
  if (!b) {
    b = new Binding;
    b->packet = &p;
    b->now = signatures_of(p).release();
  }
  return *b;
}

void parse_call(const Binding& b, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, ParsedCall& c) {
  const Signatures& all = b.signatures();
  const std::vector<Signature>* list = &all.plain;
  std::vector<PyObject*> spread;
  Obj spread_names;
  if (kwnames && has_out(kwnames, args + nargs)) {
    if (all.with_out.empty()) raise_type(b.packet->name, "() got an unexpected keyword argument 'out'");
    list = &all.with_out;
    const Py_ssize_t nkw = PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < nkw; ++k) {
      PyObject* o = args[nargs + k];
      if (!same_name(PyTuple_GET_ITEM(kwnames, k), s_out) || is_tensor(o) || !(PyTuple_Check(o) || PyList_Check(o))) continue;
      const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
      for (const Signature& s : all.with_out) {
        if (Py_ssize_t(s.op->schema.returns.size()) != n) continue;
        // Rewrite the tuple as one keyword for each result.
        spread.assign(args, args + nargs);
        Obj names(PyTuple_New(nkw - 1 + n));
        Py_ssize_t at = 0;
        for (Py_ssize_t q = 0; q < nkw; ++q) {
          if (q == k) continue;
          PyTuple_SET_ITEM(names.get(), at++, Py_NewRef(PyTuple_GET_ITEM(kwnames, q)));
          spread.push_back(args[nargs + q]);
        }
        const size_t first_out = s.names.size() - size_t(n);
        for (Py_ssize_t q = 0; q < n; ++q) {
          PyTuple_SET_ITEM(names.get(), at++, Py_NewRef(s.names[first_out + size_t(q)]));
          spread.push_back(PySequence_Fast_GET_ITEM(o, q));
        }
        spread_names = std::move(names);
        break;
      }
      break;
    }
    if (spread_names) {
      args = spread.data();
      kwnames = spread_names.get();
    }
  }
  if (list->size() == 1) {
    std::string why;
    if (try_signature((*list)[0], args, nargs, kwnames, c, nullptr)) return;
    try_signature((*list)[0], args, nargs, kwnames, c, &why);
    raise_type(b.packet->name, "(): ", why, "; the signature is ", (*list)[0].op->schema.print());
  }
  c.asks_for_numbers = false;
  for (const Signature& s : *list)
    if (try_signature(s, args, nargs, kwnames, c, nullptr)) return;
  c.asks_for_numbers = true;
  for (const Signature& s : *list)
    if (try_signature(s, args, nargs, kwnames, c, nullptr)) return;
  std::string msg = text(b.packet->name, "() was called with arguments that fit none of its signatures; given: (");
  for (Py_ssize_t i = 0; i < nargs; ++i) msg += text(i ? ", " : "", Py_TYPE(args[i])->tp_name);
  if (kwnames)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); ++k)
      msg += text(nargs + k ? ", " : "", PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, k)), "=", Py_TYPE(args[nargs + k])->tp_name);
  msg += ")";
  for (const Signature& s : *list) {
    std::string why;
    try_signature(s, args, nargs, kwnames, c, &why);
    msg += text("\n  ", s.op->schema.print(), ": ", why);
  }
  raise_type(msg);
}

}  // namespace fb::py
