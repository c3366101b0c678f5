// What a well-formed program is. Every rule has a sentence: it is what the compiler's passes are held to.
#include <string>
#include <vector>

#include "compile/tile/ir.h"
#include "compile/tile/named.h"
#include "core/error.h"

namespace fb::tile {
namespace {

struct Verifier {
  const Program& p;
  std::vector<char> seen;      // values that may be used here
  std::vector<char> placed;    // values that stand somewhere
  std::vector<char> entered;   // regions that have a loop
  std::string fault;

  bool say(Id id, const char* what) {
    if (fault.empty()) fault = text("program ", p.name, ": %", id, " (", name_of(p[id].op), "): ", what);
    return false;
  }
  Type in(const Node& n, int i) const { return p[n.in[i]].type; }

  bool operands(Id id, const Node& n) {
    const int want = operands_of(n.op);
    if (want >= 0 && n.in.size() != want) return say(id, "wrong number of operands");
    for (Id i : n.in) {
      if (i < 0 || i >= Id(p.nodes.size()) || !seen[size_t(i)]) return say(id, "an operand is not defined before its use");
      if (p[i].type.elem == Elem::none && n.op != Op::result) return say(id, "an operand has no value");
    }
    return true;
  }
  // All operands from `from` on have the result's type.
  bool alike(Id id, const Node& n, int from = 0) {
    for (int i = from; i < int(n.in.size()); ++i)
      if (!(in(n, i) == n.type)) return say(id, "operands and result differ in type");
    return true;
  }
  bool scalar_i64(Id id, const Node& n, int i) {
    return in(n, i) == Type{Elem::i64, 1} || say(id, "a bound or step is not a scalar of type i64");
  }

  // A function for single lanes, of the operands from `first` on.
  bool apart(Id id, const Node& n, int first) {
    if (n.imm < 0 || n.imm >= int64_t(p.thunks.size()) || !p.thunks[size_t(n.imm)].fn) return say(id, "there is no such function");
    if (n.in.size() - first > kMostApart) return say(id, "gives a function more values than it takes");
    return true;
  }
  static bool has_value(Op op) {
    return op != Op::store && op != Op::loop && op != Op::yield && op != Op::raise_if && op != Op::tell;
  }

