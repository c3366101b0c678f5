// From a tile program to machine code in this process. Nothing of LLVM shows here; emit.cpp and jit.cpp alone include it.
#pragma once
#include <cstdint>

#include "compile/tile/ir.h"

namespace fb::compile {

// One word for each parameter: addresses and i64 as they are, f64 as its bits. Returns the errors raised (tile::Errors).
using Entry = int32_t (*)(const int64_t* words);

// p has no calls of named functions left. The code lives as long as the process. Raises RuntimeError where LLVM refuses.
Entry make_code(const tile::Program& p);

}  // namespace fb::compile
