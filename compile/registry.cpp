// What the units of the cards emitted, found by schema.
#include <map>
#include <string_view>

#include "compile/tile_card.h"
#include "core/no_fork.h"

#define FB_SECTION(T, section)                                                        \
  extern "C" {                                                                        \
  extern const T __start_##section[] __attribute__((weak, visibility("hidden")));     \
  extern const T __stop_##section[] __attribute__((weak, visibility("hidden")));      \
  }
FB_SECTION(fb::compile::TileCard, fb_tile_cards)
FB_SECTION(fb::compile::TileReduction, fb_tile_reductions)
FB_SECTION(fb::compile::TileScan, fb_tile_scans)
FB_SECTION(fb::compile::TileRead, fb_tile_reads)
#undef FB_SECTION

namespace fb::compile {
namespace {

template <class T> const T* find(const T* begin, const T* end, const char* schema) {
  static constinit FirstUse<const std::map<std::string_view, const T*>> found;
  const auto& table = found.get([&] {
    std::map<std::string_view, const T*> t;
    for (const T* c = begin; c != end; ++c)
      if (c->schema) t[c->schema] = c;
    return t;
  });
  const auto at = table.find(schema);
  return at == table.end() ? nullptr : at->second;
}

}  // namespace

const TileCard* find_tile_card(const char* schema) { return find(__start_fb_tile_cards, __stop_fb_tile_cards, schema); }
const TileReduction* find_tile_reduction(const char* schema) {
  const TileReduction* r = find(__start_fb_tile_reductions, __stop_fb_tile_reductions, schema);
  return r && r->passes ? r : nullptr;
}
const TileScan* find_tile_scan(const char* schema) {
  const TileScan* s = find(__start_fb_tile_scans, __stop_fb_tile_scans, schema);
  return s && s->floating ? s : nullptr;
}
const TileRead* find_tile_read(const char* schema) { return find(__start_fb_tile_reads, __stop_fb_tile_reads, schema); }
Span<TileReduction> all_tile_reductions() { return {__start_fb_tile_reductions, __stop_fb_tile_reductions - __start_fb_tile_reductions}; }
Span<TileScan> all_tile_scans() { return {__start_fb_tile_scans, __stop_fb_tile_scans - __start_fb_tile_scans}; }

}  // namespace fb::compile