  bool node(Id id) {
    const Node& n = p[id];
    if (n.op > Op::atomic) {
      if (fault.empty()) fault = text("program ", p.name, ": %", id, " is no operator");
      return false;
    }
    if (!operands(id, n)) return false;
    if (n.type.lanes < 1 || (n.type.lanes & (n.type.lanes - 1))) return say(id, "lanes must be a power of two");
    if (n.type.lanes > kMostLanes) return say(id, "has more lanes than tiles have");
    const Elem e = n.type.elem;
    if (e > Elem::none) return say(id, "is of no type");
    if (has_value(n.op) != (e != Elem::none)) return say(id, has_value(n.op) ? "has a value without type" : "has no value");
    switch (n.op) {
      case Op::constant:
        return (e != Elem::none && !is_half(e) && e != Elem::address) || say(id, "constants are numbers or truth values");
      case Op::parameter:
        if (n.imm < 0 || n.imm >= int64_t(p.parameters.size())) return say(id, "there is no such parameter");
        return p.parameters[size_t(n.imm)].type == n.type || say(id, "differs from its parameter in type");
      case Op::ramp:
        if (!is_integer(e) && e != Elem::address) return say(id, "ramps are of integers or addresses");
        return (in(n, 0) == Type{e, 1} && in(n, 1) == Type{Elem::i64, 1}) || say(id, "base and step must be scalars");
      case Op::splat:
        return (in(n, 0) == Type{e, 1}) || say(id, "splat takes a scalar of the result's element");
      case Op::low: case Op::high:
        return (in(n, 0) == Type{e, 2 * n.type.lanes}) || say(id, "halves have half the operand's lanes");
      case Op::add:
        if (e == Elem::address)
          return (in(n, 0) == n.type && in(n, 1) == Type{Elem::i64, n.type.lanes}) || say(id, "an address takes an i64 of as many lanes");
        [[fallthrough]];
      case Op::sub: case Op::mul: case Op::div: case Op::neg: case Op::min: case Op::max: case Op::abs:
        return (is_float(e) || is_integer(e)) ? alike(id, n) : say(id, "takes f32, f64 or integers");
      case Op::rem:
        return is_integer(e) ? alike(id, n) : say(id, "takes integers");
      case Op::fma: case Op::sqrt: case Op::floor: case Op::ceil: case Op::trunc: case Op::rint: case Op::copysign:
        return is_float(e) ? alike(id, n) : say(id, "takes f32 or f64");
      case Op::bit_and: case Op::bit_or: case Op::bit_xor: case Op::bit_not:
        return (is_integer(e) || e == Elem::b1) ? alike(id, n) : say(id, "takes integers or truth values");
      case Op::shl: case Op::shr: case Op::sar:
        return is_integer(e) ? alike(id, n) : say(id, "takes integers");
      case Op::lt: case Op::le: case Op::gt: case Op::ge: case Op::eq: case Op::ne: {
        const Elem o = in(n, 0).elem;
        if (!(in(n, 0) == in(n, 1)) || is_half(o) || o == Elem::address) return say(id, "compares two values of one type");
        return (n.type == Type{Elem::b1, in(n, 0).lanes}) || say(id, "gives truth values");
      }
      case Op::select:
        if (!(in(n, 0) == Type{Elem::b1, n.type.lanes})) return say(id, "the first operand must be truth values, one for each lane");
        return alike(id, n, 1);
      case Op::bitcast:
        return (bytes_of(in(n, 0).elem) == bytes_of(e) && in(n, 0).lanes == n.type.lanes && e != Elem::b1 && in(n, 0).elem != Elem::b1) ||
               say(id, "keeps the size of elements and the lanes");
      case Op::convert:
        return (in(n, 0).lanes == n.type.lanes && e != Elem::address && in(n, 0).elem != Elem::address) || say(id, "keeps the lanes, and takes no addresses");
      case Op::to_int:
        return (in(n, 0).lanes == n.type.lanes && ((e == Elem::i32 && in(n, 0).elem == Elem::f32) || (e == Elem::i64 && in(n, 0).elem == Elem::f64))) ||
               say(id, "takes floats to the signed integers of their width");
      case Op::lookup:
        if (n.imm < 0 || n.imm >= int64_t(p.tables.size())) return say(id, "there is no such table");
        return (in(n, 0) == Type{Elem::i32, n.type.lanes} && e == Elem::f32) || say(id, "takes i32 to f32");
      case Op::load:
        if (n.in.size() != 1 && n.in.size() != 3) return say(id, "wrong number of operands");
        if (e == Elem::none || e == Elem::address) return say(id, "loads numbers or truth values");
        if (!(in(n, 0) == Type{Elem::address, n.type.lanes})) return say(id, "the address must have the result's lanes");
        return n.in.size() == 1 || (in(n, 1) == Type{Elem::b1, n.type.lanes} && in(n, 2) == n.type) || say(id, "mask and other do not fit");
      case Op::store: {
        if (n.in.size() != 2 && n.in.size() != 3) return say(id, "wrong number of operands");
        if (n.imm != 0 && (n.imm != 1 || n.in.size() != 2)) return say(id, "stores past the cache take whole tiles");
        const int32_t lanes = in(n, 0).lanes;
        if (in(n, 0).elem != Elem::address || in(n, 1).lanes != lanes || in(n, 1).elem == Elem::address) return say(id, "address and value do not fit");
        return n.in.size() == 2 || (in(n, 2) == Type{Elem::b1, lanes}) || say(id, "the mask does not fit");
      }
      case Op::loop: return loop(id, n);
      case Op::argument: return say(id, "stands in a body");
      case Op::yield: return true;  // seen to by its loop
      case Op::result: {
        const Node& l = p[n.in[0]];
        if (l.op != Op::loop) return say(id, "is not of a loop");
        if (n.imm < 0 || n.imm >= l.in.size() - 3) return say(id, "the loop carries no such value");
        return p[l.in[n.imm + 3]].type == n.type || say(id, "differs from the carried value in type");
      }
      case Op::call:
        // Machine code asks for it by its name.
        if (!n.callee || find_named(n.callee->name) != n.callee) return say(id, "there is no such function");
        if (n.callee->arity != n.in.size() || n.in.size() < 1 || n.in.size() > kMostNamed) return say(id, "does not fit its function");
        return is_float(e) ? alike(id, n) : say(id, "named functions are of f32 or f64");
      case Op::lanes: case Op::patch: {
        if (!apart(id, n, n.op == Op::patch ? 2 : 0)) return false;
        for (int i = 0; i < int(n.in.size()); ++i)
          if (in(n, i).lanes != n.type.lanes) return say(id, "operands and result differ in lanes");
        if (n.op == Op::lanes) return n.in.size() >= 1 || say(id, "wrong number of operands");
        if (n.in.size() < 3) return say(id, "wrong number of operands");
        return (in(n, 0).elem == Elem::b1 && in(n, 1) == n.type) || say(id, "mask or result do not fit");
      }
      case Op::raise_if:
        if (n.imm < 0 || n.imm >= kErrorBits) return say(id, "there is no such error");
        return in(n, 0).elem == Elem::b1 || say(id, "takes truth values");
      case Op::any:
        return (in(n, 0).elem == Elem::b1 && n.type == Type{Elem::b1, 1}) || say(id, "takes truth values to one");
      case Op::tell:
        if (!apart(id, n, 1)) return false;
        if (n.in.size() < 1 || in(n, 0).elem != Elem::b1) return say(id, "takes a mask and values");
        for (int i = 1; i < int(n.in.size()); ++i)
          if (in(n, i).lanes != in(n, 0).lanes) return say(id, "operands differ in lanes");
        return true;
      case Op::atomic: {
        const bool compares = n.imm == int64_t(Atomic::exchange_if);
        if (n.imm < 0 || n.imm > int64_t(Atomic::exchange_if)) return say(id, "there is no such kind");
        if (n.in.size() != (compares ? 4 : 3)) return say(id, "wrong number of operands");
        if (n.imm >= int64_t(Atomic::bit_and) && n.imm <= int64_t(Atomic::bit_xor) ? !is_integer(e) : !is_integer(e) && !is_float(e))
          return say(id, "does not take this type");
        return (in(n, 0) == Type{Elem::address, n.type.lanes} && in(n, 1) == n.type && in(n, 2) == Type{Elem::b1, n.type.lanes} &&
                (!compares || in(n, 3) == n.type)) || say(id, "operands do not fit");
      }
    }
    return say(id, "is no operator");
  }

