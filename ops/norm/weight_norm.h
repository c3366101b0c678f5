// A weight as a magnitude and a direction (Salimans, Kingma 2016).
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/first_result.h"
#include "dispatch/thread_state.h"

namespace fb::cards {

namespace weights {
// All dimensions but one.
inline Dims others(int64_t ndim, int64_t dim) {
  Dims d;
  for (int64_t k = 0; k < ndim; ++k)
    if (k != dim) d.push_back(k);
  return d;
}
// Sums over all dimensions but one, which are kept as ones.
inline Tensor sums(const Tensor& t, int64_t dim) { return t.ndim() > 1 ? op<"sum">(t, others(t.ndim(), dim), true) : t; }
}  // namespace weights

struct norm_except_dim : composite<norm_except_dim> {
  static constexpr auto schema = "norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& v, int64_t pow, int64_t dim) {
    if (dim == -1) return op<"norm">(v, Scalar(pow));
    const int64_t nd = v.ndim(), at = wrap_dim(dim, nd);
    Dims kept(nd, 1);
    if (nd) kept[at] = v.sizes()[at];
    // The rows of a matrix, one for each index of dim.
    const Tensor front = nd > 1 ? op<"reshape">(op<"movedim">(v, at, int64_t(0)), Ints{v.sizes()[at], -1}) : op<"reshape">(v, Ints{-1, 1});
    return op<"reshape">(op<"norm">(front, Scalar(pow), Dims{1}), kept.span());
  }
  static constexpr auto doc = R"(norm_except_dim(v, pow=2, dim=0) -> Tensor

The pow-norm over all dimensions but `dim`, which are kept with size 1; over all of them, without dimensions, for dim = -1.)";
};
FB_CARD(norm_except_dim)

struct weight_norm_interface_backward : lowered<weight_norm_interface_backward> {
  static constexpr auto schema =
      "_weight_norm_interface_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden;
  // w = g v / n with n = |v|: the gradients of v and g.
  static std::array<Tensor, 2> gradients(const Tensor& grad, const Tensor& v, const Tensor& g, const Tensor& norms, int64_t dim) {
    const Tensor scale = op<"div">(g, norms), product = op<"mul">(grad, v);
    const Tensor along = op<"div">(weights::sums(op<"mul">(product, scale), dim), op<"mul">(norms, norms));
    return {op<"sub">(op<"mul">(grad, scale), op<"mul">(v, along)), op<"sum_to_size">(op<"div">(product, norms), g.sizes())};
  }
  static std::array<Tensor, 2> lowering(const Tensor& grad, const Tensor& v, const Tensor& g, const Tensor& norms, int64_t dim) {
    return gradients(grad, v, g, norms, dim);
  }
};
FB_CARD(weight_norm_interface_backward)

struct weight_norm_differentiable_backward : composite<weight_norm_differentiable_backward> {
  static constexpr auto schema =
      "_weight_norm_differentiable_backward(Tensor grad_w, Tensor saved_v, Tensor saved_g, Tensor saved_norms, int dim) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden;
  // The norms are made anew, as a function of v.
  static std::array<Tensor, 2> body(const Tensor& grad, const Tensor& v, const Tensor& g, const Tensor&, int64_t dim) {
    return weight_norm_interface_backward::gradients(grad, v, g, op<"norm_except_dim">(v, int64_t(2), dim), dim);
  }
};
FB_CARD(weight_norm_differentiable_backward)

struct weight_norm_interface : lowered<weight_norm_interface> {
  static constexpr auto schema = "_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn | form::first_result_differentiable;
  static std::array<Tensor, 2> lowering(const Tensor& v, const Tensor& g, int64_t dim) {
    const Tensor norms = op<"norm_except_dim">(v, int64_t(2), dim);
    return {op<"mul">(v, op<"div">(g, norms)), norms};
  }
  static std::array<Tensor, 2> d_both(grad<0> grad_w, in<0> v, in<1> g, result<1> norms, arg<2, int64_t> dim) {
    if (tls.grad_enabled) return ops<"_weight_norm_differentiable_backward", 2>(*grad_w, *v, *g, *norms, *dim);
    return ops<"_weight_norm_interface_backward", 2>(*grad_w, *v, *g, *norms, *dim);
  }
  using vjp = rules<joint<d_both, 0, 1>>;
};
FB_CARD(weight_norm_interface)

struct weight_norm : composite<weight_norm> {
  static constexpr auto schema = "_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& v, const Tensor& g, int64_t dim) {
    if (dim == 0 || dim == v.ndim() - 1) return ops<"_weight_norm_interface", 2>(v, g, dim)[0];
    return op<"mul">(v, op<"div">(g, op<"norm_except_dim">(v, int64_t(2), dim)));
  }
  static constexpr auto doc = R"(_weight_norm(v, g, dim=0) -> Tensor

g v / |v|, the norm over all dimensions but `dim`, or over all for dim = -1. g has size 1 where the norm is taken.)";
};
FB_CARD(weight_norm)

}  // namespace fb::cards
