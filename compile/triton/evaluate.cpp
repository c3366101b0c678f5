// A few lanes of a tile: what is not stored is computed from what it is made of. Integers and addresses keep the form
// base + lane * step as long as they have it, so that neighbours in memory are known as such.
#include <algorithm>
#include <optional>

#include "compile/passes/passes.h"
#include "compile/tile/named.h"
#include "compile/triton/lowering.h"
#include "core/error.h"

namespace fb::triton {

using tile::kNone;
using TOp = tile::Op;

bool Lowering::constant(Value v, int64_t& out) const {
  const tile::Node& n = out_[v];
  if (n.op != TOp::constant || !tile::is_integer(n.type.elem)) return false;
  const int bits = 8 * tile::bytes_of(n.type.elem);
  out = n.imm;
  if (bits < 64) {
    out &= (int64_t(1) << bits) - 1;
    if (tile::is_signed(n.type.elem)) out = (out ^ (int64_t(1) << (bits - 1))) - (int64_t(1) << (bits - 1));
  }
  return true;
}
Value Lowering::wide(const Lanes& v, int lanes) {
  if (!v.ramp) return v.id;
  return b_.ramp(v.id, step_of(v), lanes);
}
Value Lowering::index_lanes(const Index& i, int lanes) {
  if (i.each != kNone) return i.each;
  if (i.uniform()) return index_value(i);
  return b_.ramp(index_value(i), b_.integer(i.step), lanes);
}
Lanes Lowering::add_ramps(const Lanes& a, const Lanes& b, bool minus, Elem e) {
  for (const Lanes* v : {&a, &b})      // lanes that are just any
    if (!v->ramp && b_.type(v->id).lanes > 1) {
      const int lanes = b_.type(v->id).lanes;
      return {b_.apply(minus ? TOp::sub : TOp::add, wide(a, lanes), wide(b, lanes)), false, 0, kNone};
    }
  Lanes r;
  r.ramp = a.ramp || b.ramp;
  r.id = b_.apply(minus ? TOp::sub : TOp::add, a.id, b.id);
  if (a.step_id == kNone && b.step_id == kNone) {
    r.step = minus ? a.step - b.step : a.step + b.step;
  } else {
    const Value x = a.ramp ? step_of(a) : b_.integer(0), y = b.ramp ? step_of(b) : b_.integer(0);
    r.step_id = b_.apply(minus ? TOp::sub : TOp::add, x, y);
  }
  if (r.ramp && r.step_id == kNone && r.step == 0) r.ramp = false;
  return r;
}
// a times a scalar of a's element.
Lanes Lowering::scaled(const Lanes& a, Value by) {
  int64_t k;
  if (constant(by, k) && k == 1) return a;
  Lanes r = a;
  r.id = b_.apply(TOp::mul, a.id, by);
  if (!a.ramp) return r;
  if (constant(by, k) && a.step_id == kNone) {
    r.step = int64_t(uint64_t(a.step) * uint64_t(k));
    if (r.step == 0) r.ramp = false;
  } else {
    const Value wide_by = b_.convert(by, Elem::i64);
    r.step = 0;
    r.step_id = a.step_id == kNone && a.step == 1 ? wide_by : b_.apply(TOp::mul, step_of(a), wide_by);
  }
  return r;
}

// The place in a tile of shape `to` of the same elements in row-major order.
Place Lowering::linear(const Place& at, const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  Index all;
  bool apart = false;
  int64_t stride = 1;
  std::vector<int64_t> strides(from.size());
  for (size_t d = from.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= from[d];
    apart |= at.at[d].each != kNone;
  }
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] == 1) continue;
    const Index& i = at.at[d];
    if (apart) {
      const Value v = mul(index_lanes(i, at.lanes), strides[d]);
      all.each = all.each == kNone ? v : add(all.each, v);
      continue;
    }
    if (i.base != kNone) {
      const Value v = mul(i.base, strides[d]);
      all.base = all.base == kNone ? v : add(all.base, v);
    }
    all.step += i.step * strides[d];
  }
  Place r;
  r.lanes = at.lanes;
  r.at.resize(to.size());
  int64_t inner = 1;
  bool split = apart;
  int last = -1;
  for (size_t d = 0; d < to.size(); ++d)
    if (to[d] > 1) last = int(d);
  // Lanes that are neighbours stay within one row, for they begin at a multiple of their number.
  if (!split && !all.uniform() && !(all.step == 1 && last >= 0 && to[size_t(last)] >= at.lanes)) {
    split = true;
    all.each = index_lanes(all, at.lanes);
  }
  if (split && at.lanes > 1) all.each = b_.splat(all.each, at.lanes);
  for (size_t d = to.size(); d-- > 0;) {
    if (to[d] == 1) continue;
    int shift = 0;
    while ((int64_t(1) << shift) < inner) ++shift;
    auto part = [&](Value v) {
      if (shift) v = b_.apply(TOp::shr, v, b_.integer(shift));
      return b_.apply(TOp::bit_and, v, b_.integer(to[d] - 1));
    };
    if (split) {
      if (all.each != kNone) r.at[d].each = part(all.each);
    } else {
      if (all.base != kNone) r.at[d].base = part(all.base);
      if (int(d) == last) r.at[d].step = all.step;
    }
    inner *= to[d];
  }
  return r;
}

