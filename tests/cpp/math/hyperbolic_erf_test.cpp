#include "ops/math/erf.h"
#include "ops/math/hyperbolic.h"
#include "tests/cpp/math/sweep.h"

FB_HYPERBOLICS(FB_SWEEP, FB_SWEEP_SLACK)
