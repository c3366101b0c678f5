// Walks a kernel in order: scalars become scalars of the tile program, loops become loops, tiles become memory where the
// plan says so and nothing at all where it does not (evaluate.cpp makes them where they are used).
#include <algorithm>

#include "compile/tile/named.h"
#include "compile/triton/lowering.h"
#include "core/error.h"

namespace fb::triton {

using tile::kNone;
using TOp = tile::Op;

Lowering::Lowering(const Program& p, const Plan& plan)
    : p_(p), plan_(plan), b_(out_), value_(p.nodes.size(), kNone), room_(p.nodes.size(), -1), moved_by_(p.nodes.size(), kNone), first_of_(p.nodes.size(), -1),
      on_the_way_(p.nodes.size(), -1) {
  out_.name = p.name;
  scopes_.emplace_back();
}

Lowered Lowering::run() {
  static constexpr const char* names[] = {"program0", "program1", "program2", "programs0", "programs1", "programs2"};
  for (int i = 0; i < 6; ++i) program_[i] = b_.parameter(names[i], Elem::i64);
  scratch_ = b_.parameter("scratch", Elem::address);
  for (Elem e : p_.parameters) {
    const Elem word = e == Elem::address ? e : tile::is_float(e) ? Elem::f64 : Elem::i64;
    const Value v = b_.parameter("argument", word);
    words_.push_back(b_.convert(v, e));
  }
  region(0);
  Lowered r;
  r.program = std::move(out_);
  r.scratch = most_;
  r.messages = std::move(messages_);
  return r;
}

int64_t Lowering::room(int64_t elements, Elem e) {
  const int64_t at = top_;
  top_ += (elements * tile::bytes_of(e) + 63) / 64 * 64;
  most_ = std::max(most_, top_);
  return at;
}
Value Lowering::zero(Elem e) {
  if (e == Elem::address) return b_.bitcast(b_.integer(0), e);
  if (tile::is_half(e)) return b_.convert(b_.real(Elem::f32, 0), e);
  return b_.constant_bits(e, 0);
}

void Lowering::region(int32_t r) {
  for (Id id : p_.regions[size_t(r)].body) node(id);
  fill_waiting();
}

// A stored tile waits for the next node that does something. Where that is a reduction over the tile, or over what is made
// of it lane by lane, its loop fills the memory as it goes: one pass instead of two.
void Lowering::fill_waiting() {
  std::vector<Id> list;
  list.swap(waiting_);
  for (Id id : list) {
    const int64_t at = room(p_[id].numel(), p_[id].elem);
    fill_room(at, id, p_[id].elem);
    room_[size_t(id)] = at;
  }
}
int Lowering::computes(Id x, Id a) {
  if (x == a) return 1;
  const Node& n = p_[x];
  if (!n.tile || room_[size_t(x)] >= 0) return 0;
  if (const auto known = computes_.find({x, a}); known != computes_.end()) return known->second;
  int most = 0;
  if (n.op == Op::argument || n.op == Op::result) {
    most = first_of_[size_t(x)] >= 0 && computes(first_of_[size_t(x)], a) ? 2 : 0;
  } else {
    for (Id i : n.in) most = std::max(most, computes(i, a));
    const bool lanes = n.op == Op::lanewise || n.op == Op::call || n.op == Op::convert || n.op == Op::bitcast;
    if (most && !lanes) most = 2;
  }
  return computes_[{x, a}] = most;
}
void Lowering::fill_on_the_way(const Node& reduction) {
  std::vector<Id> later;
  computes_.clear();
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const Id a = waiting_[i];
    int once = 0;
    for (Id x : reduction.in) once = std::max(once, computes(x, a));
    // What another waiting tile is made of is filled with that one, or before.
    for (size_t k = 0; k < waiting_.size() && once == 1; ++k)
      if (waiting_[k] != a && computes(waiting_[k], a) == 2) once = 2;
    if (once == 1 && p_[a].shape == p_[reduction.in[0]].shape) later.push_back(a);
  }
  std::erase_if(waiting_, [&](Id a) { return std::find(later.begin(), later.end(), a) != later.end(); });
  fill_waiting();
  waiting_ = later;
  for (Id a : later) on_the_way_[size_t(a)] = room(p_[a].numel(), p_[a].elem);
}

