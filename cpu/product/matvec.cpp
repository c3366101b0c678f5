#include "cpu/product/matvec.h"

namespace fb::product {
namespace {

constexpr int64_t elements_per_task = 1 << 16;

// Adds block sums to the tree kept in levels of `size` reals; see Engine::task for the rule.
template <class Real>
void fold_block(Real* levels, int64_t size, int64_t index, bool last, Real* sums) {
  const int pending = std::popcount(uint64_t(index));
  const int merges = last ? pending : std::countr_one(uint64_t(index));
  for (int d = 0; d < merges; ++d) {
    const Real* t = levels + (pending - 1 - d) * size;
    for (int64_t i = 0; i < size; ++i) sums[i] = t[i] + sums[i];
  }
  if (!last) std::memcpy(levels + (pending - merges) * size, sums, size_t(size) * sizeof(Real));
}

// Rows contiguous in k: a group of rows is read W × W elements at a time and transposed, so that
// the outputs are the lanes. Whole cache lines of a row are read together: rows a power of two
// apart share the cache's sets, and a line left half read might be gone.
template <int rows, class S, class Real>
void rows_along_k(const S* m, int64_t j_stride, int64_t j0, int64_t j1, int64_t k, const Real* x,
                  const Output<Real>& out) {
  using V = Vec<Real>;
  constexpr int W = V::width, groups = rows / W, line = 64 / sizeof(S), ahead = 256 / sizeof(S);
  constexpr int64_t block = block_length<Real>;
  const int64_t blocks = (k + block - 1) / block;
  Real levels[64 * rows];
  for (int64_t j = j0; j < j1; j += rows) {
    const int n = int(std::min<int64_t>(rows, j1 - j));
    const S* row[rows];
    for (int r = 0; r < rows; ++r) row[r] = m + (j + std::min(r, n - 1)) * j_stride;
    alignas(64) Real sums[rows];
    for (int64_t q = 0; q < blocks; ++q) {
      const int64_t end = std::min(k, (q + 1) * block);
      typename V::type acc[groups];
#pragma GCC unroll 4
      for (int g = 0; g < groups; ++g) acc[g] = V::zero();
      auto square = [&](int g, int64_t i) __attribute__((always_inline)) {
        typename V::type v[W];
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r) v[r] = load_wide(row[g * W + r] + i);
        V::transpose(v);
#pragma GCC unroll 8
        for (int r = 0; r < W; ++r) acc[g] = V::fma(V::splat(x + i + r), v[r], acc[g]);
      };
      int64_t i = q * block;
      for (; i + line <= end; i += line) {
#pragma GCC unroll 4
        for (int g = 0; g < groups; ++g) {
#pragma GCC unroll 8
          for (int r = 0; r < W; ++r) __builtin_prefetch(row[g * W + r] + i + ahead);
#pragma GCC unroll 4
          for (int l = 0; l < line; l += W) square(g, i + l);
        }
      }
      for (; i + W <= end; i += W)
#pragma GCC unroll 4
        for (int g = 0; g < groups; ++g) square(g, i);
#pragma GCC unroll 4
      for (int g = 0; g < groups; ++g) V::store(sums + g * W, acc[g]);
      for (; i < end; ++i)
        for (int r = 0; r < rows; ++r) sums[r] = fma1(x[i], widen(row[r][i]), sums[r]);
      fold_block(levels, int64_t(rows), q, q + 1 == blocks, sums);
    }
    out.store(out.target, sums, 0, 1, j, n);
  }
}

// Rows of k contiguous in j: several rows at a time are added to a strip of outputs.
template <class S, class Real>
void strips_along_j(const S* m, int64_t k_stride, int64_t j0, int64_t j1, int64_t k, const Real* x,
                    const Output<Real>& out) {
  using V = Vec<Real>;
  constexpr int W = V::width;
  constexpr int64_t block = block_length<Real>;
  const int64_t blocks = (k + block - 1) / block, n = j1 - j0;
  const int64_t levels_count = std::bit_width(uint64_t(blocks - 1));
  Real* sums = scratch<Real>(Slot::sums, (levels_count + 1) * n);
  Real* levels = sums + n;
  for (int64_t q = 0; q < blocks; ++q) {
    const int64_t end = std::min(k, (q + 1) * block);
    std::memset(sums, 0, size_t(n) * sizeof(Real));
    auto rows = [&]<int count>(int64_t i) {
      const S* p = m + i * k_stride + j0;
      typename V::type xv[count];
#pragma GCC unroll 8
      for (int r = 0; r < count; ++r) xv[r] = V::splat(x + i + r);
      int64_t j = 0;
      for (; j + 2 * W <= n; j += 2 * W) {
        typename V::type acc = V::load(sums + j), next = V::load(sums + j + W);
#pragma GCC unroll 8
        for (int r = 0; r < count; ++r) {
          acc = V::fma(xv[r], load_wide(p + r * k_stride + j), acc);
          next = V::fma(xv[r], load_wide(p + r * k_stride + j + W), next);
        }
        V::store(sums + j, acc);
        V::store(sums + j + W, next);
      }
      for (; j + W <= n; j += W) {
        typename V::type acc = V::load(sums + j);
#pragma GCC unroll 8
        for (int r = 0; r < count; ++r) acc = V::fma(xv[r], load_wide(p + r * k_stride + j), acc);
        V::store(sums + j, acc);
      }
      for (; j < n; ++j)
        for (int r = 0; r < count; ++r)
          sums[j] = fma1(x[i + r], widen(p[r * k_stride + j]), sums[j]);
    };
    int64_t i = q * block;
    for (; i + 8 <= end; i += 8) rows.template operator()<8>(i);
    for (; i < end; ++i) rows.template operator()<1>(i);
    fold_block(levels, n, q, q + 1 == blocks, sums);
  }
  constexpr int64_t step = RealTiles<Real>::panel;
  for (int64_t j = 0; j < n; j += step)
    out.store(out.target, sums + j, 0, 1, j0 + j, int(std::min(step, n - j)));
}

// Few outputs: the lanes are k blocks.
template <class S, class Real>
void blocks_as_lanes(const S* m, int64_t j_stride, int64_t n, int64_t k, const Real* x,
                     const Output<Real>& out) {
  using V = Vec<Real>;
  constexpr int W = V::width, groups = 4;
  constexpr int64_t block = block_length<Real>, lanes = groups * W;
  const int64_t full = k / block, blocks = (k + block - 1) / block;
  Real* sums = scratch<Real>(Slot::sums, n * blocks + lanes);
  const int64_t sets = (full + lanes - 1) / lanes;
  parallel_for(0, n * sets, std::max<int64_t>(1, elements_per_task / (lanes * block)),
               [&](int64_t lo, int64_t hi) {
                 for (int64_t t = lo; t < hi; ++t) {
                   const int64_t j = t / sets, q0 = t % sets * lanes;
                   const S* row = m + j * j_stride;
                   for (int g = 0; g < groups && q0 + g * W < full; g += 2) {
                     typename V::type acc[2] = {V::zero(), V::zero()};
                     const int64_t last = full - 1;
                     for (int64_t i = 0; i < block; i += W) {
#pragma GCC unroll 2
                       for (int h = 0; h < 2; ++h) {
                         typename V::type v[W], w[W];
#pragma GCC unroll 8
                         for (int r = 0; r < W; ++r) {
                           const int64_t at = std::min(last, q0 + (g + h) * W + r) * block + i;
                           v[r] = load_wide(row + at);
                           w[r] = V::load(x + at);
                         }
                         V::transpose(v);
                         V::transpose(w);
#pragma GCC unroll 8
                         for (int r = 0; r < W; ++r) acc[h] = V::fma(w[r], v[r], acc[h]);
                       }
                     }
                     alignas(64) Real got[2 * W];
                     V::store(got, acc[0]);
                     V::store(got + W, acc[1]);
                     for (int r = 0; r < 2 * W && q0 + g * W + r < full; ++r)
                       sums[j * blocks + q0 + g * W + r] = got[r];
                   }
                 }
               });
  for (int64_t j = 0; j < n; ++j) {
    Real* s = sums + j * blocks;
    if (full < blocks) {
      Real acc = 0;
      for (int64_t i = full * block; i < k; ++i) acc = fma1(x[i], widen(m[j * j_stride + i]), acc);
      s[full] = acc;
    }
    for (int64_t step = 1; step < blocks; step *= 2)
      for (int64_t q = 0; q + step < blocks; q += 2 * step) s[q] += s[q + step];
    out.store(out.target, s, 0, 1, j, 1);
  }
}

}  // namespace

