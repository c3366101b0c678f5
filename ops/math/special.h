// Functions that iterate: igamma igammac zeta trigamma polygamma. Scalar, in double, lane by lane.
// Sources: Temme's uniform expansion of the incomplete gamma functions (DLMF 8.12), the series and continued
// fraction of DLMF 8.7 and 8.9, Euler and Maclaurin's summation for zeta (DLMF 25.11).
#pragma once
#include "ops/math/gamma.h"
#include "ops/math/normal.h"

namespace fb::math {

namespace detail {

inline constexpr double infinity = __builtin_inf(), not_a_number = __builtin_nan("");

// c_k(eta) of DLMF 8.12.10, row k in powers of eta.
inline constexpr double temme[10][18] = {
    {-0x1.5555555555555p-2, 0x1.5555555555555p-4, -0x1.e573ac901e574p-7, 0x1.2f684bda12f68p-10,
     0x1.71de3a556c734p-12, -0x1.76e06fec7273bp-13, 0x1.48c5892f7cd83p-15, -0x1.255370652afc1p-19,
     -0x1.f1b22f594c6b5p-20, 0x1.bd6d21e4b4109p-21, -0x1.7b5f9a2d0465cp-23, 0x1.ccf5ceb7f0d9fp-28,
     0x1.6097d55c37c1cp-27, -0x1.2d2197c7a2faap-28, 0x1.f6e66d24d5c8ap-31, -0x1.c0d9b6edf2b0bp-36,
     -0x1.0070a87340428p-34, 0x1.ac9475c463659p-36},
    {-0x1.e573ac901e574p-10, -0x1.c71c71c71c71cp-9, 0x1.5ac056b015ac0p-9, -0x1.0394f6f09e723p-10,
     0x1.af83440e53dbcp-13, -0x1.af83440e53dbcp-22, -0x1.2fa4ae89e5af0p-16, 0x1.00a9cabd6b83ep-17,
     -0x1.b0bdfcc629cbap-20, 0x1.3f59230a8357cp-28, 0x1.280f2cde3f847p-23, -0x1.ee23d0cba8aeep-25,
     0x1.9aa7a30de114cp-27, -0x1.349fbca3a377bp-36, -0x1.1564ecff73d58p-30, 0x1.c9b434bf3c34ep-32,
     -0x1.78a5056f8ce45p-34, 0},
    {0x1.0ee643b990ee6p-8, -0x1.5f7268edab4c8p-9, 0x1.948b0fcd6e9e0p-11, 0x1.0db20a88f4696p-19,
     -0x1.c253efaa1a932p-14, 0x1.bbf43daf4fe53p-15, -0x1.ac2d05890f2c3p-17, 0x1.26154ae39151dp-25,
     0x1.7058929663937p-20, -0x1.522cb05171911p-21, 0x1.32ac81c15d3d7p-23, -0x1.c24bd0e740a6cp-33,
     -0x1.e437343a46f5dp-27, 0x1.ac0d455e25360p-28, -0x1.77c5829460139p-30, 0x1.0962774f638bbp-40,
     0, 0},
    {0x1.547d93b34e2b6p-11, 0x1.e13ce465fa859p-13, -0x1.ebfb188b7ca00p-12, 0x1.18b9b5bf2d984p-12,
     -0x1.3d2a3a29b5d9dp-14, -0x1.0152a1871f27ap-22, 0x1.73df462204ef4p-17, -0x1.7cd6f27b3f020p-18,
     0x1.7e0201539310ep-20, -0x1.ea23269c140a7p-36, -0x1.6c2dcffbefeefp-23, 0x1.5bde8ef4c4dc7p-24,
     -0x1.4853ced169327p-26, 0x1.50c3f0dd501ebp-39, 0x1.1b66a39794ba9p-29, 0,
     0, 0},
    {-0x1.c3e0b02da7bf9p-11, 0x1.9b0ff6874f2c4p-11, -0x1.3999a85a4237ap-12, -0x1.88f2ae1def9d0p-20,
     0x1.16908b48ce058p-14, -0x1.4ce3fd902bcadp-15, 0x1.7db4c02846e81p-17, 0x1.13b3c5b7cb45ep-32,
     -0x1.c71c074985d3fp-20, 0x1.de37d9f09164cp-21, -0x1.ec676cf33153cp-23, 0x1.041515bab6adap-35,
     0x1.efe94304ac16bp-26, -0x1.e78e449f4e3bep-27, 0, 0,
     0, 0},
    {-0x1.6128ac5a4fa71p-12, -0x1.247604839c038p-14, 0x1.22be87360ef1fp-12, -0x1.a2042c5148e27p-13,
     0x1.1d1e9cb24760bp-14, 0x1.30bdcf208080ep-23, -0x1.c823fc1b3cc36p-17, 0x1.0d0e229150428p-17,
     -0x1.338eb19652fd9p-19, -0x1.659cfde0bb2ebp-32, 0x1.741504e5c87c2p-22, -0x1.8c267becd0c0fp-23,
     0x1.9e630225a095bp-25, 0, 0, 0,
     0, 0},
    {0x1.168ef1b0931c8p-11, -0x1.36773bdb97b48p-11, 0x1.1c0950d3ecb9dp-12, 0x1.a8411da6cab49p-21,
     -0x1.5600945495b37p-14, 0x1.d6bdf83130dc1p-15, -0x1.3382f4cf48618p-16, -0x1.a74243fa27729p-29,
     0x1.d115d4f5dcc68p-19, -0x1.10587854fcb37p-19, 0x1.36c8903447d35p-21, 0x1.074e709bf4b8bp-42,
     0, 0, 0, 0,
     0, 0},
    {0x1.691879c01efb4p-12, 0x1.b1d75d3346711p-15, -0x1.5f3385098cebfp-12, 0x1.26eeb5ece1d9fp-12,
     -0x1.cc642787368cep-14, -0x1.119c70312e0a2p-23, 0x1.d179830b113abp-16, -0x1.3269164e3e304p-16,
     0x1.8467d794bd7f2p-18, 0x1.0f82da50cdaeep-31, -0x1.1c6acec59f442p-20, 0,
     0, 0, 0, 0,
     0, 0},
    {-0x1.5629b3187b744p-11, 0x1.b8239c670e690p-11, -0x1.cb967b4446107p-12, -0x1.762676b30cfd6p-21,
     0x1.5d1157082916dp-13, -0x1.0c16fcea7ddb2p-13, 0x1.84637d3f583cdp-15, 0x1.3937992ec9b02p-28,
     -0x1.6384af9ac219dp-17, 0x1.c738f198ab550p-18, 0, 0,
     0, 0, 0, 0,
     0, 0},
    {-0x1.38dff1cc96982p-11, -0x1.2e31f9b7913eap-14, 0x1.63969bb825829p-11, -0x1.4f9f2582dd0a5p-11,
     0x1.22fb20c28e8a0p-12, 0x1.86c71c8cebf16p-23, -0x1.63a803aebc9b7p-14, 0x1.00120036172b0p-14,
     -0x1.618fcc48d37bcp-16, 0, 0, 0,
     0, 0, 0, 0,
     0, 0},
};

// mu - log(1 + mu) for |mu| < 0.35, without cancellation: s = mu / (2 + mu), log(1 + mu) = 2 atanh(s).
constexpr double less_log1p(double mu) {
  const double s = mu / (2 + mu), z = s * s;
  double r = 0;
  for (int i = 14; i >= 1; --i) r = fma(r, z, 1.0 / (2 * i + 1));
  return s * (mu - 2 * z * r);
}

// x^a e^-x / gamma(a + 1)
constexpr double igamma_factor(double a, double x) {
  if (a < 10) return exp(a * log(x) - x - lgamma(a + 1));
  const double mu = (x - a) / a;
  const double h = own::abs_of(mu) < 0.35 ? less_log1p(mu) : mu - log(x / a);
  const double z = 1 / (a * a);
  return exp(-a * h) / own::sqrt_of(2 * pi * a) * exp(-horner(z, lgamma_far) / a);
}
// P(a, x) by its power series, for x not much above a
constexpr double igamma_series(double a, double x) {
  const double f = igamma_factor(a, x);
  if (f == 0) return 0;
  double term = 1, sum = 1;
  for (int i = 1; i < 5000; ++i) {
    term *= x / (a + i);
    sum += term;
    if (term < 0x1p-54 * sum) break;
  }
  return f * sum;
}
// Q(a, x) by its continued fraction, for x > a
constexpr double igammac_fraction(double a, double x) {
  const double f = igamma_factor(a, x) * a;
  if (f == 0) return 0;
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 5000; ++i) {
    const double n = i * (a - i);
    b += 2;
    d = n * d + b;
    c = b + n / c;
    d = 1 / (own::abs_of(d) < 1e-300 ? 1e-300 : d);
    const double step = c * d;
    h *= step;
    if (own::abs_of(step - 1) < 0x1p-52) break;
  }
  return f * h;
}
// lgamma(1 + a) for |a| <= 1/2
constexpr double lgamma1p(double a) { return a * horner_split(2 * a, lgamma_near_two) - log1p(a); }
// Q(a, x) for small x and a <= 1/2, where 1 - P would cancel (DLMF 8.7.3)
constexpr double igammac_series(double a, double x) {
  double term = 1, sum = 0;
  for (int i = 1; i < 200; ++i) {
    term *= -x / i;
    const double t = term / (a + i);
    sum += t;
    if (own::abs_of(t) < 0x1p-54 * own::abs_of(sum)) break;
  }
  const double l = a * log(x) - lgamma1p(a);
  return -expm1(l) - a * exp(l) * sum;
}
// Q (upper) or P for x near a large a
constexpr double igamma_uniform(double a, double x, bool upper) {
  const double mu = (x - a) / a, h = less_log1p(mu);
  const double eta = own::copysign_of(own::sqrt_of(2 * h), mu);
  double sum = 0;
  for (int j = 9; j >= 0; --j) sum = sum / a + horner(eta, temme[j]);
  const double r = exp(-a * h) / own::sqrt_of(2 * pi * a) * sum;
  const double e = own::copysign_of(own::sqrt_of(a * h), mu);
  return upper ? 0.5 * erfc(e) + r : 0.5 * erfc(-e) - r;
}

constexpr double igamma_any(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0)) return not_a_number;
  if (a == 0) return x > 0 ? (upper ? 0 : 1) : not_a_number;
  if (x == 0) return upper ? 1 : 0;
  if (a == infinity) return x == infinity ? not_a_number : upper ? 1 : 0;
  if (x == infinity) return upper ? 0 : 1;
  if (a > 20 && own::abs_of(x - a) < 0.3 * a) return igamma_uniform(a, x, upper);
  if (x <= 1.8 && a <= 0.5) return upper ? igammac_series(a, x) : igamma_series(a, x);
  if (x > 1.8 && x > a) {
    const double q = igammac_fraction(a, x);
    return upper ? q : 1 - q;
  }
  const double p = igamma_series(a, x);
  return upper ? 1 - p : p;
}