void Lowering::node(Id id) {
  const Node& n = p_[id];
  switch (n.op) {
    case Op::reduce:
      fill_on_the_way(n);
      reduce(id);
      for (Id a : waiting_) std::swap(room_[size_t(a)], on_the_way_[size_t(a)]);
      waiting_.clear();
      return;
    case Op::store: case Op::atomic: case Op::scan: case Op::dot: case Op::sort: case Op::histogram: case Op::tell: case Op::require: case Op::loop:
    case Op::loop_while: case Op::branch: fill_waiting(); break;
    default: break;
  }
  switch (n.op) {
    case Op::store: return store(id);
    case Op::atomic: return atomic(id);
    case Op::scan: return scan(id);
    case Op::dot: return dot(id);
    case Op::sort: return sort(id);
    case Op::histogram: return histogram(id);
    case Op::tell: return tell(n);
    case Op::require: return tell(n);
    case Op::loop: return loop(id);
    case Op::loop_while: return loop_while(id);
    case Op::branch: return branch(id);
    case Op::result: {
      const Outcome& o = outcomes_.at({n.in[0], size_t(n.imm)});
      room_[size_t(id)] = o.room;
      first_of_[size_t(id)] = o.first;
      (o.first >= 0 ? moved_by_ : value_)[size_t(id)] = o.scalar;
      return;
    }
    default: break;
  }
  if (!n.tile) {
    value_[size_t(id)] = scalar_of(n);
  } else if (plan_.stored[size_t(id)]) {
    waiting_.push_back(id);
  }
}

Value Lowering::scalar_of(const Node& n) {
  auto in = [&](size_t i) { return value_[size_t(n.in[i])]; };
  switch (n.op) {
    case Op::constant: return b_.constant_bits(n.elem, n.imm);
    case Op::parameter: return words_[size_t(n.imm)];
    case Op::program_id: return b_.convert(program_[n.imm], n.elem);
    case Op::num_programs: return b_.convert(program_[3 + n.imm], n.elem);
    case Op::convert: return b_.convert(in(0), n.elem);
    case Op::bitcast: return b_.bitcast(in(0), n.elem);
    case Op::call: {
      Value x[3];
      for (size_t i = 0; i < n.in.size(); ++i) x[i] = in(i);
      return b_.call(*n.callee, x, int(n.in.size()));
    }
    case Op::lanewise:
      if (n.in.size() == 1) return b_.apply(n.lane, in(0));
      if (n.in.size() == 2) return b_.apply(n.lane, in(0), in(1));
      return b_.apply(n.lane, in(0), in(1), in(2));
    case Op::offset: return add(in(0), mul(b_.convert(in(1), Elem::i64), n.imm));
    case Op::load:
      return load_from({in(0), false, 0, kNone}, n.elem, 1, n.in.size() == 3 ? Mask{n.in[1], &scalar_place_} : Mask{}, n.in.size() == 3 ? n.in[2] : -1);
    default: raise_runtime("a kernel's ", name_of(n.op), " gives no scalar");
  }
}

