// Forward mode: tensors carry a tangent while a dual level is open. The tangent lives in autograd meta; kDual tells of it.
#pragma once
#include "autograd/node.h"

namespace fb {

// One level at a time. enter raises where one is open; exit drops every tangent and raises where none is.
void enter_dual_level();
void exit_dual_level();
// A transform that takes tangents (torch.func.jvp): these are on its level's wrappers, and so nest (dispatch/levels.h).
void enter_forward_transform();
void leave_forward_transform();

// The tangent of t, undefined where it has none. A view of a base with a tangent has the same view of that.
Tensor tangent_of(const Tensor& t);
// Gives t this tangent, of t's shape; laid out as t, so that views of t find theirs. Undefined: takes it away.
void set_tangent(const Tensor& t, Tensor tangent);
// A view of primal that carries the tangent; and the value without it.
Tensor make_dual(const Tensor& primal, const Tensor& tangent);
Tensor primal_of(const Tensor& dual);

// The tangents of a call's arguments, in schema order.
struct Tangents {
  std::vector<Tensor> one;
  std::vector<std::vector<Tensor>> lists;  // empty where no element of that list has one
  bool any = false;
};
// Tangents of the results of a functional call, from its arguments, their tangents and the results; undefined where
// none reaches. By the card's own word: view, linear, jvp, derivative; else from its vjp.
GradList apply_jvp(const OpEntry& op, const Value* args, const Tangents& tangents, const Results& out);
// The results of a call without tangents that are written over: self takes a new tangent, in place where it has one.
void write_tangent(const Tensor& self, const Tensor& tangent);

// Shape, type, strides of t as a rule sees them.
InputMeta meta_from(const Tensor& t);
// A 0-d tensor that stands for a bare number where results are of type `like`: it computes in that, not in the default.
Tensor number_as_tensor(const Scalar& s, DType like);

}  // namespace fb