template <class S, class Real>
bool matvec(const S* m, int64_t j_stride, int64_t k_stride, int64_t n, int64_t k, const S* x,
            int64_t x_stride, const Output<Real>& out) {
  if (k <= 0 || n <= 0) return false;
  const bool along_k = k_stride == 1, along_j = j_stride == 1 && !(along_k && n < 16);
  if (!along_j && !along_k) return false;
  if (along_j && n < 64) return false;
  const Real* xs;
  if constexpr (std::is_same_v<S, Real>) {
    xs = x;
  } else {
    xs = nullptr;
  }
  if (x_stride != 1 || !xs) {
    Real* copy = scratch<Real>(Slot::shared, k);
    for (int64_t i = 0; i < k; ++i) copy[i] = widen(x[i * x_stride]);
    xs = copy;
  }
  const bool split = n * k >= 2 * elements_per_task;
  if (along_j) {
    // Strips as wide as the first-level cache allows: long runs of each row are read at the speed
    // of memory. Threads need a few each.
    const int64_t wide = 16384 / sizeof(Real);
    const int threads = in_parallel_region() ? 1 : get_num_threads();
    const int64_t wanted = split && threads > 1 ? std::min<int64_t>(2 * threads, n / 512) : 1;
    const int64_t pieces = std::max<int64_t>((n + wide - 1) / wide, wanted);
    const int64_t strip = ((n + pieces - 1) / std::max<int64_t>(1, pieces) + 15) / 16 * 16;
    parallel_for(0, n, strip, [&](int64_t lo, int64_t hi) {
      for (int64_t j = lo; j < hi; j += strip)
        strips_along_j(m, k_stride, j, std::min(hi, j + strip), k, xs, out);
    });
  } else if (n < 8 && k >= 4 * block_length<Real>) {
    blocks_as_lanes(m, j_stride, n, k, xs, out);
  } else {
    const int64_t grain = split ? std::max<int64_t>(1, elements_per_task / k + 15) / 16 * 16 : n;
    const bool conflicts = j_stride * int64_t(sizeof(S)) % 2048 == 0;
    parallel_for(0, n, std::max<int64_t>(16, grain), [&](int64_t lo, int64_t hi) {
      if (conflicts)
        rows_along_k<8>(m, j_stride, lo, hi, k, xs, out);
      else
        rows_along_k<16>(m, j_stride, lo, hi, k, xs, out);
    });
  }
  return true;
}

#define FB_MATVEC(S, Real)                                                                       \
  template bool matvec<S, Real>(const S*, int64_t, int64_t, int64_t, int64_t, const S*, int64_t, \
                                const Output<Real>&);
FB_MATVEC(float, float)
FB_MATVEC(double, double)
FB_MATVEC(half, float)
FB_MATVEC(bfloat16, float)

}  // namespace fb::product
