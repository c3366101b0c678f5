// One tensor as several: split, chunk, unbind and their kin. Each result is a view of self.
#pragma once
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/shape_of_values.h"
#include "ops/view/geometry.h"
#include "ops/create/known_values.h"

namespace fb::cards {

template <class T> std::vector<GeometryOf<typename T::Int>> split_geometry(const T& self, int64_t d, Span<typename T::Int> sizes) {
  std::vector<GeometryOf<typename T::Int>> out;
  out.reserve(size_t(sizes.n));
  auto g = same_geometry(self);
  for (const auto& s : sizes) {
    g.sizes[d] = s;
    out.push_back(g);
    g.offset += s * g.strides[d];
  }
  return out;
}

// The lengths of pieces of `size` elements, the last one shorter.
template <class T> typename T::Sizes even_split(const char* name, const T& self, typename T::Int size, int64_t dim) {
  FB_CHECK(self.ndim() > 0, name, ": a tensor without dimensions has none to split (dim is ", dim, ")");
  FB_CHECK(size >= 0, name, ": split_size ", size, " is negative");
  using I = typename T::Int;
  const I n = self.sizes()[wrap_dim(dim, self.ndim())];
  FB_CHECK(size > 0 || n == 0, name, ": split_size 0 takes a dimension of size 0, dimension ", dim, " of shape ", self.sizes(), " has ", n);
  // How many there are is a number, whatever the sizes are.
  const int64_t count = size == 0 ? 1 : std::max<int64_t>(known_size(n / size) + (n % size != 0), 1);
  typename T::Sizes sizes(count, size);
  sizes[count - 1] = n - size * I(count - 1);
  return sizes;
}

template <class T> void check_split_sizes(const char* name, const T& self, Span<typename T::Int> sizes, int64_t dim) {
  FB_CHECK(self.ndim() > 0, name, ": a tensor without dimensions has none to split (dim is ", dim, ")");
  const auto n = self.sizes()[wrap_dim(dim, self.ndim())];
  typename T::Int sum = 0;
  for (const auto& s : sizes) {
    FB_CHECK(s >= 0, name, ": split size ", s, " of ", sizes, " is negative");
    FB_CHECK(add_size(sum, s), name, ": split sizes ", sizes, " overflow");
  }
  FB_CHECK(sum == n, name, ": split sizes ", sizes, " add up to ", sum, ", dimension ", dim, " of shape ", self.sizes(), " has ", n);
}

struct split : view<split> {
  static constexpr auto schema = "split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]";
  template <class T> static std::vector<GeometryOf<typename T::Int>> geometry(const T& self, typename T::Int size, int64_t dim) {
    const typename T::Sizes sizes = even_split("split", self, size, dim);
    return split_geometry(self, wrap_dim(dim, self.ndim()), sizes.span());
  }
  static Tensor d_self(grads g, arg<2, int64_t> dim) { return op<"cat">(*g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(split(tensor, split_size_or_sections, dim=0) -> tuple of Tensors

Views of pieces of dimension dim: of split_size elements each (the last may be shorter), or of the listed sizes.)";
};
FB_CARD(split)

struct split_with_sizes : view<split_with_sizes> {
  static constexpr auto schema = "split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]";
  template <class T> static std::vector<GeometryOf<typename T::Int>> geometry(const T& self, Span<typename T::Int> sizes, int64_t dim) {
    check_split_sizes("split_with_sizes", self, sizes, dim);
    return split_geometry(self, wrap_dim(dim, self.ndim()), sizes);
  }
  static Tensor d_self(grads g, arg<2, int64_t> dim) { return op<"cat">(*g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(split_with_sizes)

struct split_sizes : composite<split_sizes> {
  static constexpr auto schema = "split.sizes(Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]";
  static std::vector<Tensor> body(const Tensor& self, Ints sizes, int64_t dim) { return op_list<"split_with_sizes">(self, sizes, dim); }
};
FB_CARD(split_sizes)

// Pieces that share memory but are not tracked as views, so that they may be written in place.
struct unsafe_split : lowered<unsafe_split> {
  static constexpr auto schema = "unsafe_split.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::method;
  static std::vector<Tensor> lowering(const Tensor& self, int64_t size, int64_t dim) {
    std::vector<Tensor> out;
    for (const Geometry& g : split::geometry(self, size, dim)) out.push_back(self.alias(g.sizes, g.strides, g.offset));
    return out;
  }
  static Tensor d_self(grads g, arg<2, int64_t> dim) { return op<"cat">(*g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(unsafe_split)

struct unsafe_split_with_sizes : lowered<unsafe_split_with_sizes> {
  static constexpr auto schema = "unsafe_split_with_sizes(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]";
  static constexpr uint32_t forms = form::fn | form::method;
  static std::vector<Tensor> lowering(const Tensor& self, Ints sizes, int64_t dim) {
    std::vector<Tensor> out;
    for (const Geometry& g : split_with_sizes::geometry(self, sizes, dim)) out.push_back(self.alias(g.sizes, g.strides, g.offset));
    return out;
  }
  static Tensor d_self(grads g, arg<2, int64_t> dim) { return op<"cat">(*g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(unsafe_split_with_sizes)

// Chunk sizes; for a dimension of size 0 as many empty pieces as asked for.
inline Dims chunk_sizes(const char* name, const Tensor& self, int64_t chunks, int64_t dim) {
  FB_CHECK(self.ndim() > 0, name, ": a tensor without dimensions has none to split (dim is ", dim, ")");
  FB_CHECK(chunks > 0, name, ": chunks must be greater than 0, it is ", chunks);
  const int64_t n = self.sizes()[wrap_dim(dim, self.ndim())];
  if (n == 0) return Dims(chunks, 0);
  return even_split(name, self, n / chunks + (n % chunks != 0), dim);
}

struct chunk : composite<chunk> {
  static constexpr auto schema = "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]";
  static std::vector<Tensor> body(const Tensor& self, int64_t chunks, int64_t dim) {
    const Dims sizes = chunk_sizes("chunk", self, chunks, dim);
    if (sizes[0] == 0) return op_list<"split_with_sizes">(self, sizes, dim);
    return op_list<"split.Tensor">(self, sizes[0], dim);
  }
  static constexpr auto doc = R"(chunk(input, chunks, dim=0) -> tuple of Tensors

At most `chunks` views of equal size along dim, the last one possibly smaller.)";
};
FB_CARD(chunk)

struct unsafe_chunk : composite<unsafe_chunk> {
  static constexpr auto schema = "unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]";
  static std::vector<Tensor> body(const Tensor& self, int64_t chunks, int64_t dim) {
    const Dims sizes = chunk_sizes("unsafe_chunk", self, chunks, dim);
    if (sizes[0] == 0) return op_list<"unsafe_split_with_sizes">(self, sizes, dim);
    return op_list<"unsafe_split.Tensor">(self, sizes[0], dim);
  }
};
FB_CARD(unsafe_chunk)

struct unbind : view<unbind> {
  static constexpr auto schema = "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]";
  template <class T> static std::vector<GeometryOf<typename T::Int>> geometry(const T& self, int64_t dim) {
    const int64_t d = wrap_dim_of("unbind", self, dim), n = known_size(self.sizes()[d]);
    const typename T::Int step = self.strides()[d];
    auto g = same_geometry(self);
    g.sizes.erase(d);
    g.strides.erase(d);
    std::vector<GeometryOf<typename T::Int>> out;
    out.reserve(size_t(n));
    for (int64_t i = 0; i < n; ++i, g.offset += step) out.push_back(g);
    return out;
  }
  static Tensor d_self(grads g, arg<1, int64_t> dim) { return op<"stack">(*g, *dim); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(unbind(input, dim=0) -> tuple of Tensors

A view for each index of a dimension, which is dropped.)";
};
FB_CARD(unbind)

inline std::vector<Tensor> split_at(const Tensor& self, Ints indices, int64_t dim) {
  FB_CHECK(self.ndim() > 0, "tensor_split: a tensor without dimensions has none to split (dim is ", dim, ")");
  const int64_t n = self.sizes()[wrap_dim(dim, self.ndim())];
  std::vector<Tensor> out;
  int64_t from = 0;
  for (int64_t to : indices) {
    out.push_back(op<"slice">(self, dim, from, to, 1));
    from = to;
  }
  out.push_back(op<"slice">(self, dim, from, n, 1));
  return out;
}
inline std::vector<Tensor> split_sections(const Tensor& self, int64_t sections, int64_t dim) {
  FB_CHECK(self.ndim() > 0, "tensor_split: a tensor without dimensions has none to split (dim is ", dim, ")");
  const int64_t n = self.sizes()[wrap_dim(dim, self.ndim())];
  FB_CHECK(sections > 0, "tensor_split: sections must be greater than 0, it is ", sections);
  FB_CHECK(sections <= int64_t(1) << 24, "tensor_split: ", sections, " sections are more than there can be tensors; the limit is ", int64_t(1) << 24);
  std::vector<Tensor> out;
  int64_t from = 0;
  for (int64_t i = 0; i < sections; ++i) {
    const int64_t size = n / sections + (i < n % sections);
    out.push_back(op<"slice">(self, dim, from, from + size, 1));
    from += size;
  }
  return out;
}

struct tensor_split_indices : composite<tensor_split_indices> {
  static constexpr auto schema = "tensor_split.indices(Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]";
  static std::vector<Tensor> body(const Tensor& self, Ints indices, int64_t dim) { return split_at(self, indices, dim); }
};
struct tensor_split : composite<tensor_split> {
  static constexpr auto schema = "tensor_split.sections(Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]";
  static std::vector<Tensor> body(const Tensor& self, int64_t sections, int64_t dim) { return split_sections(self, sections, dim); }
  static constexpr auto doc = R"(tensor_split(input, indices_or_sections, dim=0) -> tuple of Tensors

Views of `sections` nearly equal pieces of a dimension, the larger ones first, or of the pieces between the given indices.)";
};
struct tensor_split_tensor : composite<tensor_split_tensor> {
  static constexpr auto schema = "tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]";
  static constexpr uint32_t forms = composite<tensor_split_tensor>::forms | form::shape_of_values;
  static std::vector<Tensor> body(const Tensor& self, const Tensor& places, int64_t dim) {
    const Tensor at = known(places, "tensor_split");
    FB_CHECK(self.ndim() > 0, "tensor_split: a tensor without dimensions has none to split (dim is ", dim, ")");
    FB_CHECK(at.device().is_cpu() && at.dtype() == DType::i64 && at.ndim() <= 1, "tensor_split: tensor_indices_or_sections must be an int64 tensor on the cpu of at most ",
             "1 dimension, it is ", at.dtype(), " of shape ", at.sizes(), " on ", at.device());
    const Dims indices = known_integers(at);
    return at.ndim() == 0 ? split_sections(self, indices[0], dim) : split_at(self, indices, dim);
  }
};
FB_CARD(tensor_split)
FB_CARD(tensor_split_indices)
FB_CARD(tensor_split_tensor)

inline int64_t check_split_rank(const char* name, const Tensor& self, int64_t rank, int64_t dim) {
  FB_CHECK(self.ndim() >= rank, name, ": takes a tensor of at least ", rank, " dimensions, the shape is ", self.sizes());
  return rank == 1 && self.ndim() == 1 ? 0 : dim;
}
inline std::vector<Tensor> split_evenly(const char* name, const Tensor& self, int64_t sections, int64_t dim) {
  FB_CHECK(sections != 0 && self.sizes()[dim] % sections == 0, name, ": size ", self.sizes()[dim], " of dimension ", dim, " in shape ", self.sizes(),
           " is not divisible by ", sections);
  return split_sections(self, sections, dim);
}
#define FB_SPLIT(name, rank, dim)                                                                                \
  struct name : composite<name> {                                                                               \
    static constexpr auto schema = #name ".int(Tensor(a -> *) self, int sections) -> Tensor(a)[]";              \
    static std::vector<Tensor> body(const Tensor& self, int64_t sections) {                                     \
      return split_evenly(#name, self, sections, check_split_rank(#name, self, rank, dim));                     \
    }                                                                                                           \
  };                                                                                                            \
  FB_CARD(name)                                                                                                 \
  struct name##_array : composite<name##_array> {                                                               \
    static constexpr auto schema = #name ".array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]";           \
    static std::vector<Tensor> body(const Tensor& self, Ints indices) {                                         \
      return split_at(self, indices, check_split_rank(#name, self, rank, dim));                                 \
    }                                                                                                           \
  };                                                                                                            \
  FB_CARD(name##_array)
FB_SPLIT(hsplit, 1, 1)
FB_SPLIT(vsplit, 2, 0)
FB_SPLIT(dsplit, 3, 2)
#undef FB_SPLIT

}  // namespace fb::cards
