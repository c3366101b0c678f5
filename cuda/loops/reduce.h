// A reduction of two passes in CUDA: a warp for each output, its 32 threads the 32 lanes of ops/reduce/tree.h, which fold by
// shuffles. Included before a card header in a .cu unit of its own, which defines no FB_EMIT_CARDS.
#pragma once
#include "dispatch/card.h"
#include "ops/reduce/passes.h"
#include "ops/reduce/tree.h"

namespace fb::ptx {

// Elements of one output: `outer` runs of `inner` elements; strides in elements.
struct Runs {
  int64_t kept_stride, outer, outer_stride, inner, inner_stride;
};

template <class F, class A> __device__ A step(A acc, A x, A parameter) {
  if constexpr (F::param) return F::step(acc, x, parameter);
  else return F::step(acc, x);
}
// The whole tree over one output; every thread of the warp gets it in lane 0's bits.
template <class F, class A, class T> __device__ A folded(const T* x, const Runs& r, int lane, A parameter) {
  A open[48];      // blocks that wait for a neighbour, the largest first
  int level[48], depth = 0;
  const int64_t per_run = tree::blocks_of_run(r.inner), runs = tree::runs_of_block(r.inner), blocks = tree::block_count(r.outer, r.inner);
  for (int64_t b = 0; b < blocks; ++b) {
    const bool cut = r.inner > tree::block;
    const int64_t o0 = cut ? b / per_run : b * runs, i0 = cut ? b % per_run * tree::block : 0;
    const int64_t i1 = r.inner - i0 > tree::block ? i0 + tree::block : r.inner;
    A acc = F::template identity<A>();
    for (int64_t o = o0; o < r.outer && o < o0 + runs; ++o)
      for (int64_t i = i0 + lane; i < i1; i += tree::lanes) acc = step<F>(acc, A(x[o * r.outer_stride + i * r.inner_stride]), parameter);
    for (int w = tree::lanes / 2; w; w /= 2) acc = F::combine(acc, __shfl_down_sync(~0u, acc, w));
    open[depth] = acc;
    level[depth++] = 0;
    while (depth > 1 && level[depth - 1] == level[depth - 2]) {
      open[depth - 2] = F::combine(open[depth - 2], open[depth - 1]);
      ++level[--depth - 1];
    }
  }
  if (depth == 0) return F::template identity<A>();
  while (depth > 1) {  // an odd last one passes to the next level
    open[depth - 2] = F::combine(open[depth - 2], open[depth - 1]);
    --depth;
  }
  return __shfl_sync(~0u, open[0], 0);
}
template <class C, class A, class T> __global__ void two_passes(int64_t n, T* out, const T* in, Runs r, double number) {
  using P = typename C::passes;
  const int lane = int(threadIdx.x) % tree::lanes;
  const int64_t k = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / tree::lanes;
  if (k >= n) return;
  const T* x = in + k * r.kept_stride;
  const A mean = P::between(folded<typename P::first, A>(x, r, lane, A(0)), A(r.outer * r.inner));
  const A v = folded<typename P::second, A>(x, r, lane, mean);
  if (lane == 0) out[k] = T(P::finish(v, A(number)));
}

template <class C> struct Entries {
  static void names(const void** to) {
    if constexpr (requires { typename C::passes::first; }) {
      *to++ = reinterpret_cast<const void*>(&two_passes<C, float, float>);
      *to++ = reinterpret_cast<const void*>(&two_passes<C, double, double>);
      *to++ = reinterpret_cast<const void*>(&two_passes<C, float, half>);
      *to++ = reinterpret_cast<const void*>(&two_passes<C, float, bfloat16>);
    }
  }
};

}  // namespace fb::ptx

#undef FB_CARD
#define FB_CARD(C) template struct ::fb::ptx::Entries<C>;
