// Layer normalisation, forward and backward: two passes over a row that lies in the cache.
#include <cmath>

#include "cpu/loops/row_loops.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/norm/normalization.h"

namespace fb {
namespace {

// Contiguous, in the compute type A.
template <class A> Tensor computed(const Tensor& t) {
  if (!t.defined() || (t.is_contiguous() && t.dtype() == dtype_of<A>)) return t;
  const Tensor c = Tensor::empty(t.sizes(), {dtype_of<A>, t.device()});
  GradMode no(false);
  op_list<"copy_">(c, t);
  return c;
}
template <class A> const A* values(const Tensor& t) { return t.defined() ? t.ptr<A>() : nullptr; }

template <class A>
void forward(Tensor& out, Tensor& mean, Tensor& rstd, const Tensor& input, int64_t n, const Tensor& weight, const Tensor& bias, double eps) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const Tensor x = contiguous_operand(input), w = computed<A>(weight), b = computed<A>(bias);
  const int64_t rows = mean.numel();
  const Tensor m = mean.dtype() == dtype_of<A> ? mean : Tensor::empty({rows}, {dtype_of<A>, Device()});
  const Tensor s = rstd.dtype() == dtype_of<A> ? rstd : Tensor::empty({rows}, {dtype_of<A>, Device()});
  const A *wp = values<A>(w), *bp = values<A>(b);
  const bool direct = x.dtype() == dtype_of<A>;
  const int64_t item = x.item_bytes();
  parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)), [&](int64_t r0, int64_t r1) {
    std::unique_ptr<A[]> room(direct ? nullptr : new A[size_t(n)]);
    for (int64_t r = r0; r < r1; ++r) {
      const A* p = direct ? x.ptr<A>() + r * n : room.get();
      if (!direct)
        convert_run(reinterpret_cast<char*>(room.get()), sizeof(A), dtype_of<A>, static_cast<const char*>(x.data()) + r * n * item, item, x.dtype(), n);
      const A mu = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return a + T::some(p + i, c); }) / A(n);
      const V vm(mu);
      const A var = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) {
        const V d = T::some(p + i, c) - vm;
        return fma(d, d, a);
      }) / A(n);
      const A rs = A(1) / std::sqrt(var + A(eps));
      m.ptr<A>()[r] = mu;
      s.ptr<A>()[r] = rs;
      const V vr(rs);
      A* o = direct ? out.ptr<A>() + r * n : room.get();
      if (wp && bp) T::each(n, [&](int64_t i, int64_t c) { T::put(o + i, fma((T::some(p + i, c) - vm) * vr, T::some(wp + i, c), T::some(bp + i, c)), c); });
      else if (wp) T::each(n, [&](int64_t i, int64_t c) { T::put(o + i, (T::some(p + i, c) - vm) * vr * T::some(wp + i, c), c); });
      else if (bp) T::each(n, [&](int64_t i, int64_t c) { T::put(o + i, (T::some(p + i, c) - vm) * vr + T::some(bp + i, c), c); });
      else T::each(n, [&](int64_t i, int64_t c) { T::put(o + i, (T::some(p + i, c) - vm) * vr, c); });
      if (!direct)
        convert_run(static_cast<char*>(out.data()) + r * n * item, item, out.dtype(), reinterpret_cast<const char*>(o), sizeof(A), dtype_of<A>, n);
    }
  });
  auto give = [&](Tensor& to, const Tensor& from) {
    if (!to.is(from) && rows) convert_run(static_cast<char*>(to.data()), to.item_bytes(), to.dtype(), static_cast<const char*>(from.data()), sizeof(A), dtype_of<A>, rows);
  };
  give(mean, m);
  give(rstd, s);
}
int64_t row_length(Ints shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}
void layer_norm_cpu(Tensor& out, Tensor& mean, Tensor& rstd, const Tensor& x, Ints shape, const Tensor& w, const Tensor& b, double eps) {
  const int64_t n = row_length(shape);
  if (n == 0) {
    op_list<"zero_">(mean);
    op_list<"fill_">(rstd, Scalar(std::nan("")));
    return;
  }
  if (compute_type(x.dtype()) == DType::f64) forward<double>(out, mean, rstd, x, n, w, b, eps);
  else forward<float>(out, mean, rstd, x, n, w, b, eps);
}

