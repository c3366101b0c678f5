// Matrix products at a level of vmap: a batch of them is one batched product.
#include "dispatch/batch.h"
#include "dispatch/call.h"

namespace fb {
namespace {

Tensor times(const Tensor& t, const Scalar& s) {
  if (!s.is_complex() && s.to_double() == 1) return t;
  return op<"mul">(t, s);
}
Tensor column(const Tensor& t) { return op<"unsqueeze">(t, int64_t(-1)); }
Tensor row(const Tensor& t) { return op<"unsqueeze">(t, int64_t(-2)); }

bool mm(BatchCall& c) {
  FB_CHECK(c.rank(0) == 2 && c.rank(1) == 2, "mm: expected two matrices (2-d), got shapes ", c.shape(0), " and ", c.shape(1));
  c.give(op<"matmul">(c.front(0), c.front(1)));
  return true;
}
FB_BATCH("mm", mm)

bool bmm(BatchCall& c) {
  FB_CHECK(c.rank(0) == 3 && c.rank(1) == 3, "bmm: expected two batches of matrices (3-d), got shapes ", c.shape(0), " and ", c.shape(1));
  FB_CHECK(c.shape(0)[0] == c.shape(1)[0], "bmm: the batches have sizes ", c.shape(0)[0], " and ", c.shape(1)[0], " (shapes ", c.shape(0), " and ", c.shape(1), ")");
  c.give(c.unfolded(op<"bmm">(c.folded(0), c.folded(1))));
  return true;
}
FB_BATCH("bmm", bmm)

bool mv(BatchCall& c) {
  FB_CHECK(c.rank(0) == 2 && c.rank(1) == 1, "mv: expected a matrix (2-d) and a vector (1-d), got shapes ", c.shape(0), " and ", c.shape(1));
  if (!c.batched(0)) {  // m @ v of each: one product with all vectors
    c.give(op<"matmul">(c.front(1), op<"t">(c.front(0))));
    return true;
  }
  c.give(op<"squeeze.dim">(op<"matmul">(c.front(0), column(c.front(1))), int64_t(-1)));
  return true;
}
FB_BATCH("mv", mv)

bool dot_of(BatchCall& c, bool conjugated) {
  FB_CHECK(c.rank(0) == 1 && c.rank(1) == 1, c.schema().name, ": expected two vectors (1-d), got shapes ", c.shape(0), " and ", c.shape(1));
  const Tensor a = conjugated ? op<"conj">(c.front(0)) : c.front(0);
  c.give(op<"reshape">(op<"matmul">(row(a), column(c.front(1))), Ints{c.n}));
  return true;
}
bool dot(BatchCall& c) { return dot_of(c, false); }
bool vdot(BatchCall& c) { return dot_of(c, true); }
FB_BATCH("dot", dot)
FB_BATCH("vdot", vdot)

bool addmm(BatchCall& c) {
  const Scalar beta = c.arg<Scalar>(3), alpha = c.arg<Scalar>(4);
  FB_CHECK(c.rank(1) == 2 && c.rank(2) == 2, "addmm: expected two matrices (2-d), got shapes ", c.shape(1), " and ", c.shape(2));
  if (!c.batched(0) && !c.batched(2) && c.rank(0) == 1) {  // a linear layer on rows of every example
    c.give(c.unfolded(op<"addmm">(c.front(0), c.folded(1), c.front(2), beta, alpha)));
    return true;
  }
  c.give(op<"baddbmm">(c.aligned(0, 2), c.expanded(1), c.expanded(2), beta, alpha));
  return true;
}
FB_BATCH("addmm", addmm)

bool addmv(BatchCall& c) {
  const Scalar beta = c.arg<Scalar>(3), alpha = c.arg<Scalar>(4);
  FB_CHECK(c.rank(1) == 2 && c.rank(2) == 1, "addmv: expected a matrix (2-d) and a vector (1-d), got shapes ", c.shape(1), " and ", c.shape(2));
  Tensor self = c.aligned(0, 1);
  if (c.batched(0) || c.rank(0) == 1) self = column(self);
  c.give(op<"squeeze.dim">(op<"baddbmm">(self, c.expanded(1), column(c.expanded(2)), beta, alpha), int64_t(-1)));
  return true;
}
FB_BATCH("addmv", addmv)

bool baddbmm(BatchCall& c) {
  const Scalar beta = c.arg<Scalar>(3), alpha = c.arg<Scalar>(4);
  FB_CHECK(c.rank(1) == 3 && c.rank(2) == 3, "baddbmm: expected two batches of matrices (3-d), got shapes ", c.shape(1), " and ", c.shape(2));
  const Tensor a = c.folded(1), b = c.folded(2);
  Tensor self = c.aligned(0, 3);
  if (c.batched(0)) {
    const Dims all{c.n, c.shape(1)[0], c.shape(1)[1], c.shape(2)[2]};
    self = op<"reshape">(op<"expand">(self, all.span()), Ints{c.n * all[1], all[2], all[3]});
  } else if (c.rank(0) == 3 && c.shape(0)[0] != 1) {
    self = c.folded(0);
  }
  c.give(c.unfolded(op<"baddbmm">(self, a, b, beta, alpha)));
  return true;
}
FB_BATCH("baddbmm", baddbmm)

bool addbmm(BatchCall& c) {
  const Scalar beta = c.arg<Scalar>(3), alpha = c.arg<Scalar>(4);
  const Tensor sum = op<"sum.dim_IntList">(op<"matmul">(c.expanded(1), c.expanded(2)), Ints{1});
  c.give(beta.is_complex() || beta.to_double() != 0 ? op<"add">(times(c.aligned(0, 2), beta), times(sum, alpha)) : times(sum, alpha));
  return true;
}
FB_BATCH("addbmm", addbmm)

}  // namespace
}  // namespace fb
