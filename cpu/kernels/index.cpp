// _unsafe_index and _index_put_impl_: reads and writes at the elements that index tensors select.
#include "ops/index/indices.h"

#include "cpu/kernels/index_walk.h"
#include "cpu/loops/copy.h"
#include "dispatch/box.h"

namespace fb {
namespace {

// The walk between self and a tensor shaped as the selection, with strides `other` (0 where it is broadcast).
IndexWalk walk_of(const char* name, const Tensor& self, const std::vector<Tensor>& indices, const IndexedShape& s, Ints other) {
  IndexWalk w;
  const int64_t item = self.item_bytes(), ni = s.index.size();
  const int64_t n = numel_of(s.index);
  w.at.assign(size_t(n), 0);
  if (n == 0) return w;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    const std::vector<int64_t> p = checked_positions(name, indices[d], self.sizes()[int64_t(d)], int64_t(d), true, true);
    const int64_t step = self.strides()[int64_t(d)] * item;
    if (int64_t(p.size()) == n) {
      for (int64_t j = 0; j < n; ++j) w.at[size_t(j)] += p[size_t(j)] * step;
      continue;
    }
    // Broadcast: strides of this index within the common shape.
    const Tensor& t = indices[d];
    const Dims own = contiguous_strides(t.sizes());
    Dims st(ni, 0), c(ni, 0);
    for (int64_t i = 0; i < t.ndim(); ++i)
      if (t.sizes()[i] != 1) st[ni - t.ndim() + i] = own[i];
    int64_t q = 0;
    for (int64_t j = 0; j < n; ++j) {
      w.at[size_t(j)] += p[size_t(q)] * step;
      for (int64_t i = ni - 1; i >= 0; --i) {
        q += st[i];
        if (++c[i] < s.index[i]) break;
        q -= st[i] * s.index[i];
        c[i] = 0;
      }
    }
  }
  w.sizes = s.index;
  for (int64_t i = 0; i < ni; ++i) w.other_strides.push_back(other[s.at + i] * item);
  for (int64_t i = 0; i < s.rest.size(); ++i) {
    w.rest.push_back(self.sizes()[s.rest[i]]);
    w.rest_indexed.push_back(self.strides()[s.rest[i]] * item);
    w.rest_other.push_back(other[i < s.at ? i : i + ni] * item);
  }
  return w;
}

void index_cpu(Tensor& out, const Tensor& self, TensorSpan indices) {
  if (out.numel() == 0 && self.numel() != 0) {  // indices are checked all the same
    const std::vector<Tensor> at = indices_of(self, indices);
    walk_of("index", self, at, indexed_shape(self, at), out.strides());
    return;
  }
  if (out.numel() == 0) return;
  const std::vector<Tensor> at = indices_of(self, indices);
  IndexWalk w = walk_of("index", self, at, indexed_shape(self, at), out.strides());
  run_index(w, self.ptr<char>(), out.ptr<char>(), index_read(self.item_bytes()), true);
}

void index_put_cpu(const Tensor& self, TensorSpan indices, const Tensor& values, bool accumulate, bool) {
  const std::vector<Tensor> at = indices_of(self, indices);
  const IndexedShape s = indexed_shape(self, at);
  // Values that share memory with self are read before it is written.
  Tensor v = values;
  if (may_overlap(self, values)) v = op<"clone">(values);
  Dims strides(s.sizes.size(), 0);
  const int64_t lead = s.sizes.size() - v.ndim();
  for (int64_t d = 0; d < s.sizes.size(); ++d)
    if (d - lead >= 0 && v.sizes()[d - lead] != 1) strides[d] = v.strides()[d - lead];
  IndexWalk w = walk_of("index_put_", self, at, s, strides);
  if (numel_of(s.sizes) == 0) return;
  IndexBody body = accumulate ? index_combine(IndexCombine::add, self.dtype()) : index_write(self.item_bytes());
  if (!body) raise_not_implemented("index_put_ with accumulate=True is not there for type ", self.dtype());
  run_index(w, self.ptr<char>(), v.ptr<char>(), body, false);
}

}  // namespace

FB_KERNEL("_unsafe_index.Tensor", index_cpu)
FB_KERNEL_DIRECT("_index_put_impl_", index_put_cpu)

}  // namespace fb
