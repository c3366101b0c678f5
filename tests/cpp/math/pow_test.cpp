#include "ops/math/pow.h"

#include "tests/cpp/math/sweep.h"

namespace {

template <class T, class F, class R>
void check_two(F f, R reference, double bound, const std::vector<T>& a, const std::vector<T>& b) {
  double worst = 0;
  T wa = 0, wb = 0;
  constexpr int lanes = fb::Vec<T>::lanes;
  for (size_t i = 0; i + lanes <= a.size(); i += lanes) {
    const auto v = f(fb::load(&a[i]), fb::load(&b[i]));
    for (int j = 0; j < lanes; ++j) {
      const T x = a[i + j], y = b[i + j], s = f(x, y);
      ASSERT_TRUE(fb::testing::same_value(s, T(v[j]))) << x << ", " << y << ": " << s << " and " << v[j];
      const long double want = reference((long double)x, (long double)y);
      const double e = fb::testing::ulp_error<T>(want, s);
      if (e > worst) worst = e, wa = x, wb = y;
      if (want == 0) {
        ASSERT_EQ(std::signbit(want), std::signbit(s)) << x << ", " << y;
      }
    }
  }
  EXPECT_LE(worst, bound) << "at " << wa << ", " << wb << ": got " << f(wa, wb) << ", exact "
                          << reference((long double)wa, (long double)wb);
}

template <class T> void pairs(std::vector<T>& a, std::vector<T>& b, int n, T spread, T exponent_range) {
  const T s[] = {T(0), T(-0.0), T(1), T(-1), T(INFINITY), T(-INFINITY), T(NAN), T(0.5), T(-0.5), T(2), T(-2), T(3), T(-3),
                 T(1.5), T(-1.5), T(1e30), T(-1e30), T(1e-30), std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min()};
  for (T x : s)
    for (T y : s) a.push_back(x), b.push_back(y);
  std::mt19937_64 g(11);
  std::uniform_real_distribution<double> u(-1, 1);
  for (int i = 0; i < n; ++i) {
    a.push_back(T(std::exp2(u(g) * spread)));
    b.push_back(T(u(g) * exponent_range / std::fabs(std::log2(double(a.back())) + 1e-3)));
    a.push_back(T(std::floor(u(g) * 20)));
    b.push_back(T(std::floor(u(g) * 20)));
  }
}

}  // namespace

TEST(Math, pow) {
  const auto f = [](auto x, auto y) { return fb::math::pow(x, y); };
  const auto r = [](long double x, long double y) { return std::pow(x, y); };
  std::vector<float> a, b;
  pairs(a, b, 100000, 120.f, 150.f);
  check_two(f, r, 0.6, a, b);
  std::vector<double> c, d;
  pairs(c, d, 100000, 1000., 1100.);
  check_two(f, r, 1.1, c, d);
}

TEST(Math, hypot) {
  const auto f = [](auto x, auto y) { return fb::math::hypot(x, y); };
  const auto r = [](long double x, long double y) { return std::hypot(x, y); };
  std::vector<float> a, b;
  pairs(a, b, 20000, 120.f, 1.f);
  check_two(f, r, 0.6, a, b);
  std::vector<double> c, d;
  pairs(c, d, 20000, 1000., 1.);
  check_two(f, r, 1.3, c, d);
}

FB_ROOTS(FB_SWEEP, FB_SWEEP_SLACK)
