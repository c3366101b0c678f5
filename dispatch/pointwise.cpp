// The geometry of a pointwise call: promotion, broadcasting, the output's strides, coalescing.
#include "dispatch/pointwise.h"

#include <algorithm>
#include <cstring>

#include "dispatch/call.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "dispatch/pointwise_shape.h"
#include "dispatch/thread_state.h"
#include "ops/math/constant_type.h"
#include "ops/math/fits.h"

namespace fb {
namespace {

bool is_operand(const Value& v) { return v.tag == Tag::tensor || v.is_number(); }

DType number_type(const Value& v) {
  switch (v.tag) {
    case Tag::floating: return default_dtype;
    case Tag::complex: return default_complex_dtype();
    case Tag::boolean: return DType::boolean;
    default: return DType::i64;
  }
}

// The higher-ranking group wins unless the lower holds a higher kind of number.
DType combine(DType high, DType low) {
  if (high == DType::none) return low;
  if (low == DType::none || is_complex(high)) return high;
  if (is_floating(high)) return is_complex(low) ? to_complex(high) : high;
  if (high == DType::boolean || is_floating(low) || is_complex(low)) return promote(high, low);
  return high;
}

DType join(DType a, DType b, bool& failed) {
  if (a == DType::none) return b;
  if (b == DType::none) return a;
  const DType r = promote(a, b);
  failed |= r == DType::none;
  return r;
}

}  // namespace

DType result_type(const Value* v, int n, uint32_t skip) {
  // The usual call: tensors of one type, or one with numbers that cannot raise it.
  if (skip == 0 && n > 0 && v[0].tag == Tag::tensor && !v[0].t->wrapped_number) {
    const DType d = v[0].t->dtype;
    const bool above_numbers = is_floating(d);
    bool same = true;
    for (int i = 1; i < n && same; ++i)
      same = v[i].tag == Tag::tensor ? v[i].t->dtype == d && !v[i].t->wrapped_number
                                     : above_numbers && v[i].is_number() && v[i].tag != Tag::complex;
    if (same) return d;
  }
  DType dims = DType::none, zero = DType::none, number = DType::none;
  bool failed = false;
  for (int i = 0; i < n; ++i) {
    if (skip >> i & 1) continue;
    if (v[i].tag == Tag::tensor) {
      const TensorImpl* t = v[i].t;
      if (t->wrapped_number) {
        const DType d = is_complex(t->dtype) ? default_complex_dtype() : is_floating(t->dtype) ? default_dtype : t->dtype;
        number = join(number, d, failed);
      } else if (t->sizes.empty()) zero = join(zero, t->dtype, failed);
      else dims = join(dims, t->dtype, failed);
    } else if (v[i].is_number()) number = join(number, number_type(v[i]), failed);
  }
  if (failed) return DType::none;
  return combine(dims, combine(zero, number));
}

static inline DType type_to_compute_in(const PointwiseCard& card, const Promotion& promotion, const Value* operands, int n) {
  const DType common = result_type(operands, n, card.bool_operands);
  return promotion.int_to_float && common != DType::none && is_integral(common, true) ? default_dtype : common;
}
DType compute_type(const PointwiseCard& card, const Promotion& promotion, const Value* operands, int n) {
  return type_to_compute_in(card, promotion, operands, n);
}

namespace {

[[noreturn]] void raise_no_common_type(const char* name, const Value* v, int n) {
  std::string s;
  for (int i = 0; i < n; ++i)
    if (is_operand(v[i])) s += text(s.empty() ? "" : ", ", v[i].tag == Tag::tensor ? v[i].t->dtype : number_type(v[i]));
  raise_runtime(name, ": the types ", s, " have no common type; convert one of them first");
}

void put_number(char (&to)[16], const Value& v, DType d) {
  const Scalar s = v.scalar();
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, float, double, cfloat, cdouble, bool, bfloat16,
              uint16_t, uint32_t, uint64_t, float8_e5m2, float8_e4m3fn>(d, [&]<class T>() {
    const T x = s.to<T>();
    std::memcpy(to, &x, sizeof x);
  });
}

// Strides of a fresh output. Not in line: a call of few elements that lie in a row should not carry its stack frame.
[[gnu::noinline]] Dims output_strides(const Value* v, int n, uint32_t bool_operands, DType compute, ResultLayout layout, const Dims& shape) {
  const Tensor* t[PointwiseLoop::kMax];
  uint32_t converted = 0;
  for (int i = 0; i < n; ++i) {
    t[i] = v[i].tag == Tag::tensor ? &v[i].tensor() : nullptr;
    if (t[i] && t[i]->dtype() != (bool_operands >> i & 1 ? DType::boolean : compute)) converted |= 1u << i;
  }
  return pointwise_strides<Tensor>(t, n, shape, layout, converted);
}

// Whether the strides of a contiguous tensor are the ones that row-major order gives: a size of 1 allows others.
[[gnu::noinline]] bool ones_are_plain(const TensorImpl* t) {
  return t->numel != 0 && t->strides == contiguous_strides(t->sizes);
}
inline bool plain_strides(const TensorImpl* t) {
  for (int64_t s : t->sizes)
    if (s <= 1) [[unlikely]] return ones_are_plain(t);
  return true;
}

// Orders the dimensions of a loop fastest first by the output's strides, and joins those that are one run in every operand.
void finish_loop(PointwiseLoop& L) {
  const int nd = L.ndim;
  SmallVec<int64_t, 8> perm(nd);
  for (int i = 0; i < nd; ++i) perm[i] = nd - 1 - i;
  auto key = [&](int64_t d) {
    for (int i = 0; i <= L.nin; ++i)
      if (L.op[i].strides[d] != 0) return L.op[i].strides[d];
    return int64_t(0);
  };
  for (int64_t i = 1; i < nd; ++i)
    for (int64_t j = i; j > 0 && key(perm[j]) && key(perm[j - 1]) > key(perm[j]); --j) std::swap(perm[j], perm[j - 1]);
  Dims shape;
  Dims st[PointwiseLoop::kMax];
  for (int k = 0; k < nd; ++k) {
    const int64_t d = perm[k], size = L.shape[d];
    if (size == 1) continue;
    bool join = !shape.empty();
    for (int i = 0; i <= L.nin && join; ++i)
      join = L.op[i].strides[d] == st[i].back() * shape.back();
    if (join) {
      shape.back() *= size;
      continue;
    }
    shape.push_back(size);
    for (int i = 0; i <= L.nin; ++i) st[i].push_back(L.op[i].strides[d]);
  }
  if (shape.empty()) {
    shape.push_back(1);
    for (int i = 0; i <= L.nin; ++i) st[i].push_back(0);
  }
  L.shape = shape;
  L.ndim = int(shape.size());
  for (int i = 0; i <= L.nin; ++i) L.op[i].strides = std::move(st[i]);
}

void check_written(const char* name, const Tensor& out, const Value* v, int n) {
  FB_CHECK(!has_internal_overlap(out), name, ": the tensor to be written, of shape ", out.sizes(), " and strides ", out.strides(),
           ", has elements that share memory; clone() it first");
  for (int i = 0; i < n; ++i) {
    if (v[i].tag != Tag::tensor) continue;
    const Tensor& t = v[i].tensor();
    if (t.is(out) || !may_overlap(t, out)) continue;
    if (t.data() == out.data() && t.sizes() == out.sizes() && t.strides() == out.strides() && t.dtype() == out.dtype()) continue;
    // Interleaved views of one storage (columns of a matrix) touch the same span but may share no element; equal
    // strides with offsets that differ by less than the innermost step are the common case.
    if (!t.is_non_overlapping_and_dense() || !out.is_non_overlapping_and_dense()) continue;
    raise_runtime(name, ": an argument of shape ", t.sizes(), " and the tensor to be written, of shape ", out.sizes(),
                  ", partly share memory; clone() one of them first");
  }
}

Device device_of(const char* name, const Value* v, int n) {
  Device d;
  const TensorImpl* first = nullptr;
  for (int i = 0; i < n; ++i) {
    if (v[i].tag != Tag::tensor || v[i].t->wrapped_number) continue;
    const TensorImpl* t = v[i].t;
    if (!first || (first->sizes.empty() && !t->sizes.empty())) {
      first = t;
      d = t->device;
    } else if (!(t->device == d) && !t->sizes.empty())
      raise_runtime(name, ": tensors on different devices, ", d, " (shape ", first->sizes, ") and ", t->device, " (shape ",
                    t->sizes, ")");
  }
  return d;
}

}  // namespace

constexpr int64_t kSmall = 16;  // elements of a call that goes to the body at once

Tensor run_pointwise_body(const char* name, PointwiseRun run, PointwiseBody body, const Value* v, int nin,
                          uint32_t bool_operands, ResultLayout layout, DType compute, DType result, const Scalar* attrs, const Tensor* given) {
  if (!given && bool_operands == 0 && layout != ResultLayout::as_first) {  // few elements of one shape and type, all in a row: nothing to lay out
    char* in[PointwiseLoop::kMax];
    const TensorImpl* x = v[0].tag == Tag::tensor ? v[0].t : nullptr;
    bool plain = x && x->contiguous && x->dtype == compute && x->device.is_cpu() && x->numel <= kSmall && x->numel > 0 && !x->wrapped_number;
    for (int i = 0; i < nin && plain; ++i) {
      const TensorImpl* t = v[i].t;
      plain = v[i].tag == Tag::tensor && (t == x || (t->contiguous && t->dtype == compute && t->device.is_cpu() && t->sizes == x->sizes));
      if (plain) in[i] = static_cast<char*>(v[i].tensor().data());
    }
    if (plain) {
      Tensor out = Tensor::empty(x->sizes, {result, x->device});
      body(static_cast<char*>(out.data()), in, x->numel, attrs, false);
      return out;
    }
  }
  const TensorImpl* first = nullptr;
  const Dims* shape = nullptr;
  Dims joined;
  bool linear = true, number = false;
  for (int i = 0; i < nin; ++i) {
    if (v[i].tag != Tag::tensor) {
      number = true;
      continue;
    }
    const TensorImpl* t = v[i].t;
    const DType want = bool_operands >> i & 1 ? DType::boolean : compute;
    linear = linear && t->contiguous && t->dtype == want;
    if (!first) {
      shape = &t->sizes;
      first = t;
    } else if (!(t->sizes == *shape)) {
      linear = false;
      if (!(is_expandable_to(t->sizes, *shape))) {
        const int64_t n = shape->size() > t->sizes.size() ? shape->size() : t->sizes.size();
        for (int64_t d = 1; d <= n; ++d) {
          const int64_t a = d <= shape->size() ? (*shape)[shape->size() - d] : 1, b = d <= t->sizes.size() ? t->sizes[t->sizes.size() - d] : 1;
          FB_CHECK(a == b || a == 1 || b == 1, name, ": shapes ", first->sizes, " and ", t->sizes, " do not broadcast: sizes ", a,
                   " and ", b, " meet at dimension ", n - d);
        }
        joined = broadcast_sizes(*shape, t->sizes);
        shape = &joined;
      }
    }
  }
  if (!shape) shape = &joined;
  Tensor out;
  if (given) {
    out = *given;
    check_written(name, out, v, nin);
    linear = linear && out.is_contiguous() && out.dtype() == result && out.sizes() == shape->span();
  } else {
    const Options options{result, device_of(name, v, nin)};
    bool plain = linear;
    if (layout == ResultLayout::as_first || (number && layout == ResultLayout::of_operands))  // sizes of 1 may have any strides
      for (int i = 0; i < nin && plain; ++i) plain = v[i].tag != Tag::tensor || plain_strides(v[i].t);
    if (plain) [[likely]] out = Tensor::empty(*shape, options);
    else out = Tensor::empty_strided(*shape, output_strides(v, nin, bool_operands, compute, layout, *shape), options);
  }
  if (out.is_meta() || out.numel() == 0) return out;
  if (linear && out.numel() <= kSmall && out.device().is_cpu()) {  // no loop to lay out
    alignas(32) char numbers[PointwiseLoop::kMax][kSmall * 16];
    char* in[PointwiseLoop::kMax];
    bool on_cpu = true;
    for (int i = 0; i < nin; ++i) {
      if (v[i].tag == Tag::tensor) {
        on_cpu = on_cpu && v[i].t->device.is_cpu();
        in[i] = static_cast<char*>(v[i].tensor().data());
        continue;
      }
      char x[16];
      const DType d = bool_operands >> i & 1 ? DType::boolean : compute;
      put_number(x, v[i], d);
      in[i] = numbers[i];
      for (int64_t k = 0, item = item_size(d); k < out.numel(); ++k) std::memcpy(numbers[i] + k * item, x, size_t(item));
    }
    if (on_cpu) {
      body(static_cast<char*>(out.data()), in, out.numel(), attrs, false);
      return out;
    }
  }
  PointwiseLoop L;
  L.nin = nin;
  L.numel = out.numel();
  L.body = body;
  L.attrs = attrs;
  L.op[0].data = static_cast<char*>(out.data());
  L.op[0].stored = out.dtype();
  L.op[0].computed = result;
  for (int i = 0; i < nin; ++i) {
    auto& o = L.op[i + 1];
    o.computed = bool_operands >> i & 1 ? DType::boolean : compute;
    if (v[i].tag == Tag::tensor) {
      FB_CHECK(v[i].t->device.is_cpu(), name, ": argument ", i, " is on ", v[i].t->device, ", the result on cpu");
      o.data = static_cast<char*>(v[i].tensor().data());
      o.stored = v[i].t->dtype;
    } else {
      put_number(o.number, v[i], o.computed);
      o.data = o.number;
      o.stored = o.computed;
    }
  }
  if (linear) {
    L.ndim = 1;
    L.shape.push_back(L.numel);
    L.op[0].strides.push_back(item_size(result));
    for (int i = 0; i < nin; ++i) L.op[i + 1].strides.push_back(v[i].tag == Tag::tensor ? item_size(L.op[i + 1].stored) : 0);
  } else {
    const int nd = int(out.ndim());
    L.ndim = nd;
    L.shape = Dims(out.sizes());
    for (int d = 0; d < nd; ++d) L.op[0].strides.push_back(out.strides()[d] * out.item_bytes());
    for (int i = 0; i < nin; ++i) {
      auto& o = L.op[i + 1];
      o.strides.resize(nd, 0);
      if (v[i].tag != Tag::tensor) continue;
      const TensorImpl* t = v[i].t;
      const int64_t pad = nd - t->sizes.size();
      for (int64_t d = 0; d < t->sizes.size(); ++d)
        if (t->sizes[d] != 1) o.strides[pad + d] = t->strides[d] * item_size(t->dtype);
    }
    finish_loop(L);
  }
  run(L);
  return out;
}

namespace {

// The operands and numbers of a call. Nothing is set that the card does not have.
struct Prepared {
  const Value* operands;
  int nin = 0, mode = 0;
  union {
    Value gathered[kMaxOperands];
  };
  union {
    Scalar attrs[8];
  };
  Prepared() {}
};

// Numbers must fit the type that they meet the elements in, unless the card takes them otherwise. Cards see to integers.
void fill_attributes(const char* name, const PointwiseCard& c, const Value* args, DType compute, Scalar* to) {
  if (c.attributes) return c.attributes(args, compute, to);
  int n = 0;
  for (uint64_t m = c.attrs; m; m &= m - 1) {
    const Value& v = args[__builtin_ctzll(m)];
    const bool small = v.tag == Tag::floating ? v.d > -3e38 && v.d < 3e38 : v.tag != Tag::complex;
    if (!small && !is_integral(compute, true)) cards::check_fits(name, v.scalar(), cards::number_type_of(compute));
    to[n++] = v.scalar();
  }
}

void prepare(const OpEntry& op, const Value* args, Prepared& p) {
  const PointwiseCard& c = *op.card->pointwise;
  p.operands = p.gathered;
  for (uint64_t m = c.operands; m; m &= m - 1) {
    const int i = __builtin_ctzll(m);
    if (is_operand(args[i])) p.gathered[p.nin++] = args[i];
    // An operand that may be absent is not read then (the mode says so): the first stands in its place.
    else if (p.nin && op.schema.args[size_t(i)].optional) {
      p.gathered[p.nin] = p.gathered[0];
      ++p.nin;
    } else raise_type(op.schema.name, ": argument '", op.schema.args[size_t(i)].name, "' must be a Tensor, None was given");
  }
  if (c.mode) p.mode = c.mode(args);
}

const KernelRecord& pointwise_kernel(const OpEntry& op) {
  if (op.cpu.empty()) raise_not_implemented("operator ", op.schema.full_name(), " has no loops for cpu");
  return *op.cpu[0];
}

}  // namespace

// A call with out=, whose operands are read through copies where they have bits.
static bool run_out_of_plain(const OpEntry& op, const Value* args, Results& res) {
  const size_t n = op.functional->schema.args.size();
  auto has_bits = [](const Value& v) { return v.tag == Tag::tensor && (v.t->flags & (kConj | kNeg)); };
  if (n >= 16 || std::none_of(args, args + n, has_bits)) return false;
  Value v[16];
  Tensor keep[16];
  for (size_t i = 0; i < n; ++i) v[i] = has_bits(args[i]) ? Value(keep[i] = op_list<"clone">(args[i].tensor())[0]) : args[i];
  v[n] = args[n];
  run_pointwise(op, v, res);
  return true;
}

void run_pointwise(const OpEntry& op, const Value* args, Results& res) {
  if (op.form == OpForm::out && run_out_of_plain(op, args, res)) return;
  const PointwiseCard& c = *op.card->pointwise;
  Prepared p;
  prepare(op, args, p);
  const Promotion pr = c.promotion(args);
  const DType common = type_to_compute_in(c, pr, p.operands, p.nin);
  if (common == DType::none) raise_no_common_type(op.schema.name.c_str(), p.operands, p.nin);
  if (c.check) c.check(args, common);
  // A bare complex number among the attributes (alpha, value) makes the operation complex in PyTorch only through operands.
  const DType result = pr.result == ResultType::boolean ? DType::boolean : pr.result == ResultType::real ? to_real(common) : common;
  const KernelRecord& k = pointwise_kernel(op);
  const auto& table = *static_cast<const PointwiseTable*>(k.table);
  const PointwiseBody body = (c.types & types::bit(common)) ? table.forward[p.mode * kTypeSlots + int(common)] : nullptr;
  if (!body)
    raise_not_implemented("operator ", op.schema.name, " is not implemented for type ", common);
  fill_attributes(op.schema.name.c_str(), c, args, common, p.attrs);
  const PointwiseRun run = k.loop;
  if (op.form == OpForm::functional) {
    res.push(run_pointwise_body(op.schema.name.c_str(), run, body, p.operands, p.nin, c.bool_operands, c.layout, common, result, p.attrs, nullptr));
    return;
  }
  const Tensor out = op.form == OpForm::inplace ? args[0].tensor() : args[op.functional->schema.args.size()].tensor();
  Dims shape;
  for (int i = 0; i < p.nin; ++i)
    if (p.operands[i].tag == Tag::tensor) shape = broadcast_sizes(shape, p.operands[i].t->sizes);
  if (op.form == OpForm::inplace) {
    FB_CHECK(pr.result != ResultType::real || !is_complex(common), op.schema.name, ": the result is real, self is ", out.dtype(),
             "; it cannot be written in place");
    check_inplace_result(op, out, shape, result);
  } else {
    const bool own_type = p.nin == 1 && !pr.int_to_float && (pr.result == ResultType::same || (pr.result == ResultType::real && !is_complex(common)));
    const bool exact = op.card->forms & form::out_exact || (own_type && !(op.card->forms & form::out_converts));
    FB_CHECK(!exact || out.dtype() == result, op.schema.name, ": out is of type ", out.dtype(), ", the result of type ", result, "; it is not converted");
    const bool laid_out = !(out.sizes() == shape.span());  // as a fresh result would be
    Dims strides;
    if (laid_out) {
      const ResultLayout layout = c.layout == ResultLayout::as_first ? ResultLayout::of_tensors : c.layout;
      strides = output_strides(p.operands, p.nin, c.bool_operands, common, layout, shape);
    }
    prepare_out(op, out, shape, result);
    if (laid_out && !(out.strides() == strides.span())) op_list<"as_strided_">(out, shape, strides, out.offset());
  }
  if ((op.card->forms & form::out_repeated) && has_internal_overlap(out)) {
    write_repeated(op, args, out, run_pointwise_body(op.schema.name.c_str(), run, body, p.operands, p.nin, c.bool_operands, c.layout, common, result, p.attrs, nullptr));
  } else if (out->flags & (kConj | kNeg)) {  // write through a plain tensor; copy_ knows the bits
    const Tensor plain = run_pointwise_body(op.schema.name.c_str(), run, body, p.operands, p.nin, c.bool_operands, c.layout, common, result, p.attrs, nullptr);
    op_list<"copy_">(out, plain);
  } else {
    run_pointwise_body(op.schema.name.c_str(), run, body, p.operands, p.nin, c.bool_operands, c.layout, common, result, p.attrs, &out);
  }
  res.push(out);
}

// The operator that stands for a derivative ("tanh_backward"), as a layer should see it; undefined where there is none.
// Its arguments are those of the forward call by name, after the gradient.
static Tensor through_backward_operator(const OpEntry& op, const Tensor& g, const Tensor* operands, const Tensor& result, const Value* args) {
  const Schema& s = op.functional->schema;
  const bool relu = s.name == "relu";  // a threshold at 0, of which the result tells as much as the argument
  const OpEntry* b = find_op(relu ? "threshold_backward" : s.name + "_backward");
  if (!b || !g.is_floating() || b->schema.args.size() > 8) return {};
  Value v[8];
  v[0] = Value(g);
  for (size_t i = 1; i < b->schema.args.size(); ++i) {
    const std::string& name = b->schema.args[i].name;
    const int at = s.find(name);
    if (name == "output" || (relu && name == "self")) v[i] = Value(result);
    else if (name == "self") v[i] = Value(operands[0]);
    else if (relu && name == "threshold") v[i] = Value(0);
    else if (at >= 0) v[i] = args[at];
    else return {};
    if (b->schema.args[i].type == ArgType::tensor && v[i].tag != Tag::tensor) return {};
  }
  Results r;
  b->invoke(*b, v, r);
  return r[0];
}

Tensor run_pointwise_grad(const OpEntry& op, int i, const Tensor& g, const Tensor* operands, const Tensor& result, const Value* args) {
  const PointwiseCard& c = *op.card->pointwise;
  const PointwiseGrad& gi = c.grads[i];
  Value attrs[8];
  Scalar scalars[8];
  int nattr = 0;
  for (uint64_t m = c.attrs; m; m &= m - 1) attrs[nattr++] = args[__builtin_ctzll(m)];
  int mode = 0;
  if (c.mode) {  // tensors are not among the arguments kept, but the mode may depend on which were given
    Value given[16];
    int k = 0;
    for (size_t a = 0; a < op.functional->schema.args.size() && a < 16; ++a) {
      given[a] = args[a];
      if (!(c.operands >> a & 1)) continue;
      if (given[a].is_none() && operands[k].defined()) given[a] = Value(operands[k]);
      ++k;
    }
    mode = c.mode(given);
  }
  bool again = tls.grad_enabled && (g->flags & (kRequiresGrad | kTrackedView));
  if (tls.grad_enabled) {
    for (int k = 0; k < c.nin; ++k) again |= (gi.saves_in >> k & 1) && operands[k].defined() && (operands[k]->flags & (kRequiresGrad | kTrackedView));
    again |= gi.saves_out && result.defined() && (result->flags & (kRequiresGrad | kTrackedView));
  }
  if (carries_tangents()) {  // tangents pass through cards only
    again |= (g->flags & (kDual | kTrackedView)) != 0;
    for (int k = 0; k < c.nin; ++k) again |= (gi.saves_in >> k & 1) && operands[k].defined() && (operands[k]->flags & (kDual | kTrackedView));
    again |= gi.saves_out && result.defined() && (result->flags & (kDual | kTrackedView));
  }
  Flags layers = Flags(tls.layers | g->flags);  // layers see calls of cards only
  for (int k = 0; k < c.nin; ++k)
    if ((gi.saves_in >> k & 1) && operands[k].defined()) layers |= operands[k]->flags;
  if (gi.saves_out && result.defined()) layers |= result->flags;
  if ((layers & kLayered) && !again && i == 0)
    if (Tensor r = through_backward_operator(op, g, operands, result, args); r.defined()) return r;
  again |= (layers & kLayered) != 0;
  Value v[kMaxOperands + 2];
  int n = 0;
  v[n++] = Value(g);
  bool plain = true;
  uint32_t masks = 0;
  for (int k = 0; k < c.nin; ++k)
    if (gi.saves_in >> k & 1) {
      const Tensor& x = operands[k].defined() ? operands[k] : g;  // an absent operand is not read
      if (c.bool_operands >> k & 1) masks |= 1u << n;
      v[n++] = Value(x);
      plain = plain && !(x->flags & (kConj | kNeg)) && x.device().is_cpu();
    }
  if (gi.saves_out) {
    v[n++] = Value(result);
    plain = plain && !(result->flags & (kConj | kNeg));
  }
  plain = plain && !(g->flags & (kConj | kNeg)) && g.device().is_cpu();
  if (!again && plain) {
    const DType common = result_type(v, n, masks);
    const auto& table = *static_cast<const PointwiseTable*>(op.functional->cpu[0]->table);
    if (table.grads && common != DType::none)
      if (const PointwiseBody body = table.grads[(i * c.modes + mode) * kTypeSlots + int(common)]) {
        fill_attributes(op.schema.name.c_str(), c, args, common, scalars);
        return run_pointwise_body(op.schema.name.c_str(), op.functional->cpu[0]->loop, body, v, n, masks,
                                  c.grad_layout, common, common, scalars, nullptr);
      }
  }
  // As the loops compute it: in the common type, half types in float, rounded once.
  const DType common = result_type(v, n, masks);
  const bool half_type = common == DType::f16 || common == DType::bf16;
  const ConstantType computed(half_type ? DType::f32 : common);
  Tensor with[kMaxOperands];
  if (!half_type) {  // a product of two narrow operands would be rounded to their type
    for (int k = 0; k < c.nin; ++k) {
      const bool converted = (gi.saves_in >> k & 1) && operands[k].defined() && operands[k].dtype() != common && common != DType::none;
      with[k] = converted && !(c.bool_operands >> k & 1) ? fb::op<"to">(operands[k], common) : operands[k];
    }
    return gi.over_tensors(g, with, result, attrs, mode);
  }
  auto wide = [](const Tensor& t) { return t.defined() && t.dtype() != DType::boolean ? fb::op<"to">(t, DType::f32) : t; };
  for (int k = 0; k < c.nin; ++k) with[k] = (gi.saves_in >> k & 1) ? wide(operands[k]) : operands[k];
  return fb::op<"to">(gi.over_tensors(wide(g), with, gi.saves_out ? wide(result) : result, attrs, mode), common);
}

}  // namespace fb