  bool loop(Id id, const Node& n) {
    if (n.in.size() < 3) return say(id, "wrong number of operands");
    for (int i = 0; i < 3; ++i)
      if (!scalar_i64(id, n, i)) return false;
    if (n.region <= 0 || n.region >= int32_t(p.regions.size())) return say(id, "there is no such region");
    if (entered[size_t(n.region)]) return say(id, "has the region of another loop");
    entered[size_t(n.region)] = 1;
    if (n.imm != 0 && n.imm != 1) return say(id, "is of no such kind");
    if (p[n.in[2]].op == Op::constant && p[n.in[2]].imm <= 0) return say(id, "steps backwards or not at all");
    const Region& r = p.regions[size_t(n.region)];
    if (int64_t(r.arguments.size()) != n.in.size() - 2) return say(id, "the region does not take the index and what is carried");
    for (size_t i = 0; i < r.arguments.size(); ++i) {
      const Id a = r.arguments[i];
      if (a < 0 || a >= Id(p.nodes.size()) || p[a].op != Op::argument || p[a].imm != int64_t(i)) return say(id, "an argument is none");
      if (placed[size_t(a)]) return say(id, "an argument stands in two places");
      placed[size_t(a)] = 1;
      const Type t = i ? in(n, int(i) + 2) : Type{Elem::i64, 1};
      if (!(p[a].type == t)) return say(id, "an argument differs from the carried value in type");
      seen[size_t(a)] = 1;
    }
    if (n.imm && (n.in.size() < 4 || !(in(n, 3) == Type{Elem::b1, 1}))) return say(id, "carries no truth value to go on by");
    if (r.body.empty() || r.body.back() < 0 || r.body.back() >= Id(p.nodes.size()) || p[r.body.back()].op != Op::yield) return say(id, "the region does not end in yield");
    if (!region(n.region)) return false;
    const Node& y = p[r.body.back()];
    if (y.in.size() != n.in.size() - 3) return say(id, "yields another number of values than it carries");
    for (int i = 0; i < int(y.in.size()); ++i)
      if (!(p[y.in[i]].type == in(n, i + 3))) return say(id, "yields another type than it carries");
    for (Id v : r.body) seen[size_t(v)] = 0;   // nothing inside is known outside
    for (Id a : r.arguments) seen[size_t(a)] = 0;
    return true;
  }
  bool region(int32_t r) {
    const auto& body = p.regions[size_t(r)].body;
    for (size_t i = 0; i < body.size(); ++i) {
      const Id id = body[i];
      if (id < 0 || id >= Id(p.nodes.size())) {
        fault = text("program ", p.name, ": a region names a value that is not there");
        return false;
      }
      if (placed[size_t(id)]) return say(id, "stands in two places");
      placed[size_t(id)] = 1;
      if (p[id].op == Op::yield && (r == 0 || i + 1 != body.size())) return say(id, "stands within a body");
      if (!node(id)) return false;
      seen[size_t(id)] = 1;
    }
    return true;
  }
};

}  // namespace

std::string verify(const Program& p) {
  if (p.regions.empty()) return text("program ", p.name, " has no body");
  for (const Parameter& a : p.parameters)
    if (a.type.lanes != 1 || (a.type.elem != Elem::address && a.type.elem != Elem::i64 && a.type.elem != Elem::f64))
      return text("program ", p.name, ": parameter ", a.name, " is not one word: an address, i64 or f64");
  Verifier v{p, std::vector<char>(p.nodes.size()), std::vector<char>(p.nodes.size()), std::vector<char>(p.regions.size()), {}};
  if (!v.region(0)) return v.fault;
  for (size_t r = 1; r < p.regions.size(); ++r)
    if (!v.entered[r]) return text("program ", p.name, ": region ", int64_t(r), " is of no loop");
  return "";
}

}  // namespace fb::tile
