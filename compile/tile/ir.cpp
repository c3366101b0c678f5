// Names, and programs as text.
#include "compile/tile/ir.h"

#include <bit>
#include <cstdio>

#include "compile/tile/named.h"

namespace fb::tile {

const char* name_of(Elem e) {
  constexpr const char* n[] = {"b1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "address", "none"};
  return n[int(e)];
}
const char* name_of(Op op) {
  constexpr const char* n[] = {
#define FB_X(name, n) #name,
      FB_TILE_OPS(FB_X)
#undef FB_X
  };
  return n[int(op)];
}
int operands_of(Op op) {
  constexpr int n[] = {
#define FB_X(name, n) n,
      FB_TILE_OPS(FB_X)
#undef FB_X
  };
  return n[int(op)];
}
Elem elem_of(DType d) {
  Elem r = Elem::none;
#define FB_X(T, e) if (d == dtype_of<T>) r = Elem::e;
  FB_TILE_TYPES(FB_X)
#undef FB_X
  return r;
}

namespace {

std::string type_text(Type t) {
  std::string s = name_of(t.elem);
  if (t.lanes > 1) s += "x" + std::to_string(t.lanes);
  return s;
}

void print_region(const Program& p, int32_t region, int depth, std::string& s) {
  for (Id id : p.regions[size_t(region)].body) {
    const Node& n = p[id];
    s.append(size_t(2 * depth), ' ');
    if (n.type.elem != Elem::none) s += "%" + std::to_string(id) + " : " + type_text(n.type) + " = ";
    s += name_of(n.op);
    if (n.callee) s += std::string(" ") + n.callee->name;
    for (Id i : n.in) s += " %" + std::to_string(i);
    char buffer[40];
    if (n.op == Op::constant) {
      if (n.type.elem == Elem::f32) std::snprintf(buffer, sizeof buffer, " %a", double(std::bit_cast<float>(uint32_t(n.imm))));
      else if (n.type.elem == Elem::f64) std::snprintf(buffer, sizeof buffer, " %a", std::bit_cast<double>(n.imm));
      else std::snprintf(buffer, sizeof buffer, " %lld", static_cast<long long>(n.imm));
      s += buffer;
    } else if (n.op == Op::parameter) {
      s += " " + p.parameters[size_t(n.imm)].name;
    } else if (n.op == Op::result || n.op == Op::lanes || n.op == Op::patch || n.op == Op::lookup || n.op == Op::raise_if || n.op == Op::tell || n.op == Op::atomic) {
      s += " #" + std::to_string(n.imm);
    }
    if (n.op == Op::loop) {
      s += " (";
      for (Id a : p.regions[size_t(n.region)].arguments) s += " %" + std::to_string(a) + " : " + type_text(p[a].type);
      s += " ) {\n";
      print_region(p, n.region, depth + 1, s);
      s.append(size_t(2 * depth), ' ');
      s += "}";
    }
    s += "\n";
  }
}

}  // namespace

std::string print(const Program& p) {
  std::string s = "program " + p.name + "\n";
  if (!p.regions.empty()) print_region(p, 0, 1, s);
  return s;
}

}  // namespace fb::tile
