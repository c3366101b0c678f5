#include "core/threads.h"
#include "tests/cpp/compile/bits.h"

namespace fb {
namespace {

using namespace compile_test;

void both(const Tensor& x, std::optional<Dims> dims, std::optional<Scalar> correction, bool keepdim, const char* what) {
  const Value d = dims ? Value(*dims) : Value();
  expect_same("var.correction", {x, d, correction, keepdim}, what);
  expect_same("std.correction", {x, d, correction, keepdim}, what);
}

TEST(CompiledReduction, VarHasTheEagerBits) {
  for (DType d : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const Tensor x = op<"randn">(Dims{7, 33, 130}, d);
    both(x, std::nullopt, std::nullopt, false, "everything");
    both(x, Dims{2}, Scalar(0), false, "last");
    both(x, Dims{-1}, Scalar(1), true, "kept");
    both(x, Dims{0}, std::nullopt, false, "first");
    both(x, Dims{1}, Scalar(2), true, "middle");
    both(x, Dims{0, 2}, std::nullopt, false, "two runs");
    both(x, Dims{0, 1, 2}, Scalar(0.5), true, "all");
    both(x, Dims{2}, Scalar(1000), false, "more correction than elements");
    both(op<"transpose">(x, int64_t(0), int64_t(2)), Dims{1, 2}, std::nullopt, false, "transposed");
    both(op<"transpose">(x, int64_t(0), int64_t(2)), std::nullopt, std::nullopt, false, "transposed, everything");
    both(op<"slice">(x, int64_t(2), int64_t(1), int64_t(128), int64_t(3)), Dims{1, 2}, std::nullopt, false, "sliced");
    both(op<"expand">(op<"randn">(Dims{5, 1, 40}, d), Dims{5, 6, 40}), Dims{1, 2}, std::nullopt, false, "expanded");
    both(op<"randn">(Dims{100000}, d), std::nullopt, std::nullopt, false, "many blocks");
    both(op<"randn">(Dims{3, 9000}, d), Dims{1}, std::nullopt, false, "blocks of a row");
    both(op<"randn">(Dims{9000, 33}, d), Dims{0}, std::nullopt, false, "blocks of columns");
    both(op<"randn">(Dims{5, 70, 6, 40}, d), Dims{0, 2}, std::nullopt, false, "columns of runs");
    both(op<"randn">(Dims{3, 5000, 2, 40}, d), Dims{0, 1}, Scalar(0), true, "columns of long runs");
    both(op<"randn">(Dims{9000, 3}, d), Dims{0}, std::nullopt, false, "blocks of a column");
    both(op<"randn">(Dims{40, 6, 300}, d), Dims{0, 2}, std::nullopt, false, "runs of several blocks");
    both(op<"randn">(Dims{2, 3, 5000, 2}, d), Dims{0, 2}, std::nullopt, true, "long runs, apart");
    both(op<"randn">(Dims{1}, d), std::nullopt, std::nullopt, false, "one element");
    both(op<"randn">(Dims{}, d), std::nullopt, Scalar(0), false, "0-d");
    both(op<"randn">(Dims{0, 3}, d), Dims{0}, std::nullopt, false, "of nothing");
    both(op<"randn">(Dims{0, 3}, d), Dims{1}, std::nullopt, false, "nothing");
    both(numbers(Dims{5000}, d, 3), std::nullopt, std::nullopt, false, "special values");
    both(numbers(Dims{60, 50}, d, 4), Dims{1}, std::nullopt, false, "special values, rows");
  }
}

TEST(CompiledReduction, ThreadsDoNotShow) {
  const Tensor x = op<"randn">(Dims{3, 200000}, DType::f32);
  const std::vector<Value> args{x, Value(), std::optional<Scalar>(), false};
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor one = called("var.correction", args, true);
  set_num_threads(4);
  const Tensor four = called("var.correction", args, true);
  set_num_threads(before);
  EXPECT_EQ(differing(one, four), 0);
}

TEST(CompiledReduction, SaysWhyItDeclines) {
  std::string why;
  const Tensor x = op<"randn">(Dims{3}, DType::f32);
  std::vector<Value> args{x};
  args.resize(8);
  EXPECT_FALSE(compile::compiler().accepts(*find_op("median"), args.data(), &why));
  EXPECT_EQ(why, "its card has neither passes nor a chain");
}

}  // namespace
}  // namespace fb