Lanes Lowering::address_in(int64_t offset, const std::vector<int64_t>& shape, Elem e, const Place& at) {
  Lanes r{room_at(offset), false, 0, kNone};
  int64_t stride = tile::bytes_of(e);
  Value each = kNone;
  for (size_t d = shape.size(); d-- > 0; ) {
    const Index& i = at.at[d];
    if (shape[d] > 1) {
      if (i.each != kNone) {
        const Value v = mul(i.each, stride);
        each = each == kNone ? v : add(each, v);
      } else {
        if (i.base != kNone) r.id = add(r.id, mul(i.base, stride));
        r.step += i.step * stride;
      }
    }
    stride *= shape[d];
  }
  r.ramp = r.step != 0;
  if (each != kNone) r = {add(b_.splat(wide(r, at.lanes), at.lanes), b_.splat(each, at.lanes)), false, 0, kNone};
  return r;
}
Lanes Lowering::load_room(int64_t offset, const std::vector<int64_t>& shape, Elem e, const Place& at) {
  const Lanes address = address_in(offset, shape, e, at);
  const Elem stored = e == Elem::address ? Elem::i64 : e;
  const Value v = b_.load(wide(address, at.lanes), stored);
  return {e == Elem::address ? b_.bitcast(v, Elem::address) : v, false, 0, kNone};
}
void Lowering::store_room(int64_t offset, const std::vector<int64_t>& shape, Elem e, const Place& at, Value v) {
  const Lanes address = address_in(offset, shape, e, at);
  if (e == Elem::address) v = b_.bitcast(v, Elem::i64);
  b_.store(b_.splat(wide(address, at.lanes), at.lanes), v);
}

// Functions whose texts stand in place want four registers, so that none waits for its last operation; those that are called
// want runs.
int Lowering::width_of(const std::vector<Id>& of) {
  std::vector<char> seen(p_.nodes.size());
  std::vector<Id> open = of;
  int in_place = 0, bytes = 4;
  while (!open.empty()) {
    const Id id = open.back();
    open.pop_back();
    const Node& n = p_[id];
    if (!n.tile || seen[size_t(id)] || room_[size_t(id)] >= 0) continue;
    seen[size_t(id)] = 1;
    if (n.op == Op::call) {
      const int length = compile::straight_length(n.callee, n.elem);
      if (length == 0) return compile::kRunLanes;
      in_place += length;
      bytes = std::max(bytes, tile::bytes_of(n.elem));
    }
    if (first_of_[size_t(id)] >= 0) open.push_back(first_of_[size_t(id)]);
    for (Id i : n.in) open.push_back(i);
  }
  return in_place == 0 ? kLanes : in_place <= compile::kTextsInPlace ? compile::tile_bytes() / bytes : compile::kRunLanes;
}

namespace {
void sign(std::vector<int64_t>& key, const Place& at) {
  key.push_back(at.lanes);
  for (const Index& i : at.at) {
    key.push_back(i.base);
    key.push_back(i.step);
    key.push_back(i.each);
  }
}
}  // namespace

Lanes Lowering::evaluate(Id id, const Place& at) {
  const Node& n = p_[id];
  if (!n.tile) return {value_[size_t(id)], false, 0, kNone};
  std::vector<int64_t> key{id};
  sign(key, at);
  for (size_t s = scopes_.size(); s-- > 0;)
    if (const auto found = scopes_[s].known.find(key); found != scopes_[s].known.end()) return found->second;
  const bool kept = room_[size_t(id)] >= 0;
  Lanes v = kept ? load_room(room_[size_t(id)], n.shape, n.elem, at) : compute(id, at);
  if (on_the_way_[size_t(id)] >= 0) {
    v = {b_.splat(wide(v, at.lanes), at.lanes), false, 0, kNone};
    store_room(on_the_way_[size_t(id)], n.shape, n.elem, at, v.id);
  }
  scopes_.back().known.emplace(std::move(key), v);
  return v;
}

