#include "ops/math/erf.h"
#include "ops/math/hyperbolic.h"
#include "ops/math/round.h"
#include "ops/math/trig.h"
#include "tests/domains/sweep.h"

void fb::testing::append_elementary(std::vector<Function>& to) {
  constexpr bool iterates = false;
  FB_EXPONENTIALS(FB_MEASURE_F, FB_MEASURE_S)
  FB_TRIGONOMETRY(FB_MEASURE_F, FB_MEASURE_S)
  FB_HYPERBOLICS(FB_MEASURE_F, FB_MEASURE_S)
  FB_ROOTS(FB_MEASURE_F, FB_MEASURE_S)
  FB_ROUNDINGS(FB_MEASURE_F, FB_MEASURE_S)
}