// Hurwitz's zeta, the sum of (q + k)^-x.
constexpr double zeta_positive(double x, double q) {
  double sum = 0, w = q;
  for (int i = 0; i < 5000 && w < x + 12; ++i, w += 1) {  // the terms of the series below fall once w passes x
    const double t = pow(w, -x);
    sum += t;
    if (t < 0x1p-60 * sum) return sum;
  }
  // (x)_{2j-1} B_2j / (2j)! w^(1-x-2j)
  constexpr double bernoulli[] = {
      0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
      0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
      0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58, -0x1.497d9033a2b5cp-63};
  const double p = pow(w, -x);
  sum += p * w / (x - 1) + 0.5 * p;
  double factor = x * p / w;
  for (int j = 0; j < 12; ++j) {
    const double t = factor * bernoulli[j];
    sum += t;
    if (own::abs_of(t) < 0x1p-56 * sum) break;
    factor *= (x + 2 * j + 1) / w * ((x + 2 * j + 2) / w);
  }
  return sum;
}
constexpr double zeta_any(double x, double q) {
  if (x == 1) return infinity;
  if (!(x > 1) || isnan(q)) return not_a_number;
  if (q == infinity) return not_a_number;
  if (q > 0) return zeta_positive(x, q);
  if (own::floor_of(q) == q) return infinity;
  if (own::floor_of(x) != x) return not_a_number;
  // q = -m - f: the terms below zero are |q|, |q| - 1, ..., f, those above start at 1 - f
  const double n = -q, f = n - own::floor_of(n);
  const double below = zeta_positive(x, f) - zeta_positive(x, n + 1);
  const bool odd = own::trunc_of(x * 0.5) * 2 != x;
  return (odd ? -below : below) + zeta_positive(x, 1 - f);
}

