#include "compile/tile/named_record.h"

namespace fb::tile {
FB_TILE_RECORD1(sin) FB_TILE_RECORD1(cos) FB_TILE_RECORD1(tan) FB_TILE_RECORD1(asin) FB_TILE_RECORD1(acos)
FB_TILE_RECORD1(atan) FB_TILE_RECORD1(erf) FB_TILE_RECORD1(erfc) FB_TILE_RECORD1(erfinv) FB_TILE_RECORD1(lgamma)
FB_TILE_RECORD1(digamma) FB_TILE_RECORD2(atan2)
}  // namespace fb::tile
