// diff, the trapezoidal rule and numerical gradients: programs over other cards.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"

namespace fb::cards {

inline Tensor piece(const Tensor& x, int64_t dim, int64_t from, int64_t count) { return op<"narrow">(x, dim, from, count); }

struct diff : composite<diff> {
  static constexpr auto schema = "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts;
  static Tensor body(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
    FB_CHECK(self.ndim() >= 1, "diff: the input is a number; it needs at least one dimension");
    FB_CHECK(n >= 0, "diff: n is ", n, "; it must be at least 0");
    const int64_t d = wrap_dim(dim, self.ndim());
    std::vector<Tensor> parts;
    for (const Tensor* t : {&prepend, &self, &append}) {
      if (!t->defined()) continue;
      FB_CHECK(t->ndim() == self.ndim(), "diff: what is put before or behind has shape ", t->sizes(), ", the input ", self.sizes());
      for (int64_t i = 0; i < self.ndim(); ++i)
        FB_CHECK(i == d || t->sizes()[i] == self.sizes()[i], "diff: what is put before or behind has shape ", t->sizes(), ", the input ", self.sizes(),
                 "; they may differ in dimension ", d, " only");
      parts.push_back(*t);
    }
    Tensor x = parts.size() > 1 ? op<"cat">(parts, d) : self;
    if (n == 0) return op<"clone">(self);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t m = x.sizes()[d];
      if (m == 0) return x;
      const Tensor a = piece(x, d, 1, m - 1), b = piece(x, d, 0, m - 1);
      x = x.dtype() == DType::boolean ? op<"logical_xor">(a, b) : op<"sub">(a, b);
    }
    return x;
  }
  static constexpr auto doc = "diff(input, n=1, dim=-1, prepend=None, append=None) -> Tensor\n\nDifferences of neighbours along dim, n times over.";
};
FB_CARD(diff)

inline int64_t line_length(const Tensor& y, int64_t& dim) {
  dim = wrap_dim(dim, y.ndim());
  return y.ndim() ? y.sizes()[dim] : 1;
}
inline void check_trapezoid(const char* name, const Tensor& y) {
  FB_CHECK(y.dtype() != DType::boolean, name, ": y is bool, which has no differences");
}
// The points x broadcast against y, with the distances of neighbours along dim.
inline Tensor distances(const Tensor& y, const Tensor& x, int64_t dim) {
  FB_CHECK(x.dtype() != DType::boolean, "trapezoid: x is bool, which has no differences");
  if (x.ndim() == 1) {
    FB_CHECK(x.sizes()[0] == y.sizes()[dim], "trapezoid: x has ", x.sizes()[0], " points, y of shape ", y.sizes(), " has ", y.sizes()[dim], " along dimension ", dim);
    Dims shape(y.ndim(), 1);
    shape[dim] = x.sizes()[0];
    const Tensor v = op<"view">(x, shape);
    return op<"sub">(piece(v, dim, 1, x.sizes()[0] - 1), piece(v, dim, 0, x.sizes()[0] - 1));
  }
  Tensor v = x;
  while (v.ndim() < y.ndim()) v = op<"unsqueeze">(v, int64_t(0));
  const int64_t d = dim + v.ndim() - y.ndim(), n = v.sizes()[d];
  return op<"sub">(piece(v, d, 1, n - 1), piece(v, d, 0, n - 1));
}
inline Tensor zero_area(const Tensor& y, int64_t dim) {
  Dims sizes(y.sizes());
  sizes.erase(dim);
  return op<"new_zeros">(y, sizes);
}

#define FB_TRAPEZOID(NAME, NUMBER, DEFAULT)                                                                           \
  struct NAME##_x : composite<NAME##_x> {                                                                             \
    static constexpr auto schema = #NAME ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor";                           \
    static constexpr uint32_t forms = form::fn;                                                                       \
    static Tensor body(const Tensor& y, const Tensor& x, int64_t dim) {                                               \
      const int64_t n = line_length(y, dim);                                                                          \
      if (n == 0) return zero_area(y, dim);                                                                           \
      check_trapezoid(#NAME, y);                                                                                      \
      const Tensor dx = distances(y, x, dim);                                                                         \
      const Tensor s = op<"add">(piece(y, dim, 0, n - 1), piece(y, dim, 1, n - 1));                                   \
      return op<"div">(op<"sum">(op<"mul">(s, dx), Dims{dim}), Scalar(2.0));                                          \
    }                                                                                                                 \
    static constexpr auto doc = #NAME "(y, x=None, *, dx=1, dim=-1) -> Tensor\n\nIntegral of y along dim by the trapezoidal rule."; \
  };                                                                                                                  \
  FB_CARD(NAME##_x)                                                                                                   \
  struct NAME##_dx : composite<NAME##_dx> {                                                                           \
    static constexpr auto schema = #NAME ".dx(Tensor y, *, " NUMBER " dx=" DEFAULT ", int dim=-1) -> Tensor";         \
    static constexpr uint32_t forms = form::fn;                                                                       \
    static Tensor body(const Tensor& y, Scalar dx, int64_t dim) {                                                     \
      const int64_t n = line_length(y, dim);                                                                          \
      if (n == 0) return zero_area(y, dim);                                                                           \
      check_trapezoid(#NAME, y);                                                                                      \
      FB_CHECK(!dx.is_boolean(), #NAME ": dx is a bool");                                                             \
      const Tensor s = op<"add">(piece(y, dim, 0, n - 1), piece(y, dim, 1, n - 1));                                   \
      return op<"mul">(op<"div">(op<"sum">(s, Dims{dim}), Scalar(2.0)), dx);                                          \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME##_dx)
FB_TRAPEZOID(trapezoid, "Scalar", "1")
FB_TRAPEZOID(trapz, "float", "1.")
#undef FB_TRAPEZOID

struct cumulative_trapezoid_x : composite<cumulative_trapezoid_x> {
  static constexpr auto schema = "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& y, const Tensor& x, int64_t dim) {
    const int64_t n = line_length(y, dim);
    check_trapezoid("cumulative_trapezoid", y);
    const Tensor dx = distances(y, x, dim);
    const Tensor s = op<"add">(piece(y, dim, 1, n - 1), piece(y, dim, 0, n - 1));
    return op<"div">(op<"cumsum">(op<"mul">(dx, s), dim), Scalar(2.0));
  }
  static constexpr auto doc = "cumulative_trapezoid(y, x=None, *, dx=1, dim=-1) -> Tensor\n\nIntegrals of y along dim up to each point, by the trapezoidal rule.";
};
FB_CARD(cumulative_trapezoid_x)
struct cumulative_trapezoid_dx : composite<cumulative_trapezoid_dx> {
  static constexpr auto schema = "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& y, Scalar dx, int64_t dim) {
    const int64_t n = line_length(y, dim);
    check_trapezoid("cumulative_trapezoid", y);
    FB_CHECK(!dx.is_boolean(), "cumulative_trapezoid: dx is a bool");
    const Tensor s = op<"add">(piece(y, dim, 1, n - 1), piece(y, dim, 0, n - 1));
    return op<"mul">(op<"cumsum">(s, dim), dx.is_complex() ? Scalar(cdouble(dx.to_complex().re / 2, dx.to_complex().im / 2)) : Scalar(dx.to_double() / 2));
  }
};
FB_CARD(cumulative_trapezoid_dx)

}  // namespace fb::cards
