// What takes operators over below autograd from Python: dispatch modes, and tensor classes with __torch_dispatch__.
#pragma once
#include "python/binding.h"

namespace fb::py {

// Whether instances of this class take calls themselves.
bool takes_dispatch(PyTypeObject* type);

// Whether a call with this argument goes to Python: a mode is active, or the tensor's class takes calls.
bool dispatches(const Tensor& t);
bool mode_active();
size_t active_dispatch_modes();   // on this thread's stack

// The OpOverload object that stands for this entry (of an alias, for what it is another name of), borrowed.
PyObject* overload_object(const OpEntry& op);

// The Python arguments of a call: positional ones up to the last that is no default, keyword-only ones that are none.
// Numbers that came wrapped as tensors are given as numbers.
void python_arguments(const OpEntry& op, const Value* args, Obj& positional, Obj& keywords);
// What Python returned for a call of `op`, checked against its schema.
void take_python_results(const OpEntry& op, const Value* args, PyObject* returned, Results& out);
// Results that a Results cannot hold (lists or numbers among several) are kept beside it: they as a tuple, null where
// `op` has none such.
PyObject* python_results(const OpEntry& op, Results& r);

}  // namespace fb::py
