// Batch and group normalisation. An input is (N, C, S): planes of S contiguous elements a channel, or, channels last,
// rows of C. Statistics and the two sums of the backward pass follow the tree over (N, S) of each channel.
#include <cmath>

#include "cpu/kernels/reduce_bodies.h"
#include "cpu/loops/row_loops.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/norm/normalization.h"

namespace fb {
namespace {

// In the compute type A, and in `format` (contiguous or channels last).
template <class A> Tensor computed(const Tensor& t, MemoryFormat format = MemoryFormat::contiguous) {
  if (!t.defined() || (t.is_contiguous(format) && t.dtype() == dtype_of<A>)) return t;
  const Tensor c = Tensor::empty_format(t.sizes(), {dtype_of<A>, t.device()}, format);
  GradMode no(false);
  op_list<"copy_">(c, t);
  return c;
}
void assign(const Tensor& to, const Tensor& from) {
  if (to.is(from)) return;
  GradMode no(false);
  op_list<"copy_">(to, from);
}
template <class A> const A* values(const Tensor& t) { return t.defined() ? t.ptr<A>() : nullptr; }

struct Planes {
  int64_t n, c, s;
  bool last;  // channels last
};
Planes planes_of(const Tensor& t, MemoryFormat format) {
  // Without further dimensions the batch is the run, as in every reduction over it.
  if (t.ndim() == 2) return {1, t.sizes()[1], t.sizes()[0], true};
  Planes p{t.sizes()[0], t.sizes()[1], 1, format != MemoryFormat::contiguous};
  for (int64_t d = 2; d < t.ndim(); ++d) p.s *= t.sizes()[d];
  return p;
}

// to = (x - mean[c]) * a[c] + b[c]; mean, a and b have a number for each channel of each sample where `per_sample`.
template <class A>
void shift_and_scale(const Planes& p, A* to, const A* x, const A* mean, const A* a, const A* b, bool per_sample = false) {
  using T = RowTree<A>;
  using V = Vec<A>;
  if (p.last) {
    parallel_for(0, p.n * p.s, std::max<int64_t>(1, 16384 / p.c), [&](int64_t r0, int64_t r1) {
      for (int64_t r = r0; r < r1; ++r)
        T::each(p.c, [&](int64_t i, int64_t k) {
          T::put(to + r * p.c + i, fma(T::some(x + r * p.c + i, k) - T::some(mean + i, k), T::some(a + i, k), T::some(b + i, k)), k);
        });
    });
    return;
  }
  parallel_for(0, p.n * p.c, std::max<int64_t>(1, 16384 / p.s), [&](int64_t u0, int64_t u1) {
    for (int64_t u = u0; u < u1; ++u) {
      const int64_t c = per_sample ? u : u % p.c;
      const V vm(mean[c]), va(a[c]), vb(b[c]);
      const A* q = x + u * p.s;
      A* o = to + u * p.s;
      T::each(p.s, [&](int64_t i, int64_t k) { T::put(o + i, fma(T::some(q + i, k) - vm, va, vb), k); });
    }
  });
}
// The gradient of an input; group norm rounds each step, as its lowering does.
struct FusedSteps {
  template <class V> FB_INLINE static V dot(V a, V g, V h) { return fma(g, h, a); }
  template <class V> FB_INLINE static V gradient(V g, V h, V a, V b, V d) { return fma(g, a, -fma(h, b, d)); }
};
struct SingleSteps {
  template <class V> FB_INLINE static V dot(V a, V g, V h) { return a + g * h; }
  template <class V> FB_INLINE static V gradient(V g, V h, V a, V b, V d) { return g * a - h * b - d; }
};
// to = g * a[c] - (x - mean[c]) * b[c] - d[c]
template <class Steps, class A>
void combine_gradient(const Planes& p, A* to, const A* g, const A* x, const A* mean, const A* a, const A* b, const A* d, bool per_sample = false) {
  using T = RowTree<A>;
  using V = Vec<A>;
  auto one = [](V g, V x, V m, V a, V b, V d) { return Steps::gradient(g, x - m, a, b, d); };
  if (p.last) {
    parallel_for(0, p.n * p.s, std::max<int64_t>(1, 16384 / p.c), [&](int64_t r0, int64_t r1) {
      for (int64_t r = r0; r < r1; ++r)
        T::each(p.c, [&](int64_t i, int64_t k) {
          T::put(to + r * p.c + i, one(T::some(g + r * p.c + i, k), T::some(x + r * p.c + i, k), T::some(mean + i, k), T::some(a + i, k),
                                       T::some(b + i, k), T::some(d + i, k)), k);
        });
    });
    return;
  }
  parallel_for(0, p.n * p.c, std::max<int64_t>(1, 16384 / p.s), [&](int64_t u0, int64_t u1) {
    for (int64_t u = u0; u < u1; ++u) {
      const int64_t c = per_sample ? u : u % p.c;
      const V vm(mean[c]), va(a[c]), vb(b[c]), vd(d[c]);
      const int64_t at = u * p.s;
      T::each(p.s, [&](int64_t i, int64_t k) { T::put(to + at + i, one(T::some(g + at + i, k), T::some(x + at + i, k), vm, va, vb, vd), k); });
    }
  });
}

// For each channel: the sum of g, and of g * (x - mean), both over the tree of runs of S for each of N samples.
template <class Steps, class A> void channel_sums(const Planes& p, const A* g, const A* x, const A* mean, A* sum, A* dot) {
  using T = RowTree<A>;
  using R = ReduceLoops<folds::sum, A>;
  using V = Vec<A>;
  const int64_t runs = tree::runs_of_block(p.s), per_run = tree::blocks_of_run(p.s), blocks = tree::block_count(p.n, p.s);
  auto extent = [&](int64_t b, int64_t& o0, int64_t& o1, int64_t& i0, int64_t& i1) {
    o0 = p.s > tree::block ? b / per_run : b * runs;
    o1 = p.s > tree::block ? o0 + 1 : std::min(p.n, o0 + runs);
    i0 = p.s > tree::block ? b % per_run * tree::block : 0;
    i1 = std::min(p.s, i0 + tree::block);
  };
  std::unique_ptr<A[]> sums(new A[size_t(blocks * p.c)]), dots(new A[size_t(blocks * p.c)]);  // [block][channel]
  if (!p.last) {
    parallel_for(0, p.c, std::max<int64_t>(1, 16384 / (p.n * p.s)), [&](int64_t c0, int64_t c1) {
      for (int64_t c = c0; c < c1; ++c) {
        const V m(mean[c]);
        for (int64_t b = 0; b < blocks; ++b) {
          int64_t o0, o1, i0, i1;
          extent(b, o0, o1, i0, i1);
          V u[T::NV], v[T::NV];
          for (int k = 0; k < T::NV; ++k) u[k] = v[k] = folds::zero<V>();
          for (int64_t o = o0; o < o1; ++o) {
            const A *q = g + (o * p.c + c) * p.s, *y = x + (o * p.c + c) * p.s;
            int64_t i = i0;
            for (; i + tree::lanes <= i1; i += tree::lanes)
#pragma GCC unroll 8
              for (int k = 0; k < T::NV; ++k) {
                const V w = load(q + i + k * T::L);
                u[k] = u[k] + w;
                v[k] = Steps::dot(v[k], w, load(y + i + k * T::L) - m);
              }
#pragma GCC unroll 8
            for (int k = 0; k < T::NV; ++k) {
              const int64_t rest = i1 - i - k * T::L;
              if (rest <= 0) continue;
              const int64_t n = std::min<int64_t>(rest, T::L);
              const V w = T::some(q + i + k * T::L, n), z = T::some(y + i + k * T::L, n);
              u[k] = R::first_lanes(int(n), u[k] + w, u[k]);
              v[k] = R::first_lanes(int(n), Steps::dot(v[k], w, z - m), v[k]);
            }
          }
          sums[size_t(b * p.c + c)] = R::fold_registers(u);
          dots[size_t(b * p.c + c)] = R::fold_registers(v);
        }
      }
    });
  } else {
    parallel_for(0, blocks, 1, [&](int64_t b0, int64_t b1) {
      std::unique_ptr<A[]> u(new A[size_t(tree::lanes * p.c)]), v(new A[size_t(tree::lanes * p.c)]);
      for (int64_t b = b0; b < b1; ++b) {
        int64_t o0, o1, i0, i1;
        extent(b, o0, o1, i0, i1);
        R::clear(u.get(), tree::lanes * p.c);
        R::clear(v.get(), tree::lanes * p.c);
        for (int64_t o = o0; o < o1; ++o)
          for (int64_t i = i0; i < i1; ++i) {
            const A *q = g + (o * p.s + i) * p.c, *y = x + (o * p.s + i) * p.c;
            A *a = u.get() + (i - i0) % tree::lanes * p.c, *d = v.get() + (i - i0) % tree::lanes * p.c;
            T::each(p.c, [&](int64_t j, int64_t k) {
              const V w = T::some(q + j, k);
              T::put(a + j, T::some(a + j, k) + w, k);
              T::put(d + j, Steps::dot(T::some(d + j, k), w, T::some(y + j, k) - T::some(mean + j, k)), k);
            });
          }
        const int64_t lanes = std::min<int64_t>(tree::lanes, i1 - i0);
        R::fold(u.get(), p.c, p.c, lanes, sums.get() + b * p.c);
        R::fold(v.get(), p.c, p.c, lanes, dots.get() + b * p.c);
      }
    });
  }
  R::tree_of_blocks(sums.get(), blocks, p.c);
  R::tree_of_blocks(dots.get(), blocks, p.c);
  std::copy_n(sums.get(), p.c, sum);
  std::copy_n(dots.get(), p.c, dot);
}

// ---- batch ----

template <class A>
void batch_forward(Tensor& out, Tensor& save_mean, Tensor& save_invstd, const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Tensor& running_mean, const Tensor& running_var, bool training, double momentum, double eps) {
  const MemoryFormat format = input.suggested_format();
  const Tensor x = computed<A>(input, format), w = computed<A>(weight), b = computed<A>(bias);
  const Planes p = planes_of(x, format);
  const Options o{dtype_of<A>, Device()};
  const DType type = dtype_of<A>;
  Tensor mean, invstd = Tensor::empty({p.c}, o);
  const int64_t count = p.n * p.s;
  if (training) {
    mean = Tensor::empty({p.c}, o);
    Tensor sum = Tensor::empty({p.c}, o);
    const uint64_t mask = ~uint64_t(2);
    reduce_into(mean, x, mask, sum_body(type), mean_finish(type));
    reduce_into(sum, x, mask, squared_deviation_body(type), nullptr, 0, mean.data());
    for (int64_t c = 0; c < p.c; ++c) invstd.ptr<A>()[c] = A(1) / std::sqrt(sum.ptr<A>()[c] / A(count) + A(eps));
    auto move = [&](const Tensor& running, auto value) {
      if (!running.defined()) return;
      // Written without a new version: the backward pass of training does not read them.
      const int64_t item = running.item_bytes();
      char* at = static_cast<char*>(running.data());
      std::unique_ptr<A[]> v(new A[size_t(p.c)]);
      convert_run(reinterpret_cast<char*>(v.get()), sizeof(A), type, at, running.strides()[0] * item, running.dtype(), p.c);
      for (int64_t c = 0; c < p.c; ++c) v[size_t(c)] = A(momentum) * value(c) + A(1 - momentum) * v[size_t(c)];
      convert_run(at, running.strides()[0] * item, running.dtype(), reinterpret_cast<const char*>(v.get()), sizeof(A), type, p.c);
    };
    move(running_mean, [&](int64_t c) { return mean.ptr<A>()[c]; });
    move(running_var, [&](int64_t c) { return sum.ptr<A>()[c] / A(count - 1); });
    assign(save_mean, mean);
    assign(save_invstd, invstd);
  } else {
    mean = computed<A>(running_mean);
    const Tensor var = computed<A>(running_var);
    for (int64_t c = 0; c < p.c; ++c) invstd.ptr<A>()[c] = A(1) / std::sqrt(var.ptr<A>()[c] + A(eps));
  }
  if (x.numel() == 0) return;
  std::unique_ptr<A[]> a(new A[size_t(2 * p.c)]);
  for (int64_t c = 0; c < p.c; ++c) {
    a[size_t(c)] = w.defined() ? invstd.ptr<A>()[c] * w.ptr<A>()[c] : invstd.ptr<A>()[c];
    a[size_t(p.c + c)] = b.defined() ? b.ptr<A>()[c] : A(0);
  }
  const Tensor y = out.dtype() == type && out.is_contiguous(format) ? out : Tensor::empty_format(out.sizes(), o, format);
  shift_and_scale(p, y.ptr<A>(), x.ptr<A>(), mean.ptr<A>(), a.get(), a.get() + p.c);
  assign(out, y);
}
void batch_norm_cpu(Tensor& out, Tensor& mean, Tensor& invstd, const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& rm, const Tensor& rv,
                    bool training, double momentum, double eps) {
  if (compute_type(x.dtype()) == DType::f64) batch_forward<double>(out, mean, invstd, x, w, b, rm, rv, training, momentum, eps);
  else batch_forward<float>(out, mean, invstd, x, w, b, rm, rv, training, momentum, eps);
}

Tensor in_type(const Tensor& t, DType d) {
  if (t.dtype() == d) return t;
  const Tensor r = Tensor::empty(t.sizes(), {d, t.device()});
  assign(r, t);
  return r;
}

template <class A>
std::array<Tensor, 3> batch_backward(const Tensor& grad, const Tensor& input, const Tensor& weight, const Tensor& rm, const Tensor& rv,
                                     const Tensor& save_mean, const Tensor& save_invstd, bool train, double eps, Span<bool> mask) {
  const MemoryFormat format = input.suggested_format();
  const Tensor x = computed<A>(input, format), g = computed<A>(grad, format), w = computed<A>(weight);
  const Planes p = planes_of(x, format);
  const Options o{dtype_of<A>, Device()};
  const Tensor mean = computed<A>(train ? save_mean : rm), invstd = train ? computed<A>(save_invstd) : Tensor::empty({p.c}, o);
  if (!train) {
    const Tensor var = computed<A>(rv);
    for (int64_t c = 0; c < p.c; ++c) invstd.ptr<A>()[c] = A(1) / std::sqrt(var.ptr<A>()[c] + A(eps));
  }
  Tensor sum = Tensor::empty({p.c}, o), dot = Tensor::empty({p.c}, o);
  if (x.numel() == 0) op_list<"zero_">(sum), op_list<"zero_">(dot);
  else if (train || mask[1] || mask[2]) channel_sums<FusedSteps>(p, g.ptr<A>(), x.ptr<A>(), mean.ptr<A>(), sum.ptr<A>(), dot.ptr<A>());
  std::array<Tensor, 3> r;
  const A *s = sum.ptr<A>(), *d = dot.ptr<A>(), *is = invstd.ptr<A>(), *wp = values<A>(w);
  if (mask[0]) {
    const Tensor out = Tensor::empty_format(input.sizes(), o, format);
    std::unique_ptr<A[]> k(new A[size_t(3 * p.c)]);
    const A count = A(p.n * p.s);
    for (int64_t c = 0; c < p.c; ++c) {
      const A a = wp ? is[c] * wp[c] : is[c];
      k[size_t(c)] = a;
      k[size_t(p.c + c)] = train ? a * (d[c] * is[c] * is[c] / count) : A(0);
      k[size_t(2 * p.c + c)] = train ? a * (s[c] / count) : A(0);
    }
    if (x.numel()) combine_gradient<FusedSteps>(p, out.ptr<A>(), g.ptr<A>(), x.ptr<A>(), mean.ptr<A>(), k.get(), k.get() + p.c, k.get() + 2 * p.c);
    if (input.dtype() == dtype_of<A>) r[0] = out;
    else {
      r[0] = Tensor::empty_format(input.sizes(), input.options(), format);
      assign(r[0], out);
    }
  }
  if (mask[1]) {
    for (int64_t c = 0; c < p.c; ++c) dot.ptr<A>()[c] = d[c] * is[c];
    r[1] = in_type(dot, weight.defined() ? weight.dtype() : input.dtype());
  }
  if (mask[2]) r[2] = in_type(sum, weight.defined() ? weight.dtype() : input.dtype());
  return r;
}
std::array<Tensor, 3> batch_norm_backward_cpu(const Tensor& g, const Tensor& x, const Tensor& w, const Tensor& rm, const Tensor& rv, const Tensor& mean,
                                              const Tensor& invstd, bool train, double eps, Span<bool> mask) {
  return compute_type(x.dtype()) == DType::f64 ? batch_backward<double>(g, x, w, rm, rv, mean, invstd, train, eps, mask)
                                               : batch_backward<float>(g, x, w, rm, rv, mean, invstd, train, eps, mask);
}

// ---- group ----

template <class A>
void group_forward(Tensor& out, Tensor& mean, Tensor& rstd, const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t N, int64_t C, int64_t S,
                   int64_t G, double eps) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const Tensor x = computed<A>(input), w = computed<A>(weight), b = computed<A>(bias);
  const int64_t D = C / G, n = D * S;
  const Options o{dtype_of<A>, Device()};
  const Tensor m = Tensor::empty({N, G}, o), r = Tensor::empty({N, G}, o);
  std::unique_ptr<A[]> k(new A[size_t(3 * N * C)]);
  parallel_for(0, N * G, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n)), [&](int64_t u0, int64_t u1) {
    for (int64_t u = u0; u < u1; ++u) {
      const A* q = x.ptr<A>() + u * n;
      const A mu = n ? T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) { return a + T::some(q + i, c); }) / A(n) : A(0);
      const V vm(mu);
      const A var = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) {
        const V d = T::some(q + i, c) - vm;
        return fma(d, d, a);
      }) / A(n);
      const A rs = A(1) / std::sqrt(var + A(eps));
      m.ptr<A>()[u] = mu;
      r.ptr<A>()[u] = rs;
      for (int64_t j = 0; j < D; ++j) {
        const int64_t c = u % G * D + j, at = u * D + j;
        k[size_t(at)] = mu;
        k[size_t(N * C + at)] = w.defined() ? rs * w.ptr<A>()[c] : rs;
        k[size_t(2 * N * C + at)] = b.defined() ? b.ptr<A>()[c] : A(0);
      }
    }
  });
  assign(mean, m);
  assign(rstd, r);
  if (x.numel() == 0) return;
  const Tensor y = out.dtype() == dtype_of<A> && out.is_contiguous() ? out : Tensor::empty(out.sizes(), o);
  shift_and_scale(Planes{N, C, S, false}, y.ptr<A>(), x.ptr<A>(), k.get(), k.get() + N * C, k.get() + 2 * N * C, true);
  assign(out, y);
}
void group_norm_cpu(Tensor& out, Tensor& mean, Tensor& rstd, const Tensor& x, const Tensor& w, const Tensor& b, int64_t N, int64_t C, int64_t S, int64_t G,
                    double eps) {
  if (compute_type(x.dtype()) == DType::f64) group_forward<double>(out, mean, rstd, x, w, b, N, C, S, G, eps);
  else group_forward<float>(out, mean, rstd, x, w, b, N, C, S, G, eps);
}

