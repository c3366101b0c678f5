// Loops over rows: every line of a tensor along one dimension, handed to a function as contiguous elements of the compute
// type, whatever the layout and type of the operands; and the tree's sums within a row.
#pragma once
#include <algorithm>
#include <memory>

#include "core/tensor.h"
#include "core/threads.h"
#include "cpu/loops/convert.h"
#include "cpu/loops/reduce_body.h"

namespace fb {

// Calls f(lanes, p, i, n) for what a tree adds up in a row of n elements and returns the folded total. In each block f is
// given NV fresh accumulators and adds elements [i, i + n) of the row to them with row_run.
template <class A> struct RowTree {
  using V = Vec<A>;
  static constexpr int L = V::lanes, NV = tree::lanes / L;

  // Adds step(accumulator, index, count) over a row of n; count < L only at its end. step adds to the lanes of one vector
  // and leaves those from count on alone.
  template <class F, class Step> static A total(int64_t n, Step step) {
    using R = ReduceLoops<F, A>;
    auto block = [&](int64_t i, int64_t end) {
      V a[NV];
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) a[v] = F::template identity<V>();
      for (; i + tree::lanes <= end; i += tree::lanes)
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) a[v] = step(a[v], i + v * L, L);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) {
        const int64_t r = end - i - v * L;
        if (r >= L) a[v] = step(a[v], i + v * L, L);
        else if (r > 0) a[v] = R::first_lanes(int(r), step(a[v], i + v * L, int(r)), a[v]);
      }
      return R::fold_registers(a);
    };
    if (n <= tree::block) return block(0, n);
    std::unique_ptr<A[]> partial(new A[size_t((n + tree::block - 1) / tree::block)]);
    int64_t b = 0;
    for (int64_t i = 0; i < n; i += tree::block) partial[size_t(b++)] = block(i, std::min(n, i + tree::block));
    R::tree_of_blocks(partial.get(), b, 1);
    return partial[0];
  }
  // c elements from p on; the missing ones are zero.
  FB_SIMD static V some(const A* p, int64_t c) { return c == L ? load(p) : load(p, int(c)); }
  FB_SIMD static void put(A* p, V v, int64_t c) {
    if (c == L) store(p, v);
    else store(p, v, int(c));
  }
  // f(index, count) over a row.
  template <class F> FB_SIMD static void each(int64_t n, F f) {
    int64_t i = 0;
    for (; i + L <= n; i += L) f(i, int64_t(L));
    if (i < n) f(i, n - i);
  }
};

// The operands of a loop over rows. All have one shape; absent ones are undefined. Contiguous ones are read in place.
struct RowOperands {
  const Tensor* out;
  const Tensor* in[2];
  int64_t dim;
};

// f(out, in0, in1, n) for each row along dim; A is the compute type.
template <class A, class F> void for_rows(const RowOperands& o, F f) {
  const Tensor& like = *o.out;
  const int64_t nd = like.ndim(), n = nd ? like.sizes()[o.dim] : 1;
  if (like.numel() == 0) return;
  int64_t inner = 1;
  for (int64_t d = o.dim + 1; d < nd; ++d) inner *= like.sizes()[d];
  const int64_t rows = like.numel() / n, outer = rows / inner;
  const Tensor* t[3] = {o.out, o.in[0], o.in[1]};
  bool direct[3];
  for (int i = 0; i < 3; ++i) direct[i] = t[i] && t[i]->dtype() == dtype_of<A> && inner == 1;
  auto fetch = [&](int i, int64_t row, A* to, int64_t step) {
    const int64_t item = t[i]->item_bytes();
    convert_run(reinterpret_cast<char*>(to), sizeof(A), dtype_of<A>,
                static_cast<const char*>(t[i]->data()) + (row / inner * inner * n + row % inner) * item, step * item, t[i]->dtype(), n);
  };
  if (inner == 1) {
    parallel_for(0, rows, std::max<int64_t>(1, 16384 / n), [&](int64_t a, int64_t z) {
      std::unique_ptr<A[]> room(new A[size_t(3 * n)]);
      for (int64_t r = a; r < z; ++r) {
        const A* in[2] = {nullptr, nullptr};
        for (int i = 1; i < 3; ++i) {
          if (!t[i]) continue;
          if (direct[i]) in[i - 1] = t[i]->template ptr<A>() + r * n;
          else {
            fetch(i, r, room.get() + i * n, 1);
            in[i - 1] = room.get() + i * n;
          }
        }
        A* out = direct[0] ? t[0]->template ptr<A>() + r * n : room.get();
        f(out, in[0], in[1], n);
        if (!direct[0]) {
          const int64_t item = t[0]->item_bytes();
          convert_run(static_cast<char*>(t[0]->data()) + r * n * item, item, t[0]->dtype(), reinterpret_cast<const char*>(out), sizeof(A), dtype_of<A>, n);
        }
      }
    });
    return;
  }
  // Lines that lie across memory: some neighbours at once are turned into rows, and back.
  constexpr int64_t kLines = 16;
  const int64_t groups = (inner + kLines - 1) / kLines;
  parallel_for(0, outer * groups, std::max<int64_t>(1, 16384 / (n * kLines)), [&](int64_t a, int64_t z) {
    std::unique_ptr<A[]> room(new A[size_t(3 * n * kLines)]);
    A line[kLines];
    for (int64_t u = a; u < z; ++u) {
      const int64_t first = u % groups * kLines, m = std::min(kLines, inner - first);
      const int64_t base = u / groups * inner * n + first;
      for (int i = 1; i < 3; ++i) {
        if (!t[i]) continue;
        const int64_t item = t[i]->item_bytes();
        A* to = room.get() + i * n * kLines;
        for (int64_t k = 0; k < n; ++k) {
          convert_run(reinterpret_cast<char*>(line), sizeof(A), dtype_of<A>, static_cast<const char*>(t[i]->data()) + (base + k * inner) * item,
                      item, t[i]->dtype(), m);
          for (int64_t j = 0; j < m; ++j) to[j * n + k] = line[j];
        }
      }
      for (int64_t j = 0; j < m; ++j)
        f(room.get() + j * n, t[1] ? room.get() + (kLines + j) * n : nullptr, t[2] ? room.get() + (2 * kLines + j) * n : nullptr, n);
      const int64_t item = t[0]->item_bytes();
      for (int64_t k = 0; k < n; ++k) {
        for (int64_t j = 0; j < m; ++j) line[j] = room[size_t(j * n + k)];
        convert_run(static_cast<char*>(t[0]->data()) + (base + k * inner) * item, item, t[0]->dtype(), reinterpret_cast<const char*>(line),
                    sizeof(A), dtype_of<A>, m);
      }
    }
  });
}

// t itself where it is contiguous, else a contiguous copy.
Tensor contiguous_operand(const Tensor& t);

}  // namespace fb
