// All of scalar math: fb::math::f(v) for float, double, Vec<float>, Vec<double>; complex.h for Complex<T>.
#pragma once
#include "ops/math/activation.h"
#include "ops/math/bessel_i.h"
#include "ops/math/complex.h"
#include "ops/math/erf.h"
#include "ops/math/exp.h"
#include "ops/math/gamma.h"
#include "ops/math/hyperbolic.h"
#include "ops/math/log.h"
#include "ops/math/normal.h"
#include "ops/math/pow.h"
#include "ops/math/round.h"
#include "ops/math/trig.h"
