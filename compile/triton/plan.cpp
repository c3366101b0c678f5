// Decides which tiles get memory of their own. A tile without it is computed again wherever it is used, a few lanes at a
// time, inside the loop of what uses it: that is how elementwise work is fused. Memory is for what is used in several such
// loops and is not cheap, for what a loop's body uses again in each round, and for loads that a store might overtake.
#include <algorithm>
#include <map>
#include <utility>

#include "compile/triton/program.h"

namespace fb::triton {
namespace {

constexpr double kRounds = 8;      // of a loop, for estimates
constexpr int kCheap = 6;          // operations that are rather done twice than kept

struct Use {
  int64_t sink;                    // what loops over the tile
  int32_t region, place;
  bool writes;
  int area;                        // class of memory written
};
struct Effect {
  int32_t place;
  int area;
};

struct Planner {
  const Program& p;
  Plan plan;
  std::vector<std::vector<Use>> uses;
  std::vector<int32_t> region_of, place_of;
  std::vector<std::vector<Effect>> effects;   // by region
  std::vector<Id> owner;                      // the loop or branch of a region
  std::vector<int> cost, own;                 // operations to compute an element, with and without what it is made of
  std::map<std::pair<Id, Id>, bool> depends_, in_lanes_;
  std::vector<int> areas_read;                // classes of memory

  explicit Planner(const Program& program) : p(program) {
    const size_t n = p.nodes.size();
    plan.stored.assign(n, 0);
    plan.moving.assign(n, 0);
    plan.steps.resize(n);
    plan.in_place.assign(n, -1);
    plan.past_cache.assign(n, 0);
    uses.resize(n);
    region_of.assign(n, -1);
    place_of.assign(n, -1);
    effects.resize(p.regions.size());
    owner.assign(p.regions.size(), -1);
    cost.assign(n, 0);
    own.assign(n, 0);
  }

  static bool is_loop(Op op) { return op == Op::loop || op == Op::loop_while; }
  static int first_carried(Op op) { return op == Op::loop ? 3 : 1; }
  bool tile(Id id) const { return p[id].tile; }

  // The class of memory that a pointer leads to; -1: any.
  int area(Id id, int depth = 0) const {
    const Node& n = p[id];
    if (depth > 64) return -1;
    switch (n.op) {
      case Op::parameter: return p.classes[size_t(n.imm)];
      case Op::splat: case Op::broadcast: case Op::expand: case Op::reshape: case Op::permute: case Op::flip: case Op::split: case Op::offset:
        return area(n.in[0], depth + 1);
      case Op::lanewise: {
        if (n.lane != tile::Op::select) return -1;
        const int a = area(n.in[1], depth + 1);
        return a == area(n.in[2], depth + 1) ? a : -1;
      }
      case Op::argument: {
        const Id loop = owner[size_t(region_of[size_t(id)])];
        if (loop < 0 || !plan.moving[size_t(id)]) return -1;
        return area(p[loop].in[n.imm - (p[loop].op == Op::loop ? 1 : 0) + first_carried(p[loop].op)], depth + 1);
      }
      default: return -1;
    }
  }
  static bool meets(int a, int b) { return a < 0 || b < 0 || a == b; }

  // What an atomic found in memory hangs on the order of the programs; a kernel that uses it has one.
  void reads_order(Id x) {
    if (p[x].op == Op::atomic) plan.serial = true;
  }

