// Named functions of the tile language. A program calls them by name until code is made from it; then the text of
// ops/math stands in the call's place (passes/expand_named.cpp). Interpreters take the scalar routine of the same text.
#pragma once
#include "compile/tile/ir.h"

namespace fb::tile {

struct Named {
  const char* name;
  int arity;
  // The text on f32 and f64 values, appended to the current builder.
  Id (*expand32)(const Id* x);
  Id (*expand64)(const Id* x);
  Thunk scalar32, scalar64;
  // The same as compiled functions, for machine code to call: of 8 and of 1 f32, of 4 and of 1 f64, in registers.
  const void* code[4];
};
// The function of that name, null where there is none.
const Named* find_named(std::string_view name);

// X(name): functions of one and of two numbers in fb::math.
#define FB_TILE_NAMED1(X)                                                                                             \
  X(exp) X(exp2) X(expm1) X(sigmoid) X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)    \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(erfinv) X(rsqrt) X(lgamma) X(digamma)
#define FB_TILE_NAMED2(X) X(pow) X(atan2) X(hypot) X(fmod) X(remainder) X(floor_divide)

#define FB_X(f) extern const Named named_##f;
FB_TILE_NAMED1(FB_X)
FB_TILE_NAMED2(FB_X)
#undef FB_X

}  // namespace fb::tile
