#include "compile/fuse/parts.h"

#include <string_view>

#include "dispatch/call.h"

namespace fb::compile {
namespace {

using Ref = Graph::Ref;

struct Splitter {
  Graph made;
  std::vector<std::vector<Ref>> now;   // [node of the given graph][result]; empty: the node `moved`, results as they were
  std::vector<int32_t> moved;

  Ref to(Ref r) const {
    if (r.node < 0) return r;
    const auto& own = now[size_t(r.node)];
    return own.empty() ? Ref{moved[size_t(r.node)], r.result} : own[size_t(r.result)];
  }
  static Graph::Argument value(const Value& v) {
    Graph::Argument a;
    a.value = v;
    return a;
  }
  int32_t call(std::string_view name, std::vector<Graph::Argument> args) {
    const OpEntry* op = find_op(name);
    for (size_t i = args.size(); i < op->schema.args.size(); ++i) args.push_back(value(op->schema.args[i].default_value));
    return made.call(*op, std::move(args));
  }
  // The results of a node that is split.
  std::vector<Ref> parts(const Graph::Node& n) {
    const std::string_view name = n.op->schema.name;
    if (name == "trace") {
      const int32_t diagonal = call("diagonal", {n.args[0]});
      Graph::Argument from;
      from.refs = {{diagonal, 0}};
      return {{call("sum", {from}), 0}};
    }
    if (name == "native_layer_norm_backward") {
      const bool* wanted = n.args[7].value.bools;
      if (!wanted[0] || !(wanted[1] || wanted[2])) return {};
      const bool rows[] = {true, false, false}, parameters[] = {false, wanted[1], wanted[2]};
      std::vector<Graph::Argument> first = n.args, second = n.args;
      first[7].value = made.keep(Value(Span<bool>(rows, 3)));
      second[7].value = made.keep(Value(Span<bool>(parameters, 3)));
      const int32_t a = made.call(*n.op, std::move(first)), b = made.call(*n.op, std::move(second));
      return {{a, 0}, {b, 1}, {b, 2}};
    }
    return {};
  }
};

}  // namespace

bool has_parts(const OpEntry& op) { return op.schema.full_name() == "trace" || op.schema.full_name() == "native_layer_norm_backward"; }

Graph in_parts(const Graph& g) {
  bool any = false;
  for (const Graph::Node& n : g.nodes) any |= n.op && has_parts(*n.op);
  if (!any) return g;
  Splitter s;
  s.made = g;   // with what arguments borrow
  s.made.nodes.clear();
  s.made.inputs.clear();
  s.made.outputs.clear();
  for (const Graph::Node& given : g.nodes) {
    Graph::Node n = given;
    for (auto& a : n.args)
      for (Ref& r : a.refs) r = s.to(r);
    s.now.emplace_back();
    if (n.op && has_parts(*n.op)) s.now.back() = s.parts(n);
    s.moved.push_back(int32_t(s.made.nodes.size()));
    if (s.now.back().empty()) s.made.nodes.push_back(std::move(n));
  }
  for (int32_t i : g.inputs) s.made.inputs.push_back(s.moved[size_t(i)]);
  for (Ref r : g.outputs) s.made.outputs.push_back(s.to(r));
  return std::move(s.made);
}

}  // namespace fb::compile
