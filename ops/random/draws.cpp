#include "ops/random/draws.h"

#include <cmath>

namespace fb::cards {
namespace random {

Tensor integers(Tensor t, int64_t low, int64_t high, Generator* g) {
  FB_CHECK(low < high, "randint: expected low < high, got low ", low, " and high ", high);
  return op_list<"random_.from">(t, low, std::optional<int64_t>(high), g)[0];
}

Tensor permutation(int64_t n, std::optional<DType> d, std::optional<Device> device, Generator* g) {
  FB_CHECK(n >= 0, "randperm: n must not be negative, got ", n);
  const Tensor t = make(Ints{n}, d, DType::i64, device);
  return t.is_meta() ? t : op_list<"_randperm_">(t, g)[0];
}

}  // namespace random

static Tensor shifted(const Tensor& t, const Tensor& std, const Tensor& mean) {
  Tensor r = t;
  if (std.defined()) r = op_list<"mul_">(r, std)[0];
  return op_list<"add_">(r, mean)[0];
}

Tensor normal_tensor_float::lowering(const Tensor& mean, double std, Generator* g) {
  FB_CHECK(std >= 0, "normal: expected std >= 0, got ", std);
  const Tensor t = op_list<"normal_">(random::row_major_like(mean), 0.0, std, g)[0];
  return shifted(t, Tensor(), mean);
}
Tensor normal_float_tensor::lowering(double mean, const Tensor& std, Generator* g) {
  FB_CHECK(!std.is_complex(), "normal: expected a real std, got ", std.dtype());
  const Tensor t = op_list<"normal_">(random::row_major_like(std), 0.0, 1.0, g)[0];
  return op_list<"add_">(op_list<"mul_">(t, std)[0], mean)[0];
}
Tensor normal_tensor_tensor::lowering(const Tensor& mean, const Tensor& std, Generator* g) {
  FB_CHECK(!std.is_complex(), "normal: expected a real std, got ", std.dtype());
  const Dims shape = broadcast_sizes(mean.sizes(), std.sizes());
  const Tensor t = op_list<"normal_">(op<"empty">(shape, mean.dtype(), std::nullopt, mean.device()), 0.0, 1.0, g)[0];
  return shifted(t, std, mean);
}

std::array<Tensor, 2> native_dropout::lowering(const Tensor& x, double p, std::optional<bool> train) {
  FB_CHECK(p >= 0 && p <= 1, "native_dropout: the probability has to be between 0 and 1, got ", p);
  if (x.numel() == 0 || !train.value_or(true)) return {op<"clone">(x), op<"ones_like">(x, DType::boolean)};
  const Tensor mask = op_list<"bernoulli_.float">(op<"empty_like">(x, DType::boolean), 1 - p)[0];
  const double scale = p == 1 ? 0.0 : 1 / (1 - p);
  return {op_list<"mul_">(op<"mul">(x, mask), scale)[0], mask};
}

}  // namespace fb::cards
