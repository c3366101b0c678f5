// torch._C: _triton_compile, and TritonLaunch, which finds the kernel for a call's arguments and runs it.
//
// A launch is kernel[grid](...): its key is the dtype of each tensor and which tensors share memory, the width of each
// integer and whether it is 1, which tensors are larger than the caches, and the constants. A tuple is its length and then
// its elements, as if each were an argument. Where no kernel fits, Python is asked to make one.
#include "python/triton.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "compile/triton/launch.h"
#include "compile/triton/program.h"

namespace fb::py {
namespace {

const triton::Table& table() { return *compile::compiler().triton; }

// ---- programs ----
int64_t whole(PyObject* o) {
  const int64_t v = PyLong_AsLongLong(o);
  if (v == -1 && PyErr_Occurred()) throw PythonErrorSet{};
  return v;
}
template <class T, class F> std::vector<T> list_of(PyObject* o, F&& f) {
  const Obj fast(checked(PySequence_Fast(o, "a kernel's program holds sequences")));
  std::vector<T> r;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  r.reserve(size_t(n));
  for (Py_ssize_t i = 0; i < n; ++i) r.push_back(f(PySequence_Fast_GET_ITEM(fast.get(), i)));
  return r;
}
template <class T> std::vector<T> numbers(PyObject* o) {
  return list_of<T>(o, [](PyObject* x) { return T(whole(x)); });
}
const char* words_of(PyObject* o) {
  const char* s = PyUnicode_AsUTF8(o);
  if (!s) throw PythonErrorSet{};
  return s;
}
tile::Elem elem_from(PyObject* o) {
  const char* s = words_of(o);
  for (int e = 0; e <= int(tile::Elem::none); ++e) {
    constexpr const char* n[] = {"b1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "address", "none"};
    if (!std::strcmp(s, n[e])) return tile::Elem(e);
  }
  raise_value("no type of kernels: ", s);
}
// (op, elem, tile, shape, operands, imm, attrs, regions, name); name: the operator of lanes, the function, the text.
triton::Node node_from(PyObject* t) {
  if (!PyTuple_Check(t) || PyTuple_GET_SIZE(t) != 9) raise_type("a kernel's node is a tuple of 9");
  auto at = [&](int i) { return PyTuple_GET_ITEM(t, i); };
  triton::Node n;
  const char* op = words_of(at(0));
  bool found = false;
#define FB_X(name) if (!found && !std::strcmp(op, #name)) n.op = triton::Op::name, found = true;
  FB_TRITON_OPS(FB_X)
#undef FB_X
  if (!found) raise_value("no operator of kernels: ", op);
  n.elem = elem_from(at(1));
  n.tile = at(2) == Py_True;
  n.shape = numbers<int64_t>(at(3));
  n.in = numbers<triton::Id>(at(4));
  n.imm = int64_t(PyLong_AsUnsignedLongLongMask(at(5)));
  if (PyErr_Occurred()) throw PythonErrorSet{};
  n.attrs = numbers<int64_t>(at(6));
  n.regions = numbers<int32_t>(at(7));
  const char* name = words_of(at(8));
  if (n.op == triton::Op::lanewise) {
    found = false;
#define FB_X(o, count) if (!found && !std::strcmp(name, #o)) n.lane = tile::Op::o, found = true;
    FB_TILE_OPS(FB_X)
#undef FB_X
    if (!found) raise_value("no operator of lanes: ", name);
  } else if (n.op == triton::Op::call) {
    n.callee = table().named(name);
    if (!n.callee) raise_value("no function of kernels: ", name);
  } else {
    n.text = name;
  }
  return n;
}

constexpr const char* kCapsule = "torch._C.triton_kernel";
triton::Kernel* kernel_from(PyObject* o) {
  auto* k = static_cast<triton::Kernel*>(PyCapsule_GetPointer(o, kCapsule));
  if (!k) throw PythonErrorSet{};
  return k;
}
void drop_kernel(PyObject* capsule) { table().drop(kernel_from(capsule)); }
PyObject* compile_kernel(PyObject*, PyObject* args) {
  FB_PY_BEGIN
  PyObject *parameters, *nodes, *regions, *classes, *large;
  const char* name;
  int interpreted = 0;
  if (!PyArg_ParseTuple(args, "sOOOOOp", &name, &parameters, &nodes, &regions, &classes, &large, &interpreted)) return nullptr;
  triton::Program p;
  p.name = name;
  p.parameters = list_of<tile::Elem>(parameters, elem_from);
  p.nodes = list_of<triton::Node>(nodes, node_from);
  p.regions = list_of<triton::Region>(regions, [](PyObject* r) {
    if (!PyTuple_Check(r) || PyTuple_GET_SIZE(r) != 3) raise_type("a kernel's region is a tuple of 3");
    return triton::Region{numbers<triton::Id>(PyTuple_GET_ITEM(r, 0)), numbers<triton::Id>(PyTuple_GET_ITEM(r, 1)), numbers<triton::Id>(PyTuple_GET_ITEM(r, 2))};
  });
  p.classes = numbers<int>(classes);
  p.large = numbers<char>(large);
  if (int(p.parameters.size()) > triton::kMostParameters)
    raise_not_implemented("a kernel takes at most ", triton::kMostParameters, " arguments that are no constants, not ", int64_t(p.parameters.size()));
  if (p.classes.size() != p.parameters.size() || p.large.size() != p.parameters.size()) raise_value("a kernel's classes of memory do not fit its parameters");
  const triton::Table& t = table();
  triton::Kernel* k;
  {
    GilRelease release;
    k = t.make(p, interpreted != 0);
  }
  const triton::Facts& f = t.facts(*k);
  const Obj capsule(checked(PyCapsule_New(k, kCapsule, drop_kernel)));
  return Py_BuildValue("(ONLdd)", capsule.get(), PyBool_FromLong(f.serial), static_cast<long long>(f.scratch), f.work, f.milliseconds);
  FB_PY_END(nullptr)
}
PyObject* kernel_listing(PyObject*, PyObject* o) {
  FB_PY_BEGIN
  return PyUnicode_FromString(table().listing(*kernel_from(o)).c_str());
  FB_PY_END(nullptr)
}

// ---- launches ----
enum Kind : char { kPlain = 0, kConstant = 1, kUnspecialized = 2 };

constexpr int64_t kPastCache = 16 << 20;  // bytes

constexpr size_t kMostKnown = 1024;    // kernels of one function

struct Known {
  std::vector<int64_t> key;
  std::vector<PyObject*> constants;   // owned
  PyObject* kernel;                   // owned
  PyObject* result;                   // owned; what a launch returns
  Known(std::vector<int64_t> key, std::vector<PyObject*> constants, PyObject* kernel, PyObject* result)
      : key(std::move(key)), constants(std::move(constants)), kernel(Py_NewRef(kernel)), result(Py_NewRef(result)) {
    for (PyObject* o : this->constants) Py_INCREF(o);
  }
  Known(const Known&) = delete;
  ~Known() {
    for (PyObject* o : constants) Py_DECREF(o);
    Py_DECREF(kernel);
    Py_DECREF(result);
  }
};
// Who compares constants runs Python, which may change the table meanwhile: a kernel lives while it is looked at.
using KnownKernels = std::vector<std::shared_ptr<const Known>>;
// The kernels of one jit function.
struct Cache {
  PyObject_HEAD
  PyObject* names;                    // tuple of str
  PyObject* defaults;                 // tuple; the type TritonCache where there is none
  PyObject* fallback;                 // called with (grid, args, kwargs)
  std::string* kinds;
  KnownKernels* known;
};
struct Launch {
  PyObject_HEAD
  vectorcallfunc call;
  Cache* cache;
  PyObject* grid;
};
extern PyTypeObject CacheType;

// One tuple within another: Python's own limit holds.
struct Deeper {
  Deeper() {
    if (Py_EnterRecursiveCall(" in a kernel's argument")) throw PythonErrorSet{};
  }
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
};

struct Arguments {
  std::vector<int64_t> key;
  std::vector<PyObject*> constants;   // borrowed
  int64_t words[triton::kMostParameters];
  int count = 0;
  struct Range {
    const char *lo, *hi;
    int area;                         // number of the first tensor that shares memory with this one
  };
  std::vector<Range> memory;          // of the tensors so far
  int64_t large = 0;                  // a bit for each of the first 63 of these: its memory exceeds the caches

  void word(int64_t w) {
    if (count == triton::kMostParameters) raise_not_implemented("a kernel takes at most ", triton::kMostParameters, " arguments");
    words[count++] = w;
  }
  void finish() {
    for (const Range& r : memory) key.push_back(r.area);
    key.push_back(large);
  }
  static bool in_memory(const Tensor& t) { return !t->wrapped && (!t.numel() || (t.storage() && t.storage()->data)); }
  // False where Python has to look at it.
  bool add(PyObject* o, Kind kind) {
    if (kind == kConstant) {
      if (is_tensor(o)) return false;
      constants.push_back(o);
      return true;
    }
    if (is_tensor(o)) {
      const Tensor& t = unwrap(o);
      if (!t.defined() || !t.device().is_cpu() || t->layout != Layout::strided || !t.storage() || !in_memory(t)) return false;
      char* data = t.numel() ? static_cast<char*>(t.data()) : nullptr;
      word(reinterpret_cast<int64_t>(data));
      const char* lo = data ? static_cast<const char*>(t.storage()->data) : nullptr;
      memory.push_back({lo, data ? lo + t.storage()->nbytes : nullptr, int(memory.size())});
      const Range& own = memory.back();
      if (own.hi - own.lo >= kPastCache && memory.size() < 64) large |= int64_t(1) << (memory.size() - 1);
      for (size_t i = 0; i + 1 < memory.size(); ++i) {
        if (own.lo >= memory[i].hi || memory[i].lo >= own.hi || memory[i].area == own.area) continue;
        const int a = memory[i].area < own.area ? memory[i].area : own.area, b = memory[i].area + own.area - a;
        for (Range& other : memory)
          if (other.area == b) other.area = a;
      }
      key.push_back(1000 + int64_t(t.dtype()));
      return true;
    }
    if (o == Py_None) {
      key.push_back(1);
      return true;
    }
    if (PyBool_Check(o)) {
      key.push_back(2);
      word(o == Py_True);
      return true;
    }
    if (PyLong_Check(o)) {
      int overflow = 0;
      const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow < 0) return false;
      if (overflow > 0) {
        const unsigned long long u = PyLong_AsUnsignedLongLong(o);
        if (PyErr_Occurred()) {
          PyErr_Clear();
          return false;
        }
        key.push_back(13);
        word(int64_t(u));
        return true;
      }
      if (v == 1 && kind == kPlain) {
        key.push_back(10);
        return true;
      }
      key.push_back(v >= INT32_MIN && v <= INT32_MAX ? 11 : 12);
      word(v);
      return true;
    }
    if (PyFloat_Check(o)) {
      key.push_back(20);
      const double v = PyFloat_AS_DOUBLE(o);
      int64_t w;
      std::memcpy(&w, &v, 8);
      word(w);
      return true;
    }
    if (PyTuple_Check(o)) {
      const bool plain = PyTuple_CheckExact(o);
      if (!plain) constants.push_back(reinterpret_cast<PyObject*>(Py_TYPE(o)));   // its fields have names
      key.push_back(plain ? 40 : 41);
      key.push_back(PyTuple_GET_SIZE(o));
      const Deeper deeper;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
        if (!add(PyTuple_GET_ITEM(o, i), kind)) return false;
      return true;
    }
    if (PyObject* marked = constant_of(o)) {
      key.push_back(42);
      constants.push_back(marked);
      return true;
    }
    return false;
  }
  // What a tl.constexpr holds, a jit function or a dtype: part of the code wherever it is passed. Borrowed; null: none of these.
  static PyObject* constant_of(PyObject* o) {
    static PyObject* const mark = checked(PyUnicode_InternFromString("__triton_constant__"));
    PyObject* told = nullptr;
    if (_PyObject_LookupAttr(reinterpret_cast<PyObject*>(Py_TYPE(o)), mark, &told) < 0) throw PythonErrorSet{};
    if (!told) return nullptr;
    const Obj name(told);
    if (!PyUnicode_Check(told)) return o;
    const Obj held(checked(PyObject_GetAttr(o, told)));   // the argument keeps it alive
    return held.get();
  }
};

// Whether two constants make the same code: equal, and 1 is neither 1.0 nor True, within tuples too.
bool same_constant(PyObject* x, PyObject* y) {
  if (x == y) return true;
  if (Py_TYPE(x) != Py_TYPE(y)) return false;
  if (PyFloat_CheckExact(x)) {
    const double a = PyFloat_AS_DOUBLE(x), b = PyFloat_AS_DOUBLE(y);
    return (a == b || (a != a && b != b)) && std::signbit(a) == std::signbit(b);
  }
  if (PyTuple_Check(x)) {
    if (PyTuple_GET_SIZE(x) != PyTuple_GET_SIZE(y)) return false;
    const Deeper deeper;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(x); ++i)
      if (!same_constant(PyTuple_GET_ITEM(x, i), PyTuple_GET_ITEM(y, i))) return false;
    return true;
  }
  const int equal = PyObject_RichCompareBool(x, y, Py_EQ);
  if (equal < 0) throw PythonErrorSet{};
  return equal;
}

std::shared_ptr<const Known> find(Cache* c, const Arguments& a) {
  KnownKernels& all = *c->known;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::shared_ptr<const Known> k = all[i];
    if (k->key != a.key || k->constants.size() != a.constants.size()) continue;
    bool same = true;
    for (size_t j = 0; j < a.constants.size() && same; ++j) same = same_constant(k->constants[j], a.constants[j]);
    if (!same) continue;
    if (const auto at = std::find(all.begin(), all.end(), k); at != all.end()) std::iter_swap(all.begin(), at);
    return k;
  }
  return nullptr;
}

