// embedding: rows of a table, and their gradients summed in the order of the indices.
#include <algorithm>
#include <cstring>

#include "cpu/kernels/index_walk.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

IndexWalk rows_of(std::vector<int64_t> at, const Tensor& table, const Tensor& rows) {
  const int64_t item = table.item_bytes(), width = table.sizes()[1];
  IndexWalk w;
  w.at = std::move(at);
  for (int64_t& x : w.at) x *= table.strides()[0] * item;
  w.sizes.push_back(int64_t(w.at.size()));
  w.other_strides.push_back(width * item);
  w.rest.push_back(width);
  w.rest_indexed.push_back(table.strides()[1] * item);
  w.rest_other.push_back(item);
  return w;
}

void embedding_cpu(Tensor& out, const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  IndexWalk w = rows_of(checked_positions("embedding", indices, weight.sizes()[0], 0, false, true), weight, out);
  if (out.numel()) run_index(w, weight.ptr<char>(), out.ptr<char>(), index_read(weight.item_bytes()), true);
}

void embedding_backward_cpu(Tensor& out, const Tensor& grad, const Tensor& indices, int64_t num_weights, int64_t padding, bool scale) {
  op_list<"zero_">(out);
  std::vector<int64_t> at = checked_positions("embedding_dense_backward", indices, num_weights, 0, false, true);
  if (at.empty() || out.numel() == 0) return;
  const int64_t n = int64_t(at.size()), width = out.sizes()[1];
  Tensor g = op<"reshape">(grad, Ints{n, width});
  if (scale) {
    std::vector<int64_t> count(size_t(num_weights), 0);
    for (int64_t x : at) ++count[size_t(x)];
    const Tensor f = Tensor::empty(Ints{n, 1}, {DType::f64, grad.device()});
    for (int64_t j = 0; j < n; ++j) f.ptr<double>()[j] = 1.0 / double(count[size_t(at[size_t(j)])]);
    g = op<"mul">(g, op<"to.dtype">(f, g.dtype()));
  }
  if (!g.is_contiguous()) g = op<"clone">(g, MemoryFormat::contiguous);
  IndexWalk w = rows_of(at, out, g);
  if (padding >= 0) {  // padding rows are left out of the walk
    std::vector<int64_t> kept;
    std::vector<char> keep(at.size());
    for (size_t j = 0; j < at.size(); ++j) keep[j] = at[j] != padding;
    if (std::find(keep.begin(), keep.end(), 0) != keep.end()) {
      const Tensor packed = Tensor::empty(Ints{n, width}, g.options());
      const size_t row = size_t(width * g.item_bytes());
      for (size_t j = 0; j < at.size(); ++j)
        if (keep[j]) {
          std::memcpy(packed.ptr<char>() + kept.size() * row, g.ptr<char>() + j * row, row);
          kept.push_back(at[j]);
        }
      g = packed;
      w = rows_of(kept, out, g);
    }
  }
  IndexBody body = index_combine(IndexCombine::add, out.dtype());
  if (!body) raise_not_implemented("embedding_dense_backward is not there for type ", out.dtype());
  run_index(w, out.ptr<char>(), g.ptr<char>(), body, false);
}

}  // namespace

FB_KERNEL("embedding", embedding_cpu)
FB_KERNEL("embedding_dense_backward", embedding_backward_cpu)

}  // namespace fb
