#include <vector>

#include "compile/passes/passes.h"
#include "compile/passes/rewrite.h"

namespace fb::compile {

tile::Program drop_unused(const tile::Program& p) {
  using tile::Op;
  std::vector<char> used(p.nodes.size());
  std::vector<tile::Id> open;
  auto need = [&](tile::Id id) {
    if (used[size_t(id)]) return;
    used[size_t(id)] = 1;
    open.push_back(id);
  };
  for (const auto& r : p.regions)
    for (tile::Id id : r.body)
      if (Op op = p[id].op; op == Op::store || op == Op::raise_if || op == Op::tell || op == Op::atomic || op == Op::loop || op == Op::yield || op == Op::parameter) need(id);
  while (!open.empty()) {
    const tile::Id id = open.back();
    open.pop_back();
    for (tile::Id i : p[id].in) need(i);
  }
  Rewriter w(p);
  return w.run([&](tile::Builder& b, const tile::Node& n, tile::Id id) { return used[size_t(id)] ? b.append(n) : tile::kNone; },
               [](bool) {});
}

}  // namespace fb::compile
