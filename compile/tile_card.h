// What a card's unit hands the compiler: its text on compiler values, per mode and type. The units emit these records into
// a section of libtorch_compile; registry.cpp hands them out by schema.
#pragma once
#include "compile/tile/ir.h"
#include "dispatch/pointwise.h"

namespace fb::compile {

// Appends the card's text to the current builder. in: operands in the compute type (float for the half formats) or b1;
// attrs: the card's numbers, as f64 or, where the type is integral, i64 values; numbers: the same, for cards that take
// them as C++ doubles (`raw_attributes`): those are part of the program.
using TilePoint = tile::Id (*)(const tile::Id* in, const tile::Id* attrs, const double* numbers);

struct TileCard {
  const char* schema;
  int modes;
  bool raw_attributes;
  const TilePoint* points;   // [modes][kTypeSlots]; null where the type has none
};

// What a fold does with lanes (ops/reduce/folds.h).
struct TileFold {
  tile::Id (*identity)();
  tile::Id (*step)(tile::Id acc, tile::Id x, tile::Id parameter);  // parameter: kNone where the fold takes none
  tile::Id (*combine)(tile::Id a, tile::Id b);
};
// A reduction in two passes over the tree of ops/reduce/tree.h, in one compute type (ops/reduce/passes.h).
struct TilePasses {
  TileFold first, second;
  tile::Id (*between)(tile::Id folded, tile::Id count);
  tile::Id (*finish)(tile::Id folded, tile::Id number);
};
struct TileReduction {
  const char* schema;
  const TilePasses* f32;
  const TilePasses* f64;
  double (*number)(const Value* args, int64_t count);
};

// Null where no unit made one for that schema.
const TileCard* find_tile_card(const char* schema);
const TileReduction* find_tile_reduction(const char* schema);

}  // namespace fb::compile
