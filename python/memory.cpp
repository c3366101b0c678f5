// What the allocator of host memory did, for programs that measure.
#include "core/allocator.h"
#include "python/binding.h"

namespace fb::py {
namespace {

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
    {"_host_empty_cache", host_empty_cache, METH_NOARGS, "Gives idle host memory back to the system."},
    {}};

}  // namespace

void init_memory(PyObject* m) { checked(PyModule_AddFunctions(m, functions)); }

}  // namespace fb::py
