// Makes the record of a named function from its text in ops/math. The text is asked for with its type written out, so
// that what is found is the text and not the call that stands for it.
#pragma once
#include "compile/tile/domain.h"
#include "ops/math/math.h"

#define FB_TILE_RECORD1(f)                                                                                            \
  constinit const Named named_##f{#f, 1,                                                                              \
      [](const Id* x) { return fb::math::f<Of<float>>(Of<float>{x[0]}).id; },                                         \
      [](const Id* x) { return fb::math::f<Of<double>>(Of<double>{x[0]}).id; },                                       \
      {[](int64_t, void* o, const void* const* in) { *static_cast<float*>(o) = fb::math::f(*static_cast<const float*>(in[0])); }, 0},    \
      {[](int64_t, void* o, const void* const* in) { *static_cast<double*>(o) = fb::math::f(*static_cast<const double*>(in[0])); }, 0}};
#define FB_TILE_RECORD2(f)                                                                                            \
  constinit const Named named_##f{#f, 2,                                                                              \
      [](const Id* x) { return fb::math::f<Of<float>>(Of<float>{x[0]}, Of<float>{x[1]}).id; },                        \
      [](const Id* x) { return fb::math::f<Of<double>>(Of<double>{x[0]}, Of<double>{x[1]}).id; },                     \
      {[](int64_t, void* o, const void* const* in) {                                                                  \
         *static_cast<float*>(o) = fb::math::f(*static_cast<const float*>(in[0]), *static_cast<const float*>(in[1])); }, 0},             \
      {[](int64_t, void* o, const void* const* in) {                                                                  \
         *static_cast<double*>(o) = fb::math::f(*static_cast<const double*>(in[0]), *static_cast<const double*>(in[1])); }, 0}};
