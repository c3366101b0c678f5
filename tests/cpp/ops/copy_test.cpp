// copy_ against a naive index loop, over layouts, types, overlap and bits.
#include <gtest/gtest.h>

#include "dispatch/call.h"

namespace fb {
namespace {

Tensor counting(Ints sizes, DType d) {
  const Tensor t = Tensor::empty(sizes, {DType::f32, Device()});
  for (int64_t i = 0; i < t.numel(); ++i) t.ptr<float>()[i] = float(i % 120);
  return d == DType::f32 ? t : op<"to.dtype">(t, d);
}

double value_at(const Tensor& t, int64_t row_major) {
  int64_t at = t.offset();
  for (int64_t d = t.ndim() - 1; d >= 0; --d) {
    at += row_major % t.sizes()[d] * t.strides()[d];
    row_major /= t.sizes()[d];
  }
  return op_value<"item">(op<"as_strided">(t, Ints(), Ints(), at)).floating();
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_TRUE(a.sizes() == b.sizes());
  for (int64_t i = 0; i < a.numel(); ++i) ASSERT_EQ(value_at(a, i), value_at(b, i)) << "at " << i;
}

TEST(Copy, EveryTypeThroughTransposedTiles) {
  for (DType to : {DType::f32, DType::f64, DType::i64, DType::u8, DType::f16, DType::bf16, DType::c128, DType::i16})
    for (DType from : {DType::f32, DType::f64, DType::i32, DType::u8, DType::f16, DType::c128}) {
      const Tensor src = op<"transpose">(counting({37, 21}, from), 0, 1);
      const Tensor dst = op<"zeros">(Ints({21, 37}), to);
      op<"copy_">(dst, src);
      expect_equal(dst, src);
    }
}

TEST(Copy, StridedBothWays) {
  const Tensor src = op<"permute">(counting({5, 7, 9}, DType::f32), Ints({2, 0, 1}));
  const Tensor wide = op<"zeros">(Ints({9, 5, 14}));
  const Tensor dst = op<"slice">(wide, 2, 1, 14, 2);
  op<"copy_">(dst, src);
  expect_equal(dst, src);
  for (int64_t i = 0; i < 9 * 5 * 7; ++i) ASSERT_EQ(wide.ptr<float>()[2 * i], 0.f);
}

TEST(Copy, BroadcastsAndRefuses) {
  const Tensor dst = op<"zeros">(Ints({3, 4}));
  op<"copy_">(dst, counting({4}, DType::i32));
  EXPECT_EQ(value_at(dst, 7), 3);
  EXPECT_THROW(op<"copy_">(dst, counting({3}, DType::f32)), Error);
  EXPECT_THROW(op<"copy_">(dst, counting({2, 3, 4}, DType::f32)), Error);
  EXPECT_THROW(op<"copy_">(op<"expand">(counting({1}, DType::f32), Ints({3})), counting({3}, DType::f32)), Error);
}

TEST(Copy, ReadsBeforeItWrites) {
  const Tensor t = counting({10}, DType::f32);
  op<"copy_">(op<"slice">(t, 0, 1, 10, 1), op<"slice">(t, 0, 0, 9, 1));
  for (int i = 1; i < 10; ++i) EXPECT_EQ(t.ptr<float>()[i], float(i - 1));
  const Tensor m = counting({6, 6}, DType::f32), before = op<"clone">(m);
  op<"copy_">(m, op<"t">(m));
  expect_equal(m, op<"t">(before));
}

TEST(Copy, ConjAndNegBits) {
  const Tensor z = op<"zeros">(Ints({2}), DType::c64);
  z.ptr<cfloat>()[0] = cfloat(1, 2);
  z.ptr<cfloat>()[1] = cfloat(3, -4);
  const Tensor c = op<"clone">(op<"conj">(z));
  EXPECT_FALSE(c.is_conj());
  EXPECT_EQ(c.ptr<cfloat>()[0].im, -2.f);
  const Tensor w = op<"zeros">(Ints({2}), DType::c64);
  op<"copy_">(op<"conj">(w), z);
  EXPECT_EQ(w.ptr<cfloat>()[1].im, 4.f);
  const Tensor im = op<"imag">(op<"conj">(z));
  EXPECT_TRUE(im.is_neg());
  EXPECT_EQ(op<"clone">(im).ptr<float>()[1], 4.f);
}

TEST(Copy, LargeTransposeStreams) {
  const Tensor src = counting({2048, 2056}, DType::f32);
  const Tensor out = op<"contiguous">(op<"t">(src));
  for (int64_t i = 0; i < 2056; i += 13)
    for (int64_t j = 0; j < 2048; j += 7) ASSERT_EQ(out.ptr<float>()[i * 2048 + j], src.ptr<float>()[j * 2056 + i]);
}

TEST(AsStridedBackward, AddsWhatMeets) {
  // Windows of 3, one apart, over 5 elements: element i lies in min(i, 4 - i, 2) + 1 of them.
  const Tensor g = op<"ones">(Ints({3, 3}));
  const Tensor r = op<"unfold_backward">(g, Ints({int64_t(5)}), 0, 3, 1);
  const float want[] = {1, 2, 3, 2, 1};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r.ptr<float>()[i], want[i]);
  const Tensor w = op<"as_strided_backward">(op<"ones">(Ints({int64_t(2)})), Ints({2, 3}), Ints({1, 2}), Ints({int64_t(2)}), Ints({int64_t(3)}), 1);
  EXPECT_TRUE(w.strides() == Ints({1, 2}));
  EXPECT_EQ(w.ptr<float>()[1], 1.f);
  EXPECT_EQ(w.ptr<float>()[4], 1.f);
  EXPECT_EQ(w.ptr<float>()[0], 0.f);
}

TEST(Views, ShapesAndErrors) {
  const Tensor x = counting({4, 6}, DType::f32);
  EXPECT_TRUE(op<"reshape">(x, Ints({2, -1})).sizes() == Ints({2, 12}));
  EXPECT_TRUE(op<"view">(op<"empty">(Ints({0, 3})), Ints({-1, 3})).sizes() == Ints({0, 3}));
  EXPECT_THROW(op<"view">(op<"t">(x), Ints({int64_t(24)})), Error);
  EXPECT_THROW(op<"view">(x, Ints({-1, -1})), Error);
  EXPECT_TRUE(op<"expand">(op<"select">(x, 0, 1), Ints({3, -1})).strides() == Ints({0, 1}));
  EXPECT_EQ(op_list<"split">(x, 3, 1).size(), 2u);
  EXPECT_EQ(op_list<"unbind">(x).size(), 4u);
  EXPECT_EQ(op<"diagonal">(x, 2).numel(), 4);
  EXPECT_TRUE(op<"squeeze">(op<"unsqueeze">(x, 1)).sizes() == x.sizes());
  try {
    op<"select">(x, 0, 4);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::index);
  }
}