template <class A>
std::array<Tensor, 3> group_backward(const Tensor& grad, const Tensor& input, const Tensor& mean, const Tensor& rstd, const Tensor& weight, int64_t N,
                                     int64_t C, int64_t S, int64_t G, Span<bool> mask) {
  using T = RowTree<A>;
  using V = Vec<A>;
  const Tensor x = computed<A>(input), g = computed<A>(grad), w = computed<A>(weight), m = computed<A>(mean), r = computed<A>(rstd);
  const int64_t D = C / G;
  const Options o{dtype_of<A>, Device()};
  // Each channel of each sample is a plane of its own: the sums of g and g (x - mean) within it.
  const Tensor sums = Tensor::empty({N, C}, o), dots = Tensor::empty({N, C}, o);
  std::unique_ptr<A[]> k(new A[size_t(4 * N * C)]);
  A *mu = k.get(), *a = mu + N * C, *b = a + N * C, *d = b + N * C, *sum = sums.ptr<A>(), *dot = dots.ptr<A>();
  for (int64_t u = 0; u < N * C; ++u) mu[u] = m.ptr<A>()[u / C * G + u % C / D];
  if (S == 0) std::fill_n(sum, N * C, A(0)), std::fill_n(dot, N * C, A(0));
  else if (N * C > 0) channel_sums<SingleSteps>(Planes{1, N * C, S, false}, g.ptr<A>(), x.ptr<A>(), mu, sum, dot);
  std::array<Tensor, 3> result;
  if (mask[0]) {
    const Tensor out = Tensor::empty(input.sizes(), o);
    for (int64_t u = 0; u < N * G; ++u) {
      const A rs = r.ptr<A>()[u], count = A(D * S);
      // The tree over the channels of a group.
      auto weighted = [&](const A* of) {
        return T::template total<folds::sum>(D, [&](V acc, int64_t j, int64_t n) {
          const V v = T::some(of + u * D + j, n);
          return acc + (w.defined() ? v * T::some(w.ptr<A>() + u % G * D + j, n) : v);
        }) + A(0);
      };
      const A s1 = weighted(sum), s2 = weighted(dot);
      for (int64_t j = 0; j < D; ++j) a[u * D + j] = w.defined() ? w.ptr<A>()[u % G * D + j] * rs : rs;
      for (int64_t j = 0; j < D; ++j) {
        b[u * D + j] = rs * (s2 * rs * rs / count);
        d[u * D + j] = rs * (s1 / count);
      }
    }
    if (x.numel()) combine_gradient<SingleSteps>(Planes{N, C, S, false}, out.ptr<A>(), g.ptr<A>(), x.ptr<A>(), mu, a, b, d, true);
    result[0] = out;
    const MemoryFormat format = input.suggested_format();
    if (input.dtype() != dtype_of<A> || format != MemoryFormat::contiguous) {
      result[0] = Tensor::empty_format(input.sizes(), input.options(), format);
      assign(result[0], out);
    }
  }
  const DType type = weight.defined() ? weight.dtype() : input.dtype();
  auto over_batch = [&](const Tensor& planes) {
    const Tensor t = Tensor::empty({C}, o);
    reduce_into(t, planes, uint64_t(1), sum_body(dtype_of<A>), sum_finish(dtype_of<A>));
    return in_type(t, type);
  };
  if (mask[1]) {
    for (int64_t u = 0; u < N * C; ++u) dot[u] *= r.ptr<A>()[u / D];
    result[1] = over_batch(dots);
  }
  if (mask[2]) result[2] = over_batch(sums);
  return result;
}
std::array<Tensor, 3> group_norm_backward_cpu(const Tensor& g, const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& w, int64_t N, int64_t C,
                                              int64_t S, int64_t G, Span<bool> mask) {
  return compute_type(x.dtype()) == DType::f64 ? group_backward<double>(g, x, mean, rstd, w, N, C, S, G, mask)
                                               : group_backward<float>(g, x, mean, rstd, w, N, C, S, G, mask);
}

}  // namespace

FB_KERNEL("native_batch_norm", batch_norm_cpu)
FB_KERNEL_DIRECT("native_batch_norm_backward", batch_norm_backward_cpu)
FB_KERNEL("native_group_norm", group_norm_cpu)
FB_KERNEL_DIRECT("native_group_norm_backward", group_norm_backward_cpu)

}  // namespace fb
