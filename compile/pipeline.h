// From a tile program as a card's text writes it to machine code.
#pragma once
#include "compile/llvm/machine.h"
#include "compile/tile/ir.h"

namespace fb::compile {

// The passes in their order, with the verifier after each. FB_COMPILE_LOG=1 in the environment prints the program after
// each pass, and the time that each step took, to stderr. Raises RuntimeError naming the pass where a program is ill-formed.
tile::Program lower(const tile::Program& p);
// The same for machine code, where named functions of some length are called.
tile::Program lower_for_cpu(const tile::Program& p);
// Code that an earlier process left on disk is taken; `loaded` says so. Within NoFork: LLVM has locks of its own.
Ref<Code> compile(const tile::Program& p, bool* loaded = nullptr);

}  // namespace fb::compile
