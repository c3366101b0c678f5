// Dimensions moved, swapped, added and dropped.
#pragma once
#include "dispatch/call.h"
#include "ops/view/geometry.h"

namespace fb::cards {

struct permute : view<permute> {
  static constexpr auto schema = "permute(Tensor(a) self, int[] dims) -> Tensor(a)";
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, Ints dims) {
    FB_CHECK(dims.n == self.ndim(), "permute: ", dims.n, " dims ", dims, " were given for a tensor of shape ", self.sizes());
    dim_set("permute", dims, self.ndim());
    GeometryOf<typename T::Int> g{typename T::Sizes(dims.n), typename T::Sizes(dims.n), self.offset()};
    for (int64_t i = 0; i < dims.n; ++i) {
      const int64_t d = wrap_dim(dims[i], dims.n);
      g.sizes[i] = self.sizes()[d];
      g.strides[i] = self.strides()[d];
    }
    return g;
  }
  static Tensor d_self(grad<0> g, arg<1, Ints> dims) {
    Dims inverse(dims->n);
    for (int64_t i = 0; i < dims->n; ++i) inverse[wrap_dim((*dims)[i], dims->n)] = i;
    return op<"permute">(g, inverse);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(permute(input, dims) -> Tensor

A view with dimension dims[i] of input as its dimension i.)";
};
FB_CARD(permute)

struct transpose : view<transpose> {
  static constexpr auto schema = "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)";
  static constexpr auto aliases = "_.";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t d0, int64_t d1) {
    auto g = same_geometry(self);
    const int64_t a = wrap_dim(d0, self.ndim()), b = wrap_dim(d1, self.ndim());
    if (a == b) return g;
    std::swap(g.sizes[a], g.sizes[b]);
    std::swap(g.strides[a], g.strides[b]);
    return g;
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> d0, arg<2, int64_t> d1) { return op<"transpose">(g, *d0, *d1); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(transpose(input, dim0, dim1) -> Tensor

A view with two dimensions swapped.)";
};
FB_CARD(transpose)

#define FB_SWAP(name, a, b)                                                                                     \
  struct name : composite<name> {                                                                              \
    static constexpr auto schema = #name "(Tensor(a) self, int " #a ", int " #b ") -> Tensor(a)";              \
    static Tensor body(const Tensor& self, int64_t d0, int64_t d1) { return op<"transpose">(self, d0, d1); }   \
  };                                                                                                           \
  FB_CARD(name)                                                                                                \
  struct name##_in_place : composite<name##_in_place> {                                                        \
    static constexpr auto schema = #name "_(Tensor(a!) self, int " #a ", int " #b ") -> Tensor(a!)";           \
    static constexpr uint32_t forms = form::method;                                                            \
    static Tensor body(const Tensor& self, int64_t d0, int64_t d1) { return op<"transpose_">(self, d0, d1); }  \
  };                                                                                                           \
  FB_CARD(name##_in_place)
FB_SWAP(swapaxes, axis0, axis1)
FB_SWAP(swapdims, dim0, dim1)
#undef FB_SWAP

struct t : view<t> {
  static constexpr auto schema = "t(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) {
    FB_CHECK(self.ndim() <= 2, "t: takes at most 2 dimensions, the shape is ", self.sizes(), "; use mT or transpose()");
    return self.ndim() < 2 ? same_geometry(self) : transpose::geometry(self, 0, 1);
  }
  static Tensor d_self(grad<0> g) { return op<"t">(g); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(t(input) -> Tensor

The transpose of a matrix; tensors of fewer dimensions stay as they are.)";
};
FB_CARD(t)

struct numpy_T : composite<numpy_T> {
  static constexpr auto schema = "numpy_T(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& self) {
    Dims dims;
    for (int64_t i = self.ndim() - 1; i >= 0; --i) dims.push_back(i);
    return op<"permute">(self, dims);
  }
};
FB_CARD(numpy_T)

struct mT : composite<mT> {
  static constexpr auto schema = "mT(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() != 1, "mT: takes matrices or batches of them, the shape is ", self.sizes());
    return self.ndim() == 0 ? self : op<"transpose">(self, -2, -1);
  }
};
FB_CARD(mT)

inline Tensor conjugate_transpose(const Tensor& self) {
  const Tensor r = self.ndim() == 0 ? self : op<"transpose">(self, -2, -1);
  return r.is_complex() ? op<"conj">(r) : r;
}

struct mH : composite<mH> {
  static constexpr auto schema = "mH(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() != 1, "mH: takes matrices or batches of them, the shape is ", self.sizes());
    return conjugate_transpose(self);
  }
};
FB_CARD(mH)

struct matrix_H : composite<matrix_H> {
  static constexpr auto schema = "matrix_H(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden;
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() == 0 || self.ndim() == 2, "H: takes a matrix, the shape is ", self.sizes(), "; for batches use mH");
    return conjugate_transpose(self);
  }
};
FB_CARD(matrix_H)

struct adjoint : composite<adjoint> {
  static constexpr auto schema = "adjoint(Tensor(a) self) -> Tensor(a)";
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() != 1, "adjoint: takes matrices or batches of them, the shape is ", self.sizes());
    return conjugate_transpose(self);
  }
};
FB_CARD(adjoint)

