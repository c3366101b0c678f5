// Changes of a tensor's own sizes and storage.
#pragma once
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "dispatch/visible.h"

namespace fb::cards {

// Gives `t` these sizes and strides; its storage grows where they reach beyond it, and keeps what it holds.
inline void set_geometry(const Tensor& t, Ints sizes, Ints strides, int64_t offset) {
  FB_CHECK(!t->wrapped, "a tensor of shape ", t.sizes(), " of a function that is transformed (torch.vmap, torch.func) cannot be resized to ", sizes);
  const size_t bytes = storage_bytes(sizes, strides, offset, t.item_bytes());
  if (bytes > t.storage()->nbytes) {
    FB_CHECK(t.storage()->resizable, "a storage of ", int64_t(t.storage()->nbytes), " bytes that an array or another program sees or owns cannot grow to ",
             int64_t(bytes), " bytes for shape ", sizes);
    t.storage()->resize(bytes);
  }
  t->sizes = Dims(sizes);
  t->strides = Dims(strides);
  t->offset = offset;
  t->refresh();
}

struct resize_ : composite<resize_> {
  static constexpr auto schema = "resize_(Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method | form::visible;
  static Tensor body(const Tensor& self, Ints size, std::optional<MemoryFormat> f) {
    FB_CHECK(!self->requires_grad, "resize_: a tensor that requires grad (shape ", self.sizes(), ") cannot be resized");
    FB_CHECK(!self->dual || self.sizes() == size, "resize_: a tensor with a tangent (shape ", self.sizes(), ") cannot be resized to ", size);
    for (int64_t s : size) FB_CHECK(s >= 0, "resize_: size ", s, " of ", size, " is negative");
    FB_CHECK(f != MemoryFormat::preserve, "resize_: preserve_format is not a layout to resize to");
    numel_of(size);
    const MemoryFormat format = f.value_or(MemoryFormat::contiguous);
    if (self.sizes() == size && format == MemoryFormat::contiguous) return self;
    const bool last = format != MemoryFormat::contiguous;
    FB_CHECK(!last || size.n == (format == MemoryFormat::channels_last ? 4 : 5), "resize_: channels_last takes 4 dimensions and channels_last_3d 5, the sizes are ", size);
    self->bump_version();
    if (!(self.sizes() == size)) set_geometry(self, size, contiguous_strides(size), self.offset());
    if (last) set_geometry(self, size, channels_last_strides(size), self.offset());
    return self;
  }
  static constexpr auto doc = R"(resize_(*sizes, memory_format=torch.contiguous_format) -> Tensor

Gives the tensor these sizes; memory grows where needed, and what it holds stays. New elements are uninitialised.)";
};
FB_CARD(resize_)

struct resize_as_ : composite<resize_as_> {
  static constexpr auto schema = "resize_as_(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)";
  static constexpr uint32_t forms = form::fn | form::method | form::visible;
  static Tensor body(const Tensor& self, const Tensor& like, std::optional<MemoryFormat> f) {
    op_list<"resize_">(self, like.sizes());
    if (f) {
      MemoryFormat want = *f;
      if (want == MemoryFormat::preserve) want = like.suggested_format();
      if (want != MemoryFormat::contiguous) op_list<"resize_">(self, like.sizes(), want);
    }
    return self;
  }
};
FB_CARD(resize_as_)

struct set_source : composite<set_source> {
  static constexpr auto schema = "set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method | form::visible;
  static Tensor body(const Tensor& self, const Tensor& source) {
    FB_CHECK(!self->wrapped && !source->wrapped, "set_: a tensor of a function that is transformed (torch.vmap, torch.func) has no storage to take or give");
    FB_CHECK(self.device() == source.device(), "set_: source of shape ", source.sizes(), " on ", source.device(), " cannot stand for self of shape ", self.sizes(), " on ", self.device());
    FB_CHECK(!self->dual, "set_: a tensor with a tangent (shape ", self.sizes(), ") cannot take another storage");
    FB_CHECK(self.dtype() == source.dtype(), "set_: source of type ", source.dtype(), " cannot stand for self of type ", self.dtype());
    FB_CHECK(!(self->requires_grad && tls.grad_enabled), "set_: a tensor that requires grad (shape ", self.sizes(), ") takes another storage under no_grad() only");
    self->storage = source->storage;
    self->device = source->device;
    self->sizes = source->sizes;
    self->strides = source->strides;
    self->offset = source->offset;
    self->refresh();
    self->bump_version();
    return self;
  }
};
FB_CARD(set_source)

struct is_set_to : composite<is_set_to> {
  static constexpr auto schema = "is_set_to(Tensor self, Tensor tensor) -> bool";
  static constexpr uint32_t forms = form::method | form::visible;
  static bool body(const Tensor& a, const Tensor& b) {
    return a.storage().get() == b.storage().get() && a.offset() == b.offset() && a.sizes() == b.sizes() && a.strides() == b.strides();
  }
};
FB_CARD(is_set_to)

struct is_same_size : composite<is_same_size> {
  static constexpr auto schema = "is_same_size(Tensor self, Tensor other) -> bool";
  static constexpr uint32_t forms = form::fn | form::method | form::visible;
  static bool body(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes(); }
};
FB_CARD(is_same_size)

}  // namespace fb::cards
