// The definition of the tile language: each operator on one lane, in plain C++ on the scalar domain.
#include <cmath>
#include <cstring>
#include <vector>

#include "compile/tile/ir.h"
#include "compile/tile/named.h"
#include "core/error.h"
#include "ops/math/number_domain.h"

namespace fb::tile {
namespace {

using Word = uint64_t;  // an element's bits, the rest zero

template <class T> T as(Word w) {
  T v;
  std::memcpy(static_cast<void*>(&v), &w, sizeof v);
  return v;
}
template <class T> Word word(T v) {
  Word w = 0;
  std::memcpy(&w, static_cast<const void*>(&v), sizeof v);
  return w;
}
template <class F> void visit(Elem e, F&& f) {
  switch (e) {
#define FB_X(T, e) case Elem::e: f.template operator()<T>(); return;
    FB_TILE_TYPES(FB_X)
#undef FB_X
    case Elem::address: f.template operator()<int64_t>(); return;
    default: raise_runtime("a tile program uses a value without type");
  }
}

template <class T> T float_op(Op op, T a, T b, T c) {
  switch (op) {
    case Op::add: return a + b;
    case Op::sub: return a - b;
    case Op::mul: return a * b;
    case Op::div: return a / b;
    case Op::neg: return -a;
    case Op::min: return fb::min(a, b);
    case Op::max: return fb::max(a, b);
    case Op::fma: return fb::fma(a, b, c);
    case Op::sqrt: return fb::sqrt(a);
    case Op::abs: return fb::abs(a);
    case Op::floor: return fb::floor(a);
    case Op::ceil: return fb::ceil(a);
    case Op::trunc: return fb::trunc(a);
    case Op::rint: return fb::rint(a);
    case Op::copysign: return fb::copysign(a, b);
    default: raise_runtime("no operator of floats: ", name_of(op));
  }
}
template <class T> T int_op(Op op, T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr int bits = 8 * int(sizeof(T));
  const int by = int(uint64_t(b) & (bits - 1));
  // Products and shifts in 64 bits: narrow types would be promoted to int.
  switch (op) {
    case Op::add: return T(U(a) + U(b));
    case Op::sub: return T(U(a) - U(b));
    case Op::mul: return T(uint64_t(a) * uint64_t(b));
    case Op::neg: return T(U(0) - U(a));
    case Op::div: return b == 0 ? T(0) : std::is_signed_v<T> && b == T(-1) ? T(U(0) - U(a)) : T(a / b);
    case Op::rem: return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? T(0) : T(a % b);
    case Op::min: return a < b ? a : b;
    case Op::max: return a > b ? a : b;
    case Op::abs: return a < 0 ? T(U(0) - U(a)) : a;
    case Op::bit_and: return T(a & b);
    case Op::bit_or: return T(a | b);
    case Op::bit_xor: return T(a ^ b);
    case Op::bit_not: return T(~a);
    case Op::shl: return T(uint64_t(a) << by);
    case Op::shr: return T(U(a) >> by);
    case Op::sar: return std::is_signed_v<T> ? T(a >> by) : T(std::make_signed_t<T>(a) >> by);
    default: raise_runtime("no operator of integers: ", name_of(op));
  }
}
bool truth_op(Op op, bool a, bool b) {
  switch (op) {
    case Op::bit_and: return a && b;
    case Op::bit_or: return a || b;
    case Op::bit_xor: return a != b;
    case Op::bit_not: return !a;
    default: raise_runtime("no operator of truth values: ", name_of(op));
  }
}
template <class T> bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::lt: return a < b;
    case Op::le: return a <= b;
    case Op::gt: return a > b;
    case Op::ge: return a >= b;
    case Op::eq: return a == b;
    default: return a != b;
  }
}
template <class T> inline constexpr bool stored_only = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

template <class From, class To> To converted(From x) {
  if constexpr (stored_only<From>) return converted<float, To>(float(x));
  else if constexpr (stored_only<To>) return To(float(x));
  else if constexpr (std::is_same_v<To, bool>) return x != From(0);
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const double v = std::trunc(double(x));
    constexpr bool large = sizeof(To) == 8 || std::is_same_v<To, uint32_t>;
    if (std::is_same_v<To, uint64_t> && v >= 0x1p63) return v < 0x1p64 ? To(uint64_t(v)) : To(0);
    return v >= (large ? -0x1p63 : -0x1p31) && v < (large ? 0x1p63 : 0x1p31) ? To(int64_t(v)) : To(0);
  } else return To(x);
}

