// Kernels as the Triton language writes them: values are scalars or tiles of any rank, in single assignment. The front end
// (triton/compiler) writes such programs; lower.h makes tile programs of them, where a value has vector registers' lanes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compile/tile/ir.h"

namespace fb::triton {

struct Message;                          // launch.h

// X(name). `lanewise`: Node::lane is an operator of the tile language, on every element; `call`: Node::callee likewise.
#define FB_TRITON_OPS(X)                                                                                               \
  X(constant)     /* imm: bits; a scalar */                                                                            \
  X(parameter)    /* imm */                                                                                            \
  X(program_id) X(num_programs) /* imm: axis; i32 */                                                                   \
  X(arange)       /* imm: start; i32 [n] */                                                                            \
  X(splat)        /* (scalar) */                                                                                       \
  X(broadcast)    /* (x): dimensions of size 1 grow; of the same rank */                                               \
  X(expand)       /* (x): a dimension of size 1 at imm */                                                              \
  X(reshape)      /* (x): row-major */                                                                                 \
  X(permute)      /* (x): dimension d is attrs[d] of x */                                                              \
  X(flip)         /* (x): dimension imm, backwards */                                                                  \
  X(cat)          /* (a, b): along dimension 0 */                                                                      \
  X(join)         /* (a, b): a new last dimension of 2 */                                                              \
  X(split)        /* (x): element imm of the last dimension */                                                         \
  X(lanewise) X(call) X(convert) X(bitcast)                                                                            \
  X(offset)       /* (pointer, i): + i * imm bytes */                                                                  \
  X(load)         /* (pointer) or (pointer, mask, other) */                                                            \
  X(store)        /* (pointer, value) or (pointer, value, mask) */                                                     \
  X(atomic)       /* (pointer, value, mask[, expected]): imm: tile::Atomic */                                          \
  X(reduce)       /* (x...): along dimension imm with region (a..., b...) -> ... */                                    \
  X(scan)         /* (x...): the same, every partial result; attrs[0]: from behind */                                  \
  X(dot)          /* (a, b, c): c + a b, chains of fma along k */                                                      \
  X(sort)         /* (x): the last dimension; imm: descending */                                                       \
  X(histogram)    /* (x[, mask]): i32 [n] of numbers below n */                                                        \
  X(gather)       /* (x, index): along dimension imm */                                                                \
  X(loop)         /* (from, to, step, carried...): region (index, carried...) -> carried */                            \
  X(loop_while)   /* (go on, carried...): region (carried...) -> (go on, carried...) */                                \
  X(branch)       /* (truth): regions then, else -> ... */                                                             \
  X(result)       /* (reduce, scan, loop, loop_while, branch): number imm */                                           \
  X(argument)     /* of a region: imm */                                                                               \
  X(tell)         /* ([x]): prints text; attrs[0]: as hexadecimal */                                                   \
  X(require)      /* (truth): else the call fails with text */
enum class Op : uint8_t {
#define FB_X(name) name,
  FB_TRITON_OPS(FB_X)
#undef FB_X
};
const char* name_of(Op op);

using Id = int32_t;

struct Node {
  Op op = Op::constant;
  tile::Elem elem = tile::Elem::none;  // none: no value
  bool tile = false;                   // else a scalar
  std::vector<int64_t> shape;          // of a tile; powers of two
  std::vector<Id> in;
  int64_t imm = 0;
  std::vector<int64_t> attrs;
  std::vector<int32_t> regions;
  tile::Op lane = tile::Op::constant;
  const tile::Named* callee = nullptr;
  std::string text;

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    return n;
  }
};
struct Region {
  std::vector<Id> arguments, body, yields;
};
struct Program {
  std::string name;
  std::vector<tile::Elem> parameters;  // address, i32, i64, u64, f32, b1
  std::vector<Node> nodes;
  std::vector<Region> regions;         // 0 is the kernel's body
  // For each parameter that is a pointer, the class of memory it may point into; pointers of other classes never meet.
  std::vector<int> classes;
  // Likewise, whether that memory is larger than the caches.
  std::vector<char> large;

  const Node& operator[](Id i) const { return nodes[size_t(i)]; }
};

// Empty, or what does not hold.
std::string verify(const Program& p);

// Where a value is computed (plan.cpp).
struct Plan {
  std::vector<char> stored;            // a tile that has memory of its own
  std::vector<char> moving;            // an argument of a loop that is its first value plus scalars
  std::vector<std::vector<Id>> steps;  // of moving arguments: the sums, last one first, whose one operand is a scalar
  std::vector<Id> in_place;            // of a product that lies in the memory of the loop argument it adds to: that one; else -1
  std::vector<char> past_cache;        // a store of runs into large memory that no program reads
  bool serial = false;                 // programs run in order, on one thread
  double work = 0;                     // about how many operations on elements a program does
};
Plan plan_of(const Program& p);
// Leaves out what no store, message or loop needs.
void drop_unused(Program& p);

struct Lowered {
  tile::Program program;               // words: ids of the program (3), their numbers (3), scratch, the kernel's own
  int64_t scratch = 0;                 // bytes
  std::vector<std::shared_ptr<const Message>> messages;   // the program holds their addresses
};
Lowered lower(const Program& p, const Plan& plan);

}  // namespace fb::triton
