// Packing of strided matrices into panels [k][width] of the type that the chain is computed in.
#pragma once
#include <algorithm>

#include "core/complex.h"
#include "cpu/product/vec.h"

namespace fb::product {

// One operand, seen as free index i × summed index k. `pack` fills ceil(rows / width) panels for
// rows [i0, i0 + rows) and k in [k0, k0 + kn), each kn * width elements; missing rows are zeros.
template <class Real>
struct Operand {
  using Pack = void (*)(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn,
                        int width, Real* to);
  Pack pack = nullptr;
  const void* source = nullptr;
  // Where the elements lie as Reals with two strides, kernels may read them in place.
  const Real* direct = nullptr;
  int64_t i_stride = 0, k_stride = 0;
};

// Element (i, k) at p[i * i_stride + k_offset(k)], with k_offset(k) = k * k_stride, or a table.
template <class S>
struct Strided {
  const S* p;
  int64_t i_stride, k_stride;
  const int64_t* k_table = nullptr;
  bool conj = false;
};

template <int lanes, class Real>
inline void put(Real* to, const Real* from) {
  std::memcpy(to, from, lanes * sizeof(Real));
}

// Panels whose k is contiguous in memory: W × W blocks are transposed in registers.
template <int width, class S, class Real>
void pack_k_contiguous(const S* p, int64_t i_stride, int64_t rows, int64_t kn, Real* to) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  int64_t k = 0;
  for (; k + W <= kn; k += W) {
    if (k * sizeof(S) % 64 == 0)
      for (int r = 0; r < std::min<int64_t>(rows, width); ++r)
        __builtin_prefetch(p + r * i_stride + k + 256 / sizeof(S));
    auto group = [&]<int first>() {
      constexpr int lanes = std::min(W, width - first);
      typename V::type v[W];
      if (rows >= first + lanes) {
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r)
          v[r] = r < lanes ? load_wide(p + (first + r) * i_stride + k) : V::zero();
      } else {
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r)
          v[r] = first + r < rows ? load_wide(p + (first + r) * i_stride + k) : V::zero();
      }
      V::transpose(v);
#pragma GCC unroll 8
      for (int j = 0; j < W; ++j) {
        Real* d = to + (k + j) * width + first;
        if constexpr (lanes == W) {
          V::store(d, v[j]);
        } else {
          alignas(64) Real t[W];
          V::store(t, v[j]);
          put<lanes>(d, t);
        }
      }
    };
    group.template operator()<0>();
    if constexpr (width > W) group.template operator()<W>();
  }
  for (; k < kn; ++k)
    for (int r = 0; r < width; ++r)
      to[k * width + r] = r < rows ? widen(p[r * i_stride + k]) : Real(0);
}

// Panels whose free index is contiguous: rows of k are copied.
template <int width, class S, class Real>
void pack_i_contiguous(const S* p, int64_t k_stride, int64_t rows, int64_t kn, Real* to) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  const int64_t full = rows / width, rest = rows % width;
  for (int64_t k = 0; k < kn; ++k) {
    const S* q = p + k * k_stride;
    Real* d = to + k * width;
    for (int64_t f = 0; f < full; ++f, q += width, d += kn * width) {
      __builtin_prefetch(
          q + 8 * k_stride);  // rows may be pages apart, where the hardware sees no stream
      if constexpr (width % W == 0) {
#pragma GCC unroll 4
        for (int r = 0; r < width; r += W) V::store(d + r, load_wide(q + r));
      } else {
#pragma GCC unroll 8
        for (int r = 0; r < width; ++r) d[r] = widen(q[r]);
      }
    }
    if (rest) {
      __builtin_prefetch(q + 8 * k_stride);
      int r = 0;
      if (width % W == 0 && rest >= W) {
        V::store(d, load_wide(q));
        r = W;
      }
      for (; r < rest; ++r) d[r] = widen(q[r]);
      for (int r = int(rest); r < width; ++r) d[r] = 0;
    }
  }
}

