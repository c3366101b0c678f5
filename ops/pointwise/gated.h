// Activations that are more than one element at a time: glu, rrelu.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Glu : lowered<Glu> {
  static constexpr auto schema = "glu(Tensor self, int dim=-1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static int64_t half_of(const Tensor& self, int64_t dim) {
    FB_CHECK(self.ndim() > 0, "glu: input has no dimension to halve");
    const int64_t n = self.size(dim);
    FB_CHECK(n % 2 == 0, "glu: dimension ", dim, " of input, of shape ", self.sizes(), ", is to be halved, but its size is ", n);
    if (!self.is_floating()) raise_not_implemented("glu is not implemented for type ", self.dtype());
    return n / 2;
  }
  static Tensor lowering(const Tensor& self, int64_t dim) {
    const int64_t n = half_of(self, dim);
    return op<"mul">(op<"narrow">(self, dim, int64_t(0), n), op<"sigmoid">(op<"narrow">(self, dim, n, n)));
  }
  static Tensor d_self(grad<0> g, in<0> self, arg<1, int64_t> dim) {
    const int64_t n = half_of(*self, dim.v);
    const Tensor a = op<"narrow">(*self, dim.v, int64_t(0), n), s = op<"sigmoid">(op<"narrow">(*self, dim.v, n, n));
    return op<"cat">(std::vector<Tensor>{*g * s, *g * (a * (s - s * s))}, dim.v);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(glu(input, dim=-1) -> Tensor

a * sigmoid(b), a and b the halves of input along dim, whose size must be even.)";
};
FB_CARD(Glu)

struct RreluWithNoise : direct<RreluWithNoise> {
  static constexpr auto schema =
      "rrelu_with_noise(Tensor self, Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor d_self(grad<0> g, in<0> x, in<1> noise, arg<2, double> lower, arg<3, double> upper, arg<4, bool> training) {
    if (training.v && upper.v - lower.v > 1e-6) return *g * *noise;
    return op<"where">(op<"gt">(*x, 0.0), *g, *g * (0.5 * (lower.v + upper.v)));
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(RreluWithNoise)

struct Rrelu : composite<Rrelu> {
  static constexpr auto schema =
      "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::inplace | form::fn_inplace;
  static Tensor body(const Tensor& self, double lower, double upper, bool training, Generator* generator) {
    FB_CHECK(lower <= upper, "rrelu: lower is ", lower, ", above upper, ", upper);
    return op<"rrelu_with_noise">(self, op<"empty_like">(self), lower, upper, training, generator);
  }
  static constexpr auto doc = R"(rrelu(input, lower=1/8, upper=1/3, training=False) -> Tensor

input where positive, else input times a slope: drawn uniformly from [lower, upper) in training, else their mean.)";
};
FB_CARD(Rrelu)

}  // namespace fb::cards
