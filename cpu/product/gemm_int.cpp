// Integer products: sums wrap around, so their order is free.
#include <algorithm>
#include <type_traits>

#include "core/threads.h"
#include "cpu/product/gemm.h"
#include "cpu/product/scratch.h"

namespace fb::product {
namespace {

constexpr int64_t strip = 256, depth = 128, band = 64;

// sums[i][j] += a[i][k] * packed[k][j] for rows [0, rows), four k at a time.
template <class U, class T>
void add_block(U* __restrict sums, const U* __restrict packed, const T* a, int64_t a_row,
               int64_t a_col, int64_t rows, int64_t kn, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    U* __restrict s = sums + i * strip;
    const T* x = a + i * a_row;
    int64_t k = 0;
    for (; k + 4 <= kn; k += 4) {
      const U x0 = U(x[k * a_col]), x1 = U(x[(k + 1) * a_col]), x2 = U(x[(k + 2) * a_col]),
              x3 = U(x[(k + 3) * a_col]);
      const U* __restrict b = packed + k * strip;
      for (int64_t j = 0; j < cols; ++j)
        s[j] += x0 * b[j] + x1 * b[strip + j] + x2 * b[2 * strip + j] + x3 * b[3 * strip + j];
    }
    for (; k < kn; ++k) {
      const U x0 = U(x[k * a_col]);
      for (int64_t j = 0; j < cols; ++j) s[j] += x0 * packed[k * strip + j];
    }
  }
}

}  // namespace

template <class T>
void gemm(const Gemm<T>& g) {
  if (g.batch <= 0 || g.m <= 0 || g.n <= 0) return;
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const int64_t strips = (g.n + strip - 1) / strip, bands = (g.m + band - 1) / band;
  const U alpha = U(g.alpha), beta = U(g.beta);
  const int64_t work = std::max<int64_t>(1, std::min(g.m, band) * std::min(g.n, strip) * g.k);
  parallel_for(0, g.batch * strips * bands, std::max<int64_t>(1, (1 << 16) / work),
               [&](int64_t lo, int64_t hi) {
                 U* sums = scratch<U>(Slot::sums, band * strip);
                 U* packed = scratch<U>(Slot::b, depth * strip);
                 for (int64_t t = lo; t < hi; ++t) {
                   const int64_t batch = t / (strips * bands), i0 = t / strips % bands * band,
                                 j0 = t % strips * strip;
                   const int64_t rows = std::min(band, g.m - i0), cols = std::min(strip, g.n - j0);
                   auto at = [batch](auto* p, int64_t stride, const int64_t* table) {
                     return p + (table ? table[batch] : batch * stride);
                   };
                   const T* a = at(g.a, g.a_batch, g.a_offsets) + i0 * g.a_row;
                   const T* b = at(g.b, g.b_batch, g.b_offsets) + j0 * g.b_col;
                   T* c = at(g.c, g.c_batch, g.c_offsets) + i0 * g.c_row + j0 * g.c_col;
                   std::fill(sums, sums + rows * strip, U(0));
                   for (int64_t k0 = 0; k0 < g.k; k0 += depth) {
                     const int64_t kn = std::min(depth, g.k - k0);
                     for (int64_t k = 0; k < kn; ++k)
                       for (int64_t j = 0; j < cols; ++j)
                         packed[k * strip + j] = U(b[(k0 + k) * g.b_row + j * g.b_col]);
                     add_block(sums, packed, a + k0 * g.a_col, g.a_row, g.a_col, rows, kn, cols);
                   }
                   const T* add = g.add && beta != 0 ? at(g.add, g.add_batch, g.add_offsets) +
                                                           i0 * g.add_row + j0 * g.add_col
                                                     : nullptr;
                   for (int64_t i = 0; i < rows; ++i)
                     for (int64_t j = 0; j < cols; ++j) {
                       U v = alpha * sums[i * strip + j];
                       if (add) v += beta * U(add[i * g.add_row + j * g.add_col]);
                       c[i * g.c_row + j * g.c_col] = T(v);
                     }
                 }
               });
}

template void gemm(const Gemm<uint8_t>&);
template void gemm(const Gemm<int8_t>&);
template void gemm(const Gemm<int16_t>&);
template void gemm(const Gemm<int32_t>&);
template void gemm(const Gemm<int64_t>&);
template void gemm(const Gemm<uint16_t>&);
template void gemm(const Gemm<uint32_t>&);
template void gemm(const Gemm<uint64_t>&);

}  // namespace fb::product
