// Reductions over all elements, and operators that look at the last dimensions, at a level of vmap.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// All dimensions of an example; one is there where it has none.
Tensor with_dims(BatchCall& c, int i) {
  const Tensor x = c.front(i);
  return x.ndim() == 1 ? op<"unsqueeze">(x, int64_t(1)) : x;
}
Dims all_dims(const Tensor& x) {
  Dims d;
  for (int64_t k = 1; k < x.ndim(); ++k) d.push_back(k);
  return d;
}
Tensor rows(BatchCall& c, int i) {
  const Tensor x = c.front(i);
  return op<"reshape">(x, Ints{c.n, numel_of(c.shape(i))});
}

bool sum(BatchCall& c) {
  const Tensor x = with_dims(c, 0);
  c.give(op<"sum.dim_IntList">(x, all_dims(x).span(), false, c.arg<DType>(1)));
  return true;
}
bool mean(BatchCall& c) {
  const Tensor x = with_dims(c, 0);
  c.give(op<"mean.dim">(x, all_dims(x).span(), false, c.arg<DType>(1)));
  return true;
}
bool prod(BatchCall& c) {
  c.give(op<"prod.dim_int">(rows(c, 0), int64_t(1), false, c.arg<DType>(1)));
  return true;
}
bool max_all(BatchCall& c) {
  const Tensor x = with_dims(c, 0);
  c.give(op<"amax">(x, all_dims(x).span()));
  return true;
}
bool min_all(BatchCall& c) {
  const Tensor x = with_dims(c, 0);
  c.give(op<"amin">(x, all_dims(x).span()));
  return true;
}
bool all_of(BatchCall& c) {
  c.give(op<"all.dim">(rows(c, 0), int64_t(1)));
  return true;
}
bool any_of(BatchCall& c) {
  c.give(op<"any.dim">(rows(c, 0), int64_t(1)));
  return true;
}
// Of n elements the lower median is the first result; an empty one has none.
bool median(BatchCall& c) {
  if (numel_of(c.shape(0)) == 0) return false;
  c.give(ops<"median.dim", 2>(rows(c, 0), int64_t(1))[0]);
  return true;
}
bool nanmedian(BatchCall& c) {
  if (numel_of(c.shape(0)) == 0) return false;
  c.give(ops<"nanmedian.dim", 2>(rows(c, 0), int64_t(1))[0]);
  return true;
}
FB_BATCH("sum", sum)
FB_BATCH("mean", mean)
FB_BATCH("prod", prod)
FB_BATCH("max", max_all)
FB_BATCH("min", min_all)
FB_BATCH("all", all_of)
FB_BATCH("any", any_of)
FB_BATCH("median", median)
FB_BATCH("nanmedian", nanmedian)
// Overloads that name dimensions are batch_dims' own; the names above are of packets.
FB_BATCH("sum.dim_IntList", batch_dims)
FB_BATCH("mean.dim", batch_dims)
FB_BATCH("prod.dim_int", batch_dims)
FB_BATCH("max.dim", batch_dims)
FB_BATCH("min.dim", batch_dims)
FB_BATCH("all.dim", batch_dims)
FB_BATCH("all.dims", batch_dims)
FB_BATCH("any.dim", batch_dims)
FB_BATCH("any.dims", batch_dims)
FB_BATCH("median.dim", batch_dims)
FB_BATCH("nanmedian.dim", batch_dims)

bool trace(BatchCall& c) {
  FB_CHECK(c.rank(0) == 2, "trace: expected a matrix, got shape ", c.shape(0));
  c.give(op<"sum.dim_IntList">(op<"diagonal">(c.front(0), int64_t(0), int64_t(1), int64_t(2)), Ints{1}));
  return true;
}
FB_BATCH("trace", trace)

FB_BATCH("tril", batch_leading)
FB_BATCH("triu", batch_leading)
FB_BATCH("frexp", batch_leading)
FB_BATCH("complex", batch_pointwise)