template <int width, class S, class Real>
void pack_any(const Strided<S>& s, int64_t i0, int64_t rows, int64_t k0, int64_t kn, Real* to) {
  const S* p = s.p + i0 * s.i_stride;
  if (s.k_table) {
    // Runs of consecutive offsets (the pixels of one image, the taps of one kernel) go the fast
    // way.
    for (int64_t k = 0; k < kn;) {
      const int64_t* t = s.k_table + k0 + k;
      int64_t run = 1;
      while (k + run < kn && t[run] == t[0] + run) ++run;
      for (int64_t i = 0; i < rows; i += width) {
        Real* d = to + i * kn + k * width;
        const int64_t n = std::min<int64_t>(width, rows - i);
        if (run >= Vec<Real>::width) {
          pack_k_contiguous<width>(p + i * s.i_stride + t[0], s.i_stride, n, run, d);
        } else {
          for (int64_t j = 0; j < run; ++j)
            for (int r = 0; r < width; ++r)
              d[j * width + r] = r < n ? widen(p[(i + r) * s.i_stride + t[j]]) : Real(0);
        }
      }
      k += run;
    }
    return;
  }
  p += k0 * s.k_stride;
  if (s.i_stride == 1) return pack_i_contiguous<width>(p, s.k_stride, rows, kn, to);
  for (int64_t i = 0; i < rows; i += width, to += kn * width) {
    const int64_t n = std::min<int64_t>(width, rows - i);
    const S* q = p + i * s.i_stride;
    if (s.k_stride == 1) {
      pack_k_contiguous<width>(q, s.i_stride, n, kn, to);
    } else {
      for (int64_t k = 0; k < kn; ++k)
        for (int r = 0; r < width; ++r)
          to[k * width + r] = r < n ? widen(q[r * s.i_stride + k * s.k_stride]) : Real(0);
    }
  }
}

template <class S, class Real>
void pack_strided(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
                  Real* to) {
  const Strided<S>& s = *static_cast<const Strided<S>*>(source);
  switch (width) {
    case 1:
      return pack_any<1>(s, i0, rows, k0, kn, to);
    case 2:
      return pack_any<2>(s, i0, rows, k0, kn, to);
    case 3:
      return pack_any<3>(s, i0, rows, k0, kn, to);
    case 4:
      return pack_any<4>(s, i0, rows, k0, kn, to);
    case 5:
      return pack_any<5>(s, i0, rows, k0, kn, to);
    case 6:
      return pack_any<6>(s, i0, rows, k0, kn, to);
    default:
      return pack_any<2 * Vec<Real>::width>(s, i0, rows, k0, kn, to);
  }
}

// Complex panels: the left operand keeps pairs [k][rows][re, im]; the right one is split into
// planes [k][re..., im...].
template <class Real>
void pack_complex(const void* source, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
                  Real* to, bool planes) {
  const Strided<Complex<Real>>& s = *static_cast<const Strided<Complex<Real>>*>(source);
  const Real sign = s.conj ? Real(-1) : Real(1);
  for (int64_t i = 0; i < rows; i += width, to += 2 * kn * width) {
    const int64_t n = std::min<int64_t>(width, rows - i);
    const Complex<Real>* q = s.p + (i0 + i) * s.i_stride;
    for (int64_t k = 0; k < kn; ++k) {
      const Complex<Real>* z = q + (s.k_table ? s.k_table[k0 + k] : (k0 + k) * s.k_stride);
      Real* d = to + 2 * k * width;
      if (planes && s.i_stride == 1 && n == Vec<Real>::width) {
        typename Vec<Real>::type re, im;
        Vec<Real>::split(reinterpret_cast<const Real*>(z), &re, &im);
        Vec<Real>::store(d, re);
        Vec<Real>::store(d + width, im * sign);
        continue;
      }
      const int im = planes ? width : 1, step = planes ? 1 : 2;
      for (int r = 0; r < width; ++r) {
        const Complex<Real> x = r < n ? z[r * s.i_stride] : Complex<Real>();
        d[r * step] = x.re;
        d[r * step + im] = x.im * sign;
      }
    }
  }
}
template <class Real>
void pack_complex_left(const void* s, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
                       Real* to) {
  pack_complex<Real>(s, i0, rows, k0, kn, width, to, false);
}
template <class Real>
void pack_complex_right(const void* s, int64_t i0, int64_t rows, int64_t k0, int64_t kn, int width,
                        Real* to) {
  pack_complex<Real>(s, i0, rows, k0, kn, width, to, true);
}

}  // namespace fb::product
