// The folds of a reduction card on compiler values. Included before a card header in a unit of its own, which defines no
// FB_EMIT_CARDS. A card that says `using passes = ...` (ops/reduce/passes.h) is compiled.
#pragma once
#include "compile/tile/domain.h"  // before the text of ops/math is used
#include "compile/tile_card.h"
#include "dispatch/card.h"
#include "ops/reduce/folds.h"

namespace fb::compile::loops {

template <class F, class T> constexpr TileFold fold_of() {
  using V = tile::Of<T>;
  return {[] { return F::template identity<V>().id; },
          [](tile::Id acc, tile::Id x, tile::Id parameter) {
            if constexpr (F::param) return F::step(V{acc}, V{x}, V{parameter}).id;
            else return F::step(V{acc}, V{x}).id;
          },
          [](tile::Id a, tile::Id b) { return F::combine(V{a}, V{b}).id; }};
}
template <class P, class T> inline constexpr TilePasses passes_of{
    fold_of<typename P::first, T>(), fold_of<typename P::second, T>(),
    [](tile::Id folded, tile::Id count) { return P::between(tile::Of<T>{folded}, tile::Of<T>{count}).id; },
    [](tile::Id folded, tile::Id number) { return P::finish(tile::Of<T>{folded}, tile::Of<T>{number}).id; }};

template <class C> constexpr TileReduction reduction_record() {
  if constexpr (requires { typename C::passes; }) {
    using P = typename C::passes;
    return {C::schema, &passes_of<P, float>, &passes_of<P, double>, &P::number};
  } else return {nullptr, nullptr, nullptr, nullptr};
}

}  // namespace fb::compile::loops

#undef FB_CARD
#define FB_CARD(C)                                                                                                     \
  [[gnu::section("fb_tile_reductions"), gnu::used]] static constinit const ::fb::compile::TileReduction FB_CONCAT(      \
      fb_tile_reduction_, C) __attribute__((aligned(8))) = ::fb::compile::loops::reduction_record<C>();
