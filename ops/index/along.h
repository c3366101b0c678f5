// Along one dimension: index_select, index_add, index_copy, index_fill; on the flattened tensor: take, put.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "dispatch/trace.h"
#include "ops/create/fill.h"
#include "ops/index/reads.h"
#include "ops/math/fits.h"

namespace fb::cards {

template <class T> void check_index_vector(const char* name, const T& index) {
  FB_CHECK(index.dtype() == DType::i64 || index.dtype() == DType::i32, name, ": index is ", index.dtype(), ", it must be int64 or int32");
  FB_CHECK_INDEX(index.ndim() <= 1, name, ": index must be a vector, its shape is ", index.sizes());
}
template <class I> SmallVec<I, 6> with_size(Span<I> sizes, int64_t dim, std::type_identity_t<I> n) {
  SmallVec<I, 6> r(sizes);
  if (r.size()) r[dim] = n;
  return r;
}

struct index_select : structured<index_select, symbolic> {
  static constexpr auto schema = "index_select(Tensor self, int dim, Tensor index) -> Tensor";
  static constexpr uint32_t forms = structured<index_select>::forms | form::out_apart | form::out_single;
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, int64_t dim, const T& index) {
    check_index_vector("index_select", index);
    FB_CHECK_INDEX(self.ndim() > 0 || index.numel() == 1, "index_select: index of a tensor without dimensions must have one element, it has ", index.numel());
    return T::empty(with_size(self.sizes(), wrap_dim(dim, self.ndim()), index.numel()), self.options());
  }
  static ReadRule read_rule(const Value* args) { return {0, 2, args[1].integer(), ReadRule::along}; }
  static Tensor d_self(grad<0> g, shape_of<0> self, arg<1, int64_t> dim, in<2> index) {
    return op<"index_add_">(op<"new_zeros">(*g, self.sizes()), *dim, *index, *g);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(index_select(input, dim, index, *, out=None) -> Tensor

The entries of input along dim that index, a vector of ints, names. IndexError outside [0, size).)";
};
FB_CARD(index_select)

// self and source agree in every dimension but dim, where source has one entry for each index.
inline void check_along(const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_index_vector(name, index);
  FB_CHECK(self.dtype() == source.dtype(), name, ": self is ", self.dtype(), " and source is ", source.dtype(), "; both must have one type");
  FB_CHECK(!has_internal_overlap(self), name, ": several indices of self, of shape ", self.sizes(), ", share an element; clone it first");
  const int64_t d = wrap_dim(dim, self.ndim());
  const int64_t n = source.ndim() ? source.ndim() == self.ndim() ? source.sizes()[d] : -1 : 1;
  FB_CHECK(n == index.numel() && (source.ndim() == self.ndim() || source.ndim() + self.ndim() <= 1), name, ": source of shape ", source.sizes(),
           " must have ", index.numel(), " entries along dimension ", dim, ", one for each index, self has shape ", self.sizes());
  for (int64_t i = 0; i < self.ndim() && source.ndim() == self.ndim(); ++i)
    FB_CHECK(i == d || self.sizes()[i] == source.sizes()[i], name, ": self of shape ", self.sizes(), " and source of shape ", source.sizes(),
             " differ at dimension ", i);
}

struct index_add_ : direct<index_add_> {
  static constexpr auto schema = "index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "IndexAddBackward0";
  static void check(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
    check_along("index_add_", self, dim, index, source);
    check_fits("index_add_", alpha, self.dtype());
  }
  static Tensor d_self(grad<0> g) { return g; }
  static Tensor d_source(grad<0> g, arg<1, int64_t> dim, in<2> index, shape_of<3> source, arg<4, Scalar> alpha) {
    const Tensor r = op<"index_select">(*g, *dim, *index);
    return op<"reshape">(alpha->is_integral() && alpha->to_int() == 1 ? r : op<"mul">(r, *alpha), source.sizes());
  }
  using vjp = rules<wrt<0, d_self>, wrt<3, d_source>>;
};
FB_CARD(index_add_)
struct index_add : lowered<index_add> {
  static constexpr auto schema = "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor";
  static constexpr uint32_t forms = lowered<index_add>::forms | form::out_apart;
  static constexpr auto grad_name = "IndexAddBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
    return op<"index_add_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, source, alpha);
  }
  using vjp = index_add_::vjp;
  static constexpr auto doc = R"(index_add(input, dim, index, source, *, alpha=1, out=None) -> Tensor

input with alpha times the entries of source added to the entries along dim that index names, in the order of index.)";
};
FB_CARD(index_add)

struct index_copy_ : direct<index_copy_> {
  static constexpr auto schema = "index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "IndexCopyBackward0";
  static void check(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) { check_along("index_copy_", self, dim, index, source); }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim, in<2> index) { return op<"index_fill">(*g, *dim, *index, Scalar(0)); }
  static Tensor d_source(grad<0> g, arg<1, int64_t> dim, in<2> index, shape_of<3> source) {
    return op<"reshape">(op<"index_select">(*g, *dim, *index), source.sizes());
  }
  using vjp = rules<wrt<0, d_self>, wrt<3, d_source>>;
};
FB_CARD(index_copy_)
struct index_copy : lowered<index_copy> {
  static constexpr auto schema = "index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor";
  static constexpr uint32_t forms = lowered<index_copy>::forms | form::out_apart;
  static constexpr auto grad_name = "IndexCopyBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
    return op<"index_copy_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, source);
  }
  using vjp = index_copy_::vjp;
  static constexpr auto doc = R"(index_copy(input, dim, index, source, *, out=None) -> Tensor

