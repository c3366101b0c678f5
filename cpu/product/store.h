// The end of a product: scale, add, round, write.
#pragma once
#include "cpu/product/engine.h"

namespace fb::product {

// Element (i, j) of a strided matrix: out = alpha * sum + beta * add.
template <class D, class Real>
struct MatrixStore {
  D* out;
  int64_t i_stride, j_stride;
  const D* add;
  int64_t add_i, add_j;
  Real alpha, beta;
};

template <class D, class Real>
inline D finish(Real v, const D* add, Real alpha, Real beta) {
  if (alpha != Real(1)) v = alpha * v;
  if (add) v = beta == Real(1) ? v + widen(*add) : fma1(beta, widen(*add), v);
  return narrow<D>(v);
}

// A row of consecutive elements, plus a vector or one value, in the common case without scales.
// Returns the number of elements done.
template <class D, class Real>
inline int store_row(D* to, const Real* sums, const D* add, int64_t add_step, int cols) {
  using V = Vec<Real>;
  int c = 0;
  const Real one = add && !add_step ? widen(*add) : Real(0);
  for (; c + V::width <= cols; c += V::width) {
    typename V::type v = V::load(sums + c);
    if (add) v = v + (add_step ? load_wide(add + c) : V::splat(&one));
    store_narrow(to + c, v);
  }
  return c;
}

template <class D, class Real>
void store_matrix(const void* target, const Real* tile, int64_t i0, int rows, int64_t j0,
                  int cols) {
  constexpr int panel = RealTiles<Real>::panel;
  const MatrixStore<D, Real>& s = *static_cast<const MatrixStore<D, Real>*>(target);
  for (int r = 0; r < rows; ++r) {
    D* d = s.out + (i0 + r) * s.i_stride + j0 * s.j_stride;
    const Real* t = tile + r * panel;
    const D* a = s.add ? s.add + (i0 + r) * s.add_i + j0 * s.add_j : nullptr;
    if (s.j_stride == 1 && s.alpha == Real(1) &&
        (!a || (s.beta == Real(1) && (s.add_j == 0 || s.add_j == 1)))) {
      for (int c = store_row(d, t, a, s.add_j, cols); c < cols; ++c)
        d[c] = narrow<D>(a ? t[c] + widen(a[c * s.add_j]) : t[c]);
      continue;
    }
    for (int c = 0; c < cols; ++c)
      d[c * s.j_stride] = finish(t[c], a ? a + c * s.add_j : nullptr, s.alpha, s.beta);
  }
}

template <class Real>
struct ComplexStore {
  Complex<Real>* out;
  int64_t i_stride, j_stride;
  const Complex<Real>* add;
  int64_t add_i, add_j;
  Complex<Real> alpha, beta;
};

template <class Real>
void store_complex(const void* target, const Real* tile, int64_t i0, int rows, int64_t j0,
                   int cols) {
  constexpr int panel = ComplexTiles<Real>::panel, W = Vec<Real>::width;
  const ComplexStore<Real>& s = *static_cast<const ComplexStore<Real>*>(target);
  const bool plain = s.j_stride == 1 && cols == W && !s.add && s.alpha == Complex<Real>(1);
  for (int r = 0; r < rows; ++r) {
    if (plain) {
      Real* to = reinterpret_cast<Real*>(s.out + (i0 + r) * s.i_stride + j0);
      Vec<Real>::join(to, Vec<Real>::load(tile + r * panel), Vec<Real>::load(tile + r * panel + W));
      continue;
    }
    for (int c = 0; c < cols; ++c) {
      Complex<Real> v(tile[r * panel + c], tile[r * panel + W + c]);
      if (s.alpha != Complex<Real>(1)) v = s.alpha * v;
      if (s.add) {
        const Complex<Real> x = s.add[(i0 + r) * s.add_i + (j0 + c) * s.add_j];
        v = v + (s.beta == Complex<Real>(1) ? x : s.beta * x);
      }
      s.out[(i0 + r) * s.i_stride + (j0 + c) * s.j_stride] = v;
    }
  }
}

}  // namespace fb::product
