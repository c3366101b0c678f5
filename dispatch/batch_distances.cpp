// Distances of all pairs of rows at a level of vmap: the batch is one more dimension in front.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

bool cdist_forward(BatchCall& c) {
  const int64_t rank = std::max(c.rank(0), c.rank(1));
  c.give(op<"_cdist_forward">(c.aligned(0, rank), c.aligned(1, rank), c.arg<double>(2), c.arg<std::optional<int64_t>>(3)));
  return true;
}
FB_BATCH("_cdist_forward", cdist_forward)

bool cdist_backward(BatchCall& c) {
  const int64_t rank = c.rank(0);
  // With a batch of their own in one of the sets, so that the result has it.
  c.give(op<"_cdist_backward">(c.expanded(0), padded(c.expanded(1), rank + 1), c.aligned(2, rank), c.arg<double>(3), c.expanded(4)));
  return true;
}
FB_BATCH("_cdist_backward", cdist_backward)

// Where the pairs i < j of a set of `rows` stand among all pairs, in their order; with `turned` where (j, i) does.
Tensor pairs_among_all(const Tensor& like, int64_t rows, bool turned) {
  const Tensor ij = op<"triu_indices">(rows, rows, int64_t(1), DType::i64, std::nullopt, like.device());
  const Tensor i = op<"select">(ij, int64_t(0), int64_t(turned)), j = op<"select">(ij, int64_t(0), int64_t(!turned));
  return op<"add">(op<"mul">(i, Scalar(rows)), j);
}

bool pdist_forward(BatchCall& c) {
  if (c.rank(0) != 2) return false;
  const int64_t rows = c.shape(0)[0];
  const Tensor x = c.front(0), all = op<"_cdist_forward">(x, x, c.arg<double>(1), std::nullopt);
  c.give(op<"index_select">(op<"reshape">(all, Ints{c.n, rows * rows}), int64_t(1), pairs_among_all(x, rows, false)));
  return true;
}
FB_BATCH("_pdist_forward", pdist_forward)

bool pdist_backward(BatchCall& c) {
  if (c.rank(1) != 2 || c.rank(0) != 1) return false;
  const int64_t rows = c.shape(1)[0];
  const Tensor x = c.expanded(1), upper = pairs_among_all(x, rows, false), lower = pairs_among_all(x, rows, true);
  auto all = [&](const Tensor& t) {  // symmetric, zeros on the diagonal
    const Tensor half = op<"index_copy">(op<"new_zeros">(t, Ints{c.n, rows * rows}), int64_t(1), upper, t);
    return op<"view">(op<"index_copy">(half, int64_t(1), lower, t), Ints{c.n, rows, rows});
  };
  c.give(op<"_cdist_backward">(all(c.expanded(0)), x, x, c.arg<double>(2), all(c.expanded(3))));
  return true;
}
FB_BATCH("_pdist_backward", pdist_backward)

}  // namespace
}  // namespace fb
