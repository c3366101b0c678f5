// Parts of a dimension: select, slice, narrow, diagonal, unfold, and what carries their gradients back.
#pragma once
#include "dispatch/call.h"
#include "ops/view/geometry.h"

namespace fb::cards {

struct select : view<select> {
  static constexpr auto schema = "select.int(Tensor(a) self, int dim, int index) -> Tensor(a)";
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t dim, typename T::Int index) {
    const int64_t d = wrap_dim_of("select", self, dim);
    const typename T::Int size = self.sizes()[d];
    FB_CHECK_INDEX(index >= -size && index < size, "select: index ", index, " is out of range for dimension ", dim,
                   " of size ", size, " in a tensor of shape ", self.sizes());
    auto g = same_geometry(self);
    g.offset += (index < 0 ? index + size : index) * g.strides[d];
    g.sizes.erase(d);
    g.strides.erase(d);
    return g;
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, int64_t> dim, arg<2, int64_t> index) {
    return op<"select_backward">(g, x->sizes, *dim, *index);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(select(input, dim, index) -> Tensor

A view at one index of a dimension, which is dropped.)";
};
FB_CARD(select)

// start and end of a slice clamped into [0, size], as Python does.
template <class I> I clamp_slice(I i, const I& size) {
  if (i < 0) i += size;
  return i < 0 ? I(0) : i > size ? size : i;
}

struct slice : view<slice> {
  static constexpr auto schema = "slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t dim, std::optional<typename T::Int> start,
                                                                        std::optional<typename T::Int> end, int64_t step) {
    using I = typename T::Int;
    const int64_t d = wrap_dim_of("slice", self, dim);
    const I size = self.sizes()[d];
    FB_CHECK(step > 0, "slice: step ", step, " must be greater than 0");
    const I a = start ? clamp_slice(*start, size) : I(0);
    I b = end ? clamp_slice(*end, size) : size;
    if (b < a) b = a;
    auto g = same_geometry(self);
    const I n = b - a;
    g.offset += a * g.strides[d];
    g.sizes[d] = n == 0 ? I(0) : (n - 1) / step + 1;
    g.strides[d] = rules_of_shape::stride_times(g.strides[d], I(step));
    return g;
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, int64_t> dim, arg<2, std::optional<int64_t>> start,
                       arg<3, std::optional<int64_t>> end, arg<4, int64_t> step) {
    return op<"slice_backward">(g, x->sizes, *dim, *start ? **start : int64_t(0), *end ? **end : INT64_MAX, *step);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(slice)

struct narrow : composite<narrow> {
  static constexpr auto schema = "narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)";
  static Tensor body(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    FB_CHECK(self.ndim() > 0, "narrow: a tensor without dimensions has none to take (dim is ", dim, ")");
    FB_CHECK(length >= 0, "narrow: length ", length, " is negative");
    const int64_t size = self.sizes()[wrap_dim(dim, self.ndim())];
    FB_CHECK_INDEX(start >= -size && start <= size, "narrow: start ", start, " is out of range for dimension ", dim, " of size ", size,
                   " in a tensor of shape ", self.sizes());
    if (start < 0) start += size;
    FB_CHECK(length <= size - start, "narrow: start ", start, " and length ", length, " reach beyond dimension ", dim, " of size ",
             size, " in a tensor of shape ", self.sizes());
    return op<"slice">(self, dim, start, start + length, 1);
  }
  static constexpr auto doc = R"(narrow(input, dim, start, length) -> Tensor

A view of length elements of dimension dim from start on.)";
};
FB_CARD(narrow)

struct narrow_tensor : composite<narrow_tensor> {
  static constexpr auto schema = "narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)";
  static Tensor body(const Tensor& self, int64_t dim, const Tensor& start, int64_t length) {
    FB_CHECK(start.ndim() == 0 && is_integral(start.dtype()), "narrow: start must be an integer tensor without dimensions, it is ",
             start.dtype(), " of shape ", start.sizes());
    return narrow::body(self, dim, op_value<"item">(start).integer(), length);
  }
};
FB_CARD(narrow_tensor)

struct diagonal : view<diagonal> {
  static constexpr auto schema = "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)";
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t offset, int64_t dim1, int64_t dim2) {
    const int64_t n = self.ndim();
    int64_t a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
    FB_CHECK(a != b, "diagonal: dim1 ", dim1, " and dim2 ", dim2, " are the same dimension of a tensor of shape ", self.sizes());
    auto g = same_geometry(self);
    using I = typename T::Int;
    const I rows = g.sizes[a], cols = g.sizes[b], sa = g.strides[a], sb = g.strides[b];
    // offset > 0: above the main diagonal.
    const I right = cols > offset ? cols - offset : I(0), below = offset != INT64_MIN && rows > -offset ? rows + offset : I(0);
    const I length = offset >= 0 ? (right < rows ? right : rows) : (cols < below ? cols : below);
    if (length > 0) g.offset += offset >= 0 ? offset * sb : -offset * sa;
    if (a > b) std::swap(a, b);
    g.sizes.erase(b), g.strides.erase(b);
    g.sizes.erase(a), g.strides.erase(a);
    g.sizes.push_back(length > 0 ? length : I(0));
    g.strides.push_back(sa + sb);
    return g;
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, int64_t> offset, arg<2, int64_t> dim1, arg<3, int64_t> dim2) {
    return op<"diagonal_backward">(g, x->sizes, *offset, *dim1, *dim2);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(diagonal(input, offset=0, dim1=0, dim2=1) -> Tensor

A view of the diagonal of dimensions dim1 and dim2, as the last dimension.)";
};
FB_CARD(diagonal)

struct unfold : view<unfold> {
  static constexpr auto schema = "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)";
  static constexpr uint32_t forms = form::method;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t dim, int64_t size, int64_t step) {
    const int64_t d = wrap_dim(dim, self.ndim());
    using I = typename T::Int;
    const I have = self.ndim() ? self.sizes()[d] : I(1), stride = self.ndim() ? self.strides()[d] : I(1);
    FB_CHECK(size >= 0, "unfold: size ", size, " must be at least 0");
    FB_CHECK(size <= have, "unfold: size ", size, " is larger than dimension ", dim, " of size ", have, " in a tensor of shape ", self.sizes());
    FB_CHECK(step > 0, "unfold: step ", step, " must be greater than 0");
    auto g = same_geometry(self);
    if (self.ndim()) {
      g.sizes[d] = (have - size) / step + 1;
      g.strides[d] = stride * step;
    }
    g.sizes.push_back(size);
    g.strides.push_back(stride);
    return g;
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, int64_t> dim, arg<2, int64_t> size, arg<3, int64_t> step) {
    return op<"unfold_backward">(g, x->sizes, *dim, *size, *step);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(unfold(dimension, size, step) -> Tensor

A view of all windows of the given size along a dimension, step apart; the window is the last dimension.)";
};
FB_CARD(unfold)

// ---- gradients: zeros of the input's shape with the gradient written into the part ----

struct select_backward : lowered<select_backward> {
  static constexpr auto schema = "select_backward(Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::out;
  static Tensor lowering(const Tensor& g, Ints sizes, int64_t dim, int64_t index) {
    const Tensor z = op<"new_zeros">(g, sizes);
    op<"copy_">(op<"select">(z, dim, index), g);
    return z;
  }
  static Tensor d_grad(grad<0> g, arg<2, int64_t> dim, arg<3, int64_t> index) { return op<"select">(g, *dim, *index); }
  using vjp = rules<wrt<0, d_grad>>;
};
FB_CARD(select_backward)

struct slice_backward : lowered<slice_backward> {
  static constexpr auto schema = "slice_backward(Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::out;
  static Tensor lowering(const Tensor& g, Ints sizes, int64_t dim, int64_t start, int64_t end, int64_t step) {
    const Tensor z = op<"new_zeros">(g, sizes);
    op<"copy_">(op<"slice">(z, dim, start, end, step), g);
    return z;
  }
  static Tensor d_grad(grad<0> g, arg<2, int64_t> dim, arg<3, int64_t> start, arg<4, int64_t> end, arg<5, int64_t> step) {
    return op<"slice">(g, *dim, *start, *end, *step);
  }
  using vjp = rules<wrt<0, d_grad>>;
};
FB_CARD(slice_backward)

struct diagonal_backward : lowered<diagonal_backward> {
  static constexpr auto schema = "diagonal_backward(Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::out;
  static Tensor lowering(const Tensor& g, Ints sizes, int64_t offset, int64_t dim1, int64_t dim2) {
    const Tensor z = op<"new_zeros">(g, sizes);
    op<"copy_">(op<"diagonal">(z, offset, dim1, dim2), g);
    return z;
  }
  static Tensor d_grad(grad<0> g, arg<2, int64_t> offset, arg<3, int64_t> dim1, arg<4, int64_t> dim2) {
    return op<"diagonal">(g, *offset, *dim1, *dim2);
  }
  using vjp = rules<wrt<0, d_grad>>;
};
FB_CARD(diagonal_backward)

// Windows overlap: what meets in one element adds up.
struct unfold_backward : lowered<unfold_backward> {
  static constexpr auto schema = "unfold_backward(Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::out;
  static Tensor lowering(const Tensor& g, Ints sizes, int64_t dim, int64_t size, int64_t step) {
    const Dims st = contiguous_strides(sizes);
    Dims window(sizes), ws(st);
    const int64_t d = wrap_dim(dim, sizes.n);
    FB_CHECK(step > 0, "unfold_backward: step must be greater than 0, it is ", step);
    FB_CHECK(size >= 0 && size <= (sizes.n ? sizes[d] : 1), "unfold_backward: size ", size, " does not fit into dimension ", d, " of ", sizes);
    int64_t stride = 1;
    if (sizes.n) {
      stride = st[d];
      window[d] = (sizes[d] - size) / step + 1;
      ws[d] = stride * step;
    }
    window.push_back(size);
    ws.push_back(stride);
    return op<"as_strided_backward">(g, sizes, st, window, ws, int64_t(0));
  }
  static Tensor d_grad(grad<0> g, arg<2, int64_t> dim, arg<3, int64_t> size, arg<4, int64_t> step) {
    return op<"unfold">(g, *dim, *size, *step);
  }
  using vjp = rules<wrt<0, d_grad>>;
};
FB_CARD(unfold_backward)

}  // namespace fb::cards
