// The product of one pair of real matrices, as every real element type instantiates it.
#pragma once
#include "cpu/product/gemm_batch.h"
#include "cpu/product/matvec.h"
#include "cpu/product/store.h"

namespace fb::product {

// Cycles per k step of an m × n product by register tiles: two fused multiply-adds a cycle, each
// with a latency of four cycles, so tiles of less than four rows wait.
inline double tile_cost(int64_t m, int64_t n) {
  const int64_t panels = (m + 5) / 6;
  const double rows = double(m) / double(panels);
  return double(panels) * std::max(4.0, rows) * double((n + 15) / 16);
}

template <class T, class Real>
void set_operand(Operand<Real>& o, const Strided<T>& s) {
  o.pack = pack_strided<T, Real>;
  o.source = &s;
  if constexpr (std::is_same_v<T, Real>) o.direct = s.p;
  o.i_stride = s.i_stride;
  o.k_stride = s.k_stride;
}

template <class T>
void multiply_one(const Gemm<T>& g, const Item<T>& x) {
  using Real = typename ChainType<T>::type;
  int64_t m = g.m, n = g.n;
  Strided<T> a{x.a, g.a_row, g.a_col}, b{x.b, g.b_col, g.b_row};
  MatrixStore<T, Real> store{x.c,       g.c_row,   g.c_col, g.beta == Real(0) ? nullptr : x.add,
                             g.add_row, g.add_col, g.alpha, g.beta};
  // Columns are the lanes: the transposed product is taken where its tiles fit better. The product
  // of two reals commutes, so the bits are the same.
  const double as_is = tile_cost(m, n), turned = tile_cost(n, m);
  const bool turn = m != 1 && n == 1               ? true
                    : g.c_col != 1 && g.c_row == 1 ? turned < as_is * 1.3
                                                   : turned * 1.3 < as_is;
  if (turn) {
    std::swap(m, n);
    std::swap(a, b);
    std::swap(store.i_stride, store.j_stride);
    std::swap(store.add_i, store.add_j);
  }
  Problem<Real> p;
  p.m = m;
  p.n = n;
  p.k = g.k;
  set_operand<T, Real>(p.a, a);
  set_operand<T, Real>(p.b, b);
  p.out.store = store_matrix<T, Real>;
  p.out.target = &store;
  if constexpr (std::is_same_v<T, Real>) {
    if (store.j_stride == 1 && store.alpha == Real(1) && !store.add) {
      p.out.direct = store.out;
      p.out.i_stride = store.i_stride;
    }
  }
  if (m == 1 && matvec<T, Real>(b.p, b.i_stride, b.k_stride, n, p.k, a.p, a.k_stride, p.out))
    return;
  multiply(p);
}

}  // namespace fb::product
