// Makes the record of a named function from its text in ops/math. The text is asked for with its type written out, so
// that what is found is the text and not the call that stands for it.
#pragma once
#include "compile/tile/domain.h"
#include "ops/math/math.h"

#include "cpu/simd/vec.h"

namespace fb::tile {

template <class T> using raw_of = typename raw_vector<T>::type;

}  // namespace fb::tile

#define FB_TILE_CODE1(f)                                                                                              \
  {reinterpret_cast<const void*>(+[](raw_of<float> x) -> raw_of<float> { return fb::math::f(Vec<float>(x)).v; }),      \
   reinterpret_cast<const void*>(+[](float x) -> float { return fb::math::f(x); }),                                    \
   reinterpret_cast<const void*>(+[](raw_of<double> x) -> raw_of<double> { return fb::math::f(Vec<double>(x)).v; }),   \
   reinterpret_cast<const void*>(+[](double x) -> double { return fb::math::f(x); })}
#define FB_TILE_CODE2(f)                                                                                              \
  {reinterpret_cast<const void*>(+[](raw_of<float> x, raw_of<float> y) -> raw_of<float> { return fb::math::f(Vec<float>(x), Vec<float>(y)).v; }),     \
   reinterpret_cast<const void*>(+[](float x, float y) -> float { return fb::math::f(x, y); }),                        \
   reinterpret_cast<const void*>(+[](raw_of<double> x, raw_of<double> y) -> raw_of<double> { return fb::math::f(Vec<double>(x), Vec<double>(y)).v; }), \
   reinterpret_cast<const void*>(+[](double x, double y) -> double { return fb::math::f(x, y); })}

#define FB_TILE_RECORD1(f)                                                                                            \
  const Named named_##f{#f, 1,                                                                              \
      [](const Id* x) { return fb::math::f<Of<float>>(Of<float>{x[0]}).id; },                                         \
      [](const Id* x) { return fb::math::f<Of<double>>(Of<double>{x[0]}).id; },                                       \
      {[](int64_t, void* o, const void* const* in) { *static_cast<float*>(o) = fb::math::f(*static_cast<const float*>(in[0])); }, 0},    \
      {[](int64_t, void* o, const void* const* in) { *static_cast<double*>(o) = fb::math::f(*static_cast<const double*>(in[0])); }, 0},    \
      FB_TILE_CODE1(f)};
#define FB_TILE_RECORD2(f)                                                                                            \
  const Named named_##f{#f, 2,                                                                              \
      [](const Id* x) { return fb::math::f<Of<float>>(Of<float>{x[0]}, Of<float>{x[1]}).id; },                        \
      [](const Id* x) { return fb::math::f<Of<double>>(Of<double>{x[0]}, Of<double>{x[1]}).id; },                     \
      {[](int64_t, void* o, const void* const* in) {                                                                  \
         *static_cast<float*>(o) = fb::math::f(*static_cast<const float*>(in[0]), *static_cast<const float*>(in[1])); }, 0},             \
      {[](int64_t, void* o, const void* const* in) {                                                                  \
         *static_cast<double*>(o) = fb::math::f(*static_cast<const double*>(in[0]), *static_cast<const double*>(in[1])); }, 0},          \
      FB_TILE_CODE2(f)};
