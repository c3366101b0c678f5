// A place in machine code where lanes are handed to a scalar function one by one.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "compile/tile/named.h"

namespace fb::compile {

struct LaneSite {
  tile::Thunk thunk;
  int lanes = 0, count = 0;
  int in_bytes[tile::kMostApart] = {}, out_bytes = 0;
};
// mask: a byte for each lane, or null for all.
inline void run_lanes(const LaneSite* s, const uint8_t* mask, char* out, const char* const* in) {
  for (int l = 0; l < s->lanes; ++l) {
    if (mask && !mask[l]) continue;
    const void* x[tile::kMostApart];
    for (int i = 0; i < s->count; ++i) x[i] = in[i] + l * s->in_bytes[i];
    s->thunk.fn(s->thunk.context, out + l * s->out_bytes, x);
  }
}

// The sites of a program, in the order in which code is made for it.
std::vector<LaneSite> lane_sites(const tile::Program& p);

// What code calls the things that stand outside of it.
inline std::string site_name(int i) { return "fb_site_" + std::to_string(i); }
inline std::string code_name(const tile::Named& f, tile::Elem e, int lanes) {
  return "fb_" + std::string(f.name) + (e == tile::Elem::f32 ? "_f32" : "_f64") + (lanes > 1 ? "v" : "");
}
inline std::string run_name(const tile::Named& f, tile::Elem e) { return "fb_" + std::string(f.name) + (e == tile::Elem::f32 ? "_f32n" : "_f64n"); }

}  // namespace fb::compile
