#include "compile/fuse/lower.h"

#include <map>

#include "compile/fuse/reductions.h"
#include "compile/fuse/scans.h"
#include "compile/fuse/stage.h"
#include "core/error.h"

namespace fb::compile {

Place place_of(const Graph& g, const Shapes& s, Graph::Ref r) {
  const Graph::Ref given = r;
  while (r.node >= 0 && s.way[size_t(r.node)] == Shapes::Way::view) r = g.nodes[size_t(r.node)].args[0].refs[0];
  const Tensor &from = s.of(r), &to = s.of(given);
  return {r, to.offset() * to.item_bytes() - from.offset() * from.item_bytes()};
}

namespace {

using tile::Elem;

class Lowerer {
 public:
  Lowerer(const Graph& g, const Shapes& s, const Group& group) : g_(g), s_(s), group_(group) {
    n_.domain = cut_sizes(group.domain, group.groups);
    n_.mask = group.mask;
    n_.reduces = group.reduces;
    n_.scans = group.scans;
  }
  Lowered run(const std::vector<Graph::Ref>& used) {
    for (size_t i = 0; i < group_.nodes.size(); ++i) {
      const int node = group_.nodes[i];
      if (!n_.name.empty()) n_.name += " ";
      n_.name += g_.nodes[size_t(node)].op->schema.name;
      role_ = group_.roles[i];
      const NodeArguments args(g_.nodes[size_t(node)], [&](Graph::Ref r) -> const Tensor& { return s_.of(r); });
      switch (s_.way[size_t(node)]) {
        case Shapes::Way::pointwise: point(node, args.values.data()); break;
        case Shapes::Way::convert: conversion(node); break;
        case Shapes::Way::read: read(node, args.values.data()); break;
        case Shapes::Way::scan: scan(node, args.values.data()); break;
        default: reduction(node, args.values.data());
      }
    }
    for (const Graph::Ref& r : used) {
      const Tensor& t = s_.of(r);
      if (t.numel() == 0) continue;
      const Level level = t.sizes() == group_.domain.span() || !group_.reduces ? Level::element : Level::kept;
      const int o = operand(r, t, 0, strides_over(t, t.sizes(), level == Level::kept), level);
      n_.outputs.push_back({n_.converted(values_.at({r.node, r.result}), tile::elem_of(t.dtype())), o});
    }
    return {std::move(n_), std::move(refs_)};
  }

 private:
  // Bytes between neighbours along each dimension of the domain, for a tensor that is broadcast to `sizes`: the domain's,
  // or, where `kept`, those of a reduction's result.
  Dims strides_over(const Tensor& t, Ints sizes, bool kept) const {
    const int64_t nd = kept ? n_.domain.size() : group_.domain.size();
    Dims r;
    r.resize(nd, 0);
    SmallVec<int64_t, 8> where;   // dimension of the domain, for each of sizes
    if (!kept || sizes.n == nd)
      for (int64_t d = nd - sizes.n; d < nd; ++d) where.push_back(d);
    else
      for (int64_t d = 0; d < nd; ++d)
        if (!(group_.mask >> d & 1)) where.push_back(d);
    const int64_t pad = sizes.n - t.ndim();
    for (int64_t d = 0; d < t.ndim(); ++d)
      if (t.sizes()[d] != 1) r[where[pad + d]] = t.strides()[d] * t.item_bytes();
    return kept ? r : cut(r);
  }
  Dims cut(const Dims& strides) const { return cut_strides(strides, group_.domain, group_.groups); }
  int operand(Graph::Ref root, const Tensor& t, int64_t offset, Dims strides, Level level) {
    NestOperand o;
    o.stored = tile::elem_of(t.dtype());
    o.level = level;
    o.offset = offset;
    o.strides = std::move(strides);
    n_.operands.push_back(std::move(o));
    refs_.push_back(root);
    return int(n_.operands.size()) - 1;
  }
  // A value from outside, as a node that gives `sizes` sees it.
  int loaded(Graph::Ref r, Ints sizes) { return loaded_over(r, strides_over(s_.of(r), sizes, role_ == Role::kept)); }
  int loaded_over(Graph::Ref r, Dims strides) {
    const Place p = place_of(g_, s_, r);
    const Tensor& t = s_.of(r);
    Level level = Level::element;
    if (group_.reduces) {
      bool varies = false;
      for (int64_t d = 0; d < n_.domain.size(); ++d) varies |= (group_.mask >> d & 1) && strides[d];
      if (!varies) level = Level::kept;
    }
    for (const auto& [key, stmt] : loads_)
      if (key.root == p.root && key.offset == p.offset && key.strides == strides && key.dtype == t.dtype()) return stmt;
    Stmt s;
    s.kind = Stmt::load;
    s.level = level;
    s.elem = tile::elem_of(t.dtype());
    s.operand = operand(p.root, t, p.offset, strides, level);
    loads_.push_back({{p.root, p.offset, strides, t.dtype()}, n_.add(std::move(s))});
    return loads_.back().second;
  }
  // Half formats are computed with as f32.
  int input(Graph::Ref r, Ints sizes) {
    const auto known = values_.find({r.node, r.result});
    if (known != values_.end()) return known->second;
    const int v = loaded(r, sizes);
    return tile::is_half(n_.stmts[size_t(v)].elem) ? n_.converted(v, Elem::f32) : v;
  }
  // A value from outside with one element for each place along dimension dim of the domain.
  int along(Graph::Ref r, int dim) {
    const Tensor& t = s_.of(r);
    Dims strides;
    strides.resize(group_.domain.size(), 0);
    if (t.sizes()[0] != 1) strides[dim] = t.strides()[0] * t.item_bytes();
    const int v = loaded_over(r, cut(strides));
    return tile::is_half(n_.stmts[size_t(v)].elem) ? n_.converted(v, Elem::f32) : v;
  }
  void give(Graph::Ref r, int stmt) { values_[{r.node, r.result}] = n_.rounded(stmt, tile::elem_of(s_.of(r).dtype())); }

