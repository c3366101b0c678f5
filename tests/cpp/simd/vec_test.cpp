#include "cpu/simd/vec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

using fb::Vec;
using fb::load;
using fb::store;

const float values[8] = {0.f, -0.f, 1.5f, -2.5f, INFINITY, -INFINITY, NAN, 65519.f};

TEST(Vec, OperatorsAndSelect) {
  const float b[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto x = load(values), y = load(b);
  const auto sum = x + y, lesser = fb::min(x, y), chosen = fb::select(x < y, x, y);
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(sum[i] == values[i] + b[i] || std::isnan(sum[i]));
    EXPECT_EQ(lesser[i], fb::min(values[i], b[i]));
    EXPECT_EQ(chosen[i], values[i] < b[i] ? values[i] : b[i]);
    EXPECT_EQ(fb::isnan(x)[i], std::isnan(values[i]));
    EXPECT_EQ(fb::bits(x)[i], fb::bits(values[i]));
  }
  EXPECT_TRUE(fb::any(fb::isnan(x)));
  EXPECT_FALSE(fb::all(fb::isnan(x)));
  EXPECT_FALSE(fb::any(fb::isnan(y)));
  EXPECT_TRUE(fb::all(!fb::isnan(y)));
}

TEST(Vec, RoundingFunctionsAndSigns) {
  const double d[4] = {2.5, -2.5, -0.2, 1e300};
  const auto x = load(d);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(fb::floor(x)[i], std::floor(d[i]));
    EXPECT_EQ(fb::ceil(x)[i], std::ceil(d[i]));
    EXPECT_EQ(fb::trunc(x)[i], std::trunc(d[i]));
    EXPECT_EQ(fb::rint(x)[i], std::rint(d[i]));
    EXPECT_EQ(fb::abs(x)[i], std::fabs(d[i]));
    EXPECT_EQ(fb::copysign(fb::k<Vec<double>>(3), x)[i], std::copysign(3, d[i]));
  }
}

TEST(Vec, IntegerLanes) {
  const double d[4] = {-3, 7.5, 0, 0x1p50};
  const auto i = fb::to_int(load(d));
  const auto back = fb::to_float(i);
  const int64_t want[4] = {-3, 8, 0, int64_t(1) << 50};
  for (int j = 0; j < 4; ++j) {
    EXPECT_EQ(i[j], want[j]);
    EXPECT_EQ(i[j], fb::to_int(d[j]));
    EXPECT_EQ(back[j], double(want[j]));
    EXPECT_EQ(fb::shift_right_logical(i, 3)[j], fb::shift_right_logical(want[j], 3));
    EXPECT_EQ((i >> 1)[j], want[j] >> 1);
  }
}

// Every 16-bit pattern widens, and narrows back, as the scalar type says.
template <class S> void round_trip() {
  for (int base = 0; base < 65536; base += 8) {
    S s[8], back[8];
    for (int i = 0; i < 8; ++i) s[i].bits = uint16_t(base + i);
    const auto v = load(s);
    store(back, v);
    for (int i = 0; i < 8; ++i) {
      const float f = float(s[i]);
      if (std::isnan(f)) {
        EXPECT_TRUE(std::isnan(v[i]) && std::isnan(float(back[i])));
      } else {
        ASSERT_EQ(fb::bits(float(v[i])), fb::bits(f));
        ASSERT_EQ(back[i].bits, s[i].bits);
      }
    }
  }
}
TEST(Vec, HalfRoundTrip) { round_trip<fb::half>(); }
TEST(Vec, Bfloat16RoundTrip) { round_trip<fb::bfloat16>(); }

template <class S> void rounding() {
  for (uint64_t b = 0; b < (uint64_t(1) << 32); b += 8 * 6007) {
    float x[8];
    S s[8];
    for (int i = 0; i < 8; ++i) x[i] = fb::from_bits(int32_t(uint32_t(b + i * 6007)));
    store(s, load(x));
    for (int i = 0; i < 8; ++i)
      if (!std::isnan(x[i])) {
        ASSERT_EQ(s[i].bits, S(x[i]).bits) << x[i];
      } else {
        ASSERT_TRUE(std::isnan(float(s[i])));
      }
  }
}
TEST(Vec, HalfRounding) { rounding<fb::half>(); }
TEST(Vec, Bfloat16Rounding) { rounding<fb::bfloat16>(); }
TEST(Vec, Float8Rounding) {
  rounding<fb::float8_e4m3fn>();
  rounding<fb::float8_e5m2>();
}

template <class S> void partial() {
  S in[16], out[16];
  for (int i = 0; i < 16; ++i) in[i] = S(float(i + 1));
  constexpr int lanes = fb::vec_for<S>::lanes;
  for (int n = 0; n <= lanes; ++n) {
    const auto v = load(in, n);
    for (int i = 0; i < 16; ++i) out[i] = S(-1.f);
    store(out, v, n);
    for (int i = 0; i < lanes; ++i) {
      EXPECT_EQ(float(v[i]), i < n ? float(i + 1) : 0.f);
      EXPECT_EQ(float(out[i]), i < n ? float(i + 1) : -1.f);
    }
  }
}
TEST(Vec, PartialLoadsAndStores) {
  partial<float>();
  partial<double>();
  partial<fb::half>();
  partial<fb::bfloat16>();
  partial<fb::float8_e5m2>();
}

TEST(Vec, StreamedStores) {
  alignas(32) float f[8];
  alignas(32) fb::bfloat16 b[8];
  fb::stream_store(f, load(values));
  fb::stream_store(b, load(values));
  fb::stream_fence();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(f[i], values[i]);
    EXPECT_EQ(float(b[i]), values[i]);
  }
}

TEST(Vec, PatchAndDouble) {
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto v = load(x);
  const auto p = fb::patch(v > fb::k<Vec<float>>(6), v, [](float a) { return -a; }, v);
  const auto d = fb::in_double([](auto a) { return a * a; }, v);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(p[i], x[i] > 6 ? -x[i] : x[i]);
    EXPECT_EQ(d[i], x[i] * x[i]);
  }
}

}  // namespace
