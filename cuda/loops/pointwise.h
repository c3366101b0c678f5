// A pointwise card's text in a CUDA thread: one entry for each mode and type, over contiguous operands. Included before a
// card header in a .cu unit of its own, which defines no FB_EMIT_CARDS. Half formats compute in float and round once.
#pragma once
#include "dispatch/card.h"

namespace fb::ptx {

template <class T> using computed = std::conditional_t<std::is_same_v<T, half> || std::is_same_v<T, bfloat16>, float, T>;

template <class C> constexpr bool raw_numbers() {
  if constexpr (requires { C::raw_attributes; }) return C::raw_attributes;
  else return false;
}

// out[i] = f(in[i]...): the numbers of the card come as the compute type, or as they are where the card asks for that.
template <class C, int M, class T> __global__ void pointwise(int64_t n, void* out, const void* const* in, const double* numbers) {
  using S = computed<T>;
  using N = std::conditional_t<raw_numbers<C>(), double, S>;
  constexpr int nin = detail::arguments_of<C>.nin(), nattr = detail::arguments_of<C>.nattr();
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  [&]<size_t... I, size_t... A>(std::index_sequence<I...>, std::index_sequence<A...>) {
    auto operand = [&]<size_t K>() {
      if constexpr (C::bool_operands >> K & 1) return static_cast<const bool*>(in[K])[i];
      else return S(static_cast<const T*>(in[K])[i]);
    };
    const auto r = [&] {
      if constexpr (requires { C::template fn<S, M>; }) return C::template fn<S, M>(operand.template operator()<I>()..., N(numbers[A])...);
      else return C::template fn<S>(operand.template operator()<I>()..., N(numbers[A])...);
    }();
    using R = std::remove_const_t<decltype(r)>;
    using Out = std::conditional_t<std::is_same_v<R, S>, T, R>;
    static_cast<Out*>(out)[i] = Out(r);
  }(std::make_index_sequence<nin>(), std::make_index_sequence<nattr>());
}

template <class C, class T> constexpr bool has_text() {
  if constexpr (!(C::types & types::bit(dtype_of<T>))) return false;
  else if constexpr (requires { C::lane_by_lane; }) return false;    // functions that iterate
  else if constexpr (requires { C::storage_lanes; }) return false;
  else return true;
}

// Naming the entries makes them: an explicit instantiation of this does.
template <class C> struct Entries {
  template <int M, class T> static void name(const void**& to) {
    if constexpr (has_text<C, T>()) *to++ = reinterpret_cast<const void*>(&pointwise<C, M, T>);
  }
  template <int... M> static void name_modes(const void**& to, std::integer_sequence<int, M...>) {
    ((name<M, float>(to), name<M, double>(to), name<M, half>(to), name<M, bfloat16>(to), name<M, uint8_t>(to), name<M, int8_t>(to),
      name<M, int16_t>(to), name<M, int32_t>(to), name<M, int64_t>(to), name<M, bool>(to)), ...);
  }
  static void names(const void** to) {
    if constexpr (C::kind == CardKind::pointwise) {
      if constexpr (!requires { typename C::loops; }) name_modes(to, std::make_integer_sequence<int, detail::modes_of<C>()>());
    }
  }
};

}  // namespace fb::ptx

#undef FB_CARD
#define FB_CARD(C) template struct ::fb::ptx::Entries<C>;
