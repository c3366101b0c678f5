#include "dispatch/symbolic.h"

#include <map>

#include "core/no_fork.h"
#include "dispatch/pointwise_shape.h"
#include "dispatch/thread_state.h"

extern "C" {
extern const fb::SymRecord __start_fb_symbolic[] __attribute__((weak));
extern const fb::SymRecord __stop_fb_symbolic[] __attribute__((weak));
}

namespace fb {

SymTensor SymTensor::empty_strided(SymInts sizes, SymInts strides, Options o) {
  for (const SymInt& s : sizes) FB_CHECK(s >= 0, "size ", s, " in shape ", sizes, " is negative; sizes are at least 0");
  SymTensor t;
  t.impl_ = std::make_shared<SymTensorImpl>();
  t->sizes = SymDims(sizes);
  t->strides = SymDims(strides);
  t->dtype = o.dtype;
  t->device = o.device;
  return t;
}
SymTensor SymTensor::empty_format(SymInts sizes, Options o, MemoryFormat f) {
  if (f != MemoryFormat::channels_last && f != MemoryFormat::channels_last_3d) return empty(sizes, o);
  return empty_strided(sizes, rules_of_shape::channels_last_strides(sizes), o);
}
SymTensor SymTensor::like(const Tensor& t) {
  auto constants = [](Ints l) {
    SymDims d;
    for (int64_t x : l) d.push_back(x);
    return d;
  };
  SymTensor s = empty_strided(constants(t.sizes()), constants(t.strides()), t.options());
  s->offset = t.offset();
  s->conj = t.is_conj();
  s->neg = t.is_neg();
  s->wrapped_number = t->wrapped_number;
  return s;
}
SymTensor SymTensor::alias(SymInts sizes, SymInts strides, SymInt offset) const {
  SymTensor t;
  t.impl_ = std::make_shared<SymTensorImpl>(*impl_);
  t->sizes = SymDims(sizes);
  t->strides = SymDims(strides);
  t->offset = offset;
  return t;
}
bool SymTensor::is_contiguous(MemoryFormat f) const {
  if (f != MemoryFormat::channels_last && f != MemoryFormat::channels_last_3d) return is_contiguous();
  if (ndim() != (f == MemoryFormat::channels_last ? 4 : 5)) return false;
  return rules_of_shape::is_channels_last(sizes(), strides());
}
bool has_internal_overlap(const SymTensor& t) {
  if (t.is_non_overlapping_and_dense()) return false;
  for (int64_t i = 0; i < t.ndim(); ++i)
    if (t.strides()[i] == 0 && t.sizes()[i] > 1) return true;
  return false;
}

namespace {

Dims hints(SymInts s) {
  Dims d;
  for (const SymInt& x : s) d.push_back(x.hint());
  return d;
}
Tensor example_of(const SymTensor& t) {
  if (!t.defined()) return {};
  const Dims sizes = hints(t.sizes()), strides = hints(t.strides());
  const Device meta{DeviceType::meta, -1};
  Tensor e = Tensor::over(Storage::allocate(storage_bytes(sizes, strides, t.offset().hint(), t.item_bytes()), meta), t.dtype(), sizes, strides, t.offset().hint());
  e->conj = t->conj;
  e->neg = t->neg;
  e->wrapped_number = t->wrapped_number;
  return e;
}

using Table = std::map<std::string, SymRun, std::less<>>;
const Table& table() {
  static constinit FirstUse<Table> t;
  return t.get([] {
    Table m;
    for (const SymRecord* r = __start_fb_symbolic; r < __stop_fb_symbolic; ++r) {
      if (!r->schema || !r->run) continue;
      const std::string_view s(r->schema);
      m.emplace(std::string(s.substr(0, s.find('('))), r->run);
    }
    return m;
  });
}
SymRun rule_of(const OpEntry& op) {
  // Other names of a card have its rule.
  const std::string_view s(op.card->schema);
  const auto i = table().find(s.substr(0, s.find('(')));
  return i == table().end() ? nullptr : i->second;
}

SymTensor pointwise_result(const OpEntry& op, const SymValue* args, const Tensor& like) {
  const PointwiseCard& card = *op.card->pointwise;
  const SymTensor* t[kMaxOperands];
  Value plain[16], operands[kMaxOperands];
  for (size_t i = 0; i < op.schema.args.size() && i < 16; ++i) plain[i] = args[i].value;
  int n = 0;
  bool have = false;
  SymDims shape;
  for (uint64_t m = card.operands; m; m &= m - 1) {
    const SymValue& v = args[__builtin_ctzll(m)];
    if (v.value.is_none()) continue;
    operands[n] = v.value;
    t[n] = v.tensors.empty() ? nullptr : &v.tensors[0];
    if (t[n]) {
      shape = have ? broadcast_sizes(shape, t[n]->sizes()) : SymDims(t[n]->sizes());
      have = true;
    }
    ++n;
  }
  const DType compute = compute_type(card, card.promotion(plain), operands, n);
  uint32_t converted = 0;
  for (int i = 0; i < n; ++i)
    if (t[i] && t[i]->dtype() != (card.bool_operands >> i & 1 ? DType::boolean : compute)) converted |= 1u << i;
  return SymTensor::empty_strided(shape, pointwise_strides<SymTensor>(t, n, shape, card.layout, converted), like.options());
}

}  // namespace

SymValue::SymValue(const SymTensor& t) {
  if (!t.defined()) return;
  tensors.push_back(t);
  example.push_back(example_of(t));
  value = Value(example[0]);
}
SymValue::SymValue(std::vector<SymTensor> l) : tensors(std::move(l)) {
  for (const SymTensor& t : tensors) example.push_back(example_of(t));
  value = Value(example);
}
SymValue::SymValue(SymInts s) {
  for (const SymInt& x : s) ints.push_back(x);
  example_ints = hints(s);
  value.tag = Tag::ints;
}
Ints SymValue::specialized() const {
  example_ints.clear();
  for (const SymInt& x : ints) example_ints.push_back(x.specialized());
  return example_ints;
}

Ints SymValue::example_list() const {
  example_ints = hints({ints.data(), int64_t(ints.size())});
  return example_ints;
}

// Writes values into its only tensor, so that no sizes can disagree.
static bool fills(const OpEntry& op) {
  return op.card->kind == CardKind::direct && op.schema.writes && op.schema.tensor_mask == 1 && !op.schema.list_mask;
}

bool has_symbolic_rule(const OpEntry& op) { return op.card->kind == CardKind::pointwise || rule_of(op) || fills(op); }

SymResults symbolic_meta(const OpEntry& op, const SymValue* args) {
  const OpEntry& f = *op.functional;
  const size_t n = f.schema.args.size();
  const SymRun rule = rule_of(op);
  if (!has_symbolic_rule(op))
    raise_not_implemented("symbolic sizes through ", op.schema.full_name(), ": its shape rule is for plain integers only");
  Results plain;
  {
    GradMode no(false);
    std::vector<Value> v;
    for (size_t i = 0; i < n; ++i) v.push_back(args[i].value.tag == Tag::ints ? Value(args[i].example_list()) : args[i].value);
    f.invoke(f, v.data(), plain);
  }
  SymResults out;
  if (rule) rule(args, out);
  else if (fills(op)) out.push_back(args[0].tensors.at(0));
  else out.push_back(pointwise_result(f, args, plain[0]));
  FB_CHECK(int(out.size()) == plain.size(), op.schema.full_name(), ": ", int64_t(out.size()), " symbolic results, ", int64_t(plain.size()), " plain ones");
  for (size_t i = 0; i < out.size(); ++i) {
    const Tensor& p = plain[int(i)];
    if (!p.defined() && !out[i].defined()) continue;
    const Dims sizes = hints(out[i].sizes()), strides = hints(out[i].strides());
    FB_CHECK(p.sizes() == sizes && p.strides() == strides && p.dtype() == out[i].dtype(), op.schema.full_name(), ": result ", int64_t(i),
             " has symbolic sizes ", out[i].sizes(), " and strides ", out[i].strides(), " of type ", out[i].dtype(), "; the example has ",
             p.sizes(), ", ", p.strides(), " and ", p.dtype());
  }
  if (op.form == OpForm::inplace) {
    const SymTensor& self = args[0].tensors[0];
    FB_CHECK(out[0].sizes() == self.sizes(), op.schema.name, ": the result of shape ", out[0].sizes(), " does not fit into self of shape ", self.sizes());
    out[0] = self;
  }
  return out;
}

SymResults symbolic_call(const char* name, std::vector<SymValue> args) {
  Value v[detail::kMaxCallArgs];
  const int n = int(args.size());
  for (int i = 0; i < n; ++i) {
    v[i] = args[size_t(i)].value;
    if (v[i].tag == Tag::ints) v[i] = Value(args[size_t(i)].example_list());
  }
  const OpEntry& op = resolve_op(name, v, n);
  for (size_t i = size_t(n); i < op.schema.args.size(); ++i) args.emplace_back(op.schema.args[i].default_value);
  return symbolic_meta(op, args.data());
}

}  // namespace fb
