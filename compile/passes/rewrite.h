// Copies a program node by node, so that a pass says only what it does otherwise.
#pragma once
#include "compile/tile/builder.h"

namespace fb::compile {

class Rewriter {
 public:
  explicit Rewriter(const tile::Program& from) : from_(from), map_(from.nodes.size(), tile::kNone), results_(from.nodes.size()) {
    to_.name = from.name;
    to_.parameters = from.parameters;
    to_.thunks = from.thunks;
    to_.tables = from.tables;
  }
  // each(b, n, id): the new value of node n, whose operands are those of the new program; append(b, n) copies it.
  // Loops, arguments and yields are seen to. Where each returns kNone the node has no successor. scope(bool) is told
  // when a loop's region is entered and left.
  template <class Each, class Scope> tile::Program run(Each&& each, Scope&& scope) {
    tile::Builder b(to_);
    region(b, 0, each, scope);
    return std::move(to_);
  }

 private:
  template <class Each, class Scope> void region(tile::Builder& b, int32_t r, Each& each, Scope& scope) {
    for (tile::Id id : from_.regions[size_t(r)].body) {
      const tile::Node& old = from_[id];
      if (old.op == tile::Op::yield) return;
      if (old.op == tile::Op::result) {
        map_[size_t(id)] = results_[size_t(old.in[0])][size_t(old.imm)];
        continue;
      }
      if (old.op == tile::Op::loop) {
        const tile::Region& body = from_.regions[size_t(old.region)];
        std::vector<tile::Id> carried;
        for (int64_t i = 3; i < old.in.size(); ++i) carried.push_back(map_[size_t(old.in[i])]);
        const tile::Id loop = b.open_loop(map_[size_t(old.in[0])], map_[size_t(old.in[1])], map_[size_t(old.in[2])], carried);
        to_[loop].imm = old.imm;
        {
          std::vector<tile::Id>& c = carried;
          map_[size_t(body.arguments[0])] = b.index();
          for (size_t k = 0; k < c.size(); ++k) map_[size_t(body.arguments[k + 1])] = c[k];
          scope(true);
          region(b, old.region, each, scope);
          scope(false);
          const tile::Node& y = from_[body.body.back()];
          for (size_t k = 0; k < c.size(); ++k) c[k] = map_[size_t(y.in[int64_t(k)])];
        }
        b.close_loop(loop, carried);
        results_[size_t(id)] = carried;
        continue;
      }
      tile::Node n = old;
      for (int64_t i = 0; i < n.in.size(); ++i) n.in[i] = map_[size_t(n.in[i])];
      map_[size_t(id)] = each(b, n, id);
    }
  }
  const tile::Program& from_;
  tile::Program to_;
  std::vector<tile::Id> map_;
  std::vector<std::vector<tile::Id>> results_;
};

}  // namespace fb::compile
