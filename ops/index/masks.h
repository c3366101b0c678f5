// Where a mask holds: nonzero, masked_select, masked_scatter, masked_fill.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/out_rule.h"
#include "dispatch/repeated.h"
#include "dispatch/shape_of_values.h"
#include "dispatch/trace.h"
#include "ops/create/fill.h"
#include "ops/index/indices.h"

namespace fb::cards {

struct nonzero : direct<nonzero> {
  static constexpr auto schema = "nonzero(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out | form::shape_of_values;
  static constexpr auto doc = R"(nonzero(input, *, out=None, as_tuple=False) -> Tensor or tuple of Tensors

The indices of the elements that differ from zero, in row-major order: int64 of shape (n, input.ndim), or with as_tuple
one vector for each dimension, fit for input[...].)";
};
FB_CARD(nonzero)

struct nonzero_numpy : composite<nonzero_numpy> {
  static constexpr auto schema = "nonzero_numpy(Tensor self) -> Tensor[]";
  static constexpr uint32_t forms = form::hidden | form::shape_of_values;
  static std::vector<Tensor> body(const Tensor& self) {
    return op_list<"unbind">(op<"nonzero">(self.ndim() ? self : op<"unsqueeze">(self, int64_t(0))), int64_t(1));
  }
};
FB_CARD(nonzero_numpy)

struct argwhere : composite<argwhere> {
  static constexpr auto schema = "argwhere(Tensor self) -> Tensor";
  static constexpr uint32_t forms = composite<argwhere>::forms | form::shape_of_values;
  static Tensor body(const Tensor& self) { return op<"nonzero">(self); }
  static constexpr auto doc = "argwhere(input) -> Tensor\n\nIndices of the elements that differ from zero, one row for each: nonzero(input).";
};
FB_CARD(argwhere)

struct nonzero_static : direct<nonzero_static> {
  static constexpr auto schema = "nonzero_static(Tensor self, *, int size, int fill_value=-1) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static constexpr auto doc = R"(nonzero_static(input, *, size, fill_value=-1) -> Tensor

The first `size` rows of nonzero(input), filled up with fill_value. RuntimeError where size is negative.)";
};
FB_CARD(nonzero_static)

// self[mask] for a mask of self's shape.
struct _masked_take : direct<_masked_take> {
  static constexpr auto schema = "_masked_take(Tensor self, Tensor mask) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::shape_of_values;
};
FB_CARD(_masked_take)

struct masked_select : lowered<masked_select> {
  static constexpr auto schema = "masked_select(Tensor self, Tensor mask) -> Tensor";
  static constexpr uint32_t forms = lowered<masked_select>::forms | form::out_apart | form::shape_of_values;
  static Tensor lowering(const Tensor& self, const Tensor& mask) {
    FB_CHECK(mask.dtype() == DType::boolean, "masked_select: mask is ", mask.dtype(), ", it must be bool");
    const Dims both = broadcast_sizes(self.sizes(), mask.sizes());
    if (takes_whole_mask(self, mask)) return op<"_masked_take">(self, mask);
    const Tensor at = op<"nonzero">(op<"reshape">(op<"expand">(mask, both), Ints{-1}));
    const Tensor flat = op<"reshape">(op<"expand">(self, both), Ints{-1});
    return op<"_unsafe_index">(flat, std::vector<Tensor>{op<"squeeze.dim">(at, int64_t(1))});
  }
  static Tensor d_self(grad<0> g, shape_of<0> self, in<1> mask) {
    const Dims both = broadcast_sizes(self.sizes(), mask->sizes());
    return op<"masked_scatter">(op<"new_zeros">(*g, both), *mask, *g);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(masked_select(input, mask, *, out=None) -> Tensor

The elements of input where mask (bool) holds, both broadcast, as a vector in row-major order.)";
};
FB_CARD(masked_select)

struct masked_scatter_ : direct<masked_scatter_> {
  static constexpr auto schema = "masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "MaskedScatterBackward0";
  static void check(const Tensor& self, const Tensor& mask, const Tensor& source) {
    FB_CHECK(self.dtype() == source.dtype(), "masked_scatter_: self is ", self.dtype(), " and source is ", source.dtype(), "; both must have one type");
    FB_CHECK(mask.dtype() == DType::boolean, "masked_scatter_: mask is ", mask.dtype(), ", it must be bool");
    FB_CHECK(is_expandable_to(mask.sizes(), self.sizes()), "masked_scatter_: mask of shape ", mask.sizes(), " does not broadcast to self of shape ", self.sizes());
    FB_CHECK(!has_internal_overlap(self), "masked_scatter_: several indices of self, of shape ", self.sizes(), ", share an element; clone it first");
  }
  static Tensor d_self(grad<0> g, in<1> mask) { return op<"masked_fill">(*g, *mask, Scalar(0)); }
  static Tensor d_source(grad<0> g, in<1> mask, shape_of<2> source) { return op<"masked_scatter_backward">(*g, *mask, source.sizes()); }
  using vjp = rules<wrt<0, d_self>, wrt<2, d_source>>;
};
FB_CARD(masked_scatter_)

struct masked_scatter_backward : composite<masked_scatter_backward> {
  static constexpr auto schema = "masked_scatter_backward(Tensor grad_output, Tensor mask, int[] sizes) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& g, const Tensor& mask, Ints sizes) {
    const int64_t n = numel_of(sizes);
    const Tensor taken = op<"masked_select">(g, op<"expand">(mask, g.sizes()));
    const Tensor r = n > taken.numel() ? op<"cat">(std::vector<Tensor>{taken, op<"new_zeros">(g, Ints{n - taken.numel()})}) : taken;
    return op<"reshape">(r, sizes);
  }
};
FB_CARD(masked_scatter_backward)

