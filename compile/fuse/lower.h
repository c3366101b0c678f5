// A group of nodes as a loop nest.
#pragma once
#include "compile/fuse/group.h"
#include "compile/fuse/nest.h"

namespace fb::compile {

// Where a value lies: in the memory of another one, `offset` bytes from its first element.
struct Place {
  Graph::Ref root;
  int64_t offset = 0;
};
Place place_of(const Graph& g, const Shapes& s, Graph::Ref r);

// used: results that something outside of the group reads. The k-th operand of the nest reads or writes operand k of
// `refs`: a value outside of the group, or a result of it.
struct Lowered {
  Nest nest;
  std::vector<Graph::Ref> refs;
};
Lowered lower_group(const Graph& g, const Shapes& s, const Group& group, const std::vector<Graph::Ref>& used);

}  // namespace fb::compile
