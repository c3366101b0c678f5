#include "ops/math/activation.h"
#include "ops/math/bessel_i.h"
#include "ops/math/gamma.h"
#include "ops/math/normal.h"
#include "tests/domains/sweep.h"

void fb::testing::append_special(std::vector<Function>& to) {
  constexpr bool iterates = false;
  FB_ACTIVATIONS(FB_MEASURE_F, FB_MEASURE_S)
  FB_GELUS(FB_MEASURE_F, FB_MEASURE_S)
  FB_SPECIALS(FB_MEASURE_F, FB_MEASURE_S)
}
