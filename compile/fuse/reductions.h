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
  int64_t groups = 0;          // that dimension 1 of it is cut into; 0: it is whole
  uint64_t mask = 0;           // dimensions that are reduced, of the domain as it is cut
  int64_t count = 1;           // elements that go into one output
  double numbers[4] = {};
};
// A domain, and strides over it, with dimension 1 as two: the groups, and what is within a group.
Dims cut_sizes(Ints domain, int64_t groups);
Dims cut_strides(Ints strides, Ints domain, int64_t groups);
// False where the call has no passes; `why` says so in words.
bool prepare_reduction(const OpEntry& op, const Value* args, const std::vector<Tensor>& results, ReductionCall& c, std::string* why);

}  // namespace fb::compile
