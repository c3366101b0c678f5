#include <map>
#include <mutex>

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
tile::Id expanded(const tile::Node& n) { return (n.type.elem == tile::Elem::f32 ? n.callee->expand32 : n.callee->expand64)(n.in.data()); }

// Operators of a function's text, those of the functions that it names included.
int length_of(const tile::Named* f, tile::Elem e) {
  static std::mutex lock;
  static auto& known = *new std::map<std::pair<const tile::Named*, tile::Elem>, int>;
  const std::lock_guard<std::mutex> hold(lock);
  int& n = known[{f, e}];
  if (n == 0) {
    tile::Program p;
    tile::Builder b(p);
    const tile::Id at = b.parameter("x", tile::Elem::address);
    const tile::Id x[] = {b.load(at, e), b.load(at, e)};
    (e == tile::Elem::f32 ? f->expand32 : f->expand64)(x);
    for (const tile::Node& node : p.nodes) n += node.op == tile::Op::call ? 100 : node.op != tile::Op::constant;
  }
  return n;
}

}  // namespace

tile::Program expand_named(const tile::Program& p) {
  tile::Program now = p;
  // A function's text may name others.
  while (calls(now)) {
    Rewriter w(now);
    now = w.run([](tile::Builder& b, const tile::Node& n, tile::Id) { return n.op == tile::Op::call ? expanded(n) : b.append(n); }, [](bool) {});
  }
  return now;
}

tile::Program expand_short(const tile::Program& p) {
  constexpr int kShort = 12;
  if (!calls(p)) return p;
  Rewriter w(p);
  return w.run(
      [](tile::Builder& b, const tile::Node& n, tile::Id) {
        return n.op == tile::Op::call && length_of(n.callee, n.type.elem) <= kShort ? expanded(n) : b.append(n);
      },
      [](bool) {});
}

}  // namespace fb::compile
