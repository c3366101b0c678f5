#include "compile/tile/named_record.h"

namespace fb::tile {
FB_TILE_RECORD1(exp) FB_TILE_RECORD1(exp2) FB_TILE_RECORD1(expm1) FB_TILE_RECORD1(sigmoid) FB_TILE_RECORD1(log)
FB_TILE_RECORD1(log2) FB_TILE_RECORD1(log10) FB_TILE_RECORD1(log1p) FB_TILE_RECORD1(sinh) FB_TILE_RECORD1(cosh)
FB_TILE_RECORD1(tanh) FB_TILE_RECORD1(asinh) FB_TILE_RECORD1(acosh) FB_TILE_RECORD1(atanh) FB_TILE_RECORD1(rsqrt)
FB_TILE_RECORD2(pow) FB_TILE_RECORD2(hypot) FB_TILE_RECORD2(fmod) FB_TILE_RECORD2(remainder) FB_TILE_RECORD2(floor_divide)
}  // namespace fb::tile
