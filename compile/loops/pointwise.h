// A pointwise card's text on compiler values. Included before a card header in a unit of its own, which
// defines no FB_EMIT_CARDS.
#pragma once
#include "compile/tile/domain.h"  // before the text of ops/math is used
#include "compile/tile_card.h"
#include "dispatch/card.h"

namespace fb::compile {
namespace loops {

template <class T> using computed = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

template <class C> constexpr bool scalar_only() { return requires { C::lane_by_lane; } || requires { C::storage_lanes; }; }
template <class C> constexpr bool takes_raw() {
  if constexpr (requires { C::raw_attributes; }) return C::raw_attributes;
  else return false;
}

template <class C, int M, class T> struct Point {
  using S = computed<T>;
  using V = tile::Of<S>;
  static constexpr int nin = detail::arguments_of<C>.nin(), nattr = detail::arguments_of<C>.nattr();
  template <size_t I> static auto operand(const tile::Id* in) {
    if constexpr (C::bool_operands >> I & 1) return tile::Truth{in[I]};
    else return V{in[I]};
  }
  template <size_t A> static auto number(const tile::Id* attrs, const double* raw) {
    if constexpr (takes_raw<C>()) return raw[A];
    else return V{tile::Builder::current().convert(attrs[A], tile::elem<S>)};
  }
  static tile::Id text(const tile::Id* in, const tile::Id* attrs, const double* raw) {
    return [&]<size_t... I, size_t... A>(std::index_sequence<I...>, std::index_sequence<A...>) {
      if constexpr (scalar_only<C>()) {
        static_assert(C::bool_operands == 0);
        if constexpr (takes_raw<C>()) {
          static_assert(nattr <= 1);
          const double a = nattr ? raw[0] : 0;
          auto f = [a](std::conditional_t<(I >= 0), S, S>... x) {
            if constexpr (nattr) return detail::member_fn<C, S, M>()(x..., a);
            else return detail::member_fn<C, S, M>()(x...);
          };
          return tile::Builder::current().lanes(tile::thunk_of<S, S, decltype(f), nin>(f), tile::elem<S>, in, nin);
        } else {
          auto f = [](std::conditional_t<(I >= 0), S, S>... x, std::conditional_t<(A >= 0), S, S>... a) {
            return detail::member_fn<C, S, M>()(x..., a...);
          };
          const tile::Id x[] = {in[I]..., number<A>(attrs, raw).id...};
          return tile::Builder::current().lanes(tile::thunk_of<S, S, decltype(f), nin + nattr>(f), tile::elem<S>, x, nin + nattr);
        }
      } else {
        return detail::member_fn<C, V, M>()(operand<I>(in)..., number<A>(attrs, raw)...).id;
      }
    }(std::make_index_sequence<nin>(), std::make_index_sequence<nattr>());
  }
};

// Integers and truth values have the text where it is written on the domain; see is_number_v in the cards.
template <class C, class T> constexpr bool has_text() {
  if constexpr (!(C::types & types::bit(dtype_of<T>))) return false;
  else if constexpr (is_complex_v<T>) return false;
  else if constexpr (requires { C::storage_lanes; } && !std::is_same_v<T, computed<T>>) return false;
  else return true;
}

template <class C> struct Points {
  static constexpr int modes = detail::modes_of<C>();
  struct Table { TilePoint p[modes * kTypeSlots]; };
  template <int M> static constexpr void fill(TilePoint* t) {
    auto put = [&]<class T>() {
      if constexpr (has_text<C, T>()) t[int(dtype_of<T>)] = &Point<C, M, T>::text;
    };
#define FB_X(T, e) put.template operator()<T>();
    FB_TILE_TYPES(FB_X)
#undef FB_X
  }
  static constexpr Table table = [] {
    Table t{};
    [&]<int... M>(std::integer_sequence<int, M...>) { (fill<M>(t.p + M * kTypeSlots), ...); }(std::make_integer_sequence<int, modes>());
    return t;
  }();
};

template <class C> struct TextOf { using type = C; };
template <class C> requires requires { typename C::loops; } struct TextOf<C> { using type = typename C::loops; };

template <class C> constexpr TileCard point_record() {
  if constexpr (C::kind == CardKind::pointwise) {
    using T = typename TextOf<C>::type;
    return {C::schema, detail::modes_of<T>(), takes_raw<T>(), Points<T>::table.p};
  } else return {nullptr, 0, false, nullptr};
}

}  // namespace loops
}  // namespace fb::compile

// In these units a card emits what the compiler takes, and no record of its own: libtorch has that.
#undef FB_CARD
#define FB_CARD(C)                                                                                                     \
  [[gnu::section("fb_tile_cards"), gnu::used]] static constinit const ::fb::compile::TileCard FB_CONCAT(                \
      fb_tile_card_, C) __attribute__((aligned(8))) = ::fb::compile::loops::point_record<C>();
