// Sweeps of scalar math: error in ULP against double (for float) or long double (for double) over bit
// patterns of the whole range, the same bits from scalar and vector, signs of zero. Every float: tests/domains/sweep.cpp.
#pragma once
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/simd/vec.h"
#include "tests/cpp/math/functions.h"
#include "tests/cpp/math/ulp.h"

namespace fb::testing {

template <class F, class R>
void sweep_float(F f, R reference, double bound, double slack = 0, uint64_t stride = 4001) {
  double worst = 0;
  float at = 0;
  uint64_t count = 0;
  for (uint64_t b = 0; b < (uint64_t(1) << 32); b += 8 * stride) {
    float x[8];
    for (int i = 0; i < 8; ++i) x[i] = std::bit_cast<float>(uint32_t(b + i * stride));
    const Vec<float> v = f(load(x));
    for (int i = 0; i < 8; ++i) {
      const double exact = double(reference(double(x[i])));
      if (slack > 0 && std::fabs(exact - v[i]) <= slack) continue;
      const double e = ulp_error<float>(exact, v[i]);
      if (e > worst) worst = e, at = x[i];
      if ((count++ & 15) == 0) {
        ASSERT_TRUE(same_value(f(x[i]), v[i])) << "scalar and vector differ at " << x[i];
      }
    }
  }
  EXPECT_LE(worst, bound) << "at " << at << ": got " << f(at) << ", exact " << double(reference(double(at)));
  for (float x : {0.f, -0.f, 1.f, -1.f, INFINITY, -INFINITY, NAN, FLT_MIN, FLT_MAX, -FLT_MAX, 1e-45f, -1e-45f}) {
    const float got = f(x), want = float(reference(double(x)));
    EXPECT_LE(ulp_error<float>(double(reference(double(x))), got), bound) << "at " << x;
    if (want == 0 && x == 0) {
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << "at " << x;
    }
  }
}

// Doubles: bit patterns of the whole range, uniform over [lo, hi], and uniform in the exponent about 1.
inline std::vector<double> double_samples(double lo, double hi, int n) {
  std::mt19937_64 g(7);
  std::vector<double> x = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, DBL_MIN, DBL_MAX, -DBL_MAX};
  while (int(x.size()) < n) {
    const uint64_t r = g();
    x.push_back(std::bit_cast<double>(r));
    x.push_back(lo + (hi - lo) * double(g() >> 11) * 0x1p-53);
    x.push_back(std::ldexp(1 + double(r >> 12) * 0x1p-52, int(r % 80) - 60) * ((r >> 7) & 1 ? -1 : 1));
  }
  x.resize(n / 4 * 4);
  return x;
}

template <class F, class R>
void sweep_double(F f, R reference, double bound, double lo, double hi, double slack = 0, int n = 300000) {
  const auto x = double_samples(lo, hi, n);
  double worst = 0, at = 0;
  for (size_t j = 0; j < x.size(); j += 4) {
    const Vec<double> v = f(load(&x[j]));
    for (int i = 0; i < 4; ++i) {
      const long double exact = reference((long double)(x[j + i]));
      const double e = std::fabs(exact - v[i]) <= slack ? 0 : ulp_error<double>(exact, v[i]);
      if (e > worst) worst = e, at = x[j + i];
      ASSERT_TRUE(same_value(f(x[j + i]), v[i])) << "scalar and vector differ at " << x[j + i];
      if (x[j + i] == 0 && exact == 0) {
        EXPECT_EQ(std::signbit(v[i]), std::signbit(exact)) << "at " << x[j + i];
      }
    }
  }
  EXPECT_LE(worst, bound) << "at " << at << ": got " << f(at) << ", exact " << double(reference((long double)at));
}

}  // namespace fb::testing

// Checks fb::math::name against reference (an expression in x, double or long double); FB_SWEEP_SLACK forgives
// an absolute error, for float and for double.
#define FB_SWEEP_SLACK(name, reference, float_bound, double_bound, lo, hi, float_slack, double_slack) \
  TEST(Math, name) {                                                                                  \
    const auto f = [](auto x) { return fb::math::name(x); };                                          \
    const auto r = [](auto x) { return reference; };                                                  \
    fb::testing::sweep_float(f, r, float_bound, float_slack);                                         \
    fb::testing::sweep_double(f, r, double_bound, lo, hi, double_slack);                              \
  }
#define FB_SWEEP(name, reference, float_bound, double_bound, lo, hi) \
  FB_SWEEP_SLACK(name, reference, float_bound, double_bound, lo, hi, 0, 0)
