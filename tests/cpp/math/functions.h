// The functions of one operand, each with its exact value and its bounds in ULP: the one list that the tests sweep, that
// the program over every float runs through (tests/domains/sweep.h), and that docs/math.md is a table of.
//
//   F(name, exact value in x, float bound, double bound, least and greatest x of the doubles that are taken uniformly)
//   S(..., float slack, double slack)   an absolute error up to the slack, an expression in x, is forgiven
//
// Values are formed in double where x is a float, in long double where it is a double: references.h has those that
// <cmath> has not. A double bound of 0: ranges of their own have bounds of their own (special_vector_test.cpp,
// special_test.cpp).
#pragma once
#include <cmath>

#include "tests/cpp/math/references.h"

#define FB_EXPONENTIALS(F, S)                   \
  F(exp, std::exp(x), 0.91, 1, -750, 720)      \
  F(exp2, std::exp2(x), 0.9, 0.95, -1080, 1030) \
  F(expm1, std::expm1(x), 1.51, 1.7, -50, 710)  \
  F(log, std::log(x), 0.94, 0.95, 0, 3)         \
  F(log2, std::log2(x), 1.3, 1.3, 0, 3)         \
  F(log10, std::log10(x), 1.06, 1.1, 0, 3)       \
  F(log1p, std::log1p(x), 1.0, 1.0, -1, 3)      \
  F(sigmoid, (x < -40 ? std::exp(x) : 1 / (1 + std::exp(-x))), 0.99, 0.95, -750, 40)

#define FB_TRIGONOMETRY(F, S)              \
  F(sin, std::sin(x), 0.8, 0.8, -100, 100) \
  F(cos, std::cos(x), 0.8, 0.8, -100, 100) \
  F(tan, std::tan(x), 2.1, 2.2, -100, 100) \
  F(asin, std::asin(x), 1.0, 1.0, -1, 1)   \
  F(acos, std::acos(x), 1.2, 1.2, -1, 1)   \
  F(atan, std::atan(x), 1.2, 1.4, -5, 5)

#define FB_HYPERBOLICS(F, S)                 \
  F(tanh, std::tanh(x), 0.95, 3.0, -2, 2)    \
  F(sinh, std::sinh(x), 1.6, 1.6, -712, 712) \
  F(cosh, std::cosh(x), 1.4, 1.4, -712, 712) \
  F(asinh, std::asinh(x), 0.6, 2.5, -10, 10) \
  F(acosh, std::acosh(x), 0.6, 3.0, 1, 10)   \
  F(atanh, std::atanh(x), 0.6, 2.5, -1, 1)   \
  F(erf, std::erf(x), 0.97, 1.1, -4, 4)      \
  F(erfc, std::erfc(x), 0.6, 5.0, -6, 28)

#define FB_ROOTS(F, S)                   \
  F(sqrt, std::sqrt(x), 0.5, 0.5, 0, 10) \
  F(rsqrt, 1 / std::sqrt(x), 1.5, 1.5, 0, 10)

#define FB_ROUNDINGS(F, S)                   \
  F(abs, std::fabs(x), 0, 0, -10, 10)        \
  F(floor, std::floor(x), 0, 0, -10, 10)     \
  F(ceil, std::ceil(x), 0, 0, -10, 10)       \
  F(trunc, std::trunc(x), 0, 0, -10, 10)     \
  F(round, std::nearbyint(x), 0, 0, -10, 10) \
  F(frac, x - std::trunc(x), 0, 0, -10, 10)  \
  F(sign, decltype(x)((x > 0) - (x < 0)), 0, 0, -10, 10)

