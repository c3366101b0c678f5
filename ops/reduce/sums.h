// sum nansum mean nanmean prod count_nonzero trace.
#pragma once
#include "dispatch/call.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "ops/reduce/passes.h"

namespace fb::cards {

struct sum : structured<sum, symbolic> {
  static constexpr auto schema = "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor";
  using passes = fb::passes::sum;
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, DType dtype) { return reduced(self, {}, false, sum_type(self.dtype(), dtype)); }
  static Tensor d_self(grad<0> g, shape_of<0> self) { return op<"expand">(*g, self.sizes()); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(sum(input, dim=None, keepdim=False, *, dtype=None) -> Tensor

Sum of all elements, or over the dimensions dim, which vanish unless keepdim. Sums of integers are int64; dtype, where
given, is what elements are converted to first. half and bfloat16 add up in float and round once. The order of additions
is fixed: the same bits for any strides and any number of threads.)";
};
FB_CARD(sum)
struct sum_dim : structured<sum_dim, symbolic> {
  static constexpr auto schema = "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  static constexpr auto aliases = ".IntList_out";
  using passes = fb::passes::sum;
  static constexpr uint32_t forms = structured<sum_dim>::forms | form::out_converts | form::out_repeated;
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, Ints dim, bool keepdim, DType dtype) {
    return reduced(self, dim, keepdim, sum_type(self.dtype(), dtype));
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, arg<1, Ints> dim, arg<2, bool> keepdim) {
    return spread_over(*g, self.sizes(), *dim, *keepdim);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(sum_dim)

struct nansum : structured<nansum, symbolic> {
  static constexpr auto schema = "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  using passes = fb::passes::nansum;
  static constexpr uint32_t forms = structured<nansum>::forms | form::out_converts | form::out_repeated;
  template <class T> static T meta(const T& self, Ints dim, bool keepdim, DType dtype) {
    FB_CHECK(!self.is_complex(), "nansum: the input is ", self.dtype(), "; complex types have no such sum");
    return reduced(self, dim, keepdim, sum_type(self.dtype(), dtype));
  }
  static Tensor d_self(grad<0> g, in<0> self, arg<1, Ints> dim, arg<2, bool> keepdim) {
    return op<"mul">(spread_over(*g, self->sizes(), *dim, *keepdim), op<"eq">(*self, *self));
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(nansum(input, dim=None, keepdim=False, *, dtype=None) -> Tensor

Sum in which NaN counts as zero.)";
};
FB_CARD(nansum)

struct mean : structured<mean, symbolic> {
  static constexpr auto schema = "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor";
  static constexpr auto aliases = ".dtype_out";
  using passes = fb::passes::mean;
  static constexpr uint32_t forms = structured<mean>::forms | form::out_converts;
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, DType dtype) { return reduced(self, {}, false, mean_type(self.dtype(), dtype, "mean")); }
  static Tensor d_self(grad<0> g, shape_of<0> self) {
    return op<"div">(op<"expand">(*g, self.sizes()), Scalar(numel_of(self.sizes())));
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(mean(input, dim=None, keepdim=False, *, dtype=None) -> Tensor

Arithmetic mean of all elements, or over dim. Takes floating and complex types; the mean of nothing is NaN.)";
};
FB_CARD(mean)
struct mean_dim : structured<mean_dim, symbolic> {
  static constexpr auto schema = "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  static constexpr auto aliases = ".out";
  using passes = fb::passes::mean;
  static constexpr uint32_t forms = structured<mean_dim>::forms | form::out_converts;
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, Ints dim, bool keepdim, DType dtype) {
    return reduced(self, dim, keepdim, mean_type(self.dtype(), dtype, "mean"));
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, arg<1, Ints> dim, arg<2, bool> keepdim) {
    const int64_t n = numel_of(self.sizes()), kept = g->numel();
    return op<"div">(spread_over(*g, self.sizes(), *dim, *keepdim), Scalar(kept ? n / kept : int64_t(1)));
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(mean_dim)

struct nanmean : composite<nanmean> {
  static constexpr auto schema = "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_converts;
  static Tensor body(const Tensor& self, std::optional<Ints> dim, bool keepdim, DType dtype) {
    mean_type(self.dtype(), DType::none, "nanmean");
    const Tensor count = op<"sum">(op<"logical_not">(op<"isnan">(op<"detach">(self))), dim, keepdim);
    return op<"div">(op<"nansum">(self, dim, keepdim, dtype), count);
  }
  static constexpr auto doc = R"(nanmean(input, dim=None, keepdim=False, *, dtype=None) -> Tensor

Mean of the elements that are not NaN.)";
};
FB_CARD(nanmean)

struct prod : structured<prod, symbolic> {
  static constexpr auto schema = "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor";
  using passes = fb::passes::prod;
  template <class T> static T meta(const T& self, DType dtype) { return reduced(self, {}, false, sum_type(self.dtype(), dtype)); }
  static Tensor d_self(grad<0> g, in<0> self, result<> out) {
    if (self->ndim() <= 1) return prod_gradient(*g, self->ndim() ? *self : op<"reshape">(*self, Dims{1}), *out, 0);
    return op<"reshape">(prod_gradient(*g, op<"reshape">(*self, Dims{-1}), *out, 0), self->sizes());
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(prod(input, dim=None, keepdim=False, *, dtype=None) -> Tensor

Product of all elements, or over one dimension. Products of integers are int64 and wrap.)";
};
FB_CARD(prod)
struct prod_dim : structured<prod_dim, symbolic> {
  static constexpr auto schema = "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor";
  static constexpr auto aliases = ".int_out";
  using passes = fb::passes::prod;
  static constexpr uint32_t forms = structured<prod_dim>::forms | form::out_converts | form::out_repeated;
  template <class T> static T meta(const T& self, int64_t dim, bool keepdim, DType dtype) {
    return reduced(self, {dim}, keepdim, sum_type(self.dtype(), dtype));
  }
  static Tensor d_self(grad<0> g, in<0> self, result<> out, arg<1, int64_t> dim, arg<2, bool> keepdim) {
    if (self->ndim() == 0) return *g;
    const Dims dims{*dim};
    return prod_gradient(with_kept_dims(*g, self->ndim(), dims, *keepdim), *self, with_kept_dims(*out, self->ndim(), dims, *keepdim), *dim);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(prod_dim)

struct count_nonzero : structured<count_nonzero, symbolic> {
  static constexpr auto schema = "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor";
  using passes = fb::passes::count_nonzero;
  template <class T> static T meta(const T& self, Ints dim) {
    return T::empty(reduced_sizes(self.sizes(), reduce_mask(dim, self.ndim()), false), {DType::i64, self.device()});
  }
  static constexpr auto doc = R"(count_nonzero(input, dim=None) -> Tensor

How many elements differ from zero, as int64.)";
};
FB_CARD(count_nonzero)
struct count_nonzero_dim : composite<count_nonzero_dim> {
  static constexpr auto schema = "count_nonzero(Tensor self, int? dim=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self, std::optional<int64_t> dim) {
    return op<"count_nonzero.dim_IntList">(self, dim ? Dims{*dim} : Dims{});
  }
};
FB_CARD(count_nonzero_dim)

struct trace : structured<trace, symbolic> {
  static constexpr auto schema = "trace(Tensor self) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self) {
    FB_CHECK(self.ndim() == 2, "trace takes a matrix, the input has shape ", self.sizes());
    return T::empty({}, {sum_type(self.dtype(), DType::none), self.device()});
  }
  static Tensor d_self(grad<0> g, shape_of<0> self) {
    const Tensor eye = op<"eye">(self.sizes()[0], self.sizes()[1], self->options.dtype, std::nullopt, self->options.device);
    return op<"mul">(*g, eye);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "trace(input) -> Tensor\n\nSum of the main diagonal of a matrix.";
};
FB_CARD(trace)

struct sum_to_size : composite<sum_to_size> {
  static constexpr auto schema = "sum_to_size(Tensor self, int[] size) -> Tensor";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, Ints size) {
    FB_CHECK(is_expandable_to(size, self.sizes()), "sum_to_size: size ", size, " does not broadcast to the input's shape ", self.sizes());
    if (size.n == 0) return op<"sum">(self);
    Dims dims;
    const int64_t lead = self.ndim() - size.n;
    for (int64_t d = 0; d < self.ndim(); ++d)
      if (d < lead || (size[d - lead] == 1 && self.sizes()[d] != 1)) dims.push_back(d);
    const Tensor r = dims.empty() ? self : op<"sum">(self, dims, true);
    return lead > 0 ? op<"view">(r, size) : r;
  }
  static constexpr auto doc = "sum_to_size(*size) -> Tensor\n\nSums over the dimensions that broadcasting size to this shape would repeat.";
};
FB_CARD(sum_to_size)

}  // namespace fb::cards