// Sums over the rows of make(r, j0, m, to), m numbers of row r from column j0 on, by the tree over rows.
template <class A, class Make> void sum_rows(int64_t rows, int64_t n, Make make, A* out) {
  using R = ReduceLoops<folds::sum, A>;
  constexpr int64_t kTile = 256;
  const int64_t blocks = (rows + tree::block - 1) / tree::block, tiles = (n + kTile - 1) / kTile;
  std::unique_ptr<A[]> partial(new A[size_t(blocks * tiles * kTile)]);
  parallel_for(0, blocks * tiles, 1, [&](int64_t a, int64_t z) {
    std::unique_ptr<A[]> acc(new A[size_t(tree::lanes * kTile)]);
    A line[kTile];
    for (int64_t u = a; u < z; ++u) {
      const int64_t tile = u / blocks, b = u % blocks, j0 = tile * kTile, m = std::min(kTile, n - j0);
      const int64_t r0 = b * tree::block, r1 = std::min(rows, r0 + tree::block);
      R::clear(acc.get(), tree::lanes * kTile);
      for (int64_t r = r0; r < r1; ++r) {
        make(r, j0, m, line);
        R::template add_rows<1>(acc.get() + (r - r0) % tree::lanes * kTile, m, line, 0, nullptr);
      }
      R::fold(acc.get(), kTile, m, std::min<int64_t>(tree::lanes, r1 - r0), partial.get() + tile * blocks * kTile + b * m);
    }
  });
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t m = std::min(kTile, n - tile * kTile);
    A* p = partial.get() + tile * blocks * kTile;
    R::tree_of_blocks(p, blocks, m);
    std::copy_n(p, m, out + tile * kTile);
  }
}

template <class A>
std::array<Tensor, 3> backward(const Tensor& grad, const Tensor& input, int64_t n, Ints shape, const Tensor& mean, const Tensor& rstd,
                               const Tensor& weight, const Tensor& bias, Span<bool> mask) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const Tensor g = computed<A>(grad), x = computed<A>(input), m = computed<A>(mean), s = computed<A>(rstd), w = computed<A>(weight);
  const int64_t rows = mean.numel();
  const A *gp = values<A>(g), *xp = values<A>(x), *mp = values<A>(m), *sp = values<A>(s), *wp = values<A>(w);
  std::array<Tensor, 3> result;
  auto finish = [&](const Tensor& t, DType d) {
    if (t.dtype() == d) return t;
    const Tensor r = Tensor::empty(t.sizes(), {d, t.device()});
    GradMode no(false);
    op_list<"copy_">(r, t);
    return r;
  };
  if (mask[0]) {
    const Tensor out = Tensor::empty(input.sizes(), {dtype_of<A>, input.device()});
    A* op = out.ptr<A>();
    if (n)
    parallel_for(0, rows, std::max<int64_t>(1, 16384 / n), [&](int64_t r0, int64_t r1) {
      std::unique_ptr<A[]> room(wp ? new A[size_t(n)] : nullptr);
      for (int64_t r = r0; r < r1; ++r) {
        const A *q = gp + r * n, *p = xp + r * n;
        const V vm(mp[r]), vs(sp[r]);
        if (wp) {
          T::each(n, [&](int64_t i, int64_t c) { T::put(room.get() + i, T::some(q + i, c) * T::some(wp + i, c), c); });
          q = room.get();
        }
        const A s1 = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return a + T::some(q + i, c); });
        const A s2 = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return fma(T::some(q + i, c), (T::some(p + i, c) - vm) * vs, a); });
        const V a(s1 / A(n)), b(s2 / A(n));
        A* o = op + r * n;
        T::each(n, [&](int64_t i, int64_t c) {
          const V hat = (T::some(p + i, c) - vm) * vs;
          T::put(o + i, (T::some(q + i, c) - a - hat * b) * vs, c);
        });
      }
    });
    result[0] = finish(out, input.dtype());
  }
  if (mask[1]) {
    const Tensor out = Tensor::empty(shape, {dtype_of<A>, input.device()});
    if (rows == 0) op_list<"zero_">(out);
    else
      sum_rows<A>(rows, n, [&](int64_t r, int64_t j, int64_t c, A* to) {
        const A *q = gp + r * n + j, *p = xp + r * n + j;
        const A mu = mp[r], rs = sp[r];
        for (int64_t i = 0; i < c; ++i) to[i] = q[i] * ((p[i] - mu) * rs);
      }, out.ptr<A>());
    result[1] = finish(out, weight.defined() ? weight.dtype() : input.dtype());
  }
  if (mask[2]) {
    const Tensor out = Tensor::empty(shape, {dtype_of<A>, input.device()});
    if (rows == 0) op_list<"zero_">(out);
    else
      sum_rows<A>(rows, n, [&](int64_t r, int64_t j, int64_t c, A* to) { std::copy_n(gp + r * n + j, c, to); }, out.ptr<A>());
    result[2] = finish(out, bias.defined() ? bias.dtype() : input.dtype());
  }
  return result;
}
std::array<Tensor, 3> layer_norm_backward_cpu(const Tensor& g, const Tensor& x, Ints shape, const Tensor& mean, const Tensor& rstd,
                                              const Tensor& w, const Tensor& b, Span<bool> mask) {
  const int64_t n = row_length(shape);
  return compute_type(x.dtype()) == DType::f64 ? backward<double>(g, x, n, shape, mean, rstd, w, b, mask)
                                               : backward<float>(g, x, n, shape, mean, rstd, w, b, mask);
}

}  // namespace

FB_KERNEL("native_layer_norm", layer_norm_cpu)
FB_KERNEL_DIRECT("native_layer_norm_backward", layer_norm_backward_cpu)

}  // namespace fb
