// Exact values that <cmath> has not, in long double, over the whole range of floats: series, recurrences and expansions
// from the literature, none of them those that ops/math computes by where that could be avoided.
#pragma once
#include <algorithm>
#include <cmath>

namespace fb::testing {

using real = long double;
inline constexpr real pi = 3.14159265358979323846264338327950288L;

template <class R> R exact_softplus(R x) { return std::max(x, R(0)) + std::log1p(std::exp(-std::fabs(x))); }
template <class R> R exact_silu(R x) { return x < 0 ? x * (std::exp(x) / (1 + std::exp(x))) : x / (1 + std::exp(-x)); }

template <class R> R exact_gelu(R x) { return x * (R(0.5) * std::erfc(-x * R(0.70710678118654752440084L))); }
// x sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
template <class R> R gelu_tanh_argument(R x) { return R(0.79788456080286535587989L) * (x + R(0.044715L) * x * x * x); }
template <class R> R exact_gelu_tanh(R x) {
  if (std::fabs(x) > 1e4) return x > 0 ? x : 0 * x;
  const R u = gelu_tanh_argument(x), e = std::exp(-2 * std::fabs(u));
  return (x < 0 ? x * e : x) / (1 + e);
}
// What its relative error of 8 (1 + |u|) rounding units is, absolutely; and where e^-2u is denormal its steps.
template <class R> R exact_gelu_tanh_room(R x) {
  if (!(std::fabs(x) < 1e4)) return 0;
  return std::fabs(exact_gelu_tanh(x)) * (8 + 8 * std::fabs(gelu_tanh_argument(x)));
}

// e^(x^2) erfc(x); its expansion at infinity from 12 on.
inline real exact_erfcx(real x) {
  if (x < 12) return std::exp(x * x) * std::erfc(x);
  const real z = 1 / (2 * x * x);
  real term = 1, sum = 1;
  for (int i = 1; i < 40 && std::fabs(term) > 1e-22L; ++i) sum += term *= -(2 * i - 1) * z;
  return sum / (x * std::sqrt(pi));
}

// The probability that a normal variable exceeds y, its logarithm, and the point where it is u <= 1/2.
inline real upper(real y) { return std::erfc(y / std::sqrt(2.L)) / 2; }
inline real exact_log_ndtr(real x) {
  if (x > 0) return std::log1p(-upper(x));
  if (x > -10) return std::log(upper(-x));
  return std::log(exact_erfcx(-x / std::sqrt(2.L)) / 2) - x * x / 2;
}
// A rational guess to 4.5e-4 (Abramowitz and Stegun 26.2.23), and Halley's steps.
inline real upper_point(real u) {
  const real t = std::sqrt(-2 * std::log(u));
  real y = t - (2.515517L + t * (0.802853L + t * 0.010328L)) / (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L)));
  for (int i = 0; i < 3; ++i) {
    const real e = (upper(y) - u) * std::sqrt(2 * pi) * std::exp(y * y / 2);
    y += e / (1 - e * y / 2);
  }
  return y;
}
inline real exact_ndtri(real p) {
  if (!(p >= 0 && p <= 1)) return NAN;
  if (p == 0 || p == 1) return p == 0 ? -INFINITY : INFINITY;
  return p == 0.5L ? 0 : p < 0.5L ? -upper_point(p) : upper_point(1 - p);
}
inline real exact_erfinv(real x) {
  const real a = std::fabs(x);
  if (!(a <= 1)) return NAN;
  if (x == 0) return x;
  if (a == 1) return std::copysign(INFINITY, x);
  if (a >= 0.5L) return std::copysign(upper_point((1 - a) / 2) / std::sqrt(2.L), x);
  real y = std::sqrt(pi) / 2 * x * (1 + x * x * (pi / 12 + x * x * (7 * pi * pi / 480)));
  for (int i = 0; i < 3; ++i) {
    const real e = (x - std::erf(y)) * (std::sqrt(pi) / 2) * std::exp(y * y);
    y += e / (1 - e * y);
  }
  return y;
}

inline real exact_lgamma(real x) {
  int sign;
  return lgammal_r(x, &sign);
}
// Recurrence up to 16, then the expansion of DLMF 5.11.2; the reflection of DLMF 5.5.4.
inline real exact_digamma(real x) {
  if (x == 0) return -1 / x;
  if (x < 0) {
    const real d = x - std::rint(x);
    return d == 0 || std::isinf(x) ? NAN : exact_digamma(1 - x) - pi / std::tan(pi * d);
  }
  real r = 0;
  for (; x < 16; ++x) r -= 1 / x;
  const real z = 1 / (x * x);
  constexpr real b[] = {1 / 12.L, -1 / 120.L, 1 / 252.L, -1 / 240.L, 1 / 132.L, -691 / 32760.L, 1 / 12.L, -3617 / 8160.L, 43867 / 14364.L, -174611 / 6600.L};
  real tail = 0;
  for (int i = 9; i >= 0; --i) tail = (tail + b[i]) * z;
  return r + std::log(x) - 1 / (2 * x) - tail;
}
inline real exact_trigamma(real x) {
  if (x <= 0) {
    const real d = x - std::rint(x);
    if (std::isinf(x)) return NAN;
    const real s = std::sin(pi * d) / pi;
    return d == 0 ? INFINITY : 1 / (s * s) - exact_trigamma(1 - x);
  }
  real r = 0;
  for (; x < 16; ++x) r += 1 / (x * x);
  const real z = 1 / (x * x);
  constexpr real b[] = {1 / 6.L, -1 / 30.L, 1 / 42.L, -1 / 30.L, 5 / 66.L, -691 / 2730.L, 7 / 6.L, -3617 / 510.L, 43867 / 798.L, -174611 / 330.L};
  real tail = 0;
  for (int i = 9; i >= 0; --i) tail = (tail + b[i]) * z;
  return r + (1 + tail) / x + z / 2;
}

