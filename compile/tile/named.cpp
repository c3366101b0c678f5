#include "compile/tile/named.h"

#include "compile/tile/named_runs.h"

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


#define FB_X(f) extern const NamedRuns runs_##f;
FB_TILE_NAMED1(FB_X) FB_TILE_NAMED2(FB_X)
#undef FB_X
const NamedRuns* find_runs(std::string_view name) {
  static constexpr const NamedRuns* all[] = {
#define FB_X(f) &runs_##f,
      FB_TILE_NAMED1(FB_X) FB_TILE_NAMED2(FB_X)
#undef FB_X
  };
  for (const NamedRuns* n : all)
    if (name == n->name) return n;
  return nullptr;
}

}  // namespace fb::tile
