// Makes the functions of named_runs.h from the text of ops/math on vectors.
#pragma once
#include "compile/tile/named_runs.h"
#include "cpu/simd/pair.h"
#include "ops/math/math.h"

namespace fb::tile {

template <class F, class T> void run1(T* x, int64_t n) {
  constexpr int L = Vec<T>::lanes;
  for (int64_t i = 0; i < n; i += 2 * L) {
    const auto r = F{}(Pair<Vec<T>>{load(x + i), load(x + i + L)});
    store(x + i, r.lo);
    store(x + i + L, r.hi);
  }
}
template <class F, class T> void run2(T* x, const T* y, int64_t n) {
  constexpr int L = Vec<T>::lanes;
  for (int64_t i = 0; i < n; i += 2 * L) {
    const auto r = F{}(Pair<Vec<T>>{load(x + i), load(x + i + L)}, Pair<Vec<T>>{load(y + i), load(y + i + L)});
    store(x + i, r.lo);
    store(x + i + L, r.hi);
  }
}

}  // namespace fb::tile

#define FB_TILE_RUN1(f)                                                                                                \
  namespace { struct f##_of { template <class V> V operator()(V x) const { return fb::math::f(x); } }; }               \
  extern const NamedRuns runs_##f;                                                                                     \
  const NamedRuns runs_##f{#f, reinterpret_cast<const void*>(&run1<f##_of, float>), reinterpret_cast<const void*>(&run1<f##_of, double>)};
#define FB_TILE_RUN2(f)                                                                                                \
  namespace { struct f##_of { template <class V> V operator()(V x, V y) const { return fb::math::f(x, y); } }; }        \
  extern const NamedRuns runs_##f;                                                                                     \
  const NamedRuns runs_##f{#f, reinterpret_cast<const void*>(&run2<f##_of, float>), reinterpret_cast<const void*>(&run2<f##_of, double>)};
