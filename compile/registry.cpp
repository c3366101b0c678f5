#include <cstring>
#include <map>
#include <string_view>

#include "compile/tile_card.h"

extern "C" {
extern const fb::compile::TileCard __start_fb_tile_cards[] __attribute__((weak, visibility("hidden")));
extern const fb::compile::TileCard __stop_fb_tile_cards[] __attribute__((weak, visibility("hidden")));
}

namespace fb::compile {

const TileCard* find_tile_card(const char* schema) {
  static const std::map<std::string_view, const TileCard*> table = [] {
    std::map<std::string_view, const TileCard*> t;
    for (const TileCard* c = __start_fb_tile_cards; c != __stop_fb_tile_cards; ++c)
      if (c->schema) t[c->schema] = c;
    return t;
  }();
  const auto at = table.find(schema);
  return at == table.end() ? nullptr : at->second;
}

}  // namespace fb::compile
