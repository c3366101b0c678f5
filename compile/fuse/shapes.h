// The geometry and type of every value of a graph, and how each node can be computed.
#pragma once
#include <string>
#include <vector>

#include "compile/graph.h"
#include "core/tensor.h"

namespace fb::compile {

struct Shapes {
  // [node][result], on the meta device; undefined where a call gave none
  std::vector<std::vector<Tensor>> results;
  enum class Way : uint8_t { given, pointwise, convert, read, scan, reduction, view, call };
  std::vector<Way> way;

  const Tensor& of(Graph::Ref r) const { return results[size_t(r.node)][size_t(r.result)]; }
};

// The arguments of node n, its tensors replaced by those that get(ref) gives.
template <class Get> class NodeArguments {
 public:
  NodeArguments(const Graph::Node& n, Get get) {
    size_t lists = 0;
    for (const auto& a : n.args) lists += a.list ? a.refs.size() : 0;
    memory_.reserve(lists);
    for (const auto& a : n.args) {
      if (a.list) {
        const size_t first = memory_.size();
        for (const auto& r : a.refs) memory_.push_back(r.node < 0 ? Tensor() : get(r));
        values.push_back(Value(TensorSpan(memory_.data() + first, int64_t(a.refs.size()))));
      } else if (!a.refs.empty()) {
        values.push_back(a.refs[0].node < 0 ? Value() : Value(static_cast<const Tensor&>(get(a.refs[0]))));
      } else values.push_back(a.value);
    }
  }
  std::vector<Value> values;

 private:
  std::vector<Tensor> memory_;
};

// Runs every node on the meta device. Empty where a node cannot be run there, or writes; `why` says so in words.
// Raises what a node's shape rule raises.
bool infer_shapes(const Graph& g, TensorImpl* const* inputs, Shapes& s, std::string* why);

// A tensor without values that has t's geometry and type.
Tensor twin_of(const Tensor& t);

}  // namespace fb::compile
