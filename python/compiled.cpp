// Graphs made from what Python code calls, and their compiled form as a callable: positional tensors in, tensors out.
#include "compile/compile.h"
#include "compile/trace.h"
#include "dispatch/library.h"
#include "dispatch/thread_state.h"
#include "python/binding.h"

namespace fb::py {
namespace {

using compile::Compiled;
using compile::GraphTrace;

constexpr int64_t kUnlocked = 32768;   // elements of the inputs from which on others may run meanwhile

// ---- the callable ----
enum class Shape : uint8_t { one, tuple, list };
// What the trace saw of an input. What the code does may hang on all of it: composites look at sizes and strides.
struct Followed {
  Dims sizes, strides;
  DType dtype;
  Device device;
  Flags bits;
  explicit Followed(const TensorImpl& t) : sizes(t.sizes), strides(t.strides), dtype(t.dtype), device(t.device), bits(t.flags & (kConj | kNeg)) {}
  bool fits(const TensorImpl& t) const {
    return t.dtype == dtype && t.device == device && (t.flags & (kConj | kNeg)) == bits && t.sizes == sizes && t.strides == strides;
  }
};
struct World {
  DType default_type = default_dtype;
  uint64_t replacements = library_replacements();
  bool operator==(const World&) const = default;
};
struct Trace {
  GraphTrace trace;
  std::vector<Followed> inputs;
};

struct PyCompiled {
  PyObject_HEAD
  vectorcallfunc call;
  Compiled* graph;
  int inputs, outputs;
  Shape shape;
  PyObject* otherwise;               // called with inputs of other geometry than the trace saw; null: the graph serves them too
  std::vector<Followed>* followed;
  World world;
};
PyTypeObject CompiledType{PyVarObject_HEAD_INIT(nullptr, 0)}, TracerType{PyVarObject_HEAD_INIT(nullptr, 0)};

PyCompiled& as(PyObject* o) { return *reinterpret_cast<PyCompiled*>(o); }

void take_inputs(const PyCompiled& c, PyObject* const* args, Py_ssize_t n, TensorImpl** to, int64_t* work) {
  if (n != c.inputs) raise_type("the compiled graph takes ", c.inputs, " tensors, but ", int64_t(n), " were given");
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!is_tensor(args[i])) raise_type("the compiled graph takes tensors; argument ", int64_t(i), " is of type ", Py_TYPE(args[i])->tp_name);
    to[i] = unwrap(args[i]).impl();
    *work += to[i]->numel;
  }
}

// Whether the code was followed on inputs like these.
bool followed_on(const PyCompiled& c, TensorImpl* const* in) {
  if (!(c.world == World())) return false;
  for (int i = 0; i < c.inputs; ++i)
    if (!(*c.followed)[size_t(i)].fits(*in[i])) return false;
  return true;
}

