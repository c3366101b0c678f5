// One index for each element: gather, scatter (with its reduce overloads), scatter_add, take_along_dim.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "dispatch/shape_of_values.h"
#include "ops/index/reads.h"

namespace fb::cards {

// index has self's rank, and is no larger than `within` but along dim.
template <class T> void check_gather(const char* name, const T& self, int64_t dim, const T& index) {
  const int64_t d = wrap_dim(dim, self.ndim());
  if (index.numel() == 0) return;
  FB_CHECK(index.dtype() == DType::i64 || index.dtype() == DType::i32, name, ": index is ", index.dtype(), ", it must be int64 or int32");
  const int64_t a = std::max<int64_t>(self.ndim(), 1), b = std::max<int64_t>(index.ndim(), 1);
  FB_CHECK(a == b, name, ": index of shape ", index.sizes(), " must have as many dimensions as self of shape ", self.sizes());
  for (int64_t i = 0; i < index.ndim() && i < self.ndim(); ++i)
    FB_CHECK(i == d || index.sizes()[i] <= self.sizes()[i], name, ": index of shape ", index.sizes(), " is larger than self of shape ",
             self.sizes(), " at dimension ", i, ", which is not the indexed one (", d, ")");
}
inline void check_scatter(const char* name, const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src) {
  check_gather(name, self, dim, index);
  FB_CHECK(!has_internal_overlap(self), name, ": several indices of self, of shape ", self.sizes(), ", share an element; clone it first");
  if (!src || index.numel() == 0) return;
  FB_CHECK(self.dtype() == src->dtype(), name, ": self is ", self.dtype(), " and src is ", src->dtype(), "; both must have one type");
  FB_CHECK(std::max<int64_t>(src->ndim(), 1) == std::max<int64_t>(index.ndim(), 1), name, ": index of shape ", index.sizes(),
           " must have as many dimensions as src of shape ", src->sizes());
  for (int64_t i = 0; i < index.ndim() && i < src->ndim(); ++i)
    FB_CHECK(index.sizes()[i] <= src->sizes()[i], name, ": index of shape ", index.sizes(), " is larger than src of shape ", src->sizes(), " at dimension ", i);
}
// src over the positions of index only.
inline Tensor covered(const Tensor& src, Ints sizes) { return src.ndim() == sizes.n ? src.alias(sizes, src.strides(), src.offset()) : src; }

struct gather : structured<gather, symbolic> {
  static constexpr auto schema = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor";
  static constexpr uint32_t forms = structured<gather>::forms | form::out_apart;
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, int64_t dim, const T& index, bool) {
    check_gather("gather", self, dim, index);
    return T::empty(index.sizes(), self.options());
  }
  static ReadRule read_rule(const Value* args) { return {0, 2, args[1].integer(), ReadRule::each}; }
  static Tensor d_self(grad<0> g, shape_of<0> self, arg<1, int64_t> dim, in<2> index) {
    return op<"scatter_add_">(op<"new_zeros">(*g, self.sizes()), *dim, *index, *g);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(gather(input, dim, index, *, sparse_grad=False, out=None) -> Tensor

For each element of index (int64), the element of input at the same place but along dim, where index says. RuntimeError
outside [0, size).)";
};
FB_CARD(gather)

struct scatter_src_ : direct<scatter_src_> {
  static constexpr auto schema = "scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "ScatterBackward0";
  static void check(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { check_scatter("scatter_", self, dim, index, &src); }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim, in<2> index) { return op<"scatter">(*g, *dim, *index, Scalar(0)); }
  static Tensor d_src(grad<0> g, arg<1, int64_t> dim, in<2> index, shape_of<3> src) {
    const Tensor r = op<"gather">(*g, *dim, *index);
    if (r.sizes() == src.sizes()) return r;
    std::vector<Tensor> at;
    Tensor out = op<"new_zeros">(*g, src.sizes());
    Tensor part = out;
    for (int64_t d = 0; d < r.ndim(); ++d) part = op<"slice">(part, d, int64_t(0), r.sizes()[d], int64_t(1));
    op_list<"copy_">(part, r);
    return out;
  }
  using vjp = rules<wrt<0, d_self>, wrt<3, d_src>>;
};
FB_CARD(scatter_src_)
struct scatter_value_ : lowered<scatter_value_> {
  static constexpr auto schema = "scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "ScatterBackward1";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
    const Tensor v = op<"expand">(op<"full">(Ints(), value, self.dtype(), std::nullopt, self.device()), index.sizes());
    return op<"scatter_">(self, dim, index, v);
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim, in<2> index) { return op<"scatter">(*g, *dim, *index, Scalar(0)); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(scatter_value_)
struct scatter_reduce_kind_ : direct<scatter_reduce_kind_> {
  static constexpr auto schema = "scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static void check(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
    FB_CHECK(reduce == "add" || reduce == "multiply", "scatter_: reduce is '", reduce, "', it must be 'add' or 'multiply'");
    check_scatter("scatter_", self, dim, index, &src);
  }
};
FB_CARD(scatter_reduce_kind_)
struct scatter_value_reduce_ : lowered<scatter_value_reduce_> {
  static constexpr auto schema = "scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
    const Tensor v = op<"expand">(op<"full">(Ints(), value, self.dtype(), std::nullopt, self.device()), index.sizes());
    return op<"scatter_.reduce">(self, dim, index, v, reduce);
  }
};
FB_CARD(scatter_value_reduce_)

