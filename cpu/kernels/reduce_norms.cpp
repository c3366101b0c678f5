// The loops of variances, norms and sums of exponentials.
#include <cmath>

#include "cpu/kernels/reduce_pick.h"

namespace fb {

const ReduceBody& squared_deviation_body(DType c) { return pick<folds::squared_deviation, float, double>("var", c); }
const ReduceBody& exp_sum_body(DType c) { return pick<folds::exp_sum, float, double>("logsumexp", c); }
const ReduceBody& norm_body(DType c, double p) {
  if (p == 0) return pick<folds::norm0, float, double>("vector_norm", c);
  if (p == 1) return pick<folds::norm1, float, double>("vector_norm", c);
  if (p == 2) return pick<folds::norm2, float, double>("vector_norm", c);
  if (std::isinf(p)) return p > 0 ? pick<folds::norm_max, float, double>("vector_norm", c) : pick<folds::norm_min, float, double>("vector_norm", c);
  return pick<folds::norm_p, float, double>("vector_norm", c);
}

}  // namespace fb
