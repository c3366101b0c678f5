// lgamma, digamma, Bessel i and the normal distribution against long double series.
#include "ops/math/bessel_i.h"
#include "ops/math/gamma.h"
#include "ops/math/normal.h"
#include "tests/cpp/math/sweep.h"

namespace {

using namespace fb::testing;  // NOLINT

// Uniform over [lo, hi]; error in ULP, forgiving `slack` of absolute error in double.
template <class F, class R>
void check(F f, R reference, double lo, double hi, double float_bound, double double_bound, double slack = 0) {
  std::mt19937_64 g(9);
  double worst_f = 0, worst_d = 0, at_f = 0, at_d = 0;
  for (int i = 0; i < 3000; ++i) {
    double x[8];
    float y[8];
    for (int j = 0; j < 8; ++j) x[j] = lo + (hi - lo) * double(g() >> 11) * 0x1p-53, y[j] = float(x[j]);
    const auto d = f(fb::load(x));
    const auto s = f(fb::load(y));
    for (int j = 0; j < 8; ++j) {
      ASSERT_TRUE(fb::testing::same_value(f(y[j]), float(s[j]))) << y[j];
      const double e = fb::testing::ulp_error<float>(double(reference(real(y[j]))), s[j]);
      if (e > worst_f) worst_f = e, at_f = y[j];
      if (j >= 4) continue;
      ASSERT_TRUE(fb::testing::same_value(f(x[j]), double(d[j]))) << x[j];
      const real exact = reference(real(x[j]));
      const double u = std::fabs(exact - d[j]) <= slack ? 0 : fb::testing::ulp_error<double>(exact, d[j]);
      if (u > worst_d) worst_d = u, at_d = x[j];
    }
  }
  EXPECT_LE(worst_f, float_bound) << "float at " << at_f << ": " << f(float(at_f)) << ", exact " << reference(real(float(at_f)));
  EXPECT_LE(worst_d, double_bound) << "double at " << at_d << ": " << f(at_d) << ", exact " << reference(real(at_d));
}

#define FB_FN(name) [](auto x) { return fb::math::name(x); }

TEST(Math, lgamma) {
  const auto f = FB_FN(lgamma);
  const auto r = [](real x) { return std::lgamma(x); };
  check(f, r, 0, 3, 1, 7);
  check(f, r, 0.99, 1.01, 1, 5);
  check(f, r, 1.99, 2.01, 1, 5);
  check(f, r, 2.4, 12, 1, 3);
  check(f, r, 0, 1e6, 1, 2);
  check(f, r, 1e300, 1e305, 1, 2);
  check(f, r, -30, 0, 1e9, 1, 0x1p-43);
  EXPECT_EQ(f(1.0), 0);
  EXPECT_EQ(f(2.0), 0);
  for (double x : {0.0, -0.0, -1.0, -50.0, double(INFINITY), double(-INFINITY), -1e300}) EXPECT_EQ(f(x), INFINITY);
  EXPECT_TRUE(std::isnan(f(double(NAN))));
  EXPECT_NEAR(f(-1e-300), 690.77552789821370521, 1e-12);
  EXPECT_EQ(f(1e308), INFINITY - 0 > 0 && std::lgamma(1e308L) < DBL_MAX ? double(std::lgamma(1e308L)) : INFINITY);
}

TEST(Math, digamma) {
  const auto f = FB_FN(digamma);
  check(f, exact_digamma, 0, 0.1, 1, 8);
  check(f, exact_digamma, 0.1, 20, 1, 1, 0x1p-47);
  check(f, exact_digamma, 20, 1e5, 1, 2);
  check(f, exact_digamma, -20, 0, 1e9, 1e9, 0x1p-40);
  EXPECT_NEAR(f(-2.5), 1.1031566406452432, 4e-16);
  EXPECT_NEAR(f(-0.75), double(exact_digamma(-0.75L)), 2e-15);
  EXPECT_EQ(f(0.0), -INFINITY);
  EXPECT_EQ(f(-0.0), INFINITY);
  EXPECT_TRUE(std::isnan(f(-3.0)));
  EXPECT_EQ(f(double(INFINITY)), INFINITY);
  EXPECT_TRUE(std::isnan(f(double(-INFINITY))));
}

TEST(Math, bessel_i) {
  check(FB_FN(i0e), [](real x) { return bessel_scaled(0, x); }, -20, 60, 1, 4);
  check(FB_FN(i1e), [](real x) { return bessel_scaled(1, x); }, -20, 60, 1, 4);
  check(FB_FN(i0), [](real x) { return bessel_scaled(0, x) * std::exp(std::fabs(x)); }, -20, 60, 1, 6);
  check(FB_FN(i1), [](real x) { return bessel_scaled(1, x) * std::exp(std::fabs(x)); }, -20, 60, 1, 6);
  EXPECT_NEAR(fb::math::i0e(1e10) * std::sqrt(2e10 * double(pi)), 1, 1e-10);
  EXPECT_TRUE(std::signbit(fb::math::i1(-0.0)));
  EXPECT_EQ(fb::math::i0(1000.0), INFINITY);
  EXPECT_EQ(fb::math::i1(-1000.f), -INFINITY);
  EXPECT_EQ(fb::math::i0e(double(INFINITY)), 0);
  EXPECT_TRUE(std::isnan(fb::math::i0(double(NAN))));
}

TEST(Math, erfcx) {
  check(FB_FN(erfcx), [](real x) { return std::exp(x * x) * std::erfc(x); }, -10, 9, 1, 5);
  // beyond: the continued fraction
  const auto far = [](real x) {
    real d = x;
    for (int i = 60; i >= 1; --i) d = x + i / 2.L / d;
    return 1 / std::sqrt(pi) / d;
  };
  check(FB_FN(erfcx), far, 8, 200, 1, 5);
  EXPECT_EQ(fb::math::erfcx(double(INFINITY)), 0);
  EXPECT_EQ(fb::math::erfcx(double(-INFINITY)), INFINITY);
  EXPECT_EQ(fb::math::erfcx(0.0), 1);
}

TEST(Math, normal_distribution) {
  check(FB_FN(ndtr), [](real x) { return upper(-x); }, -38, 8, 1, 5);
  check(FB_FN(log_ndtr), [](real x) { return x > 0 ? std::log1p(-upper(x)) : std::log(upper(-x)); }, -38, 8, 1, 6);
  EXPECT_NEAR(fb::math::log_ndtr(-1e10), -5e19, 1e5);
  EXPECT_EQ(fb::math::ndtr(double(-INFINITY)), 0);
  EXPECT_EQ(fb::math::ndtr(double(INFINITY)), 1);
  EXPECT_EQ(fb::math::log_ndtr(double(INFINITY)), 0);
}

TEST(Math, normal_quantiles) {
  for (int i = 1; i < 3000; ++i) {
    for (double p : {i / 3000.0, std::exp(-i / 4.5)}) {
      if (p < 1e-290 || std::fabs(p - 0.5) < 0.01) continue;  // its point is near 0, and 1 - 2p was not exact
      const double e = fb::testing::ulp_error<double>(exact_ndtri(p), fb::math::ndtri(p));
      ASSERT_LE(e, 6) << p << ": " << fb::math::ndtri(p);
      const float pf = float(p);
      if (pf < 1e-37f) continue;
      ASSERT_LE(fb::testing::ulp_error<float>(double(exact_ndtri(pf)), fb::math::ndtri(pf)), 1) << pf;
      ASSERT_TRUE(fb::testing::same_value(fb::math::ndtri(fb::Vec<float>(pf))[3], fb::math::ndtri(pf)));
      ASSERT_TRUE(fb::testing::same_value(fb::math::ndtri(fb::Vec<double>(p))[2], fb::math::ndtri(p)));
    }
    const double x = i / 3000.0;
    ASSERT_LE(fb::testing::ulp_error<double>(exact_ndtri((1 + real(x)) / 2) / std::sqrt(2.L), fb::math::erfinv(x)), 5) << x;
    ASSERT_LE(fb::testing::ulp_error<float>(double(exact_ndtri((1 + real(float(x))) / 2) / std::sqrt(2.L)), fb::math::erfinv(float(x))), 1) << x;
    ASSERT_EQ(fb::math::erfinv(-x), -fb::math::erfinv(x));
  }
  EXPECT_NEAR(fb::math::erfinv(1e-20), 1e-20 * 0.88622692545275801365, 1e-35);
  EXPECT_EQ(fb::math::erfinv(1.0), INFINITY);
  EXPECT_EQ(fb::math::erfinv(-1.f), -INFINITY);
  EXPECT_TRUE(std::isnan(fb::math::erfinv(1.5)));
  EXPECT_TRUE(std::signbit(fb::math::erfinv(-0.0)));
  EXPECT_EQ(fb::math::ndtri(0.5), 0);
  EXPECT_EQ(fb::math::ndtri(0.0), -INFINITY);
  EXPECT_EQ(fb::math::ndtri(1.0), INFINITY);
  EXPECT_TRUE(std::isnan(fb::math::ndtri(-0.1)) && std::isnan(fb::math::ndtri(double(INFINITY))));
  EXPECT_NEAR(fb::math::ndtri(1e-310), -37.67, 0.01);
}

}  // namespace