struct scatter_src : lowered<scatter_src> {
  static constexpr auto schema = "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor";
  static constexpr uint32_t forms = lowered<scatter_src>::forms | form::out_apart;
  static constexpr auto grad_name = "ScatterBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
    return op<"scatter_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, src);
  }
  using vjp = scatter_src_::vjp;
  static constexpr auto doc = R"(scatter(input, dim, index, src, *, reduce=None) -> Tensor

input with each element of src, a tensor or a number, written at its own place but along dim, where index says; with
reduce='add' or 'multiply' combined with what is there. The last of several writes to one element stays.)";
};
FB_CARD(scatter_src)
struct scatter_value : lowered<scatter_value> {
  static constexpr auto schema = "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor";
  static constexpr uint32_t forms = lowered<scatter_value>::forms | form::out_apart;
  static constexpr auto grad_name = "ScatterBackward1";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
    return op<"scatter_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, value);
  }
  using vjp = scatter_value_::vjp;
};
FB_CARD(scatter_value)
struct scatter_reduce_kind : lowered<scatter_reduce_kind> {
  static constexpr auto schema = "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor";
  static constexpr uint32_t forms = lowered<scatter_reduce_kind>::forms | form::out_apart;
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
    return op<"scatter_.reduce">(op<"clone">(self, MemoryFormat::contiguous), dim, index, src, reduce);
  }
};
FB_CARD(scatter_reduce_kind)
struct scatter_value_reduce : lowered<scatter_value_reduce> {
  static constexpr auto schema = "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor";
  static constexpr uint32_t forms = lowered<scatter_value_reduce>::forms | form::out_apart;
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
    return op<"scatter_.value_reduce">(op<"clone">(self, MemoryFormat::contiguous), dim, index, value, reduce);
  }
};
FB_CARD(scatter_value_reduce)

struct scatter_add_ : direct<scatter_add_> {
  static constexpr auto schema = "scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "ScatterAddBackward0";
  static void check(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { check_scatter("scatter_add_", self, dim, index, &src); }
  static Tensor d_self(grad<0> g) { return g; }
  using vjp = rules<wrt<0, d_self>, wrt<3, scatter_src_::d_src>>;
};
FB_CARD(scatter_add_)
struct scatter_add : lowered<scatter_add> {
  static constexpr auto schema = "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor";
  static constexpr uint32_t forms = lowered<scatter_add>::forms | form::out_apart;
  static constexpr auto grad_name = "ScatterAddBackward0";
  static Tensor lowering(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
    return op<"scatter_add_">(op<"clone">(self, MemoryFormat::contiguous), dim, index, src);
  }
  using vjp = scatter_add_::vjp;
  static constexpr auto doc = R"(scatter_add(input, dim, index, src) -> Tensor

scatter that adds; several values for one element are added in row-major order of index.)";
};
FB_CARD(scatter_add)