  void point(int node, const Value* args) {
    const Graph::Node& from = g_.nodes[size_t(node)];
    PointCall c;
    prepare_point(*from.op, args, c, nullptr);
    const uint32_t masks = from.op->card->pointwise->bool_operands;
    const Tensor& out = s_.results[size_t(node)][0];
    const Elem compute = tile::elem_of(compute_type(c.compute));
    Stmt s;
    s.kind = Stmt::text;
    s.point = c.point;
    s.elem = tile::elem_of(compute_type(out.dtype()));
    for (int i = 0; i < c.nin; ++i) {
      const bool mask = masks >> i & 1;
      if (c.operands[i].tag != Tag::tensor) {
        const DType d = mask ? DType::boolean : c.compute;
        const int n = n_.number(number_word(c.operands[i].scalar(), d), is_floating(d) ? Elem::f64 : Elem::i64);
        s.in.push_back(n_.converted(n, mask ? Elem::b1 : compute));
        continue;
      }
      const Graph::Ref r = from.args[size_t(c.argument[i])].refs[0];
      int v = input(r, out.sizes());
      if (mask) v = n_.converted(v, Elem::b1);
      else if (s_.of(r).dtype() != c.compute) v = n_.rounded(v, tile::elem_of(c.compute));
      s.in.push_back(v);
    }
    const bool integral = is_integral(c.compute, true);
    for (int i = 0; i < c.nattr; ++i) {
      if (c.card->raw_attributes) {
        s.raw.push_back(c.attrs[i].to_double());
        continue;
      }
      int64_t w = c.attrs[i].to<int64_t>();
      if (!integral) {
        const double v = c.attrs[i].to_double();
        __builtin_memcpy(&w, &v, 8);
      }
      s.attrs.push_back(n_.number(w, integral ? Elem::i64 : Elem::f64));
    }
    give({node, 0}, with_level(std::move(s)));
  }
  // A text that reads nothing of the nest is still a value of its shape.
  int with_level(Stmt s) {
    const int at = n_.derive(std::move(s));
    Stmt& made = n_.stmts[size_t(at)];
    if (made.level == Level::once) made.level = role_ == Role::kept ? Level::kept : Level::element;
    return at;
  }
  void conversion(int node) {
    const Graph::Ref r = g_.nodes[size_t(node)].args[0].refs[0];
    const Tensor& out = s_.results[size_t(node)][0];
    const int v = input(r, out.sizes());
    // Another half format than the input's is reached by way of float.
    give({node, 0}, s_.of(r).dtype() == out.dtype() ? v : n_.rounded(v, tile::elem_of(out.dtype())));
  }
  void read(int node, const Value* args) {
    const Graph::Node& from = g_.nodes[size_t(node)];
    const ReadRule rule = find_tile_read(from.op->card->schema)->rule(args);
    const Graph::Ref source = from.args[size_t(rule.source)].refs[0], index = from.args[size_t(rule.index)].refs[0];
    const Tensor &t = s_.of(source), &i = s_.of(index);
    const int64_t nd = group_.domain.size(), dim = wrap_dim(rule.dim, t.ndim());
    // The source and the index over the domain; along the index the source has no stride of its own.
    Dims strides, index_strides;
    strides.resize(nd, 0);
    index_strides.resize(nd, 0);
    const int64_t lead = rule.kind == ReadRule::rows ? nd - (t.ndim() - 1) : 0;
    for (int64_t d = 0; d < t.ndim(); ++d)
      if (d != dim) strides[rule.kind == ReadRule::rows ? lead + d - 1 : d] = t.strides()[d] * t.item_bytes();
    for (int64_t d = 0; d < i.ndim(); ++d)
      if (i.sizes()[d] != 1) index_strides[rule.kind == ReadRule::along ? dim : d] = i.strides()[d] * i.item_bytes();
    Stmt s;
    s.kind = Stmt::read;
    s.elem = tile::elem_of(t.dtype());
    s.in = {n_.converted(loaded_over(index, cut(index_strides)), Elem::i64)};
    s.attrs = {n_.number(t.sizes()[dim], Elem::i64), n_.number(t.strides()[dim] * t.item_bytes(), Elem::i64)};
    const Place p = place_of(g_, s_, source);
    s.operand = operand(p.root, t, p.offset, cut(strides), Level::element);
    const int at = n_.add(std::move(s));
    const int v = tile::is_half(n_.stmts[size_t(at)].elem) ? n_.converted(at, Elem::f32) : at;
    give({node, 0}, v);
  }
  void scan(int node, const Value* args) {
    const Graph::Node& from = g_.nodes[size_t(node)];
    ScanCall c;
    prepare_scan(*from.op, args, s_.results[size_t(node)], c, nullptr);
    Stmt s;
    s.kind = Stmt::chain;
    s.elem = c.state;
    s.chain_of = c.chain;
    s.in = {n_.converted(input(from.args[0].refs[0], group_.domain), c.state)};
    const int at = n_.add(std::move(s));
    give({node, 0}, at);
    if (!c.chain->places) return;
    Stmt p;
    p.kind = Stmt::place;
    p.elem = Elem::i64;
    p.in = {at};
    give({node, 1}, n_.add(std::move(p)));
  }
  void reduction(int node, const Value* args) {
    const Graph::Node& from = g_.nodes[size_t(node)];
    ReductionCall c;
    prepare_reduction(*from.op, args, s_.results[size_t(node)], c, nullptr);
    struct Context {
      Lowerer* self;
      const Graph::Node* node;
    } context{this, &from};
    role_ = Role::element;   // operands are seen over the elements
    Stage stage(n_, c, [](void* p, int argument, int dim) {
      const Context& c = *static_cast<Context*>(p);
      const Graph::Ref r = c.node->args[size_t(argument)].refs[0];
      return dim < 0 ? c.self->input(r, c.self->group_.domain) : c.self->along(r, dim);
    }, &context);
    c.passes(stage);
    for (size_t i = 0; i < stage.results.size() && i < s_.results[size_t(node)].size(); ++i) {
      if (stage.results[i] < 0 || !s_.results[size_t(node)][i].defined()) continue;
      // The result's type takes the value as it is, then rounds.
      const Elem to = tile::elem_of(s_.results[size_t(node)][i].dtype());
      values_[{node, int(i)}] = n_.rounded(stage.results[i], to);
    }
  }

  struct LoadKey {
    Graph::Ref root;
    int64_t offset;
    Dims strides;
    DType dtype;
  };
  const Graph& g_;
  const Shapes& s_;
  const Group& group_;
  Nest n_;
  std::vector<Graph::Ref> refs_;
  std::map<std::pair<int, int>, int> values_;
  std::vector<std::pair<LoadKey, int>> loads_;
  Role role_ = Role::element;
};

}  // namespace

Lowered lower_group(const Graph& g, const Shapes& s, const Group& group, const std::vector<Graph::Ref>& used) {
  return Lowerer(g, s, group).run(used);
}

}  // namespace fb::compile
