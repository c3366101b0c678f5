// Pointwise operators that the loops of cards do not cover: two results, or random slopes.
#include <cstring>

#include "core/drawing.h"
#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

constexpr int64_t kGrain = 1 << 14;

// |m| in [0.5, 1) and e with x = m 2^e; zeros, infinities and NaN stay, with e = 0.
template <class T> void split(T x, T& m, int32_t& e) {
  using I = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  constexpr int mantissa = sizeof(T) == 4 ? 23 : 52, bias = sizeof(T) == 4 ? 126 : 1022, top = 2 * bias + 3;
  constexpr I exponent_bits = I(top) << mantissa;
  I b = std::bit_cast<I>(x);
  int at = int((b & exponent_bits) >> mantissa);
  m = x;
  e = 0;
  if (at == top || x == 0) return;
  int shift = 0;
  if (at == 0) {  // denormal: scaled up by 2^64
    b = std::bit_cast<I>(T(x * T(18446744073709551616.0)));
    at = int((b & exponent_bits) >> mantissa);
    shift = 64;
  }
  e = at - bias - shift;
  m = std::bit_cast<T>(I((b & ~exponent_bits) | I(bias) << mantissa));
}

void frexp_cpu(Tensor& mantissa, Tensor& exponent, const Tensor& self) {
  const int64_t n = self.numel();
  if (n == 0) return;
  const bool plain = self.is_contiguous() && mantissa.is_contiguous() && exponent.is_contiguous();
  const Tensor x = plain ? self : op<"clone">(self, MemoryFormat::contiguous);
  const Tensor m = plain ? mantissa : Tensor::empty(self.sizes(), mantissa.options());
  const Tensor e = plain ? exponent : Tensor::empty(self.sizes(), exponent.options());
  visit_types<half, bfloat16, float, double>(self.dtype(), [&]<class T>() {
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* in = x.ptr<T>();
    T* out = m.ptr<T>();
    int32_t* exps = e.ptr<int32_t>();
    parallel_for(0, n, kGrain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        F r;
        split<F>(F(in[i]), r, exps[i]);
        out[i] = T(r);
      }
    });
  });
  if (!plain) {
    op_list<"copy_">(mantissa, m);
    op_list<"copy_">(exponent, e);
  }
}
FB_KERNEL("frexp.Tensor", frexp_cpu)

// Draws one slope for each element that is not positive, in the order of the elements.
std::array<Tensor, 2> rrelu_cpu(const Tensor& self, const Tensor& noise, double lower, double upper, bool training, Generator* generator) {
  if (!self.is_floating()) raise_not_implemented("rrelu is not implemented for type ", self.dtype());
  if (!training) return {op<"leaky_relu">(op<"contiguous">(self), 0.5 * (lower + upper)), noise};
  if (self.dtype() == DType::f16) raise_not_implemented("rrelu in training is not implemented for float16");
  FB_CHECK(noise.sizes() == self.sizes() && noise.dtype() == self.dtype(), "rrelu: noise must be like input, of shape ", self.sizes(),
           " and type ", self.dtype(), ", but has shape ", noise.sizes(), " and type ", noise.dtype());
  const Tensor x = op<"clone">(self, MemoryFormat::contiguous);
  const Tensor slopes = Tensor::empty(self.sizes(), self.options());
  Generator& g = generator ? *generator : default_cpu_generator();
  const Drawing lock(g);
  visit_types<bfloat16, float, double>(self.dtype(), [&]<class T>() {
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    T* p = x.ptr<T>();
    T* s = slopes.ptr<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (F(p[i]) <= 0) {
        s[i] = T(F(lower + (upper - lower) * g.uniform_double()));
        p[i] = T(F(p[i]) * F(s[i]));
      } else s[i] = T(F(1));
    }
  });
  return {x, slopes};
}
FB_KERNEL_DIRECT("rrelu_with_noise_functional", rrelu_cpu)

}  // namespace
}  // namespace fb
