#include "ops/math/hyperbolic.h"
#include "ops/math/pow.h"
#include "ops/math/round.h"
#include "ops/math/trig.h"
#include "tests/domains/bits.h"

void fb::testing::append_elementary(std::vector<Row>& to) {
  FB_ROW1(exp) FB_ROW1(exp2) FB_ROW1(expm1) FB_ROW1(log) FB_ROW1(log2) FB_ROW1(log10) FB_ROW1(log1p) FB_ROW1(sigmoid)
  FB_ROW1(sin) FB_ROW1(cos) FB_ROW1(tan) FB_ROW1(asin) FB_ROW1(acos) FB_ROW1(atan)
  FB_ROW1(sinh) FB_ROW1(cosh) FB_ROW1(tanh) FB_ROW1(asinh) FB_ROW1(acosh) FB_ROW1(atanh)
  FB_ROW1(sqrt) FB_ROW1(rsqrt) FB_ROW1(abs) FB_ROW1(floor) FB_ROW1(ceil) FB_ROW1(trunc) FB_ROW1(round) FB_ROW1(frac) FB_ROW1(sign)
}
