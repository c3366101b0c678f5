// Indexing at a level of vmap. An index tensor that differs between examples takes another one beside it that counts them.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// [0, 1, .., n), shaped to broadcast with index tensors of `rank` dimensions after the batch.
Tensor counted(BatchCall& c, int64_t rank, Device device) {
  const Tensor i = op<"arange">(Scalar(c.n), DType::i64, std::nullopt, device);
  Dims sizes{c.n};
  for (int64_t k = 0; k < rank; ++k) sizes.push_back(1);
  return op<"view">(i, sizes.span());
}

// What indices do to the logical tensor: `at` the first indexed dimension, `rank` the dimensions they broadcast to,
// `together` whether indexed dimensions are neighbours, so that those of the indices stand in their place.
struct Indexed {
  int64_t at = 0, rank = 0;
  bool together = true, batched = false;
};
Indexed look(BatchCall& c, int arg) {
  Indexed x;
  const TensorSpan given = c.args[arg].tensor_list();
  int64_t last = -1;
  bool first = true;
  for (int64_t k = 0; k < given.n; ++k) {
    if (!given[k].defined()) continue;
    if (first) x.at = k;
    else if (last != k - 1) x.together = false;
    first = false;
    last = k;
    x.rank = std::max(x.rank, given[k].ndim());
    x.batched |= c.list_batched(arg, k);
  }
  return x;
}
// The index list for [n, ...]: the count of examples, then each index with the batch in front; or, where no index has a
// batch, all of the first dimension.
std::vector<Tensor> physical(BatchCall& c, int arg, const Indexed& x, bool count) {
  std::vector<Tensor> l;
  const TensorSpan given = c.args[arg].tensor_list();
  Device device;
  for (const Tensor& t : given)
    if (t.defined()) device = t.device();
  l.push_back(count ? counted(c, x.rank, device) : Tensor());
  for (int64_t k = 0; k < given.n; ++k) {
    Tensor t = given[k].defined() ? c.list_front(arg, k) : Tensor();
    if (t.defined() && c.list_batched(arg, k)) t = padded(t, x.rank + 1);
    l.push_back(t);
  }
  return l;
}
// Moves `count` dimensions that stand after the first one to stand after `to` more of them.
Tensor moved(const Tensor& t, int64_t count, int64_t to) {
  Dims order{0};
  for (int64_t d = 0; d < to; ++d) order.push_back(1 + count + d);
  for (int64_t d = 0; d < count; ++d) order.push_back(1 + d);
  for (int64_t d = 1 + count + to; d < t.ndim(); ++d) order.push_back(d);
  return op<"permute">(t, order.span());
}

bool unsafe_index(BatchCall& c) {
  const Indexed x = look(c, 1);
  if (!x.batched) {  // only self differs: all of the batch
    const Tensor r = op<"_unsafe_index">(c.front(0), physical(c, 1, x, false));
    c.give(r, x.together ? 0 : x.rank);
    return true;
  }
  if (!c.batched(0)) {
    std::vector<Tensor> l = physical(c, 1, x, false);
    l.erase(l.begin());
    c.give(op<"_unsafe_index">(c.front(0), l), x.together ? x.at : 0);
    return true;
  }
  // Index dimensions come first where the count of examples and the indices are no neighbours.
  const Tensor r = op<"_unsafe_index">(c.front(0), physical(c, 1, x, true));
  c.give(x.together && x.at > 0 ? moved(r, x.rank, x.at) : r);
  return true;
}
FB_BATCH("_unsafe_index", unsafe_index)

bool index_put_impl(BatchCall& c) {
  const Indexed x = look(c, 1);
  const Tensor self = c.front(0);
  const int64_t left = c.rank(0);
  int64_t indexed = 0;
  for (const Tensor& t : c.args[1].tensor_list()) indexed += t.defined();
  const int64_t rank = x.rank + left - indexed;  // of self[indices]
  Tensor values = c.front(2);
  if (!x.batched && x.together) {
    op_list<"_index_put_impl_">(self, physical(c, 1, x, false), c.batched(2) ? padded(values, rank + 1) : values, c.arg<bool>(3), c.arg<bool>(4));
  } else {
    const int64_t own = c.rank(2);
    if (c.batched(2)) values = padded(values, rank + 1);
    else {
      Dims sizes(values.sizes());
      for (int64_t k = own; k < rank; ++k) sizes.insert(0, 1);
      sizes.insert(0, 1);
      values = op<"view">(values, sizes.span());
    }
    if (x.together && x.at > 0) {  // from [n, before.., index.., after..] to [n, index.., before.., after..]
      Dims order{0};
      for (int64_t d = 0; d < x.rank; ++d) order.push_back(1 + x.at + d);
      for (int64_t d = 0; d < x.at; ++d) order.push_back(1 + d);
      for (int64_t d = 1 + x.at + x.rank; d < values.ndim(); ++d) order.push_back(d);
      values = op<"permute">(values, order.span());
    }
    op_list<"_index_put_impl_">(self, physical(c, 1, x, true), values, c.arg<bool>(3), c.arg<bool>(4));
  }
  c.give_self();
  return true;
}
FB_BATCH("_index_put_impl_", index_put_impl)

