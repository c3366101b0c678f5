// The tile language: programs of typed values in single assignment. A value is a scalar (one lane) or a tile of lanes; an
// operator works lane by lane, a scalar operand standing in every lane. Loops carry values; memory is reached through
// addresses in bytes. What each operator means, to the bit, is tile/interpret.cpp; what is well formed, tile/verify.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/dtype.h"

namespace fb::tile {

// Stored formats f16 and bf16 are loaded, stored and converted, nothing else. `b1` is a truth value, a byte in memory.
enum class Elem : uint8_t { b1, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, address, none };

constexpr bool is_float(Elem e) { return e == Elem::f32 || e == Elem::f64; }
constexpr bool is_half(Elem e) { return e == Elem::f16 || e == Elem::bf16; }
constexpr bool is_signed(Elem e) { return e >= Elem::i8 && e <= Elem::i64; }
constexpr bool is_integer(Elem e) { return e >= Elem::i8 && e <= Elem::u64; }
constexpr int bytes_of(Elem e) {
  constexpr int n[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 0};
  return n[int(e)];
}
const char* name_of(Elem e);
Elem elem_of(DType d);  // none where the language has no such type

template <class T> inline constexpr Elem elem = Elem::none;
#define FB_TILE_TYPES(X)                                                                                              \
  X(bool, b1) X(int8_t, i8) X(int16_t, i16) X(int32_t, i32) X(int64_t, i64) X(uint8_t, u8) X(uint16_t, u16)          \
  X(uint32_t, u32) X(uint64_t, u64) X(half, f16) X(bfloat16, bf16) X(float, f32) X(double, f64)
#define FB_X(T, e) template <> inline constexpr Elem elem<T> = Elem::e;
FB_TILE_TYPES(FB_X)
#undef FB_X

// What the machine's code and the interpreter make room for; the verifier holds programs to it.
constexpr int kMostLanes = 256;        // of a tile
constexpr int kMostApart = 8;          // values that a function for single lanes takes (lanes, patch, tell)
constexpr int kMostNamed = 3;          // values that a named function takes

struct Type {
  Elem elem = Elem::none;
  int32_t lanes = 1;
  bool operator==(const Type&) const = default;
};

// X(name, operands; -1: any number)
#define FB_TILE_OPS(X)                                                                                                 \
  X(constant, 0)   /* imm: the element's bits, in every lane */                                                        \
  X(parameter, 0)  /* imm: index among the program's parameters */                                                     \
  X(ramp, 2)       /* (base, step): base + lane * step, of integers (they wrap) or addresses; step is i64 */            \
  X(splat, 1) X(low, 1) X(high, 1) /* every lane; the lower and the upper half of the lanes */                         \
  X(add, 2) X(sub, 2) X(mul, 2) X(div, 2) X(rem, 2) X(neg, 1) /* integers wrap; x / 0 and x % 0 are 0 for them */      \
  X(min, 2) X(max, 2) /* a < b ? a : b and a > b ? a : b */                                                            \
  X(fma, 3) X(sqrt, 1) X(abs, 1) X(floor, 1) X(ceil, 1) X(trunc, 1) X(rint, 1) X(copysign, 2)                         \
  X(bit_and, 2) X(bit_or, 2) X(bit_xor, 2) X(bit_not, 1) /* integers and truth values */                               \
  X(shl, 2) X(shr, 2) X(sar, 2) /* the distance counts modulo the width */                                             \
  X(lt, 2) X(le, 2) X(gt, 2) X(ge, 2) X(eq, 2) X(ne, 2)                                                                \
  X(select, 3)                                                                                                         \
  X(bitcast, 1)                                                                                                        \
  X(convert, 1)    /* floats round to nearest; integers wrap; float to integer truncates, and must fit */              \
  X(to_int, 1)     /* float to the integer of its width, to nearest; |x| < 2^31 or 2^51, else any number */            \
  X(lookup, 1)     /* i32 in 0..7 -> tables[imm][i] */                                                                 \
  X(load, -1)      /* (address) or (address, mask, other) */                                                           \
  X(store, -1)     /* (address, value) or (address, value, mask); imm 1: past the cache, to a whole aligned tile */    \
  X(loop, -1)      /* (from, to, step, carried...); the region gets (index, carried...) and ends in yield. imm 1: ends \
                      before a round where the first carried value, a b1, is false */                                  \
  X(argument, 0)   /* imm: of the region it stands in */                                                               \
  X(yield, -1)     /* what the next round carries */                                                                   \
  X(result, 1)     /* (loop): imm: which carried value, after the last round */                                        \
  X(call, -1)      /* a named function, callee */                                                                      \
  X(lanes, -1)     /* a scalar function for each lane, thunks[imm]; operands of their own types */                     \
  X(patch, -1)     /* (mask, r, x...): thunks[imm] of x where mask holds, else r */                                    \
  X(raise_if, 1)   /* (mask): the program returns 1 << imm among its errors where any lane holds */                    \
  X(any, 1)        /* (mask): whether any lane holds */                                                                \
  X(tell, -1)      /* (mask, x...): thunks[imm] of x for the lanes where mask holds; no value */                       \
  X(atomic, -1)    /* (address, value, mask): one indivisible change of memory for each lane where mask holds, of kind  \
                      imm (Atomic); what stood there before, or zero. exchange_if: (address, value, mask, expected) */
enum class Op : uint8_t {
#define FB_X(name, n) name,
  FB_TILE_OPS(FB_X)
#undef FB_X
};
const char* name_of(Op op);
int operands_of(Op op);

// One lane of a function outside the language: reads in[i], writes out.
struct Thunk {
  void (*fn)(int64_t context, void* out, const void* const* in) = nullptr;
  int64_t context = 0;
  bool operator==(const Thunk&) const = default;
};

using Id = int32_t;
constexpr Id kNone = -1;

struct Named;  // tile/named.h

struct Node {
  Op op = Op::constant;
  Type type;                     // Elem::none: no value
  SmallVec<Id, 4> in;
  int64_t imm = 0;
  const Named* callee = nullptr;
  int32_t region = -1;           // of loops
};
struct Region {
  std::vector<Id> arguments;
  std::vector<Id> body;          // in order; the last is a yield, but for the program's own
};
struct Parameter {
  std::string name;
  Type type;                     // address, i64 or f64; one lane
};
struct Table {
  float v[8];
};

enum class Atomic : int64_t { add, min, max, bit_and, bit_or, bit_xor, exchange, exchange_if };
// What a raise_if means; the caller turns the first one into an exception.
enum Errors : int32_t { kZeroDivisor = 0, kBadIndex = 2 };
constexpr int kErrorBits = 31;

struct Program {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<Node> nodes;
  std::vector<Region> regions;   // 0 is the program's body
  std::vector<Thunk> thunks;
  std::vector<Table> tables;

  Node& operator[](Id i) { return nodes[size_t(i)]; }
  const Node& operator[](Id i) const { return nodes[size_t(i)]; }
};

// Empty, or what is wrong and where.
std::string verify(const Program& p);
std::string print(const Program& p);

// Runs p with one word for each parameter: addresses and i64 as they are, f64 as its bits. Returns the errors raised.
int32_t interpret(const Program& p, const int64_t* words);

}  // namespace fb::tile
