// From kernels to tile programs: tiles become loops over a few lanes. Used by lower.cpp, evaluate.cpp and sinks.cpp alone.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "compile/tile/builder.h"
#include "compile/triton/program.h"

namespace fb::triton {

using tile::Elem;
using Value = tile::Id;                // of the tile program

constexpr int kLanes = 8;

// Which elements of a dimension the lanes stand for: base + lane * step, or any.
struct Index {
  Value base = tile::kNone;            // an i64 scalar; none: 0
  int64_t step = 0;
  Value each = tile::kNone;            // an i64 for each lane
  bool uniform() const { return step == 0 && each == tile::kNone; }
};
// Which elements of a tile the lanes stand for.
struct Place {
  int lanes = 1;
  std::vector<Index> at;               // one for each dimension
};
// What the lanes hold: a value of one lane (the same in all), of as many as the place has, or base + lane * step.
struct Lanes {
  Value id = tile::kNone;
  bool ramp = false;                   // id is the base
  int64_t step = 0;
  Value step_id = tile::kNone;         // an i64 scalar, instead of step
};

class Lowering {
 public:
  Lowering(const Program& p, const Plan& plan);
  Lowered run();

 private:
  struct Scope {
    std::map<std::vector<int64_t>, Lanes> known;
  };
  // ---- lower.cpp: order, scalars, loops ----
  void region(int32_t r);
  void node(Id id);
  void fill_waiting();                      // tiles that were to be filled on the way of a reduction
  void fill_on_the_way(const Node& reduction);
  int computes(Id x, Id a);                 // 0: x does not need a; 1: always, lane for lane; 2: else
  Value scalar_of(const Node& n);
  void loop(Id id);
  void loop_while(Id id);
  void branch(Id id);
  std::vector<Value> enter(const Region& r, const Node& n, size_t first, size_t skip);   // what a loop carries at first
  void arrive(const Region& r, size_t skip, const Value* carried);                        // in its body
  int reads(Id x, Id a);
  int reads_anew(Id x, Id a);
  std::vector<Value> depart(const Region& r, size_t go, size_t skip);                     // at its end
  void leave(Id id, const Node& n, const Region& r, size_t first, size_t skip, const Value* carried);
  Value zero(Elem e);
  int64_t room(int64_t elements, Elem e);   // offset in the scratch memory
  template <class F> void scoped(F&& f) {
    scopes_.emplace_back();
    f();
    scopes_.pop_back();
  }
  template <class F> void repeat(int64_t from, int64_t to, int64_t step, F&& f) {
    b_.loop(b_.integer(from), b_.integer(to), b_.integer(step), [&](Value i) { scoped([&] { f(i); }); });
  }
  template <class F> void repeat(Value from, Value to, F&& f) {
    b_.loop(from, to, b_.integer(1), [&](Value i) { scoped([&] { f(i); }); });
  }
  template <class F> void when(Value truth, F&& f) { repeat(b_.integer(0), b_.convert(truth, Elem::i64), [&](Value) { f(); }); }

  // ---- evaluate.cpp: a few lanes of a tile ----
  Lanes evaluate(Id id, const Place& at);
  Lanes compute(Id id, const Place& at);    // even where the tile is stored
  Value lanes_of(Id id, const Place& at) { return wide(evaluate(id, at), at.lanes); }   // one lane, or as many as the place has
  Value full_lanes(Id id, const Place& at) { return b_.splat(lanes_of(id, at), at.lanes); }
  Lanes lanewise(const Node& n, const Place& at);
  Lanes add_ramps(const Lanes& a, const Lanes& b, bool minus, Elem e);
  Lanes scaled(const Lanes& a, Value by);
  Lanes moved(Id argument, Lanes first);
  Value wide(const Lanes& v, int lanes);
  Value step_of(const Lanes& v) { return v.step_id != tile::kNone ? v.step_id : b_.integer(v.step); }
  Place linear(const Place& at, const std::vector<int64_t>& from, const std::vector<int64_t>& to);
  Value index_value(const Index& i) { return i.base == tile::kNone ? b_.integer(0) : i.base; }
  Value index_lanes(const Index& i, int lanes);
  Lanes address_in(int64_t offset, const std::vector<int64_t>& shape, Elem e, const Place& at);
  int width_of(const std::vector<Id>& of);  // lanes that a loop over these tiles takes at a time
  Lanes load_room(int64_t offset, const std::vector<int64_t>& shape, Elem e, const Place& at);
  void store_room(int64_t offset, const std::vector<int64_t>& shape, Elem e, const Place& at, Value v);
  Lanes load(const Node& n, const Place& at);
  // A tile of truth values at a place, when it is needed.
  struct Mask {
    Id id = -1;                        // -1: all lanes are on
    const Place* at = nullptr;
  };
  Value load_from(const Lanes& address, Elem e, int lanes, const Mask& mask, Id other);
  void store_to(const Lanes& address, Elem e, int lanes, Value v, const Mask& mask, bool past_cache);
  Value all_on(Id mask, const Place& at);   // whether all lanes are; cheap where the mask compares a ramp
  bool view(const Node& n, const Place& at, Place& of);   // the place in a view's operand
  bool constant(Value v, int64_t& out) const;
  Value all(Value mask) { return b_.apply(tile::Op::bit_not, b_.any(b_.apply(tile::Op::bit_not, mask))); }
  Value add(Value a, Value b) { return b_.apply(tile::Op::add, a, b); }
  Value mul(Value a, int64_t by) { return by == 1 ? a : b_.apply(tile::Op::mul, a, b_.integer(by)); }
  Value room_at(int64_t offset) { return add(scratch_, b_.integer(offset)); }

