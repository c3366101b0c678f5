#include "ops/math/activation.h"

#include "ops/math/round.h"
#include "tests/cpp/math/sweep.h"

FB_ACTIVATIONS(FB_SWEEP, FB_SWEEP_SLACK)
FB_ROUNDINGS(FB_SWEEP, FB_SWEEP_SLACK)

TEST(Math, softplus) {
  using fb::k;
  const auto f = [](auto x) { using V = decltype(x); return fb::math::softplus(x, k<V>(1), k<V>(20)); };
  const auto r = [](auto x) { return x > 20 ? x : fb::testing::exact_softplus(x); };
  fb::testing::sweep_float(f, r, 3);
  fb::testing::sweep_double(f, r, 3, -50, 50);
  EXPECT_EQ(fb::math::softplus(3.0, 10.0, 20.0), 3.0);
  EXPECT_NEAR(fb::math::softplus(0.1, 2.0, 20.0), std::log1p(std::exp(0.2)) / 2, 1e-15);
}

// gelu is bounded against |x|, its tanh form against its own argument.
TEST(Math, gelu) {
  for (double x = -45; x < 45; x += 0.00717) {
    const double exact = x * 0.5 * std::erfc(-x * 0.70710678118654752440);
    const double u = 0.79788456080286535588 * (x + 0.044715 * x * x * x), e = std::exp(-2 * std::fabs(u)),
                 tanh_form = (x < 0 ? x * e : x) / (1 + e);
    const float xf = float(x);
    EXPECT_NEAR(fb::math::gelu(x), exact, std::fabs(x) * 0x1p-52);
    EXPECT_NEAR(fb::math::gelu(xf), double(xf) * 0.5 * std::erfc(-double(xf) * 0.70710678118654752440), std::fabs(x) * 0x1p-23);
    EXPECT_NEAR(fb::math::gelu_tanh(x), tanh_form, std::fabs(tanh_form) * (8 + 8 * std::fabs(u)) * 0x1p-53 + 1e-320);
    EXPECT_NEAR(fb::math::gelu_tanh(xf), tanh_form, std::fabs(tanh_form) * (8 + 8 * std::fabs(u)) * 0x1p-24 + 1e-42) << x;
  }
  EXPECT_TRUE(std::signbit(fb::math::gelu(-0.f)) && std::signbit(fb::math::gelu(-100.0)));
  EXPECT_TRUE(std::isnan(fb::math::gelu(-INFINITY)));
  EXPECT_EQ(fb::math::gelu_tanh(double(INFINITY)), INFINITY);
}

TEST(Math, logaddexp) {
  EXPECT_NEAR(fb::math::logaddexp(-1000.0, -1000.5), -1000 + std::log1p(std::exp(-0.5)), 1e-12);
  EXPECT_NEAR(fb::math::logaddexp2(3.f, 3.f), 4.f, 1e-6);
  EXPECT_EQ(fb::math::logaddexp(INFINITY, INFINITY), INFINITY);
  EXPECT_EQ(fb::math::logaddexp(-INFINITY, -INFINITY), -INFINITY);
  EXPECT_EQ(fb::math::logaddexp(-INFINITY, 2.f), 2.f);
  EXPECT_TRUE(std::isnan(fb::math::logaddexp(float(NAN), 1.f)));
}

TEST(Math, xlogy) {
  EXPECT_EQ(fb::math::xlogy(0.0, double(INFINITY)), 0);
  EXPECT_EQ(fb::math::xlogy(0.0, 0.0), 0);
  EXPECT_TRUE(std::isnan(fb::math::xlogy(0.0, double(NAN))));
  EXPECT_EQ(fb::math::xlogy(double(INFINITY), 0.0), -INFINITY);
  EXPECT_NEAR(fb::math::xlog1py(2.0, 0.5), 2 * std::log(1.5), 1e-15);
}

namespace {

template <class T> void check_division() {
  std::mt19937_64 g(5);
  std::vector<T> s = {T(0), T(-0.0), T(1), T(-1), T(INFINITY), T(-INFINITY), T(NAN), T(0.1), T(-0.3), T(7), T(1e30), T(-1e-30),
                      std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min(), T(4)};
  std::vector<T> a, b;
  for (T x : s)
    for (T y : s) a.push_back(x), b.push_back(y);
  for (int i = 0; i < 40000; ++i) {
    a.push_back(T(std::ldexp(double(int64_t(g())), int(g() % 60) - 90)));
    b.push_back(T(std::ldexp(double(int64_t(g())), int(g() % 40) - 90)));
  }
  constexpr int lanes = fb::Vec<T>::lanes;
  for (size_t i = 0; i + lanes <= a.size(); i += lanes) {
    const auto v = fb::math::fmod(fb::load(&a[i]), fb::load(&b[i]));
    const auto w = fb::math::remainder(fb::load(&a[i]), fb::load(&b[i]));
    const auto q = fb::math::floor_divide(fb::load(&a[i]), fb::load(&b[i]));
    for (int j = 0; j < lanes; ++j) {
      const T x = a[i + j], y = b[i + j];
      ASSERT_TRUE(fb::testing::same_value(T(v[j]), std::fmod(x, y))) << x << " mod " << y << ": " << v[j];
      T r = std::fmod(x, y);
      if (r != 0 && (r < 0) != (y < 0)) r += y;
      ASSERT_TRUE(fb::testing::same_value(T(w[j]), r)) << x << " mod " << y << ": " << w[j];
      ASSERT_TRUE(fb::testing::same_value(T(w[j]), fb::math::remainder(x, y)));
      ASSERT_TRUE(fb::testing::same_value(T(q[j]), fb::math::floor_divide(x, y)));
      if (y != 0 && std::isfinite(x) && std::isfinite(y) && std::fabs(x / y) < 1e5) {
        ASSERT_EQ(q[j], T(std::floor((long double)x / (long double)y))) << x << " / " << y;
      }
    }
  }
}

}  // namespace

TEST(Math, fmod_remainder_floor_divide) {
  check_division<float>();
  check_division<double>();
  EXPECT_EQ(fb::math::floor_divide(-1.0, double(INFINITY)), -1);
  EXPECT_EQ(fb::math::floor_divide(5.f, 0.f), INFINITY);
  EXPECT_TRUE(std::signbit(fb::math::floor_divide(0.f, -3.f)));
}

TEST(Math, minimum_maximum) {
  const double nan = NAN;
  EXPECT_TRUE(std::isnan(fb::math::minimum(nan, 1.0)) && std::isnan(fb::math::minimum(1.0, nan)));
  EXPECT_TRUE(std::isnan(fb::math::maximum(nan, 1.0)) && std::isnan(fb::math::maximum(1.0, nan)));
  EXPECT_EQ(fb::math::fmin(nan, 1.0), 1);
  EXPECT_EQ(fb::math::fmax(1.0, nan), 1);
  EXPECT_FALSE(std::signbit(fb::math::fmin(0.0, -0.0)) || std::signbit(fb::math::fmax(0.0, -0.0)));
  EXPECT_EQ(fb::math::maximum(2.0, 1.0), 2);
  EXPECT_EQ(fb::math::minimum(2.0, 1.0), 1);
  EXPECT_EQ(fb::math::heaviside(nan, 3.0), 0);
  EXPECT_EQ(fb::math::heaviside(-0.0, 3.0), 3);
  EXPECT_EQ(fb::math::sign(nan), 0);
}
