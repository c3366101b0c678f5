// Operators registered at run time: torch.library, and TORCH_LIBRARY in C++. They stand in the same table as cards do.
#pragma once
#include <memory>

#include "dispatch/op.h"

namespace fb {

namespace form {
constexpr uint32_t library = uint32_t(1) << 28;  // of the cards made at run time
}

// What a kernel may be registered for.
enum class LibraryKey : uint8_t { cpu, cuda, meta, autograd, composite_explicit, composite_implicit, vmap, count };
// "CPU", "Autograd", ...; raises RuntimeError where there is no such key, NotImplementedError where it is known but not there.
LibraryKey library_key(std::string_view name);

// A kernel over boxed arguments. `context` is the kernel's own, dropped with it.
struct LibraryKernel {
  using Run = void (*)(void* context, const OpEntry& op, const Value* args, Results& out);
  Run run = nullptr;
  void* context = nullptr;
  void (*drop)(void* context) = nullptr;
};

// Adds "ns::name.overload(...) -> ..." to the table. Raises where that overload is there already, or the text is no schema.
const OpEntry& library_define(std::string_view schema);
// Registers a kernel; of an operator made from a card it replaces what the card gives for that key. Gives a number for library_remove.
// A kernel that is there for the key is replaced, and comes back when the new one is removed. It takes the kernel over: what is
// refused is dropped.
int64_t library_impl(const OpEntry& op, LibraryKey key, LibraryKernel kernel);
void library_remove(int64_t kernel);
// Takes an operator made by library_define off the table; who holds the entry may still call it, without kernels.
void library_undefine(const OpEntry& op);
// Whether a kernel was registered for a key.
bool library_has_kernel(const OpEntry& op, LibraryKey key);

// Runs what was registered of an operator of a library for a level of vmap, at that level; false where nothing was.
bool library_run_batched(const OpEntry& op, const Value* args, Results& out);

// Changes whenever the table does: what was found by name before must be looked up again.
uint64_t library_generation();
// Whether a kernel stands in the place of what the card of this operator gives.
bool library_replaces(const OpEntry& op);
// Changes whenever such a kernel comes or goes: what was made of cards before must be made anew.
uint64_t library_replacements();

// The table's side, in registry.cpp.
bool registry_add(OpEntry* op);           // takes it over for good; false, and it is not added, where one has its name
void registry_remove(const OpEntry& op);

}  // namespace fb
