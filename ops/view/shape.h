// The same elements under another shape: view, reshape, flatten, expand, and strided windows.
#pragma once
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/visible.h"
#include "ops/view/geometry.h"

namespace fb::cards {

struct as_strided : view<as_strided> {
  static constexpr auto schema = "as_strided(Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::fn_inplace;
  static Geometry geometry(const Tensor& self, Ints size, Ints stride, std::optional<int64_t> offset) {
    const int64_t at = offset ? *offset : self.offset();
    check_window("as_strided", self, size, stride, at);
    return {Dims(size), Dims(stride), at};
  }
  static Tensor d_self(grad<0> g, shape_of<0> base, arg<1, Ints> size, arg<2, Ints> stride, arg<3, std::optional<int64_t>> offset) {
    return op<"as_strided_backward">(g, base->sizes, base->strides, *size, *stride, *offset ? **offset - base->offset : int64_t(0));
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(as_strided(input, size, stride, storage_offset=None) -> Tensor

A view of input's storage with the given sizes and strides (in elements), from storage_offset on.)";
};
FB_CARD(as_strided)

// Gradient of a strided window: zeros shaped and laid out as the base, with grad added in through the window, which starts
// `offset` elements after the base does. Elements reached more than once add up; where the base itself reaches one
// element several times, each of its places gets an equal share.
struct as_strided_backward : structured<as_strided_backward> {
  static constexpr auto schema = "as_strided_backward(Tensor grad, int[] base_sizes, int[] base_strides, int[] size, int[] stride, int offset) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static T meta(const T& g, Ints base_sizes, Ints base_strides, Ints size, Ints stride, int64_t offset) {
    FB_CHECK(g.sizes() == size, "as_strided_backward: grad has shape ", g.sizes(), ", the window ", size);
    for (const auto& [sizes, strides] : {std::pair(base_sizes, base_strides), std::pair(size, stride)}) {
      FB_CHECK(sizes.n == strides.n, "as_strided_backward: ", sizes.n, " sizes ", sizes, " were given with ", strides.n, " strides ", strides);
      for (int64_t i = 0; i < sizes.n; ++i)
        FB_CHECK(sizes[i] >= 0 && strides[i] >= 0, "as_strided_backward: sizes ", sizes, " and strides ", strides, " must not be negative");
      storage_bytes(sizes, strides, std::max<int64_t>(offset, 0), g.item_bytes());  // raises where the reach does not fit 64 bits
    }
    FB_CHECK(offset > -(int64_t(1) << 48), "as_strided_backward: offset ", offset, " lies before all memory");
    return T::empty_strided(base_sizes, numel_of(base_sizes) ? preserved_strides(base_sizes, base_strides) : contiguous_strides(base_sizes), g.options());
  }
  static Tensor d_grad(grad<0> g, arg<1, Ints> base_sizes, arg<2, Ints> base_strides, arg<3, Ints> size, arg<4, Ints> stride, arg<5, int64_t> offset) {
    Tensor base = beside(g, Tensor::empty_strided(*base_sizes, *base_strides, g->options()));
    base = op<"copy_">(base, g);
    return op<"as_strided">(base, *size, *stride, *offset);
  }
  using vjp = rules<wrt<0, d_grad>>;
};
FB_CARD(as_strided_backward)

struct alias : view<alias> {
  static constexpr auto schema = "alias(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) { return same_geometry(self); }
  static Tensor d_self(grad<0> g) { return g; }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(alias)

struct detach : composite<detach> {
  static constexpr auto schema = "detach(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::visible;
  static Tensor body(const Tensor& self) { return self.alias(); }
  static constexpr auto doc = R"(detach() -> Tensor

The same elements without history: the result shares memory and version counter, and never requires grad.)";
};
FB_CARD(detach)

struct view_ : view<view_> {
  static constexpr auto schema = "view(Tensor(a) self, int[] size) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, Span<typename T::Int> size) {
    const auto to = infer_shape(size, self.numel());
    const auto st = view_strides(self.sizes(), self.strides(), to.span());
    FB_CHECK(st, "view: a tensor of shape ", self.sizes(), " and strides ", self.strides(), " cannot be seen as shape ", to,
             " without a copy; use reshape()");
    return {to, *st, self.offset()};
  }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"reshape">(g, x->sizes); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(view(*shape) -> Tensor   |   view(dtype) -> Tensor

A view of another shape; one size may be -1. Raises where the strides do not allow it. With a dtype: the same bytes
read as another type.)";
};
FB_CARD(view_)

struct view_dtype : view<view_dtype> {
  static constexpr auto schema = "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, DType to) {
    auto g = same_geometry(self);
    g.dtype = to;
    FB_CHECK(!self.is_conj() || fb::is_complex(to), "view: a conjugate tensor cannot be read as ", to, "; resolve_conj() it first");
    FB_CHECK(!self.is_neg() || to == self.dtype(), "view: a negated view cannot be read as ", to, "; resolve_neg() it first");
    const int64_t from = self.item_bytes(), item = item_size(to);
    if (from == item) return g;
    const int64_t n = self.ndim();
    FB_CHECK(n > 0, "view: a tensor without dimensions cannot go from ", self.dtype(), " to ", to, ", whose elements differ in size");
    FB_CHECK(self.strides()[n - 1] == 1, "view: the last stride must be 1 to read ", self.dtype(), " as ", to, ", it is ",
             self.strides()[n - 1], " in a tensor of shape ", self.sizes());
    if (from > item) {
      const int64_t f = from / item;
      g.sizes[n - 1] *= f;
      for (int64_t i = 0; i + 1 < n; ++i) g.strides[i] *= f;
      g.offset *= f;
      return g;
    }
    const int64_t f = item / from;
    FB_CHECK(g.sizes[n - 1] % f == 0, "view: the last size must be divisible by ", f, " to read ", self.dtype(), " as ", to, ", the shape is ", self.sizes());
    FB_CHECK(g.offset % f == 0, "view: the storage offset must be divisible by ", f, " to read ", self.dtype(), " as ", to, ", it is ", g.offset);
    for (int64_t i = 0; i + 1 < n; ++i) {
      FB_CHECK(g.strides[i] % f == 0, "view: stride ", g.strides[i], " of dimension ", i, " must be divisible by ", f, " to read ", self.dtype(), " as ", to);
      g.strides[i] /= f;
    }
    g.sizes[n - 1] /= f;
    g.offset /= f;
    return g;
  }
  using vjp = no_gradient;
};
FB_CARD(view_dtype)

