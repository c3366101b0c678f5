// Copies and conversions: copy_, clone, contiguous, to.
#pragma once
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/thread_state.h"
#include "dispatch/trace.h"
#include "dispatch/zero_slope.h"

namespace fb::cards {

struct copy_ : direct<copy_> {
  static constexpr auto schema = "copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static constexpr auto grad_name = "CopyBackwards";
  static constexpr bool lazy_bits = true;
  static void check(const Tensor& self, const Tensor& src, bool) {
    FB_CHECK(src.defined(), "copy_: src must be a Tensor");
    if (self.sizes() == src.sizes()) return;
    FB_CHECK(is_expandable_to(src.sizes(), self.sizes()), "copy_: src of shape ", src.sizes(), " does not broadcast to self of shape ", self.sizes());
  }
  static Tensor d_src(grad<0> g) { return g; }
  using vjp = rules<wrt<0, zero_slope>, wrt<1, d_src>>;
  static constexpr auto doc = R"(copy_(src, non_blocking=False) -> Tensor

Writes the elements of src, broadcast to self's shape and converted to self's type, into self. Memory that both share is
read before it is written.)";
};
FB_CARD(copy_)

struct copy : composite<copy> {
  static constexpr auto schema = "copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& self, const Tensor& src, bool) {
    copy_::check(self, src, false);
    return op<"copy_">(beside(self, Tensor::empty_strided(self.sizes(), preserved_strides(self.sizes(), self.strides()), self.options())), src);
  }
};
FB_CARD(copy)

// What a result made from `like` is laid out as: preserve keeps the strides where `like` is dense (also those that a size of
// 1 or 0 leaves open), and the order of dimensions elsewhere.
template <class T> T empty_as(const T& like, Options o, MemoryFormat f) {
  if (f != MemoryFormat::preserve) return T::empty_format(like.sizes(), o, f);
  if (like.is_contiguous()) {
    T out = T::empty(like.sizes(), o);
    if (!(out->strides == like->strides)) [[unlikely]] out->strides = like->strides;
    return out;
  }
  return T::empty_strided(like.sizes(), preserved_strides(like.sizes(), like.strides()), o);
}

struct clone : structured<clone, symbolic> {
  static constexpr auto schema = "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr bool lazy_bits = true;
  template <class T> static T meta(const T& self, std::optional<MemoryFormat> f) {
    return empty_as(self, self.options(), f.value_or(MemoryFormat::preserve));
  }
  static Tensor d_self(grad<0> g) { return g; }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(clone(input, *, memory_format=torch.preserve_format) -> Tensor

A copy with history. preserve_format keeps the strides of a dense tensor, and the order of dimensions of any other.)";
};
FB_CARD(clone)

struct contiguous : composite<contiguous> {
  static constexpr auto schema = "contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, MemoryFormat f) {
    if (self.is_contiguous(f)) return self;
    FB_CHECK(f != MemoryFormat::preserve, "contiguous: preserve_format is not a layout to copy a non-contiguous tensor of shape ", self.sizes(), " to");
    return op<"clone">(self, f);
  }
  static constexpr auto doc = R"(contiguous(memory_format=torch.contiguous_format) -> Tensor

The tensor itself where it is laid out so already, else a copy that is.)";
};
FB_CARD(contiguous)

