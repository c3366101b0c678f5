// Distances between all pairs of rows: cdist between two sets, pdist within one.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace pairs {
template <class T> void check_cdist(const T& a, const T& b, double p) {
  FB_CHECK(is_floating(a.dtype()) && is_floating(b.dtype()), "cdist: both inputs must be floating, their types are ", a.dtype(), " and ", b.dtype());
  FB_CHECK(a.dtype() == b.dtype(), "cdist: both inputs must have one type, theirs are ", a.dtype(), " and ", b.dtype());
  FB_CHECK(a.ndim() >= 2 && b.ndim() >= 2, "cdist: both inputs need at least 2 dimensions, their shapes are ", a.sizes(), " and ", b.sizes());
  FB_CHECK(a.size(-1) == b.size(-1), "cdist: the inputs' last dimensions differ, their shapes are ", a.sizes(), " and ", b.sizes());
  FB_CHECK(p >= 0, "cdist: p must not be negative, ", p, " was given");
}
template <class T> void check_kernel_type(const char* name, const T& a) {
  if (a.dtype() != DType::f32 && a.dtype() != DType::f64) raise_not_implemented(name, " is not implemented for type ", a.dtype());
}
// (batch..., P, D) and (batch..., R, D), the batch dimensions of both broadcast.
inline Dims batch_of(Ints a, Ints b) { return broadcast_sizes(a.slice(0, a.size() - 2), b.slice(0, b.size() - 2)); }
inline Dims with_rows(Dims batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}
}  // namespace pairs

// The gradient of the first set; that of the second is asked for with the sets exchanged.
struct cdist_backward : structured<cdist_backward> {
  static constexpr auto schema = "_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T& g, const T& a, const T& b, double p, const T& dist) {
    pairs::check_cdist(a, b, p);
    pairs::check_kernel_type("cdist", a);
    const Dims batch = pairs::batch_of(a.sizes(), b.sizes()), pair = pairs::with_rows(batch, a.size(-2), b.size(-2));
    FB_CHECK(Dims(g.sizes()) == pair && Dims(dist.sizes()) == pair && g.dtype() == a.dtype() && dist.dtype() == a.dtype(), "_cdist_backward: grad_output and cdist must have shape ", pair,
             " and type ", a.dtype(), ", they have ", g.sizes(), " ", g.dtype(), " and ", dist.sizes(), " ", dist.dtype());
    return T::empty(pairs::with_rows(batch, a.size(-2), a.size(-1)), a.options());
  }
  // In grad_output, both sets and the distances, which are a function of the sets by a rule of their own.
  static std::array<Tensor, 4> second(grad<0> u, in<0> g, in<1> a, in<2> b, arg<3, double> p, in<4> dist, needs want);
  using vjp = rules<joint<second, 0, 1, 2, 4>>;
};
FB_CARD(cdist_backward)
struct cdist_forward : structured<cdist_forward> {
  static constexpr auto schema = "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "CdistBackward0";
  template <class T> static T meta(const T& a, const T& b, double p, std::optional<int64_t>) {
    pairs::check_cdist(a, b, p);
    pairs::check_kernel_type("cdist", a);
    return T::empty(pairs::with_rows(pairs::batch_of(a.sizes(), b.sizes()), a.size(-2), b.size(-2)), a.options());
  }
  static Tensor d_x1(grad<0> g, in<0> a, in<1> b, arg<2, double> p, result<> dist) { return op<"_cdist_backward">(*g, *a, *b, *p, *dist); }
  static Tensor d_x2(grad<0> g, in<0> a, in<1> b, arg<2, double> p, result<> dist) {
    auto turned = [](const Tensor& t) { return op<"transpose">(t, int64_t(-2), int64_t(-1)); };
    return op<"_cdist_backward">(turned(*g), *b, *a, *p, turned(*dist));
  }
  using vjp = rules<wrt<0, d_x1>, wrt<1, d_x2>>;
};
FB_CARD(cdist_forward)

