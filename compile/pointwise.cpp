// A pointwise call by machine code: the program for one run of elements, and the walk over all of them.
#include <cstring>

#include "compile/kernels.h"
#include "compile/tile/builder.h"
#include "compile/tile_card.h"
#include "compile/walk.h"
#include "core/threads.h"
#include "dispatch/pointwise.h"
#include "dispatch/thread_state.h"

namespace fb::compile {
namespace {

using tile::Elem;
using tile::Id;

constexpr int kLanes = 8;             // elements of a tile
constexpr int64_t kGrain = 1 << 15;   // elements of a block that one thread takes

// How a program reaches an operand: neighbours, one element for all, or steps known only when it runs.
enum class Access : uint8_t { dense, one, strided };

struct Operand {
  Elem stored, computed;
  Access access;
};
struct Shape {                        // what the program depends on
  TilePoint point;
  std::vector<Operand> in;
  Operand out;
  int nattr = 0;
  bool integral = false;              // the numbers are i64, not f64
  const double* raw = nullptr;
};

tile::Program program_of(const std::string& name, const Shape& s) {
  tile::Program p;
  p.name = name;
  tile::Builder b(p);
  struct Reach {
    Id base, step;
  };
  auto reach = [&](const Operand& o, const char* what) {
    const Id base = b.parameter(what, Elem::address);
    const Id step = b.parameter("step", Elem::i64);
    return Reach{base, o.access == Access::strided ? step : b.integer(o.access == Access::dense ? tile::bytes_of(o.stored) : 0)};
  };
  const Id n = b.parameter("n", Elem::i64);
  const Reach out = reach(s.out, "out");
  std::vector<Reach> in;
  for (const Operand& o : s.in) in.push_back(reach(o, "in"));
  std::vector<Id> attrs;
  for (int i = 0; i < s.nattr; ++i) attrs.push_back(b.parameter("number", s.integral ? Elem::i64 : Elem::f64));
  b.loop(b.integer(0), n, b.integer(kLanes), [&](Id i) {
    auto address = [&](const Reach& r) { return b.ramp(b.apply(tile::Op::add, r.base, b.apply(tile::Op::mul, i, r.step)), r.step, kLanes); };
    std::vector<Id> x;
    for (size_t k = 0; k < in.size(); ++k) {
      const Operand& o = s.in[k];
      const Id v = o.access == Access::one ? b.splat(b.load(in[k].base, o.stored), kLanes) : b.load(address(in[k]), o.stored);
      x.push_back(b.convert(v, o.computed));
    }
    const Id y = s.point(x.data(), attrs.data(), s.raw);
    b.store(address(out), b.convert(b.splat(y, kLanes), s.out.stored));
  });
  return p;
}

struct Call {
  const TileCard* card;
  Value operands[kMaxOperands];
  int nin = 0, mode = 0;
  DType compute = DType::none;
};
bool prepare(const OpEntry& op, const Value* args, Call& c, std::string* why) {
  auto no = [&](auto&&... words) {
    if (why) *why = text(words...);
    return false;
  };
  const PointwiseCard& card = *op.card->pointwise;
  c.card = find_tile_card(op.card->schema);
  if (!c.card) return no("its card has no unit");
  for (uint64_t m = card.operands; m; m &= m - 1) {
    const int i = __builtin_ctzll(m);
    if (args[i].tag == Tag::tensor || args[i].is_number()) c.operands[c.nin++] = args[i];
    else if (c.nin && op.schema.args[size_t(i)].optional) c.operands[c.nin++] = c.operands[0];
    else return no("argument ", i, " is absent");
  }
  for (int i = 0; i < c.nin; ++i)
    if (c.operands[i].tag == Tag::tensor && !c.operands[i].tensor().device().is_cpu()) return no("an argument is on ", c.operands[i].tensor().device());
  if (card.mode) c.mode = card.mode(args);
  c.compute = result_type(c.operands, c.nin, card.bool_operands);
  if (c.compute == DType::none) return no("the arguments have no common type");
  if (card.promotion(args).int_to_float && is_integral(c.compute, true)) c.compute = default_dtype;
  if (!c.card->points[c.mode * kTypeSlots + int(c.compute)]) return no("it has no text for type ", c.compute);
  for (int i = 0; i < c.nin; ++i)
    if (c.operands[i].tag == Tag::tensor && tile::elem_of(c.operands[i].tensor().dtype()) == Elem::none)
      return no("an argument is of type ", c.operands[i].tensor().dtype());
  return true;
}

// A number as a tensor of one element, in the compute type.
Tensor number_tensor(const Value& v, DType d) {
  const Tensor t = Tensor::empty({}, {d, DeviceType::cpu});
  const Scalar s = v.scalar();
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, bfloat16, float, double, bool, uint16_t, uint32_t, uint64_t>(
      d, [&]<class T>() { *t.ptr<T>() = s.to<T>(); });
  return t;
}

}  // namespace

bool accepts_pointwise(const OpEntry& op, const Value* args, std::string* why) {
  Call c;
  return prepare(op, args, c, why);
}

void run_pointwise(const OpEntry& op, const Value* args, Results& res) {
  Call c;
  prepare(op, args, c, nullptr);
  const PointwiseCard& card = *op.card->pointwise;
  Results shape;
  shape_of(op, args, shape);    // raises what the card's checks raise
  const Tensor out = Tensor::empty_strided(shape[0].sizes(), shape[0].strides(), {shape[0].dtype(), DeviceType::cpu});
  if (out.numel() == 0) return res.push(out);

  Scalar attrs[8];
  if (card.attributes) card.attributes(args, c.compute, attrs);
  else {
    int n = 0;
    for (uint64_t m = card.attrs; m; m &= m - 1) attrs[n++] = args[__builtin_ctzll(m)].scalar();
  }
  std::vector<Tensor> tensors{out};
  for (int i = 0; i < c.nin; ++i)
    tensors.push_back(c.operands[i].tag == Tag::tensor ? c.operands[i].tensor()
                                                       : number_tensor(c.operands[i], card.bool_operands >> i & 1 ? DType::boolean : c.compute));
  const Walk walk(out.sizes(), tensors);

  Shape s;
  s.point = c.card->points[c.mode * kTypeSlots + int(c.compute)];
  s.integral = is_integral(c.compute, true);
  double raw[8];
  std::string key = op.schema.full_name();
  key += ' ';
  key += dtype_name(c.compute);
  key += char('0' + c.mode);
  if (c.card->raw_attributes) {
    for (int i = 0; i < card.nattr; ++i) {
      raw[i] = attrs[i].to_double();
      key.append(reinterpret_cast<const char*>(&raw[i]), 8);
    }
    s.raw = raw;
  } else s.nattr = card.nattr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Elem stored = tile::elem_of(tensors[i].dtype());
    const int64_t step = walk.operands[i].strides[0];
    const bool mask = i > 0 && (card.bool_operands >> (i - 1) & 1);
    Operand o{stored, mask ? Elem::b1 : tile::elem_of(compute_type(c.compute)),
              step == tile::bytes_of(stored) ? Access::dense : step == 0 && i > 0 ? Access::one : Access::strided};
    key += char('a' + int(stored));
    key += char('0' + int(o.access));
    if (i == 0) s.out = o;
    else s.in.push_back(o);
  }
  const Entry entry = kernel(key, [&] { return program_of(op.schema.full_name(), s); });

