// Running sums and products of float and double.
#pragma once
#include <cstdint>

namespace fb {

// out[o][k][i] = in[o][0][i] + ... + in[o][k][i] (or the product), added in this order as doubles and rounded once each;
// row-major, shape (outer, n, inner). in may be out.
void running_sums(float* out, const float* in, int64_t outer, int64_t n, int64_t inner, bool product);
void running_sums(double* out, const double* in, int64_t outer, int64_t n, int64_t inner, bool product);

}  // namespace fb
