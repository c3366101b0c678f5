#include "compile/fuse/reductions.h"

#include "compile/fuse/stage.h"
#include "core/error.h"

namespace fb::compile {

Dims cut_sizes(Ints domain, int64_t groups) {
  if (groups == 0) return Dims(domain);
  Dims r{domain[0], groups, domain[1] / groups};
  for (int64_t d = 2; d < domain.n; ++d) r.push_back(domain[d]);
  return r;
}
Dims cut_strides(Ints strides, Ints domain, int64_t groups) {
  if (groups == 0) return Dims(strides);
  const int64_t within = domain[1] / groups;
  Dims r{strides[0], groups == 1 ? 0 : strides[1] * within, within == 1 ? 0 : strides[1]};
  for (int64_t d = 2; d < strides.n; ++d) r.push_back(strides[d]);
  return r;
}

bool prepare_reduction(const OpEntry& op, const Value* args, const std::vector<Tensor>& results, ReductionCall& c, std::string* why) {
  auto no = [&](auto&&... words) {
    if (why) *why = text(words...);
    return false;
  };
  c.card = find_tile_reduction(op.card->schema);
  if (!c.card) return no("its card has no passes");
  const Tensor& x = args[0].tensor();
  if (x.ndim() == 0 || x.numel() == 0) return no("the input has shape ", x.sizes());
  size_t first = 0;   // results that were not asked for are undefined
  while (first < results.size() && !results[first].defined()) ++first;
  if (first == results.size()) return no("no result is asked for");
  const DType compute = c.card->compute(x.dtype(), results[first].dtype());
  const int slot = compute == DType::f32 ? 0 : compute == DType::f64 ? 1 : compute == DType::i64 ? 2 : -1;
  const int variant = c.card->variant ? c.card->variant(args) : 0;
  if (variant < 0) return no("it has no passes for these arguments");
  if (slot >= 0) c.passes = c.card->passes[variant * kPassTypes + slot];
  if (!c.passes || tile::elem_of(x.dtype()) == tile::Elem::none) return no("it has no passes for the input's type ", x.dtype());
  c.domain = Dims(x.sizes());
  c.groups = c.card->groups ? c.card->groups(args) : 0;
  const Dims sizes = cut_sizes(x.sizes(), c.groups);
  c.mask = c.card->mask(op, args, sizes);
  if (sizes.size() < 64) c.mask &= (uint64_t(1) << sizes.size()) - 1;
  if (c.mask == 0) return no("nothing is reduced");
  c.count = 1;
  for (int64_t d = 0; d < sizes.size(); ++d)
    if (c.mask >> d & 1) c.count *= sizes[d];
  if (c.card->numbers) c.card->numbers(args, c.count, c.numbers);
  // Passes may be for some types alone: written for nobody, they show whether they give all results.
  Nest tried;
  Stage stage(tried, c, [](void* nest, int, int) {
    Stmt s;
    s.operand = 0;
    return static_cast<Nest*>(nest)->add(std::move(s));
  }, &tried);
  c.passes(stage);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].defined() && results[i].numel() > 0 && (i >= stage.results.size() || stage.results[i] < 0))
      return no("its passes are not for the input's type ", x.dtype());
  return true;
}

namespace loops {
uint64_t mask_by_dim(const OpEntry& op, const Value* args, Ints sizes) {
  const int at = op.schema.find("dim");
  if (at < 0 || args[at].is_none()) return ~uint64_t(0);
  const Value& dim = args[at];
  if (dim.tag == Tag::integer) return uint64_t(1) << wrap_dim(dim.i, sizes.n);
  uint64_t m = 0;
  for (int64_t d : dim.int_list()) m |= uint64_t(1) << wrap_dim(d, sizes.n);
  // An optional list of any length says with None that it means all; else an empty one does.
  return dim.int_list().empty() && !(op.schema.args[size_t(at)].optional && op.schema.args[size_t(at)].list_size < 0) ? ~uint64_t(0) : m;
}
}  // namespace loops

int Stage::text(TilePoint f, tile::Elem e, const int* in, int n) {
  Stmt s;
  s.kind = Stmt::text;
  s.elem = e;
  s.point = f;
  for (int i = 0; i < n; ++i) s.in.push_back(in[i]);
  return nest_.derive(std::move(s));
}
int Stage::fold(const TileFold* f, tile::Elem e, int x, int parameter) {
  Stmt s;
  s.kind = Stmt::fold;
  s.elem = e;
  s.folding = f;
  s.in.push_back(x);
  if (parameter >= 0) s.in.push_back(parameter);
  if (const int i = nest_.known(s); i >= 0) return i;
  s.level = Level::kept;
  for (int i : s.in) s.phase = std::max(s.phase, nest_.stmts[size_t(i)].phase);
  ++s.phase;
  return nest_.add(std::move(s));
}
int Stage::count(tile::Elem e) {
  double d = double(call_.count);
  int64_t w;
  static_assert(sizeof w == sizeof d);
  __builtin_memcpy(&w, &d, 8);
  return nest_.converted(nest_.number(w, tile::Elem::f64), e);
}
int Stage::number(int i, tile::Elem e) {
  int64_t w;
  __builtin_memcpy(&w, &call_.numbers[i], 8);
  return nest_.converted(nest_.number(w, tile::Elem::f64), e);
}
int Stage::index() {
  Stmt s;
  s.kind = Stmt::index;
  s.elem = tile::Elem::i64;
  s.level = Level::element;
  return nest_.add(std::move(s));
}

}  // namespace fb::compile
