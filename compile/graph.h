// A graph of operator calls, as capture hands it over: the compiler's input.
#pragma once
#include <memory>
#include <vector>

#include "dispatch/op.h"

namespace fb::compile {

struct Graph {
  struct Ref {
    int32_t node = -1, result = 0;  // node -1: no tensor
    bool operator==(const Ref&) const = default;
  };
  struct Argument {
    std::vector<Ref> refs;   // a tensor, or a list of them
    bool list = false;
    Value value;             // where there are no refs and it is no list
  };
  struct Node {
    const OpEntry* op = nullptr;     // null: an input, or a constant
    Tensor constant;
    std::vector<Argument> args;      // as many as the schema has
  };
  std::vector<Node> nodes;           // in the order of execution; arguments come before their users
  std::vector<int32_t> inputs;       // nodes that a call gives values to
  std::vector<Ref> outputs;

  int32_t input() {
    nodes.emplace_back();
    inputs.push_back(int32_t(nodes.size()) - 1);
    return inputs.back();
  }
  int32_t constant(Tensor t) {
    nodes.emplace_back();
    nodes.back().constant = std::move(t);
    return int32_t(nodes.size()) - 1;
  }
  int32_t call(const OpEntry& op, std::vector<Argument> args) {
    nodes.push_back({&op, {}, std::move(args)});
    return int32_t(nodes.size()) - 1;
  }
  // v with a copy of what it borrows, which lives as long as the graph.
  Value keep(const Value& v);

 private:
  std::vector<std::shared_ptr<char[]>> memory_;
};

}  // namespace fb::compile