PyObject* compiled_call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  FB_PY_BEGIN
  const PyCompiled& c = as(self);
  if (kwnames && PyTuple_GET_SIZE(kwnames)) raise_type("the compiled graph takes no keyword arguments");
  constexpr int kFew = 16;
  TensorImpl* few[kFew];
  std::vector<TensorImpl*> many;
  TensorImpl** in = few;
  if (c.inputs > kFew) {
    many.resize(size_t(c.inputs));
    in = many.data();
  }
  int64_t work = 0;
  take_inputs(c, args, PyVectorcall_NARGS(nargsf), in, &work);
  if (c.otherwise && !followed_on(c, in)) return PyObject_Vectorcall(c.otherwise, args, size_t(PyVectorcall_NARGS(nargsf)), nullptr);
  const compile::Compiler& compiler = compile::compiler();
  Tensor few_out[4];
  std::vector<Tensor> many_out;
  Tensor* out = few_out;
  if (c.outputs > 4) {
    many_out.resize(size_t(c.outputs));
    out = many_out.data();
  }
  {
    GilRelease release(work > kUnlocked);
    compiler.call(*c.graph, in, out);
  }
  if (c.shape == Shape::one) return wrap(std::move(out[0]));
  Obj r(checked(c.shape == Shape::tuple ? PyTuple_New(c.outputs) : PyList_New(c.outputs)));
  for (int i = 0; i < c.outputs; ++i) {
    PyObject* t = checked(wrap(std::move(out[i])));
    if (c.shape == Shape::tuple) PyTuple_SET_ITEM(r.get(), i, t);
    else PyList_SET_ITEM(r.get(), i, t);
  }
  return r.release();
  FB_PY_END(nullptr)
}
PyObject* compiled_steps(PyObject* self, PyObject* args) {
  FB_PY_BEGIN
  std::vector<TensorImpl*> in(size_t(as(self).inputs));
  int64_t work = 0;
  take_inputs(as(self), &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), in.data(), &work);
  if (as(self).otherwise && !followed_on(as(self), in.data())) {
    Obj steps(checked(PyObject_GetAttrString(as(self).otherwise, "steps")));
    return PyObject_Call(steps.get(), args, nullptr);
  }
  return PyUnicode_FromString(compile::compiler().describe(*as(self).graph, in.data()).c_str());
  FB_PY_END(nullptr)
}
PyObject* compiled_otherwise(PyObject* self, PyObject* f) {
  Py_XSETREF(as(self).otherwise, Py_NewRef(f));
  Py_RETURN_NONE;
}
int compiled_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(as(o).otherwise);
  return 0;
}
int compiled_clear(PyObject* o) {
  Py_CLEAR(as(o).otherwise);
  return 0;
}
void compiled_dealloc(PyObject* o) {
  PyObject_GC_UnTrack(o);
  compiled_clear(o);
  if (as(o).graph) compile::compiler().drop(as(o).graph);
  delete as(o).followed;
  PyObject_GC_Del(o);
}
PyMethodDef compiled_methods[] = {
    {"otherwise", compiled_otherwise, METH_O, "otherwise(f) -> None\n\nf(*inputs) is called for inputs whose types, sizes or strides are not those that the code was followed on."},
    {"steps", compiled_steps, METH_VARARGS, "steps(*inputs) -> str\n\nThe kernels, views and operators that a call with these inputs runs, one a line."}, {}};

// ---- the tracer ----
struct PyTracer {
  PyObject_HEAD
  Trace* trace;
};
GraphTrace& trace_of(PyObject* o) { return reinterpret_cast<PyTracer*>(o)->trace->trace; }

PyObject* tracer_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* o = type->tp_alloc(type, 0);
  if (o) reinterpret_cast<PyTracer*>(o)->trace = new Trace;
  return o;
}
void tracer_dealloc(PyObject* o) {
  delete reinterpret_cast<PyTracer*>(o)->trace;
  Py_TYPE(o)->tp_free(o);
}
PyObject* tracer_input(PyObject* self, PyObject* t) {
  FB_PY_BEGIN
  const Tensor& given = tensor_arg(t, "input", "tensor");
  reinterpret_cast<PyTracer*>(self)->trace->inputs.emplace_back(*given.impl());
  return wrap(trace_of(self).input(given));
  FB_PY_END(nullptr)
}
PyObject* tracer_enter(PyObject* self, PyObject*) {
  trace_of(self).begin();
  return Py_NewRef(self);
}
PyObject* tracer_exit(PyObject* self, PyObject*) {
  trace_of(self).end();
  Py_RETURN_FALSE;
}
PyObject* tracer_finish(PyObject* self, PyObject* outputs) {
  FB_PY_BEGIN
  const Shape shape = PyTuple_Check(outputs) ? Shape::tuple : PyList_Check(outputs) ? Shape::list : Shape::one;
  std::vector<Tensor> out;
  if (shape == Shape::one) out.push_back(tensor_arg(outputs, "finish", "outputs"));
  else {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(outputs);
    for (Py_ssize_t i = 0; i < n; ++i) out.push_back(tensor_arg(PySequence_Fast_GET_ITEM(outputs, i), "finish", "outputs"));
  }
  compile::Graph g = trace_of(self).finish(out);
  const int inputs = int(g.inputs.size());
  Compiled* graph = compile::compiler().make(std::move(g));
  auto* o = PyObject_GC_New(PyCompiled, &CompiledType);
  if (!o) {
    compile::compiler().drop(graph);
    throw PythonErrorSet{};
  }
  o->call = compiled_call;
  o->graph = graph;
  o->inputs = inputs;
  o->outputs = int(out.size());
  o->shape = shape;
  o->otherwise = nullptr;
  o->followed = new std::vector<Followed>(std::move(reinterpret_cast<PyTracer*>(self)->trace->inputs));
  o->world = World();
  PyObject_GC_Track(o);
  return reinterpret_cast<PyObject*>(o);
  FB_PY_END(nullptr)
}
PyMethodDef tracer_methods[] = {
    {"input", tracer_input, METH_O, "input(tensor) -> Tensor\n\nA tensor without values that stands for the next input of the graph."},
    {"__enter__", tracer_enter, METH_NOARGS, nullptr},
    {"__exit__", tracer_exit, METH_VARARGS, nullptr},
    {"finish", tracer_finish, METH_O, "finish(outputs) -> callable\n\nThe graph of what was called, giving a tensor, a tuple or a list of them."},
    {}};

