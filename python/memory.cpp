// What the allocator of host memory did, for programs that measure.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "core/allocator.h"
#include "python/binding.h"

namespace fb::py {

constinit thread_local OriginId line_without_gil = 0;

namespace {
std::string g_package;  // folder of this package, with its slash

// The package's files, and code that it makes: "<graph of torch.compile>" (torch/_dynamo/).
bool of_this_package(const char* file) {
  return (!g_package.empty() && strncmp(file, g_package.c_str(), g_package.size()) == 0) || (file[0] == '<' && strstr(file, " of torch.compile>"));
}
}  // namespace

OriginId python_line() noexcept {
  PyFrameObject* f = PyEval_GetFrame();
  if (!f) return 0;
  Py_INCREF(f);
  char text[512] = "";
  for (int depth = 0; f && depth < 64; ++depth) {
    PyCodeObject* code = PyFrame_GetCode(f);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    const char* function = PyUnicode_AsUTF8(code->co_qualname);
    const bool inner = !file || of_this_package(file);
    if (file && function && (!inner || !text[0])) snprintf(text, sizeof text, "%s:%d in %s", file, PyFrame_GetLineNumber(f), function);
    Py_DECREF(code);
    PyFrameObject* back = inner ? PyFrame_GetBack(f) : nullptr;
    Py_DECREF(f);
    f = back;
  }
  Py_XDECREF(f);
  if (PyErr_Occurred()) PyErr_Clear();
  return intern_origin(text);
}

namespace {

OriginId line_of_thread() noexcept { return Py_IsInitialized() && PyGILState_Check() ? python_line() : line_without_gil; }

const char* const kind_names[] = {"allocate", "free"};

PyObject* origin_object(OriginId id) {
  if (id == 0) Py_RETURN_NONE;
  const std::string s = origin_text(id);
  return PyUnicode_DecodeUTF8(s.data(), Py_ssize_t(s.size()), "replace");
}

PyObject* host_memory_snapshot(PyObject*, PyObject*) {
  FB_PY_BEGIN
  Obj all(checked(PyList_New(0)));
  for (const SegmentInfo& s : cpu_allocator().snapshot()) {
    Obj blocks(checked(PyList_New(0)));
    for (const SegmentInfo::Block& b : s.blocks) {
      Obj one(checked(Py_BuildValue("{s:K,s:n,s:s,s:N}", "address", static_cast<unsigned long long>(b.address), "size", Py_ssize_t(b.size),
                                    "state", b.used ? "active_allocated" : "inactive", "origin", origin_object(b.origin))));
      checked(PyList_Append(blocks.get(), one.get()));
    }
    Obj segment(checked(Py_BuildValue("{s:K,s:n,s:O}", "address", static_cast<unsigned long long>(s.address), "total_size", Py_ssize_t(s.size),
                                      "blocks", blocks.get())));
    checked(PyList_Append(all.get(), segment.get()));
  }
  return all.release();
  FB_PY_END(nullptr)
}

PyObject* host_record_history(PyObject*, PyObject* arg) {
  FB_PY_BEGIN
  const Py_ssize_t n = PyNumber_AsSsize_t(arg, PyExc_OverflowError);
  if (n == -1 && PyErr_Occurred()) return nullptr;
  if (n < 0) raise_value("_host_record_memory_history(): argument 'events' must be at least 0, it is ", int64_t(n));
  cpu_allocator().record_history(size_t(n));
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyObject* host_memory_history(PyObject*, PyObject*) {
  FB_PY_BEGIN
  Obj all(checked(PyList_New(0)));
  for (const AllocationEvent& e : cpu_allocator().history()) {
    Obj one(checked(Py_BuildValue("{s:s,s:K,s:n,s:K,s:N}", "action", kind_names[int(e.kind)], "address", static_cast<unsigned long long>(e.address),
                                  "size", Py_ssize_t(e.size), "time_ns", static_cast<unsigned long long>(e.nanoseconds), "origin",
                                  origin_object(e.origin))));
    checked(PyList_Append(all.get(), one.get()));
  }
  return all.release();
  FB_PY_END(nullptr)
}

PyObject* host_memory_stats(PyObject*, PyObject*) {
  FB_PY_BEGIN
  const AllocatorStats s = cpu_allocator().stats();
  return Py_BuildValue("{s:n,s:n,s:n,s:n,s:n,s:n,s:n,s:K,s:K}", "allocated.current", Py_ssize_t(s.allocated), "allocated.peak",
                       Py_ssize_t(s.peak_allocated), "idle.current", Py_ssize_t(s.idle), "reserved.current",
                       Py_ssize_t(s.reserved), "reserved.peak", Py_ssize_t(s.peak_reserved), "largest_free",
                       Py_ssize_t(s.largest_free), "segments", Py_ssize_t(s.segments), "out_of_memory",
                       static_cast<unsigned long long>(s.out_of_memory), "cache_flushes",
                       static_cast<unsigned long long>(s.cache_flushes));
  FB_PY_END(nullptr)
}

PyObject* host_memory_reset_peak(PyObject*, PyObject*) {
  FB_PY_BEGIN
  cpu_allocator().reset_peak();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyObject* host_empty_cache(PyObject*, PyObject*) {
  FB_PY_BEGIN
  cpu_allocator().empty_cache();
  Py_RETURN_NONE;
  FB_PY_END(nullptr)
}

PyMethodDef functions[] = {
    {"_host_memory_stats", host_memory_stats, METH_NOARGS, "Bytes of host memory by state, as a dict."},
    {"_host_memory_reset_peak", host_memory_reset_peak, METH_NOARGS, "Peaks start again from what is held now."},
    {"_host_memory_snapshot", host_memory_snapshot, METH_NOARGS,
     "Segments and their blocks; of a block in use of 1 MiB and more, the Python line that asked for it."},
    {"_host_record_memory_history", host_record_history, METH_O,
     "Keeps the last so many allocations and frees above 4 KiB, each with the Python line; 0 stops and forgets."},
    {"_host_memory_history", host_memory_history, METH_NOARGS, "What was recorded, oldest first."},
    {"_host_empty_cache", host_empty_cache, METH_NOARGS, "Gives idle host memory back to the system."},
    {}};

}  // namespace

void init_memory(PyObject* m) {
  checked(PyModule_AddFunctions(m, functions));
  // torch/_C.so stands in the package's folder.
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&init_memory), &info) && info.dli_fname) {
    const std::string file = info.dli_fname;
    g_package = file.substr(0, file.rfind('/') + 1);
  }
  allocation_origin = &line_of_thread;
}

}  // namespace fb::py
