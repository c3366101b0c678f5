#include "ops/math/activation.h"
#include "ops/math/pow.h"
#include "ops/math/round.h"
#include "ops/math/trig.h"
#include "tests/domains/bits.h"

void fb::testing::append_two(std::vector<Row>& to) {
  FB_ROW2(pow) FB_ROW2(hypot) FB_ROW2(atan2) FB_ROW2(fmod) FB_ROW2(remainder) FB_ROW2(floor_divide) FB_ROW2(logaddexp)
  FB_ROW2(logaddexp2) FB_ROW2(xlogy) FB_ROW2(xlog1py) FB_ROW2(minimum) FB_ROW2(maximum) FB_ROW2(fmin) FB_ROW2(fmax)
  FB_ROW2(copysign) FB_ROW2(heaviside)
  const auto softplus = [](auto x, auto beta) { return fb::math::softplus(x, beta, k<decltype(x)>(20)); };
  row<float>(to, "softplus", softplus);
  row<double>(to, "softplus", softplus);
}