  // Calls f(place) for all elements of a tile of this shape, `width` lanes at a time along its last dimension.
  template <class F> void each(const std::vector<int64_t>& shape, int width, F&& f) {
    int last = -1;
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] > 1) last = int(d);
    Place at;
    at.at.resize(shape.size());
    each_from(shape, 0, last, width, at, f);
  }
  template <class F> void each_from(const std::vector<int64_t>& shape, size_t d, int last, int width, Place& at, F& f) {
    if (d == shape.size()) return f(static_cast<const Place&>(at));
    at.at[d] = {};
    if (shape[d] == 1) return each_from(shape, d + 1, last, width, at, f);
    if (int(d) != last || width == 1) {
      repeat(0, shape[d], 1, [&](Value i) {
        at.at[d] = {i, 0, tile::kNone};
        each_from(shape, d + 1, last, width, at, f);
      });
      return;
    }
    at.lanes = int(shape[d] < width ? shape[d] : width);
    if (at.lanes == shape[d]) {
      at.at[d] = {tile::kNone, 1, tile::kNone};
      return each_from(shape, d + 1, last, width, at, f);
    }
    repeat(0, shape[d], at.lanes, [&](Value i) {
      at.at[d] = {i, 1, tile::kNone};
      each_from(shape, d + 1, last, width, at, f);
    });
  }

  // ---- sinks.cpp: what loops over whole tiles ----
  void fill_room(int64_t offset, Id id, Elem e);      // all of a tile, computed
  void store(Id id);
  void atomic(Id id);
  void reduce(Id id);
  void scan(Id id);
  void dot(Id id);
  void sort(Id id);
  void histogram(Id id);
  void tell(const Node& n);
  std::vector<Value> combined(int32_t region, const std::vector<Value>& a, const std::vector<Value>& b);
  std::vector<Value> folded(std::vector<Value> acc, int32_t region);   // lanes to one
  void tree_of_rooms(const std::vector<int64_t>& rooms, const std::vector<Elem>& elems, int64_t count, int lanes, int32_t region);
  int64_t packed(Id id, Elem e);                      // a tile's memory, in this type

  const Program& p_;
  const Plan& plan_;
  tile::Program out_;
  tile::Builder b_;
  const Place scalar_place_;
  Value scratch_ = tile::kNone;
  Value program_[6];
  std::vector<Value> words_;
  std::vector<Value> value_;                // of scalars
  std::vector<int64_t> room_;               // of stored tiles; -1: none
  std::vector<Value> moved_by_;             // of moving arguments and their results: the sum of their steps
  std::vector<Id> first_of_;                // of these: the first value
  struct Outcome {
    Value scalar = tile::kNone;
    int64_t room = -1;
    Id first = -1;                          // of a moving argument; scalar is what it moved by
  };
  std::map<std::pair<Id, size_t>, Outcome> outcomes_;   // (loop, branch, reduction; number)
  std::vector<Scope> scopes_;
  std::map<std::pair<Id, Id>, int> reads_, computes_;
  std::vector<Id> waiting_;                 // stored tiles that nothing has needed so far
  std::vector<int64_t> on_the_way_;         // of those that the loop at hand fills: where
  std::vector<std::shared_ptr<const Message>> messages_;
  int64_t top_ = 0, most_ = 0;
};

}  // namespace fb::triton