// gelu is bounded against |x|, its tanh form against its own argument.
#define FB_ACTIVATIONS(F, S)                                                                 \
  F(log_sigmoid, (std::isnan(x) ? x : -fb::testing::exact_softplus(-x)), 2, 2, -50, 50)      \
  S(silu, fb::testing::exact_silu(x), 3.2, 3.2, -50, 50, 0x1p-143, 0x1p-1065)                    \
  S(mish, x * std::tanh(fb::testing::exact_softplus(x)), 4, 5, -50, 50, 0x1p-143, 0x1p-1065) \
  F(entr, (std::isnan(x) ? x : x > 0 ? -x * std::log(x) : x == 0 ? 0 * std::fabs(x) : -INFINITY), 1.6, 1.6, 0, 2)

#define FB_GELUS(F, S)                                                                               \
  S(gelu, fb::testing::exact_gelu(x), 1, 1, -45, 45, 0x1p-23 * std::fabs(x), 0x1p-52 * std::fabs(x)) \
  S(gelu_tanh, fb::testing::exact_gelu_tanh(x), 1, 1, -45, 45,                                       \
    1e-42 + 0x1p-24 * fb::testing::exact_gelu_tanh_room(x), 1e-320 + 0x1p-53 * fb::testing::exact_gelu_tanh_room(x))

#define FB_SPECIALS(F, S)                                    \
  F(erfcx, fb::testing::exact_erfcx(x), 0.6, 0, 0, 0)        \
  F(erfinv, fb::testing::exact_erfinv(x), 0.6, 0, 0, 0)      \
  F(ndtr, fb::testing::upper(-(long double)x), 0.6, 0, 0, 0) \
  F(log_ndtr, fb::testing::exact_log_ndtr(x), 0.6, 0, 0, 0)  \
  F(ndtri, fb::testing::exact_ndtri(x), 0.6, 0, 0, 0)        \
  F(lgamma, fb::testing::exact_lgamma(x), 1, 0, 0, 0)        \
  F(digamma, fb::testing::exact_digamma(x), 1, 0, 0, 0)      \
  F(i0, fb::testing::exact_bessel_i(0, x), 0.6, 0, 0, 0)     \
  F(i0e, fb::testing::bessel_scaled(0, x), 0.6, 0, 0, 0)     \
  F(i1, fb::testing::exact_bessel_i(1, x), 0.6, 0, 0, 0)     \
  F(i1e, fb::testing::bessel_scaled(1, x), 0.6, 0, 0, 0)

// These iterate: a scalar text in double, rounded once.
#define FB_ITERATING(F, S)                                                                                                             \
  F(trigamma, fb::testing::exact_trigamma(x), 0.6, 0, 0, 0)                                                                            \
  S(bessel_j0, fb::testing::exact_bessel_j(j0l, x), 0.6, 0, 0, 0, 0x1p-46 * fb::testing::amplitude(x), 0)                              \
  S(bessel_j1, fb::testing::exact_bessel_j(j1l, x), 0.6, 0, 0, 0, 0x1p-46 * fb::testing::amplitude(x) * std::fmin(1, std::fabs(x)), 0) \
  S(bessel_y0, fb::testing::exact_bessel_y(y0l, x), 0.6, 0, 0, 0, 0x1p-46 * fb::testing::amplitude(x), 0)                              \
  S(bessel_y1, fb::testing::exact_bessel_y(y1l, x), 0.6, 0, 0, 0, 0x1p-46 * fb::testing::amplitude(x), 0)                              \
  F(modified_bessel_k0, fb::testing::exact_bessel_k(0, x), 0.6, 0, 0, 0)                                                               \
  F(modified_bessel_k1, fb::testing::exact_bessel_k(1, x), 0.6, 0, 0, 0)                                                               \
  F(scaled_modified_bessel_k0, fb::testing::exact_scaled_k(0, x), 0.6, 0, 0, 0)                                                        \
  F(scaled_modified_bessel_k1, fb::testing::exact_scaled_k(1, x), 0.6, 0, 0, 0)                                                        \
  S(airy_ai, fb::testing::exact_airy(x), 0.6, 0, 0, 0, fb::testing::airy_room(x), 0)                                                   \
  F(spherical_bessel_j0, fb::testing::exact_spherical_j0(x), 0.6, 0, 0, 0)