// The sum of (+-1)^i a_i(n) / x^i, the expansion of Bessel functions of order n at infinity (DLMF 10.40.1).
inline real bessel_expansion(int n, real x, int sign) {
  real term = 1, sum = 1;
  for (int i = 1; i < 60; ++i) {
    term *= sign * (4 * n * n - real(2 * i - 1) * (2 * i - 1)) / (8 * i * x);
    sum += term;
    if (std::fabs(term) < 1e-21L) break;
  }
  return sum;
}
// I_n(x) e^-|x|: by its power series, all terms are positive, or the expansion.
inline real bessel_scaled(int n, real x) {
  const real a = std::fabs(x);
  if (x == 0) return n ? x : 1;
  if (a > 25) return (n && x < 0 ? -1 : 1) * bessel_expansion(n, a, -1) / std::sqrt(2 * pi * a);
  const real q = x * x / 4;
  real term = n ? x / 2 : 1, sum = 0;
  for (int i = 0; std::fabs(term) > 1e-22L * std::fabs(sum) || i < 3; ++i) {
    sum += term;
    term *= q / (real(i + 1) * (i + 1 + n));
  }
  return sum * std::exp(-a);
}
// At infinity PyTorch has NaN, and so have the functions below.
inline real exact_bessel_i(int n, real x) {
  if (std::isinf(x)) return NAN;
  return bessel_scaled(n, x) * std::exp(std::fabs(x));
}

// What J and Y swing between; for small x no more than their scale.
inline double amplitude(double x) { return x != x || std::isinf(x) ? 0 : std::sqrt(2 / (double(pi) * std::fmax(1, std::fabs(x)))); }
inline real exact_bessel_j(real (*f)(real), real x) { return std::isinf(x) ? NAN : f(x); }
inline real exact_bessel_y(real (*f)(real), real x) { return x == 0 ? -INFINITY : x < 0 || std::isinf(x) ? NAN : f(x); }
inline real exact_scaled_k(int n, real x) {
  if (!(x > 0)) return x == 0 ? INFINITY : NAN;
  if (std::isinf(x)) return 0;
  if (x > 25) return bessel_expansion(n, x, 1) * std::sqrt(pi / (2 * x));
  return std::cyl_bessel_k(real(n), x) * std::exp(x);
}
inline real exact_bessel_k(int n, real x) { return exact_scaled_k(n, x) * std::exp(-x); }

// Maclaurin's series in 113 bits up to 9, of which its cancellation takes at most 55; beyond, DLMF 9.7.5 and 9.7.9.
inline real exact_airy(real x) {
  using quad = __float128;
  const real a = std::fabs(x);
  if (a <= 9) {
    const quad cube = quad(x) * x * x;
    quad f = 1, g = x, sum_f = 1, sum_g = x;
    for (int i = 3; i < 400; i += 3) {
      f *= cube / (quad(i) * (i - 1));
      g *= cube / (quad(i + 1) * i);
      sum_f += f, sum_g += g;
      if (std::fabs(real(f)) + std::fabs(real(g)) < 1e-34L) break;
    }
    constexpr quad at0 = 0.355028053887817239260063186004183176397979Q;    // Ai(0)
    constexpr quad slope = 0.258819403792806798405183560189203963479091Q;  // -Ai'(0)
    return real(at0 * sum_f - slope * sum_g);
  }
  if (std::isinf(x)) return x > 0 ? 0 : NAN;
  const quad root = [&] { const quad r = std::sqrt(a); return (r + quad(a) / r) / 2; }();
  const quad zeta = quad(a) * root * 2 / 3;
  const real z = real(zeta);
  real term = 1, even = 1, odd = 0;
  for (int i = 1; i < 60; ++i) {
    const real next = term * ((6.L * i - 5) * (6.L * i - 1) / (72.L * i * z));
    if (next > term || next < 1e-21L) break;
    term = next;
    if (x > 0) even += i % 2 ? -term : term;
    else if (i % 2) odd += i % 4 == 1 ? term : -term;
    else even += i % 4 == 0 ? term : -term;
  }
  const real scale = 1 / (std::sqrt(pi) * std::sqrt(real(root)));
  if (x > 0) return std::exp(-z) / 2 * scale * even;
  constexpr quad turn = 6.283185307179586476925286766559005768Q;
  const quad turns = quad((long long)(zeta / turn));
  const real phase = real(zeta - turns * turn) - pi / 4;
  return scale * (std::cos(phase) * even + std::sin(phase) * odd);
}
// Absolute below -2, against an amplitude of |x|^(-1/4); beyond -2^20 the phase is not compared.
inline double airy_room(double x) {
  if (!(x < -2)) return 0;
  const double amplitude = 0.6 / std::sqrt(std::sqrt(-x));
  return x < -0x1p20 ? 2 * amplitude : amplitude * 0x1p-45;
}

inline real exact_spherical_j0(real x) { return x == 0 ? 1 : std::isinf(x) ? 0 : std::sin(x) / x; }

}  // namespace fb::testing