// The result of a reshape that had to copy: fresh memory, so nothing is tracked as a view.
struct unsafe_view : lowered<unsafe_view> {
  static constexpr auto schema = "_unsafe_view(Tensor self, int[] size) -> Tensor";
  static constexpr uint32_t forms = form::hidden;
  static Tensor lowering(const Tensor& self, Ints size) {
    const Geometry g = view_::geometry(self, size);
    return self.alias(g.sizes, g.strides, g.offset);
  }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"reshape">(g, x->sizes); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(unsafe_view)

struct reshape : composite<reshape> {
  static constexpr auto schema = "reshape(Tensor(a) self, int[] shape) -> Tensor(a)";
  static Tensor body(const Tensor& self, Ints shape) {
    const Dims to = infer_shape(shape, self.numel());
    if (self.is_contiguous() || view_strides(self.sizes(), self.strides(), to.span())) return op<"view">(self, to);
    return op<"_unsafe_view">(op<"clone">(self, MemoryFormat::contiguous), to);
  }
  static constexpr auto doc = R"(reshape(input, shape) -> Tensor

The elements in row-major order under another shape; one size may be -1. A view where strides allow it, else a copy.)";
};
FB_CARD(reshape)

struct reshape_as : composite<reshape_as> {
  static constexpr auto schema = "reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Tensor& other) { return op<"reshape">(self, other.sizes()); }
};
FB_CARD(reshape_as)

struct view_as : composite<view_as> {
  static constexpr auto schema = "view_as(Tensor(a) self, Tensor other) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Tensor& other) { return op<"view">(self, other.sizes()); }
};
FB_CARD(view_as)

struct flatten : composite<flatten> {
  static constexpr auto schema = "flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)";
  static Tensor body(const Tensor& self, int64_t start, int64_t end) {
    const int64_t n = self.ndim(), a = wrap_dim(start, n), b = wrap_dim(end, n);
    FB_CHECK(a <= b, "flatten: start_dim ", start, " comes after end_dim ", end, " in a tensor of shape ", self.sizes());
    if (n == 0) return op<"reshape">(self, Ints({int64_t(1)}));
    if (a == b) return self;
    Dims to;
    int64_t run = 1;
    for (int64_t i = 0; i < n; ++i) {
      if (i < a || i > b) to.push_back(self.sizes()[i]);
      else {
        run *= self.sizes()[i];
        if (i == b) to.push_back(run);
      }
    }
    return op<"reshape">(self, to);
  }
  static constexpr auto doc = R"(flatten(input, start_dim=0, end_dim=-1) -> Tensor

Dimensions start_dim to end_dim become one.)";
};
FB_CARD(flatten)