struct take_along_dim : composite<take_along_dim> {
  static constexpr auto schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::out_apart;
  static Tensor body(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
    FB_CHECK(indices.dtype() == DType::i64, "take_along_dim: indices are ", indices.dtype(), ", they must be int64");
    // Negative indices count from the end.
    auto from_end = [](const Tensor& at, int64_t n) { return op<"where">(op<"lt">(at, Scalar(0)), op<"add">(at, Scalar(n)), at); };
    if (!dim) return op<"gather">(op<"reshape">(self, Ints{-1}), int64_t(0), from_end(op<"reshape">(indices, Ints{-1}), self.numel()));
    FB_CHECK(self.ndim() == indices.ndim(), "take_along_dim: input of shape ", self.sizes(), " and indices of shape ", indices.sizes(),
             " must have as many dimensions");
    const int64_t d = wrap_dim(*dim, self.ndim());
    auto but_dim = [&](const Tensor& a, const Tensor& b) {  // b's sizes, with a's along dim
      Dims r = Dims(b.sizes());
      if (r.size()) r[d] = a.sizes()[d];
      return r;
    };
    const Dims at = broadcast_sizes(indices.sizes(), but_dim(indices, self)), from = broadcast_sizes(self.sizes(), but_dim(self, indices));
    return op<"gather">(op<"expand">(self, from), d, from_end(op<"expand">(indices, at), self.ndim() ? self.sizes()[d] : 1));
  }
  static constexpr auto doc = R"(take_along_dim(input, indices, dim=None, *, out=None) -> Tensor

gather with input and indices (int64) broadcast against each other but along dim; without dim, of the flattened input.
Negative indices count from the end.)";
};
FB_CARD(take_along_dim)

struct gather_backward : composite<gather_backward> {
  static constexpr auto schema = "gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& g, const Tensor& self, int64_t dim, const Tensor& index, bool) {
    return op<"scatter_add_">(op<"new_zeros">(g, self.sizes()), dim, index, g);
  }
};
FB_CARD(gather_backward)

struct one_hot : composite<one_hot> {
  static constexpr auto schema = "one_hot(Tensor self, int num_classes=-1) -> Tensor";
  static constexpr uint32_t forms = form::nn | form::shape_of_values;
  static Tensor body(const Tensor& self, int64_t classes) {
    FB_CHECK(self.dtype() == DType::i64, "one_hot: the input is ", self.dtype(), ", it must be int64");
    Dims sizes(self.sizes());
    if (self.numel() == 0) {
      FB_CHECK(classes > 0, "one_hot: num_classes must be given (positive) for an empty input of shape ", self.sizes());
    } else if (!self->wrapped || classes <= 0) {  // within a transform scatter_ checks the classes
      const int64_t least = op_value<"item">(op<"min">(self)).scalar().to_int(), most = op_value<"item">(op<"max">(self)).scalar().to_int();
      FB_CHECK(least >= 0, "one_hot: classes must not be negative, the input holds ", least);
      if (classes == -1) classes = most + 1;
      FB_CHECK(classes >= 1, "one_hot: num_classes must be positive, it is ", classes);
      FB_CHECK(most < classes, "one_hot: class ", most, " is not below num_classes ", classes);
    }
    sizes.push_back(classes);
    return op<"scatter_">(op<"new_zeros">(self, sizes), int64_t(-1), op<"unsqueeze">(self, int64_t(-1)), Scalar(1));
  }
  static constexpr auto doc = "one_hot(input, num_classes=-1) -> Tensor\n\nint64 rows with a 1 at the class that the input names, 0 elsewhere.";
};
FB_CARD(one_hot)

}  // namespace fb::cards
