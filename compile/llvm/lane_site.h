// A place in machine code where lanes are handed to a scalar function one by one.
#pragma once
#include <cstring>

#include "compile/tile/ir.h"

namespace fb::compile {

struct LaneSite {
  tile::Thunk thunk;
  int lanes = 0, count = 0;
  int in_bytes[8] = {}, out_bytes = 0;
};
// mask: a byte for each lane, or null for all.
inline void run_lanes(const LaneSite* s, const uint8_t* mask, char* out, const char* const* in) {
  for (int l = 0; l < s->lanes; ++l) {
    if (mask && !mask[l]) continue;
    const void* x[8];
    for (int i = 0; i < s->count; ++i) x[i] = in[i] + l * s->in_bytes[i];
    s->thunk.fn(s->thunk.context, out + l * s->out_bytes, x);
  }
}

}  // namespace fb::compile