struct movedim_list : composite<movedim_list> {
  static constexpr auto schema = "movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)";
  static constexpr auto aliases = "moveaxis";
  static Tensor body(const Tensor& self, Ints source, Ints destination) {
    FB_CHECK(source.n == destination.n, "movedim: source ", source, " and destination ", destination, " differ in length");
    const int64_t n = self.ndim();
    const auto from = dim_set("movedim (source)", source, n);
    const auto to = dim_set("movedim (destination)", destination, n);
    if (n == 0) return op<"alias">(self);
    Dims dims(n, -1);
    for (int64_t i = 0; i < source.n; ++i) dims[wrap_dim(destination[i], n)] = wrap_dim(source[i], n);
    int64_t next = 0;
    for (int64_t i = 0; i < n; ++i) {
      if (to[i]) continue;
      while (from[next]) ++next;
      dims[i] = next++;
    }
    return op<"permute">(self, dims);
  }
  static constexpr auto doc = R"(movedim(input, source, destination) -> Tensor

Moves dimensions source to the places destination; the others keep their order.)";
};
FB_CARD(movedim_list)

struct movedim : composite<movedim> {
  static constexpr auto schema = "movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)";
  static constexpr auto aliases = "moveaxis";
  static Tensor body(const Tensor& self, int64_t source, int64_t destination) {
    return movedim_list::body(self, Ints({source}), Ints({destination}));
  }
};
FB_CARD(movedim)

// Without the dimensions of size 1 that drop(i) names.
template <class T, class Drop> GeometryOf<typename T::Int> squeeze_geometry(const T& self, Drop drop) {
  GeometryOf<typename T::Int> g;
  g.offset = self.offset();
  for (int64_t i = 0; i < self.ndim(); ++i) {
    if (drop(i) && self.sizes()[i] == 1) continue;
    g.sizes.push_back(self.sizes()[i]);
    g.strides.push_back(self.strides()[i]);
  }
  return g;
}

struct squeeze : view<squeeze> {
  static constexpr auto schema = "squeeze(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self) {
    return squeeze_geometry(self, [](int64_t) { return true; });
  }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"reshape">(g, x->sizes); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(squeeze(input, dim=None) -> Tensor

A view without the dimensions of size 1, or without those of size 1 among dim (an int or a tuple).)";
};
FB_CARD(squeeze)

struct squeeze_dim : view<squeeze_dim> {
  static constexpr auto schema = "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.ndim());
    return squeeze_geometry(self, [d](int64_t i) { return i == d; });
  }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"reshape">(g, x->sizes); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(squeeze_dim)

struct squeeze_dims : view<squeeze_dims> {
  static constexpr auto schema = "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, Ints dims) {
    const auto in = dim_set("squeeze", dims, self.ndim());
    return squeeze_geometry(self, [&](int64_t i) { return in[i]; });
  }
  static Tensor d_self(grad<0> g, shape_of<0> x) { return op<"reshape">(g, x->sizes); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(squeeze_dims)

struct unsqueeze : view<unsqueeze> {
  static constexpr auto schema = "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)";
  static constexpr uint32_t forms = form::fn | form::method | form::inplace;
  template <class T> static GeometryOf<typename T::Int> geometry(const T& self, int64_t dim) {
    const int64_t d = wrap_dim(dim, self.ndim() + 1);
    auto g = same_geometry(self);
    const typename T::Int stride = d < self.ndim() ? rules_of_shape::stride_times(g.sizes[d], g.strides[d]) : typename T::Int(1);
    g.sizes.insert(d, 1);
    g.strides.insert(d, stride);
    return g;
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> dim) { return op<"squeeze">(g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(unsqueeze(input, dim) -> Tensor

A view with a new dimension of size 1 at dim.)";
};
FB_CARD(unsqueeze)

inline Tensor at_least(const Tensor& self, int n) {
  switch (n - int(self.ndim())) {
    case 3: return op<"reshape">(self, Ints({1, 1, 1}));
    case 2: return n == 2 ? op<"reshape">(self, Ints({1, 1})) : op<"unsqueeze">(op<"unsqueeze">(self, 0), -1);
    case 1: return n == 1 ? op<"reshape">(self, Ints({int64_t(1)})) : op<"unsqueeze">(self, n == 2 ? 0 : -1);
    default: return self;
  }
}
inline std::vector<Tensor> all_at_least(TensorSpan tensors, int n) {
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(at_least(x, n));
  return out;
}
#define FB_ATLEAST(N)                                                                     \
  struct atleast_##N##d : composite<atleast_##N##d> {                                     \
    static constexpr auto schema = "atleast_" #N "d(Tensor self) -> Tensor";              \
    static constexpr uint32_t forms = form::fn;                                           \
    static Tensor body(const Tensor& self) { return at_least(self, N); }                  \
  };                                                                                      \
  FB_CARD(atleast_##N##d)                                                                 \
  struct atleast_##N##d_list : composite<atleast_##N##d_list> {                           \
    static constexpr auto schema = "atleast_" #N "d.Sequence(Tensor[] tensors) -> Tensor[]"; \
    static constexpr uint32_t forms = form::fn;                                           \
    static std::vector<Tensor> body(TensorSpan tensors) { return all_at_least(tensors, N); } \
  };                                                                                      \
  FB_CARD(atleast_##N##d_list)
FB_ATLEAST(1)
FB_ATLEAST(2)
FB_ATLEAST(3)
#undef FB_ATLEAST

}  // namespace fb::cards
