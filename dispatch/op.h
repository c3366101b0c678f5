// The run-time record of an operator, and the table of all of them. Cards (ops/) emit a constant CardRecord
// each into a linker section; kernels (cpu/, cuda/) emit KernelRecords. The table is made from both on first use.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "dispatch/schema.h"
#include "dispatch/value.h"

namespace fb {

struct OpEntry;
struct VjpRule;
struct JvpView;
struct PointwiseCard;

using Invoke = void (*)(const OpEntry& op, const Value* args, Results& out);

// Which names a card gets; a card says so, its family has a default.
namespace form {
enum : uint32_t {
  fn = 1,           // torch.NAME
  method = 2,       // Tensor.NAME
  inplace = 4,      // NAME_: as a method where method holds, in torch._C._nn where nn holds
  out = 8,          // out=
  nn = 16,          // torch._C._nn.NAME
  hidden = 32,      // torch.ops.aten only
  special = 64,     // torch._C._special.NAME
  fn_inplace = 128, // torch.NAME_ as well
};
}

enum class CardKind : uint8_t { composite, pointwise, view, structured, direct, lowered };

struct CardRecord {
  const char* schema;
  CardKind kind;
  uint32_t forms;
  uint32_t numbers;        // Tensor arguments that take a bare number, as a bit mask of positions
  Invoke body;             // composite and lowered cards, direct ones that have it: the program over other cards
  Invoke meta;             // structured cards: makes the outputs, without values
  Invoke view;             // view cards: geometry of the result(s)
  const VjpRule* vjp;      // null: not differentiable
  const PointwiseCard* pointwise;
  const char* aliases;     // other names, separated by spaces
  const char* grad_name;   // null: made from the name ("SigmoidBackward0")
  const char* doc;
  bool lazy_bits;          // takes tensors with conj or neg bits as they are
  uint64_t linear;         // arguments that the result is linear in, each for itself
  void (*jvp)(JvpView&);   // null: derived
};

// One entry of the section. Compilers may emit the cards of a unit in any order; `order` is that of the text.
struct CardSlot {
  const CardRecord* card;
  int64_t order;
};

enum class KernelStyle : uint8_t { structured, direct, pointwise };

struct KernelRecord {
  const char* op;          // "add.Tensor"
  DeviceType device;
  KernelStyle style;
  int rank;                // the least that accepts runs
  bool (*accepts)(const Value* args);  // null: everything
  Invoke run;
  const void* table;       // pointwise: bodies by type
  void (*loop)(struct PointwiseLoop&) = nullptr;  // pointwise: the driver
};

enum class OpForm : uint8_t { functional, inplace, out };

struct Packet;

// A way into an operator. A library's kernel may take the place of a card's while other threads call: an atomic load and store,
// which cost no more than plain ones.
class Road {
 public:
  constexpr Road() = default;
  Road(const Road& other) : to_(other.to()) {}
  Road& operator=(const Road& other) { return *this = other.to(); }
  Road& operator=(Invoke to) {
    to_.store(to, std::memory_order_release);
    return *this;
  }
  Invoke to() const { return to_.load(std::memory_order_acquire); }
  void operator()(const OpEntry& op, const Value* args, Results& out) const { to()(op, args, out); }

 private:
  std::atomic<Invoke> to_{nullptr};
};

struct OpEntry {
  const CardRecord* card = nullptr;
  OpForm form = OpForm::functional;
  Schema schema;
  Packet* packet = nullptr;
  const OpEntry* functional = nullptr;  // of the other forms
  Road invoke;                          // the call as users make it
  Road run;                             // below autograd
  std::vector<const KernelRecord*> cpu; // best first
  std::string grad_name;                // "AddBackward0"

  void operator()(const Value* args, Results& out) const { invoke(*this, args, out); }
};

struct Packet {
  std::string name;
  uint32_t forms = 0;
  std::vector<OpEntry*> overloads;  // functional (or in-place by nature); then the derived forms
  const char* doc = nullptr;
};

// Null where there is no operator of that name.
Packet* find_packet(std::string_view name);
// "add.Tensor", "add_.Tensor", "add.out"; null where absent.
const OpEntry* find_op(std::string_view full_name);
// Every packet, sorted by name.
const std::vector<Packet*>& all_packets();

// The first kernel that accepts; raises NotImplementedError naming operator and device otherwise.
const KernelRecord& select_kernel(const OpEntry& op, Device device, const Value* args);

// The union of the TensorFlags of the tensor arguments and of the layers that see every call; the device that the tensor
// arguments are on (raises where they differ).
Flags argument_flags(const OpEntry& op, const Value* args);
Device common_device(const OpEntry& op, const Value* args);

// Autograd's side of a call, defined in autograd/: records a node around op.run.
void autograd_invoke(const OpEntry& op, const Value* args, Results& out, Flags flags);
void autograd_invoke_view(const OpEntry& op, const Value* args, Results& out, Flags flags);
void autograd_invoke_inplace(const OpEntry& op, const Value* args, Results& out, Flags flags);
// Forward mode's side: runs the call without tangents, then gives its results theirs. False, and nothing is done, where
// no argument has a tangent.
bool forward_invoke(const OpEntry& op, const Value* args, Results& out);
bool forward_invoke_inplace(const OpEntry& op, const Value* args, Results& out);
// Raises where an argument of an out= call has a tangent.
void forward_refuse_out(const OpEntry& op, const Value* args);

// Makes the out= tensor `to` ready for a result: its type checked, resized (with a warning where it held elements).
void prepare_out(const OpEntry& op, const Tensor& to, Ints sizes, DType dtype);
// Writes `from` into the out= tensor `to`: type and device checked, resized (with a warning where it held elements).
void write_out(const OpEntry& op, const Tensor& to, const Tensor& from);
// Raises unless `t` may be written in place by a result of this shape and type.
void check_inplace_result(const OpEntry& op, const Tensor& t, Ints sizes, DType dtype);

}  // namespace fb
