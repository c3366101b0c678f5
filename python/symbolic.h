// Symbolic numbers (torch.SymInt, SymFloat, SymBool) among the arguments of calls. C++ computes with plain numbers; where
// tensors without elements take part, a symbolic number goes through it as its code, a number that torch/_subclasses/
// symbolic.py chose for it, and what reaches Python again is looked up there. Elsewhere it is its value, with a guard.
#pragma once
#include "python/binding.h"

namespace fb::py {

bool is_symbolic_number(PyObject* o);
// The int, float or bool that stands for a symbolic number in the call that is being parsed.
PyObject* plain_number_of(PyObject* o);
// What Python is shown for a number of a call: the symbolic number whose code it is, or the number itself.
PyObject* shown_number(int64_t v);
PyObject* shown_number(double v);
// .item() of a tensor whose class or mode takes calls.
PyObject* item_shown(PyObject* tensor);
// Numbers shown in this scope are those of a call with this tensor (a tensor of Python's, or null).
struct ShownWith {
  PyObject* before;
  explicit ShownWith(PyObject* tensor);
  ~ShownWith();
};

// Whether codes are in use. What a composite made of them is then compared with a run at the example's sizes, and a call that
// fails at the codes is told from one that fails for good: check(overload, args, kwargs, result, error) gives the result, or
// NotImplemented where the error stands.
extern bool codes_are_in_use;
inline bool codes_in_use() { return codes_are_in_use; }
PyObject* check_at_example(PyObject* overload, PyObject* args, PyObject* kwargs, PyObject* result, PyObject* error);

// What is known of the call that Python made last on this thread.
struct CallFromPython {
  const OpEntry* op = nullptr;     // what it called; null while its arguments are read
  bool on_python_tensors = false;  // an argument so far is a tensor whose class takes calls
  int n = 0;
  int64_t written[24] = {};        // its large plain ints: they are no codes
  void begin() { op = nullptr, on_python_tensors = false, n = 0; }
  void wrote(int64_t v) {
    if (may_be_code(v) && n < 24) written[n++] = v;
  }
  bool has_written(int64_t v) const {
    for (int i = 0; i < n; ++i)
      if (written[i] == v) return true;
    return false;
  }
  static constexpr int64_t kLeastCode = 300;
  static bool may_be_code(int64_t v) { return v >= kLeastCode || v <= -kLeastCode; }  // of an expression, or of its negative
};
extern __attribute__((tls_model("initial-exec"))) constinit thread_local CallFromPython call_from_python;

}  // namespace fb::py
