// sort, argsort, msort, topk.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "ops/create/copy.h"

namespace fb::cards {

inline Tensor sorted_gradient(const Tensor& g, Ints sizes, int64_t dim, const Tensor& indices) {
  const Tensor zero = op<"new_zeros">(g, sizes);
  return op<"scatter_">(zero, dim, indices, g);
}

struct sort_stable : structured<sort_stable, symbolic> {
  static constexpr auto schema =
      "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)";
  static constexpr auto aliases = ".values_stable";
  static constexpr uint32_t forms = structured<sort_stable>::forms | form::out_same_or_apart;
  static constexpr auto grad_name = "SortBackward0";
  template <class T> static std::array<T, 2> meta(const T& self, std::optional<bool>, int64_t dim, bool) {
    wrap_dim(dim, self.ndim());
    FB_CHECK(!self.is_complex(), "sort: the input is ", self.dtype(), ", complex numbers have no order");
    const T values = empty_as(self, self.options(), MemoryFormat::preserve);
    return {values, T::empty_strided(values.sizes(), values.strides(), {DType::i64, self.device()})};
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<2, int64_t> dim) { return sorted_gradient(*g, self.sizes(), *dim, *indices); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(sort(input, dim=-1, descending=False, *, stable=False, out=None) -> (values, indices)

input sorted along dim and where each element came from. Equal elements keep their order; NaN counts as greatest.)";
};
FB_CARD(sort_stable)
struct sort_plain : composite<sort_plain> {
  static constexpr auto schema = "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)";
  static constexpr auto aliases = ".values";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_same_or_apart;
  static std::array<Tensor, 2> body(const Tensor& self, int64_t dim, bool descending) {
    return ops<"sort.stable", 2>(self, false, dim, descending);
  }
};
FB_CARD(sort_plain)
struct argsort : composite<argsort> {
  static constexpr auto schema = "argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor";
  static constexpr uint32_t forms = composite<argsort>::forms | form::out_converts;
  static Tensor body(const Tensor& self, int64_t dim, bool descending) { return ops<"sort.stable", 2>(self, false, dim, descending)[1]; }
  static constexpr auto doc = "argsort(input, dim=-1, descending=False, *, stable=False) -> Tensor\n\nThe indices of sort(input, dim, descending).";
};
FB_CARD(argsort)
struct argsort_stable : composite<argsort_stable> {
  static constexpr auto schema = "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor";
  static constexpr uint32_t forms = composite<argsort_stable>::forms | form::out_converts;
  static Tensor body(const Tensor& self, bool stable, int64_t dim, bool descending) { return ops<"sort.stable", 2>(self, stable, dim, descending)[1]; }
};
FB_CARD(argsort_stable)
struct msort : composite<msort> {
  static constexpr auto schema = "msort(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_same_or_apart;
  static Tensor body(const Tensor& self) { return ops<"sort.stable", 2>(self, false, int64_t(0), false)[0]; }
  static constexpr auto doc = "msort(input, *, out=None) -> Tensor\n\ninput sorted along its first dimension.";
};
FB_CARD(msort)

struct topk : structured<topk, symbolic> {
  static constexpr auto schema = "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)";
  static constexpr auto aliases = ".values";
  static constexpr uint32_t forms = structured<topk>::forms | form::out_same_or_apart;
  template <class T> static std::array<T, 2> meta(const T& self, int64_t k, int64_t dim, bool, bool) {
    FB_CHECK(!self.is_complex(), "topk: the input is ", self.dtype(), ", complex numbers have no order");
    const int64_t d = wrap_dim(dim, self.ndim());
    const typename T::Int n = self.ndim() ? self.sizes()[d] : typename T::Int(1);
    FB_CHECK(k >= 0 && k <= n, "topk: k is ", k, ", it must be between 0 and ", n, ", the size of dimension ", d, " of the input");
    typename T::Sizes sizes(self.sizes());
    if (sizes.size()) sizes[d] = k;
    return {T::empty(sizes, self.options()), T::empty(sizes, {DType::i64, self.device()})};
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<2, int64_t> dim) { return sorted_gradient(*g, self.sizes(), *dim, *indices); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(topk(input, k, dim=-1, largest=True, sorted=True, *, out=None) -> (values, indices)

The k greatest (or least) elements along dim, in order, and where they came from. NaN counts as greatest.)";
};
FB_CARD(topk)

}  // namespace fb::cards
