// The register tile: rows × (two vectors) of sums, each one chain of fused multiply-adds over k.
#pragma once
#include "cpu/product/vec.h"

namespace fb::product {

// A chain has at most this many products; longer sums are blocks folded by a balanced tree. The
// value is part of the result's definition: changing it changes bits.
template <class Real>
inline constexpr int64_t block_length = 256;
template <>
inline constexpr int64_t block_length<float> = 512;

// One block of one tile. A(r, k) = a[r * a_row + k * a_step]; b walks by b_step. `merge` are the
// tree's pending sums (tiles of the same shape, rows 2 vectors apart), folded from the youngest to
// the oldest.
template <class Real>
struct TileCall {
  int64_t k;
  const Real* a;
  int64_t a_row, a_step;
  const Real* b;
  int64_t b_step;
  const Real* const* merge;
  int merges;
  Real* out;
  int64_t out_row;
};

#define FB_UNROLL _Pragma("GCC unroll 16")

// Real types: rows sums of NV vectors. With Packed, A is a panel [k][rows].
template <class Real, int rows, int NV, bool Packed>
void real_tile(const TileCall<Real>& c) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  typename V::type acc[rows][NV];
  FB_UNROLL for (int r = 0; r < rows; ++r) FB_UNROLL for (int v = 0; v < NV; ++v) acc[r][v] =
      V::zero();
  // What is read and written after the chain is fetched meanwhile.
  FB_UNROLL for (int r = 0; r < rows; ++r) {
    __builtin_prefetch(c.out + r * c.out_row, 1);
    if (c.merges) __builtin_prefetch(c.merge[0] + r * 2 * W);
  }
  const Real *a = c.a, *b = c.b;
  const int64_t a_row = Packed ? 1 : c.a_row, a_step = Packed ? rows : c.a_step, b_step = c.b_step;
  for (int64_t k = c.k; k > 0; --k) {
    typename V::type bv[NV];
    FB_UNROLL for (int v = 0; v < NV; ++v) bv[v] = V::load(b + v * W);
    FB_UNROLL for (int r = 0; r < rows; ++r) {
      const typename V::type av = V::splat(a + r * a_row);
      FB_UNROLL for (int v = 0; v < NV; ++v) acc[r][v] = V::fma(av, bv[v], acc[r][v]);
    }
    a += a_step;
    b += b_step;
  }
  for (int i = 0; i < c.merges; ++i) {
    const Real* t = c.merge[i];
    FB_UNROLL for (int r = 0; r < rows; ++r) FB_UNROLL for (int v = 0; v < NV; ++v) acc[r][v] =
        V::load(t + (r * 2 + v) * W) + acc[r][v];
  }
  Real* out = c.out;
  FB_UNROLL for (int r = 0; r < rows; ++r) FB_UNROLL for (int v = 0; v < NV; ++v)
      V::store(out + r * c.out_row + v * W, acc[r][v]);
}

// Complex types: A is [k][rows][re, im]; B and the sums are one vector of real parts, then one of
// imaginary parts. Each product is re += ar br, re -= ai bi, im += ar bi, im += ai br, in that
// order.
template <class Real, int rows>
void complex_tile(const TileCall<Real>& c) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  typename V::type re[rows], im[rows];
  FB_UNROLL for (int r = 0; r < rows; ++r) re[r] = im[r] = V::zero();
  const Real *a = c.a, *b = c.b;
  for (int64_t k = c.k; k > 0; --k) {
    const typename V::type br = V::load(b), bi = V::load(b + W);
    FB_UNROLL for (int r = 0; r < rows; ++r) {
      const typename V::type ar = V::splat(a + 2 * r);
      re[r] = V::fma(ar, br, re[r]);
      im[r] = V::fma(ar, bi, im[r]);
      const typename V::type ai = V::splat(a + 2 * r + 1);
      re[r] = V::fnma(ai, bi, re[r]);
      im[r] = V::fma(ai, br, im[r]);
    }
    a += 2 * rows;
    b += c.b_step;
  }
  for (int i = 0; i < c.merges; ++i) {
    const Real* t = c.merge[i];
    FB_UNROLL for (int r = 0; r < rows; ++r) {
      re[r] = V::load(t + r * 2 * W) + re[r];
      im[r] = V::load(t + (r * 2 + 1) * W) + im[r];
    }
  }
  FB_UNROLL for (int r = 0; r < rows; ++r) {
    V::store(c.out + r * c.out_row, re[r]);
    V::store(c.out + r * c.out_row + W, im[r]);
  }
}
#undef FB_UNROLL

// What the engine knows of a kernel set. `unit` is the number of reals in an element; a panel of B
// and a row of a tile are `panel` reals wide and hold `columns` elements.
template <class R>
struct RealTiles {
  using Real = R;
  static constexpr int unit = 1, rows = 6, panel = 2 * Vec<R>::width, columns = panel;
  using Fn = void (*)(const TileCall<R>&);
  template <bool Packed>
  static Fn pick(int r, bool narrow) {
    static constexpr Fn table[2][6] = {
        {real_tile<R, 1, 2, Packed>, real_tile<R, 2, 2, Packed>, real_tile<R, 3, 2, Packed>,
         real_tile<R, 4, 2, Packed>, real_tile<R, 5, 2, Packed>, real_tile<R, 6, 2, Packed>},
        {real_tile<R, 1, 1, Packed>, real_tile<R, 2, 1, Packed>, real_tile<R, 3, 1, Packed>,
         real_tile<R, 4, 1, Packed>, real_tile<R, 5, 1, Packed>, real_tile<R, 6, 1, Packed>}};
    return table[narrow][r - 1];
  }
  static Fn tile(int r, int cols, bool packed) {
    const bool narrow = cols <= Vec<R>::width;
    return packed ? pick<true>(r, narrow) : pick<false>(r, narrow);
  }
};

template <class R>
struct ComplexTiles {
  using Real = R;
  static constexpr int unit = 2, rows = 6, panel = 2 * Vec<R>::width, columns = Vec<R>::width;
  using Fn = void (*)(const TileCall<R>&);
  static Fn tile(int r, int, bool) {
    static constexpr Fn table[6] = {complex_tile<R, 1>, complex_tile<R, 2>, complex_tile<R, 3>,
                                    complex_tile<R, 4>, complex_tile<R, 5>, complex_tile<R, 6>};
    return table[r - 1];
  }
};

}  // namespace fb::product
