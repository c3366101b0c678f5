#include "cpu/kernels/reduce_pick.h"

namespace fb {

const ReduceBody& max_body(DType c) { return pick<folds::max, float, double, int64_t>("max", c); }
const ReduceBody& min_body(DType c) { return pick<folds::min, float, double, int64_t>("min", c); }

}  // namespace fb
