#include "ops/math/erf.h"
#include "ops/math/hyperbolic.h"
#include "tests/cpp/math/sweep.h"

FB_SWEEP(tanh, std::tanh(x), 0.95, 3.0, -2, 2)
FB_SWEEP(sinh, std::sinh(x), 1.6, 1.6, -712, 712)
FB_SWEEP(cosh, std::cosh(x), 1.4, 1.4, -712, 712)
FB_SWEEP(asinh, std::asinh(x), 0.6, 2.5, -10, 10)
FB_SWEEP(acosh, std::acosh(x), 0.6, 3.0, 1, 10)
FB_SWEEP(atanh, std::atanh(x), 0.6, 2.5, -1, 1)
FB_SWEEP(erf, std::erf(x), 0.97, 1.1, -4, 4)
FB_SWEEP(erfc, std::erfc(x), 0.6, 5.0, -6, 28)