struct to_copy : structured<to_copy, symbolic> {
  static constexpr auto schema = "_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr uint32_t forms = form::hidden;
  static constexpr bool lazy_bits = true;
  template <class T>
  static T meta(const T& self, DType dtype, std::optional<Layout>, std::optional<Device> device, std::optional<bool>, bool, std::optional<MemoryFormat> f) {
    return empty_as(self, {dtype == DType::none ? self.dtype() : dtype, device.value_or(self.device())}, f.value_or(MemoryFormat::preserve));
  }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"_to_copy">(g, x->options.dtype, std::nullopt, x->options.device); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(to_copy)

inline bool same_device(Device a, Device b) {
  return a.type == b.type && (a.index == b.index || a.type != DeviceType::cuda || a.index < 0 || b.index < 0);
}
// self where it is of that type, device and layout already (and no copy is asked for), else a converted copy.
inline Tensor converted(const Tensor& self, DType dtype, Device device, bool copy, std::optional<MemoryFormat> f) {
  const MemoryFormat format = f.value_or(MemoryFormat::preserve);
  if (!copy && dtype == self.dtype() && same_device(device, self.device()) &&
      (format == MemoryFormat::preserve || self.suggested_format() == format))
    return self;
  // The device is named only where it changes: a trace then keeps that of whatever comes.
  const std::optional<Device> to = same_device(device, self.device()) ? std::nullopt : std::optional<Device>(device);
  return op<"_to_copy">(self, dtype, std::nullopt, to, std::nullopt, false, f);
}

struct to_device : composite<to_device> {
  static constexpr auto schema = "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, Device device, DType dtype, bool, bool copy, std::optional<MemoryFormat> f) {
    return converted(self, dtype, device, copy, f);
  }
};
struct to_dtype : composite<to_dtype> {
  static constexpr auto schema = "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, DType dtype, bool, bool copy, std::optional<MemoryFormat> f) {
    return converted(self, dtype, self.device(), copy, f);
  }
  static constexpr auto doc = R"(to(dtype | device | other, ...) -> Tensor

The tensor itself where type and device are those asked for already (and copy is False), else a converted copy.)";
};
struct to_other : composite<to_other> {
  static constexpr auto schema = "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Tensor& other, bool, bool copy, std::optional<MemoryFormat> f) {
    return converted(self, other.dtype(), other.device(), copy, f);
  }
};
struct to_dtype_layout : composite<to_dtype_layout> {
  static constexpr auto schema = "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, DType dtype, std::optional<Layout> layout, std::optional<Device> device, std::optional<bool>, bool, bool copy,
                     std::optional<MemoryFormat> f) {
    if (layout && *layout != self->layout) raise_not_implemented("to: conversion to another layout is not there yet (shape ", self.sizes(), ")");
    return converted(self, dtype == DType::none ? self.dtype() : dtype, device.value_or(self.device()), copy, f);
  }
};
FB_CARD(to_dtype)
FB_CARD(to_device)
FB_CARD(to_other)
FB_CARD(to_dtype_layout)

struct type_as : composite<type_as> {
  static constexpr auto schema = "type_as(Tensor self, Tensor other) -> Tensor";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Tensor& other) { return converted(self, other.dtype(), other.device(), false, std::nullopt); }
};
FB_CARD(type_as)

// ---- single values ----

struct local_scalar_dense : direct<local_scalar_dense> {
  static constexpr auto schema = "_local_scalar_dense(Tensor self) -> Scalar";
  static constexpr uint32_t forms = form::hidden;
  using vjp = no_gradient;
};
FB_CARD(local_scalar_dense)

struct item : composite<item> {
  static constexpr auto schema = "item(Tensor self) -> Scalar";
  static constexpr uint32_t forms = form::method;
  static Scalar body(const Tensor& self) {
    FB_CHECK(self.numel() == 1, "item: takes a tensor of one element, this one of shape ", self.sizes(), " has ", self.numel());
    if (self->flags & kTraced) raise_not_implemented("item: the value of a tensor cannot be followed without it");
    FB_CHECK(!self.is_meta(), "item: a meta tensor has no value (type ", self.dtype(), ")");
    return op_value<"_local_scalar_dense">(self).scalar();
  }
  static constexpr auto doc = R"(item() -> number

The value of a tensor of one element, as a Python number.)";
};
FB_CARD(item)

// Whether any element is NaN, for anomaly mode.
struct has_nan : direct<has_nan> {
  static constexpr auto schema = "_has_nan(Tensor self) -> bool";
  static constexpr uint32_t forms = form::hidden;
  using vjp = no_gradient;
};
FB_CARD(has_nan)

}  // namespace fb::cards
