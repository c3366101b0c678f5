// Loops of one fold over one compute type, as entries of a ReduceBody. Vectors where there are vectors of A, else scalars.
#pragma once
#include <algorithm>
#include <cstring>

#include "cpu/loops/reduce.h"
#include "cpu/simd/vec.h"
#include "ops/reduce/folds.h"
#include "ops/reduce/tree.h"

namespace fb {

template <class A> struct reduce_vector { using type = Vec<A>; static constexpr int lanes = Vec<A>::lanes; };
template <class T> struct reduce_vector<Complex<T>> { using type = Complex<T>; static constexpr int lanes = 1; };

template <class F, class A> struct ReduceLoops {
  using V = typename reduce_vector<A>::type;
  static constexpr int L = reduce_vector<A>::lanes, NV = tree::lanes / L;

  FB_SIMD static V load_v(const A* p) {
    if constexpr (L == 1) return *p;
    else return load(p);
  }
  FB_SIMD static V load_v(const A* p, int n) {
    if constexpr (L == 1) return *p;
    else return load(p, n);
  }
  FB_SIMD static void store_v(A* p, V v) {
    if constexpr (L == 1) *p = v;
    else store(p, v);
  }
  FB_SIMD static void store_v(A* p, V v, int n) {
    if constexpr (L == 1) *p = v;
    else store(p, v, n);
  }
  FB_SIMD static V spread(A a) {
    if constexpr (L == 1) return a;
    else return V(a);
  }
  FB_SIMD static V step(V a, V x, V p) {
    if constexpr (F::param) return F::step(a, x, p);
    else return F::step(a, x);
  }
  FB_SIMD static V first_lanes(int n, V a, V b) {  // a in the first n lanes
    if constexpr (L == 1) return a;
    else if constexpr (L == 8) return select(Mask<4>((Mask<4>::raw)lane_mask32(n)), a, b);
    else return select(Mask<8>((Mask<8>::raw)lane_mask64(n)), a, b);
  }
  // Lane 0 of what is left when every lane takes the one h further, h = 16, 8, 4, 2, 1.
  FB_SIMD static A fold_registers(V (&a)[NV]) {
#pragma GCC unroll 8
    for (int w = NV / 2; w; w /= 2)
#pragma GCC unroll 32
      for (int v = 0; v < w; ++v) a[v] = F::combine(a[v], a[v + w]);
    if constexpr (L == 1) return a[0];
    else {
      using raw = typename V::raw;
      V x = a[0];
      if constexpr (L == 8) {
        using index = typename raw_vector<int32_t>::type;
        x = F::combine(x, V(__builtin_shuffle((raw)x.v, index{4, 5, 6, 7, 0, 1, 2, 3})));
        x = F::combine(x, V(__builtin_shuffle((raw)x.v, index{2, 3, 0, 1, 6, 7, 4, 5})));
        x = F::combine(x, V(__builtin_shuffle((raw)x.v, index{1, 0, 3, 2, 5, 4, 7, 6})));
      } else {
        using index = typename raw_vector<int64_t>::type;
        x = F::combine(x, V(__builtin_shuffle((raw)x.v, index{2, 3, 0, 1})));
        x = F::combine(x, V(__builtin_shuffle((raw)x.v, index{1, 0, 3, 2})));
      }
      return x[0];
    }
  }
  FB_SIMD static void add_run(V (&a)[NV], const A* p, int64_t n, V q) {
    int64_t i = 0;
    for (; i + tree::lanes <= n; i += tree::lanes) {
#pragma GCC unroll 32
      for (int v = 0; v < NV; ++v) a[v] = step(a[v], load_v(p + i + v * L), q);
    }
    const int64_t rest = n - i;
    if (rest == 0) return;
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) {
      const int64_t r = rest - v * L;
      if (r >= L) a[v] = step(a[v], load_v(p + i + v * L), q);
      else if (r > 0) a[v] = first_lanes(int(r), step(a[v], load_v(p + i + v * L, int(r)), q), a[v]);
    }
  }
  // The same as a call: its text stands once in the object.
  [[gnu::noinline]] static void add_chunk(V (&a)[NV], const A* p, int64_t n, V q) { add_run(a, p, n, q); }
  static A one_row(const A* p, int64_t n, V q) {
    V a[NV];
#pragma GCC unroll 32
    for (int v = 0; v < NV; ++v) a[v] = F::template identity<V>();
    add_run(a, p, n, q);
    return fold_registers(a);
  }

  template <int64_t K, class P> FB_SIMD static void several_rows(A* out, const A* x, int64_t stride, int64_t n, P param_of) {
    V a[K][NV];
#pragma GCC unroll 8
    for (int64_t k = 0; k < K; ++k)
#pragma GCC unroll 32
      for (int v = 0; v < NV; ++v) a[k][v] = F::template identity<V>();
    const int64_t whole = n - n % tree::lanes;
    for (int64_t i = 0; i < whole; i += tree::lanes)
#pragma GCC unroll 8
      for (int64_t k = 0; k < K; ++k)
#pragma GCC unroll 32
        for (int v = 0; v < NV; ++v) a[k][v] = step(a[k][v], load_v(x + k * stride + i + v * L), param_of(k));
    for (int64_t k = 0; k < K; ++k) {
      if (whole < n) add_chunk(a[k], x + k * stride + whole, n - whole, param_of(k));
      out[k] = fold_registers(a[k]);
    }
  }

