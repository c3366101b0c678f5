// What goes over whole tiles: stores, reductions in the order of ops/reduce/tree.h, running sums, products, sorting.
#include <algorithm>
#include <cstdio>

#include "compile/triton/launch.h"
#include "compile/triton/lowering.h"
#include "core/error.h"
#include "ops/reduce/tree.h"

namespace fb::triton {

using tile::kNone;
using TOp = tile::Op;

void Lowering::fill_room(int64_t offset, Id id, Elem e) {
  const Node& n = p_[id];
  each(n.shape, width_of({id}), [&](const Place& at) { store_room(offset, n.shape, e, at, b_.splat(b_.convert(lanes_of(id, at), e), at.lanes)); });
}

void Lowering::store(Id id) {
  const Node& n = p_[id];
  const Node& pointer = p_[n.in[0]];
  auto put = [&](const Place& at) {
    const Lanes address = evaluate(n.in[0], at);
    const Value v = lanes_of(n.in[1], at);
    store_to(address, b_.type(v).elem, at.lanes, v, n.in.size() > 2 ? Mask{n.in[2], &at} : Mask{}, plan_.past_cache[size_t(id)]);
  };
  if (!pointer.tile) return put(Place{});
  each(pointer.shape, width_of({n.in.begin(), n.in.end()}), put);
}

void Lowering::atomic(Id id) {
  const Node& n = p_[id];
  const auto kind = tile::Atomic(n.imm);
  const bool keep = n.tile && plan_.stored[size_t(id)];
  if (keep) room_[size_t(id)] = room(n.numel(), n.elem);
  auto change = [&](const Place& at) -> Value {
    // One address for all lanes still is one change for each of them, whatever else is the same in all.
    const Value address = full_lanes(n.in[0], at), mask = lanes_of(n.in[2], at), v = lanes_of(n.in[1], at);
    if (!tile::is_half(n.elem)) return b_.atomic(kind, address, v, mask, n.in.size() > 3 ? lanes_of(n.in[3], at) : kNone);
    // Half types: programs that have these run in order.
    std::vector<Value> old{zero(n.elem)};
    b_.loop(b_.integer(0), b_.convert(mask, Elem::i64), b_.integer(1), old, [&](Value, std::vector<Value>& c) {
      c[0] = b_.load(address, n.elem);
      const Value a = b_.convert(c[0], Elem::f32), x = b_.convert(v, Elem::f32);
      const TOp op = kind == tile::Atomic::add ? TOp::add : kind == tile::Atomic::min ? TOp::min : TOp::max;
      b_.store(address, kind == tile::Atomic::exchange ? v : b_.convert(b_.apply(op, a, x), n.elem));
    });
    return old[0];
  };
  if (!n.tile) {
    value_[size_t(id)] = change(Place{});
    return;
  }
  each(n.shape, tile::is_half(n.elem) ? 1 : kLanes, [&](const Place& at) {
    const Value old = change(at);
    if (keep) store_room(room_[size_t(id)], n.shape, n.elem, at, b_.splat(old, at.lanes));
  });
}

// ---- reductions ----
std::vector<Value> Lowering::combined(int32_t region, const std::vector<Value>& a, const std::vector<Value>& b) {
  const Region& r = p_.regions[size_t(region)];
  for (size_t k = 0; k < a.size(); ++k) {
    value_[size_t(r.arguments[k])] = a[k];
    value_[size_t(r.arguments[k + a.size()])] = b[k];
  }
  for (Id id : r.body) value_[size_t(id)] = scalar_of(p_[id]);
  std::vector<Value> out;
  for (size_t k = 0; k < a.size(); ++k) out.push_back(b_.splat(value_[size_t(r.yields[k])], b_.type(a[k]).lanes));
  return out;
}
std::vector<Value> Lowering::folded(std::vector<Value> acc, int32_t region) {
  while (b_.type(acc[0]).lanes > 1) {
    std::vector<Value> low, high;
    for (Value v : acc) {
      low.push_back(b_.apply(TOp::low, v));
      high.push_back(b_.apply(TOp::high, v));
    }
    acc = combined(region, low, high);
  }
  return acc;
}
// Rows 0 .. count - 1 of the rooms, of `lanes` elements, in neighbouring pairs into row 0; count is a power of two.
void Lowering::tree_of_rooms(const std::vector<int64_t>& rooms, const std::vector<Elem>& elems, int64_t count, int lanes, int32_t region) {
  auto row = [&](size_t k, Value i) {
    const int64_t size = tile::bytes_of(elems[k]);
    const Value base = add(room_at(rooms[k]), mul(i, size * lanes));
    return lanes == 1 ? base : b_.ramp(base, b_.integer(size), lanes);
  };
  for (int64_t gap = 1; gap < count; gap *= 2)
    repeat(0, count, 2 * gap, [&](Value i) {
      std::vector<Value> a, c;
      for (size_t k = 0; k < rooms.size(); ++k) {
        a.push_back(b_.load(row(k, i), elems[k]));
        c.push_back(b_.load(row(k, add(i, b_.integer(gap))), elems[k]));
      }
      const std::vector<Value> r = combined(region, a, c);
      for (size_t k = 0; k < rooms.size(); ++k) b_.store(row(k, i), r[k]);
    });
}

void Lowering::reduce(Id id) {
  const Node& n = p_[id];
  const Node& x = p_[n.in[0]];
  const size_t axis = size_t(n.imm), count = n.in.size();
  const int64_t length = x.shape[axis], block = std::min(length, tree::block), blocks = length / block;
  const int32_t region = n.regions[0];
  std::vector<int64_t> out_shape = x.shape;
  out_shape.erase(out_shape.begin() + n.imm);
  std::vector<Elem> elems;
  for (Id i : n.in) elems.push_back(p_[i].elem);
  const bool to_scalar = out_shape.empty();
  for (size_t k = 0; k < count && !to_scalar; ++k) {
    int64_t elements = 1;
    for (int64_t s : out_shape) elements *= s;
    outcomes_[{id, k}].room = room(elements, elems[k]);
  }
  const int64_t top = top_;
  int last = -1;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (x.shape[d] > 1) last = int(d);
  const bool along_lanes = last == int(axis) || last < 0;
  const int lanes = int(std::min<int64_t>(length, tree::lanes));
  // The place of elements base .. base + lanes - 1 of the axis, or of element base for all lanes of an output's place.
  auto within = [&](const Place& out, Value base, int width) {
    Place at = out;
    if (width) at.lanes = width;
    at.at.insert(at.at.begin() + n.imm, Index{base, width > 1 ? 1 : 0, kNone});
    return at;
  };
  auto elements = [&](const Place& at) {
    std::vector<Value> v;
    for (Id i : n.in) v.push_back(full_lanes(i, at));
    return v;
  };
  auto finish = [&](const Place& out, const std::vector<Value>& r) {
    for (size_t k = 0; k < count; ++k) {
      if (to_scalar) outcomes_[{id, k}].scalar = r[k];
      else store_room(outcomes_[{id, k}].room, out_shape, elems[k], out, r[k]);
    }
  };
  auto value = [](size_t k, const std::vector<Value>& v) { return v[k]; };
  auto one = [&](const Place& out) {
    std::vector<int64_t> partial;
    if (blocks > 1 || !along_lanes)
      for (Elem e : elems) partial.push_back(room(blocks * out.lanes, e));
    std::vector<Value> result;
    auto block_from = [&](Value base) {   // base: of the block; kNone: 0
      auto index = [&](Value i) { return base == kNone ? i : i == kNone ? base : add(base, i); };
      if (along_lanes) {
        std::vector<Value> acc = elements(within(out, index(kNone), lanes));
        if (block > lanes)
          b_.loop(b_.integer(lanes), b_.integer(block), b_.integer(lanes), acc, [&](Value i, std::vector<Value>& c) {
            scoped([&] { c = combined(region, c, elements(within(out, index(i), lanes))); });
          });
        return folded(acc, region);
      }
      // Outputs are the lanes; the tree's 32 lanes are rows of memory.
      std::vector<int64_t> rows;
      for (Elem e : elems) rows.push_back(room(lanes * out.lanes, e));
      auto row = [&](size_t k, Value i) {
        const int64_t size = tile::bytes_of(elems[k]);
        const Value at = add(room_at(rows[k]), mul(i, size * out.lanes));
        return out.lanes == 1 ? at : b_.ramp(at, b_.integer(size), out.lanes);
      };
      repeat(0, lanes, 1, [&](Value l) {
        const std::vector<Value> v = elements(within(out, index(l), 0));
        for (size_t k = 0; k < count; ++k) b_.store(row(k, l), v[k]);
      });
      auto join = [&](Value to, const std::vector<Value>& with) {
        std::vector<Value> a;
        for (size_t k = 0; k < count; ++k) a.push_back(b_.load(row(k, to), elems[k]));
        const std::vector<Value> r = combined(region, a, with);
        for (size_t k = 0; k < count; ++k) b_.store(row(k, to), r[k]);
      };
      if (block > lanes)
        repeat(lanes, block, 1, [&](Value i) {
          join(b_.apply(TOp::bit_and, i, b_.integer(lanes - 1)), elements(within(out, index(i), 0)));
        });
      for (int w = lanes / 2; w; w /= 2)
        repeat(0, w, 1, [&](Value l) {
          std::vector<Value> other;
          for (size_t k = 0; k < count; ++k) other.push_back(b_.load(row(k, add(l, b_.integer(w))), elems[k]));
          join(l, other);
        });
      std::vector<Value> r;
      for (size_t k = 0; k < count; ++k) r.push_back(b_.load(row(k, b_.integer(0)), elems[k]));
      return r;
    };
    if (blocks == 1) return finish(out, block_from(kNone));
    auto at = [&](size_t k, Value i) {
      const int64_t size = tile::bytes_of(elems[k]);
      const Value base = add(room_at(partial[k]), mul(i, size * out.lanes));
      return out.lanes == 1 ? base : b_.ramp(base, b_.integer(size), out.lanes);
    };
    repeat(0, blocks, 1, [&](Value i) {
      const std::vector<Value> r = block_from(mul(i, block));
      for (size_t k = 0; k < count; ++k) b_.store(at(k, i), value(k, r));
    });
    tree_of_rooms(partial, elems, blocks, out.lanes, region);
    for (size_t k = 0; k < count; ++k) result.push_back(b_.load(at(k, b_.integer(0)), elems[k]));
    finish(out, result);
  };
  each(out_shape, along_lanes ? 1 : kLanes, one);
  top_ = top;
}

void Lowering::scan(Id id) {
  const Node& n = p_[id];
  const Node& x = p_[n.in[0]];
  const size_t axis = size_t(n.imm), count = n.in.size();
  const int64_t length = x.shape[axis];
  const bool backwards = n.attrs[0] != 0;
  for (size_t k = 0; k < count; ++k) outcomes_[{id, k}].room = room(x.numel(), p_[n.in[k]].elem);
  std::vector<int64_t> others = x.shape;
  others.erase(others.begin() + n.imm);
  each(others, kLanes, [&](const Place& out) {
    auto place = [&](Value i) {
      Place at = out;
      if (backwards) i = b_.apply(TOp::sub, b_.integer(length - 1), i);
      at.at.insert(at.at.begin() + n.imm, Index{i, 0, kNone});
      return at;
    };
    auto elements = [&](const Place& at) {
      std::vector<Value> v;
      for (Id i : n.in) v.push_back(full_lanes(i, at));
      return v;
    };
    auto put = [&](const Place& at, const std::vector<Value>& v) {
      for (size_t k = 0; k < count; ++k) store_room(outcomes_[{id, k}].room, x.shape, p_[n.in[k]].elem, at, v[k]);
    };
    const Place first = place(b_.integer(0));
    std::vector<Value> acc = elements(first);
    put(first, acc);
    b_.loop(b_.integer(1), b_.integer(length), b_.integer(1), acc, [&](Value i, std::vector<Value>& c) {
      scoped([&] {
        const Place at = place(i);
        c = combined(n.regions[0], c, elements(at));
        put(at, c);
      });
    });
  });
}

// ---- products ----
int64_t Lowering::packed(Id id, Elem e) {
  const Node& n = p_[id];
  if (room_[size_t(id)] >= 0 && n.elem == e) return room_[size_t(id)];
  const int64_t at = room(n.numel(), e);
  fill_room(at, id, e);
  return at;
}
// c + a b: every element is one chain of multiply-adds over k, in order. Rows of four and columns of two registers at once.
void Lowering::dot(Id id) {
  const Node& n = p_[id];
  const Elem e = n.elem;
  const Node &x = p_[n.in[0]], &y = p_[n.in[1]];
  const size_t rank = n.shape.size();
  const int64_t m = n.shape[rank - 2], cols = n.shape[rank - 1], depth = x.shape[rank - 1], batch = rank > 2 ? n.shape[0] : 1;
  const Elem work = tile::is_half(e) ? Elem::f32 : e;
  if (const Id own = plan_.in_place[size_t(id)]; own >= 0) {
    room_[size_t(id)] = room_[size_t(own)];
    if (n.in[2] != own) fill_room(room_[size_t(own)], n.in[2], e);
  } else {
    const int64_t at = room(n.numel(), e);
    fill_room(at, n.in[2], e);
    room_[size_t(id)] = at;
  }
  const int64_t top = top_;
  const int64_t a = packed(n.in[0], work), b = packed(n.in[1], work), c = room_[size_t(id)];
  const int64_t size = tile::bytes_of(work), out_size = tile::bytes_of(e);
  const int lanes = int(std::min<int64_t>(cols, 64 / size));
  const int rows = int(std::min<int64_t>(m, 4));
  const bool real = tile::is_float(work);
  auto run = [&](Value base, int64_t bytes) { return lanes == 1 ? base : b_.ramp(base, b_.integer(bytes), lanes); };
  auto tiles = [&](Value of) {          // of: the product within the batch
    repeat(0, cols, lanes, [&](Value j) {
      repeat(0, m, rows, [&](Value i) {
        std::vector<Value> acc, out_at;
        const Value c_base = add(room_at(c), add(mul(of, m * cols * out_size), add(mul(i, cols * out_size), mul(j, out_size))));
        const Value a_base = add(room_at(a), add(mul(of, m * depth * size), mul(i, depth * size)));
        const Value b_base = add(room_at(b), add(mul(of, depth * cols * size), mul(j, size)));
        for (int r = 0; r < rows; ++r) {
          out_at.push_back(run(add(c_base, b_.integer(r * cols * out_size)), out_size));
          acc.push_back(b_.convert(b_.load(out_at.back(), e), work));
        }
        b_.loop(b_.integer(0), b_.integer(depth), b_.integer(1), acc, [&](Value k, std::vector<Value>& s) {
          const Value v = b_.load(run(add(b_base, mul(k, cols * size)), size), work);
          const Value a_at = add(a_base, mul(k, size));
          for (int r = 0; r < rows; ++r) {
            const Value u = b_.load(add(a_at, b_.integer(r * depth * size)), work);
            s[size_t(r)] = real ? b_.apply(TOp::fma, u, v, s[size_t(r)]) : add(s[size_t(r)], b_.apply(TOp::mul, u, v));
          }
        });
        for (int r = 0; r < rows; ++r) b_.store(out_at[size_t(r)], b_.convert(acc[size_t(r)], e));
      });
    });
  };
  (void)y;
  if (batch == 1) tiles(b_.integer(0));
  else repeat(0, batch, 1, tiles);
  top_ = top;
}

// A bitonic network along the last dimension.
void Lowering::sort(Id id) {
  const Node& n = p_[id];
  const int64_t at = room(n.numel(), n.elem), length = n.shape.back(), size = tile::bytes_of(n.elem);
  fill_room(at, n.in[0], n.elem);
  room_[size_t(id)] = at;
  int levels = 0;
  while ((int64_t(1) << levels) < length) ++levels;
  repeat(0, n.numel() / length, 1, [&](Value row) {
    const Value base = add(room_at(at), mul(row, length * size));
    repeat(0, levels, 1, [&](Value level) {
      repeat(b_.integer(0), add(level, b_.integer(1)), [&](Value step) {
        const Value gap = b_.apply(TOp::shl, b_.integer(1), b_.apply(TOp::sub, level, step));
        // The first step of a level compares with the mirror image, so that all runs go the same way.
        const Value mirror = b_.apply(TOp::sub, mul(gap, 2), b_.integer(1));
        const Value flip = b_.apply(TOp::select, b_.apply(TOp::eq, step, b_.integer(0)), mirror, gap);
        repeat(0, length / 2, 1, [&](Value t) {
          const Value inner = b_.apply(TOp::bit_and, t, b_.apply(TOp::sub, gap, b_.integer(1)));
          const Value i = add(mul(b_.apply(TOp::sub, t, inner), 2), inner);
          const Value p = add(base, mul(i, size)), q = add(base, mul(b_.apply(TOp::bit_xor, i, flip), size));
          const Value u = b_.load(p, n.elem), v = b_.load(q, n.elem);
          auto key = [&](Value w) { return tile::is_half(n.elem) ? b_.convert(w, Elem::f32) : w; };
          const Value swap = n.imm ? b_.apply(TOp::lt, key(u), key(v)) : b_.apply(TOp::lt, key(v), key(u));
          b_.store(p, b_.apply(TOp::select, swap, v, u));
          b_.store(q, b_.apply(TOp::select, swap, u, v));
        });
      });
    });
  });
}

void Lowering::histogram(Id id) {
  const Node& n = p_[id];
  const int64_t at = room(n.numel(), n.elem);
  room_[size_t(id)] = at;
  each(n.shape, kLanes, [&](const Place& p) { store_room(at, n.shape, n.elem, p, b_.splat(b_.constant_bits(n.elem, 0), p.lanes)); });
  each(p_[n.in[0]].shape, 1, [&](const Place& p) {
    const Value v = b_.convert(lanes_of(n.in[0], p), Elem::i64);
    Value in = b_.apply(TOp::bit_and, b_.apply(TOp::ge, v, b_.integer(0)), b_.apply(TOp::lt, v, b_.integer(n.numel())));
    if (n.in.size() > 1) in = b_.apply(TOp::bit_and, in, lanes_of(n.in[1], p));
    when(in, [&] {
      const Value a = add(room_at(at), mul(v, tile::bytes_of(n.elem)));
      b_.store(a, add(b_.load(a, n.elem), b_.constant_bits(n.elem, 1)));
    });
  });
}

// ---- what a kernel says ----
void Lowering::tell(const Node& n) {
  messages_.push_back(std::make_shared<const Message>(
      Message{n.text, n.in.empty() ? Elem::none : p_[n.in[0]].elem, n.op == Op::require, !n.attrs.empty() && n.attrs[0]}));
  const tile::Thunk thunk{&say, reinterpret_cast<int64_t>(messages_.back().get())};
  auto words = [&](Value index, Value v, Value mask) {
    Value x[5] = {b_.convert(program_[0], Elem::i64), program_[1], program_[2], index, v};
    b_.tell(thunk, mask, x, v == kNone ? 4 : 5);
  };
  auto widened = [&](Value v) {
    const Elem e = b_.type(v).elem;
    return e == Elem::address ? b_.bitcast(v, Elem::i64) : tile::is_float(e) || tile::is_half(e) ? b_.convert(v, Elem::f64) : b_.convert(v, Elem::i64);
  };
  if (n.in.empty()) return words(b_.integer(-1), kNone, b_.constant_bits(Elem::b1, 1));
  const Node& x = p_[n.in[0]];
  auto one = [&](const Place& at, Value index) {
    const Value v = full_lanes(n.in[0], at);
    if (n.op == Op::require) words(index, kNone, b_.apply(TOp::bit_not, v));
    else words(index, widened(v), b_.splat(b_.constant_bits(Elem::b1, 1), at.lanes));
    if (n.op == Op::require) b_.raise_if(b_.apply(TOp::bit_not, v), tile::Errors(kFailedRequirement));
  };
  if (!x.tile) return one(Place{}, b_.integer(-1));
  each(x.shape, 1, [&](const Place& at) {
    Value index = b_.integer(0);
    for (size_t d = 0; d < x.shape.size(); ++d) index = add(mul(index, x.shape[d]), index_value(at.at[d]));
    one(at, index);
  });
}

}  // namespace fb::triton
