// What a kernel must keep to, so that a front end's mistake is a sentence and not a crash.
#include "compile/triton/program.h"
#include "core/error.h"

namespace fb::triton {
namespace {

struct Verifier {
  const Program& p;
  std::vector<char> known;
  std::string fault;

  bool say(Id id, const char* what) {
    if (fault.empty()) fault = text("%", id, " (", name_of(p[id].op), ") ", what);
    return false;
  }
  bool same_shape(Id id, const Node& n) {
    for (Id x : n.in)
      if (p[x].tile != n.tile || p[x].shape != n.shape) return say(id, "has operands of another shape than its own");
    return true;
  }
  bool region(int32_t r) {
    if (r < 0 || size_t(r) >= p.regions.size()) {
      if (fault.empty()) fault = "a region is not there";
      return false;
    }
    const Region& region = p.regions[size_t(r)];
    for (Id a : region.arguments) {
      if (a < 0 || size_t(a) >= p.nodes.size() || p[a].op != Op::argument) {
        if (fault.empty()) fault = "a region's argument is none";
        return false;
      }
      known[size_t(a)] = 1;
    }
    for (Id id : region.body)
      if (!node(id)) return false;
    for (Id y : region.yields)
      if (y < 0 || size_t(y) >= p.nodes.size() || !known[size_t(y)]) {
        if (fault.empty()) fault = "a region yields what is not known";
        return false;
      }
    for (Id id : region.body) known[size_t(id)] = r == 0;
    for (Id a : region.arguments) known[size_t(a)] = 0;
    return true;
  }
  bool yields(Id id, const Node& n, int32_t r, size_t first, size_t arguments) {
    const Region& region = p.regions[size_t(r)];
    if (region.arguments.size() != arguments) return say(id, "has a region with another number of arguments");
    for (size_t k = first; k < n.in.size(); ++k) {
      const Id a = region.arguments[arguments - (n.in.size() - k)], y = region.yields[region.yields.size() - (n.in.size() - k)];
      for (Id v : {a, y})
        if (p[v].elem != p[n.in[k]].elem || p[v].tile != p[n.in[k]].tile || p[v].shape != p[n.in[k]].shape) return say(id, "carries a value that changes its type");
    }
    return true;
  }
  bool node(Id id) {
    if (id < 0 || size_t(id) >= p.nodes.size()) {
      if (fault.empty()) fault = "a value is not there";
      return false;
    }
    const Node& n = p[id];
    for (Id x : n.in)
      if (x < 0 || size_t(x) >= p.nodes.size() || !known[size_t(x)]) return say(id, "uses a value that is not known");
    for (int64_t s : n.shape)
      if (s < 1 || (s & (s - 1))) return say(id, "has a dimension that is no power of two");
    switch (n.op) {
      case Op::lanewise: case Op::call: case Op::convert: case Op::bitcast: case Op::offset:
        if (n.in.empty() || n.in.size() > 3 || !same_shape(id, n)) return say(id, "has the wrong number of operands");
        break;
      case Op::load: case Op::store: case Op::atomic:
        for (Id x : n.in)
          if (p[x].tile != p[n.in[0]].tile || p[x].shape != p[n.in[0]].shape) return say(id, "has operands of another shape than its pointers");
        if (p[n.in[0]].elem != Elem::address) return say(id, "takes pointers");
        break;
      case Op::reduce: case Op::scan:
        if (n.in.empty() || n.regions.size() != 1 || n.imm < 0 || size_t(n.imm) >= p[n.in[0]].shape.size()) return say(id, "has no such dimension");
        for (Id x : n.in)
          if (p[x].shape != p[n.in[0]].shape) return say(id, "has operands that differ in shape");
        if (!region(n.regions[0])) return false;
        if (p.regions[size_t(n.regions[0])].yields.size() != n.in.size()) return say(id, "combines to another number of values");
        for (Id x : p.regions[size_t(n.regions[0])].body)
          if (p[x].op != Op::lanewise && p[x].op != Op::call && p[x].op != Op::convert && p[x].op != Op::bitcast && p[x].op != Op::constant)
            return say(id, "combines by more than arithmetic");
        break;
      case Op::loop: {
        if (n.in.size() < 3 || n.regions.size() != 1 || !region(n.regions[0])) return say(id, "is no loop");
        if (p.regions[size_t(n.regions[0])].yields.size() != n.in.size() - 3) return say(id, "yields another number of values than it carries");
        if (!yields(id, n, n.regions[0], 3, n.in.size() - 2)) return false;
        break;
      }
      case Op::loop_while:
        if (n.in.empty() || n.regions.size() != 1 || !region(n.regions[0])) return say(id, "is no loop");
        if (p.regions[size_t(n.regions[0])].yields.size() != n.in.size()) return say(id, "yields another number of values than it carries");
        if (!yields(id, n, n.regions[0], 1, n.in.size() - 1)) return false;
        break;
      case Op::branch: {
        if (n.in.size() != 1 || n.regions.size() != 2 || !region(n.regions[0]) || !region(n.regions[1])) return say(id, "is no branch");
        const Region &a = p.regions[size_t(n.regions[0])], &b = p.regions[size_t(n.regions[1])];
        if (a.yields.size() != b.yields.size()) return say(id, "has sides that yield other numbers of values");
        for (size_t k = 0; k < a.yields.size(); ++k)
          if (p[a.yields[k]].elem != p[b.yields[k]].elem || p[a.yields[k]].shape != p[b.yields[k]].shape || p[a.yields[k]].tile != p[b.yields[k]].tile)
            return say(id, "has sides that yield other types");
        break;
      }
      case Op::permute:
        if (n.attrs.size() != n.shape.size()) return say(id, "orders another number of dimensions");
        for (int64_t d : n.attrs)
          if (d < 0 || size_t(d) >= n.shape.size()) return say(id, "has no such dimension");
        break;
      case Op::parameter:
        if (n.imm < 0 || size_t(n.imm) >= p.parameters.size()) return say(id, "is not there");
        break;
      default: break;
    }
    known[size_t(id)] = 1;
    return true;
  }
  using Elem = tile::Elem;
};

}  // namespace

std::string verify(const Program& p) {
  if (p.regions.empty()) return "there is no body";
  Verifier v{p, std::vector<char>(p.nodes.size()), {}};
  v.region(0);
  return v.fault;
}

}  // namespace fb::triton