struct Machine {
  const Program& p;
  const int64_t* words;
  std::vector<std::vector<Word>> value;
  int32_t errors = 0;

  Word lane(const Node& n, int i, int l) const { return value[size_t(n.in[i])][size_t(l)]; }
  Elem elem_in(const Node& n, int i) const { return p[n.in[i]].type.elem; }

  Word one(const Node& n, int l) {
    const Elem e = n.type.elem;
    const int count = int(n.in.size());
    const Word a = count > 0 ? lane(n, 0, l) : 0, b = count > 1 ? lane(n, 1, l) : 0, c = count > 2 ? lane(n, 2, l) : 0;
    switch (n.op) {
      case Op::lt: case Op::le: case Op::gt: case Op::ge: case Op::eq: case Op::ne: {
        bool r = false;
        visit(elem_in(n, 0), [&]<class T>() {
          if constexpr (!stored_only<T>) r = compare<T>(n.op, as<T>(a), as<T>(b));
        });
        return r;
      }
      case Op::select: return a & 1 ? b : c;
      case Op::bitcast: return a;
      case Op::convert: {
        Word r = 0;
        visit(elem_in(n, 0), [&]<class From>() { visit(e, [&]<class To>() { r = word(converted<From, To>(as<From>(a))); }); });
        return r;
      }
      case Op::to_int: {
        const double x = e == Elem::i32 ? double(as<float>(a)) : as<double>(a), limit = e == Elem::i32 ? 0x1p31 : 0x1p51;
        const int64_t r = fb::abs(x) < limit ? int64_t(fb::rint(x)) : 0;
        return e == Elem::i32 ? word(int32_t(r)) : word(r);
      }
      case Op::lookup: return word(p.tables[size_t(n.imm)].v[a & 7]);
      case Op::call: {
        const Thunk& t = e == Elem::f32 ? n.callee->scalar32 : n.callee->scalar64;
        const void* in[kMostNamed] = {&a, &b, &c};
        Word r = 0;
        t.fn(t.context, &r, in);
        return r;
      }
      case Op::lanes: case Op::patch: {
        const int first = n.op == Op::patch ? 2 : 0;
        if (first && !(a & 1)) return b;
        Word x[kMostApart], r = 0;
        const void* in[kMostApart];
        for (int i = first; i < count; ++i) {
          x[i - first] = lane(n, i, l);
          in[i - first] = &x[i - first];
        }
        const Thunk& t = p.thunks[size_t(n.imm)];
        t.fn(t.context, &r, in);
        return r;
      }
      default: break;
    }
    if (e == Elem::b1) return truth_op(n.op, a & 1, b & 1);
    if (e == Elem::address) return a + b;
    Word r = 0;
    visit(e, [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) r = word(float_op<T>(n.op, as<T>(a), as<T>(b), as<T>(c)));
      else if constexpr (!stored_only<T> && !std::is_same_v<T, bool>) r = word(int_op<T>(n.op, as<T>(a), as<T>(b)));
    });
    return r;
  }

  Word change(const Node& n, Word at, Word by, Word expected) {
    const Elem e = n.type.elem;
    constexpr Op ops[] = {Op::add, Op::min, Op::max, Op::bit_and, Op::bit_or, Op::bit_xor};
    Word old = 0, now = by;
    void* where = reinterpret_cast<void*>(at);
    std::memcpy(&old, where, size_t(bytes_of(e)));
    if (n.imm == int64_t(Atomic::exchange_if)) {
      if (old != expected) return old;  // by bits
    } else if (n.imm != int64_t(Atomic::exchange)) {
      visit(e, [&]<class T>() {
        if constexpr (std::is_floating_point_v<T>) now = word(float_op<T>(ops[n.imm], as<T>(old), as<T>(by), T(0)));
        else if constexpr (!stored_only<T> && !std::is_same_v<T, bool>) now = word(int_op<T>(ops[n.imm], as<T>(old), as<T>(by)));
      });
    }
    std::memcpy(where, &now, size_t(bytes_of(e)));
    return old;
  }

  void run(const Region& r) {
    for (Id id : r.body) {
      const Node& n = p[id];
      std::vector<Word> v(size_t(n.type.elem == Elem::none ? 0 : n.type.lanes));
      const int lanes = int(v.size());
      switch (n.op) {
        case Op::constant: {
          Word x = 0;
          std::memcpy(&x, &n.imm, size_t(bytes_of(n.type.elem)));
          v.assign(v.size(), n.type.elem == Elem::b1 ? x & 1 : x);
          break;
        }
        case Op::parameter: v[0] = Word(words[n.imm]); break;
        case Op::ramp:
          for (int l = 0; l < lanes; ++l) {
            const Word x = lane(n, 0, 0) + Word(l) * lane(n, 1, 0);
            std::memcpy(&v[size_t(l)], &x, size_t(bytes_of(n.type.elem)));
          }
          break;
        case Op::splat: v.assign(v.size(), lane(n, 0, 0)); break;
        case Op::low: case Op::high:
          for (int l = 0; l < lanes; ++l) v[size_t(l)] = lane(n, 0, n.op == Op::low ? l : l + lanes);
          break;
        case Op::load:
          for (int l = 0; l < lanes; ++l) {
            if (n.in.size() == 3 && !(lane(n, 1, l) & 1)) v[size_t(l)] = lane(n, 2, l);
            else std::memcpy(&v[size_t(l)], reinterpret_cast<const void*>(lane(n, 0, l)), size_t(bytes_of(n.type.elem)));
            if (n.type.elem == Elem::b1) v[size_t(l)] = v[size_t(l)] != 0;
          }
          break;
        case Op::store:
          for (int l = 0; l < p[n.in[0]].type.lanes; ++l) {
            const Word x = lane(n, 1, l);
            if (n.in.size() == 2 || (lane(n, 2, l) & 1))
              std::memcpy(reinterpret_cast<void*>(lane(n, 0, l)), &x, size_t(bytes_of(elem_in(n, 1))));
          }
          break;
        case Op::loop: {
          const Region& body = p.regions[size_t(n.region)];
          const int64_t to = int64_t(lane(n, 1, 0)), step = int64_t(lane(n, 2, 0));
          std::vector<std::vector<Word>> carried;
          for (int i = 3; i < int(n.in.size()); ++i) carried.push_back(value[size_t(n.in[i])]);
          FB_CHECK(step > 0, "a loop of a tile program steps by ", step);
          for (int64_t i = int64_t(lane(n, 0, 0)); i < to && !(n.imm && !(carried[0][0] & 1)); i += step) {
            value[size_t(body.arguments[0])] = {Word(i)};
            for (size_t c = 0; c < carried.size(); ++c) value[size_t(body.arguments[c + 1])] = carried[c];
            run(body);
            const Node& y = p[body.body.back()];
            for (size_t c = 0; c < carried.size(); ++c) carried[c] = value[size_t(y.in[int64_t(c)])];
          }
          results[size_t(id)] = std::move(carried);
          break;
        }
        case Op::yield: break;
        case Op::result: v = results[size_t(n.in[0])][size_t(n.imm)]; break;
        case Op::raise_if:
          for (Word w : value[size_t(n.in[0])])
            if (w & 1) errors |= 1 << n.imm;
          break;
        case Op::any:
          for (Word w : value[size_t(n.in[0])]) v[0] |= w & 1;
          break;
        case Op::tell:
          for (int l = 0; l < p[n.in[0]].type.lanes; ++l) {
            if (!(lane(n, 0, l) & 1)) continue;
            const Thunk& t = p.thunks[size_t(n.imm)];
            Word x[kMostApart];
            const void* in[kMostApart];
            for (int i = 1; i < int(n.in.size()); ++i) x[i - 1] = lane(n, i, l), in[i - 1] = &x[i - 1];
            t.fn(t.context, nullptr, in);
          }
          break;
        case Op::atomic:
          for (int l = 0; l < lanes; ++l)
            if (lane(n, 2, l) & 1) v[size_t(l)] = change(n, lane(n, 0, l), lane(n, 1, l), n.in.size() > 3 ? lane(n, 3, l) : 0);
          break;
        default:
          for (int l = 0; l < lanes; ++l) v[size_t(l)] = one(n, l);
      }
      value[size_t(id)] = std::move(v);
    }
  }
  std::vector<std::vector<std::vector<Word>>> results;
};

}  // namespace

int32_t interpret(const Program& p, const int64_t* words) {
  Machine m{p, words, std::vector<std::vector<Word>>(p.nodes.size()), 0, {}};
  m.results.resize(p.nodes.size());
  m.run(p.regions[0]);
  return m.errors;
}

}  // namespace fb::tile
