#include "tests/cpp/compile/bits.h"

namespace fb {
namespace {

using namespace compile_test;

TEST(CompiledPointwise, SigmoidHasTheEagerBits) {
  for (DType d : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::boolean}) {
    expect_same("sigmoid", {numbers({40000}, d, 1)}, dtype_name(d));
    expect_same("sigmoid", {numbers({3, 1, 5}, d, 2)}, "few");
    expect_same("sigmoid", {op<"transpose">(numbers({33, 70}, d, 3), int64_t(0), int64_t(1))}, "transposed");
    expect_same("sigmoid", {op<"slice">(numbers({60, 70}, d, 4), int64_t(1), int64_t(2), int64_t(69), int64_t(3))}, "sliced");
    expect_same("sigmoid", {op<"expand">(numbers({60, 1}, d, 5), Dims{60, 9})}, "expanded");
    expect_same("sigmoid", {numbers({}, d, 6)}, "0-d");
    expect_same("sigmoid", {numbers({0, 3}, d, 7)}, "empty");
  }
}

}  // namespace
}  // namespace fb
