// What a call of a card with passes comes to.
#pragma once
#include "compile/tile_card.h"
#include "core/dims.h"
#include "dispatch/op.h"

namespace fb::compile {

struct ReductionCall {
  const TileReduction* card = nullptr;
  WritePasses passes = nullptr;
  Dims domain;                 // of the elements
  uint64_t mask = 0;           // dimensions of it that are reduced
  int64_t count = 1;           // elements that go into one output
  double numbers[4] = {};
};
// False where the call has no passes; `why` says so in words.
bool prepare_reduction(const OpEntry& op, const Value* args, const std::vector<Tensor>& results, ReductionCall& c, std::string* why);

}  // namespace fb::compile
