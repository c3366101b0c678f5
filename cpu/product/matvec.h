// Matrix-vector products: y[j] = sum over k of M[j, k] x[k], read once at the speed of memory.
#pragma once
#include "cpu/product/engine.h"

namespace fb::product {

// Element (j, k) of M at m[j * j_stride + k * k_stride]. Results go to out.store as row 0, columns
// j. Returns false where another way is better (small, or neither index contiguous).
template <class S, class Real>
bool matvec(const S* m, int64_t j_stride, int64_t k_stride, int64_t n, int64_t k, const S* x,
            int64_t x_stride, const Output<Real>& out);

}  // namespace fb::product