bool index_select(BatchCall& c) {
  const int64_t rank = c.rank(0), dim = wrap_dim(c.arg<int64_t>(1), rank);
  if (rank == 0) return false;
  if (!c.batched(2)) {
    c.give(op<"index_select">(c.front(0), 1 + dim, c.front(2)));
    return true;
  }
  const Tensor index = c.rank(2) == 0 ? op<"unsqueeze">(c.front(2), int64_t(1)) : c.front(2);  // [n, k]
  if (!c.batched(0)) {
    const Tensor r = op<"index_select">(c.front(0), dim, op<"reshape">(index, Ints{-1}));
    Dims sizes(r.sizes());
    sizes[dim] = index.sizes()[1];
    sizes.insert(dim, c.n);
    c.give(op<"view">(r, sizes.span()), dim);
    return true;
  }
  Dims shape{c.n}, whole{c.n};
  for (int64_t d = 0; d < rank; ++d) {
    shape.push_back(d == dim ? index.sizes()[1] : 1);
    whole.push_back(d == dim ? index.sizes()[1] : c.shape(0)[d]);
  }
  c.give(op<"gather">(c.front(0), 1 + dim, op<"expand">(op<"reshape">(index, shape.span()), whole.span())));
  return true;
}
FB_BATCH("index_select", index_select)

// An index for each element of a tensor of `sizes` (the batch in front), from one for each entry along `dim`: [n, k].
Tensor index_of_each(const Tensor& index, Ints sizes, int64_t dim) {
  Dims shape(sizes.n, 1);
  shape[0] = sizes[0];
  shape[dim] = index.sizes()[1];
  return op<"expand">(op<"reshape">(op<"to.dtype">(index, DType::i64), shape.span()), sizes);
}

// index_add_, index_copy_. An index of each example's own takes every element to its place.
bool index_write(BatchCall& c) {
  const bool no_dims = c.rank(0) == 0;
  if (c.rank(3) != c.rank(0)) return false;
  Tensor self = c.front(0), source = c.expanded(3);
  if (!c.batched(2)) {
    if (no_dims) return false;
    BatchCall::Args v = c.copy();
    v[0] = Value(self);
    v[1] = Value(1 + wrap_dim(c.arg<int64_t>(1), c.rank(0)));
    v[3] = Value(source);
    Results r;
    c.op.invoke(c.op, v.data(), r);
    c.give_self();
    return true;
  }
  const int64_t dim = 1 + wrap_dim(c.arg<int64_t>(1), c.rank(0));
  const Tensor index = c.rank(2) == 0 ? op<"unsqueeze">(c.front(2), int64_t(1)) : c.front(2);  // [n, k]
  if (no_dims) self = op<"unsqueeze">(self, int64_t(1)), source = op<"unsqueeze">(source, int64_t(1));
  if (index.ndim() != 2 || !is_integral(index.dtype()) || source.dtype() != self.dtype() || source.ndim() != self.ndim()) return false;
  for (int64_t d = 0; d < self.ndim(); ++d)
    if (source.sizes()[d] != (d == dim ? index.sizes()[1] : self.sizes()[d])) return false;
  const Tensor to = index_of_each(index, source.sizes(), dim);
  if (c.schema().name == "index_copy_") op_list<"scatter_.src">(self, dim, to, source);
  else {
    const Scalar alpha = c.arg<Scalar>(4);
    const bool one = !alpha.is_complex() && alpha.to_double() == 1;
    op_list<"scatter_add_">(self, dim, to, one ? source : op<"mul">(source, op<"scalar_tensor">(alpha, self.dtype())));
  }
  c.give_self();
  return true;
}
FB_BATCH("index_add_", index_write)
FB_BATCH("index_copy_", index_write)

