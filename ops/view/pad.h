// Padding: constant, reflected, replicated, circular. A padding list names pairs (before, after) from the last dimension on.
#pragma once
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/zero_slope.h"
#include "ops/view/geometry.h"

namespace fb::cards {

struct constant_pad_nd : lowered<constant_pad_nd> {
  static constexpr auto schema = "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  // The sizes with the padding; `same` where nothing is padded.
  template <class T> static typename T::Sizes padded(const T& self, Span<typename T::Int> pad, bool& same) {
    using I = typename T::Int;
    const int64_t n = self.ndim();
    FB_CHECK(pad.n % 2 == 0, "constant_pad_nd: pad must hold pairs, it has ", pad.n, " entries: ", pad);
    FB_CHECK(pad.n <= 2 * n, "constant_pad_nd: pad ", pad, " names ", pad.n / 2, " dimensions, the shape is ", self.sizes());
    typename T::Sizes sizes(self.sizes());
    same = true;
    for (int64_t i = 0; i < pad.n / 2; ++i) {
      const int64_t d = n - 1 - i;
      const I before = pad[2 * i], after = pad[2 * i + 1];
      I size = sizes[d];
      FB_CHECK(add_size(size, before) && add_size(size, after) && size >= 0, "constant_pad_nd: pad ", before,
               " and ", after, " leave dimension ", d, " of shape ", self.sizes(), " with size ", size);
      sizes[d] = size;
      same = same && before == 0 && after == 0;
      const I cut = before < 0 ? -before : I(0), cut_end = after < 0 ? -after : I(0), have = self.sizes()[d];
      FB_CHECK(have - cut - cut_end >= 0, "constant_pad_nd: pad ", before, " and ", after, " cut more than dimension ", d, " of shape ", self.sizes(), " has");
    }
    return sizes;
  }
  template <class T> static T result(const T& self, Span<typename T::Int> pad, const Scalar&) {
    bool same;
    const typename T::Sizes sizes = padded(self, pad, same);
    if (same) return T::empty_strided(sizes, preserved_strides(self.sizes(), self.strides()), self.options());
    return T::empty_format(sizes, self.options(), self.suggested_format());
  }
  static Tensor lowering(const Tensor& self, Ints pad, const Scalar& value) {
    const int64_t n = self.ndim();
    bool same;
    const Dims sizes = padded(self, pad, same);
    Tensor from = self;
    for (int64_t i = 0; i < pad.n / 2; ++i) {
      const int64_t d = n - 1 - i, cut = pad[2 * i] < 0 ? -pad[2 * i] : 0, cut_end = pad[2 * i + 1] < 0 ? -pad[2 * i + 1] : 0;
      if (cut || cut_end) from = op<"slice">(from, d, cut, self.sizes()[d] - cut_end, 1);
    }
    if (same) return op<"clone">(self);
    const Tensor out = beside(self, Tensor::empty_format(sizes, self.options(), self.suggested_format()));
    // The border, then what is inside it, dimension by dimension.
    Tensor inner = out;
    for (int64_t i = 0; i < pad.n / 2; ++i) {
      const int64_t d = n - 1 - i, before = std::max<int64_t>(pad[2 * i], 0), after = std::max<int64_t>(pad[2 * i + 1], 0), size = sizes[d];
      if (before) op<"fill_">(op<"slice">(inner, d, 0, before, 1), value);
      if (after) op<"fill_">(op<"slice">(inner, d, size - after, size, 1), value);
      if (before || after) inner = op<"slice">(inner, d, before, size - after, 1);
    }
    op<"copy_">(inner, from);
    return out;
  }
  static Tensor d_self(grad<0> g, arg<1, Ints> pad) {
    Dims back(*pad);
    for (int64_t& p : back) p = -p;
    return op<"constant_pad_nd">(g, back, 0);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(constant_pad_nd(input, pad, value=0) -> Tensor

Adds pad[0] elements before and pad[1] after along the last dimension, pad[2] and pad[3] along the one before, and so on;
negative entries cut.)";
};
FB_CARD(constant_pad_nd)

// Shape of a border of `dims` spatial dimensions; raises where the input does not fit.
inline Dims padded_shape(const char* name, Ints self, Ints padding, int dims, bool reflect) {
  FB_CHECK(padding.n == 2 * dims, name, ": padding must have ", 2 * dims, " entries, it is ", padding);
  bool ok = self.n == dims + 1 || self.n == dims + 2;
  for (int64_t i = self.n == dims + 2 ? 1 : 0; ok && i < self.n; ++i) ok = self[i] != 0;
  FB_CHECK(ok, name, ": takes ", dims + 1, " dimensions, or ", dims + 2, " with a batch, of which only the batch may be empty; the shape is ", self);
  Dims out(self);
  for (int i = 0; i < dims; ++i) {
    const int64_t d = self.n - 1 - i, size = self[d], before = padding[2 * i], after = padding[2 * i + 1];
    FB_CHECK(!reflect || (before < size && after < size), name, ": padding (", before, ", ", after, ") must be smaller than dimension ", d,
             " of shape ", self);
    int64_t total = 0;
    FB_CHECK(!__builtin_add_overflow(before, after, &total) && !__builtin_add_overflow(total, size, &total) && total >= 1, name, ": padding (", before, ", ", after,
             ") leaves dimension ", d, " of shape ", self, " with size ", total);
    out[d] = total;
  }
  return out;
}
template <class T> T padded_meta(const char* name, const T& self, Ints padding, int dims, bool reflect) {
  const Dims out = padded_shape(name, self.sizes(), padding, dims, reflect);
  const MemoryFormat f = self.suggested_format();
  return T::empty_format(out, self.options(), f);
}

#define FB_PAD(kind, dims, entries, reflect)                                                                          \
  struct kind##_pad##dims##d : structured<kind##_pad##dims##d> {                                                      \
    static constexpr auto schema = #kind "_pad" #dims "d(Tensor self, int[" #entries "] padding) -> Tensor";          \
    static constexpr uint32_t forms = form::nn | form::out;                                                           \
    template <class T> static T meta(const T& self, Ints padding) {                                                   \
      return padded_meta(#kind "_pad" #dims "d", self, padding, dims, reflect);                                       \
    }                                                                                                                 \
    static Tensor d_self(grad<0> g, in<0> self, arg<1, Ints> padding) {                                               \
      return op<#kind "_pad" #dims "d_backward">(g, self, *padding);                                                  \
    }                                                                                                                 \
    using vjp = rules<wrt<0, d_self>>;                                                                                \
  };                                                                                                                  \
  FB_CARD(kind##_pad##dims##d)                                                                                        \
  struct kind##_pad##dims##d_backward : structured<kind##_pad##dims##d_backward> {                                    \
    static constexpr auto schema = #kind "_pad" #dims "d_backward(Tensor grad_output, Tensor self, int[" #entries "] padding) -> Tensor"; \
    static constexpr auto aliases = ".grad_input:grad_input";                                                           \
    static constexpr uint32_t forms = form::hidden | form::out;                                                       \
    template <class T> static T meta(const T& g, const T& self, Ints padding) {                                       \
      const Dims want = padded_shape(#kind "_pad" #dims "d_backward", self.sizes(), padding, dims, reflect);          \
      FB_CHECK(g.sizes() == want.span(), #kind "_pad" #dims "d_backward: grad_output of shape ", g.sizes(), " must have shape ", want); \
      return T::empty_format(self.sizes(), g.options(), self.suggested_format());                                     \
    }                                                                                                                 \
    static Tensor d_grad(grad<0> g, arg<2, Ints> padding) { return op<#kind "_pad" #dims "d">(g, *padding); }         \
    using vjp = rules<wrt<0, d_grad>, wrt_zero<1, zero_slope>>;                                                            \
  };                                                                                                                  \
  FB_CARD(kind##_pad##dims##d_backward)
FB_PAD(reflection, 1, 2, true)
FB_PAD(reflection, 2, 4, true)
FB_PAD(reflection, 3, 6, true)
FB_PAD(replication, 1, 2, false)
FB_PAD(replication, 2, 4, false)
FB_PAD(replication, 3, 6, false)
#undef FB_PAD

struct pad_circular : composite<pad_circular> {
  static constexpr auto schema = "_pad_circular(Tensor self, int[] pad) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& self, Ints pad) {
    const int64_t n = self.ndim();
    FB_CHECK(pad.n % 2 == 0 && pad.n / 2 + 2 >= n && pad.n / 2 < n, "circular padding: pad ", pad, " does not fit a tensor of shape ", self.sizes());
    Tensor x = self;
    for (int64_t i = 0; i < pad.n / 2; ++i) {
      const int64_t d = n - 1 - i, size = self.sizes()[d], before = pad[2 * i], after = pad[2 * i + 1];
      FB_CHECK(before <= size && after <= size, "circular padding: pad (", before, ", ", after, ") wraps dimension ", d, " of shape ", self.sizes(), " more than once");
      FB_CHECK(size + before + after >= 0, "circular padding: pad (", before, ", ", after, ") leaves dimension ", d, " of shape ", self.sizes(), " with a negative size");
      const int64_t a = before < 0 ? -before : 0, b = after < 0 ? size + after : size;
      // What is cut away takes no part in the wrapping.
      const Tensor core = a == 0 && b == size ? x : op<"slice">(x, d, a, b, 1);
      const int64_t have = core.sizes()[d];
      FB_CHECK(before <= have && after <= have, "circular padding: pad (", before, ", ", after, ") wraps dimension ", d, " of shape ", self.sizes(), " more than once");
      std::vector<Tensor> parts;
      if (before > 0) parts.push_back(op<"slice">(core, d, have - before, have, 1));
      parts.push_back(core);
      if (after > 0) parts.push_back(op<"slice">(core, d, 0, after, 1));
      x = parts.size() == 1 ? parts[0] : op<"cat">(parts, d);
    }
    return x.is(self) ? op<"clone">(self) : op<"contiguous">(x);
  }
};
FB_CARD(pad_circular)

struct pad : composite<pad> {
  static constexpr auto schema = "pad(Tensor self, int[] pad, str mode=\"constant\", float? value=None) -> Tensor";
  static constexpr uint32_t forms = form::nn;
  static Tensor body(const Tensor& self, Ints pad, std::string_view mode, std::optional<double> value) {
    FB_CHECK(pad.n % 2 == 0, "pad: padding must hold pairs, it has ", pad.n, " entries: ", pad);
    FB_CHECK(pad.n <= 2 * self.ndim(), "pad: padding ", pad, " names ", pad.n / 2, " dimensions, the shape is ", self.sizes());
    if (mode == "constant") return op<"constant_pad_nd">(self, pad, value.value_or(0.0));
    FB_CHECK(!value || *value == 0, "pad: mode \"", mode, "\" takes no value, ", value.value_or(0), " was given");
    const int64_t n = self.ndim(), k = pad.n / 2;
    if (mode != "reflect" && mode != "replicate" && mode != "circular")
      raise_not_implemented("pad: mode \"", mode, "\" is none of constant, reflect, replicate and circular");
    if (k < 1 || k > 3 || (n != k + 1 && n != k + 2))
      raise_not_implemented("pad: mode \"", mode, "\" with ", pad.n, " entries takes ", k + 1, " or ", k + 2, " dimensions, the shape is ", self.sizes(),
                            "; 2, 4 and 6 entries are there");
    if (mode == "circular") return op<"_pad_circular">(self, pad);
    if (mode == "reflect") return k == 1 ? op<"reflection_pad1d">(self, pad) : k == 2 ? op<"reflection_pad2d">(self, pad) : op<"reflection_pad3d">(self, pad);
    return k == 1 ? op<"replication_pad1d">(self, pad) : k == 2 ? op<"replication_pad2d">(self, pad) : op<"replication_pad3d">(self, pad);
  }
  static constexpr auto doc = R"(pad(input, pad, mode="constant", value=None) -> Tensor

Pairs (before, after) from the last dimension on. Modes: constant, reflect, replicate, circular.)";
};
FB_CARD(pad)

}  // namespace fb::cards
