// What loading a shared object with operators needs beside dispatch/library.h.
#pragma once
#include <string>

#include "dispatch/library.h"

namespace fb {

// Marks a namespace as defined. Raises where it is already.
void library_namespace(const std::string& ns);
// As library_impl, by name; a kernel whose operator is not there yet waits for it. `schema` is what the kernel takes,
// "kernel(Tensor _0, int _1) -> Tensor" (empty: not known); raises where the operator's own differs from it.
void library_impl_named(const std::string& full_name, LibraryKey key, LibraryKernel kernel, const std::string& schema);
// Called when an operator has come: registers the kernels that waited.
void library_impl_waiting(const OpEntry& op);

// Errors while a shared object loads cannot be raised there; they are kept until asked for.
void library_note_error(const char* what);
std::string library_take_errors();

}  // namespace fb
