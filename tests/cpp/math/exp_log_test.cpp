#include "ops/math/exp.h"
#include "ops/math/log.h"
#include "tests/cpp/math/sweep.h"

FB_EXPONENTIALS(FB_SWEEP, FB_SWEEP_SLACK)