  std::vector<int64_t> words(1 + 2 * tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) words[2 + 2 * i] = walk.operands[i].strides[0];
  for (int i = 0; i < s.nattr; ++i) {
    if (s.integral) words.push_back(attrs[i].to<int64_t>());
    else {
      const double v = attrs[i].to_double();
      words.push_back(0);
      std::memcpy(&words.back(), &v, 8);
    }
  }
  int32_t errors = 0;
  auto range = [&](int64_t lo, int64_t hi) {
    std::vector<int64_t> w = words;
    int32_t seen = 0;
    walk.rows(lo, hi, [&](char* const* p, int64_t n) {
      const int64_t whole = n / kLanes * kLanes;
      if (whole) {
        w[0] = whole;
        for (size_t i = 0; i < tensors.size(); ++i) w[1 + 2 * i] = reinterpret_cast<int64_t>(p[i]);
        seen |= entry(w.data());
      }
      if (whole == n) return;
      // The last elements pass through tiles of their own; the lanes past the end hold the first of them.
      alignas(64) char staged[kMaxOperands + 1][kLanes * 8];
      w[0] = kLanes;
      for (size_t i = 0; i < tensors.size(); ++i) {
        const int64_t step = words[2 + 2 * i], item = tensors[i].item_bytes();
        const char* from = p[i] + whole * step;
        w[1 + 2 * i] = reinterpret_cast<int64_t>(staged[i]);
        w[2 + 2 * i] = item;
        if (i > 0)
          for (int64_t l = 0; l < kLanes; ++l) std::memcpy(staged[i] + l * item, from + (whole + l < n ? l : 0) * step, size_t(item));
      }
      seen |= entry(w.data());
      const int64_t step = words[2], item = out.item_bytes();
      for (int64_t l = 0; whole + l < n; ++l) std::memcpy(p[0] + (whole + l) * step, staged[0] + l * item, size_t(item));
      for (size_t i = 0; i < tensors.size(); ++i) w[2 + 2 * i] = words[2 + 2 * i];
    });
    if (seen) __atomic_fetch_or(&errors, seen, __ATOMIC_RELAXED);
  };
  parallel_for(0, walk.numel, kGrain, range);
  raise_errors(errors);
  res.push(out);
}

}  // namespace fb::compile
