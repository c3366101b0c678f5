#include "compile/tile/named.h"

namespace fb::tile {

const Named* find_named(std::string_view name) {
  static constexpr const Named* all[] = {
#define FB_X(f) &named_##f,
      FB_TILE_NAMED1(FB_X) FB_TILE_NAMED2(FB_X)
#undef FB_X
  };
  for (const Named* n : all)
    if (name == n->name) return n;
  return nullptr;
}

}  // namespace fb::tile
