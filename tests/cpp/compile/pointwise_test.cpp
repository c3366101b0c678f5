#include "core/error.h"
#include "dispatch/pointwise.h"
#include "tests/cpp/compile/bits.h"

namespace fb {
namespace {

using namespace compile_test;

TEST(CompiledPointwise, SigmoidHasTheEagerBits) {
  for (DType d : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::boolean}) {
    expect_same("sigmoid", {numbers(Dims{40000}, d, 1)}, dtype_name(d));
    expect_same("sigmoid", {numbers(Dims{3, 1, 5}, d, 2)}, "few");
    expect_same("sigmoid", {op<"transpose">(numbers(Dims{33, 70}, d, 3), int64_t(0), int64_t(1))}, "transposed");
    expect_same("sigmoid", {op<"slice">(numbers(Dims{60, 70}, d, 4), int64_t(1), int64_t(2), int64_t(69), int64_t(3))}, "sliced");
    expect_same("sigmoid", {op<"expand">(numbers(Dims{60, 1}, d, 5), Dims{60, 9})}, "expanded");
    expect_same("sigmoid", {numbers(Dims{}, d, 6)}, "0-d");
    expect_same("sigmoid", {numbers(Dims{0, 3}, d, 7)}, "empty");
  }
}

// Every half of either format.
TEST(CompiledPointwise, SigmoidOfEveryHalf) {
  for (DType d : {DType::f16, DType::bf16}) {
    const Tensor t = Tensor::empty(Dims{65536}, {d, DeviceType::cpu});
    for (int i = 0; i < 65536; ++i) static_cast<uint16_t*>(t.data())[i] = uint16_t(i);
    expect_same("sigmoid", {t}, dtype_name(d));
  }
}

TEST(CompiledPointwise, DivHasTheEagerBits) {
  constexpr DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64};
  for (DType d : types)
    for (const char* mode : {"", "trunc", "floor"}) {
      const Value m = *mode ? Value(mode) : Value();
      const Tensor a = numbers(Dims{300, 70}, d, 1);
      Tensor b = numbers(Dims{300, 70}, d, 8);
      if (is_integral(d) && *mode) b = op<"where">(op<"eq">(b, Scalar(0)), op<"ones_like">(b), b);
      expect_same("div.Tensor_mode", {a, b, m}, text(d, " ", mode).c_str());
      expect_same("div.Tensor_mode", {a, op<"slice">(b, int64_t(0), int64_t(3), int64_t(4)), m}, "a row for all");
      expect_same("div.Tensor_mode", {op<"slice">(a, int64_t(1), int64_t(5), int64_t(6)), b, m}, "a column for all");
      expect_same("div.Tensor_mode", {op<"transpose">(a, int64_t(0), int64_t(1)), op<"transpose">(b, int64_t(0), int64_t(1)), m}, "transposed");
      expect_same("div.Tensor_mode", {op<"slice">(a, int64_t(1), int64_t(0), int64_t(70), int64_t(2)), op<"slice">(b, int64_t(1), int64_t(1), int64_t(70), int64_t(2)), m}, "strided");
      expect_same("div.Tensor_mode", {a, Value(int64_t(7)), m}, "by a number");
      expect_same("div.Tensor_mode", {a, numbers(Dims{}, DType::f64, 9), m}, "by a tensor of no dimension");
      if (is_floating(d)) expect_same("div.Tensor_mode", {a, op<"ones">(Dims{70}, DType::i32), m}, "of two types");
    }
}

TEST(CompiledPointwise, DivRaisesWhatEagerRaises) {
  const Tensor a = op<"ones">(Dims{100}, DType::i32), zero = op<"zeros">(Dims{100}, DType::i32);
  for (const char* mode : {"trunc", "floor"}) {
    std::string text[2];
    for (int compiled = 0; compiled < 2; ++compiled) try {
        called("div.Tensor_mode", {a, zero, Value(mode)}, compiled);
      } catch (const Error& e) {
        text[compiled] = e.text();
      }
    EXPECT_NE(text[0], "");
    EXPECT_EQ(text[0], text[1]);
  }
  EXPECT_THROW(called("div.Tensor_mode", {a, a, Value("up")}, true), Error);
  EXPECT_THROW(called("div.Tensor_mode", {a, op<"ones">(Dims{3}, DType::i32), Value()}, true), Error);
}

}  // namespace
}  // namespace fb
