// The end of the interpreter while threads of the program still compute. CPython ends a daemon thread that asks for the
// interpreter's lock then by unwinding its stack, which C++ frames do not survive. Such a thread sleeps here instead.
#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "python/binding.h"

namespace fb::py {
namespace {

std::atomic<bool> leaving{false};
std::atomic<int> returning{0};       // threads that wait for the lock
std::atomic<unsigned long> last_thread{0};

// Runs when the interpreter begins to end, before threads are refused: lets those through that wait for the lock already.
PyObject* leave(PyObject*, PyObject*) {
  last_thread = PyThread_get_thread_ident();
  leaving = true;
  PyThreadState* state = PyEval_SaveThread();
  for (int i = 0; i < 1000 && returning > 0; ++i) usleep(1000);
  PyEval_RestoreThread(state);
  Py_RETURN_NONE;
}
PyMethodDef leave_method = {"_leave", leave, METH_NOARGS, nullptr};

}  // namespace

void take_lock(PyThreadState* state) {
  ++returning;
  if (leaving && PyThread_get_thread_ident() != last_thread) {
    --returning;
    while (true) pause();
  }
  PyEval_RestoreThread(state);
  --returning;
}

void init_leaving(PyObject*) {
  pthread_atfork(nullptr, nullptr, [] { returning = 0; });  // those threads are not in the child
  Obj at_exit(checked(PyImport_ImportModule("atexit")));
  Obj f(checked(PyCFunction_New(&leave_method, nullptr)));
  Obj done(checked(PyObject_CallMethod(at_exit.get(), "register", "O", f.get())));
}

}  // namespace fb::py