void run(const triton::Kernel& kernel, const int64_t* words, int count, const int64_t grid[3]) {
  const triton::Table& t = table();
  GilRelease release(t.facts(kernel).work * double(grid[0] * grid[1] * grid[2]) > 20000);
  t.launch(kernel, words, count, grid);
}
// An object as an error shows it.
std::string text_of(PyObject* o) {
  const Obj shown(checked(PyObject_Repr(o)));
  const std::string s = words_of(shown.get());
  size_t n = std::min<size_t>(s.size(), 200);
  while (n && n < s.size() && (s[n] & 0xC0) == 0x80) --n;   // not within a character
  return n == s.size() ? s : s.substr(0, n) + " ...";
}
// A grid of one to three numbers.
void grid_from(PyObject* o, int64_t grid[3]) {
  auto one = [&](PyObject* x, Py_ssize_t i) {
    if (!PyIndex_Check(x)) raise_type("a kernel's grid is ", text_of(o), ": dimension ", int64_t(i), " is ", text_of(x), " of type ", Py_TYPE(x)->tp_name, ", not an integer");
    const Obj number(checked(PyNumber_Index(x)));
    int overflow = 0;
    grid[i] = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow || grid[i] < 0 || grid[i] > INT32_MAX)
      raise_value("a kernel's grid has ", text_of(number.get()), " programs in dimension ", int64_t(i), "; from 0 to 2147483647 are possible");
  };
  if (PyIndex_Check(o)) return one(o, 0);
  if (!PyTuple_Check(o) && !PyList_Check(o)) raise_type("a kernel's grid is a tuple of up to three integers, not ", text_of(o), " of type ", Py_TYPE(o)->tp_name);
  const Obj fast(checked(PySequence_Fast(o, "grid")));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
  if (n < 1 || n > 3) raise_value("a kernel's grid has one to three numbers, not ", int64_t(n), ": ", text_of(o));
  for (Py_ssize_t i = 0; i < n; ++i) one(PySequence_Fast_GET_ITEM(fast.get(), i), i);
}

