// Activations that are more than one element at a time: glu, rrelu.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "dispatch/thread_state.h"
#include "ops/pointwise/gradient.h"

namespace fb::cards {

struct Glu : lowered<Glu> {
  static constexpr auto schema = "glu(Tensor self, int dim=-1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out | form::out_converts;
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

// Also gives the slopes: 1 where input is positive.
struct RreluFunctional : direct<RreluFunctional> {
  static constexpr auto schema =
      "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
      "Generator? generator=None) -> (Tensor, Tensor noise_out)";
  static constexpr auto grad_name = "RreluWithNoiseBackward0";
  static constexpr uint32_t forms = form::hidden;
  static std::array<Tensor, 2> check(const Tensor& self, const Tensor& noise, double, double, bool training, Generator*) {
    if (!self.is_meta()) return {};
    if (!training) return {op<"leaky_relu">(op<"contiguous">(self), 1.0), noise};
    return {Tensor::empty(self.sizes(), self.options()), Tensor::empty(self.sizes(), self.options())};
  }
  static Tensor d_self(grad<0> g, in<0> x, result<1> noise, arg<2, double> lower, arg<3, double> upper, arg<4, bool> training) {
    if (training.v && upper.v - lower.v > 1e-6) return *g * *noise;
    return op<"leaky_relu_backward">(*g, *x, 0.5 * (lower.v + upper.v), false);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(RreluFunctional)

inline Tensor rrelu(const Tensor& self, const Tensor& noise, double lower, double upper, bool training, Generator* generator) {
  FB_CHECK(lower <= upper, "rrelu: lower is ", lower, ", above upper, ", upper);
  return ops<"rrelu_with_noise_functional", 2>(self, noise, lower, upper, training, generator)[0];
}

struct RreluWithNoise : composite<RreluWithNoise> {
  static constexpr auto schema =
      "rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
      "Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& self, const Tensor& noise, double lower, double upper, bool training, Generator* generator) {
    auto [out, slopes] = ops<"rrelu_with_noise_functional", 2>(self, noise, lower, upper, training, generator);
    GradMode no(false);
    if (training) op_list<"copy_">(noise, slopes);
    return out;
  }
};
FB_CARD(RreluWithNoise)

struct Rrelu : composite<Rrelu> {
  static constexpr auto schema =
      "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& self, double lower, double upper, bool training, Generator* generator) {
    return rrelu(self, op<"empty_like">(self), lower, upper, training, generator);
  }
  static constexpr auto doc = R"(rrelu(input, lower=1/8, upper=1/3, training=False) -> Tensor

input where positive, else input times a slope: drawn uniformly from [lower, upper) in training, else their mean.)";
};
FB_CARD(Rrelu)
struct RreluInPlace : composite<RreluInPlace> {
  static constexpr auto schema =
      "rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor(a!)";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& self, double lower, double upper, bool training, Generator* generator) {
    return op<"copy_">(self, rrelu(op<"clone">(self), op<"empty_like">(self), lower, upper, training, generator));
  }
};
FB_CARD(RreluInPlace)

}  // namespace fb::cards
