#include "compile/passes/passes.h"
#include "compile/passes/rewrite.h"
#include "compile/tile/named.h"

namespace fb::compile {
namespace {

bool calls(const tile::Program& p) {
  for (const auto& r : p.regions)
    for (tile::Id id : r.body)
      if (p[id].op == tile::Op::call) return true;
  return false;
}

}  // namespace

tile::Program expand_named(const tile::Program& p) {
  tile::Program now = p;
  // A function's text may name others.
  while (calls(now)) {
    Rewriter w(now);
    now = w.run(
        [](tile::Builder& b, const tile::Node& n, tile::Id) {
          if (n.op != tile::Op::call) return b.append(n);
          return (n.type.elem == tile::Elem::f32 ? n.callee->expand32 : n.callee->expand64)(n.in.data());
        },
        [](bool) {});
  }
  return now;
}

}  // namespace fb::compile
