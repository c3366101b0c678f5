#include "ops/math/activation.h"
#include "ops/math/bessel_i.h"
#include "ops/math/gamma.h"
#include "ops/math/normal.h"
#include "tests/domains/bits.h"

void fb::testing::append_special(std::vector<Row>& to) {
  FB_ROW1(log_sigmoid) FB_ROW1(silu) FB_ROW1(gelu) FB_ROW1(gelu_tanh) FB_ROW1(mish) FB_ROW1(entr)
  FB_ROW1(erf) FB_ROW1(erfc) FB_ROW1(erfcx) FB_ROW1(erfinv) FB_ROW1(ndtr) FB_ROW1(log_ndtr) FB_ROW1(ndtri)
  FB_ROW1(lgamma) FB_ROW1(digamma) FB_ROW1(i0) FB_ROW1(i0e) FB_ROW1(i1) FB_ROW1(i1e)
}
