// Matrix products that kernels compute: mm, bmm and their kin that add to a tensor, products of vectors.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/repeated.h"
#include "ops/math/fits.h"

namespace fb::cards {

namespace products {

// The conjugate transpose of a matrix or of a batch of them.
inline Tensor h(const Tensor& t) {
  const Tensor x = op<"transpose">(t, int64_t(-2), int64_t(-1));
  return t.is_complex() ? op<"conj">(x) : x;
}
inline Tensor conj(const Tensor& t) { return t.is_complex() ? op<"conj">(t) : t; }
inline Scalar conj(const Scalar& s) {
  if (!s.is_complex()) return s;
  const cdouble c = s.to_complex();
  return Scalar(cdouble(c.re, -c.im));
}
inline Tensor times(const Tensor& t, const Scalar& s) {
  if (!s.is_complex() && s.to_double() == 1) return t;
  return op<"mul">(t, s);
}

template <class T> void same_type(const char* op, const T& a, const T& b) {
  FB_CHECK(a.dtype() == b.dtype(), op, ": expected both matrices to have the same dtype, got ", a.dtype(), " and ", b.dtype());
}
template <class T> void check_mm(const char* op, const T& a, const T& b) {
  FB_CHECK(a.ndim() == 2 && b.ndim() == 2, op, ": expected two matrices, got shapes ", a.sizes(), " and ", b.sizes());
  FB_CHECK(a.size(1) == b.size(0), op, ": matrices of shapes ", a.sizes(), " and ", b.sizes(), " cannot be multiplied: ", a.size(1),
           " columns meet ", b.size(0), " rows");
  same_type(op, a, b);
}
template <class T> void check_bmm(const char* op, const T& a, const T& b) {
  FB_CHECK(a.ndim() == 3 && b.ndim() == 3, op, ": expected two batches of matrices (3-d), got shapes ", a.sizes(), " and ", b.sizes());
  FB_CHECK(a.size(0) == b.size(0) && a.size(2) == b.size(1), op, ": batches of shapes ", a.sizes(), " and ", b.sizes(),
           " cannot be multiplied: expected the second as [", a.size(0), ", ", a.size(2), ", *]");
  same_type(op, a, b);
}
// beta and alpha, in the type that products are scaled in.
inline void check_scales(const char* op, const Scalar& beta, const Scalar& alpha, DType d) {
  check_fits(op, beta, number_type_of(d));
  check_fits(op, alpha, number_type_of(d));
}
template <class T> void check_added(const char* op, const T& self, Span<typename T::Int> result, const T& like) {
  FB_CHECK(is_expandable_to(self.sizes(), result), op, ": self of shape ", self.sizes(), " does not expand to the result's shape ", result);
  FB_CHECK(self.dtype() == like.dtype(), op, ": expected self and the matrices to have the same dtype, got ", self.dtype(), " and ", like.dtype());
}

}  // namespace products

struct mm : structured<mm, symbolic> {
  static constexpr auto schema = "mm(Tensor self, Tensor mat2) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0, 1);
  template <class T> static T meta(const T& self, const T& mat2) {
    products::check_mm("mm", self, mat2);
    return T::empty({self.size(0), mat2.size(1)}, self.options());
  }
  static Tensor d_self(grad<0> g, in<1> mat2) { return op<"mm">(*g, products::h(mat2)); }
  static Tensor d_mat2(grad<0> g, in<0> self) { return op<"mm">(products::h(self), *g); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_mat2>>;
  static constexpr auto doc = R"(mm(input, mat2, *, out=None) -> Tensor

The product of two matrices, (n, m) and (m, p) to (n, p); no broadcasting. RuntimeError where shapes or types do not fit.)";
};
FB_CARD(mm)

struct bmm : structured<bmm, symbolic> {
  static constexpr auto schema = "bmm(Tensor self, Tensor mat2) -> Tensor";
  static constexpr uint32_t forms = structured<bmm>::forms | form::out_repeated;
  static constexpr uint64_t linear_in = arguments(0, 1);
  template <class T> static T meta(const T& self, const T& mat2) {
    products::check_bmm("bmm", self, mat2);
    return T::empty({self.size(0), self.size(1), mat2.size(2)}, self.options());
  }
  static Tensor d_self(grad<0> g, in<1> mat2) { return op<"bmm">(*g, products::h(mat2)); }
  static Tensor d_mat2(grad<0> g, in<0> self) { return op<"bmm">(products::h(self), *g); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_mat2>>;
  static constexpr auto doc = R"(bmm(input, mat2, *, out=None) -> Tensor

Products of matrices batch by batch, (b, n, m) and (b, m, p) to (b, n, p).)";
};
FB_CARD(bmm)

struct addmm : structured<addmm, symbolic> {
  static constexpr auto schema = "addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out;
  template <class T> static T meta(const T& self, const T& mat1, const T& mat2, Scalar beta, Scalar alpha) {
    products::check_mm("addmm", mat1, mat2);
    products::check_added("addmm", self, {mat1.size(0), mat2.size(1)}, mat1);
    products::check_scales("addmm", beta, alpha, mat1.dtype());
    return T::empty({mat1.size(0), mat2.size(1)}, mat1.options());
  }
  static Tensor d_self(grad<0> g, arg<3, Scalar> beta) { return products::times(g, products::conj(*beta)); }
  static Tensor d_mat1(grad<0> g, in<2> mat2, arg<4, Scalar> alpha) { return products::times(op<"mm">(*g, products::h(mat2)), products::conj(*alpha)); }
  static Tensor d_mat2(grad<0> g, in<1> mat1, arg<4, Scalar> alpha) { return products::times(op<"mm">(products::h(mat1), *g), products::conj(*alpha)); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_mat1>, wrt<2, d_mat2>>;
  static constexpr auto doc = R"(addmm(input, mat1, mat2, *, beta=1, alpha=1, out=None) -> Tensor

beta * input + alpha * (mat1 @ mat2); input broadcasts to (n, p). With beta 0 input is not read.)";
};
FB_CARD(addmm)

struct baddbmm : structured<baddbmm, symbolic> {
  static constexpr auto schema = "baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out;
  template <class T> static T meta(const T& self, const T& a, const T& b, Scalar beta, Scalar alpha) {
    products::check_bmm("baddbmm", a, b);
    products::check_added("baddbmm", self, {a.size(0), a.size(1), b.size(2)}, a);
    products::check_scales("baddbmm", beta, alpha, a.dtype());
    return T::empty({a.size(0), a.size(1), b.size(2)}, a.options());
  }
  static Tensor d_self(grad<0> g, arg<3, Scalar> beta) { return products::times(g, products::conj(*beta)); }
  static Tensor d_a(grad<0> g, in<2> b, arg<4, Scalar> alpha) { return products::times(op<"bmm">(*g, products::h(b)), products::conj(*alpha)); }
  static Tensor d_b(grad<0> g, in<1> a, arg<4, Scalar> alpha) { return products::times(op<"bmm">(products::h(a), *g), products::conj(*alpha)); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_a>, wrt<2, d_b>>;
};
FB_CARD(baddbmm)

struct addbmm : structured<addbmm, symbolic> {
  static constexpr auto schema = "addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out;
  template <class T> static T meta(const T& self, const T& a, const T& b, Scalar beta, Scalar alpha) {
    products::check_bmm("addbmm", a, b);
    products::check_added("addbmm", self, {a.size(1), b.size(2)}, a);
    products::check_scales("addbmm", beta, alpha, a.dtype());
    return T::empty({a.size(1), b.size(2)}, a.options());
  }
  static Tensor d_self(grad<0> g, arg<3, Scalar> beta) { return products::times(g, products::conj(*beta)); }
  static Tensor d_a(grad<0> g, in<2> b, arg<4, Scalar> alpha) {
    return products::times(op<"matmul">(*g, products::h(b)), products::conj(*alpha));
  }
  static Tensor d_b(grad<0> g, in<1> a, arg<4, Scalar> alpha) {
    return products::times(op<"matmul">(products::h(a), *g), products::conj(*alpha));
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_a>, wrt<2, d_b>>;
};
FB_CARD(addbmm)

struct mv : structured<mv, symbolic> {
  static constexpr auto schema = "mv(Tensor self, Tensor vec) -> Tensor";
  static constexpr uint32_t forms = structured<mv>::forms | form::out_repeated;
  static constexpr uint64_t linear_in = arguments(0, 1);
  template <class T> static T meta(const T& self, const T& vec) {
    FB_CHECK(self.ndim() == 2 && vec.ndim() == 1, "mv: expected a matrix and a vector, got shapes ", self.sizes(), " and ", vec.sizes());
    FB_CHECK(self.size(1) == vec.size(0), "mv: a matrix of shape ", self.sizes(), " and a vector of length ", vec.size(0), " cannot be multiplied");
    products::same_type("mv", self, vec);
    return T::empty({self.size(0)}, self.options());
  }
  static Tensor d_self(grad<0> g, in<1> vec) { return op<"outer">(*g, products::conj(vec)); }
  static Tensor d_vec(grad<0> g, in<0> self) { return op<"mv">(products::h(self), *g); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_vec>>;
};
FB_CARD(mv)

struct addmv : structured<addmv, symbolic> {
  static constexpr auto schema = "addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::fn_inplace | form::out;
  template <class T> static T meta(const T& self, const T& mat, const T& vec, Scalar beta, Scalar alpha) {
    FB_CHECK(mat.ndim() == 2 && vec.ndim() == 1 && self.ndim() <= 1, "addmv: expected a vector, a matrix and a vector, got shapes ", self.sizes(),
             ", ", mat.sizes(), " and ", vec.sizes());
    FB_CHECK(mat.size(1) == vec.size(0), "addmv: a matrix of shape ", mat.sizes(), " and a vector of length ", vec.size(0), " cannot be multiplied");
    products::same_type("addmv", mat, vec);
    products::check_added("addmv", self, {mat.size(0)}, mat);
    products::check_scales("addmv", beta, alpha, mat.dtype());
    return T::empty({mat.size(0)}, mat.options());
  }
  static Tensor d_self(grad<0> g, arg<3, Scalar> beta) { return products::times(g, products::conj(*beta)); }
  static Tensor d_mat(grad<0> g, in<2> vec, arg<4, Scalar> alpha) {
    return products::times(op<"outer">(*g, products::conj(vec)), products::conj(*alpha));
  }
  static Tensor d_vec(grad<0> g, in<1> mat, arg<4, Scalar> alpha) { return products::times(op<"mv">(products::h(mat), *g), products::conj(*alpha)); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_mat>, wrt<2, d_vec>>;
};
FB_CARD(addmv)

namespace products {
template <class T> T meta_dot(const char* op, const T& a, const T& b) {
  FB_CHECK(a.ndim() == 1 && b.ndim() == 1, op, ": expected two vectors (1-d), got shapes ", a.sizes(), " and ", b.sizes());
  FB_CHECK(a.dtype() == b.dtype(), op, ": expected both vectors to have the same dtype, got ", a.dtype(), " and ", b.dtype());
  FB_CHECK(a.size(0) == b.size(0), op, ": vectors of lengths ", a.size(0), " and ", b.size(0), " do not match");
  return T::empty({}, a.options());
}
}  // namespace products

struct dot : structured<dot, symbolic> {
  static constexpr auto schema = "dot(Tensor self, Tensor tensor) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0, 1);
  template <class T> static T meta(const T& self, const T& tensor) { return products::meta_dot("dot", self, tensor); }
  static Tensor d_self(grad<0> g, in<1> t) { return op<"mul">(*g, products::conj(t)); }
  static Tensor d_tensor(grad<0> g, in<0> s) { return op<"mul">(*g, products::conj(s)); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_tensor>>;
};
FB_CARD(dot)

struct vdot : structured<vdot, symbolic> {
  static constexpr auto schema = "vdot(Tensor self, Tensor other) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0, 1);
  template <class T> static T meta(const T& self, const T& other) { return products::meta_dot("vdot", self, other); }
  static Tensor d_self(grad<0> g, in<1> other) { return op<"mul">(products::conj(*g), *other); }
  static Tensor d_other(grad<0> g, in<0> self) { return op<"mul">(*g, *self); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_other>>;
};
FB_CARD(vdot)

}  // namespace fb::cards