Lanes Lowering::moved(Id argument, Lanes first) {
  const Value by = moved_by_[size_t(argument)];
  const Elem e = p_[argument].elem;
  if (e != Elem::address) return add_ramps(first, {by, false, 0, kNone}, false, e);
  first.id = add(first.id, by);
  return first;
}

bool Lowering::view(const Node& n, const Place& at, Place& to) {
  to.lanes = at.lanes;
  switch (n.op) {
    case Op::broadcast: {
      const Node& x = p_[n.in[0]];
      to.at = at.at;
      for (size_t d = 0; d < x.shape.size(); ++d)
        if (x.shape[d] == 1) to.at[d] = {};
      return true;
    }
    case Op::expand:
      to.at = at.at;
      to.at.erase(to.at.begin() + n.imm);
      return true;
    case Op::reshape: to = linear(at, n.shape, p_[n.in[0]].shape); return true;
    case Op::permute:
      to.at.resize(at.at.size());
      for (size_t d = 0; d < at.at.size(); ++d) to.at[size_t(n.attrs[d])] = at.at[d];
      return true;
    case Op::flip: {
      to.at = at.at;
      Index& i = to.at[size_t(n.imm)];
      const Value end = b_.integer(n.shape[size_t(n.imm)] - 1);
      if (i.each != kNone) i.each = b_.apply(TOp::sub, end, i.each);
      else i = {i.base == kNone ? end : b_.apply(TOp::sub, end, i.base), -i.step, kNone};
      return true;
    }
    case Op::split:
      to.at = at.at;
      to.at.push_back({n.imm ? b_.integer(n.imm) : kNone, 0, kNone});
      return true;
    default: return false;
  }
}

Lanes Lowering::compute(Id id, const Place& at) {
  const Node& n = p_[id];
  Place to;
  if (view(n, at, to)) return evaluate(n.in[0], to);
  to.lanes = at.lanes;
  switch (n.op) {
    case Op::arange: {
      const Index& i = at.at[0];
      if (i.each != kNone) return {add(b_.convert(i.each, Elem::i32), b_.constant_bits(Elem::i32, n.imm & 0xffffffff)), false, 0, kNone};
      Value base = b_.constant_bits(Elem::i32, n.imm & 0xffffffff);
      if (i.base != kNone) {
        const Value v = b_.convert(i.base, Elem::i32);
        base = n.imm ? add(v, base) : v;
      }
      return {base, i.step != 0, i.step, kNone};
    }
    case Op::splat: return evaluate(n.in[0], at);
    case Op::cat: {
      to.at = at.at;
      const int64_t half = n.shape[0] / 2;
      const Value i = b_.splat(index_lanes(at.at[0], at.lanes), at.at[0].uniform() ? 1 : at.lanes);
      to.at[0] = {kNone, 0, b_.splat(b_.apply(TOp::bit_and, i, b_.integer(half - 1)), at.lanes)};
      if (half == 1) to.at[0] = {};
      const Value first = b_.apply(TOp::lt, i, b_.integer(half));
      return {b_.apply(TOp::select, first, lanes_of(n.in[0], to), lanes_of(n.in[1], to)), false, 0, kNone};
    }
    case Op::join: {
      to.at = at.at;
      const Index last = to.at.back();
      to.at.pop_back();
      const Value first = b_.apply(TOp::eq, index_lanes(last, at.lanes), b_.integer(0));
      return {b_.apply(TOp::select, first, lanes_of(n.in[0], to), lanes_of(n.in[1], to)), false, 0, kNone};
    }
    case Op::gather: {
      to.at = at.at;
      const Value i = b_.convert(full_lanes(n.in[1], at), Elem::i64);
      if (at.lanes > 1) to.at[size_t(n.imm)] = {kNone, 0, i};
      else to.at[size_t(n.imm)] = {i, 0, kNone};
      return evaluate(n.in[0], to);
    }
    case Op::argument: case Op::result:
      FB_CHECK(moved_by_[size_t(id)] != kNone, "a kernel's value has no place");
      return moved(id, evaluate(first_of_[size_t(id)], at));
    case Op::load: return load(n, at);
    case Op::offset: {
      const Lanes base = evaluate(n.in[0], at), i = evaluate(n.in[1], at);
      Lanes far{b_.convert(i.id, Elem::i64), i.ramp, i.step, i.step_id};
      int64_t k;
      if (constant(i.id, k)) far.id = b_.integer(k);
      far = scaled(far, b_.integer(n.imm));
      return add_ramps(base, far, false, Elem::address);
    }
    case Op::convert: {
      const Lanes x = evaluate(n.in[0], at);
      const Elem from = p_[n.in[0]].elem;
      if (x.ramp && tile::is_integer(from) && tile::is_integer(n.elem) && tile::bytes_of(n.elem) >= tile::bytes_of(from))
        return {b_.convert(x.id, n.elem), true, x.step, x.step_id};
      return {b_.convert(wide(x, at.lanes), n.elem), false, 0, kNone};
    }
    case Op::bitcast: return {b_.bitcast(lanes_of(n.in[0], at), n.elem), false, 0, kNone};
    case Op::call: {
      Value x[3];
      int k = 0;
      for (Id i : n.in) x[k++] = lanes_of(i, at);
      return {b_.call(*n.callee, x, k), false, 0, kNone};
    }
    case Op::lanewise: return lanewise(n, at);
    default: raise_runtime("a kernel's ", name_of(n.op), " is not computed lane by lane");
  }
}

