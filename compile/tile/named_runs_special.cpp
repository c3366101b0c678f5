#include "compile/tile/named_runs_record.h"

namespace fb::tile {
FB_TILE_RUN1(sin)
FB_TILE_RUN1(cos)
FB_TILE_RUN1(tan)
FB_TILE_RUN1(asin)
FB_TILE_RUN1(acos)
FB_TILE_RUN1(atan)
FB_TILE_RUN1(erf)
FB_TILE_RUN1(erfc)
FB_TILE_RUN1(erfinv)
FB_TILE_RUN1(lgamma)
FB_TILE_RUN1(digamma)
FB_TILE_RUN2(atan2)
}  // namespace fb::tile
