#include "ops/math/math.h"
#include "tests/cpp/math/foreign_domain.h"

namespace {

TEST(MathDomain, SpecialFunctionsGiveForeignValuesTheSameBits) {
  FB_SAME(erf) FB_SAME(erfc) FB_SAME(erfcx) FB_SAME(erfinv) FB_SAME(lgamma) FB_SAME(digamma) FB_SAME(i0) FB_SAME(i1e)
  FB_SAME(ndtri) FB_SAME(log_ndtr) FB_SAME(log_sigmoid) FB_SAME(silu) FB_SAME(gelu) FB_SAME(gelu_tanh) FB_SAME(mish)
  FB_SAME(entr) FB_SAME(trigamma) FB_SAME(bessel_j0)
  foreign::same_bits("two operands", [](auto x) {
    using V = decltype(x);
    using fb::k;
    const V y = k<V>(1.75);
    return fb::math::pow(x, y) + fb::math::atan2(x, y) * fb::math::hypot(x, y) + fb::math::fmod(x, y) + fb::math::remainder(x, y) +
           fb::math::floor_divide(x, y) + fb::math::logaddexp(x, y) + fb::math::xlogy(x, y) + fb::math::xlog1py(x, y) +
           fb::math::softplus(x, y, k<V>(20)) + fb::math::maximum(x, y) + fb::math::fmin(x, y) + fb::math::igamma(y, x);
  });
}


}  // namespace