PyObject* fall_back(Launch* l, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  const Obj positional(checked(PyTuple_New(n))), named(checked(PyDict_New()));
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); ++i) checked(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]));
  return PyObject_CallFunctionObjArgs(l->cache->fallback, l->grid, positional.get(), named.get(), nullptr);
}
bool is_option(PyObject* name) {
  constexpr const char* options[] = {"num_warps", "num_stages", "num_ctas", "maxnreg"};
  for (const char* o : options)
    if (PyUnicode_CompareWithASCIIString(name, o) == 0) return true;
  return false;
}

PyObject* call_launch(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  Launch* l = reinterpret_cast<Launch*>(self);
  Cache* c = l->cache;
  const Py_ssize_t n = PyVectorcall_NARGS(nargsf), nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0, count = PyTuple_GET_SIZE(c->names);
  constexpr int kMost = triton::kMostParameters;
  if (n > count || count > kMost) return fall_back(l, args, n, kwnames);
  PyObject* values[kMost];
  for (Py_ssize_t i = 0; i < n; ++i) values[i] = args[i];
  for (Py_ssize_t i = n; i < count; ++i) values[i] = nullptr;
  for (Py_ssize_t k = 0; k < nkw; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    Py_ssize_t i = n;
    while (i < count && PyTuple_GET_ITEM(c->names, i) != name) ++i;
    if (i < count && !values[i]) values[i] = args[n + k];
    else if (!is_option(name)) return fall_back(l, args, n, kwnames);
  }
  Arguments a;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!values[i]) {
      values[i] = PyTuple_GET_ITEM(c->defaults, i);
      if (values[i] == reinterpret_cast<PyObject*>(Py_TYPE(c))) return fall_back(l, args, n, kwnames);
    }
    if (!a.add(values[i], Kind((*c->kinds)[size_t(i)]))) return fall_back(l, args, n, kwnames);
  }
  a.finish();
  const std::shared_ptr<const Known> k = find(c, a);
  if (!k) return fall_back(l, args, n, kwnames);
  const Obj result(Py_NewRef(k->result)), held(Py_NewRef(k->kernel));
  const triton::Kernel& kernel = *kernel_from(held.get());
  int64_t grid[3] = {1, 1, 1};
  if (PyTuple_Check(l->grid)) {
    grid_from(l->grid, grid);
  } else if (PyCallable_Check(l->grid)) {
    const Obj meta(checked(PyDict_New()));
    for (Py_ssize_t i = 0; i < count; ++i) checked(PyDict_SetItem(meta.get(), PyTuple_GET_ITEM(c->names, i), values[i]));
    for (Py_ssize_t i = 0; i < nkw; ++i) checked(PyDict_SetItem(meta.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]));
    const Obj made(checked(PyObject_CallOneArg(l->grid, meta.get())));
    grid_from(made.get(), grid);
  } else {
    grid_from(l->grid, grid);
  }
  run(kernel, a.words, a.count, grid);
  return Py_NewRef(result.get());
  FB_PY_END(nullptr)
}

