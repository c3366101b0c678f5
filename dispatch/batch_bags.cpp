// Bags of rows of a table at a level of vmap: the examples' bags beside each other are bags of one call. An example's own
// table is a part of one long table, which its indices count from their own row on.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

// t [n, ...] plus 0 for the first example, `step` for the second and so on.
Tensor beside_each_other(BatchCall& c, const Tensor& t, int64_t step) {
  const Tensor i = op<"mul">(op<"arange">(Scalar(c.n), t.dtype(), std::nullopt, t.device()), Scalar(step));
  Dims sizes(t.ndim(), 1);
  sizes[0] = c.n;
  return op<"add">(t, op<"view">(i, sizes.span()));
}
Tensor flat(const Tensor& t) { return op<"reshape">(t, Ints{-1}); }
Tensor joined(const Tensor& t) {
  Dims sizes(t.sizes());
  sizes.erase(0);
  sizes[0] *= t.sizes()[0];
  return op<"reshape">(t, sizes.span());
}
Tensor for_each(BatchCall& c, const Tensor& t, int64_t size) {
  Dims sizes(t.sizes());
  sizes[0] = size;
  sizes.insert(0, c.n);
  return op<"view">(t, sizes.span());
}
// Indices [n, k] into the long table. A row that is left out has one number for all.
Tensor into_long(BatchCall& c, const Tensor& indices, int64_t rows, int64_t padding) {
  if (any_holds(op<"logical_or">(op<"lt">(indices, Scalar(0)), op<"ge">(indices, Scalar(rows)))))
    raise_runtime("vmap: ", c.schema().name, ": an index is outside of the table's ", rows, " rows");
  const Tensor moved = beside_each_other(c, indices, rows);
  return padding < 0 ? moved : op<"where">(op<"eq">(indices, Scalar(padding)), indices, moved);
}

// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)
bool embedding_bag(BatchCall& c) {
  if (c.rank(0) != 2 || c.rank(1) != 1 || c.rank(2) != 1 || c.n == 0) return false;
  const int64_t rows = c.shape(0)[0], many = c.shape(1)[0], mode = c.arg<int64_t>(4), padding = c.arg<int64_t>(8);
  const bool last = c.arg<bool>(7), own = c.batched(0);
  const Tensor indices = c.expanded(1);
  Tensor offsets = c.expanded(2);  // [n, bags]
  if (last && offsets.sizes()[1] == 0) return false;
  if (last) {  // the end of the last bag, which must be that of the indices
    const int64_t bags = offsets.sizes()[1] - 1;
    if (any_holds(op<"ne">(op<"select">(offsets, int64_t(1), bags), Scalar(many)))) return false;
    offsets = op<"narrow">(offsets, int64_t(1), int64_t(0), bags);
  }
  const int64_t bags = offsets.sizes()[1];
  if (bags == 0) return false;
  if (any_holds(op<"ne">(op<"select">(offsets, int64_t(1), int64_t(0)), Scalar(0)))) return false;  // the loop says so
  const Tensor weight = own ? joined(c.front(0)) : c.front(0), at = flat(own ? into_long(c, indices, rows, padding) : indices);
  auto r = ops<"_embedding_bag", 4>(weight, at, flat(beside_each_other(c, offsets, many)), c.arg<bool>(3), mode, c.arg<bool>(5),
                                    c.given(6) ? flat(c.expanded(6)) : Tensor(), false, padding);
  c.give(for_each(c, r[0], bags));
  if (r[1].numel() == 0) c.give(op<"new_empty">(r[1], Ints{c.n, 0}));
  else c.give(beside_each_other(c, for_each(c, r[1], many), -bags));
  c.give(for_each(c, r[2], bags));
  Tensor places = for_each(c, r[3], bags);
  if (own && mode == 2) {  // an empty bag names row 0
    const Tensor back = beside_each_other(c, places, -rows);
    places = op<"clamp_min">(padding < 0 ? back : op<"where">(op<"eq">(places, Scalar(padding)), places, back), Scalar(0));
  }
  c.give(places);
  return true;
}
FB_BATCH("_embedding_bag", embedding_bag)
FB_BATCH("_embedding_bag_forward_only", embedding_bag)

// (grad, indices, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, per_sample_weights, padding_idx)
bool dense_backward(BatchCall& c) {
  if (c.rank(0) != 2 || c.rank(1) != 1 || c.rank(2) != 1 || c.n == 0) return false;
  const int64_t bags = c.shape(0)[0], rows = c.arg<int64_t>(5), mode = c.arg<int64_t>(7), padding = c.arg<int64_t>(9);
  const Tensor places = c.expanded(4);
  const Tensor r = op<"_embedding_bag_dense_backward">(joined(c.expanded(0)), flat(into_long(c, c.expanded(1), rows, padding)),
                                                       flat(beside_each_other(c, c.expanded(2), bags)), flat(c.expanded(3)),
                                                       mode == 2 ? joined(beside_each_other(c, places, rows)) : flat(places), rows * c.n, c.arg<bool>(6), mode,
                                                       c.given(8) ? flat(c.expanded(8)) : Tensor(), padding);
  c.give(for_each(c, r, rows));
  return true;
}
FB_BATCH("_embedding_bag_dense_backward", dense_backward)

// (grad, weight, indices, offsets, offset2bag, mode, padding_idx)
bool samples_backward(BatchCall& c) {
  if (c.rank(0) != 2 || c.rank(1) != 2 || c.rank(2) != 1 || c.rank(4) != 1 || c.n == 0) return false;
  const int64_t bags = c.shape(0)[0], many = c.shape(2)[0], padding = c.arg<int64_t>(6);
  const bool own = c.batched(1);
  const Tensor indices = c.expanded(2);
  const Tensor r = op<"_embedding_bag_per_sample_weights_backward">(
      joined(c.expanded(0)), own ? joined(c.front(1)) : c.front(1), flat(own ? into_long(c, indices, c.shape(1)[0], padding) : indices),
      flat(beside_each_other(c, c.expanded(3), many)), flat(beside_each_other(c, c.expanded(4), bags)), c.arg<int64_t>(5), padding);
  c.give(for_each(c, r, many));
  return true;
}
FB_BATCH("_embedding_bag_per_sample_weights_backward", samples_backward)

}  // namespace
}  // namespace fb