constexpr double trigamma_any(double x) {
  if (x == infinity) return 0;
  return x == -infinity ? not_a_number : zeta_any(2, x);
}
constexpr double polygamma_any(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma_any(x);
  const double s = double(n) + 1;
  // n! as e^lgamma keeps large orders finite where the sum is small
  const double z = zeta_any(s, x);
  double f = 1;
  if (n <= 170) for (int64_t i = 2; i <= n; ++i) f *= double(i);
  else f = infinity;
  const double r = f * z;
  return n % 2 ? r : -r;
}

}  // namespace detail

// The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P; NaN for negative arguments.
// f64: relative error 2^-50 (1 + |a - x| + |a log(x / a)|).
template <class V> constexpr V igamma(V a, V x) {
  return lane_by_lane([](double p, double y) { return detail::igamma_any(p, y, false); }, a, x);
}
template <class V> constexpr V igammac(V a, V x) {
  return lane_by_lane([](double p, double y) { return detail::igamma_any(p, y, true); }, a, x);
}
// f64: 2^-48 for q > 0, x 2^-52 more where q^-x decides.
template <class V> constexpr V zeta(V x, V q) {
  return lane_by_lane([](double s, double a) { return detail::zeta_any(s, a); }, x, q);
}
template <class V> constexpr V trigamma(V x) {
  return lane_by_lane([](double a) { return detail::trigamma_any(a); }, x);
}
// The n-th derivative of digamma, n >= 0.
template <class V> constexpr V polygamma(int64_t n, V x) {
  return lane_by_lane([n](double a) { return detail::polygamma_any(n, a); }, x);
}

}  // namespace fb::math
