// Batched strided matrix products on raw memory.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace fb::product {

// The type that sums over T are computed in.
template <class T>
struct ChainType {
  using type = T;
};
template <>
struct ChainType<half> {
  using type = float;
};
template <>
struct ChainType<bfloat16> {
  using type = float;
};

// c[b, i, j] = beta * add[b, i, j] + alpha * sum over k of a[b, i, k] * b[b, k, j]
//
// All strides are in elements and may be zero or negative. `add` may be null (then beta is not
// used), may be c itself, and may broadcast (a bias row has add_row = 0). With beta 0 it is not
// read. c must not overlap a or b. Half types compute in float and round once.
//
// Each sum is chains of fused multiply-adds over block_length products, folded by a balanced tree;
// the bits depend on the values of row i and column j alone. With k = 0 the sum is zero.
template <class T>
struct Gemm {
  using Scale = typename ChainType<T>::type;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_row = 0, a_col = 0, a_batch = 0;
  const T* b = nullptr;
  int64_t b_row = 0, b_col = 0, b_batch = 0;
  T* c = nullptr;
  int64_t c_row = 0, c_col = 0, c_batch = 0;
  const T* add = nullptr;
  int64_t add_row = 0, add_col = 0, add_batch = 0;
  // In the type of the chain (float for half types).
  Scale alpha = Scale(1), beta = Scale(1);
  bool conj_a = false, conj_b = false;
  // Where not null, element offsets for each batch index, instead of the *_batch strides.
  const int64_t *a_offsets = nullptr, *b_offsets = nullptr, *c_offsets = nullptr,
                *add_offsets = nullptr;
};

// float, double, half, bfloat16, cfloat, cdouble and all integer types (which wrap around).
template <class T>
void gemm(const Gemm<T>& g);

}  // namespace fb::product