struct masked_scatter : lowered<masked_scatter> {
  static constexpr auto schema = "masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor";
  static Tensor lowering(const Tensor& self, const Tensor& mask, const Tensor& source) {
    const Dims both = broadcast_sizes(self.sizes(), mask.sizes());
    return op<"masked_scatter_">(op<"clone">(op<"expand">(self, both), MemoryFormat::contiguous), mask, source);
  }
  using vjp = masked_scatter_::vjp;
  static constexpr auto doc = R"(masked_scatter(input, mask, source) -> Tensor

input with its elements where mask holds replaced by those of source, in row-major order. RuntimeError where source has
too few.)";
};
FB_CARD(masked_scatter)

inline void check_masked_fill(const Tensor& mask) {
  FB_CHECK(mask.dtype() == DType::boolean, "masked_fill: mask is ", mask.dtype(), ", it must be bool");
}
struct masked_fill_scalar_ : direct<masked_fill_scalar_> {
  static constexpr auto schema = "masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "MaskedFillBackward0";
  static void check(const Tensor& self, const Tensor& mask, const Scalar& value) {
    check_masked_fill(mask);
    check_fits("masked_fill", value, self.dtype());
    FB_CHECK(is_expandable_to(mask.sizes(), self.sizes()), "masked_fill_: mask of shape ", mask.sizes(), " does not broadcast to self of shape ", self.sizes());
    warn_repeated("masked_fill_", self);
  }
  static Tensor d_self(grad<0> g, in<1> mask) { return op<"masked_fill">(*g, *mask, Scalar(0)); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(masked_fill_scalar_)

struct masked_fill_scalar : lowered<masked_fill_scalar> {
  static constexpr auto schema = "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr auto grad_name = "MaskedFillBackward0";
  static Tensor lowering(const Tensor& self, const Tensor& mask, const Scalar& value) {
    const Dims both = broadcast_sizes(self.sizes(), mask.sizes());
    const Tensor out = op<"clone">(both == self.sizes() ? self : op<"expand">(self, both), MemoryFormat::contiguous);
    return op<"masked_fill_">(out, mask, value);
  }
  using vjp = masked_fill_scalar_::vjp;
  static constexpr auto doc = R"(masked_fill(input, mask, value) -> Tensor

input with value, a number or a tensor without dimensions, where mask (bool, broadcast) holds.)";
};
FB_CARD(masked_fill_scalar)

inline Scalar fill_number(const char* name, const Tensor& value) {
  FB_CHECK(value.ndim() == 0, name, ": value must be a number or a tensor without dimensions, its shape is ", value.sizes());
  if (tracer && (value->flags & kTraced)) raise_not_implemented("masked_fill: the value of a tensor cannot be followed without its element");
  return value.is_meta() ? Scalar(0) : op_value<"item">(value).scalar();
}
struct masked_fill_tensor : lowered<masked_fill_tensor> {
  static constexpr auto schema = "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method;
  static constexpr auto grad_name = "MaskedFillBackward1";
  static Tensor lowering(const Tensor& self, const Tensor& mask, const Tensor& value) {
    return op<"masked_fill">(self, mask, fill_number("masked_fill", value));
  }
  static Tensor d_self(grad<0> g, in<1> mask) { return op<"masked_fill">(*g, *mask, Scalar(0)); }
  static Tensor d_value(grad<0> g, in<1> mask) { return op<"sum">(op<"where">(*mask, *g, Scalar(0))); }
  using vjp = rules<wrt<0, d_self>, wrt<2, d_value>>;
};
FB_CARD(masked_fill_tensor)
struct masked_fill_tensor_ : lowered<masked_fill_tensor_> {
  static constexpr auto schema = "masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "MaskedFillBackward1";
  static Tensor lowering(const Tensor& self, const Tensor& mask, const Tensor& value) {
    op_list<"masked_fill_">(self, mask, fill_number("masked_fill_", value));
    return self;
  }
  using vjp = masked_fill_tensor::vjp;
};
FB_CARD(masked_fill_tensor_)

}  // namespace fb::cards
