// Vectors of every width have the scalar domain's bits, operation by operation.
#include "cpu/simd/wide.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/cpp/math/ulp.h"

namespace {

using fb::Wide;
using fb::testing::same_value;

template <class T> std::vector<T> patterns(uint64_t seed) {
  std::vector<T> x = {T(0), T(-0.0), T(1), T(-1), T(2.5), T(-2.5), T(0.5), T(-0.2), T(INFINITY), T(-INFINITY), T(NAN), T(1e30), T(-7),
                      std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
  std::mt19937_64 g(seed);
  while (x.size() < 4096) {
    const uint64_t u = g();
    T v;
    std::memcpy(&v, &u, sizeof v);
    x.push_back(u % 3 ? v : T(double(int64_t(g())) * 0x1p-58));
  }
  return x;
}

template <class T, int B> void check_width() {
  using V = Wide<T, B>;
  using I = fb::int_t<V>;
  using L = fb::lane_t<I>;
  const auto x = patterns<T>(1), y = patterns<T>(2), z = patterns<T>(3);
  for (size_t at = 0; at + V::lanes <= x.size(); at += V::lanes) {
    const size_t other = (at * 7 + 5 * V::lanes) % (x.size() - V::lanes);
    const V a = V::load(&x[at]), b = V::load(&y[other]), c = V::load(&z[at]);
    const I i = bits(a), j = bits(b);
    const auto less = a < b;
    for (int n = 0; n < V::lanes; ++n) {
      const T p = x[at + n], q = y[other + n], r = z[at + n];
      const L u = fb::bits(p), v = fb::bits(q);
      ASSERT_TRUE(same_value((a + b)[n], p + q) && same_value((a - b)[n], p - q) && same_value((a * b)[n], p * q) && same_value((a / b)[n], p / q)) << p << " " << q;
      ASSERT_TRUE(same_value((-a)[n], -p) && same_value(fma(a, b, c)[n], fb::fma(p, q, r))) << p << " " << q << " " << r;
      ASSERT_TRUE(same_value(sqrt(a)[n], fb::sqrt(p)) && same_value(floor(a)[n], fb::floor(p)) && same_value(ceil(a)[n], fb::ceil(p))) << p;
      ASSERT_TRUE(same_value(trunc(a)[n], fb::trunc(p)) && same_value(rint(a)[n], fb::rint(p)) && same_value(abs(a)[n], fb::abs(p))) << p;
      ASSERT_TRUE(same_value(min(a, b)[n], fb::min(p, q)) && same_value(max(a, b)[n], fb::max(p, q)) && same_value(copysign(a, b)[n], fb::copysign(p, q)));
      ASSERT_TRUE(same_value(select(less, a, c)[n], p < q ? p : r));
      ASSERT_TRUE(less[n] == (p < q) && (a <= b)[n] == (p <= q) && (a > b)[n] == (p > q) && (a >= b)[n] == (p >= q));
      ASSERT_TRUE((a == b)[n] == (p == q) && (a != b)[n] == (p != q) && isnan(a)[n] == fb::isnan(p));
      ASSERT_TRUE((!less)[n] == !(p < q) && (less & (a > c))[n] == (p < q && p > r) && (less | (a > c))[n] == (p < q || p > r));
      ASSERT_EQ((less ^ (a > c))[n], (p < q) != (p > r));
      ASSERT_EQ((i + j)[n], fb::wrapping_add(u, v));
      ASSERT_EQ((i - j)[n], fb::wrapping_sub(u, v));
      ASSERT_TRUE((i & j)[n] == (u & v) && (i | j)[n] == (u | v) && (i ^ j)[n] == (u ^ v) && (i < j)[n] == (u < v) && (i == j)[n] == (u == v));
      ASSERT_TRUE((i >> 3)[n] == u >> 3 && (i << 3)[n] == L(std::make_unsigned_t<L>(u) << 3) && shift_right_logical(i, 3)[n] == fb::shift_right_logical(u, 3));
      ASSERT_EQ(select(less, i, j)[n], p < q ? u : v);
      if (fb::abs(p) < T(0x1p30)) {
        ASSERT_EQ(to_int(a)[n], fb::to_int(p)) << p;
        ASSERT_EQ(to_float(to_int(a))[n], fb::to_float(fb::to_int(p)));
      }
    }
    bool some = false, every = true;
    for (int n = 0; n < V::lanes; ++n) some = some || less[n], every = every && less[n];
    ASSERT_EQ(any(less), some);
    ASSERT_EQ(all(less), every);
    const V patched = patch(a > b, a, [](T s, T t) { return s - t; }, a, b), each = fb::lane_by_lane([](double s) { return s * 3; }, a);
    for (int n = 0; n < V::lanes; ++n) {
      ASSERT_TRUE(same_value(patched[n], x[at + n] > y[other + n] ? x[at + n] - y[other + n] : x[at + n]));
      ASSERT_TRUE(same_value(each[n], T(double(x[at + n]) * 3)));
    }
    if constexpr (sizeof(T) == 4) {
      const V d = fb::in_double([](auto s) { return s * s; }, a), e = fb::in_double([](auto s, auto t) { return s * t; }, a, b);
      const float table[8] = {0, 1, -2, 3, 4.5f, 5, 6, -7};
      const V l = lookup(table, i & fb::k<I>(7));
      for (int n = 0; n < V::lanes; ++n) {
        const float p = x[at + n], q = y[other + n];
        ASSERT_TRUE(same_value(d[n], float(double(p) * double(p))) && same_value(e[n], float(double(p) * double(q))));
        ASSERT_EQ(l[n], table[fb::bits(p) & 7]);
      }
    }
  }
  for (T v : {T(-0.0), T(3), T(NAN)}) EXPECT_TRUE(same_value(V(v)[V::lanes - 1], v));
  T part[V::lanes + 1];
  for (int n = 0; n <= V::lanes; ++n) {
    const V v = V::load(&x[2], n);
    std::fill(part, part + V::lanes + 1, T(9));
    v.store(part, n);
    for (int m = 0; m < V::lanes; ++m) {
      EXPECT_TRUE(same_value(v[m], m < n ? x[2 + m] : T(0)));
      EXPECT_TRUE(same_value(part[m], m < n ? x[2 + m] : T(9)));
    }
  }
}

TEST(Wide, SixteenBytesHaveTheScalarBits) {
  check_width<float, 16>();
  check_width<double, 16>();
}
TEST(Wide, ThirtyTwoBytesHaveTheScalarBits) {
  check_width<float, 32>();
  check_width<double, 32>();
}
TEST(Wide, SixtyFourBytesHaveTheScalarBits) {
  check_width<float, 64>();
  check_width<double, 64>();
}

TEST(Wide, StorageFormatsRoundOnce) {
  using V = Wide<float, 64>;
  const auto x = patterns<float>(4);
  for (size_t at = 0; at + V::lanes <= x.size(); at += V::lanes) {
    fb::half h[V::lanes];
    fb::bfloat16 b[V::lanes];
    V::load(&x[at]).store(h);
    V::load(&x[at]).store(b, 5);
    const V back = V::load(h);
    for (int n = 0; n < V::lanes; ++n) {
      ASSERT_EQ(h[n].bits, fb::half(x[at + n]).bits);
      if (n < 5) {
        ASSERT_EQ(b[n].bits, fb::bfloat16(x[at + n]).bits);
      }
      ASSERT_TRUE(same_value(back[n], float(h[n])));
    }
  }
}

}  // namespace
