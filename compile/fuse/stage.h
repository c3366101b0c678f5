// Where a card's passes are written: statements of a nest over one call's operands.
#pragma once
#include "compile/fuse/nest.h"
#include "compile/fuse/reductions.h"

namespace fb::compile {

class Stage {
 public:
  // operand(context, argument, dim): the statement of that argument's element; dim: the dimension that it goes along, -1
  // for one that is broadcast.
  Stage(Nest& n, const ReductionCall& call, int (*operand)(void* context, int argument, int dim), void* context)
      : nest_(n), call_(call), operand_(operand), context_(context) {}

  int operand(int argument, tile::Elem to) { return nest_.converted(operand_(context_, argument, -1), to); }
  int channel(int argument, tile::Elem to) { return nest_.converted(operand_(context_, argument, 1), to); }
  int text(TilePoint f, tile::Elem e, const int* in, int n);
  int fold(const TileFold* f, tile::Elem e, int x, int parameter);
  int count(tile::Elem e);
  int number(int i, tile::Elem e);
  int index();
  void result(int i, int stmt) {
    if (int(results.size()) <= i) results.resize(size_t(i) + 1, -1);
    results[size_t(i)] = stmt;
  }
  std::vector<int> results;

 private:
  Nest& nest_;
  const ReductionCall& call_;
  int (*operand_)(void*, int, int);
  void* context_;
};

}  // namespace fb::compile