  static void rows(void* out, const void* p, int64_t stride, int64_t rows, int64_t n, const void* param, int64_t param_step) {
    A* o = static_cast<A*>(out);
    const A* x = static_cast<const A*>(p);
    const A* q = static_cast<const A*>(param);
    auto param_of = [&](int64_t r) {
      if constexpr (F::param) return spread(q[r * param_step]);
      else return F::template identity<V>();
    };
    // Long rows are read several at a time, 32 elements of each in turn, as many as the registers hold the lanes of: memory
    // serves several streams faster than one.
    constexpr int64_t kTogether = L == 1 ? 1 : 16 / NV;
    int64_t r = 0;
    if constexpr (kTogether > 1)
      for (; n >= 8 * tree::lanes && r + kTogether <= rows; r += kTogether, x += kTogether * stride)
        several_rows<kTogether>(o + r, x, stride, n, [&](int64_t k) { return param_of(r + k); });
    for (; r < rows; ++r, x += stride) o[r] = one_row(x, n, param_of(r));
  }
  static void run(void* lanes, const void* p, int64_t n, const void* param) {
    A* l = static_cast<A*>(lanes);
    V a[NV];
    for (int v = 0; v < NV; ++v) a[v] = load_v(l + v * L);
    V w = F::template identity<V>();
    if constexpr (F::param) w = spread(*static_cast<const A*>(param));
    add_chunk(a, static_cast<const A*>(p), n, w);
    for (int v = 0; v < NV; ++v) store_v(l + v * L, a[v]);
  }
  // The same lane of up to R rows that lie 32 apart, so that an accumulator is read and written once for them.
  template <int R> FB_SIMD static void add_rows(A* acc, int64_t m, const A* x, int64_t apart, const A* param) {
    int64_t j = 0;
    for (; j + L <= m; j += L) {
      V a = load_v(acc + j), w = a;
      if constexpr (F::param) w = load_v(param + j);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) a = step(a, load_v(x + r * apart + j), w);
      store_v(acc + j, a);
    }
    if (j < m) {
      const int n = int(m - j);
      V a = load_v(acc + j, n), w = a;
      if constexpr (F::param) w = load_v(param + j, n);
      for (int r = 0; r < R; ++r) a = step(a, load_v(x + r * apart + j, n), w);
      store_v(acc + j, a, n);
    }
  }
  static void columns(void* accumulators, int64_t width, int64_t m, const void* p, int64_t stride, int64_t rows, int64_t first, const void* param) {
    A* acc = static_cast<A*>(accumulators);
    const A* x = static_cast<const A*>(p);
    const A* q = static_cast<const A*>(param);
    int64_t r = 0;
    for (; r + 4 * tree::lanes <= rows; r += 4 * tree::lanes)
      for (int64_t l = 0; l < tree::lanes; ++l)
        add_rows<4>(acc + (first + l) % tree::lanes * width, m, x + (r + l) * stride, tree::lanes * stride, q);
    for (; r < rows; ++r) add_rows<1>(acc + (first + r) % tree::lanes * width, m, x + r * stride, 0, q);
  }
  static void clear(void* acc, int64_t n) {
    A* a = static_cast<A*>(acc);
    const A v = [] {
      if constexpr (L == 1) return F::template identity<A>();
      else return F::template identity<A>();
    }();
    for (int64_t i = 0; i < n; ++i) a[i] = v;
  }
  FB_SIMD static void combine_rows(A* a, const A* b, int64_t m) {
    int64_t j = 0;
    for (; j + L <= m; j += L) store_v(a + j, F::combine(load_v(a + j), load_v(b + j)));
    for (; j < m; ++j) a[j] = F::combine(a[j], b[j]);
  }
  static void fold(void* accumulators, int64_t width, int64_t m, int64_t lanes, void* out) {
    A* acc = static_cast<A*>(accumulators);
    for (int64_t w = tree::lanes / 2; w; w /= 2)
      for (int64_t l = 0; l < w && l + w < lanes; ++l) combine_rows(acc + l * width, acc + (l + w) * width, m);
    std::memcpy(out, static_cast<const void*>(acc), size_t(m) * sizeof(A));
  }
  static void tree_of_blocks(void* partial, int64_t blocks, int64_t m) {
    A* p = static_cast<A*>(partial);
    for (int64_t gap = 1; gap < blocks; gap *= 2)
      for (int64_t b = 0; b + gap < blocks; b += 2 * gap) combine_rows(p + b * m, p + (b + gap) * m, m);
  }
};

template <class F, class A>
inline constexpr ReduceBody reduce_body_of{dtype_of<A>, false, false, F::param, &ReduceLoops<F, A>::rows, &ReduceLoops<F, A>::run,
                                           &ReduceLoops<F, A>::columns, &ReduceLoops<F, A>::clear, &ReduceLoops<F, A>::fold,
                                           &ReduceLoops<F, A>::tree_of_blocks};

}  // namespace fb
