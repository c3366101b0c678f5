#include <algorithm>
#include <map>
#include <mutex>

#include "compile/passes/passes.h"
#include "compile/passes/rewrite.h"
#include "compile/tile/named.h"
#include "core/fork_mutex.h"

namespace fb::compile {
namespace {

using tile::Op;

constexpr int kShort = 12;     // a text that is cheaper than a call

bool calls(const tile::Program& p) {
  for (const auto& r : p.regions)
    for (tile::Id id : r.body)
      if (p[id].op == Op::call) return true;
  return false;
}
tile::Id expanded(const tile::Node& n) { return (n.type.elem == tile::Elem::f32 ? n.callee->expand32 : n.callee->expand64)(n.in.data()); }

// Operators of a function's text, with the texts of the functions that it names; kLong where lanes go one by one.
constexpr int kLong = 1 << 20;
constinit ForkMutex lock;
std::map<std::pair<const tile::Named*, tile::Elem>, int>* known = nullptr;  // under the lock; one for each function and type
int length_of(const tile::Named* f, tile::Elem e) {
  {
    const std::lock_guard<ForkMutex> hold(lock);
    if (!known) known = new std::map<std::pair<const tile::Named*, tile::Elem>, int>;
    if (const auto at = known->find({f, e}); at != known->end()) return at->second;
  }
  tile::Program p;
  tile::Builder b(p);
  const tile::Id at = b.parameter("x", tile::Elem::address);
  const tile::Id x[] = {b.load(at, e), b.load(at, e)};
  const size_t given = p.nodes.size();
  (e == tile::Elem::f32 ? f->expand32 : f->expand64)(x);
  int length = 0;
  for (size_t i = given; i < p.nodes.size() && length < kLong; ++i) {
    const tile::Node& n = p.nodes[i];
    if (n.op == Op::lanes || n.op == Op::patch) length = kLong;
    else if (n.op == Op::call) length += length_of(n.callee, n.type.elem);
    else length += n.op != Op::constant && n.op != Op::splat;
  }
  length = std::min(length, kLong);
  const std::lock_guard<ForkMutex> hold(lock);
  return (*known)[{f, e}] = length;
}
bool few_registers(tile::Type t) { return t.lanes * tile::bytes_of(t.elem) <= tile_bytes(); }

}  // namespace

int straight_length(const tile::Named* f, tile::Elem e) {
  const int n = length_of(f, e);
  return n < kLong ? n : 0;
}

tile::Program expand_named(const tile::Program& p) {
  tile::Program now = p;
  // A function's text may name others.
  while (calls(now)) {
    Rewriter w(now);
    now = w.run([](tile::Builder& b, const tile::Node& n, tile::Id) { return n.op == Op::call ? expanded(n) : b.append(n); }, [](bool) {});
  }
  return now;
}

tile::Program expand_straight(const tile::Program& p) {
  int all = 0;
  for (const auto& r : p.regions)
    for (tile::Id id : r.body)
      if (const tile::Node& n = p[id]; n.op == Op::call && few_registers(n.type)) all += straight_length(n.callee, n.type.elem);
  const bool fits = all <= kTextsInPlace;
  tile::Program now = p;
  for (bool more = calls(p); more;) {
    more = false;
    Rewriter w(now);
    now = w.run(
        [&](tile::Builder& b, const tile::Node& n, tile::Id) {
          if (n.op != Op::call) return b.append(n);
          const int length = length_of(n.callee, n.type.elem);
          if (length > kShort && !(length < kLong && fits && few_registers(n.type))) return b.append(n);
          more = true;
          return expanded(n);
        },
        [](bool) {});
  }
  return now;
}

}  // namespace fb::compile
