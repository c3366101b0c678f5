// Writes that stand in a graph: those that fill memory which an operator has just made, and which nobody has read. Whatever
// runs between the two, before or after, they give the same.
#pragma once
#include "compile/graph.h"

namespace fb::compile {

inline bool makes_fresh_memory(const OpEntry& op) {
  const std::string_view name = op.schema.name;
  return op.form == OpForm::functional && (name.starts_with("empty") || name.starts_with("new_empty"));
}
// Whether node n, which writes to its first argument alone, fills such memory.
inline bool fills(const Graph& g, const Graph::Node& n) {
  if (!n.op->schema.writes || n.op->form != OpForm::functional || n.args[0].refs.size() != 1 || n.args[0].list) return false;
  const int32_t made = n.args[0].refs[0].node;
  return made >= 0 && g.nodes[size_t(made)].op && makes_fresh_memory(*g.nodes[size_t(made)].op);
}

}  // namespace fb::compile