// ---- loops ----
std::vector<Value> Lowering::enter(const Region& r, const Node& n, size_t first, size_t skip) {
  std::vector<Value> carried;
  for (size_t k = 0; k + skip < r.arguments.size(); ++k) {
    const Id a = r.arguments[k + skip], x = n.in[k + first];
    const Node& arg = p_[a];
    if (!arg.tile) {
      carried.push_back(value_[size_t(x)]);
    } else if (plan_.moving[size_t(a)]) {
      carried.push_back(zero(arg.elem == Elem::address ? Elem::i64 : arg.elem));
    } else {
      room_[size_t(a)] = room(arg.numel(), arg.elem);
      fill_room(room_[size_t(a)], x, arg.elem);
    }
  }
  return carried;
}
void Lowering::arrive(const Region& r, size_t skip, const Value* carried) {
  for (size_t k = skip; k < r.arguments.size(); ++k) {
    const Id a = r.arguments[k];
    if (!p_[a].tile) value_[size_t(a)] = *carried++;
    else if (plan_.moving[size_t(a)]) moved_by_[size_t(a)] = *carried++;
  }
}
// How x reads the loop argument a where it is computed: 0 not at all, 1 lane for lane, 2 in another order.
int Lowering::reads(Id x, Id a) {
  if (x == a) return 1;
  const Node& n = p_[x];
  if (!n.tile || room_[size_t(x)] >= 0) return 0;
  const auto [at, fresh] = reads_.try_emplace({x, a}, 0);
  if (!fresh) return at->second;
  return at->second = reads_anew(x, a);
}
int Lowering::reads_anew(Id x, Id a) {
  const Node& n = p_[x];
  if (n.op == Op::argument || n.op == Op::result) return first_of_[size_t(x)] >= 0 && first_of_[size_t(x)] != x ? reads(first_of_[size_t(x)], a) : 0;
  const bool lanes = n.op == Op::lanewise || n.op == Op::call || n.op == Op::convert || n.op == Op::bitcast || n.op == Op::offset || n.op == Op::load;
  int most = 0;
  for (Id i : n.in) most = std::max(most, reads(i, a));
  return most && !lanes ? 2 : most;
}
std::vector<Value> Lowering::depart(const Region& r, size_t go, size_t skip) {
  std::vector<Value> carried;
  struct Copy {
    int64_t from, to;
    Id argument;
  };
  std::vector<Copy> copies;
  reads_.clear();
  // Tiles made lane by lane of what they replace are written where that lies, all of one shape in one loop.
  std::vector<std::pair<Id, Id>> direct;   // (argument, what it becomes)
  auto stays_in_lanes = [&](size_t k) {
    const Id a = r.arguments[k], y = r.yields[k - skip + go];
    if (room_[size_t(y)] >= 0 || y == a) return false;
    for (size_t j = skip; j < r.arguments.size(); ++j) {
      const Id b = r.arguments[j], z = r.yields[j - skip + go];
      if (!p_[b].tile || plan_.moving[size_t(b)]) continue;
      const bool together = room_[size_t(z)] < 0 && p_[z].shape == p_[y].shape;
      if (reads(z, a) > (together ? 1 : 0) || reads(y, b) > (together ? 1 : 0)) return false;
    }
    return true;
  };
  for (size_t k = skip; k < r.arguments.size(); ++k) {
    const Id a = r.arguments[k], y = r.yields[k - skip + go];
    const Node& arg = p_[a];
    if (!arg.tile) {
      carried.push_back(value_[size_t(y)]);
    } else if (plan_.moving[size_t(a)]) {
      Value sum = moved_by_[size_t(a)];
      for (Id step : plan_.steps[size_t(a)]) {
        const Node& m = p_[step];
        for (Id s : m.in) {            // the operand that comes down to a scalar
          while (p_[s].tile && (p_[s].op == Op::splat || p_[s].op == Op::broadcast || p_[s].op == Op::expand)) s = p_[s].in[0];
          if (p_[s].tile) continue;
          sum = add(sum, m.op == Op::offset ? mul(b_.convert(value_[size_t(s)], Elem::i64), m.imm) : value_[size_t(s)]);
          break;
        }
      }
      carried.push_back(sum);
    } else if (stays_in_lanes(k)) {
      direct.push_back({a, y});
    } else if (y != a && room_[size_t(y)] != room_[size_t(a)]) {
      // Aside first: another of the carried tiles may be made from this one.
      int64_t from = room_[size_t(y)];
      if (from < 0 || p_[y].op == Op::argument) {
        from = room(arg.numel(), arg.elem);
        fill_room(from, y, arg.elem);
      }
      copies.push_back({from, room_[size_t(a)], a});
    }
  }
  while (!direct.empty()) {
    const std::vector<int64_t> shape = p_[direct[0].first].shape;
    std::vector<Id> sources;
    for (const auto& [a, y] : direct)
      if (p_[a].shape == shape) sources.push_back(y);
    scoped([&] {
      each(shape, width_of(sources), [&](const Place& at) {
        std::vector<Value> v;
        for (const auto& [a, y] : direct)
          if (p_[a].shape == shape) v.push_back(full_lanes(y, at));
        size_t i = 0;
        for (const auto& [a, y] : direct)
          if (p_[a].shape == shape) store_room(room_[size_t(a)], shape, p_[a].elem, at, v[i++]);
      });
    });
    std::erase_if(direct, [&](const auto& d) { return p_[d.first].shape == shape; });
  }
  for (const Copy& c : copies) {
    const Node& arg = p_[c.argument];
    scoped([&] {
      each(arg.shape, kLanes, [&](const Place& at) {
        store_room(c.to, arg.shape, arg.elem, at, wide(load_room(c.from, arg.shape, arg.elem, at), at.lanes));
      });
    });
  }
  return carried;
}
void Lowering::leave(Id id, const Node& n, const Region& r, size_t first, size_t skip, const Value* carried) {
  for (size_t k = 0; k + skip < r.arguments.size(); ++k) {
    const Id a = r.arguments[k + skip];
    Outcome& o = outcomes_[{id, k}];
    if (!p_[a].tile) {
      o.scalar = *carried++;
    } else if (plan_.moving[size_t(a)]) {
      o.first = n.in[k + first];
      o.scalar = *carried++;
    } else {
      o.room = room_[size_t(a)];
    }
  }
}

