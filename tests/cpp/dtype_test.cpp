#include "core/dtype.h"

#include <gtest/gtest.h>

using namespace fb;

TEST(DType, PromotesAsPyTorchDocuments) {
  EXPECT_EQ(promote(DType::u8, DType::i8), DType::i16);
  EXPECT_EQ(promote(DType::i64, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::f64, DType::c64), DType::c128);
  EXPECT_EQ(promote(DType::boolean, DType::u8), DType::u8);
}

TEST(Half, RoundsToNearestEvenAndKeepsSpecials) {
  EXPECT_EQ(half(1.0f).bits, 0x3c00);
  EXPECT_EQ(half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(half(5.9604644775390625e-8f).bits, 1);
  EXPECT_EQ(float(half(0.333251953125f)), 0.333251953125f);
  EXPECT_EQ(bfloat16(1.00390625f).bits, 0x3f80);
  EXPECT_EQ(float8_e4m3fn(448.0f).bits, 0x7e);
}

// Without an infinity, large values become the greatest; only NaN is NaN.
TEST(Half, Float8WithoutInfinitySaturates) {
  EXPECT_EQ(float8_e4m3fn(464.0f).bits, 0x7e);
  EXPECT_EQ(float8_e4m3fn(465.0f).bits, 0x7e);
  EXPECT_EQ(float8_e4m3fn(-1e9f).bits, 0xfe);
  EXPECT_EQ(float8_e4m3fn(__builtin_inff()).bits, 0x7e);
  EXPECT_EQ(float8_e4m3fn(__builtin_nanf("")).bits & 0x7f, 0x7f);
  EXPECT_EQ(float8_e5m2(1e9f).bits, 0x7c);
}

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t i = 0; i < 65536; ++i) {
    half h;
    h.bits = uint16_t(i);
    const float f = float(h);
    if (f != f) continue;
    EXPECT_EQ(half(f).bits, h.bits);
  }
}
