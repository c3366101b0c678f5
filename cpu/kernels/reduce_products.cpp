#include "cpu/kernels/reduce_pick.h"

namespace fb {

const ReduceBody& prod_body(DType c) { return pick<folds::prod, float, double, int64_t, cfloat, cdouble>("prod", c); }

}  // namespace fb
