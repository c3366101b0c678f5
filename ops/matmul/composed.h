// Products made of the others: matmul with its shapes, linear, outer and inner products, tensordot, einsum, kron.
#pragma once
#include "dispatch/out_rule.h"
#include "ops/matmul/products.h"

namespace fb::cards {

struct outer : composite<outer> {
  static constexpr auto schema = "outer(Tensor self, Tensor vec2) -> Tensor";
  static constexpr auto aliases = "ger";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts | form::out_same_or_apart;
  static Tensor body(const Tensor& self, const Tensor& vec2) {
    FB_CHECK(self.ndim() == 1 && vec2.ndim() == 1, "outer: expected two vectors (1-d), got shapes ", self.sizes(), " and ", vec2.sizes());
    return op<"mul">(op<"unsqueeze">(self, int64_t(1)), vec2);
  }
};
FB_CARD(outer)

struct addr : lowered<addr> {
  static constexpr auto schema = "addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out | form::out_converts | form::out_same_or_apart;
  static Tensor lowering(const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha);
  static Tensor d_self(grad<0> g, arg<3, Scalar> beta) { return products::times(g, products::conj(*beta)); }
  static Tensor d_vec1(grad<0> g, in<2> vec2, arg<4, Scalar> alpha) { return products::times(op<"mv">(*g, products::conj(vec2)), products::conj(*alpha)); }
  static Tensor d_vec2(grad<0> g, in<1> vec1, arg<4, Scalar> alpha) {
    return products::times(op<"mv">(op<"t">(*g), products::conj(vec1)), products::conj(*alpha));
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_vec1>, wrt<2, d_vec2>>;
};
FB_CARD(addr)

struct matmul : composite<matmul> {
  static constexpr auto schema = "matmul(Tensor self, Tensor other) -> Tensor";
  static constexpr auto aliases = "linalg_matmul";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self, const Tensor& other);
  static constexpr auto doc = R"(matmul(input, other, *, out=None) -> Tensor

The product of vectors, matrices or batches of matrices; batch dimensions broadcast, a vector counts as a row on the left
and as a column on the right.)";
};
FB_CARD(matmul)

struct matmul_operator : composite<matmul_operator> {
  static constexpr auto schema = "__matmul__(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& self, const Tensor& other) { return matmul::body(self, other); }
};
FB_CARD(matmul_operator)

struct spmm : composite<spmm> {
  static constexpr auto schema = "spmm(Tensor self, Tensor mat2) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(const Tensor& self, const Tensor& mat2) { return op<"mm">(self, mat2); }
};
FB_CARD(spmm)

struct linear : composite<linear> {
  static constexpr auto schema = "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::out;
  static Tensor body(const Tensor& input, const Tensor& weight, const Tensor& bias);
  static constexpr auto doc = R"(linear(input, weight, bias=None) -> Tensor

input @ weight.T + bias: (*, in), (out, in) or (in), (out) or () to (*, out) or (*).)";
};
FB_CARD(linear)

struct inner : composite<inner> {
  static constexpr auto schema = "inner(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self, const Tensor& other);
};
FB_CARD(inner)

struct tensordot : composite<tensordot> {
  static constexpr auto schema = "tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(const Tensor& self, const Tensor& other, Ints dims_self, Ints dims_other);
};
FB_CARD(tensordot)

struct einsum : composite<einsum> {
  static constexpr auto schema = "einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(std::string_view equation, TensorSpan tensors, std::optional<Ints> path);
};
FB_CARD(einsum)

struct kron : composite<kron> {
  static constexpr auto schema = "kron(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts | form::out_apart;
  static Tensor body(const Tensor& self, const Tensor& other);
};
FB_CARD(kron)

struct matrix_power : composite<matrix_power> {
  static constexpr auto schema = "linalg_matrix_power(Tensor self, int n) -> Tensor";
  static constexpr auto aliases = "matrix_power";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self, int64_t n);
};
FB_CARD(matrix_power)

struct multi_dot : composite<multi_dot> {
  static constexpr auto schema = "linalg_multi_dot(Tensor[] tensors) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor body(TensorSpan tensors);
};
FB_CARD(multi_dot)

struct bilinear : composite<bilinear> {
  static constexpr auto schema = "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias);
};
FB_CARD(bilinear)

}  // namespace fb::cards
