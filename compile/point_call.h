// What a pointwise call comes to: operands, mode, compute type, the card's text for it.
#pragma once
#include "compile/tile_card.h"
#include "dispatch/op.h"

namespace fb::compile {

struct PointCall {
  const TileCard* card = nullptr;
  TilePoint point = nullptr;
  Value operands[kMaxOperands];
  int argument[kMaxOperands] = {};      // which argument of the schema an operand is
  int nin = 0, nattr = 0, mode = 0;
  DType compute = DType::none;
  Scalar attrs[8];
};
// False where there is no text for the call; `why` says so in words.
bool prepare_point(const OpEntry& op, const Value* args, PointCall& c, std::string* why);

// A number as type d holds it, as a word that a program takes for f64 (floating types) or i64 (all others).
int64_t number_word(const Scalar& s, DType d);

}  // namespace fb::compile
