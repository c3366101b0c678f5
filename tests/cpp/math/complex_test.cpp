#include "ops/math/complex.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

namespace {

using fb::cdouble;
using fb::cfloat;
using wide = std::complex<long double>;

// Distance in ULP of the larger part.
double error(cdouble got, wide exact) {
  const long double m = std::max(std::fabs(exact.real()), std::fabs(exact.imag()));
  int e;
  std::frexp(m, &e);
  const long double d = std::max(std::fabs(exact.real() - got.re), std::fabs(exact.imag() - got.im));
  return double(d / std::ldexp(1.0L, std::max(e - 53, -1074)));
}

template <class F, class R> void sweep(const char* name, F f, R reference, double bound) {
  std::mt19937_64 g(4);
  std::normal_distribution<double> n;
  double worst = 0;
  cdouble at;
  for (int i = 0; i < 20000; ++i) {
    const double s = i % 4 == 0 ? 1e-3 : i % 4 == 1 ? 5 : 1;
    const cdouble z(n(g) * s, n(g) * s);
    const wide exact = reference(wide(z.re, z.im));
    const double e = error(f(z), exact);
    if (e > worst) worst = e, at = z;
    const cfloat zf = fb::math::detail::rounded(z);
    const wide exact_f = reference(wide(zf.re, zf.im));
    const cfloat got = f(zf);
    const long double m = std::max(std::fabs(exact_f.real()), std::fabs(exact_f.imag()));
    ASSERT_LE(std::fabs(exact_f.real() - got.re), m * 0x1p-23L) << name << " got " << got.re << "," << got.im << " exact " << exact_f << " of " << zf.re << ", " << zf.im;
    ASSERT_LE(std::fabs(exact_f.imag() - got.im), m * 0x1p-23L) << name << " of " << zf.re << ", " << zf.im;
  }
  EXPECT_LE(worst, bound) << name << " of " << at.re << ", " << at.im;
}

#define FB_COMPLEX(name, reference, bound) \
  sweep(#name, [](auto z) { return fb::math::name(z); }, [](wide z) -> wide { return reference; }, bound)

TEST(ComplexMath, Sweeps) {
  FB_COMPLEX(exp, std::exp(z), 3);
  FB_COMPLEX(log, std::log(z), 3);
  FB_COMPLEX(log10, std::log10(z), 4);
  FB_COMPLEX(log2, std::log(z) / std::log(2.0L), 4);
  FB_COMPLEX(sqrt, std::sqrt(z), 3);
  FB_COMPLEX(sin, std::sin(z), 4);
  FB_COMPLEX(cos, std::cos(z), 4);
  FB_COMPLEX(tan, std::tan(z), 6);
  FB_COMPLEX(sinh, std::sinh(z), 4);
  FB_COMPLEX(cosh, std::cosh(z), 4);
  FB_COMPLEX(tanh, std::tanh(z), 6);
  FB_COMPLEX(asin, std::asin(z), 6);
  FB_COMPLEX(acos, std::acos(z), 6);
  FB_COMPLEX(atan, std::atan(z), 6);
  FB_COMPLEX(asinh, std::asinh(z), 6);
  FB_COMPLEX(acosh, std::acosh(z), 6);
  FB_COMPLEX(atanh, std::atanh(z), 6);
  FB_COMPLEX(reciprocal, 1.0L / z, 4);
  FB_COMPLEX(rsqrt, 1.0L / std::sqrt(z), 6);
}

TEST(ComplexMath, SmallAndLarge) {
  const auto e = fb::math::expm1(cdouble(1e-10, 1e-12));
  EXPECT_NEAR(e.re, 1e-10 + 5e-21 - 5e-25, 3e-26);
  EXPECT_NEAR(e.im, 1e-12, 1e-21);
  const auto l = fb::math::log1p(cdouble(1e-10, 1e-12));
  EXPECT_NEAR(l.re, 1e-10 - 5e-21 + 5e-25, 3e-26);
  EXPECT_NEAR(fb::math::log(cdouble(0.6, 0.8)).re, double(std::log(wide(0.6, 0.8)).real()), 1e-30);
  EXPECT_TRUE(std::isfinite(fb::math::exp(cdouble(709.9, 1.5)).re));
  EXPECT_EQ(fb::math::abs(cdouble(3e300, 4e300)), 5e300);
  EXPECT_EQ(fb::math::abs(cfloat(3e-30f, 4e-30f)), 5e-30f);
  const auto a = fb::math::asinh(cdouble(1e200, 1e200));
  EXPECT_NEAR(a.re, double(std::asinh(wide(1e200L, 1e200L)).real()), 1e-13);
  const auto t = fb::math::atanh(cdouble(1e200, 1e200));
  EXPECT_NEAR(t.re, 5e-201, 1e-215);
  const auto p = fb::math::pow(cdouble(1, 2), cdouble(0.5, -1));
  const auto q = std::pow(wide(1, 2), wide(0.5, -1));
  EXPECT_NEAR(p.re, double(q.real()), 1e-15);
  EXPECT_NEAR(p.im, double(q.imag()), 1e-15);
  const auto s = fb::math::sigmoid(cdouble(1, -1.5)) ;
  const auto r = 1.0L / (1.0L + std::exp(wide(-1, 1.5)));
  EXPECT_NEAR(s.re, double(r.real()), 1e-15);
  EXPECT_NEAR(s.im, double(r.imag()), 1e-15);
}

// Annex G as glibc has it; the sign of a zero or an infinity counts where the standard fixes it.
TEST(ComplexMath, SpecialValues) {
  const double v[] = {0.0, -0.0, 1.0, -1.5, INFINITY, -INFINITY, NAN};
  const auto same = [](double a, double b, bool sign) {
    return (std::isnan(a) && std::isnan(b)) || (std::fabs(a - b) <= 1e-15 * std::fabs(b) && (!sign || std::signbit(a) == std::signbit(b))) ||
           (a == b && (!sign || std::signbit(a) == std::signbit(b)));
  };
  for (double x : v)
    for (double y : v) {
      const std::complex<double> z(x, y);
      const cdouble w(x, y);
      const bool exact_sign = !std::isnan(x) && !std::isnan(y);
      const auto check = [&](const char* name, cdouble got, std::complex<double> want) {
        // where the standard leaves the sign open (a NaN comes in, or goes out) it is not compared
        const bool sign = exact_sign && !std::isnan(want.real()) && !std::isnan(want.imag());
        const double gr = sign ? got.re : std::fabs(got.re), gi = sign ? got.im : std::fabs(got.im);
        const double wr = sign ? want.real() : std::fabs(want.real()), wi = sign ? want.imag() : std::fabs(want.imag());
        EXPECT_TRUE(same(gr, wr, sign) && same(gi, wi, sign))
            << name << "(" << x << ", " << y << "): " << got.re << ", " << got.im << "; expected " << want;
      };
      check("exp", fb::math::exp(w), std::exp(z));
      check("log", fb::math::log(w), std::log(z));
      check("sqrt", fb::math::sqrt(w), std::sqrt(z));
      check("sinh", fb::math::sinh(w), std::sinh(z));
      check("cosh", fb::math::cosh(w), std::cosh(z));
      check("tanh", fb::math::tanh(w), std::tanh(z));
      check("sin", fb::math::sin(w), std::sin(z));
      check("cos", fb::math::cos(w), std::cos(z));
      check("tan", fb::math::tan(w), std::tan(z));
      check("asinh", fb::math::asinh(w), std::asinh(z));
      check("acosh", fb::math::acosh(w), std::acosh(z));
      check("atanh", fb::math::atanh(w), std::atanh(z));
      check("asin", fb::math::asin(w), std::asin(z));
      check("acos", fb::math::acos(w), std::acos(z));
      check("atan", fb::math::atan(w), std::atan(z));
    }
}

}  // namespace