// Copies keep the place of the batch where no layout is asked for.
bool clone(BatchCall& c) {
  int64_t bdim;
  const Tensor x = c.inner(0, &bdim);
  const auto f = c.arg<std::optional<MemoryFormat>>(1);
  if (!f || *f == MemoryFormat::preserve) {
    c.give(op<"clone">(x, MemoryFormat::preserve), bdim);
  } else if (*f == MemoryFormat::contiguous) {
    c.give(op<"clone">(c.front(0), *f));
  } else c.give(c.unfolded(op<"clone">(c.folded(0), *f)));
  return true;
}
FB_BATCH("clone", clone)

bool to_copy(BatchCall& c) {
  const auto f = c.arg<std::optional<MemoryFormat>>(6);
  BatchCall::Args v = c.copy();
  const bool image = f && (*f == MemoryFormat::channels_last || *f == MemoryFormat::channels_last_3d);
  const Tensor x = image ? c.folded(0) : c.front(0);
  v[0] = Value(x);
  Results r;
  c.op.invoke(c.op, v.data(), r);
  c.give(image ? c.unfolded(r[0]) : r[0]);
  return true;
}
FB_BATCH("_to_copy", to_copy)

// Writes to what has the batch.
bool copy_(BatchCall& c) {
  const Tensor self = c.front(0), src = c.aligned(1, c.rank(0));
  FB_CHECK(c.rank(1) <= c.rank(0), "copy_: src of shape ", c.shape(1), " does not broadcast to self of shape ", c.shape(0));
  op_list<"copy_">(self, src, c.arg<bool>(2));
  c.give_self();
  return true;
}
FB_BATCH("copy_", copy_)
bool fill_tensor_(BatchCall& c) {
  FB_CHECK(c.rank(1) == 0, "fill_: value must be a tensor without dimensions, its shape is ", c.shape(1));
  op_list<"copy_">(c.front(0), c.aligned(1, c.rank(0)));
  c.give_self();
  return true;
}
FB_BATCH("fill_.Tensor", fill_tensor_)
bool fill_(BatchCall& c) {
  op_list<"fill_">(c.front(0), c.arg<Scalar>(1));
  c.give_self();
  return true;
}
FB_BATCH("fill_.Scalar", fill_)
bool zero_(BatchCall& c) {
  op_list<"zero_">(c.front(0));
  c.give_self();
  return true;
}
FB_BATCH("zero_", zero_)

// Lists along one dimension.
bool cat(BatchCall& c) {
  int64_t rank = 1;
  const TensorSpan given = c.args[0].tensor_list();
  for (const Tensor& t : given) rank = std::max(rank, t.ndim());
  std::vector<Tensor> l;
  for (int64_t k = 0; k < given.n; ++k)
    if (given[k].ndim() == rank || !(given[k].ndim() == 1 && given[k].numel() == 0)) l.push_back(c.list_expanded(0, k));
  c.give(op<"cat">(l, 1 + wrap_dim(c.arg<int64_t>(1), rank, false)));
  return true;
}
FB_BATCH("cat", cat)
bool stack(BatchCall& c) {
  std::vector<Tensor> l;
  for (int64_t k = 0; k < c.list_size(0); ++k) l.push_back(c.list_expanded(0, k));
  c.give(op<"stack">(l, 1 + wrap_dim(c.arg<int64_t>(1), l[0].ndim(), false)));
  return true;
}
FB_BATCH("stack", stack)

bool flip(BatchCall& c) {
  Dims d;
  for (int64_t x : c.args[1].int_list()) d.push_back(1 + wrap_dim(x, c.rank(0)));
  if (c.rank(0) == 0) d.clear();
  c.give(op<"flip">(c.front(0), d.span()));
  return true;
}
FB_BATCH("flip", flip)

[[noreturn]] void raise_value_needed(const char* what) {
  raise_runtime("vmap: ", what, ", which differs between examples; a function that is mapped cannot branch on it or turn it into a number. Use torch.where");
}
bool local_scalar_dense(BatchCall&) { raise_value_needed("item() (or a condition, int() or float()) asks for the value of a tensor"); }
bool equal(BatchCall&) { raise_value_needed("torch.equal() gives a bool"); }
FB_BATCH("_local_scalar_dense", local_scalar_dense)
FB_BATCH("equal", equal)

}  // namespace
}  // namespace fb
