// Orthogonal polynomials by their recurrences; the degree is an operand. Without a derivative, as in PyTorch.
#pragma once
#include "dispatch/card.h"
#include "ops/math/orthogonal.h"

namespace fb::cards {

template <class C> struct polynomial : pointwise<C> {
  static constexpr uint32_t types = types::bit(DType::f32) | types::bit(DType::f64), forms = form::special | form::out;
  static constexpr Promotion promotion{.int_to_float = true};
  static constexpr bool lane_by_lane = true;
};
// A degree is cut towards zero.
template <class V> constexpr V cut_degree(V n) {
  if constexpr (std::is_floating_point_v<V>) return n > V(-1) && n < V(0) ? V(0) : n;
  else return n;
}
#define FB_POLYNOMIAL(Struct, name, text)                                                                    \
  struct Struct : polynomial<Struct> {                                                                       \
    static constexpr auto schema = "special_" #name "(Tensor x, Tensor n) -> Tensor";                        \
    template <class V> static constexpr V fn(V x, V n) { return math::name(x, cut_degree(n)); }                        \
    static constexpr auto doc = #name "(input, n, *, out=None) -> Tensor\n\n" text                            \
        " of degree n at input, elementwise with broadcasting; either may be a number.";                     \
  };                                                                                                         \
  FB_CARD(Struct)                                                                                            \
  struct Struct##XNumber : polynomial<Struct##XNumber> {                                                     \
    static constexpr auto schema = "special_" #name ".x_scalar(Scalar x, Tensor n) -> Tensor";               \
    static constexpr uint64_t scalar_operands = 0b01;                                                        \
    using loops = Struct;                                                                                    \
  };                                                                                                         \
  FB_CARD(Struct##XNumber)                                                                                   \
  struct Struct##NNumber : polynomial<Struct##NNumber> {                                                     \
    static constexpr auto schema = "special_" #name ".n_scalar(Tensor x, Scalar n) -> Tensor";               \
    static constexpr uint64_t scalar_operands = 0b10;                                                        \
    using loops = Struct;                                                                                    \
  };                                                                                                         \
  FB_CARD(Struct##NNumber)
FB_POLYNOMIAL(ChebyshevT, chebyshev_polynomial_t, "Chebyshev polynomial of the first kind")
FB_POLYNOMIAL(ChebyshevU, chebyshev_polynomial_u, "Chebyshev polynomial of the second kind")
FB_POLYNOMIAL(ChebyshevV, chebyshev_polynomial_v, "Chebyshev polynomial of the third kind")
FB_POLYNOMIAL(ChebyshevW, chebyshev_polynomial_w, "Chebyshev polynomial of the fourth kind")
FB_POLYNOMIAL(ShiftedChebyshevT, shifted_chebyshev_polynomial_t, "Chebyshev polynomial of the first kind, shifted to [0, 1],")
FB_POLYNOMIAL(ShiftedChebyshevU, shifted_chebyshev_polynomial_u, "Chebyshev polynomial of the second kind, shifted to [0, 1],")
FB_POLYNOMIAL(ShiftedChebyshevV, shifted_chebyshev_polynomial_v, "Chebyshev polynomial of the third kind, shifted to [0, 1],")
FB_POLYNOMIAL(ShiftedChebyshevW, shifted_chebyshev_polynomial_w, "Chebyshev polynomial of the fourth kind, shifted to [0, 1],")
FB_POLYNOMIAL(HermiteH, hermite_polynomial_h, "Physicists' Hermite polynomial")
FB_POLYNOMIAL(HermiteHe, hermite_polynomial_he, "Probabilists' Hermite polynomial")
FB_POLYNOMIAL(LaguerreL, laguerre_polynomial_l, "Laguerre polynomial")
FB_POLYNOMIAL(LegendreP, legendre_polynomial_p, "Legendre polynomial")
#undef FB_POLYNOMIAL

}  // namespace fb::cards