Lanes Lowering::lanewise(const Node& n, const Place& at) {
  Lanes x[3];
  int k = 0;
  for (Id i : n.in) x[k++] = evaluate(i, at);
  auto uniform = [&](const Lanes& v) { return !v.ramp && b_.type(v.id).lanes == 1; };
  if (tile::is_integer(n.elem) && k == 2) {
    const bool plain = (x[0].ramp || uniform(x[0])) && (x[1].ramp || uniform(x[1])) && (x[0].ramp || x[1].ramp);
    if (plain && (n.lane == TOp::add || n.lane == TOp::sub)) return add_ramps(x[0], x[1], n.lane == TOp::sub, n.elem);
    if (plain && n.lane == TOp::mul && uniform(x[1])) return scaled(x[0], x[1].id);
    if (plain && n.lane == TOp::mul && uniform(x[0])) return scaled(x[1], x[0].id);
  }
  Value v[3];
  for (int i = 0; i < k; ++i) v[i] = wide(x[i], at.lanes);
  Value r;
  if (k == 1) r = b_.apply(n.lane, v[0]);
  else if (k == 2) r = b_.apply(n.lane, v[0], v[1]);
  else r = b_.apply(n.lane, v[0], v[1], v[2]);
  return {r, false, 0, kNone};
}

// A mask that compares numbers in rising or falling order with one number holds everywhere where it does at the one end.
Value Lowering::all_on(Id id, const Place& at) {
  const Node& n = p_[id];
  bool uniform = true;
  for (const Index& i : at.at) uniform &= i.uniform();
  if (!n.tile || uniform || room_[size_t(id)] >= 0) return all(lanes_of(id, at));
  Place to;
  if (view(n, at, to)) return all_on(n.in[0], to);
  if (n.op == Op::splat) return all_on(n.in[0], at);
  if (n.op == Op::lanewise && n.lane == TOp::bit_and) return b_.apply(TOp::bit_and, all_on(n.in[0], at), all_on(n.in[1], at));
  if (n.op == Op::lanewise && n.lane >= TOp::lt && n.lane <= TOp::ge) {
    Lanes x[2] = {evaluate(n.in[0], at), evaluate(n.in[1], at)};
    for (int side = 0; side < 2; ++side) {
      Lanes& r = x[side];
      const Lanes& other = x[1 - side];
      if (!r.ramp || r.step_id != kNone || other.ramp || b_.type(other.id).lanes > 1) continue;
      const bool upper = (n.lane == TOp::lt || n.lane == TOp::le) == (side == 0);   // the greatest must hold
      const int64_t far = r.step * (at.lanes - 1);
      Value end = r.id;
      if ((r.step > 0) == upper) {
        const Elem e = b_.type(end).elem;
        const int bits = 8 * tile::bytes_of(e);
        end = add(end, b_.constant_bits(e, bits == 64 ? far : far & ((int64_t(1) << bits) - 1)));
      }
      return side == 0 ? b_.apply(n.lane, end, other.id) : b_.apply(n.lane, other.id, end);
    }
  }
  return all(lanes_of(id, at));
}

