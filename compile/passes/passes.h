// Passes over tile programs. Each makes a new program and stands in a file of its own; pipeline.cpp lists them in order.
#pragma once
#include "compile/tile/ir.h"
#include "compile/tile/width.h"

namespace fb::compile {

// Calls of named functions give way to the text of the functions.
tile::Program expand_named(const tile::Program& p);
// Those do whose text is short, and in tiles of up to tile_bytes() those whose text is straight: what stands in place is
// scheduled with what is around it, and constants and results need no memory. The others stay calls of compiled code.
tile::Program expand_straight(const tile::Program& p);
// Operators of a function's text; 0 where lanes go one by one in it, so that it stays a call.
int straight_length(const tile::Named* f, tile::Elem e);
constexpr int kTextsInPlace = 480;     // operators of such texts in one program; beyond, all stay calls
// Bytes of a tile in which texts stand: four registers take turns, eight where there are 32 of them, so that none waits for its
// last operation.
inline int tile_bytes() { return tile::wide_vectors() ? 512 : 128; }
constexpr int kRunLanes = 32;          // of a tile where functions are called
// One value for equal expressions in one scope.
tile::Program share_equal(const tile::Program& p);
// What no store, error or loop needs is left out.
tile::Program drop_unused(const tile::Program& p);

}  // namespace fb::compile
