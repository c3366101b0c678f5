#include "cpu/kernels/reduce_pick.h"

namespace fb {
namespace {

template <class A> void divide_by_count(void* v, int64_t n, int64_t count, double) {
  A* a = static_cast<A*>(v);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (is_complex_v<A>) {
      using R = typename A::value_type;
      a[i] = A(a[i].re / R(count), a[i].im / R(count));
    } else a[i] = a[i] / A(count);
  }
}
template <class A> void drop_minus_zero(void* v, int64_t n, int64_t, double) {
  A* a = static_cast<A*>(v);
  for (int64_t i = 0; i < n; ++i) a[i] = a[i] + A(0);
}

}  // namespace

const ReduceBody& sum_body(DType c) { return pick<folds::sum, float, double, int64_t, cfloat, cdouble>("sum", c); }
const ReduceBody& nansum_body(DType c) { return pick<folds::nansum, float, double, int64_t>("nansum", c); }
const ReduceBody& truth_body() {
  static constexpr ReduceBody body = [] {
    ReduceBody b = reduce_body_of<folds::sum, int64_t>;
    b.by_truth = true;
    return b;
  }();
  return body;
}
const ReduceBody& bits_xor_body(bool floating) {
  static constexpr ReduceBody as_bits = [] {
    ReduceBody b = reduce_body_of<folds::bits_xor, int64_t>;
    b.as_bits = true;
    return b;
  }();
  return floating ? as_bits : reduce_body_of<folds::bits_xor, int64_t>;
}
ReduceFinish sum_finish(DType c) {
  return c == DType::f32 ? &drop_minus_zero<float> : c == DType::f64 ? &drop_minus_zero<double>
         : c == DType::c64 ? &drop_minus_zero<cfloat> : c == DType::c128 ? &drop_minus_zero<cdouble> : nullptr;
}
ReduceFinish mean_finish(DType c) {
  return c == DType::f32 ? &divide_by_count<float> : c == DType::f64 ? &divide_by_count<double>
         : c == DType::c64 ? &divide_by_count<cfloat> : &divide_by_count<cdouble>;
}

}  // namespace fb
