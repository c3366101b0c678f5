// Tensors from sizes, and tensors like others.
#pragma once
#include "dispatch/call.h"
#include "dispatch/repeated.h"
#include "dispatch/thread_state.h"
#include "dispatch/visible.h"
#include "ops/create/copy.h"

namespace fb::cards {

#define FB_OPTIONS "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
using OptLayout = std::optional<Layout>;
using OptDevice = std::optional<Device>;
using OptBool = std::optional<bool>;
using OptFormat = std::optional<MemoryFormat>;

inline Options options_of(const char* name, DType dtype, OptLayout layout, OptDevice device, OptBool pin, DType fallback = DType::none, Device where = {}) {
  if (layout && *layout != Layout::strided) raise_not_implemented(name, ": only the strided layout is there");
  FB_CHECK(!pin.value_or(false), name, ": pin_memory=True needs an accelerator, and none is there");
  return {dtype != DType::none ? dtype : fallback != DType::none ? fallback : default_dtype, device.value_or(where)};
}
inline Tensor filled(Tensor t, const Scalar& v) {
  op<"fill_">(t, v);
  return t;
}
inline Tensor zeroed(Tensor t) {
  op<"zero_">(t);
  return t;
}
inline DType type_of_value(const Scalar& v) {
  return v.is_boolean() ? DType::boolean : v.is_integral() ? DType::i64 : v.is_complex() ? default_complex_dtype() : default_dtype;
}

struct empty : composite<empty> {
  static constexpr auto schema = "empty.memory_format(int[] size, *, " FB_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(Ints size, DType d, OptLayout l, OptDevice dev, OptBool pin, OptFormat f) {
    FB_CHECK(f != MemoryFormat::preserve, "empty: preserve_format means nothing without a tensor to be like");
    return Tensor::empty_format(size, options_of("empty", d, l, dev, pin), f.value_or(MemoryFormat::contiguous));
  }
  static constexpr auto doc = R"(empty(*size, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False,
      pin_memory=False, memory_format=torch.contiguous_format) -> Tensor

Uninitialised memory of the given shape.)";
};
FB_CARD(empty)

struct empty_strided : composite<empty_strided> {
  static constexpr auto schema = "empty_strided(int[] size, int[] stride, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::visible;
  static Tensor body(Ints size, Ints stride, DType d, OptLayout l, OptDevice dev, OptBool pin) {
    FB_CHECK(size.n == stride.n, "empty_strided: ", size.n, " sizes ", size, " were given with ", stride.n, " strides ", stride);
    return Tensor::empty_strided(size, stride, options_of("empty_strided", d, l, dev, pin));
  }
};
FB_CARD(empty_strided)

struct empty_permuted : composite<empty_permuted> {
  static constexpr auto schema = "empty_permuted(int[] size, int[] physical_layout, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::visible;
  static Tensor body(Ints size, Ints order, DType d, OptLayout l, OptDevice dev, OptBool pin) {
    FB_CHECK(size.n == order.n, "empty_permuted: physical_layout ", order, " must name the ", size.n, " dimensions of ", size);
    Dims stride(size.n, 0);
    SmallVec<bool, 16> seen(size.n, false);
    int64_t s = 1;
    for (int64_t i = size.n - 1; i >= 0; --i) {
      const int64_t k = order[i];
      FB_CHECK(k >= 0 && k < size.n, "empty_permuted: dimension ", k, " of physical_layout ", order, " is out of range for ", size.n, " dimensions");
      FB_CHECK(!seen[k], "empty_permuted: dimension ", k, " appears more than once in physical_layout ", order);
      seen[k] = true;
      stride[k] = s;
      s *= size[k] > 1 ? size[k] : 1;
    }
    return Tensor::empty_strided(size, stride, options_of("empty_permuted", d, l, dev, pin));
  }
};
FB_CARD(empty_permuted)

struct empty_like : composite<empty_like> {
  static constexpr auto schema = "empty_like(Tensor self, *, " FB_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::visible;
  static Tensor body(const Tensor& self, DType d, OptLayout l, OptDevice dev, OptBool pin, OptFormat f) {
    return empty_as(self, options_of("empty_like", d, l, dev, pin, self.dtype(), self.device()), f.value_or(MemoryFormat::preserve));
  }
  static constexpr auto doc = R"(empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=torch.preserve_format) -> Tensor

Uninitialised memory shaped as input, and laid out as it.)";
};
FB_CARD(empty_like)

