// Reads by an index. Included before a card header in a unit of its own, which defines no FB_EMIT_CARDS. A card that has a
// read_rule (ops/index/reads.h) is compiled.
#pragma once
#include "compile/tile_card.h"
#include "dispatch/card.h"

namespace fb::compile::loops {

template <class C> constexpr TileRead read_record() {
  if constexpr (requires { &C::read_rule; }) return {C::schema, &C::read_rule};
  else return {nullptr, nullptr};
}

}  // namespace fb::compile::loops

#undef FB_CARD
#define FB_CARD(C)                                                                                                     \
  [[gnu::section("fb_tile_reads"), gnu::used]] static constinit const ::fb::compile::TileRead FB_CONCAT(                \
      fb_tile_read_, C) __attribute__((aligned(8))) = ::fb::compile::loops::read_record<C>();