  // ---- where everything stands, what a loop's arguments do, effects and costs ----
  void survey(int32_t r, double rounds) {
    const Region& region = p.regions[size_t(r)];
    for (Id a : region.arguments) region_of[size_t(a)] = r;
    for (Id y : region.yields) reads_order(y);
    for (size_t i = 0; i < region.body.size(); ++i) {
      const Id id = region.body[i];
      const Node& n = p[id];
      region_of[size_t(id)] = r;
      place_of[size_t(id)] = int32_t(i);
      for (Id x : n.in) reads_order(x);
      const double elements = double(n.numel());
      double each = 1;
      switch (n.op) {
        case Op::call: each = 20; break;
        case Op::load: each = 2; break;
        case Op::dot: each = double(p[n.in[0]].shape.back()) / 4; break;
        case Op::sort: each = 100; break;
        case Op::splat: case Op::broadcast: case Op::expand: case Op::reshape: case Op::permute: case Op::arange: each = 0; break;
        default: break;
      }
      double work = elements * each;
      if (n.op == Op::store || n.op == Op::atomic) work = 2 * double(p[n.in[0]].numel());
      if (n.op == Op::reduce || n.op == Op::scan) work = 2 * double(p[n.in[0]].numel());
      plan.work += work * rounds;
      if (n.op == Op::lanewise || n.op == Op::convert || n.op == Op::call) {
        int c = n.op == Op::call ? 2 * kCheap : 1;
        if (n.op == Op::lanewise && (n.lane == tile::Op::div || n.lane == tile::Op::sqrt || n.lane == tile::Op::rem)) c = kCheap;
        if (n.op == Op::lanewise && tile::is_integer(n.elem) && (n.lane == tile::Op::add || n.lane == tile::Op::mul || n.lane == tile::Op::sub)) c = 0;
        own[size_t(id)] = c;
        for (Id x : n.in)
          if (tile(x)) c += cost[size_t(x)];
        cost[size_t(id)] = std::min(c, 1000);
      } else if (n.op == Op::offset || n.op == Op::broadcast || n.op == Op::expand || n.op == Op::permute || n.op == Op::reshape || n.op == Op::flip ||
                 n.op == Op::split || n.op == Op::join || n.op == Op::cat) {
        for (Id x : n.in) cost[size_t(id)] = std::min(cost[size_t(id)] + cost[size_t(x)], 1000);
      } else if (n.op == Op::gather) {
        cost[size_t(id)] = own[size_t(id)] = kCheap;
      }
      if (n.op == Op::load || n.op == Op::atomic) areas_read.push_back(area(n.in[0]));
      if (n.op == Op::store) effects[size_t(r)].push_back({int32_t(i), area(n.in[0])});
      if (n.op == Op::atomic) {
        effects[size_t(r)].push_back({int32_t(i), area(n.in[0])});
        const auto kind = tile::Atomic(n.imm);
        if (!tile::is_integer(n.elem) || kind == tile::Atomic::exchange || kind == tile::Atomic::exchange_if) plan.serial = true;
      }
      if (is_loop(n.op) || n.op == Op::branch) {
        for (int32_t inner : n.regions) {
          owner[size_t(inner)] = id;
          for (Id a : p.regions[size_t(inner)].arguments) region_of[size_t(a)] = inner;
        }
        if (n.op == Op::loop) movements(n);
        for (int32_t inner : n.regions) {
          survey(inner, is_loop(n.op) ? rounds * kRounds : rounds);
          if (!effects[size_t(inner)].empty()) effects[size_t(r)].push_back({int32_t(i), -1});
        }
      }
    }
  }
  // Lines that are written whole and read by none of these programs need not pass through the caches.
  void find_streams() {
    constexpr int64_t kRun = 256;             // bytes
    for (Id id = 0; id < Id(p.nodes.size()); ++id) {
      const Node& n = p[id];
      if (n.op != Op::store || region_of[size_t(id)] < 0 || !tile(n.in[0]) || p[n.in[0]].shape.empty()) continue;
      const int to = area(n.in[0]);
      bool fits = to >= 0 && p[n.in[0]].shape.back() * tile::bytes_of(p[n.in[1]].elem) >= kRun, large = false;
      for (size_t k = 0; k < p.classes.size(); ++k) large |= p.classes[k] == to && k < p.large.size() && p.large[k];
      for (int a : areas_read) fits &= !meets(a, to);
      plan.past_cache[size_t(id)] = fits && large;
    }
  }
  // Arguments that a round adds scalars to, such as pointers that walk along a matrix.
  void movements(const Node& loop) {
    const Region& r = p.regions[size_t(loop.regions[0])];
    for (size_t k = 0; k < r.yields.size(); ++k) {
      const Id a = r.arguments[k + 1];
      const Node& n = p[a];
      if (!n.tile || !(tile::is_integer(n.elem) || n.elem == tile::Elem::address)) continue;
      std::vector<Id> steps;
      Id y = r.yields[k];
      bool ok = true;
      while (ok && y != a) {
        const Node& m = p[y];
        const bool adds = m.op == Op::offset || (m.op == Op::lanewise && m.lane == tile::Op::add);
        ok = false;
        if (!adds) break;
        for (int side = 0; side < (m.op == Op::offset ? 1 : 2) && !ok; ++side) {
          Id s = m.in[size_t(1 - side)];
          while (p[s].tile && (p[s].op == Op::splat || p[s].op == Op::broadcast || p[s].op == Op::expand)) s = p[s].in[0];
          if (p[s].tile) continue;
          steps.push_back(y);
          y = m.in[size_t(side)];
          ok = true;
        }
      }
      if (!ok) continue;
      plan.moving[size_t(a)] = 1;
      plan.steps[size_t(a)] = std::move(steps);
    }
  }

