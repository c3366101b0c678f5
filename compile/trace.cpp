#include "compile/trace.h"

#include <cstring>

#include "compile/fills.h"
#include "core/error.h"
#include "core/fresh_tensors.h"
#include "dispatch/library.h"
#include "dispatch/thread_state.h"

namespace fb::compile {
namespace {
constexpr int64_t kMostHeld = 1 << 22;   // elements of a constant that a graph may hold for good
}

Value Graph::keep(const Value& v) {
  auto copied = [&](const void* p, size_t bytes) {
    memory_.emplace_back(new char[bytes + 1]);
    std::memcpy(memory_.back().get(), p, bytes);
    return memory_.back().get();
  };
  Value r = v;
  switch (v.tag) {
    case Tag::ints: r.ints = reinterpret_cast<const int64_t*>(copied(v.ints, v.len * sizeof(int64_t))); break;
    case Tag::doubles: r.doubles = reinterpret_cast<const double*>(copied(v.doubles, v.len * sizeof(double))); break;
    case Tag::bools: r.bools = reinterpret_cast<const bool*>(copied(v.bools, v.len * sizeof(bool))); break;
    case Tag::scalars: r.scalars = reinterpret_cast<const Scalar*>(copied(v.scalars, v.len * sizeof(Scalar))); break;
    case Tag::string: r.str = copied(v.str, v.len); break;
    default: break;
  }
  return r;
}

GraphTrace::~GraphTrace() { end(); }

void GraphTrace::begin() {
  before_ = tracer;
  flags_before_ = fresh_tensor_flags;
  tracer = this;
  layers_before_ = tls.layers;
  fresh_tensor_flags |= kTraced;
  tls.layers |= kTraced;
  open_ = true;
}
void GraphTrace::end() {
  if (!open_) return;
  tracer = before_;
  fresh_tensor_flags = flags_before_;
  tls.layers = layers_before_;
  open_ = false;
}

Tensor GraphTrace::twin(const Tensor& t) {
  Tensor r = Tensor::empty_strided(t.sizes(), t.strides(), {t.dtype(), DeviceType::meta});
  r->flags = (t->flags & (kConj | kNeg | kWrappedNumber)) | kTraced;
  keep_.push_back(r);
  return r;
}
Tensor GraphTrace::input(const Tensor& t) {
  const Tensor r = twin(t);
  device_ = known_.empty() || device_ == t.device() ? t.device() : Device(DeviceType::meta);
  known_[r.impl()] = {graph_.input(), 0};
  return r;
}
Graph::Ref GraphTrace::ref_of(const Tensor& t) {
  if (!t.defined()) return {};
  const auto at = known_.find(t.impl());
  if (at != known_.end()) return at->second;
  if (t.is_meta() && (t->flags & kTraced)) return fresh_ref(t);
  keep_.push_back(t);
  const Graph::Ref r{graph_.constant(t), 0};
  known_[t.impl()] = r;
  return r;
}
// A tensor that the code of a composite made itself: memory that holds anything. Of the device of the inputs.
Graph::Ref GraphTrace::fresh_ref(const Tensor& t) {
  if (!seen_once(t) || device_ == Device(DeviceType::meta)) raise_not_implemented("a tensor that was made during the trace by other means than operators cannot be followed");
  static const OpEntry& make = *find_op("empty_strided");
  std::vector<Graph::Argument> as(make.schema.args.size());
  const Value values[] = {Value(t.sizes()), Value(t.strides()), Value(t.dtype()), Value(), Value(device_)};
  for (size_t i = 0; i < as.size(); ++i) as[i].value = graph_.keep(i < std::size(values) ? values[i] : make.schema.args[i].default_value);
  keep_.push_back(t);
  const Graph::Ref r{graph_.call(make, std::move(as)), 0};
  known_[t.impl()] = r;
  return r;
}
// What stands for an argument when shape rules run.
Tensor GraphTrace::twin_argument(const Tensor& t) {
  if (!t.defined() || (t.is_meta() && (t->flags & kTraced))) return t;
  Tensor& r = twins_[t.impl()];
  if (!r.defined()) r = twin(t);
  return r;
}

bool GraphTrace::seen_once(const Tensor& t) const {
  for (const auto& [impl, ref] : known_)
    if (impl != t.impl() && impl->storage.get() == t->storage.get()) return false;
  return true;
}
bool GraphTrace::is_fresh(const Tensor& t) const {
  const auto at = known_.find(t.impl());
  if (at == known_.end()) return t.is_meta() && (t->flags & kTraced);
  return graph_.nodes[size_t(at->second.node)].op && makes_fresh_memory(*graph_.nodes[size_t(at->second.node)].op);
}

// Whether a call fills memory of the CPU that the code has just made, and that nothing else looks at, with a number.
bool GraphTrace::fills_constant(const OpEntry& op, const Value* args) const {
  if (op.form != OpForm::functional || !op.schema.writes || args[0].tag != Tag::tensor) return false;
  const Tensor& t = args[0].tensor();
  if (!t.device().is_cpu() || !(t->flags & kTraced) || known_.contains(t.impl()) || t->storage.use_count() != 1) return false;
  if (t.numel() > kMostHeld) return false;
  for (size_t i = 1; i < op.schema.args.size(); ++i)
    if (args[i].tag == Tag::tensor || args[i].tag == Tag::tensors || op.schema.args[i].type == ArgType::generator) return false;
  return true;
}

void GraphTrace::call(const OpEntry& given, const Value* args, Results& out) {
  // A lowering is followed into what it is made of, where that is operators alone.
  if (given.card && given.card->body && given.card->kind != CardKind::composite && given.form == OpForm::functional && !library_replaces(given)) {
    if (given.card->kind == CardKind::direct && given.card->meta) {   // raises what the kernel's caller would be told
      given.card->meta(given, args, out);
      out.clear();
    }
    const size_t nodes = graph_.nodes.size();
    try {
      given.card->body(given, args, out);
      bool known = out.size() > 0;
      for (int i = 0; i < out.size(); ++i) known = known && (!out[i].defined() || known_.contains(out[i].impl()));
      if (known) return;
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::not_implemented) throw;
    }
    graph_.nodes.resize(nodes);
    std::erase_if(known_, [&](const auto& k) { return k.second.node >= int32_t(nodes); });
    out.clear();
  }
  const OpEntry* op = &given;
  Tensor self;
  if (given.form == OpForm::inplace) {
    // A write to a tensor that nothing else looks at is a new value by its name.
    self = args[0].tensor();
    const auto at = known_.find(self.impl());
    const bool alone = at != known_.end() && graph_.nodes[size_t(at->second.node)].op && given.functional && given.card->kind != CardKind::view &&
                       seen_once(self);
    if (!alone) raise_not_implemented("a trace meets ", given.schema.name, ", which writes to an input or to a tensor that is seen in several ways");
    op = given.functional;
  } else if (fills_constant(given, args)) {   // of numbers: it has the same elements in every call
    Tracer* const mine = std::exchange(tracer, nullptr);
    struct Back {
      Tracer* t;
      ~Back() { tracer = t; }
    } back{mine};
    given.run(given, args, out);
    return;
  } else if (given.form == OpForm::functional && given.schema.writes && args[0].tag == Tag::tensor && is_fresh(args[0].tensor()) && seen_once(args[0].tensor())) {
    self = args[0].tensor();   // fills what was just made
  } else if (given.form == OpForm::out || given.schema.writes) {
    raise_not_implemented("a trace meets ", given.schema.full_name(), ", which writes to its argument");
  }
  const size_t n = op->schema.args.size();
  std::vector<Graph::Argument> as(n);
  std::vector<Value> with(n);
  std::vector<Tensor> twins;
  std::vector<std::vector<Tensor>> lists;
  twins.reserve(n);
  lists.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    with[i] = args[i];
    if (args[i].tag == Tag::tensor) {
      as[i].refs = {ref_of(args[i].tensor())};
      twins.push_back(twin_argument(args[i].tensor()));
      with[i] = Value(twins.back());
    } else if (args[i].tag == Tag::tensors) {
      as[i].list = true;
      lists.emplace_back();
      for (const Tensor& t : args[i].tensor_list()) {
        as[i].refs.push_back(ref_of(t));
        lists.back().push_back(twin_argument(t));
      }
      with[i] = Value(lists.back());
    } else {
      as[i].value = graph_.keep(args[i]);
      // The device of a stand-in, or one that the code names: which of the two is not known.
      if (args[i].tag == Tag::device && args[i].device().is_meta()) raise_not_implemented("a trace meets ", given.schema.full_name(), " for device meta");
      if (args[i].tag == Tag::device) with[i] = Value(Device(DeviceType::meta));
      else if (args[i].is_none() && op->schema.args[i].type == ArgType::device && !(op->schema.tensor_mask | op->schema.list_mask)) with[i] = Value(Device(DeviceType::meta));
    }
  }
  GradMode no(false);
  Tracer* const mine = std::exchange(tracer, nullptr);
  struct Back {
    Tracer* t;
    ~Back() { tracer = t; }
  } back{mine};
  Results r;
  op->run(*op, with.data(), r);
  if (r.size() == 0) raise_not_implemented("a trace meets ", op->schema.full_name(), ", which gives a plain value");
  const int32_t node = graph_.call(*op, std::move(as));
  if (self.defined()) {
    FB_CHECK(r[0].sizes() == self.sizes(), given.schema.name, ": the result of shape ", r[0].sizes(), " does not fit into self of shape ", self.sizes());
    if (r[0].dtype() != self.dtype()) raise_not_implemented("a trace meets ", given.schema.name, " whose result has another type than self");
    known_[self.impl()] = {node, 0};
    out.push(self);
    return;
  }
  std::vector<Tensor> list;
  for (int i = 0; i < r.size(); ++i) {
    Tensor t = r[i];
    if (t.defined() && !known_.contains(t.impl())) {
      t->flags |= kTraced;
      keep_.push_back(t);
      known_[t.impl()] = {node, i};
    } else if (t.defined()) {  // the argument itself: another object, so that each has one place
      t = t.alias();
      keep_.push_back(t);
      known_[t.impl()] = {node, i};
    }
    if (r.is_list) list.push_back(std::move(t));
    else out.push(std::move(t));
  }
  if (r.is_list) out.set_list(std::move(list));
}

Graph GraphTrace::finish(const std::vector<Tensor>& outputs) {
  end();
  for (const Tensor& t : outputs) {
    graph_.outputs.push_back(ref_of(t));
    for (const Graph::Node& n : graph_.nodes) {   // the caller may write to what it gets
      if (n.op || !n.constant.defined() || !(n.constant->flags & kTraced)) continue;
      const auto twin = twins_.find(n.constant.impl());
      if (t->storage.get() == n.constant->storage.get() || (twin != twins_.end() && t->storage.get() == twin->second->storage.get()))
        raise_not_implemented("a trace gives back a tensor that the code makes anew in every call");
    }
  }
  return std::move(graph_);
}

}  // namespace fb::compile
