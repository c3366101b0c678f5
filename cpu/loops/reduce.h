// The driver of reductions: the tree of ops/reduce/tree.h over any strides and types. Bodies are made for the compute
// types alone (cpu/loops/reduce_body.h); other types and strides pass through a small buffer.
#pragma once
#include "core/tensor.h"

namespace fb {

struct ReduceBody {
  DType compute;                 // what lanes hold
  bool by_truth = false;         // elements count as 0 or 1
  bool as_bits = false;          // floating elements are taken as the bits of a double
  bool param = false;            // a number for each output, in the compute type
  // out[r] of `rows` rows of n <= 4096 contiguous elements, `stride` apart; param[r * param_step].
  void (*rows)(void* out, const void* p, int64_t stride, int64_t rows, int64_t n, const void* param, int64_t param_step);
  // Adds n contiguous elements, the first one at lane 0, to lanes[32].
  void (*run)(void* lanes, const void* p, int64_t n, const void* param);
  // Adds rows of m contiguous elements to acc[32][width]; the first row at lane `first`, row by row; param[m].
  void (*columns)(void* acc, int64_t width, int64_t m, const void* p, int64_t stride, int64_t rows, int64_t first, const void* param);
  void (*clear)(void* acc, int64_t n);
  void (*fold)(void* acc, int64_t width, int64_t m, int64_t lanes, void* out);  // acc[lanes][width] -> out[m]
  void (*tree)(void* partial, int64_t blocks, int64_t m);                       // partial[blocks][m] -> partial[0]
};

// Turns folded values into results: `count` elements were reduced to each of v[n].
using ReduceFinish = void (*)(void* v, int64_t n, int64_t count, double number);

// mask: bit d set where dimension d is reduced.
// out, row-major over the kept dimensions of x in their order, = finish(reduction of x). `params` is contiguous, in the
// compute type, one number for each output (or one for all).
void reduce_into(const Tensor& out, const Tensor& x, uint64_t mask, const ReduceBody& body, ReduceFinish finish = nullptr,
                 double number = 0, const void* params = nullptr, bool one_param = false);

}  // namespace fb
