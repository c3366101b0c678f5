// softmax, log_softmax and their backward passes, row by row: the maximum, then sums over the tree.
#include "cpu/loops/row_loops.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"

namespace fb {

Tensor contiguous_operand(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const Tensor c = Tensor::empty(t.sizes(), t.options());
  GradMode no(false);
  op_list<"copy_">(c, t);
  return c;
}

namespace {

template <class A> A row_max(const A* x, int64_t n) {
  using T = RowTree<A>;
  return T::template total<folds::max>(n, [&](Vec<A> a, int64_t i, int64_t c) { return folds::greater_of(a, T::some(x + i, c)); });
}

template <class A> void softmax_row(A* out, const A* x, const A*, int64_t n) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const V m(row_max(x, n));
  const V sum(T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) {
    const V e = math::exp(T::some(x + i, c) - m);
    T::put(out + i, e, c);
    return a + e;
  }));
  T::each(n, [&](int64_t i, int64_t c) { T::put(out + i, T::some(out + i, c) / sum, c); });
}
template <class A> void log_softmax_row(A* out, const A* x, const A*, int64_t n) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const V m(row_max(x, n));
  const A sum = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return a + math::exp(T::some(x + i, c) - m); });
  const V log_sum(math::log(sum));
  T::each(n, [&](int64_t i, int64_t c) { T::put(out + i, T::some(x + i, c) - m - log_sum, c); });
}
template <class A> void softmax_backward_row(A* out, const A* g, const A* y, int64_t n) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const V dot(T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return fma(T::some(g + i, c), T::some(y + i, c), a); }));
  T::each(n, [&](int64_t i, int64_t c) { T::put(out + i, (T::some(g + i, c) - dot) * T::some(y + i, c), c); });
}
template <class A> void log_softmax_backward_row(A* out, const A* g, const A* y, int64_t n) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const V sum(T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return a + T::some(g + i, c); }));
  T::each(n, [&](int64_t i, int64_t c) { T::put(out + i, fma(-math::exp(T::some(y + i, c)), sum, T::some(g + i, c)), c); });
}

template <class F, class D> void by_type(Tensor& out, const Tensor& a, const Tensor& b, int64_t dim, F f, D d) {
  const Tensor x = contiguous_operand(a), y = b.defined() ? contiguous_operand(b) : b;
  const RowOperands o{&out, {&x, y.defined() ? &y : nullptr}, wrap_dim(dim, out.ndim())};
  if (compute_type(a.dtype()) == DType::f64) for_rows<double>(o, d);
  else for_rows<float>(o, f);
}
void softmax_cpu(Tensor& out, const Tensor& self, int64_t dim, bool) {
  by_type(out, self, Tensor(), dim, &softmax_row<float>, &softmax_row<double>);
}
void log_softmax_cpu(Tensor& out, const Tensor& self, int64_t dim, bool) {
  by_type(out, self, Tensor(), dim, &log_softmax_row<float>, &log_softmax_row<double>);
}
void softmax_backward_cpu(Tensor& out, const Tensor& g, const Tensor& y, int64_t dim, DType) {
  by_type(out, g, y, dim, &softmax_backward_row<float>, &softmax_backward_row<double>);
}
void log_softmax_backward_cpu(Tensor& out, const Tensor& g, const Tensor& y, int64_t dim, DType) {
  by_type(out, g, y, dim, &log_softmax_backward_row<float>, &log_softmax_backward_row<double>);
}

}  // namespace

FB_KERNEL("_softmax", softmax_cpu)
FB_KERNEL("_log_softmax", log_softmax_cpu)
FB_KERNEL("_softmax_backward_data", softmax_backward_cpu)
FB_KERNEL("_log_softmax_backward_data", log_softmax_backward_cpu)

}  // namespace fb
