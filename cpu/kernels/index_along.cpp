// index_select, index_add_, index_copy_, index_fill_ along one dimension; put_ on the flattened tensor.
#include <cstring>

#include "cpu/kernels/index_walk.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// index along dim of `indexed`; other has one entry for each index there.
IndexWalk along(const char* name, const Tensor& indexed, int64_t dim, const Tensor& index, Ints other_strides, bool index_error) {
  IndexWalk w;
  const int64_t item = indexed.item_bytes(), nd = indexed.ndim();
  const int64_t d = wrap_dim(dim, nd);
  w.at = checked_positions(name, index, nd ? indexed.sizes()[d] : 1, d, false, index_error);
  const int64_t step = nd ? indexed.strides()[d] * item : 0;
  for (int64_t& x : w.at) x *= step;
  w.sizes.push_back(int64_t(w.at.size()));
  w.other_strides.push_back(other_strides.n ? other_strides[d] * item : 0);
  for (int64_t i = 0; i < nd; ++i) {
    if (i == d) continue;
    w.rest.push_back(indexed.sizes()[i]);
    w.rest_indexed.push_back(indexed.strides()[i] * item);
    w.rest_other.push_back(other_strides.n ? other_strides[i] * item : 0);
  }
  return w;
}

void index_select_cpu(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index) {
  IndexWalk w = along("index_select", self, dim, index, out.strides(), true);
  if (out.numel()) run_index(w, self.ptr<char>(), out.ptr<char>(), index_read(self.item_bytes()), true);
}

Tensor apart(const Tensor& self, const Tensor& source) { return may_overlap(self, source) ? op<"clone">(source) : source; }

void index_add_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  Tensor s = apart(self, source);
  const bool one = !alpha.is_complex() && alpha.to_double() == 1;
  if (!one) s = op<"mul">(s, op<"scalar_tensor">(alpha, self.dtype()));  // alpha as self's type holds it
  IndexWalk w = along("index_add_", self, dim, index, s.strides(), self.ndim() <= 1);  // PyTorch's exceptions
  IndexBody body = index_combine(IndexCombine::add, self.dtype());
  if (!body) raise_not_implemented("index_add_ is not there for type ", self.dtype());
  if (self.numel() && s.numel()) run_index(w, self.ptr<char>(), s.ptr<char>(), body, false);
}

void index_copy_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor s = apart(self, source);
  IndexWalk w = along("index_copy_", self, dim, index, s.strides(), true);
  if (self.numel() && s.numel()) run_index(w, self.ptr<char>(), s.ptr<char>(), index_write(self.item_bytes()), false);
}

void index_fill_cpu(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  const Tensor v = op<"full">(Ints(), value, self.dtype());
  const Dims zero(self.ndim(), 0);
  // Entries may count from the end here.
  const int64_t d = wrap_dim(dim, self.ndim()), size = self.ndim() ? self.sizes()[d] : 1;
  const std::vector<int64_t> at = checked_positions("index_fill_", index, size, d, true, true);
  const Tensor plain = Tensor::empty(Ints{int64_t(at.size())}, {DType::i64, Device()});
  if (at.empty() || !self.numel()) return;
  std::memcpy(plain.data(), at.data(), at.size() * 8);
  IndexWalk w = along("index_fill_", self, dim, plain, zero, true);
  run_index(w, self.ptr<char>(), v.ptr<char>(), index_write(self.item_bytes()), false);
}

void put_cpu(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  IndexWalk w;
  const int64_t item = self.item_bytes();
  w.at = checked_positions("put_", index, self.numel(), 0, true, true);
  if (w.at.empty()) return;
  for (int64_t& x : w.at) {
    int64_t k = x, at = 0;
    for (int64_t d = self.ndim() - 1; d >= 0; --d) {
      at += k % self.sizes()[d] * self.strides()[d];
      k /= self.sizes()[d];
    }
    x = at * item;
  }
  const Tensor s = op<"clone">(source, MemoryFormat::contiguous);
  w.sizes.push_back(int64_t(w.at.size()));
  w.other_strides.push_back(item);
  IndexBody body = accumulate ? index_combine(IndexCombine::add, self.dtype()) : index_write(item);
  if (!body) raise_not_implemented("put_ with accumulate=True is not there for type ", self.dtype());
  run_index(w, self.ptr<char>(), s.ptr<char>(), body, false);
}

}  // namespace

FB_KERNEL("index_select", index_select_cpu)
FB_KERNEL_DIRECT("index_add_", index_add_cpu)
FB_KERNEL_DIRECT("index_copy_", index_copy_cpu)
FB_KERNEL_DIRECT("index_fill_.int_Scalar", index_fill_cpu)
FB_KERNEL_DIRECT("put_", put_cpu)

}  // namespace fb
