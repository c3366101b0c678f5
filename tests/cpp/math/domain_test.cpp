#include "ops/math/hyperbolic.h"
#include "ops/math/round.h"
#include "ops/math/trig.h"
#include "ops/math/erf.h"
#include "tests/cpp/math/foreign_domain.h"

namespace {

TEST(MathDomain, ElementaryFunctionsGiveForeignValuesTheSameBits) {
  FB_SAME(exp) FB_SAME(exp2) FB_SAME(expm1) FB_SAME(log) FB_SAME(log2) FB_SAME(log10) FB_SAME(log1p) FB_SAME(sin)
  FB_SAME(cos) FB_SAME(tan) FB_SAME(asin) FB_SAME(acos) FB_SAME(atan) FB_SAME(sinh) FB_SAME(cosh) FB_SAME(tanh)
  FB_SAME(asinh) FB_SAME(acosh) FB_SAME(atanh) FB_SAME(sigmoid) FB_SAME(sqrt) FB_SAME(rsqrt) FB_SAME(abs) FB_SAME(floor)
  FB_SAME(round) FB_SAME(sign) FB_SAME(frac)
}

// Scalar math is usable in constant expressions, where nothing overflows on the way.
static_assert(fb::math::exp(0.0) == 1 && fb::math::log(1.f) == 0 && fb::math::sin(0.f) == 0 && fb::math::pow(2.0, 10.0) == 1024);
static_assert(fb::math::tanh(0.5) > 0.46 && fb::math::erf(3.f) < 1 && fb::math::cos(1e7) < 1);

}  // namespace
