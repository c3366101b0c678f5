// median nanmedian mode kthvalue quantile nanquantile.
#pragma once
#include "dispatch/call.h"
#include "dispatch/out_rule.h"
#include "ops/reduce/shape.h"

namespace fb::cards {

inline void check_sortable(const char* name, DType d, bool boolean) {
  if (is_complex(d) || (d == DType::boolean && !boolean) || d == DType::u16 || d == DType::u32 || d == DType::u64 || is_float8(d))
    raise_not_implemented(name, " is not there for type ", d);
}
template <class T> std::array<T, 2> value_and_place(const char* name, const T& self, int64_t dim, bool keepdim, bool boolean = false) {
  const uint64_t mask = reduce_mask({dim}, self.ndim());
  check_reduces_something(name, self.sizes(), mask, true);
  check_sortable(name, self.dtype(), boolean);
  return {reduced(self, {dim}, keepdim, self.dtype()), reduced(self, {dim}, keepdim, DType::i64)};
}

#define FB_MEDIAN(NAME, TEXT)                                                                                         \
  struct NAME : structured<NAME, symbolic> {                                                                                    \
    static constexpr auto schema = #NAME "(Tensor self) -> Tensor";                                                   \
    static constexpr uint32_t forms = form::fn | form::method;                                                        \
    template <class T> static T meta(const T& self) {                                                                 \
      check_sortable(#NAME, self.dtype(), false);                                                                     \
      return reduced(self, {}, false, self.dtype());                                                                  \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, in<0> self, result<> out) { return shared_by_ties(*g, *self, *out, {}, false); }  \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
    static constexpr auto doc = #NAME "(input) -> Tensor\n" #NAME "(input, dim, keepdim=False) -> (values, indices)\n\n" TEXT; \
  };                                                                                                                  \
  FB_CARD(NAME)                                                                                                       \
  struct NAME##_dim : structured<NAME##_dim, symbolic> {                                                                        \
    static constexpr auto schema = #NAME ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"; \
    static constexpr auto aliases = ".dim_values";                                                                    \
    template <class T> static std::array<T, 2> meta(const T& self, int64_t dim, bool keepdim) {                       \
      return value_and_place(#NAME, self, dim, keepdim);                                                              \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<1, int64_t> dim, arg<2, bool> keepdim) { \
      return selected_gradient(*g, *dim, *indices, self.sizes(), *keepdim);                                           \
    }                                                                                                                 \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
  };                                                                                                                  \
  FB_CARD(NAME##_dim)
FB_MEDIAN(median, "The lower of the two middle elements where their number is even; NaN where there is one.")
FB_MEDIAN(nanmedian, "Median of what is not NaN, the lower one where their number is even.")
#undef FB_MEDIAN

struct mode : structured<mode, symbolic> {
  static constexpr auto schema = "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto aliases = ".values";
  static constexpr uint32_t forms = structured<mode>::forms | form::out_same_or_apart;
  template <class T> static std::array<T, 2> meta(const T& self, int64_t dim, bool keepdim) {
    return value_and_place("mode", self, dim, keepdim, true);
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<1, int64_t> dim, arg<2, bool> keepdim) {
    return selected_gradient(*g, *dim, *indices, self.sizes(), *keepdim);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "mode(input, dim=-1, keepdim=False) -> (values, indices)\n\nThe most frequent value along dim, the least of several, and its last place.";
};
FB_CARD(mode)

struct kthvalue : structured<kthvalue, symbolic> {
  static constexpr auto schema = "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)";
  static constexpr auto aliases = ".values";
  static constexpr uint32_t forms = structured<kthvalue>::forms | form::out_apart;
  template <class T> static std::array<T, 2> meta(const T& self, int64_t k, int64_t dim, bool keepdim) {
    const int64_t d = wrap_dim(dim, self.ndim());
    const typename T::Int n = self.ndim() ? self.sizes()[d] : typename T::Int(1);
    auto r = value_and_place("kthvalue", self, dim, keepdim);
    FB_CHECK(k >= 1 && k <= n, "kthvalue: k is ", k, "; dimension ", dim, " of shape ", self.sizes(), " has ", n, " elements");
    return r;
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, result<1> indices, arg<2, int64_t> dim, arg<3, bool> keepdim) {
    return selected_gradient(*g, *dim, *indices, self.sizes(), *keepdim);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = "kthvalue(input, k, dim=-1, keepdim=False) -> (values, indices)\n\nThe k-th smallest element along dim, counted from 1; NaN is the greatest.";
};
FB_CARD(kthvalue)

// q is a number or a row of them; the result has a leading dimension for the row.
Tensor quantile_of(const char* name, const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation,
                   bool skip_nan);
Tensor quantile_scalar(const char* name, const Tensor& self, double q);

#define FB_QUANTILE(NAME, SKIP, TEXT)                                                                                 \
  struct NAME##_number : composite<NAME##_number> {                                                                   \
    static constexpr auto schema = #NAME ".scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"; \
    static constexpr uint32_t forms = form::fn | form::method | form::out;                                            \
    static Tensor body(const Tensor& self, double q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) { \
      return quantile_of(#NAME, self, quantile_scalar(#NAME, self, q), dim, keepdim, interpolation, SKIP);            \
    }                                                                                                                 \
    static constexpr auto doc = #NAME "(input, q, dim=None, keepdim=False, *, interpolation='linear') -> Tensor\n\n" TEXT; \
  };                                                                                                                  \
  FB_CARD(NAME##_number)                                                                                              \
  struct NAME : composite<NAME> {                                                                                     \
    static constexpr auto schema = #NAME "(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"; \
    static constexpr uint32_t forms = form::fn | form::method | form::out;                                            \
    static Tensor body(const Tensor& self, const Tensor& q, std::optional<int64_t> dim, bool keepdim, std::string_view interpolation) { \
      return quantile_of(#NAME, self, q, dim, keepdim, interpolation, SKIP);                                          \
    }                                                                                                                 \
  };                                                                                                                  \
  FB_CARD(NAME)
FB_QUANTILE(quantile, false, "The q-quantiles along dim, between neighbours as interpolation says: linear, lower, higher, midpoint, nearest.")
FB_QUANTILE(nanquantile, true, "Quantiles of what is not NaN.")
#undef FB_QUANTILE

}  // namespace fb::cards
