#include "compile/tile/builder.h"

#include <algorithm>
#include <bit>

#include "compile/tile/named.h"

namespace fb::tile {
namespace {
thread_local Builder* current_builder = nullptr;
void check_apart(int n) {
  FB_CHECK(n >= 0 && n <= kMostApart, "a function for single lanes is given ", n, " values; it takes at most ", kMostApart);
}
}

Builder::Builder(Program& p) : p_(p), outer_(current_builder) {
  if (p_.regions.empty()) p_.regions.emplace_back();
  open_.push_back(0);
  current_builder = this;
}
Builder::~Builder() { current_builder = outer_; }
Builder& Builder::current() {
  if (!current_builder) raise_runtime("a compiler value was computed with outside a tile program");
  return *current_builder;
}

Id Builder::append(Node n) {
  const Id id = Id(p_.nodes.size());
  p_.nodes.push_back(std::move(n));
  p_.regions[size_t(open_.back())].body.push_back(id);
  return id;
}

Id Builder::parameter(const char* name, Elem e) {
  Node n{Op::parameter, {e, 1}, {}, int64_t(p_.parameters.size()), nullptr, -1};
  p_.parameters.push_back({name, {e, 1}});
  return append(n);
}
Id Builder::constant_bits(Elem e, int64_t bits) { return append({Op::constant, {e, 1}, {}, bits, nullptr, -1}); }
Id Builder::real(Elem e, double v) {
  return constant_bits(e, e == Elem::f32 ? int64_t(std::bit_cast<uint32_t>(float(v))) : std::bit_cast<int64_t>(v));
}

int Builder::same_lanes(Id* v, int n) {
  int lanes = 1;
  for (int i = 0; i < n; ++i) lanes = std::max(lanes, int(type(v[i]).lanes));
  for (int i = 0; i < n; ++i) v[i] = splat(v[i], lanes);
  return lanes;
}
Id Builder::splat(Id v, int lanes) {
  if (type(v).lanes == lanes) return v;
  return append({Op::splat, {type(v).elem, lanes}, {v}, 0, nullptr, -1});
}
Id Builder::apply(Op op, Id a) {
  Type t = type(a);
  if (op == Op::low || op == Op::high) t.lanes /= 2;
  return append({op, t, {a}, 0, nullptr, -1});
}
Id Builder::apply(Op op, Id a, Id b) {
  Id v[] = {a, b};
  const int lanes = same_lanes(v, 2);
  const bool truth = op >= Op::lt && op <= Op::ne;
  return append({op, {truth ? Elem::b1 : type(a).elem, lanes}, {v[0], v[1]}, 0, nullptr, -1});
}
Id Builder::apply(Op op, Id a, Id b, Id c) {
  Id v[] = {a, b, c};
  const int lanes = same_lanes(v, 3);
  return append({op, {type(b).elem, lanes}, {v[0], v[1], v[2]}, 0, nullptr, -1});
}
Id Builder::convert(Id v, Elem to) {
  if (type(v).elem == to) return v;
  return append({Op::convert, {to, type(v).lanes}, {v}, 0, nullptr, -1});
}
Id Builder::bitcast(Id v, Elem to) {
  if (type(v).elem == to) return v;
  return append({Op::bitcast, {to, type(v).lanes}, {v}, 0, nullptr, -1});
}
Id Builder::to_int(Id v) {
  return append({Op::to_int, {type(v).elem == Elem::f32 ? Elem::i32 : Elem::i64, type(v).lanes}, {v}, 0, nullptr, -1});
}
Id Builder::ramp(Id base, Id step, int lanes) {
  return append({Op::ramp, {type(base).elem, lanes}, {base, step}, 0, nullptr, -1});
}
Id Builder::lookup(const float (&table)[8], Id i) {
  Table t;
  std::copy_n(table, 8, t.v);
  p_.tables.push_back(t);
  return append({Op::lookup, {Elem::f32, type(i).lanes}, {i}, int64_t(p_.tables.size()) - 1, nullptr, -1});
}
Id Builder::load(Id address, Elem e, Id mask, Id other) {
  Node n{Op::load, {e, type(address).lanes}, {address}, 0, nullptr, -1};
  if (mask != kNone) {
    n.in.push_back(splat(mask, n.type.lanes));
    n.in.push_back(splat(other, n.type.lanes));
  }
  return append(n);
}
void Builder::store(Id address, Id value, Id mask) {
  const int lanes = type(address).lanes;
  Node n{Op::store, {}, {address, splat(value, lanes)}, 0, nullptr, -1};
  if (mask != kNone) n.in.push_back(splat(mask, lanes));
  append(n);
}
void Builder::store_past_cache(Id address, Id value) {
  append({Op::store, {}, {address, splat(value, type(address).lanes)}, 1, nullptr, -1});
}
Id Builder::call(const Named& f, const Id* x, int n) {
  FB_CHECK(n >= 1 && n <= kMostNamed, f.name, " is called with ", n, " values; named functions take 1 to ", kMostNamed);
  Id v[kMostNamed];
  std::copy_n(x, n, v);
  const int lanes = same_lanes(v, n);
  Node node{Op::call, {type(x[0]).elem, lanes}, {}, 0, &f, -1};
  for (int i = 0; i < n; ++i) node.in.push_back(v[i]);
  return append(node);
}
Id Builder::lanes(Thunk t, Elem result, const Id* x, int n) {
  check_apart(n);
  Id v[kMostApart];
  std::copy_n(x, n, v);
  const int lanes = same_lanes(v, n);
  Node node{Op::lanes, {result, lanes}, {}, int64_t(p_.thunks.size()), nullptr, -1};
  for (int i = 0; i < n; ++i) node.in.push_back(v[i]);
  p_.thunks.push_back(t);
  return append(node);
}
Id Builder::patch(Thunk t, Id mask, Id r, const Id* x, int n) {
  check_apart(n);
  Id v[kMostApart + 2] = {mask, r};
  std::copy_n(x, n, v + 2);
  const int lanes = same_lanes(v, n + 2);
  Node node{Op::patch, {type(r).elem, lanes}, {}, int64_t(p_.thunks.size()), nullptr, -1};
  for (int i = 0; i < n + 2; ++i) node.in.push_back(v[i]);
  p_.thunks.push_back(t);
  return append(node);
}
void Builder::raise_if(Id mask, Errors e) { append({Op::raise_if, {}, {mask}, e, nullptr, -1}); }

Id Builder::any(Id mask) { return type(mask).lanes == 1 ? mask : append({Op::any, {Elem::b1, 1}, {mask}, 0, nullptr, -1}); }
void Builder::tell(Thunk t, Id mask, const Id* x, int n) {
  check_apart(n);
  Id v[kMostApart + 1] = {mask};
  std::copy_n(x, n, v + 1);
  same_lanes(v, n + 1);
  Node node{Op::tell, {}, {}, int64_t(p_.thunks.size()), nullptr, -1};
  for (int i = 0; i <= n; ++i) node.in.push_back(v[i]);
  p_.thunks.push_back(t);
  append(node);
}
Id Builder::atomic(Atomic kind, Id address, Id value, Id mask, Id expected) {
  Id v[] = {address, value, mask, expected};
  const int lanes = same_lanes(v, expected == kNone ? 3 : 4);
  Node node{Op::atomic, {type(value).elem, lanes}, {v[0], v[1], v[2]}, int64_t(kind), nullptr, -1};
  if (expected != kNone) node.in.push_back(v[3]);
  return append(node);
}

Id Builder::open_loop(Id from, Id to, Id step, std::vector<Id>& carried) {
  Node n{Op::loop, {}, {from, to, step}, 0, nullptr, int32_t(p_.regions.size())};
  for (Id c : carried) n.in.push_back(c);
  const int32_t region = n.region;
  const Id id = append(std::move(n));
  p_.regions.emplace_back();
  open_.push_back(region);
  auto argument = [&](Type t) {
    Region& r = p_.regions[size_t(region)];
    const Id a = Id(p_.nodes.size());
    p_.nodes.push_back({Op::argument, t, {}, int64_t(r.arguments.size()), nullptr, region});
    r.arguments.push_back(a);
    return a;
  };
  index_ = argument({Elem::i64, 1});
  for (Id& c : carried) c = argument(type(c));
  return id;
}
void Builder::close_loop(Id loop, std::vector<Id>& carried) {
  Node y{Op::yield, {}, {}, 0, nullptr, -1};
  for (size_t i = 0; i < carried.size(); ++i) y.in.push_back(splat(carried[i], type(p_[loop].in[int64_t(i) + 3]).lanes));
  append(std::move(y));
  open_.pop_back();
  for (size_t i = 0; i < carried.size(); ++i)
    carried[i] = append({Op::result, type(p_[loop].in[int64_t(i) + 3]), {loop}, int64_t(i), nullptr, -1});
}

}  // namespace fb::tile