struct euclidean_dist : lowered<euclidean_dist> {
  static constexpr auto schema = "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  // |a|^2 - 2 a b + |b|^2 as one product.
  static Tensor lowering(const Tensor& a, const Tensor& b) {
    auto square = [](const Tensor& x) { return op<"sum">(op<"mul">(x, x), Dims{-1}, true); };
    const Tensor sa = square(a), sb = square(b);
    const Tensor left = op<"cat">(std::vector<Tensor>{op<"mul">(a, -2.0), sa, op<"ones_like">(sa)}, int64_t(-1));
    const Tensor right = op<"cat">(std::vector<Tensor>{b, op<"ones_like">(sb), sb}, int64_t(-1));
    return op<"sqrt">(op<"clamp_min">(op<"matmul">(left, op<"transpose">(right, int64_t(-2), int64_t(-1))), int64_t(0)));
  }
  static Tensor ratio(const Tensor& g, const Tensor& dist) {
    const Tensor none = op<"eq">(dist, int64_t(0));
    return op<"masked_fill">(op<"div">(g, op<"masked_fill">(dist, none, 1.0)), none, 0.0);
  }
  static Tensor d_x1(grad<0> g, in<0> a, in<1> b, result<> dist) {
    const Tensor r = ratio(*g, *dist);
    return op<"sub">(op<"mul">(*a, op<"sum">(r, Dims{-1}, true)), op<"matmul">(r, *b));
  }
  static Tensor d_x2(grad<0> g, in<0> a, in<1> b, result<> dist) {
    const Tensor r = ratio(*g, *dist);
    return op<"sub">(op<"mul">(*b, op<"unsqueeze">(op<"sum">(r, Dims{-2}, false), int64_t(-1))), op<"matmul">(op<"transpose">(r, int64_t(-2), int64_t(-1)), *a));
  }
  using vjp = rules<wrt<0, d_x1>, wrt<1, d_x2>>;
};
FB_CARD(euclidean_dist)

struct cdist : composite<cdist> {
  static constexpr auto schema = "cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& a, const Tensor& b, double p, std::optional<int64_t> compute_mode) {
    pairs::check_cdist(a, b, p);
    const int64_t mode = compute_mode.value_or(0), rows_a = a.size(-2), rows_b = b.size(-2), features = a.size(-1);
    FB_CHECK(mode >= 0 && mode <= 2, "cdist: compute_mode must be 0, 1 or 2, ", mode, " was given");
    if (p != 2 || mode == 2 || (mode == 0 && rows_a <= 25 && rows_b <= 25) || rows_a == 0 || rows_b == 0 || features == 0) return op<"_cdist_forward">(a, b, p, compute_mode);
    const Dims batch = pairs::batch_of(a.sizes(), b.sizes());
    const int64_t many = numel_of(batch);
    auto joined = [&](const Tensor& x, int64_t rows) { return op<"reshape">(op<"expand">(x, pairs::with_rows(batch, rows, features)), Dims{many, rows, features}); };
    return op<"view">(op<"_euclidean_dist">(joined(a, rows_a), joined(b, rows_b)), pairs::with_rows(batch, rows_a, rows_b));
  }
  static constexpr auto doc = R"(cdist(x1, x2, p=2.0, compute_mode=None) -> Tensor

The p-norms of the differences of each row of x1, (*, P, M), and each of x2, (*, R, M): (*, P, R), batches broadcast; inf
takes the greatest difference, 0 counts differences. Euclidean distances of more than 25 rows come from one matrix product
where compute_mode is 0 (the default), always where it is 1, never where it is 2.)";
};
FB_CARD(cdist)

struct pdist_backward : structured<pdist_backward> {
  static constexpr auto schema = "_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T& g, const T& x, double, const T& dist) {
    pairs::check_kernel_type("pdist", x);
    FB_CHECK(g.sizes() == dist.sizes() && g.dtype() == x.dtype() && dist.dtype() == x.dtype(), "_pdist_backward: grad has shape ", g.sizes(), ", pdist ", dist.sizes());
    return T::empty(x.sizes(), x.options());
  }
  static std::array<Tensor, 3> second(grad<0> u, in<0> g, in<1> x, arg<2, double> p, in<3> dist, needs want);
  using vjp = rules<joint<second, 0, 1, 3>>;
};
FB_CARD(pdist_backward)
struct pdist_forward : structured<pdist_forward> {
  static constexpr auto schema = "_pdist_forward(Tensor self, float p=2.) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static constexpr auto grad_name = "PdistBackward0";
  template <class T> static T meta(const T& x, double) {
    pairs::check_kernel_type("pdist", x);
    const int64_t n = x.sizes()[0];
    return T::empty({n < 2 ? 0 : n * (n - 1) / 2}, x.options());
  }
  static Tensor d_self(grad<0> g, in<0> x, arg<1, double> p, result<> dist) { return op<"_pdist_backward">(*g, *x, *p, *dist); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(pdist_forward)
struct pdist : composite<pdist> {
  static constexpr auto schema = "pdist(Tensor self, float p=2.) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  static Tensor body(const Tensor& x, double p) {
    FB_CHECK(x.ndim() == 2, "pdist: the input has 2 dimensions, its shape is ", x.sizes());
    FB_CHECK(is_floating(x.dtype()), "pdist: the input must be floating, its type is ", x.dtype());
    FB_CHECK(p >= 0, "pdist: p must not be negative, ", p, " was given");
    return op<"_pdist_forward">(op<"contiguous">(x), p);
  }
  static constexpr auto doc = R"(pdist(input, p=2.0) -> Tensor

The p-norms of the differences of all pairs of rows i < j of input, (N, M): (N (N - 1) / 2), row by row.)";
};
FB_CARD(pdist)

}  // namespace fb::cards