Lanes Lowering::load(const Node& n, const Place& at) {
  const Lanes address = evaluate(n.in[0], at);
  const bool masked = n.in.size() == 3;
  bool one = !address.ramp && b_.type(address.id).lanes == 1;
  if (one && masked) {
    // One address for all lanes; a mask or another number may still differ from lane to lane.
    const Value mask = lanes_of(n.in[1], at), other = lanes_of(n.in[2], at);
    one = b_.type(mask).lanes == 1 && b_.type(other).lanes == 1;
  }
  return {load_from(address, n.elem, one ? 1 : at.lanes, masked ? Mask{n.in[1], &at} : Mask{}, masked ? n.in[2] : -1), false, 0, kNone};
}
Value Lowering::load_from(const Lanes& address, Elem e, int lanes, const Mask& mask, Id other) {
  const bool masked = mask.id >= 0;
  auto rest = [&] { return b_.splat(lanes_of(other, *mask.at), lanes); };
  if (lanes == 1) {
    if (!masked) return b_.load(address.id, e);
    std::vector<Value> r{rest()};
    b_.loop(b_.integer(0), b_.convert(lanes_of(mask.id, *mask.at), Elem::i64), b_.integer(1), r, [&](Value, std::vector<Value>& c) { c[0] = b_.load(address.id, e); });
    return r[0];
  }
  const int size = tile::bytes_of(e);
  const Value at = b_.splat(wide(address, lanes), lanes);
  auto either = [&](Value truth, auto&& yes, auto&& no) {
    std::vector<Value> r{b_.splat(zero(e), lanes)};
    b_.loop(b_.integer(0), b_.convert(truth, Elem::i64), b_.integer(1), r, [&](Value, std::vector<Value>& c) { scoped([&] { c[0] = yes(); }); });
    b_.loop(b_.integer(0), b_.convert(b_.apply(TOp::bit_not, truth), Elem::i64), b_.integer(1), r, [&](Value, std::vector<Value>& c) { scoped([&] { c[0] = no(); }); });
    return r[0];
  };
  auto plain = [&](Value a) { return masked ? b_.load(a, e, b_.splat(lanes_of(mask.id, *mask.at), lanes), rest()) : b_.load(a, e); };
  if (masked) {
    if (address.ramp && (address.step_id != kNone || address.step != size)) return plain(at);
    return either(all_on(mask.id, *mask.at), [&] { return load_from(address, e, lanes, {}, -1); }, [&] { return plain(at); });
  }
  // Neighbours after all? Offsets taken modulo something mostly are.
  if (address.ramp || b_.type(address.id).lanes != lanes || lanes < 4) return plain(at);
  Value first = at;
  while (b_.type(first).lanes > 1) first = b_.apply(TOp::low, first);
  const Value run = b_.ramp(first, b_.integer(size), lanes);
  const Value same = b_.apply(TOp::eq, b_.bitcast(at, Elem::i64), b_.bitcast(run, Elem::i64));
  return either(all(same), [&] { return plain(run); }, [&] { return plain(at); });
}
void Lowering::store_to(const Lanes& address, Elem e, int lanes, Value v, const Mask& mask, bool past_cache) {
  const bool masked = mask.id >= 0;
  if (lanes == 1) {
    if (!masked) return b_.store(address.id, v);
    return when(lanes_of(mask.id, *mask.at), [&] { b_.store(address.id, v); });
  }
  const int size = tile::bytes_of(e), aligned = std::min(lanes * size, 32);
  const bool run = address.ramp && address.step_id == kNone && address.step == size;
  const Value at = b_.splat(wide(address, lanes), lanes);
  v = b_.splat(v, lanes);
  auto all_lanes = [&] {
    if (!past_cache || !run || aligned < 16) return b_.store(at, v);
    const Value off = b_.apply(TOp::ne, b_.apply(TOp::bit_and, b_.bitcast(address.id, Elem::i64), b_.integer(aligned - 1)), b_.integer(0));
    when(b_.apply(TOp::bit_not, off), [&] { b_.store_past_cache(at, v); });
    when(off, [&] { b_.store(at, v); });
  };
  if (!masked) return all_lanes();
  auto some = [&] { b_.store(at, v, b_.splat(lanes_of(mask.id, *mask.at), lanes)); };
  if (!run) return some();
  const Value whole = all_on(mask.id, *mask.at);
  when(whole, all_lanes);
  when(b_.apply(TOp::bit_not, whole), some);
}

}  // namespace fb::triton
