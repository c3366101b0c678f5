// Pointwise operators: what their cards say, and the geometry of a call. The loops stand in cpu/loops/.
#pragma once
#include "dispatch/op.h"
#include "dispatch/vjp.h"

namespace fb {

enum class ResultType : uint8_t { same, boolean, real };

struct Promotion {
  bool int_to_float = false;        // integers compute in the default floating type
  ResultType result = ResultType::same;
};

// What a fresh result is laid out as. Only sizes of 1 and 0, gaps and overlaps, and operands that disagree tell them apart.
enum class ResultLayout : uint8_t {
  of_operands,   // the rule of dispatch/pointwise_shape.h
  of_tensors,    // the same, with bare numbers left out of account
  second_first,  // the same, with the second operand asked before the first
  as_first,      // as empty_like of the first operand, expanded to the shape of the result, is
  row_major,
};

// Bit sets of types that a card computes in.
namespace types {
constexpr uint32_t bit(DType d) { return uint32_t(1) << uint32_t(d); }
constexpr uint32_t floating = bit(DType::f16) | bit(DType::bf16) | bit(DType::f32) | bit(DType::f64);
constexpr uint32_t complex = bit(DType::c64) | bit(DType::c128);
constexpr uint32_t narrow_integral = bit(DType::u8) | bit(DType::i8) | bit(DType::i16) | bit(DType::i32) | bit(DType::i64);
constexpr uint32_t wide_unsigned = bit(DType::u16) | bit(DType::u32) | bit(DType::u64);
constexpr uint32_t integral = narrow_integral;
constexpr uint32_t boolean = bit(DType::boolean);
constexpr uint32_t all = floating | complex | integral | boolean;
}  // namespace types

constexpr int kMaxOperands = 6;

struct PointwiseGrad {
  bool has = false;
  uint8_t saves_in = 0;    // operands
  bool saves_out = false;
  bool holomorphic = false;  // given as a derivative d: backward is g * conj(d), forward t * d
  // The same formula over tensors, differentiable again. g has the result's shape.
  Tensor (*over_tensors)(const Tensor& g, const Tensor* operands, const Tensor& result, const Value* attrs, int mode) = nullptr;
};

struct PointwiseCard {
  int nin, nattr;
  uint32_t types;
  uint64_t operands, attrs;                    // which arguments of the schema are operands, and which numbers
  uint32_t bool_operands;                      // operands that are masks: loaded as bool, outside promotion
  ResultLayout layout, grad_layout;            // of the result, and of a gradient that the loops compute
  Promotion (*promotion)(const Value* args);
  int modes;
  int (*mode)(const Value* args);              // which variant a string argument chooses
  void (*check)(const Value* args, DType compute);  // null, or raises for bad arguments
  // null, or fills the numbers from the arguments, where they depend on the type or may be absent
  void (*attributes)(const Value* args, DType compute, Scalar* to);
  PointwiseGrad grads[kMaxOperands];
};

// Bodies work on contiguous elements of the compute type; in[i] has as many elements as out.
using PointwiseBody = void (*)(char* out, char* const* in, int64_t n, const Scalar* attrs, bool stream);
constexpr int kTypeSlots = 32;
struct PointwiseTable {
  const PointwiseBody* forward;  // [modes][kTypeSlots]
  const PointwiseBody* grads;    // [operands][modes][kTypeSlots]: inputs are g, the saved operands, the saved result
};

// A loop over broadcast operands: dimensions fastest first, coalesced; strides in bytes.
struct PointwiseLoop {
  static constexpr int kMax = kMaxOperands + 2;
  int nin = 0, ndim = 0;
  int64_t numel = 0;
  Dims shape;
  struct Operand {
    char* data = nullptr;
    DType stored = DType::f32, computed = DType::f32;
    Dims strides;
    char number[16];       // a bare number, already in the compute type; data points here
  } op[kMax];              // op[0] is the output
  PointwiseBody body = nullptr;
  const Scalar* attrs = nullptr;
};
using PointwiseRun = void (*)(PointwiseLoop&);

// Broadcasts, promotes, allocates out unless `out` is given, and runs. `table` comes from the kernel record.
Tensor run_pointwise_body(const char* name, PointwiseRun run, PointwiseBody body, const Value* operands, int nin,
                          uint32_t bool_operands, ResultLayout layout, DType compute, DType result, const Scalar* attrs, const Tensor* out);

// PyTorch's result type of these tensors and numbers; none where they have none.
DType result_type(const Value* operands, int n, uint32_t skip = 0);
// The type that the card computes in for a call's arguments; none where the operands have no common type.
DType compute_type(const PointwiseCard& card, const Promotion& promotion, const Value* operands, int n);

void run_pointwise(const OpEntry& op, const Value* args, Results& out);
// Backward of operand i through the card's fused formula.
Tensor run_pointwise_grad(const OpEntry& op, int operand, const Tensor& g, const Tensor* operands, const Tensor& result,
                          const Value* args);

}  // namespace fb
