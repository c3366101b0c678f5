// Complex functions on core/complex.h, for Complex<float> (computed in double and rounded once) and
// Complex<double>; principal branches, signed zeros choose the side of a cut. Infinities and NaN follow
// Annex G of the C standard. Bounds are on each part, in ULP of the larger one, unless said otherwise.
// Sources: Kahan, "Branch cuts for complex elementary functions" (1987).
#pragma once
#include "core/complex.h"
#include "ops/math/hyperbolic.h"
#include "ops/math/pow.h"
#include "ops/math/trig.h"

namespace fb::math {

namespace detail {
// Rounds both parts. GCC 12 folds the pair of conversions double -> float -> double into nothing where it
// packs them in one register, which would drop this rounding when the result is widened again.
constexpr cfloat rounded(cdouble z) {
  float re = float(z.re), im = float(z.im);
#if defined(__aarch64__)
  if (!std::is_constant_evaluated()) asm("" : "+w"(re), "+w"(im));
#else
  if (!std::is_constant_evaluated()) asm("" : "+x"(re), "+x"(im));
#endif
  return {re, im};
}
constexpr bool finite(double x) { return x - x == 0; }
constexpr bool infinite(double x) { return own::abs_of(x) == __builtin_inf(); }
constexpr bool negative(double x) { return bits(x) < 0; }
constexpr cdouble times_i(cdouble z) { return {-z.im, z.re}; }
}  // namespace detail

// Complex<float> through double
#define FB_COMPLEX_IN_DOUBLE(name) \
  constexpr cfloat name(cfloat z) { return detail::rounded(fb::math::name(cdouble(z.re, z.im))); }

constexpr double abs(cdouble z) { return hypot(z.re, z.im); }
constexpr float abs(cfloat z) { return hypot(z.re, z.im); }
constexpr double angle(cdouble z) { return atan2(z.im, z.re); }
constexpr float angle(cfloat z) { return atan2(z.im, z.re); }

// 3 ULP.
constexpr cdouble reciprocal(cdouble z) { return cdouble(1) / z; }
FB_COMPLEX_IN_DOUBLE(reciprocal)

// 3 ULP.
constexpr cdouble exp(cdouble z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {exp(x), y};
  if (x == -__builtin_inf() && !detail::finite(y)) return {0, own::copysign_of(0.0, y)};
  if (x == __builtin_inf() && !detail::finite(y)) return {x, y - y};
  const double c = cos(y), s = sin(y);
  if (x > 700 && x < 1500) {  // e^x may overflow where the product does not
    const double h = exp(x - 700), big = 0x1.d945df4f8ec8ep+1009;  // e^700
    return {h * c * big, h * s * big};
  }
  const double e = exp(x);
  return {e * c, e * s};
}
FB_COMPLEX_IN_DOUBLE(exp)

namespace detail {
// log |z|, also next to |z| = 1
constexpr double log_abs(double x, double y) {
  x = own::abs_of(x), y = own::abs_of(y);
  const double a = x > y ? x : y, b = x > y ? y : x;
  if (!(a > 0.5 && a < 1.5)) return log(hypot(x, y));
  // |z|^2 - 1 = (a - 1)(a + 1) + b^2 with both products exact in two parts
  const auto p = two_prod(a - 1, a + 1), q = two_prod(b, b);
  const double s = p.hi + q.hi, t = s - p.hi, lost = (p.hi - (s - t)) + (q.hi - t);
  return 0.5 * log1p(s + (lost + (p.lo + q.lo)));
}
}  // namespace detail

// 3 ULP in each part.
constexpr cdouble log(cdouble z) { return {detail::log_abs(z.re, z.im), atan2(z.im, z.re)}; }
FB_COMPLEX_IN_DOUBLE(log)
constexpr cdouble log2(cdouble z) {
  const cdouble l = log(z);
  return {l.re * 0x1.71547652b82fep+0, l.im * 0x1.71547652b82fep+0};
}
FB_COMPLEX_IN_DOUBLE(log2)
constexpr cdouble log10(cdouble z) {
  const cdouble l = log(z);
  return {l.re * 0x1.bcb7b1526e50ep-2, l.im * 0x1.bcb7b1526e50ep-2};
}
FB_COMPLEX_IN_DOUBLE(log10)
constexpr cdouble log1p(cdouble z) {
  const double x = z.re, y = z.im, ay = own::abs_of(y);
  const double im = atan2(y, 1 + x);
  if (own::abs_of(x) < 0.5 && ay < 0.5) {
    const auto p = detail::two_prod(x, 2 + x), q = detail::two_prod(y, y);
    const double s = p.hi + q.hi, t = s - p.hi, lost = (p.hi - (s - t)) + (q.hi - t);
    return {0.5 * log1p(s == 0 ? x : s + (lost + (p.lo + q.lo))), im};
  }
  return {detail::log_abs(1 + x, y), im};
}
FB_COMPLEX_IN_DOUBLE(log1p)
constexpr cdouble expm1(cdouble z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {expm1(x), y};
  if (!detail::finite(y) || own::abs_of(x) > 700) {
    const cdouble e = exp(z);
    return {e.re - 1, e.im};
  }
  const double h = sin(0.5 * y);
  return {fma(expm1(x), cos(y), -2 * h * h), exp(x) * sin(y)};
}
FB_COMPLEX_IN_DOUBLE(expm1)

// 2 ULP in each part.
constexpr cdouble sqrt(cdouble z) {
  double x = z.re, y = z.im;
  if (x == 0 && y == 0) return {0, y};
  if (detail::infinite(y)) return {__builtin_inf(), y};
  if (isnan(x)) return {x, isnan(y) ? y : x};
  if (detail::infinite(x)) {
    if (x > 0) return {x, isnan(y) ? y : own::copysign_of(0.0, y)};
    return {isnan(y) ? y : 0, own::copysign_of(__builtin_inf(), y)};
  }
  if (isnan(y)) return {y, y};
  double scale = 1;
  const double m = own::abs_of(x) > own::abs_of(y) ? own::abs_of(x) : own::abs_of(y);
  if (m > 0x1p1000) x *= 0x1p-200, y *= 0x1p-200, scale = 0x1p100;
  if (m < 0x1p-900) x *= 0x1p200, y *= 0x1p200, scale = 0x1p-100;
  const double t = own::sqrt_of(0.5 * (own::abs_of(x) + hypot(x, y)));
  if (x >= 0) return {t * scale, (y / (2 * t)) * scale};
  return {own::abs_of(y) / (2 * t) * scale, own::copysign_of(t, y) * scale};
}
FB_COMPLEX_IN_DOUBLE(sqrt)
constexpr cdouble rsqrt(cdouble z) { return reciprocal(sqrt(z)); }
FB_COMPLEX_IN_DOUBLE(rsqrt)

namespace detail {
// e^x / 2 (1 + ...) as used by sinh and cosh of large |x|, times c: without early overflow
constexpr double half_exp_times(double ax, double c) {
  if (ax < 700 || !finite(ax)) return 0.5 * exp(ax) * c;
  return ax > 1500 ? __builtin_inf() * c : 0.5 * exp(ax - 700) * c * 0x1.d945df4f8ec8ep+1009;
}
}  // namespace detail

// 4 ULP in each part.
constexpr cdouble sinh(cdouble z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {sinh(x), y};
  if (x == 0) return {x, sin(y)};
  if (detail::infinite(x) && !detail::finite(y)) return {x, y - y};
  const double c = cos(y), s = sin(y), ax = own::abs_of(x);
  if (ax > 40) return {detail::half_exp_times(ax, detail::negative(x) ? -c : c), detail::half_exp_times(ax, s)};
  return {sinh(x) * c, cosh(x) * s};
}
FB_COMPLEX_IN_DOUBLE(sinh)
constexpr cdouble cosh(cdouble z) {
  const double x = z.re, y = z.im;
  if (y == 0) return {cosh(x), detail::negative(x) ? -y : y};
  if (x == 0) return {cos(y), detail::finite(y) ? x * sin(y) : x};
  if (detail::infinite(x) && !detail::finite(y)) return {__builtin_inf(), y - y};
  const double c = cos(y), s = sin(y), ax = own::abs_of(x);
  if (ax > 40) return {detail::half_exp_times(ax, c), detail::half_exp_times(ax, detail::negative(x) ? -s : s)};
  return {cosh(x) * c, sinh(x) * s};
}
FB_COMPLEX_IN_DOUBLE(cosh)
constexpr cdouble tanh(cdouble z) {
  const double x = z.re, y = z.im, ax = own::abs_of(x);
  if (detail::infinite(x)) return {own::copysign_of(1.0, x), own::copysign_of(0.0, detail::finite(y) ? sin(2 * y) : y)};
  if (x == 0 && !detail::finite(y)) return {x, y - y};
  if (y == 0) return {tanh(x), y};
  if (ax > 22) {  // 1, and 4 sin cos e^-2|x|
    const double e = exp(-ax);
    return {own::copysign_of(1.0, x), 4 * sin(y) * cos(y) * e * e};
  }
  const double t = tan(y), beta = fma(t, t, 1.0), s = sinh(x), rho = own::sqrt_of(fma(s, s, 1.0));
  if (own::abs_of(t) > 1e150) return {rho / s, 1 / t};
  const double d = fma(beta * s, s, 1.0);
  return {beta * rho * s / d, t / d};
}
FB_COMPLEX_IN_DOUBLE(tanh)

// sin z = -i sinh(iz), and so on.
constexpr cdouble sin(cdouble z) {
  const cdouble w = sinh(detail::times_i(z));
  return {w.im, -w.re};
}
FB_COMPLEX_IN_DOUBLE(sin)
constexpr cdouble cos(cdouble z) { return cosh(detail::times_i(z)); }
FB_COMPLEX_IN_DOUBLE(cos)
constexpr cdouble tan(cdouble z) {
  const cdouble w = tanh(detail::times_i(z));
  return {w.im, -w.re};
}
FB_COMPLEX_IN_DOUBLE(tan)

namespace detail {
// Past this |z| the inverse functions are their logarithms.
inline constexpr double inverse_far = 0x1p500;
constexpr bool far(cdouble z) { return own::abs_of(z.re) > inverse_far || own::abs_of(z.im) > inverse_far; }
}  // namespace detail

// 6 ULP in each part.
constexpr cdouble acos(cdouble z) {
  const double x = z.re, y = z.im;
  if (isnan(x) || isnan(y)) {
    if (detail::infinite(x)) return {y, __builtin_inf()};
    if (detail::infinite(y)) return {x, -y};
    if (x == 0) return {detail::half_pi<double>(), y};
    return {x + y, x + y};
  }
  if (detail::far(z)) {
    const double l = detail::infinite(x) || detail::infinite(y) ? __builtin_inf() : log(hypot(0.5 * x, 0.5 * y)) + 2 * 0x1.62e42fefa39efp-1;
    return {atan2(own::abs_of(y), x), detail::negative(y) ? l : -l};
  }
  const cdouble a = sqrt(cdouble(1 - x, -y)), b = sqrt(cdouble(1 + x, y));
  return {2 * atan2(a.re, b.re), asinh(b.re * a.im - b.im * a.re)};
}
FB_COMPLEX_IN_DOUBLE(acos)
// 6 ULP in each part.
constexpr cdouble asin(cdouble z) {
  const double x = z.re, y = z.im;
  if (isnan(x) || isnan(y)) {
    if (detail::infinite(x)) return {y, x};
    if (detail::infinite(y)) return {x, y};
    if (x == 0) return {x, y};
    return {x + y, x + y};
  }
  if (detail::far(z)) {
    const double l = detail::infinite(x) || detail::infinite(y) ? __builtin_inf() : log(hypot(0.5 * x, 0.5 * y)) + 2 * 0x1.62e42fefa39efp-1;
    return {atan2(x, own::abs_of(y)), own::copysign_of(l, y)};
  }
  const cdouble a = sqrt(cdouble(1 - x, -y)), b = sqrt(cdouble(1 + x, y));
  return {atan2(x, a.re * b.re - a.im * b.im), own::copysign_of(asinh(a.re * b.im - a.im * b.re), y)};
}
FB_COMPLEX_IN_DOUBLE(asin)
// acosh z = +-i acos z, the one with a real part that is not negative.
constexpr cdouble acosh(cdouble z) {
  const cdouble w = acos(z);
  if (isnan(w.re) && isnan(w.im)) return w;
  return detail::negative(z.im) ? cdouble(own::abs_of(w.im), -w.re) : cdouble(own::abs_of(w.im), w.re);
}
FB_COMPLEX_IN_DOUBLE(acosh)
constexpr cdouble asinh(cdouble z) {
  const cdouble w = asin(cdouble(z.im, z.re));
  return {w.im, w.re};
}
FB_COMPLEX_IN_DOUBLE(asinh)

// 4 ULP in each part.
constexpr cdouble atanh(cdouble z) {
  const double x = z.re, y = z.im, ax = own::abs_of(x), ay = own::abs_of(y), half = detail::half_pi<double>();
  if (isnan(x) || isnan(y)) {
    if (detail::infinite(x)) return {own::copysign_of(0.0, x), y};
    if (detail::infinite(y)) return {own::copysign_of(0.0, x), own::copysign_of(half, y)};
    if (x == 0) return {x, y};
    return {x + y, x + y};
  }
  if (ax > 1e9 || ay > 1e9) {  // 1/z, and a quarter turn
    if (detail::infinite(x) || detail::infinite(y)) return {own::copysign_of(0.0, x), own::copysign_of(half, y)};
    const double m = ax > ay ? ax : ay, a = x / m, b = y / m;
    return {a / (a * a + b * b) / m, own::copysign_of(half, y)};
  }
  if (ax == 1 && y == 0) return {own::copysign_of(__builtin_inf(), x), y};
  const double d = fma(1 - ax, 1 - ax, y * y);
  double re;
  if (d < 1e-300) re = 0.5 * (0x1.62e42fefa39efp-1 - log(ay));  // next to +-1
  else re = 0.25 * log1p(4 * ax / d);
  const double im = y == 0 && ax < 1 ? y : 0.5 * atan2(2 * y, (1 - ax) * (1 + ax) - y * y);
  return {own::copysign_of(re, x), im};
}
FB_COMPLEX_IN_DOUBLE(atanh)
constexpr cdouble atan(cdouble z) {
  const cdouble w = atanh(cdouble(z.im, z.re));
  return {w.im, w.re};
}
FB_COMPLEX_IN_DOUBLE(atan)

// 1 / (1 + e^-z). 5 ULP away from its poles.
constexpr cdouble sigmoid(cdouble z) { return reciprocal(cdouble(1) + exp(-z)); }
FB_COMPLEX_IN_DOUBLE(sigmoid)

// e^(y log x): 0^y is 0, NaN or infinite as that product says. Relative error 2^-52 |y log x|.
constexpr cdouble pow(cdouble x, cdouble y) { return exp(y * log(x)); }
constexpr cfloat pow(cfloat x, cfloat y) { return detail::rounded(pow(cdouble(x.re, x.im), cdouble(y.re, y.im))); }

#undef FB_COMPLEX_IN_DOUBLE

}  // namespace fb::math
