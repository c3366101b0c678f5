// Kernels of the Triton language: what triton/ (Python) writes goes to the compiler, and launches come here.
#pragma once
#include "python/binding.h"

namespace fb::py {
void init_triton(PyObject* m);
}