TEST(Fill, Values) {
  const Tensor x = op<"empty">(Ints({3, 5}), DType::f16);
  op<"fill_">(op<"t">(x), 2.5);
  EXPECT_EQ(value_at(x, 14), 2.5);
  op<"zero_">(op<"slice">(x, 1, 0, 5, 2));
  EXPECT_EQ(value_at(x, 2), 0);
  EXPECT_EQ(value_at(x, 1), 2.5);
  EXPECT_THROW(op<"fill_">(op<"empty">(Ints({2}), DType::u8), 300), Error);
  EXPECT_THROW(op<"fill_">(x, 1e6), Error);
}

}  // namespace
}  // namespace fb

namespace fb {
namespace {

TEST(Cat, JoinsAlongAnyDimension) {
  const Tensor x = counting({2, 3}, DType::f32), y = counting({2, 2}, DType::i32);
  const Tensor c = op<"cat">(std::vector<Tensor>{x, y}, 1);
  const double want[] = {0, 1, 2, 0, 1, 3, 4, 5, 2, 3};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(value_at(c, i), want[i]);
  EXPECT_THROW(op<"cat">(std::vector<Tensor>{x, y}, 0), Error);
  EXPECT_TRUE(op<"stack">(std::vector<Tensor>{x, x}, 2).sizes() == Ints({2, 3, 2}));
  EXPECT_TRUE(op<"block_diag">(std::vector<Tensor>{x, y}).sizes() == Ints({4, 5}));
}

TEST(Create, RangesAndTriangles) {
  EXPECT_EQ(op<"arange">(1, 2.5, 0.5).numel(), 3);
  EXPECT_EQ(op<"arange">(5, 1, -1).dtype(), DType::i64);
  EXPECT_THROW(op<"arange">(5, 1), Error);
  const Tensor l = op<"linspace">(-5, 5, 8, DType::i8);
  const double want[] = {-5, -3, -2, 0, 0, 2, 3, 5};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(value_at(l, i), want[i]);
  const Tensor z = op<"logspace">(-1, 5, 8, 10.0, DType::i32);
  EXPECT_EQ(value_at(z, 7), 100000);
  EXPECT_EQ(op<"tril_indices">(3, 2, 1).sizes()[1], 6);
  EXPECT_EQ(op<"triu_indices">(3, 2, -1).sizes()[1], 5);
  const Tensor t = op<"triu">(counting({3, 4}, DType::f32), 1);
  EXPECT_EQ(value_at(t, 4), 0);
  EXPECT_EQ(value_at(t, 6), 6);
  EXPECT_EQ(value_at(op<"eye">(3, DType::boolean), 4), 1);
}

TEST(Pad, EveryMode) {
  const Tensor x = op<"reshape">(counting({4}, DType::f32), Ints({1, 4}));
  auto row = [](const Tensor& t) {
    std::vector<double> v;
    for (int64_t i = 0; i < t.numel(); ++i) v.push_back(value_at(t, i));
    return v;
  };
  using V = std::vector<double>;
  EXPECT_EQ(row(op<"pad">(x, Ints({2, 1}), "constant", 9.0)), (V{9, 9, 0, 1, 2, 3, 9}));
  EXPECT_EQ(row(op<"pad">(x, Ints({-1, 1}))), (V{1, 2, 3, 0}));
  EXPECT_EQ(row(op<"pad">(x, Ints({2, 1}), "reflect")), (V{2, 1, 0, 1, 2, 3, 2}));
  EXPECT_EQ(row(op<"pad">(x, Ints({2, 1}), "replicate")), (V{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(row(op<"pad">(x, Ints({2, 1}), "circular")), (V{2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(row(op<"replication_pad1d_backward">(op<"ones">(Ints({1, 7})), x, Ints({2, 1}))), (V{3, 1, 1, 2}));
  EXPECT_EQ(row(op<"reflection_pad1d_backward">(op<"ones">(Ints({1, 7})), x, Ints({2, 1}))), (V{1, 2, 3, 1}));
}

TEST(Repeat, RollFlipRepeat) {
  const Tensor x = counting({2, 3}, DType::f32);
  EXPECT_EQ(value_at(op<"roll">(x, Ints({int64_t(1)})), 0), 5);
  EXPECT_EQ(value_at(op<"roll">(x, Ints({1, 1}), Ints({0, 1})), 0), 5);
  EXPECT_EQ(value_at(op<"flip">(x, Ints({0, 1})), 0), 5);
  EXPECT_EQ(value_at(op<"rot90">(x), 0), 2);
  const Tensor r = op<"repeat">(x, Ints({2, 1, 2}));
  EXPECT_TRUE(r.sizes() == Ints({2, 2, 6}));
  EXPECT_EQ(value_at(r, 4), 1);
}

}  // namespace
}  // namespace fb
