// The chain of a card on compiler values. Included before a card header in a unit of its own, which defines no FB_EMIT_CARDS.
// A card that says `using chain = ...` (ops/scan/chains.h) is compiled.
#pragma once
#include "compile/tile/domain.h"  // before the text of ops/math is used
#include "compile/tile_card.h"
#include "dispatch/card.h"
#include "ops/scan/chains.h"

namespace fb::compile::loops {

template <class F, class T> inline constexpr TileChain chain_of{
    F::places, [] { return F::template start<tile::Of<T>>().id; },
    [](tile::Id state, tile::Id x) {
      if constexpr (F::places) return F::takes(tile::Of<T>{state}, tile::Of<T>{x}).id;
      else return F::step(tile::Of<T>{state}, tile::Of<T>{x}).id;
    }};

template <class C> constexpr TileScan scan_record() {
  if constexpr (requires { typename C::chain; }) {
    using F = typename C::chain;
    TileScan s{C::schema, &chain_of<F, double>, nullptr};
    if constexpr (F::integers) s.integral = &chain_of<F, int64_t>;
    return s;
  } else return {C::kind == CardKind::structured || C::kind == CardKind::direct ? C::schema : nullptr, nullptr, nullptr};
}

}  // namespace fb::compile::loops

#undef FB_CARD
#define FB_CARD(C)                                                                                                     \
  [[gnu::section("fb_tile_scans"), gnu::used]] static constinit const ::fb::compile::TileScan FB_CONCAT(                \
      fb_tile_scan_, C) __attribute__((aligned(8))) = ::fb::compile::loops::scan_record<C>();