PyObject* statistics(PyObject*, PyObject*) {
  FB_PY_BEGIN
  const compile::Statistics s = compile::compiler().statistics();
  return Py_BuildValue("{s:L,s:d,s:d,s:L,s:d,s:d,s:L}", "kernels", static_cast<long long>(s.kernels), "milliseconds", s.milliseconds, "median", s.median,
                       "loaded", static_cast<long long>(s.loaded), "loading", s.loading, "median_loading", s.median_loading, "known",
                       static_cast<long long>(s.known));
  FB_PY_END(nullptr)
}
PyObject* keep_on_disk(PyObject*, PyObject* on) {
  FB_PY_BEGIN
  const int yes = PyObject_IsTrue(on);
  if (yes < 0) return nullptr;
  compile::compiler().keep_on_disk(yes != 0);
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}
PyMethodDef functions[] = {{"_compile_on_disk", keep_on_disk, METH_O, "_compile_on_disk(on): whether machine code is read from disk and left there."},
                           {"_compile_statistics", statistics, METH_NOARGS, "_compile_statistics() -> dict\n\nKernels made by this process, and what they took."}, {}};

}  // namespace

void init_compiled(PyObject* m) {
  CompiledType.tp_name = "torch._C._CompiledGraph";
  CompiledType.tp_basicsize = sizeof(PyCompiled);
  CompiledType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC;
  CompiledType.tp_vectorcall_offset = offsetof(PyCompiled, call);
  CompiledType.tp_call = PyVectorcall_Call;
  CompiledType.tp_dealloc = compiled_dealloc;
  CompiledType.tp_traverse = compiled_traverse;
  CompiledType.tp_clear = compiled_clear;
  CompiledType.tp_methods = compiled_methods;
  CompiledType.tp_doc = "A graph of operators in machine code: positional tensors in, a tensor or several out.";
  checked(PyType_Ready(&CompiledType));
  TracerType.tp_name = "torch._C._GraphTracer";
  TracerType.tp_basicsize = sizeof(PyTracer);
  TracerType.tp_flags = Py_TPFLAGS_DEFAULT;
  TracerType.tp_new = tracer_new;
  TracerType.tp_dealloc = tracer_dealloc;
  TracerType.tp_methods = tracer_methods;
  TracerType.tp_doc = "Follows the operators that code calls: with tracer: out = code(*map(tracer.input, inputs)).";
  checked(PyType_Ready(&TracerType));
  checked(PyModule_AddObjectRef(m, "_CompiledGraph", reinterpret_cast<PyObject*>(&CompiledType)));
  checked(PyModule_AddObjectRef(m, "_GraphTracer", reinterpret_cast<PyObject*>(&TracerType)));
  checked(PyModule_AddFunctions(m, functions));
}

}  // namespace fb::py