// Where indices point along a dimension of self: [1.., size, 1..], or [n, 1.., size, 1..] where each example has its own.
Tensor pointed_at(BatchCall& c, int64_t dim) {
  const Ints sizes = c.shape(0);
  const bool own = c.batched(2);
  Dims shape(sizes.n, 1);
  shape[dim] = sizes[dim];
  if (!own) {
    const Tensor none = op<"zeros">(Ints{sizes[dim]}, DType::boolean, std::nullopt, c.front(0).device());
    op_list<"index_fill_">(none, int64_t(0), c.front(2), Scalar(true));
    return op<"view">(none, shape.span());
  }
  Tensor index = c.rank(2) == 0 ? op<"unsqueeze">(c.front(2), int64_t(1)) : c.front(2);
  index = op<"where">(op<"lt">(index, Scalar(0)), op<"add">(index, Scalar(sizes[dim])), index);  // they may count from the end
  const Tensor none = op<"zeros">(Ints{c.n, sizes[dim]}, DType::boolean, std::nullopt, c.front(0).device());
  shape.insert(0, c.n);
  return op<"view">(op<"scatter.value">(none, int64_t(1), op<"to.dtype">(index, DType::i64), Scalar(true)), shape.span());
}
bool index_fill(BatchCall& c) {
  if (c.rank(0) == 0) return false;
  const int64_t dim = wrap_dim(c.arg<int64_t>(1), c.rank(0));
  if (c.batched(2)) op_list<"masked_fill_">(c.front(0), pointed_at(c, dim), c.arg<Scalar>(3));
  else op_list<"index_fill_">(c.front(0), 1 + dim, c.front(2), c.arg<Scalar>(3));
  c.give_self();
  return true;
}
FB_BATCH("index_fill_.int_Scalar", index_fill)

// A mask that is the same for all examples takes as many elements of each.
bool masked_take(BatchCall& c) {
  if (c.batched(1)) return false;
  const Tensor at = op<"nonzero">(op<"reshape">(c.front(1), Ints{-1}));
  const Tensor rows = op<"reshape">(c.front(0), Ints{c.n, numel_of(c.shape(0))});
  c.give(op<"index_select">(rows, int64_t(1), op<"reshape">(at, Ints{-1})));
  return true;
}
FB_BATCH("_masked_take", masked_take)

bool index_fill_tensor(BatchCall& c) {
  FB_CHECK(c.rank(3) == 0, "index_fill: value must be a number or a tensor without dimensions, its shape is ", c.shape(3));
  if (c.rank(0) == 0) return false;
  const int64_t dim = wrap_dim(c.arg<int64_t>(1), c.rank(0));
  const Tensor self = c.front(0);
  if (!c.batched(3) && !c.batched(2)) {
    BatchCall::Args v = c.copy();
    v[0] = Value(self);
    v[1] = Value(1 + dim);
    Results r;
    c.op.invoke(c.op, v.data(), r);
    if (c.schema().writes) c.give_self();
    else c.give(r[0]);
    return true;
  }
  const Tensor filled = op<"where">(pointed_at(c, dim), op<"to.dtype">(c.aligned(3, c.rank(0)), self.dtype()), self);
  if (!c.schema().writes) {
    c.give(filled);
    return true;
  }
  op_list<"copy_">(self, filled);
  c.give_self();
  return true;
}
FB_BATCH("index_fill.int_Tensor", index_fill_tensor)
FB_BATCH("index_fill_.int_Tensor", index_fill_tensor)

FB_BATCH("gather", batch_dims_all)
FB_BATCH("scatter_.src", batch_dims_all)
FB_BATCH("scatter_.reduce", batch_dims_all)
FB_BATCH("scatter_.value", batch_dims_all)
FB_BATCH("scatter_.value_reduce", batch_dims_all)
FB_BATCH("scatter_add_", batch_dims_all)
FB_BATCH("scatter_reduce_.two", batch_dims_all)
FB_BATCH("_softmax_backward_data", batch_dims_all)
FB_BATCH("_log_softmax_backward_data", batch_dims_all)

