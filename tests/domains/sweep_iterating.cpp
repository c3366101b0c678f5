#include "ops/math/bessel.h"
#include "ops/math/special.h"
#include "tests/domains/sweep.h"

void fb::testing::append_iterating(std::vector<Function>& to) {
  constexpr bool iterates = true;
  FB_ITERATING(FB_MEASURE_F, FB_MEASURE_S)
}