// Raises what is wrong with an argument that kernels do not take; the name of a tuple's element says which it is.
[[noreturn]] void refuse(PyObject* o, const std::string& name) {
  if (PyTuple_Check(o)) {
    const Deeper deeper;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
      Arguments alone;
      PyObject* x = PyTuple_GET_ITEM(o, i);
      if (!alone.add(x, kPlain)) refuse(x, name + "[" + std::to_string(i) + "]");
    }
  }
  if (is_tensor(o) && unwrap(o).defined() && unwrap(o).device().is_cpu() && !Arguments::in_memory(unwrap(o)))
    raise_value("kernel argument ", name, ", a tensor of shape ", unwrap(o).sizes(), ", has no memory of its own: it is one of a transform, of a trace, of FakeTensorMode "
                "or of a class around another tensor. torch.library.wrap_triton lets traces see a launch");
  if (is_tensor(o) && unwrap(o).defined() && unwrap(o).device().is_cpu())
    raise_value("kernel argument ", name, " is no strided tensor; kernels take no others");
  if (is_tensor(o)) raise_value("kernel argument ", name, " lies on device ", unwrap(o).device(), "; kernels here run on the CPU");
  if (PyLong_Check(o))
    raise(ErrorKind::overflow, text("kernel argument ", name, " is the integer ", text_of(o),
                                    "; integers from -9223372036854775808 (int64) to 18446744073709551615 (uint64) are possible"));
  raise_type("kernel argument ", name, " is ", text_of(o), " of type ", Py_TYPE(o)->tp_name,
             "; tensors, numbers, truth values, None and tuples of these are possible, others as tl.constexpr");
}
// Arguments of a cache's call as Python bound them.
void bind(Cache* c, PyObject* values, Arguments& a) {
  if (!PyTuple_Check(values) || PyTuple_GET_SIZE(values) != PyTuple_GET_SIZE(c->names)) raise_type("a kernel's arguments are a tuple of as many as it has parameters");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    PyObject* o = PyTuple_GET_ITEM(values, i);
    if (a.add(o, Kind((*c->kinds)[size_t(i)]))) continue;
    const char* name = words_of(PyTuple_GET_ITEM(c->names, i));
    if (Kind((*c->kinds)[size_t(i)]) == kConstant) {
      const Obj type(checked(PyObject_GetAttrString(o, "dtype"))), shape(checked(PyObject_GetAttrString(o, "shape")));
      raise_type("kernel argument ", name, " is a tl.constexpr, part of the code, and takes no tensor; a tensor of ", text_of(type.get()), " and shape ",
                 text_of(shape.get()), " was passed. Leave the annotation out to pass a pointer to its elements");
    }
    refuse(o, name);
  }
  a.finish();
}
// key(values) -> what a kernel must fit, as a tuple of integers: one for each argument that is no constant, then for each
// tensor the number of the first that it shares memory with.
PyObject* cache_key(PyObject* self, PyObject* values) {
  FB_PY_BEGIN
  Arguments a;
  bind(reinterpret_cast<Cache*>(self), values, a);
  a.key.pop_back();
  const Obj t(checked(PyTuple_New(Py_ssize_t(a.key.size()))));
  for (size_t i = 0; i < a.key.size(); ++i) PyTuple_SET_ITEM(t.get(), Py_ssize_t(i), checked(PyLong_FromLongLong(a.key[i])));
  return Py_NewRef(t.get());
  FB_PY_END(nullptr)
}
// large(values) -> bits: which tensors are larger than the caches
PyObject* cache_large(PyObject* self, PyObject* values) {
  FB_PY_BEGIN
  Arguments a;
  bind(reinterpret_cast<Cache*>(self), values, a);
  return PyLong_FromLongLong(a.large);
  FB_PY_END(nullptr)
}
// find(values) -> what add was given, or None
PyObject* cache_find(PyObject* self, PyObject* values) {
  FB_PY_BEGIN
  Arguments a;
  bind(reinterpret_cast<Cache*>(self), values, a);
  const std::shared_ptr<const Known> k = find(reinterpret_cast<Cache*>(self), a);
  return Py_NewRef(k ? k->result : Py_None);
  FB_PY_END(nullptr)
}
// add(values, kernel, result)
PyObject* cache_add(PyObject* self, PyObject* args) {
  FB_PY_BEGIN
  PyObject *values, *kernel, *result;
  if (!PyArg_ParseTuple(args, "OOO", &values, &kernel, &result)) return nullptr;
  Cache* c = reinterpret_cast<Cache*>(self);
  Arguments a;
  bind(c, values, a);
  kernel_from(kernel);   // raises where it is none
  std::shared_ptr<const Known> old;
  if (c->known->size() >= kMostKnown) {   // the last one was not asked for longest, or nearly
    old = std::move(c->known->back());
    c->known->pop_back();
  }
  c->known->push_back(std::make_shared<const Known>(a.key, a.constants, kernel, result));
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
// launch(values, kernel, grid)
PyObject* cache_launch(PyObject* self, PyObject* args) {
  FB_PY_BEGIN
  PyObject *values, *kernel, *shape;
  if (!PyArg_ParseTuple(args, "OOO", &values, &kernel, &shape)) return nullptr;
  Arguments a;
  bind(reinterpret_cast<Cache*>(self), values, a);
  int64_t grid[3] = {1, 1, 1};
  grid_from(shape, grid);
  run(*kernel_from(kernel), a.words, a.count, grid);
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyObject* cache_clear(PyObject* self, PyObject*) {
  KnownKernels old;
  old.swap(*reinterpret_cast<Cache*>(self)->known);
  Py_RETURN_NONE;
}
PyMethodDef cache_methods[] = {{"key", cache_key, METH_O, nullptr},
                               {"large", cache_large, METH_O, nullptr},
                               {"find", cache_find, METH_O, nullptr},
                               {"add", cache_add, METH_VARARGS, nullptr},
                               {"launch", cache_launch, METH_VARARGS, nullptr},
                               {"clear", cache_clear, METH_NOARGS, nullptr},
                               {}};

// TritonCache(names, defaults, kinds, fallback)
PyObject* new_cache(PyTypeObject* type, PyObject* args, PyObject*) {
  FB_PY_BEGIN
  PyObject *names, *defaults, *fallback;
  const char* kinds;
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O!O!y#O", &PyTuple_Type, &names, &PyTuple_Type, &defaults, &kinds, &count, &fallback)) return nullptr;
  if (PyTuple_GET_SIZE(names) != count || PyTuple_GET_SIZE(defaults) != count) raise_value("names, defaults and kinds differ in number");
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!PyUnicode_Check(PyTuple_GET_ITEM(names, i))) raise_type("names are strings");
  Cache* c = reinterpret_cast<Cache*>(checked(type->tp_alloc(type, 0)));
  const Obj own(checked(PyTuple_New(count)));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* s = Py_NewRef(PyTuple_GET_ITEM(names, i));
    PyUnicode_InternInPlace(&s);       // keywords are compared by identity
    PyTuple_SET_ITEM(own.get(), i, s);
  }
  c->names = Py_NewRef(own.get());
  c->defaults = Py_NewRef(defaults);
  c->fallback = Py_NewRef(fallback);
  c->kinds = new std::string(kinds, size_t(count));
  c->known = new KnownKernels;
  return reinterpret_cast<PyObject*>(c);
  FB_PY_END(nullptr)
}
int visit_cache(PyObject* self, visitproc visit, void* arg) {
  Cache* c = reinterpret_cast<Cache*>(self);
  Py_VISIT(c->names);
  Py_VISIT(c->defaults);
  Py_VISIT(c->fallback);
  if (c->known)
    for (const auto& k : *c->known) {
      for (PyObject* o : k->constants) Py_VISIT(o);
      Py_VISIT(k->kernel);
      Py_VISIT(k->result);
    }
  return 0;
}
int clear_cache(PyObject* self) {
  Cache* c = reinterpret_cast<Cache*>(self);
  Py_CLEAR(c->fallback);
  if (c->known) Py_XDECREF(cache_clear(self, nullptr));
  return 0;
}
void free_cache(PyObject* self) {
  PyObject_GC_UnTrack(self);
  Cache* c = reinterpret_cast<Cache*>(self);
  clear_cache(self);
  Py_CLEAR(c->names);
  Py_CLEAR(c->defaults);
  delete c->kinds;
  delete c->known;
  Py_TYPE(self)->tp_free(self);
}

