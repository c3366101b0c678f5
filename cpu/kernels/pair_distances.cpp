// cdist and pdist: each pair's differences are folded by the tree of reductions; gradients of a row are added in the order
// of its partners. Threads take rows.
#include <cmath>

#include "cpu/loops/row_loops.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/loss/pair_distances.h"
#include "ops/math/math.h"

namespace fb {
namespace {

template <class A> struct Norm {
  using T = RowTree<A>;
  using V = Vec<A>;
  double p;
  A operator()(const A* x, const A* y, int64_t n) const {
    auto apart = [&](int64_t i, int64_t c) { return abs(T::some(x + i, c) - T::some(y + i, c)); };
    auto sum = [&](auto term) { return T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return a + term(apart(i, c)); }); };
    if (p == 0) return sum([](V d) { return select(d == V(A(0)), V(A(0)), V(A(1))); });
    if (p == 1) return sum([](V d) { return d; });
    if (p == 2) return std::sqrt(sum([](V d) { return d * d; }));
    if (std::isinf(p)) return n == 0 ? A(0) : T::template total<folds::max>(n, [&](V a, int64_t i, int64_t c) { return folds::greater_of(a, apart(i, c)); });
    const V power{A(p)};
    const A s = sum([&](V d) { return math::pow(d, power); });
    return s == 0 ? A(0) : A(math::pow(double(s), 1 / p));
  }
  // Adds the gradient with respect to x of g * |x - y| to `to`.
  void add_slope(A* to, A g, A dist, const A* x, const A* y, int64_t n) const {
    if (p == 0 || dist == 0) return;
    const V zero(A(0)), scale(g), d(dist);
    auto signed_of = [&](V v, V diff) { return select(diff < zero, -v, select(diff == zero, zero, v)); };
    T::each(n, [&](int64_t i, int64_t c) {
      const V diff = T::some(x + i, c) - T::some(y + i, c), size = abs(diff);
      V s;
      if (p == 1) s = signed_of(scale, diff);
      else if (p == 2) s = scale * diff / d;
      else if (std::isinf(p)) s = signed_of(select(size == d, scale, zero), diff);
      else s = signed_of(scale * math::pow(select(size == zero, V(A(1)), size) / d, V(A(p - 1))), diff);
      T::put(to + i, T::some(to + i, c) + s, c);
    });
  }
};

template <class F> void on_type(const Tensor& x, F&& f) { visit_types<float, double>(x.dtype(), f); }
Tensor over_batch(const Tensor& x, const Dims& batch) { return op<"contiguous">(op<"expand">(x, cards::pairs::with_rows(batch, x.size(-2), x.size(-1)))); }
int64_t grain(int64_t work) { return std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(1, work)); }

void cdist(Tensor& out, const Tensor& a0, const Tensor& b0, double p, std::optional<int64_t>) {
  const Dims batch = cards::pairs::batch_of(a0.sizes(), b0.sizes());
  const Tensor a = over_batch(a0, batch), b = over_batch(b0, batch);
  const int64_t ra = a.size(-2), rb = b.size(-2), n = a.size(-1);
  on_type(a, [&]<class T>() {
    const Norm<T> norm{p};
    parallel_for(0, numel_of(batch) * ra, grain(rb * n), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < rb; ++j) out.ptr<T>()[i * rb + j] = norm(a.ptr<T>() + i * n, b.ptr<T>() + (i / ra * rb + j) * n, n);
    });
  });
}
void cdist_backward(Tensor& out, const Tensor& g0, const Tensor& a0, const Tensor& b0, double p, const Tensor& dist0) {
  const Dims batch = cards::pairs::batch_of(a0.sizes(), b0.sizes());
  const Tensor a = over_batch(a0, batch), b = over_batch(b0, batch), g = op<"contiguous">(g0), dist = op<"contiguous">(dist0);
  const int64_t ra = a.size(-2), rb = b.size(-2), n = a.size(-1);
  op_list<"zero_">(out);
  on_type(a, [&]<class T>() {
    const Norm<T> norm{p};
    parallel_for(0, numel_of(batch) * ra, grain(rb * n), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < rb; ++j)
          norm.add_slope(out.ptr<T>() + i * n, g.ptr<T>()[i * rb + j], dist.ptr<T>()[i * rb + j], a.ptr<T>() + i * n, b.ptr<T>() + (i / ra * rb + j) * n, n);
    });
  });
}

// Where the distances of row i to those after it begin.
int64_t pairs_before(int64_t i, int64_t rows) { return i * rows - i * (i + 1) / 2; }
void pdist(Tensor& out, const Tensor& x0, double p) {
  const Tensor x = op<"contiguous">(x0);
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  on_type(x, [&]<class T>() {
    const Norm<T> norm{p};
    parallel_for(0, rows, grain(rows * n), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = i + 1; j < rows; ++j) out.ptr<T>()[pairs_before(i, rows) + j - i - 1] = norm(x.ptr<T>() + i * n, x.ptr<T>() + j * n, n);
    });
  });
}
void pdist_backward(Tensor& out, const Tensor& g0, const Tensor& x0, double p, const Tensor& dist0) {
  const Tensor x = op<"contiguous">(x0), g = op<"contiguous">(g0), dist = op<"contiguous">(dist0);
  const int64_t rows = x.sizes()[0], n = x.sizes()[1];
  op_list<"zero_">(out);
  on_type(x, [&]<class T>() {
    const Norm<T> norm{p};
    parallel_for(0, rows, grain(rows * n), [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i)
        for (int64_t j = 0; j < rows; ++j) {
          if (i == j) continue;
          const int64_t at = pairs_before(std::min(i, j), rows) + std::abs(i - j) - 1;
          norm.add_slope(out.ptr<T>() + i * n, g.ptr<T>()[at], dist.ptr<T>()[at], x.ptr<T>() + i * n, x.ptr<T>() + j * n, n);
        }
    });
  });
}

}  // namespace

FB_KERNEL("_cdist_forward", cdist)
FB_KERNEL("_cdist_backward", cdist_backward)
FB_KERNEL("_pdist_forward", pdist)
FB_KERNEL("_pdist_backward", pdist_backward)

}  // namespace fb
