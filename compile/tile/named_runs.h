// Named functions over runs in memory, in place: what machine code calls for tiles of several registers. A call for many
// lanes keeps constants in registers and several results under way, as the loops of cpu/ do.
#pragma once
#include "compile/tile/named.h"

namespace fb::tile {

// x[i] = f(x[i]) or f(x[i], y[i]); n is a multiple of kRunStep.
template <class T> using Run1 = void (*)(T* x, int64_t n);
template <class T> using Run2 = void (*)(T* x, const T* y, int64_t n);
template <class T> inline constexpr int kRunStep = 64 / int(sizeof(T));

struct NamedRuns {
  const char* name;
  const void* f32;
  const void* f64;
};
// Null where there is none of that name.
const NamedRuns* find_runs(std::string_view name);

}  // namespace fb::tile
