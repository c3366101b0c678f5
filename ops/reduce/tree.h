// The one tree that every reduction follows, on logical indices: what memory looks like, how wide vectors are and how
// many threads run never shows in the bits.
//
//   runs     Adjacent reduced dimensions form a run; a kept dimension between two reduced ones separates runs. The last
//            run is the inner one, the others together are the outer index, in row-major order.
//   lanes    Element i of an inner run goes to lane i mod 32. Lanes add up in logical order: outer index, then i.
//   blocks   An inner run longer than 4096 is cut into blocks of 4096 (the last one shorter); shorter runs are taken
//            together, floor(4096 / length) of them a block. A block starts with fresh lanes.
//   fold     Within a block lane l takes lane l + 16, then l + 8, 4, 2, 1. Lanes that met no element are left out.
//   tree     Neighbouring blocks are combined in pairs until one is left; an odd last one passes to the next level.
//
// Fold gives identity(), step(acc, x) and combine(a, b); the identity combined with v is v, bit for bit.
#pragma once
#include <cstdint>
#include <vector>

namespace fb::tree {

constexpr int lanes = 32;
constexpr int64_t block = 4096;

// Runs taken together in one block, and the number of blocks of `outer` runs of `inner` elements.
constexpr int64_t runs_of_block(int64_t inner) { return inner > block ? 1 : inner > 0 ? block / inner : 1; }
constexpr int64_t blocks_of_run(int64_t inner) { return inner > block ? (inner + block - 1) / block : 1; }
constexpr int64_t block_count(int64_t outer, int64_t inner) {
  if (outer == 0 || inner == 0) return 0;
  return inner > block ? outer * blocks_of_run(inner) : (outer + runs_of_block(inner) - 1) / runs_of_block(inner);
}

// The definition, for tests: get(o, i) is element i of outer index o.
template <class Fold, class A, class Get>
A reduce(int64_t outer, int64_t inner, Get get) {
  std::vector<A> partial;
  for (int64_t b = 0; b < block_count(outer, inner); ++b) {
    const int64_t per_run = blocks_of_run(inner), runs = runs_of_block(inner);
    const int64_t o0 = inner > block ? b / per_run : b * runs, i0 = inner > block ? b % per_run * block : 0;
    const int64_t i1 = inner - i0 > block ? i0 + block : inner;
    A lane[lanes];
    bool met[lanes] = {};
    for (A& l : lane) l = Fold::template identity<A>();
    for (int64_t o = o0; o < outer && o < o0 + runs; ++o)
      for (int64_t i = i0; i < i1; ++i) {
        lane[(i - i0) % lanes] = Fold::step(lane[(i - i0) % lanes], A(get(o, i)));
        met[(i - i0) % lanes] = true;
      }
    for (int w = lanes / 2; w; w /= 2)
      for (int l = 0; l < w; ++l)
        if (met[l + w]) lane[l] = Fold::combine(lane[l], lane[l + w]);
    partial.push_back(lane[0]);
  }
  if (partial.empty()) return Fold::template identity<A>();
  while (partial.size() > 1) {
    std::vector<A> next;
    for (size_t i = 0; i + 1 < partial.size(); i += 2) next.push_back(Fold::combine(partial[i], partial[i + 1]));
    if (partial.size() % 2) next.push_back(partial.back());
    partial = next;
  }
  return partial[0];
}

}  // namespace fb::tree
