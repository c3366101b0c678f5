#include "ops/math/exp.h"
#include "ops/math/log.h"
#include "tests/cpp/math/sweep.h"

FB_SWEEP(exp, std::exp(x), 1.0, 1.1, -750, 720)
FB_SWEEP(exp2, std::exp2(x), 0.9, 0.95, -1080, 1030)
FB_SWEEP(expm1, std::expm1(x), 1.51, 1.7, -50, 710)
FB_SWEEP(log, std::log(x), 0.94, 0.95, 0, 3)
FB_SWEEP(log2, std::log2(x), 1.3, 1.3, 0, 3)
FB_SWEEP(log10, std::log10(x), 1.0, 1.1, 0, 3)
FB_SWEEP(log1p, std::log1p(x), 1.0, 1.0, -1, 3)
FB_SWEEP(sigmoid, (x < -40 ? std::exp(x) : 1 / (1 + std::exp(-x))), 0.51, 0.95, -750, 40)
