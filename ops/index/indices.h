// Index tensors made ready: masks become positions, all broadcast, and the place of their dimensions in the result.
#pragma once
#include <vector>

#include "dispatch/call.h"

namespace fb {

// One index for each leading dimension of self (undefined where there is none), int64; masks are replaced by the
// positions where they hold. IndexError for wrong types, mask shapes, or too many indices.
std::vector<Tensor> indices_of(const Tensor& self, TensorSpan indices);

// Whether self[mask] is a plain walk over two row-major tensors of one shape.
inline bool takes_whole_mask(const Tensor& self, const Tensor& mask) {
  return mask.dtype() == DType::boolean && self.ndim() > 0 && mask.sizes() == self.sizes() && self.is_contiguous() && mask.is_contiguous() &&
         !self.is_meta() && !mask.is_meta();
}

struct IndexedShape {
  Dims index;          // what all indices broadcast to
  Dims sizes;          // of the result
  int64_t at = 0;      // where the index dimensions stand in the result
  Dims rest;           // dimensions of self that are not indexed, in order
};
IndexedShape indexed_shape(const Tensor& self, const std::vector<Tensor>& indices);

// Strides of self read by these indices: dimensions ordered as those of self and of the indices.
Dims indexed_strides(const Tensor& self, const std::vector<Tensor>& indices, const IndexedShape& s);

// RuntimeError unless values broadcast to what the indices select.
void check_index_values(const char* name, const Tensor& self, const IndexedShape& s, const Tensor& values);

}  // namespace fb
