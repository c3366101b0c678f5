// Which nodes of a graph share a loop nest.
#pragma once
#include <vector>

#include "compile/fuse/shapes.h"
#include "compile/point_call.h"

namespace fb::compile {

enum class StepKind : uint8_t { nest, view, call };

// What a node does within a group.
enum class Role : uint8_t { element, kept, reduction };

struct Group {
  StepKind kind = StepKind::call;
  std::vector<int> nodes;        // ascending
  std::vector<Role> roles;       // of nests
  Dims domain;
  int64_t groups = 0;            // that dimension 1 is cut into for the reductions; 0: it is whole
  uint64_t mask = 0;             // dimensions that are reduced, of the domain as it is cut, or the one that is scanned
  bool reduces = false, scans = false;

  Role role_of(int node) const;
  bool has(int node) const;
};

struct Grouping {
  std::vector<Group> groups;     // in an order that they can run in
  std::vector<int> group_of;     // by node; -1: an input or a constant
};

Grouping group(const Graph& g, const Shapes& s);

}  // namespace fb::compile
