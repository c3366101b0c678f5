// A loop over broadcast operands, any number of them: dimensions fastest first, neighbours joined; strides in bytes.
#pragma once
#include <vector>

#include "core/tensor.h"

namespace fb::compile {

struct Walk {
  Dims shape;                    // fastest first; at least one dimension
  int64_t numel = 0;
  struct Operand {
    char* data;
    Dims strides;
  };
  std::vector<Operand> operands;

  // `sizes` is the shape all operands are broadcast to; operand 0, the first result, says which dimension is fastest.
  Walk(Ints sizes, const std::vector<Tensor>& tensors);
  // Calls f(pointers, n) for each run along dimension 0 that elements [lo, hi) have.
  template <class F> void rows(int64_t lo, int64_t hi, F&& f) const {
    SmallVec<int64_t, 8> at(shape.size());
    int64_t rest = lo;
    for (int64_t d = 0; d < shape.size(); ++d) {
      at[d] = rest % shape[d];
      rest /= shape[d];
    }
    std::vector<char*> p(operands.size());
    while (lo < hi) {
      for (size_t i = 0; i < operands.size(); ++i) {
        p[i] = operands[i].data;
        for (int64_t d = 0; d < shape.size(); ++d) p[i] += at[d] * operands[i].strides[d];
      }
      const int64_t n = shape[0] - at[0] < hi - lo ? shape[0] - at[0] : hi - lo;
      f(p.data(), n);
      lo += n;
      at[0] = 0;
      for (int64_t d = 1; d < shape.size(); ++d) {
        if (++at[d] < shape[d]) break;
        at[d] = 0;
      }
    }
  }
};

}  // namespace fb::compile
