#include <map>
#include <vector>

#include "compile/passes/passes.h"
#include "compile/passes/rewrite.h"

namespace fb::compile {
namespace {

bool shareable(tile::Op op) {
  using tile::Op;
  return op != Op::load && op != Op::store && op != Op::raise_if && op != Op::tell && op != Op::atomic && op != Op::parameter;
}

}  // namespace

tile::Program share_equal(const tile::Program& p) {
  using Key = std::vector<int64_t>;
  std::map<Key, tile::Id> known;
  std::vector<Key> added;
  std::vector<size_t> scopes;
  Rewriter w(p);
  return w.run(
      [&](tile::Builder& b, const tile::Node& n, tile::Id) {
        if (!shareable(n.op)) return b.append(n);
        Key key{int64_t(n.op), int64_t(n.type.elem), n.type.lanes, n.imm, reinterpret_cast<int64_t>(n.callee)};
        for (tile::Id i : n.in) key.push_back(i);
        auto [at, fresh] = known.try_emplace(key, tile::kNone);
        if (fresh) {
          at->second = b.append(n);
          added.push_back(std::move(key));
        }
        return at->second;
      },
      [&](bool enter) {
        if (enter) return scopes.push_back(added.size());
        for (; added.size() > scopes.back(); added.pop_back()) known.erase(added.back());
        scopes.pop_back();
      });
}

}  // namespace fb::compile
