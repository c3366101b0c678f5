// The passes of a card on compiler values. Included before a card header in a unit of its own, which defines no
// FB_EMIT_CARDS. A card that says `using passes = ...` (ops/reduce/passes.h) is compiled.
#pragma once
#include "compile/tile/domain.h"  // before the text of ops/math is used
#include "compile/fuse/stage.h"
#include "dispatch/card.h"
#include "ops/reduce/passes.h"

namespace fb::compile::loops {

template <class F, class T> inline constexpr TileFold fold_of{
    [] { return F::template identity<tile::Of<T>>().id; },
    [](tile::Id acc, tile::Id x, tile::Id parameter) {
      using V = tile::Of<T>;
      if constexpr (F::param) return F::step(V{acc}, V{x}, V{parameter}).id;
      else return F::step(V{acc}, V{x}).id;
    },
    [](tile::Id a, tile::Id b) { return F::combine(tile::Of<T>{a}, tile::Of<T>{b}).id; }};

// A value of the nest, of type T.
template <class T> struct Slot {
  int stmt;
};
template <class V> struct LaneOf;
template <class T> struct LaneOf<tile::Of<T>> { using type = T; };

template <class A> struct Passes {
  Stage& stage;

  Slot<A> operand(int argument) { return {stage.operand(argument, tile::elem<A>)}; }
  Slot<A> element() { return operand(0); }
  Slot<A> channel(int argument) { return {stage.channel(argument, tile::elem<A>)}; }
  Slot<int64_t> count_truths() {
    const Slot<bool> t{stage.operand(0, tile::Elem::b1)};
    return fold<folds::sum>(apply([](auto t) { return tile::Of<int64_t>{tile::Builder::current().convert(t.id, tile::Elem::i64)}; }, t));
  }
  Slot<int64_t> index() { return {stage.index()}; }
  template <class F, class T> Slot<T> fold(Slot<T> x) { return {stage.fold(&fold_of<F, T>, tile::elem<T>, x.stmt, -1)}; }
  template <class F, class T> Slot<T> fold(Slot<T> x, Slot<T> p) { return {stage.fold(&fold_of<F, T>, tile::elem<T>, x.stmt, p.stmt)}; }
  template <class F, class... T> auto apply(F, Slot<T>... x) {
    using R = typename LaneOf<decltype(F{}(tile::Of<T>{}...))>::type;
    const int in[] = {x.stmt...};
    const TilePoint f = [](const tile::Id* v, const tile::Id*, const double*) {
      return [&]<size_t... I>(std::index_sequence<I...>) { return F{}(tile::Of<T>{v[I]}...).id; }(std::make_index_sequence<sizeof...(T)>());
    };
    return Slot<R>{stage.text(f, tile::elem<R>, in, int(sizeof...(T)))};
  }
  template <class T> Slot<T> count() { return {stage.count(tile::elem<T>)}; }
  Slot<A> number(int i) { return {stage.number(i, tile::elem<A>)}; }
  template <class T> void result(int i, Slot<T> v) { stage.result(i, v.stmt); }
};

template <class P> constexpr int variants_of() {
  if constexpr (requires { P::variants; }) return P::variants;
  else return 1;
}
template <class P> struct PassTable {
  WritePasses p[variants_of<P>() * kPassTypes];
};
template <class P> constexpr PassTable<P> make_passes() {
  PassTable<P> t{};
  [&]<int... V>(std::integer_sequence<int, V...>) {
    (([&] {
       t.p[V * kPassTypes + 0] = [](Stage& s) { Passes<float> r{s}; P::template run<float, V>(r); };
       t.p[V * kPassTypes + 1] = [](Stage& s) { Passes<double> r{s}; P::template run<double, V>(r); };
       t.p[V * kPassTypes + 2] = [](Stage& s) { Passes<int64_t> r{s}; P::template run<int64_t, V>(r); };
     }()), ...);
  }(std::make_integer_sequence<int, variants_of<P>()>());
  return t;
}
template <class P> inline constexpr PassTable<P> passes_of = make_passes<P>();

// The argument `dim`: one, several, or none, which means all.
uint64_t mask_by_dim(const OpEntry& op, const Value* args, Ints sizes);

template <class C> constexpr TileReduction reduction_record() {
  if constexpr (requires { typename C::passes; }) {
    using P = typename C::passes;
    TileReduction r{C::schema, variants_of<P>(), passes_of<P>.p, nullptr, &P::compute, &mask_by_dim, 0, nullptr, nullptr};
    if constexpr (requires { P::variants; }) r.variant = &P::variant;
    if constexpr (requires { &P::mask; }) r.mask = &P::mask;
    if constexpr (requires { &P::groups; }) r.groups = &P::groups;
    if constexpr (requires { P::nnumbers; }) {
      r.nnumbers = P::nnumbers;
      r.numbers = &P::numbers;
    }
    return r;
  } else return {C::kind == CardKind::structured || C::kind == CardKind::direct ? C::schema : nullptr, 0, nullptr, nullptr, nullptr, nullptr, 0, nullptr, nullptr};
}

}  // namespace fb::compile::loops

#undef FB_CARD
#define FB_CARD(C)                                                                                                     \
  [[gnu::section("fb_tile_reductions"), gnu::used]] static constinit const ::fb::compile::TileReduction FB_CONCAT(      \
      fb_tile_reduction_, C) __attribute__((aligned(8))) = ::fb::compile::loops::reduction_record<C>();
