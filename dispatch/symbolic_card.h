// Emits the symbolic rule of a card: its geometry, meta, check, body or lowering, instantiated for symbolic tensors.
#pragma once
#include "dispatch/symbolic.h"

namespace fb::detail {

inline void put_sym(SymResults& out, const SymValue*, SymTensor t) { out.push_back(std::move(t)); }
inline void put_sym(SymResults& out, const SymValue*, std::vector<SymTensor> v) { out = std::move(v); }
template <size_t N> void put_sym(SymResults& out, const SymValue*, std::array<SymTensor, N> a) {
  for (auto& t : a) out.push_back(std::move(t));
}
inline void put_sym(SymResults& out, const SymValue* args, const GeometryOf<SymInt>& g) {
  SymTensor t = args[0].tensors[0].alias(g.sizes, g.strides, g.offset);
  if (g.dtype != DType::none) t->dtype = g.dtype;
  if (g.bits >= 0) t->conj = g.bits & kConj, t->neg = g.bits & kNeg;
  out.push_back(std::move(t));
}
inline void put_sym(SymResults& out, const SymValue* args, const std::vector<GeometryOf<SymInt>>& l) {
  for (const auto& g : l) put_sym(out, args, g);
}

template <auto F> void box_sym(const SymValue* args, SymResults& out) {
  using Tr = FnTraits<decltype(F)>;
  [&]<size_t... I>(std::index_sequence<I...>) {
    if constexpr (std::is_void_v<typename Tr::Return>) {
      F(FromSym<plain<std::tuple_element_t<I, typename Tr::Args>>>::get(args[I])...);
      out.push_back(args[0].tensors[0]);
    } else put_sym(out, args, F(FromSym<plain<std::tuple_element_t<I, typename Tr::Args>>>::get(args[I])...));
  }(std::make_index_sequence<Tr::arity>());
}

template <class C> constexpr SymRun symbolic_rule() {
  if constexpr (C::kind == CardKind::structured) {
    if constexpr (C::symbolic_meta) return &box_sym<&C::template meta<SymTensor>>;
  } else if constexpr (C::kind == CardKind::view) {
    if constexpr (requires { &C::template geometry<SymTensor>; }) return &box_sym<&C::template geometry<SymTensor>>;
  } else if constexpr (C::kind == CardKind::direct) {
    if constexpr (requires { &C::template check<SymTensor>; }) return &box_sym<&C::template check<SymTensor>>;
  } else if constexpr (C::kind == CardKind::composite) {
    if constexpr (requires { &C::template body<SymTensor>; }) return &box_sym<&C::template body<SymTensor>>;
  } else if constexpr (C::kind == CardKind::lowered) {
    if constexpr (requires { &C::template lowering<SymTensor>; }) return &box_sym<&C::template lowering<SymTensor>>;
    // The geometry of what the lowering makes, where it keeps that in a template of its own.
    else if constexpr (requires { &C::template result<SymTensor>; }) return &box_sym<&C::template result<SymTensor>>;
  }
  return nullptr;
}

}  // namespace fb::detail

#define FB_SYMBOLIC_CARD(C)                                                                            \
  [[gnu::section("fb_symbolic"), gnu::used]] static constinit const ::fb::SymRecord FB_CONCAT(fb_sym_, C) = { \
      C::schema, ::fb::detail::symbolic_rule<C>()};
