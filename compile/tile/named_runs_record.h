// Makes the functions of named_runs.h from the text of ops/math on vectors.
#pragma once
#include "compile/tile/named_runs.h"
#include "cpu/simd/pair.h"
#include "ops/math/math.h"

namespace fb::tile {

template <class F, class T> void run1(T* x, int64_t n) {
  constexpr int L = Vec<T>::lanes;
  static_assert(2 * L == kRunStep<T>);
  for (int64_t i = 0; i < n; i += 2 * L) {
    const auto r = F{}(Pair<Vec<T>>{load(x + i), load(x + i + L)});
    store(x + i, r.lo);
    store(x + i + L, r.hi);
  }
}
template <class Run> const void* address(Run f) { return reinterpret_cast<const void*>(f); }
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
  const NamedRuns runs_##f{#f, address<Run1<float>>(&run1<f##_of, float>), address<Run1<double>>(&run1<f##_of, double>)};
#define FB_TILE_RUN2(f)                                                                                                \
  namespace { struct f##_of { template <class V> V operator()(V x, V y) const { return fb::math::f(x, y); } }; }        \
  extern const NamedRuns runs_##f;                                                                                     \
  const NamedRuns runs_##f{#f, address<Run2<float>>(&run2<f##_of, float>), address<Run2<double>>(&run2<f##_of, double>)};
