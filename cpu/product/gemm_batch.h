// Products in batches, over the product of one pair: shared by the real and the complex ones.
#pragma once
#include <algorithm>

#include "core/threads.h"
#include "cpu/product/gemm.h"

namespace fb::product {

template <class T>
struct Item {
  const T *a, *b, *add;
  T* c;
};

template <class T>
Item<T> item(const Gemm<T>& g, int64_t i) {
  auto at = [i](auto* p, int64_t stride, const int64_t* table) {
    return p ? p + (table ? table[i] : i * stride) : nullptr;
  };
  return {at(g.a, g.a_batch, g.a_offsets), at(g.b, g.b_batch, g.b_offsets),
          at(g.add, g.add_batch, g.add_offsets), at(g.c, g.c_batch, g.c_offsets)};
}

template <class T>
void multiply_one(const Gemm<T>& g, const Item<T>& x);
template <class R>
void multiply_one(const Gemm<Complex<R>>& g, const Item<Complex<R>>& x);

template <class T>
void gemm(const Gemm<T>& given) {
  Gemm<T> g = given;
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return;
  if (g.k < 0) g.k = 0;
  const bool tables = g.a_offsets || g.b_offsets || g.c_offsets || g.add_offsets;
  // A batch of left operands against one right operand is one taller product where rows go on.
  if (g.batch > 1 && !tables && g.b_batch == 0 && g.a_batch == g.m * g.a_row &&
      g.c_batch == g.m * g.c_row && (!g.add || g.add_batch == g.m * g.add_row)) {
    g.m *= g.batch;
    g.batch = 1;
  }
  if (g.batch == 1) return multiply_one(g, item(g, 0));
  const int64_t work = std::max<int64_t>(1, g.m * g.n * g.k);
  const int threads = in_parallel_region() ? 1 : get_num_threads();
  if (g.batch < 2 * threads && work > 1 << 18) {
    for (int64_t i = 0; i < g.batch; ++i) multiply_one(g, item(g, i));
    return;
  }
  parallel_for(0, g.batch, std::max<int64_t>(1, (1 << 17) / work), [&](int64_t lo, int64_t hi) {
    for (int64_t i = lo; i < hi; ++i) multiply_one(g, item(g, i));
  });
}

}  // namespace fb::product
