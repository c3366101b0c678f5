// What a call of a card with a chain comes to.
#pragma once
#include "compile/tile_card.h"
#include "core/dims.h"
#include "dispatch/op.h"

namespace fb::compile {

struct ScanCall {
  const TileChain* chain = nullptr;
  tile::Elem state = tile::Elem::f64;
  int64_t dim = 0;             // along which lines run
};
// False where the call has no chain; `why` says so in words.
bool prepare_scan(const OpEntry& op, const Value* args, const std::vector<Tensor>& results, ScanCall& c, std::string* why);

}  // namespace fb::compile
