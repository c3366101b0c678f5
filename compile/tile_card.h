// What a card's unit hands the compiler: its text on compiler values, per mode and type. The units emit these records into
// a section of libtorch_compile; registry.cpp hands them out by schema.
#pragma once
#include "compile/tile/ir.h"
#include "dispatch/pointwise.h"
#include "ops/index/reads.h"

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
// Writes a card's passes (ops/reduce/passes.h), in one compute type, into a nest.
class Stage;
using WritePasses = void (*)(Stage&);
constexpr int kPassTypes = 3;          // f32, f64, i64
struct TileReduction {
  const char* schema;
  int variants;
  const WritePasses* passes;           // [variants][kPassTypes]; null where the type, or the card, has none
  int (*variant)(const Value* args);   // null: 0
  DType (*compute)(DType self, DType result);
  // Dimensions that are reduced; one that is cut counts as two, the groups and what is within them.
  uint64_t (*mask)(const OpEntry& op, const Value* args, Ints sizes);
  int nnumbers;
  void (*numbers)(const Value* args, int64_t count, double* to);
  int64_t (*groups)(const Value* args);  // that dimension 1 is cut into; null or 0: it is whole
};

// A step of a chain along lines (ops/scan/chains.h), in one type of states.
struct TileChain {
  bool places;                                     // step says whether x becomes the state; its place is a result
  tile::Id (*start)();
  tile::Id (*step)(tile::Id state, tile::Id x);
};
struct TileScan {
  const char* schema;
  const TileChain *floating, *integral;            // states of f64 and of i64; null where the card has none
};

struct TileRead {
  const char* schema;
  ReadRule (*rule)(const Value* args);
};

// Null where no unit made one for that schema.
const TileCard* find_tile_card(const char* schema);
const TileReduction* find_tile_reduction(const char* schema);
const TileScan* find_tile_scan(const char* schema);
const TileRead* find_tile_read(const char* schema);
// Of every card that the compiler has a unit for, those without passes or chain too.
Span<TileReduction> all_tile_reductions();
Span<TileScan> all_tile_scans();

}  // namespace fb::compile