bool masked_fill_(BatchCall& c) {
  op_list<"masked_fill_">(c.front(0), c.aligned(1, c.rank(0)), c.arg<Scalar>(2));
  c.give_self();
  return true;
}
FB_BATCH("masked_fill_.Scalar", masked_fill_)
bool masked_fill_tensor(BatchCall& c) {
  FB_CHECK(c.rank(2) == 0, "masked_fill: value must be a number or a tensor without dimensions, its shape is ", c.shape(2));
  if (!c.batched(2)) {
    const int64_t rank = std::max(c.rank(0), c.rank(1));
    c.give(op<"masked_fill">(c.aligned(0, rank), c.aligned(1, rank), c.front(2)));
    return true;
  }
  const int64_t rank = std::max(c.rank(0), c.rank(1));
  const Tensor value = op<"to.dtype">(c.aligned(2, rank), c.args[0].tensor().dtype());
  c.give(op<"where">(c.aligned(1, rank), value, c.aligned(0, rank)));
  return true;
}
FB_BATCH("masked_fill.Tensor", masked_fill_tensor)
bool masked_fill_tensor_(BatchCall& c) {
  FB_CHECK(c.rank(2) == 0, "masked_fill_: value must be a number or a tensor without dimensions, its shape is ", c.shape(2));
  const int64_t rank = c.rank(0);
  const Tensor self = c.front(0);
  if (c.batched(2)) op_list<"copy_">(self, op<"where">(c.aligned(1, rank), op<"to.dtype">(c.aligned(2, rank), self.dtype()), self));
  else op_list<"masked_fill_">(self, c.aligned(1, rank), c.front(2));
  c.give_self();
  return true;
}
FB_BATCH("masked_fill_.Tensor", masked_fill_tensor_)

bool embedding(BatchCall& c) {
  if (c.arg<bool>(4)) return false;
  if (!c.batched(0)) {
    c.give(op<"embedding">(c.front(0), c.front(1), c.arg<int64_t>(2), c.arg<bool>(3), false));
    return true;
  }
  if (c.arg<int64_t>(2) >= 0 || c.arg<bool>(3) || c.rank(0) != 2) return false;
  const Tensor all = c.folded(0), step = op<"mul">(counted(c, c.rank(1), all.device()), Scalar(c.shape(0)[0]));
  c.give(op<"embedding">(all, op<"add">(c.aligned(1, c.rank(1)), step)));
  return true;
}
FB_BATCH("embedding", embedding)

bool embedding_dense_backward(BatchCall& c) {
  const int64_t rows = c.arg<int64_t>(2), padding = c.arg<int64_t>(3);
  const Tensor indices = c.expanded(1);
  Tensor g = c.expanded(0);
  if (padding >= 0) g = op<"masked_fill">(g, op<"unsqueeze">(op<"eq">(indices, Scalar(padding)), int64_t(-1)), Scalar(0));
  const Tensor step = op<"mul">(counted(c, c.rank(1), g.device()), Scalar(rows));
  const Tensor r = op<"embedding_dense_backward">(g, op<"add">(indices, step), rows * c.n, int64_t(-1), c.arg<bool>(4));
  c.give(c.unfolded(r));
  return c.n > 0;
}
FB_BATCH("embedding_dense_backward", embedding_dense_backward)

bool isin(BatchCall& c) {
  if (c.batched(1)) return false;
  c.give(op<"isin">(c.front(0), c.front(1), c.arg<bool>(2), c.arg<bool>(3)));
  return true;
}
FB_BATCH("isin.Tensor_Tensor", isin)

// One sequence for all examples takes values of any shape; a sequence for each is searched for rows of values.
bool searchsorted(BatchCall& c) {
  BatchCall::Args v = c.copy();
  Tensor sequence = c.front(0), x = c.front(1), order = c.front(5);
  const bool each = c.batched(0) || c.batched(5);
  if (each) {
    if (c.n == 0) return false;
    sequence = c.expanded(0), x = c.expanded(1), order = c.expanded(5);
    if (c.rank(0) == 1) x = op<"reshape">(x, Ints{c.n, numel_of(c.shape(1))});
  } else if (c.rank(0) != 1) {
    return false;
  }
  v[0] = Value(sequence);
  v[1] = Value(x);
  v[5] = Value(order);
  Results r;
  c.op.invoke(c.op, v.data(), r);
  Dims sizes(c.shape(1));
  sizes.insert(0, c.n);
  c.give(op<"view">(r[0], sizes.span()));
  return true;
}
FB_BATCH("searchsorted", searchsorted)

}  // namespace
}  // namespace fb
