// One loop for every operator that reads or writes through positions: `indexed` (addressed by positions) and `other`.
#pragma once
#include <vector>

#include "core/tensor.h"

namespace fb {

// Elements k = 0..n-1 at each of m positions: indexed + at[j] + k * step  <->  other + other_at[j] + k * other_step. Bytes.
struct IndexRun {
  char* indexed;
  const int64_t* at;
  char* other;
  const int64_t* other_at;
  int64_t m, n, step, other_step;
};
using IndexBody = void (*)(const IndexRun&);

enum class IndexCombine { add, multiply, greatest, least };  // NaN wins in greatest and least
IndexBody index_read(int64_t item);                          // other = indexed
IndexBody index_write(int64_t item);                         // indexed = other
// indexed = combine(indexed, other), one position after another; null where the type has no such operation.
IndexBody index_combine(IndexCombine c, DType d);

// One position for each element of a line: self + k * step + at[k] * jump  <->  other + k * other_step. Bytes.
struct LineRun {
  char* self;
  const int64_t* at;
  char* other;
  int64_t n, step, jump, other_step;
};
using LineBody = void (*)(const LineRun&);
LineBody line_read(int64_t item);   // other = self
LineBody line_write(int64_t item);  // self = other
LineBody line_combine(IndexCombine c, DType d);

struct IndexWalk {
  std::vector<int64_t> at;            // byte offset into `indexed` for each position
  Dims sizes, other_strides;          // of the positions within `other`, in bytes; row-major over at
  Dims rest, rest_indexed, rest_other;  // the other dimensions: sizes and strides in bytes
};
// Runs over all positions and the rest. Each element of `indexed` meets its positions in order; `reading` may share the
// positions among threads, writing shares the rest only.
void run_index(IndexWalk& w, char* indexed, char* other, IndexBody body, bool reading);

// Whether all of n positions are in [least, size).
bool all_within(const int64_t* p, int64_t n, int64_t least, int64_t size);
[[noreturn]] void raise_position(const char* name, const int64_t* p, int64_t n, int64_t least, int64_t size, int64_t dim, bool index_error);

// index as row-major int64, in place where it is so already; not checked.
struct Positions {
  std::vector<int64_t> own;
  const int64_t* p = nullptr;
  explicit Positions(const Tensor& index);
};

// index (any shape, int32 or int64) as row-major int64, each in [-low, size): raises `kind` naming the value otherwise.
// Negative entries count from the end where `wrap` holds.
std::vector<int64_t> checked_positions(const char* name, const Tensor& index, int64_t size, int64_t dim, bool wrap, bool index_error);

}  // namespace fb
