// Which loops a reduction takes for a type, and what it does with the folded values.
#pragma once
#include "core/tensor.h"
#include "cpu/loops/reduce.h"

namespace fb {

// The type that values of d are added up in: float for the half formats, int64 for integers and bool.
constexpr DType sum_compute_type(DType d) { return is_integral(d, true) ? DType::i64 : d == DType::c32 ? DType::c64 : compute_type(d); }

// All raise NotImplementedError for a compute type they have no loops for.
const ReduceBody& sum_body(DType compute);
const ReduceBody& nansum_body(DType compute);
const ReduceBody& prod_body(DType compute);
const ReduceBody& max_body(DType compute);
const ReduceBody& min_body(DType compute);
const ReduceBody& truth_body();                      // counts what is not zero, in int64
const ReduceBody& bits_xor_body(bool floating);      // int64
const ReduceBody& squared_deviation_body(DType compute);
const ReduceBody& exp_sum_body(DType compute);
const ReduceBody& norm_body(DType compute, double p);

// Sums: -0, the sum of nothing, becomes 0. Means: divided by the count.
ReduceFinish sum_finish(DType compute);
ReduceFinish mean_finish(DType compute);

// Calls f.template operator()<A>() with the compute type.
template <class F> void visit_real_compute(DType compute, F&& f) {
  if (compute == DType::f32) f.template operator()<float>();
  else f.template operator()<double>();
}

}  // namespace fb
