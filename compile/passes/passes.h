// Passes over tile programs. Each makes a new program and stands in a file of its own; pipeline.cpp lists them in order.
#pragma once
#include "compile/tile/ir.h"

namespace fb::compile {

// Calls of named functions give way to the text of the functions.
tile::Program expand_named(const tile::Program& p);
// Those whose text is short do; the others stay calls of compiled code.
tile::Program expand_short(const tile::Program& p);
// One value for equal expressions in one scope.
tile::Program share_equal(const tile::Program& p);
// What no store, error or loop needs is left out.
tile::Program drop_unused(const tile::Program& p);

}  // namespace fb::compile
