// Bessel functions j0 j1 y0 y1, modified k0 k1 (and scaled by e^x), airy_ai, spherical_bessel_j0.
// Scalar, in double, lane by lane. Sources: DLMF 10.17 and 10.40 (large arguments), 10.35 and 10.23 (sums of
// Bessel functions), 10.32.9 (integral for K), 9.2 and 9.7 (Airy); Miller's backward recurrence.
#pragma once
#include "ops/math/bessel_i.h"
#include "ops/math/hyperbolic.h"
#include "ops/math/log.h"
#include "ops/math/trig.h"

namespace fb::math {

namespace detail {

inline constexpr double euler_gamma = 0x1.2788cfc6fb619p-1;

struct BesselJY { double j0, j1, y0, y1; };

// x >= 25: Hankel's expansions.
constexpr void hankel(int order, double x, double& p, double& q) {
  const double mu = 4.0 * order * order;
  double term = 1, last = 2;
  p = 1, q = 0;
  for (int i = 1; i < 60; ++i) {
    const double odd = 2 * i - 1;
    term *= (mu - odd * odd) / (8 * i * x);
    const double size = own::abs_of(term);
    if (size > last || size < 1e-19) break;
    last = size;
    switch (i % 4) {
      case 1: q += term; break;
      case 2: p -= term; break;
      case 3: q -= term; break;
      default: p += term;
    }
  }
}

// All four for x > 0.
constexpr BesselJY bessel_jy(double x) {
  BesselJY r{};
  if (x >= 25) {
    const double s = sin(x), c = cos(x), scale = 1 / own::sqrt_of(pi * x), sum = s + c, diff = s - c;
    double p = 0, q = 0;
    hankel(0, x, p, q);
    r.j0 = scale * (p * sum - q * diff);
    r.y0 = scale * (p * diff + q * sum);
    hankel(1, x, p, q);
    r.j1 = scale * (p * diff + q * sum);
    r.y1 = scale * (q * diff - p * sum);
    return r;
  }
  // J_m down from an order where it is negligible; then 1 = J0 + 2 (J2 + J4 + ...), and the Neumann series of Y
  const int top = x < 0.5 ? 12 : 2 * (int(x) / 2) + 44;
  double up = 0, now = 1e-280, norm = 0, sum0 = 0, sum1 = 0, j0 = 0, j1 = 0;
  if (x < 0.5) {  // few terms of the power series instead: the recurrence would overflow
    const double z = 0.25 * x * x;
    double jm[14] = {};
    double lead = 1;  // (x / 2)^m / m!
    for (int m = 0; m <= top + 1; ++m) {
      if (m > 0) lead *= 0.5 * x / m;
      double t = 1, s = 1;
      for (int i = 1; i < 14; ++i) s += t *= -z / (double(i) * (i + m));
      jm[m] = lead * s;
    }
    j0 = jm[0], j1 = jm[1], norm = 1;
    for (int i = 1; 2 * i + 1 <= top + 1; ++i) {
      const double sign = i % 2 ? -1 : 1;
      sum0 += sign * jm[2 * i] / i;
      sum1 += sign * (2 * i + 1) * jm[2 * i + 1] / (double(i) * (i + 1));
    }
  } else {
    for (int m = top; m >= 1; --m) {  // now = J_m, up = J_{m+1}, unnormalised
      if (m % 2 == 0) {
        const int i = m / 2;
        norm += 2 * now;
        sum0 += (i % 2 ? -now : now) / i;
      } else if (m > 1) {
        const int i = (m - 1) / 2;
        sum1 += (i % 2 ? -now : now) * (2 * i + 1) / (double(i) * (i + 1));
      } else {
        j1 = now;
      }
      const double down = 2 * m / x * now - up;
      up = now;
      now = down;
      if (own::abs_of(now) > 1e200) {
        now *= 1e-200, up *= 1e-200, norm *= 1e-200, sum0 *= 1e-200, sum1 *= 1e-200, j1 *= 1e-200;
      }
    }
    j0 = now;
    norm += j0;
  }
  r.j0 = j0 / norm;
  r.j1 = j1 / norm;
  const double l = log(0.5 * x) + euler_gamma;
  r.y0 = (2 / pi) * (l * r.j0 - 2 * sum0 / norm);
  r.y1 = (2 / pi) * ((l - 1) * r.j1 - r.j0 / x - sum1 / norm);
  return r;
}

constexpr double j0_any(double x) { return x == 0 ? 1 : isnan(x) ? x : bessel_jy(own::abs_of(x)).j0; }
constexpr double j1_any(double x) {
  if (x == 0 || isnan(x)) return x;
  const double r = bessel_jy(own::abs_of(x)).j1;
  return x < 0 ? -r : r;
}
constexpr double y0_any(double x) {
  return x == 0 ? -__builtin_inf() : x > 0 ? bessel_jy(x).y0 : __builtin_nan("");
}
constexpr double y1_any(double x) {
  return x == 0 ? -__builtin_inf() : x > 0 ? bessel_jy(x).y1 : __builtin_nan("");
}

// cosh(h i) - 1 and cosh(h i) for the trapezoidal rule of K.
inline constexpr int k_points = 72;
inline constexpr double k_step = 0.0625;
struct CoshTable {
  double less_one[k_points];
  constexpr CoshTable() : less_one{} {
    for (int i = 0; i < k_points; ++i) {
      const double s = fb::math::sinh(0.5 * k_step * i);
      less_one[i] = 2 * s * s;
    }
  }
};

// e^x K_order(x), order 0 or 1.
constexpr double scaled_k(int order, double x) {
  if (isnan(x)) return x;
  if (x == 0) return __builtin_inf();
  if (x < 0) return __builtin_nan("");
  if (x == __builtin_inf()) return 0;
  if (x <= 1) {
    // K0 = -(log(x/2) + gamma) I0 + sum z^i / i!^2 H_i;  K1 = 1/x + log(x/2) I1 - (x/4) sum (psi(i+1) + psi(i+2)) z^i / (i! (i+1)!)
    const double z = 0.25 * x * x, l = log(0.5 * x), e = exp(x);
    double term = 1, harmonic = 0, sum = 0;
    if (order == 0) {
      for (int i = 1; i < 20; ++i) {
        term *= z / (double(i) * i);
        harmonic += 1.0 / i;
        sum += term * harmonic;
      }
      return e * (sum - (l + euler_gamma) * i0(x));
    }
    for (int i = 0; i < 20; ++i) {
      if (i > 0) {
        term *= z / (double(i) * (i + 1));
        harmonic += 1.0 / i;
      }
      sum += term * (2 * harmonic + 1.0 / (i + 1) - 2 * euler_gamma);
    }
    return e * (1 / x + l * i1(x) - 0.25 * x * sum);
  }
  if (x < 30) {
    // the integral of e^(-x (cosh t - 1)) cosh(order t): the trapezoidal rule converges like e^(-1/h)
    FB_TABLE CoshTable table;
    double sum = 0.5;
    for (int i = 1; i < k_points; ++i) {
      const double a = x * table.less_one[i];
      if (a > 45) break;
      sum += exp(-a) * (order ? 1 + table.less_one[i] : 1.0);
    }
    return sum * k_step;
  }
  double term = 1, sum = 1;
  for (int i = 1; i < 40; ++i) {
    const double odd = 2 * i - 1;
    term *= (4.0 * order - odd * odd) / (8 * i * x);
    if (own::abs_of(term) < 1e-18) break;
    sum += term;
  }
  return own::sqrt_of(pi / (2 * x)) * sum;
}
constexpr double k_any(int order, double x) {
  if (!(x > 0)) return scaled_k(order, x);
  return exp(-x) * scaled_k(order, x);
}

// Ai and Ai' at -9 .. 9
inline constexpr double airy_nodes[19][2] = {
    {-0x1.6aa38e8bd0844p-6, -0x1.f38a3ab3ed723p-1}, {-0x1.afc28073abb84p-5, 0x1.df01d7e1f41fap-1},
    {0x1.79683b0571a28p-3, -0x1.8ac195288a6bdp-1},  {-0x1.510b6eb1815d2p-2, 0x1.623ce99198c5bp-2},
    {0x1.672de4d9e1d32p-2, 0x1.4f0ba25cb5a72p-2},   {-0x1.1fcec060d9f19p-4, -0x1.94cd44c4fb752p-1},
    {-0x1.83e7e4ea6959ap-2, 0x1.42223f628d022p-2},  {0x1.d1bafc57f31d0p-3, 0x1.3c8c724515c8fp-1},
    {0x1.1235093d83da5p-1, -0x1.4cf103bcc6624p-7},  {0x1.6b8c7962715b8p-2, -0x1.0907f42b70f8bp-2},
    {0x1.151430bbaf656p-3, -0x1.45ef17fce4faep-3},  {0x1.1e1935c04b623p-5, -0x1.b2ea9b1bfccdcp-5},
    {0x1.aff4f7fbd1f1bp-8, -0x1.865d4aaccf1e1p-7},  {0x1.f2e4bcf7c4970p-11, -0x1.00b915a6c6845p-9},
    {0x1.c66df1a2952d5p-14, -0x1.036ea91e217e0p-12}, {0x1.4dca0b3cc0f9dp-17, -0x1.9f7db9ccfd7a0p-16},
    {0x1.923b08f80599ap-21, -0x1.0d878a129feacp-19}, {0x1.930ebc96d9dddp-25, -0x1.201267c1c127ep-23},
    {0x1.53a28272eaba4p-29, -0x1.01086ae331e68p-27}};

constexpr double airy_any(double x) {
  if (isnan(x)) return x;
  if (own::abs_of(x) <= 9.5) {
    // Taylor's series about the nearest integer c, from y'' = x y
    const double c = own::rint_of(x), h = x - c;
    const double* node = airy_nodes[int(c) + 9];
    double a = node[0], b = node[1], d = 0.5 * c * a;  // coefficients n, n + 1, n + 2
    double power = h * h, sum = fma(b, h, a) + d * power;
    for (int n = 1; n < 40; ++n) {
      const double next = fma(c, b, a) / (double(n + 1) * (n + 2));
      power *= h;
      sum += next * power;
      a = b, b = d, d = next;
      if (own::abs_of(next * power) + own::abs_of(b * power) < 0x1p-60 * own::abs_of(sum)) break;
    }
    return sum;
  }
  const double ax = own::abs_of(x), root = own::sqrt_of(ax), zeta = ax * root * 0x1.5555555555555p-1;
  if (x > 0 && zeta > 760) return 0;
  // u_i of DLMF 9.7.2
  double term = 1, even = 1, odd = 0;
  for (int i = 1; i < 40; ++i) {
    term *= (6.0 * i - 5) * (6.0 * i - 1) / (72.0 * i * zeta);
    if (term < 1e-19) break;
    if (x > 0) even += i % 2 ? -term : term;
    else if (i % 2) odd += i % 4 == 1 ? term : -term;
    else even += i % 4 == 0 ? term : -term;
  }
  const double root_lo = fma(-root, root, ax) / (2 * root), p = ax * root, p_lo = fma(ax, root, -p) + ax * root_lo;
  const double zeta_lo = fma(p, 0x1.5555555555555p-1, -zeta) + p * 0x1.5555555555555p-55 + p_lo * (2.0 / 3);
  const double scale = 1 / (own::sqrt_of(pi) * own::sqrt_of(root));
  if (x > 0) return 0.5 * exp_sum(-zeta, -zeta_lo, 0) * scale * even;
  // cos(zeta - pi/4) even + sin(zeta - pi/4) odd; far out zeta's rounding is no small angle, but an angle still
  const double s0 = sin(zeta), c0 = cos(zeta), s1 = sin(zeta_lo), c1 = cos(zeta_lo);
  const double s = fma(c0, s1, s0 * c1), co = fma(-s0, s1, c0 * c1);
  return scale * 0x1.6a09e667f3bcdp-1 * ((co + s) * even + (s - co) * odd);
}

constexpr double spherical_j0_any(double x) {
  if (own::abs_of(x) == __builtin_inf()) return 0;
  return own::abs_of(x) < 1e-8 ? 1.0 : sin(x) / x;
}

}  // namespace detail

#define FB_BESSEL(name, call) \
  template <class V> constexpr V name(V x) { return lane_by_lane([](double a) { return detail::call; }, x); }
// Absolute error, against an amplitude of sqrt(2 / (pi x)) (against the value for small x): f64 2^-49.
FB_BESSEL(bessel_j0, j0_any(a))
FB_BESSEL(bessel_j1, j1_any(a))
FB_BESSEL(bessel_y0, y0_any(a))
FB_BESSEL(bessel_y1, y1_any(a))
// f64: relative error 2^-49, unscaled beyond x = 1 also x 2^-53.
FB_BESSEL(modified_bessel_k0, k_any(0, a))
FB_BESSEL(modified_bessel_k1, k_any(1, a))
FB_BESSEL(scaled_modified_bessel_k0, scaled_k(0, a))
FB_BESSEL(scaled_modified_bessel_k1, scaled_k(1, a))
// f64: relative error 2^-47 for x > -2, below that absolute, against an amplitude of |x|^(-1/4).
FB_BESSEL(airy_ai, airy_any(a))
// f64: 3 ULP.
FB_BESSEL(spherical_bessel_j0, spherical_j0_any(a))
#undef FB_BESSEL

}  // namespace fb::math