struct zeros : composite<zeros> {
  static constexpr auto schema = "zeros(int[] size, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(Ints size, DType d, OptLayout l, OptDevice dev, OptBool pin) { return zeroed(Tensor::empty(size, options_of("zeros", d, l, dev, pin))); }
};
FB_CARD(zeros)

struct ones : composite<ones> {
  static constexpr auto schema = "ones(int[] size, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(Ints size, DType d, OptLayout l, OptDevice dev, OptBool pin) { return filled(Tensor::empty(size, options_of("ones", d, l, dev, pin)), 1); }
};
FB_CARD(ones)

struct full : composite<full> {
  static constexpr auto schema = "full(int[] size, Scalar fill_value, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(Ints size, const Scalar& v, DType d, OptLayout l, OptDevice dev, OptBool pin) {
    return filled(Tensor::empty(size, options_of("full", d, l, dev, pin, type_of_value(v))), v);
  }
  static constexpr auto doc = R"(full(size, fill_value, *, dtype=None, ...) -> Tensor

fill_value everywhere. Without a dtype it is that of the value: bool, int64, or the default floating or complex type.)";
};
FB_CARD(full)

#define FB_LIKE(name, params, args, make)                                                                                   \
  struct name : composite<name> {                                                                                           \
    static constexpr auto schema = #name "(Tensor self" params ", *, " FB_OPTIONS ", MemoryFormat? memory_format=None) -> Tensor"; \
    static constexpr uint32_t forms = form::fn | form::visible;                                                                             \
    static Tensor body(const Tensor& self args, DType d, OptLayout l, OptDevice dev, OptBool pin, OptFormat f) {            \
      const Tensor t = empty_as(self, options_of(#name, d, l, dev, pin, self.dtype(), self.device()), f.value_or(MemoryFormat::preserve)); \
      return make;                                                                                                          \
    }                                                                                                                       \
  };                                                                                                                        \
  FB_CARD(name)
#define FB_COMMA ,
FB_LIKE(zeros_like, "", , zeroed(t))
FB_LIKE(ones_like, "", , filled(t, 1))
FB_LIKE(full_like, ", Scalar fill_value", FB_COMMA const Scalar& v, filled(t, v))
#undef FB_LIKE

#define FB_NEW(name, params, args, make)                                                              \
  struct name : composite<name> {                                                                     \
    static constexpr auto schema = #name "(Tensor self, int[] size" params ", *, " FB_OPTIONS ") -> Tensor"; \
    static constexpr uint32_t forms = form::method | form::visible;                                                   \
    static Tensor body(const Tensor& self, Ints size args, DType d, OptLayout l, OptDevice dev, OptBool pin) { \
      const Tensor t = Tensor::empty(size, options_of(#name, d, l, dev, pin, self.dtype(), self.device())); \
      return make;                                                                                    \
    }                                                                                                 \
  };                                                                                                  \
  FB_CARD(name)
FB_NEW(new_empty, "", , t)
FB_NEW(new_zeros, "", , zeroed(t))
FB_NEW(new_ones, "", , filled(t, 1))
FB_NEW(new_full, ", Scalar fill_value", FB_COMMA const Scalar& v, filled(t, v))
#undef FB_NEW
#undef FB_COMMA

struct new_empty_strided : composite<new_empty_strided> {
  static constexpr auto schema = "new_empty_strided(Tensor self, int[] size, int[] stride, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::method | form::visible;
  static Tensor body(const Tensor& self, Ints size, Ints stride, DType d, OptLayout l, OptDevice dev, OptBool pin) {
    FB_CHECK(size.n == stride.n, "new_empty_strided: ", size.n, " sizes ", size, " were given with ", stride.n, " strides ", stride);
    return Tensor::empty_strided(size, stride, options_of("new_empty_strided", d, l, dev, pin, self.dtype(), self.device()));
  }
};
FB_CARD(new_empty_strided)

struct scalar_tensor : composite<scalar_tensor> {
  static constexpr auto schema = "scalar_tensor(Scalar s, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::visible;
  static Tensor body(const Scalar& v, DType d, OptLayout l, OptDevice dev, OptBool pin) {
    return filled(Tensor::empty({}, options_of("scalar_tensor", d, l, dev, pin)), v);
  }
};
FB_CARD(scalar_tensor)

}  // namespace fb::cards