// TritonLaunch(cache, grid)
PyObject* new_launch(PyTypeObject* type, PyObject* args, PyObject*) {
  FB_PY_BEGIN
  PyObject *cache, *grid;
  if (!PyArg_ParseTuple(args, "O!O", &CacheType, &cache, &grid)) return nullptr;
  Launch* l = reinterpret_cast<Launch*>(checked(type->tp_alloc(type, 0)));
  l->call = call_launch;
  l->cache = reinterpret_cast<Cache*>(Py_NewRef(cache));
  l->grid = Py_NewRef(grid);
  return reinterpret_cast<PyObject*>(l);
  FB_PY_END(nullptr)
}
int visit_launch(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(reinterpret_cast<Launch*>(self)->cache));
  Py_VISIT(reinterpret_cast<Launch*>(self)->grid);
  return 0;
}
int clear_launch(PyObject* self) {
  Py_CLEAR(reinterpret_cast<Launch*>(self)->grid);
  return 0;
}
void free_launch(PyObject* self) {
  PyObject_GC_UnTrack(self);
  clear_launch(self);
  Py_XDECREF(reinterpret_cast<PyObject*>(reinterpret_cast<Launch*>(self)->cache));
  Py_TYPE(self)->tp_free(self);
}

PyTypeObject CacheType = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject LaunchType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyMethodDef functions[] = {
    {"_triton_compile", compile_kernel, METH_VARARGS,
     "_triton_compile(name, parameters, nodes, regions, classes, large, interpreted) -> (kernel, serial, scratch bytes, work, milliseconds)"},
    {"_triton_listing", kernel_listing, METH_O, "_triton_listing(kernel) -> str: its tile program."},
    {}};

}  // namespace