struct unflatten : composite<unflatten> {
  static constexpr auto schema = "unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)";
  static Tensor body(const Tensor& self, int64_t dim, Ints sizes) {
    const int64_t d = wrap_dim(dim, self.ndim());
    FB_CHECK(sizes.n > 0, "unflatten: sizes must not be empty");
    FB_CHECK(self.ndim() > 0, "unflatten: a tensor without dimensions has none to take (dim is ", dim, ")");
    int64_t known = 1, open = 0;
    for (int64_t s : sizes) s == -1 ? ++open : known *= s;
    const int64_t size = self.sizes()[d];
    FB_CHECK(open <= 1 && (open ? known != 0 && size % known == 0 : known == size), "unflatten: sizes ", sizes,
             " do not multiply up to size ", size, " of dimension ", dim, " in a tensor of shape ", self.sizes());
    Dims to;
    for (int64_t i = 0; i < self.ndim(); ++i) {
      if (i != d) to.push_back(self.sizes()[i]);
      else
        for (int64_t s : sizes) to.push_back(s == -1 ? size / known : s);
    }
    return op<"view">(self, to);
  }
  static constexpr auto doc = R"(unflatten(input, dim, sizes) -> Tensor

Dimension dim becomes dimensions of the given sizes; one may be -1.)";
};
FB_CARD(unflatten)

struct ravel : composite<ravel> {
  static constexpr auto schema = "ravel(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) { return op<"reshape">(op<"contiguous">(self), Ints({int64_t(-1)})); }
  static constexpr auto doc = R"(ravel(input) -> Tensor

One dimension with all elements in row-major order; a copy only where needed.)";
};
FB_CARD(ravel)

struct expand : view<expand> {
  static constexpr auto schema = "expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, Span<typename T::Int> size, bool) { return expand_geometry(self, size); }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"sum_to_size">(g, x->sizes); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(expand(*sizes) -> Tensor

A view in which dimensions of size 1, and new leading ones, repeat without a copy; -1 keeps a size.)";
};
FB_CARD(expand)

struct expand_as : composite<expand_as> {
  static constexpr auto schema = "expand_as(Tensor(a) self, Tensor other) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Tensor& other) { return op<"expand">(self, other.sizes()); }
};
FB_CARD(expand_as)

struct broadcast_to : composite<broadcast_to> {
  static constexpr auto schema = "broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)";
  static Tensor body(const Tensor& self, Ints size) { return op<"expand">(self, size); }
};
FB_CARD(broadcast_to)

struct broadcast_tensors : composite<broadcast_tensors> {
  static constexpr auto schema = "broadcast_tensors(Tensor[] tensors) -> Tensor[]";
  static constexpr uint32_t forms = form::fn;
  static std::vector<Tensor> body(TensorSpan tensors) {
    Dims shape;
    for (const Tensor& t : tensors) shape = broadcast_sizes(shape, t.sizes());
    std::vector<Tensor> out;
    for (const Tensor& t : tensors) out.push_back(op<"expand">(t, shape));
    return out;
  }
  static constexpr auto doc = R"(broadcast_tensors(*tensors) -> list of Tensors

Each tensor expanded to the shape that all broadcast to.)";
};
FB_CARD(broadcast_tensors)

struct sum_to_size : composite<sum_to_size> {
  static constexpr auto schema = "sum_to_size(Tensor self, int[] size) -> Tensor";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, Ints size) {
    FB_CHECK(is_expandable_to(size, self.sizes()), "sum_to_size: size ", size, " does not expand to shape ", self.sizes());
    if (self.sizes() == size) return self;
    const int64_t lead = self.ndim() - size.n;
    Dims dims;
    for (int64_t i = 0; i < self.ndim(); ++i)
      if (i < lead || (size[i - lead] == 1 && self.sizes()[i] != 1)) dims.push_back(i);
    Tensor r = op<"sum.dim_IntList">(self, dims, true);
    return lead ? op<"view">(r, size) : r;
  }
  static constexpr auto doc = R"(sum_to_size(*size) -> Tensor

Sums the dimensions that size would have to expand to reach this tensor's shape.)";
};
FB_CARD(sum_to_size)

}  // namespace fb::cards