  // ---- from the end to the beginning: who uses what ----
  void note(Id id, const Use& u) {
    if (!tile(id)) return;
    auto& list = uses[size_t(id)];
    for (const Use& o : list)
      if (o.sink == u.sink && o.region == u.region) return;
    if (list.size() < 16) list.push_back(u);
  }
  static int64_t carried(Id loop, size_t k) { return (int64_t(loop) + 1) << 20 | int64_t(k); }

  void walk(int32_t r) {
    const Region& region = p.regions[size_t(r)];
    for (size_t i = region.body.size(); i-- > 0;) {
      const Id id = region.body[i];
      const Node& n = p[id];
      const int32_t place = int32_t(i);
      if (is_loop(n.op) || n.op == Op::branch) {
        for (int32_t inner : n.regions) {
          const Region& body = p.regions[size_t(inner)];
          const bool in_loop = is_loop(n.op);
          const size_t skip = n.op == Op::loop ? 1 : 0, go = n.op == Op::loop_while ? 1 : 0;
          for (size_t k = 0; k < body.yields.size(); ++k) {
            if (in_loop && k >= go && plan.moving[size_t(body.arguments[k - go + skip])]) continue;
            note(body.yields[k], {carried(id, k), inner, int32_t(body.body.size()), false, 0});
          }
          walk(inner);
          if (!in_loop) continue;
          for (size_t k = 0; k + skip < body.arguments.size(); ++k) {
            const Id a = body.arguments[k + skip], first = n.in[k + size_t(first_carried(n.op))];
            if (!tile(a)) continue;
            if (plan.moving[size_t(a)]) {
              for (const Use& u : uses[size_t(a)]) note(first, u);
              note(first, {carried(id, k), inner, 0, false, 0});
            } else {
              plan.stored[size_t(a)] = 1;
              in_place(a, carried(id, k + go));
            }
          }
        }
        for (size_t k = 0; k < n.in.size(); ++k) note(n.in[k], {carried(id, k) | 1 << 19, r, place, false, 0});
        continue;
      }
      const bool own = n.op == Op::reduce || n.op == Op::scan || n.op == Op::dot || n.op == Op::sort || n.op == Op::histogram || n.op == Op::atomic ||
                       n.op == Op::store || n.op == Op::tell;
      if (own) {
        plan.stored[size_t(id)] = n.tile && n.elem != tile::Elem::none && !(n.op == Op::atomic && uses[size_t(id)].empty());
        const bool writes = n.op == Op::store || n.op == Op::atomic;
        for (Id x : n.in) note(x, {id, r, place, writes, writes ? area(n.in[0]) : 0});
        if (n.op == Op::dot) need(n.in[0]), need(n.in[1]);
        continue;
      }
      if (!n.tile) continue;
      if (n.op == Op::result) continue;
      if (n.op == Op::gather) need(n.in[0]);
      decide(id, r, place);
      if (plan.stored[size_t(id)]) {
        for (Id x : n.in) note(x, {id, r, place, false, 0});
      } else {
        for (Id x : n.in)
          for (const Use& u : uses[size_t(id)]) note(x, u);
      }
    }
  }
  void need(Id id) {
    const Op op = p[id].op;
    if (op != Op::result && op != Op::argument) plan.stored[size_t(id)] = 1;
  }
  void decide(Id id, int32_t r, int32_t place) {
    if (plan.stored[size_t(id)]) return;
    const Node& n = p[id];
    const auto& list = uses[size_t(id)];
    bool deeper = false, apart = false;
    for (const Use& u : list) {
      deeper |= u.region != r;
      apart |= u.sink != list[0].sink;
    }
    if (n.op == Op::load) {
      bool overtaken = false;
      const int at = area(n.in[0]);
      for (const Use& u : list) {
        if (u.writes && meets(u.area, at)) overtaken = true;
        for (const Effect& e : effects[size_t(r)])
          if (e.place > place && e.place < u.place && meets(e.area, at)) overtaken = true;
      }
      plan.stored[size_t(id)] = deeper || apart || overtaken;
    } else if ((deeper || apart) && cost[size_t(id)] >= kCheap && own[size_t(id)] && n.elem != tile::Elem::address) {
      // Views and sums of indices are no work of their own: what they are made of is kept, and mostly smaller.
      plan.stored[size_t(id)] = 1;
    }
  }
  bool depends(Id x, Id a) {
    if (x == a) return true;
    const auto [at, fresh] = depends_.try_emplace({x, a}, false);
    if (fresh) {
      const bool r = depends_anew(x, a);
      depends_[{x, a}] = r;
      return r;
    }
    return at->second;
  }
  bool depends_anew(Id x, Id a) {
    if (!tile(x) || plan.stored[size_t(x)] || p[x].op == Op::result || p[x].op == Op::argument) return false;
    for (Id i : p[x].in)
      if (depends(i, a)) return true;
    return false;
  }
  bool lane_for_lane(Id x, Id a) {
    if (x == a || !depends(x, a)) return true;
    const auto known = in_lanes_.find({x, a});
    if (known != in_lanes_.end()) return known->second;
    return in_lanes_[{x, a}] = lane_for_lane_anew(x, a);
  }
  bool lane_for_lane_anew(Id x, Id a) {
    const Node& n = p[x];
    if (n.op != Op::lanewise && n.op != Op::call && n.op != Op::convert) return false;
    for (Id i : n.in)
      if (!lane_for_lane(i, a)) return false;
    return true;
  }
  // A product whose sum alone reads a loop's argument, and which is what the argument becomes.
  void in_place(Id a, int64_t becomes) {
    const auto& list = uses[size_t(a)];
    if (list.empty()) return;
    depends_.clear();
    in_lanes_.clear();
    for (const Use& u : list)
      if (u.sink != list[0].sink || u.sink >= int64_t(p.nodes.size()) || u.region != region_of[size_t(a)]) return;
    const Id d = Id(list[0].sink);
    if (p[d].op != Op::dot || p[d].shape != p[a].shape || p[d].elem != p[a].elem) return;
    const auto& after = uses[size_t(d)];
    if (after.size() != 1 || after[0].sink != becomes || !lane_for_lane(p[d].in[2], a)) return;
    plan.in_place[size_t(d)] = a;
  }
};

}  // namespace

void drop_unused(Program& p) {
  std::vector<char> used(p.nodes.size());
  std::vector<Id> open;
  auto need = [&](Id id) {
    if (used[size_t(id)]) return;
    used[size_t(id)] = 1;
    open.push_back(id);
  };
  for (const Region& r : p.regions) {
    for (Id id : r.yields) need(id);
    for (Id id : r.body)
      switch (p[id].op) {
        case Op::store: case Op::atomic: case Op::tell: case Op::require: case Op::loop: case Op::loop_while: case Op::branch: need(id); break;
        default: break;
      }
  }
  while (!open.empty()) {
    const Id id = open.back();
    open.pop_back();
    for (Id x : p[id].in) need(x);
  }
  for (Region& r : p.regions) std::erase_if(r.body, [&](Id id) { return !used[size_t(id)]; });
}

Plan plan_of(const Program& p) {
  Planner planner(p);
  planner.survey(0, 1);
  planner.find_streams();
  planner.walk(0);
  return std::move(planner.plan);
}

}  // namespace fb::triton
