// Complex tensors as real ones, and the lazy conj and neg bits.
#pragma once
#include "dispatch/call.h"
#include "ops/view/geometry.h"

namespace fb::cards {

struct view_as_real : view<view_as_real> {
  static constexpr auto schema = "view_as_real(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) {
    FB_CHECK(self.is_complex(), "view_as_real: takes a complex tensor, this one of shape ", self.sizes(), " is ", self.dtype());
    FB_CHECK(!self.is_conj(), "view_as_real: takes no lazily conjugated tensor (shape ", self.sizes(), "); resolve_conj() it first, which copies");
    auto g = same_geometry(self);
    for (int64_t i = 0; i < g.strides.size(); ++i) g.strides[i] *= 2;
    g.sizes.push_back(2);
    g.strides.push_back(1);
    g.offset *= 2;
    g.dtype = to_real(self.dtype());
    return g;
  }
  static Tensor d_self(grad<0> g) { return op<"view_as_complex">(op<"contiguous">(g)); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(view_as_real(input) -> Tensor

A view of a complex tensor as real numbers, with a last dimension of 2: real and imaginary part.)";
};
FB_CARD(view_as_real)

struct view_as_complex : view<view_as_complex> {
  static constexpr auto schema = "view_as_complex(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) {
    FB_CHECK(self.dtype() == DType::f32 || self.dtype() == DType::f64 || self.dtype() == DType::f16,
             "view_as_complex: takes float16, float32 and float64, this tensor of shape ", self.sizes(), " is ", self.dtype());
    auto g = same_geometry(self);
    const int64_t n = self.ndim();
    FB_CHECK(n > 0, "view_as_complex: a tensor without dimensions has no last dimension of size 2");
    FB_CHECK(self.sizes()[n - 1] == 2, "view_as_complex: the last dimension must have size 2, the shape is ", self.sizes());
    FB_CHECK(self.strides()[n - 1] == 1, "view_as_complex: the last stride must be 1, the strides are ", self.strides());
    FB_CHECK(g.offset % 2 == 0, "view_as_complex: the storage offset must be even, it is ", g.offset);
    g.sizes.pop_back();
    g.strides.pop_back();
    for (int64_t i = 0; i + 1 < n; ++i) {
      FB_CHECK(g.strides[i] % 2 == 0, "view_as_complex: all strides but the last must be even, they are ", self.strides());
      g.strides[i] /= 2;
    }
    g.offset /= 2;
    g.dtype = to_complex(self.dtype());
    return g;
  }
  static Tensor d_self(grad<0> g) { return op<"view_as_real">(op<"resolve_conj">(g)); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(view_as_complex(input) -> Tensor

A view of real numbers, whose last dimension has size 2, as complex ones.)";
};
FB_CARD(view_as_complex)

struct conj_view : view<conj_view> {
  static constexpr auto schema = "_conj(Tensor(a) self) -> Tensor(a)";
  static constexpr auto grad_name = "ConjBackward0";
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) {
    FB_CHECK(self.is_complex(), "_conj: takes a complex tensor, this one of shape ", self.sizes(), " is ", self.dtype());
    auto g = same_geometry(self);
    g.bits = ((self.is_conj() ? kConj : 0) | (self.is_neg() ? kNeg : 0)) ^ kConj;
    return g;
  }
  static Tensor d_self(grad<0> g) { return op<"conj">(g); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(conj_view)

struct neg_view : view<neg_view> {
  static constexpr auto schema = "_neg_view(Tensor(a) self) -> Tensor(a)";
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) {
    auto g = same_geometry(self);
    g.bits = ((self.is_conj() ? kConj : 0) | (self.is_neg() ? kNeg : 0)) ^ kNeg;
    return g;
  }
  static Tensor d_self(grad<0> g) { return op<"neg">(g); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(neg_view)

struct conj : composite<conj> {
  static constexpr auto schema = "conj(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) { return self.is_complex() ? op<"_conj">(self) : self; }
  static constexpr auto doc = R"(conj(input) -> Tensor

The complex conjugate, as a view that is conjugated when it is read; a real tensor is returned as it is.)";
};
FB_CARD(conj)

struct resolve_conj : composite<resolve_conj> {
  static constexpr auto schema = "resolve_conj(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) { return self.is_conj() ? op<"clone">(self) : self; }
};
FB_CARD(resolve_conj)

struct resolve_neg : composite<resolve_neg> {
  static constexpr auto schema = "resolve_neg(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) { return self.is_neg() ? op<"clone">(self) : self; }
};
FB_CARD(resolve_neg)

struct real : composite<real> {
  static constexpr auto schema = "real(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) {
    if (!self.is_complex()) return self;
    const Tensor plain = self.is_conj() ? op<"_conj">(self) : self;
    return op<"select">(op<"view_as_real">(plain), plain.ndim(), 0);
  }
  static constexpr auto doc = R"(real(input) -> Tensor

A view of the real parts; a real tensor is returned as it is.)";
};
FB_CARD(real)

struct imag : composite<imag> {
  static constexpr auto schema = "imag(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.is_complex(), "imag: takes a complex tensor, this one of shape ", self.sizes(), " is ", self.dtype());
    const Tensor plain = self.is_conj() ? op<"_conj">(self) : self;
    const Tensor part = op<"select">(op<"view_as_real">(plain), plain.ndim(), 1);
    return self.is_conj() ? op<"_neg_view">(part) : part;
  }
  static constexpr auto doc = R"(imag(input) -> Tensor

A view of the imaginary parts of a complex tensor.)";
};
FB_CARD(imag)

#define FB_BIT_QUESTION(name, answer)                                                  \
  struct name : composite<name> {                                                      \
    static constexpr auto schema = #name "(Tensor self) -> bool";                      \
    static bool body(const Tensor& self) { return answer; }                            \
  };                                                                                   \
  FB_CARD(name)
FB_BIT_QUESTION(is_conj, self.is_conj())
FB_BIT_QUESTION(is_neg, self.is_neg())
FB_BIT_QUESTION(is_complex, self.is_complex())
FB_BIT_QUESTION(is_floating_point, self.is_floating())
FB_BIT_QUESTION(is_signed, fb::is_signed(self.dtype()))
#undef FB_BIT_QUESTION

}  // namespace fb::cards