void Lowering::loop(Id id) {
  const Node& n = p_[id];
  const Region& r = p_.regions[size_t(n.regions[0])];
  std::vector<Value> carried = enter(r, n, 3, 1);
  auto bound = [&](int i) { return b_.convert(value_[size_t(n.in[size_t(i)])], Elem::i64); };
  for (size_t k = 1; k < r.arguments.size(); ++k) first_of_[size_t(r.arguments[k])] = n.in[k + 2];
  const int64_t top = top_;
  b_.loop(bound(0), bound(1), bound(2), carried, [&](Value i, std::vector<Value>& c) {
    scoped([&] {
      value_[size_t(r.arguments[0])] = b_.convert(i, p_[r.arguments[0]].elem);
      arrive(r, 1, c.data());
      region(n.regions[0]);
      c = depart(r, 0, 1);
    });
  });
  top_ = top;
  leave(id, n, r, 3, 1, carried.data());
}
void Lowering::loop_while(Id id) {
  const Node& n = p_[id];
  const Region& r = p_.regions[size_t(n.regions[0])];
  std::vector<Value> carried = enter(r, n, 1, 0);
  carried.insert(carried.begin(), value_[size_t(n.in[0])]);
  const int64_t top = top_;
  b_.loop_while(carried, [&](std::vector<Value>& c) {
    scoped([&] {
      arrive(r, 0, c.data() + 1);
      region(n.regions[0]);
      c = depart(r, 1, 0);
      c.insert(c.begin(), value_[size_t(r.yields[0])]);
    });
  });
  top_ = top;
  leave(id, n, r, 1, 0, carried.data() + 1);
}
// A loop of one round or none for each side.
void Lowering::branch(Id id) {
  const Node& n = p_[id];
  const Value truth = value_[size_t(n.in[0])];
  const Region& then = p_.regions[size_t(n.regions[0])];
  std::vector<Value> carried;
  for (size_t k = 0; k < then.yields.size(); ++k) {
    const Node& y = p_[then.yields[k]];
    Outcome& o = outcomes_[{id, k}];
    if (y.tile) o.room = room(y.numel(), y.elem);
    else carried.push_back(zero(y.elem));
  }
  const int64_t top = top_;
  for (int side = 0; side < 2; ++side) {
    const Region& r = p_.regions[size_t(n.regions[size_t(side)])];
    const Value taken = b_.convert(side ? b_.apply(TOp::bit_not, truth) : truth, Elem::i64);
    if (r.body.empty() && r.yields.empty()) continue;
    b_.loop(b_.integer(0), taken, b_.integer(1), carried, [&](Value, std::vector<Value>& c) {
      scoped([&] {
        region(n.regions[size_t(side)]);
        std::vector<Value> now;
        for (size_t k = 0; k < r.yields.size(); ++k) {
          const Id y = r.yields[k];
          if (p_[y].tile) fill_room(outcomes_[{id, k}].room, y, p_[y].elem);
          else now.push_back(value_[size_t(y)]);
        }
        c = now;
      });
    });
    top_ = top;
  }
  size_t next = 0;
  for (size_t k = 0; k < then.yields.size(); ++k)
    if (!p_[then.yields[k]].tile) outcomes_[{id, k}].scalar = carried[next++];
}

Lowered lower(const Program& p, const Plan& plan) { return Lowering(p, plan).run(); }

const char* name_of(Op op) {
  constexpr const char* n[] = {
#define FB_X(name) #name,
      FB_TRITON_OPS(FB_X)
#undef FB_X
  };
  return n[int(op)];
}

}  // namespace fb::triton