input with the entries along dim that index names replaced by those of source.)";
};
FB_CARD(index_copy)

struct index_fill_ : direct<index_fill_> {
  static constexpr auto schema = "index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "IndexFillBackward0";
  static void check(const Tensor& self, int64_t, const Tensor& index, const Scalar& value) {
    FB_CHECK_INDEX(index.dtype() == DType::i64 || index.dtype() == DType::i32, "index_fill_: index is ", index.dtype(), ", it must be int64 or int32");
    check_index_vector("index_fill_", index);
    FB_CHECK(!value.is_complex() || self.is_complex(), "index_fill_: value ", value, " is complex, self is ", self.dtype());
    warn_repeated("index_fill_", self);
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim, in<2> index) { return op<"index_fill">(*g, *dim, *index, Scalar(0)); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(index_fill_)
struct index_fill : lowered<index_fill> {
  static constexpr auto schema = "index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr auto grad_name = "IndexFillBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
    return op<"index_fill_">(op<"clone">(self, MemoryFormat::preserve), dim, index, value);
  }
  using vjp = index_fill_::vjp;
  static constexpr auto doc = R"(index_fill(input, dim, index, value) -> Tensor

input with value, a number or a tensor without dimensions, in the entries along dim that index names.)";
};
FB_CARD(index_fill)
inline Scalar index_fill_number(const Tensor& value) {
  FB_CHECK(value.ndim() == 0, "index_fill: value must be a number or a tensor without dimensions, its shape is ", value.sizes());
  if (tracer && (value->flags & kTraced)) raise_not_implemented("index_fill: the value of a tensor cannot be followed without its element");
  return value.is_meta() ? Scalar(0) : op_value<"item">(value).scalar();
}
struct index_fill_tensor : lowered<index_fill_tensor> {
  static constexpr auto schema = "index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr auto grad_name = "IndexFillBackward1";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
    return op<"index_fill">(self, dim, index, index_fill_number(value));
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim, in<2> index) { return op<"index_fill">(*g, *dim, *index, Scalar(0)); }
  static Tensor d_value(grad<0> g, arg<1, int64_t> dim, in<2> index) { return op<"sum">(op<"sub">(*g, d_self(g, dim, index))); }
  using vjp = rules<wrt<0, d_self>, wrt<3, d_value>>;
};
FB_CARD(index_fill_tensor)
struct index_fill_tensor_ : lowered<index_fill_tensor_> {
  static constexpr auto schema = "index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "IndexFillBackward1";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
    return op<"index_fill_">(self, dim, index, index_fill_number(value));
  }
  using vjp = index_fill_tensor::vjp;
};
FB_CARD(index_fill_tensor_)

struct take : lowered<take> {
  static constexpr auto schema = "take(Tensor self, Tensor index) -> Tensor";
  static constexpr uint32_t forms = lowered<take>::forms | form::out_apart | form::out_single;
  static Tensor lowering(const Tensor& self, const Tensor& index) {
    FB_CHECK(index.dtype() == DType::i64, "take: index is ", index.dtype(), ", it must be int64");
    const Tensor flat = op<"_unsafe_index">(op<"reshape">(self, Ints{-1}), std::vector<Tensor>{op<"reshape">(index, Ints{-1})});
    return op<"reshape">(flat, index.sizes());
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, in<1> index) { return op<"put_">(op<"new_zeros">(*g, self.sizes()), *index, *g, true); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(take(input, index, *, out=None) -> Tensor

The elements of the flattened input at index (int64), shaped as index.)";
};
FB_CARD(take)

struct put_ : direct<put_> {
  static constexpr auto schema = "put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "PutBackward0";
  static void check(const Tensor& self, const Tensor& index, const Tensor& source, bool) {
    FB_CHECK(index.dtype() == DType::i64, "put_: index is ", index.dtype(), ", it must be int64");
    FB_CHECK(self.dtype() == source.dtype(), "put_: self is ", self.dtype(), " and source is ", source.dtype(), "; both must have one type");
    FB_CHECK_INDEX(index.numel() == source.numel(), "put_: index of shape ", index.sizes(), " and source of shape ", source.sizes(),
                   " must have as many elements");
    FB_CHECK(!has_internal_overlap(self), "put_: several indices of self, of shape ", self.sizes(), ", share an element; clone it first");
    for (const Tensor* t : {&index, &source})
      FB_CHECK(!may_overlap(self, *t) || !self.is_non_overlapping_and_dense() || !t->is_non_overlapping_and_dense(), "put_: self of shape ",
               self.sizes(), " shares memory with ", t == &index ? "index" : "source", " of shape ", t->sizes(), "; clone() one of them first");
  }
  static Tensor d_self(grad<0> g, in<1> index, shape_of<2> source, arg<3, bool> accumulate) {
    return *accumulate ? *g : op<"put">(*g, *index, op<"new_zeros">(*g, source.sizes()), false);
  }
  static Tensor d_source(grad<0> g, in<1> index, shape_of<2> source) { return op<"reshape">(op<"take">(*g, *index), source.sizes()); }
  using vjp = rules<wrt<0, d_self>, wrt<2, d_source>>;
};
FB_CARD(put_)
struct put : lowered<put> {
  static constexpr auto schema = "put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr auto grad_name = "PutBackward0";
  static Tensor lowering(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
    return op<"put_">(op<"clone">(self, MemoryFormat::preserve), index, source, accumulate);
  }
  using vjp = put_::vjp;
  static constexpr auto doc = R"(put(input, index, source, accumulate=False) -> Tensor

input with the elements of source written, or added, at the places of the flattened input that index names.)";
};
FB_CARD(put)

}  // namespace fb::cards
