#include "compile/fuse/shapes.h"

#include "compile/fills.h"
#include "compile/fuse/reductions.h"
#include "compile/fuse/scans.h"
#include "compile/kernels.h"
#include "compile/point_call.h"
#include "core/error.h"
#include "dispatch/library.h"
#include "dispatch/thread_state.h"

namespace fb::compile {

Tensor twin_of(const Tensor& t) {
  Tensor r = Tensor::empty_strided(t.sizes(), t.strides(), {t.dtype(), DeviceType::meta});
  r->wrapped_number = t->wrapped_number;
  r->conj = t->conj;
  r->neg = t->neg;
  return r;
}

namespace {

Shapes::Way way_of(const OpEntry& op, const Value* args, const std::vector<Tensor>& results) {
  using Way = Shapes::Way;
  if (!op.card || op.schema.args.empty() || op.schema.writes || library_replaces(op)) return Way::call;
  bool plain = true;   // tensors of types that the tile language has, with elements
  auto fits = [&](const Tensor& t) { plain = plain && t.defined() && tile::elem_of(t.dtype()) != tile::Elem::none && !(t->flags & (kConj | kNeg)) && t.numel() > 0; };
  // Passes may leave some of their results away, or give none of their elements.
  const bool partly = find_tile_reduction(op.card->schema);
  for (const Tensor& t : results)
    if (!partly || (t.defined() && t.numel() > 0)) fits(t);
  for (size_t i = 0; i < op.schema.args.size(); ++i)
    if (args[i].tag == Tag::tensor) fits(args[i].tensor());
  // What shares the memory of an argument is found by its geometry alone.
  if (args[0].tag == Tag::tensor && results.size() >= 1 && results[0].defined() && args[0].tensor()->storage.get() == results[0]->storage.get()) return Way::view;
  if (!plain || args[0].tag == Tag::tensors) return Way::call;
  if (op.card->kind == CardKind::pointwise) {
    PointCall c;
    return prepare_point(op, args, c, nullptr) ? Way::pointwise : Way::call;
  }
  if (op.schema.name == "_to_copy" || op.schema.name == "clone" || op.schema.name == "to") {
    const DType from = args[0].tensor().dtype(), to = results[0].dtype();
    return is_floating(from) && is_integral(to, true) && to != DType::boolean ? Way::call : Way::convert;
  }
  if (const TileRead* r = find_tile_read(op.card->schema)) {
    const ReadRule rule = r->rule(args);
    const DType index = args[rule.index].tensor().dtype();
    return args[rule.source].tensor().ndim() > 0 && (index == DType::i64 || index == DType::i32) ? Way::read : Way::call;
  }
  if (ScanCall c; prepare_scan(op, args, results, c, nullptr)) return Way::scan;
  ReductionCall c;
  return prepare_reduction(op, args, results, c, nullptr) ? Way::reduction : Way::call;
}

}  // namespace

bool infer_shapes(const Graph& g, TensorImpl* const* inputs, Shapes& s, std::string* why) {
  GradMode no(false);
  s.results.resize(g.nodes.size());
  s.way.assign(g.nodes.size(), Shapes::Way::given);
  for (size_t i = 0; i < g.inputs.size(); ++i) s.results[size_t(g.inputs[i])] = {twin_of(reinterpret_cast<const Tensor&>(inputs[i]))};
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const Graph::Node& node = g.nodes[n];
    if (!node.op) {
      if (node.constant.defined()) s.results[n] = {twin_of(node.constant)};
      continue;
    }
    if (node.op->form != OpForm::functional || (node.op->schema.writes && !fills(g, node))) {
      if (why) *why = text(node.op->schema.full_name(), " writes to an argument");
      return false;
    }
    NodeArguments args(node, [&](Graph::Ref r) -> const Tensor& { return s.of(r); });
    for (Value& v : args.values)
      if (v.tag == Tag::device) v = Value(Device(DeviceType::meta));
    Results r;
    try {
      (*node.op)(args.values.data(), r);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::not_implemented) throw;
      if (why) *why = text(node.op->schema.full_name(), " has no shape without values: ", e.text());
      return false;
    }
    if (r.size() == 0) {
      if (why) *why = text(node.op->schema.full_name(), " gives a plain value");
      return false;
    }
    for (int i = 0; i < r.size(); ++i) s.results[n].push_back(!r[i].defined() || r[i].is_meta() ? r[i] : twin_of(r[i]));
    s.way[n] = way_of(*node.op, args.values.data(), s.results[n]);
  }
  return true;
}

}  // namespace fb::compile
