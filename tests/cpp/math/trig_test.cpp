#include "ops/math/trig.h"

#include "tests/cpp/math/sweep.h"

FB_TRIGONOMETRY(FB_SWEEP, FB_SWEEP_SLACK)

namespace {

template <class T> void check_atan2(double bound) {
  const T s[] = {T(0), T(-0.0), T(1), T(-1), T(INFINITY), T(-INFINITY), T(NAN), T(0.5), T(-3), T(1e-30), T(1e30), T(-7e-20)};
  for (T y : s)
    for (T x : s) {
      const T got = fb::math::atan2(y, x);
      const long double want = std::atan2((long double)y, (long double)x);
      EXPECT_LE(fb::testing::ulp_error<T>(want, got), bound) << y << ", " << x;
      EXPECT_EQ(std::signbit(want) && !std::isnan(want), std::signbit(got) && !std::isnan(got)) << y << ", " << x;
    }
  std::mt19937 g(3);
  std::normal_distribution<double> n;
  for (int i = 0; i < 20000; ++i) {
    constexpr int lanes = fb::Vec<T>::lanes;
    T y[lanes], x[lanes];
    for (int j = 0; j < lanes; ++j) y[j] = T(n(g)), x[j] = T(n(g));
    const auto v = fb::math::atan2(fb::load(y), fb::load(x));
    for (int j = 0; j < lanes; ++j) {
      ASSERT_LE(fb::testing::ulp_error<T>(std::atan2((long double)y[j], (long double)x[j]), v[j]), bound);
      ASSERT_TRUE(fb::testing::same_value(fb::math::atan2(y[j], x[j]), T(v[j])));
    }
  }
}

}  // namespace

TEST(Math, atan2) {
  check_atan2<float>(2.5);
  check_atan2<double>(2.5);
}

// Arguments next to multiples of pi/2, where almost everything cancels.
TEST(Math, sin_of_hard_arguments) {
  EXPECT_EQ(fb::math::sin(0x1.921fb54442d18p+1), 0x1.1a62633145c07p-53);
  EXPECT_EQ(fb::math::cos(0x1.6ac5b262ca1ffp+849), double(std::cos(0x1.6ac5b262ca1ffp+849L)));
  EXPECT_EQ(fb::math::cos(6381956970095103.0 * 0x1p797), double(std::cos(6381956970095103.0L * 0x1p797L)));
  EXPECT_EQ(fb::math::sin(1e22), double(std::sin(1e22L)));
  EXPECT_EQ(fb::math::sin(16367173.f * 0x1p72f), float(std::sin(16367173.0 * 0x1p72)));
}
