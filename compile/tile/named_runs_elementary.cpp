#include "compile/tile/named_runs_record.h"

namespace fb::tile {
FB_TILE_RUN1(exp)
FB_TILE_RUN1(exp2)
FB_TILE_RUN1(expm1)
FB_TILE_RUN1(sigmoid)
FB_TILE_RUN1(log)
FB_TILE_RUN1(log2)
FB_TILE_RUN1(log10)
FB_TILE_RUN1(log1p)
FB_TILE_RUN1(sinh)
FB_TILE_RUN1(cosh)
FB_TILE_RUN1(tanh)
FB_TILE_RUN1(asinh)
FB_TILE_RUN1(acosh)
FB_TILE_RUN1(atanh)
FB_TILE_RUN1(rsqrt)
FB_TILE_RUN2(pow)
FB_TILE_RUN2(hypot)
FB_TILE_RUN2(fmod)
FB_TILE_RUN2(remainder)
FB_TILE_RUN2(floor_divide)
}  // namespace fb::tile