void init_triton(PyObject* m) {
  CacheType.tp_name = "torch._C.TritonCache";
  CacheType.tp_basicsize = sizeof(Cache);
  CacheType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC;
  CacheType.tp_new = new_cache;
  CacheType.tp_dealloc = free_cache;
  CacheType.tp_traverse = visit_cache;
  CacheType.tp_clear = clear_cache;
  CacheType.tp_methods = cache_methods;
  LaunchType.tp_name = "torch._C.TritonLaunch";
  LaunchType.tp_basicsize = sizeof(Launch);
  LaunchType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  LaunchType.tp_new = new_launch;
  LaunchType.tp_dealloc = free_launch;
  LaunchType.tp_traverse = visit_launch;
  LaunchType.tp_clear = clear_launch;
  LaunchType.tp_call = PyVectorcall_Call;
  LaunchType.tp_vectorcall_offset = offsetof(Launch, call);
  checked(PyType_Ready(&CacheType));
  checked(PyType_Ready(&LaunchType));
  checked(PyModule_AddObjectRef(m, "TritonCache", reinterpret_cast<PyObject*>(&CacheType)));
  checked(PyModule_AddObjectRef(m, "TritonLaunch", reinterpret_cast<PyObject*>(&LaunchType)));
  checked(PyModule_AddFunctions(m, functions));
}

}  // namespace fb::py
