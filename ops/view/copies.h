// Copying twins of views: fresh row-major memory with the elements the view would show, and the view's derivative.
#pragma once
#include "dispatch/card.h"
#include "dispatch/levels.h"
#ifdef FB_EMIT_CARDS   // the cards of these have units of their own
#pragma push_macro("FB_CARD")
#undef FB_CARD
#define FB_CARD(C)
#endif
#include "ops/view/complex_views.h"
#include "ops/view/dims.h"
#include "ops/view/shape.h"
#include "ops/view/slices.h"
#include "ops/view/split.h"
#ifdef FB_EMIT_CARDS
#pragma pop_macro("FB_CARD")
#endif

namespace fb::cards {

inline Tensor view_at(const Tensor& self, const Geometry& g) {
  Tensor t = self.alias(g.sizes, g.strides, g.offset);
  if (g.dtype != DType::none) t->dtype = g.dtype;
  if (g.bits >= 0) {
    t->conj = g.bits & kConj;
    t->neg = g.bits & kNeg;
  }
  return t;
}

template <class View, class Args> struct CopyOfView;
template <class View, class... A> struct CopyOfView<View, std::tuple<const Tensor&, A...>> {
  static auto lowering(const Tensor& self, A... args) {
    if constexpr (std::is_same_v<decltype(View::geometry(self, args...)), Geometry>) {
      return op<"clone">(view_at(self, View::geometry(self, args...)), MemoryFormat::contiguous);
    } else {
      std::vector<Tensor> out;
      for (const Geometry& g : View::geometry(self, args...)) out.push_back(op<"clone">(view_at(self, g), MemoryFormat::contiguous));
      return out;
    }
  }
};
template <class View> using copy_of = CopyOfView<View, typename FnTraits<decltype(detail::geometry_of<View, Tensor>())>::Args>;

#define FB_COPY(name, View, text, grad, returned_forms, ...)             \
  struct name : lowered<name>, copy_of<View> {                           \
    static constexpr auto schema = text;                                 \
    static constexpr auto aliases = "" __VA_ARGS__;                      \
    static constexpr auto grad_name = grad;                              \
    static constexpr uint32_t forms = form::fn | returned_forms;         \
    using vjp = View::vjp;                                               \
  };                                                                     \
  FB_CARD(name)

FB_COPY(alias_copy, alias, "alias_copy(Tensor self) -> Tensor", "AliasBackward0_copy", form::out)
FB_COPY(as_strided_copy, as_strided, "as_strided_copy(Tensor self, int[] size, int[] stride, int? storage_offset=None) -> Tensor", "AsStridedBackward0_copy", form::out)
FB_COPY(diagonal_copy, diagonal, "diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", "DiagonalBackward0_copy", form::out)
FB_COPY(expand_copy, expand, "expand_copy(Tensor self, int[] size, *, bool implicit=False) -> Tensor", "ExpandBackward0_copy", form::out)
FB_COPY(permute_copy, permute, "permute_copy(Tensor self, int[] dims) -> Tensor", "PermuteBackward0_copy", form::out)
FB_COPY(select_copy, select, "select_copy.int(Tensor self, int dim, int index) -> Tensor", "SelectBackward0_copy", form::out)
FB_COPY(slice_copy, slice, "slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor", "SliceBackward0_copy", form::out, ".Tensor_out")
FB_COPY(squeeze_copy, squeeze, "squeeze_copy(Tensor self) -> Tensor", "SqueezeBackward0_copy", form::out)
FB_COPY(squeeze_copy_dim, squeeze_dim, "squeeze_copy.dim(Tensor self, int dim) -> Tensor", "SqueezeBackward1_copy", form::out)
FB_COPY(squeeze_copy_dims, squeeze_dims, "squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", "SqueezeBackward2_copy", form::out)
FB_COPY(t_copy, t, "t_copy(Tensor self) -> Tensor", "TBackward0_copy", form::out)
FB_COPY(transpose_copy, transpose, "transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", "TransposeBackward0_copy", form::out)
FB_COPY(unfold_copy, unfold, "unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", "UnfoldBackward0_copy", form::out)
FB_COPY(unsqueeze_copy, unsqueeze, "unsqueeze_copy(Tensor self, int dim) -> Tensor", "UnsqueezeBackward0_copy", form::out)
FB_COPY(view_as_real_copy, view_as_real, "view_as_real_copy(Tensor self) -> Tensor", "ViewAsRealBackward0_copy", form::out)
FB_COPY(view_as_complex_copy, view_as_complex, "view_as_complex_copy(Tensor self) -> Tensor", "ViewAsComplexBackward0_copy", form::out)
FB_COPY(conj_copy, conj_view, "_conj_copy(Tensor self) -> Tensor", "ConjBackward0_copy", form::out)
FB_COPY(neg_view_copy, neg_view, "_neg_view_copy(Tensor self) -> Tensor", "NegViewBackward0_copy", form::out)
FB_COPY(view_copy_dtype, view_dtype, "view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor", "ViewBackward1_copy", form::out)
FB_COPY(split_copy, split, "split_copy.Tensor(Tensor self, int split_size, int dim=0) -> Tensor[]", "SplitBackward0_copy", 0)
FB_COPY(split_with_sizes_copy, split_with_sizes, "split_with_sizes_copy(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]", "SplitWithSizesBackward0_copy", 0)
FB_COPY(unbind_copy, unbind, "unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", "UnbindBackward0_copy", 0)
#undef FB_COPY

// Writes each piece to the tensor of `out` in its place.
inline void write_pieces(const char* name, const std::vector<Tensor>& pieces, TensorSpan out) {
  FB_CHECK(out.n == int64_t(pieces.size()), name, ": out must hold ", int64_t(pieces.size()), " tensors, it holds ", out.n);
  for (int64_t i = 0; i < out.n; ++i) {
    const Tensor& p = pieces[size_t(i)];
    FB_CHECK(can_cast(p.dtype(), out[i].dtype()), name, ": a piece of type ", p.dtype(), " cannot be written to out of type ", out[i].dtype());
    if (!(out[i].sizes() == p.sizes())) op_list<"resize_">(out[i], p.sizes());
    op_list<"copy_">(out[i], p);
  }
}
#define FB_PIECES_OUT(name, packet, args_text, params, args)                                       \
  struct name : composite<name> {                                                                  \
    static constexpr auto schema = args_text;                                                      \
    static constexpr uint32_t forms = form::fn;                                                    \
    static std::tuple<> body(const Tensor& self, params, int64_t dim, TensorSpan out) {     \
      write_pieces(#packet, op_list<#packet>(self, args), out);                                    \
      return {};                                                                                   \
    }                                                                                              \
  };                                                                                               \
  FB_CARD(name)
#define FB_COMMA ,
FB_PIECES_OUT(split_copy_out, split_copy, "split_copy.Tensor_out(Tensor self, int split_size, int dim=0, *, Tensor(a!)[] out) -> ()", int64_t size, size FB_COMMA dim)
FB_PIECES_OUT(split_with_sizes_copy_out, split_with_sizes_copy, "split_with_sizes_copy.out(Tensor self, int[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()", Ints sizes, sizes FB_COMMA dim)
#undef FB_COMMA
#undef FB_PIECES_OUT
struct unbind_copy_out : composite<unbind_copy_out> {
  static constexpr auto schema = "unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()";
  static constexpr uint32_t forms = form::fn;
  static std::tuple<> body(const Tensor& self, int64_t dim, TensorSpan out) {
    write_pieces("unbind_copy", op_list<"unbind_copy">(self, dim), out);
    return {};
  }
};
FB_CARD(unbind_copy_out)

// Takes shapes that no view could have.
struct view_copy : lowered<view_copy> {
  static constexpr auto schema = "view_copy(Tensor self, int[] size) -> Tensor";
  static constexpr auto grad_name = "ViewBackward0_copy";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor lowering(const Tensor& self, Ints size) {
    const Dims to = infer_shape(size, self.numel());
    const Tensor c = op<"clone">(self, MemoryFormat::contiguous);
    return c.alias(to, contiguous_strides(to), c.offset());
  }
  using vjp = view_::vjp;
};
FB_CARD(view_copy)

struct detach_copy : lowered<detach_copy> {
  static constexpr auto schema = "detach_copy(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor lowering(const Tensor& self) { return op<"clone">(self, MemoryFormat::contiguous); }
  using vjp = no_gradient;
};
FB_CARD(detach_copy)

struct narrow_copy : lowered<narrow_copy> {
  static constexpr auto schema = "narrow_copy(Tensor self, int dim, int start, int length) -> Tensor";
  static Tensor lowering(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
    FB_CHECK(dim < self.ndim(), "narrow_copy: dim ", dim, " is out of range for shape ", self.sizes());
    return op<"clone">(narrow::body(self, dim, start, length), MemoryFormat::contiguous);
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, int64_t> dim, arg<2, int64_t> start, arg<3, int64_t> length) {
    const int64_t from = *start < 0 ? *start + x->sizes[wrap_dim(*dim, x->sizes.size())] : *start;
    return op<"slice_backward">(g, x->sizes, *dim, from, from + *length, 1);
  }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(narrow_copy)

// ---- scatters: a copy of self with src written into a part ----

// A copy with exactly self's strides, gaps included, where no element is reached twice.
inline Tensor copy_in_place_of(const Tensor& self) {
  if (has_internal_overlap(self)) return op<"clone">(self);
  const Tensor out = beside(self, Tensor::empty_strided(self.sizes(), self.strides(), self.options()));
  return op<"copy_">(out, self);
}
inline Tensor scattered(const char* name, const Tensor& self, const Tensor& src, const Tensor& out, const Tensor& part) {
  FB_CHECK(part.sizes() == src.sizes(), name, ": src of shape ", src.sizes(), " must have the shape of the part of self, ", part.sizes(),
           " (self has shape ", self.sizes(), ")");
  op<"copy_">(part, src);
  return out;
}

struct select_scatter : lowered<select_scatter> {
  static constexpr auto schema = "select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor";
  static Tensor lowering(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
    const Tensor out = copy_in_place_of(self);
    return scattered("select_scatter", self, src, out, view_at(out, select::geometry(out, dim, index)));
  }
  static Tensor d_self(grad<0> g, shape_of<1> src, arg<2, int64_t> dim, arg<3, int64_t> index) {
    return op<"select_scatter">(g, op<"new_zeros">(g, src.sizes()), *dim, *index);
  }
  static Tensor d_src(grad<0> g, arg<2, int64_t> dim, arg<3, int64_t> index) { return op<"select">(g, *dim, *index); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_src>>;
};
FB_CARD(select_scatter)

struct slice_scatter : lowered<slice_scatter> {
  static constexpr auto schema = "slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor";
  using Opt = std::optional<int64_t>;
  static Tensor lowering(const Tensor& self, const Tensor& src, int64_t dim, Opt start, Opt end, int64_t step) {
    const Tensor out = copy_in_place_of(self);
    return scattered("slice_scatter", self, src, out, view_at(out, slice::geometry(out, dim, start, end, step)));
  }
  static Tensor d_self(grad<0> g, shape_of<1> src, arg<2, int64_t> dim, arg<3, Opt> start, arg<4, Opt> end, arg<5, int64_t> step) {
    return op<"slice_scatter">(g, op<"new_zeros">(g, src.sizes()), *dim, *start, *end, *step);
  }
  static Tensor d_src(grad<0> g, arg<2, int64_t> dim, arg<3, Opt> start, arg<4, Opt> end, arg<5, int64_t> step) {
    return op<"slice">(g, *dim, *start, *end, *step);
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_src>>;
};
FB_CARD(slice_scatter)

struct diagonal_scatter : lowered<diagonal_scatter> {
  static constexpr auto schema = "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor";
  static Tensor lowering(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
    const Tensor out = copy_in_place_of(self);
    return scattered("diagonal_scatter", self, src, out, view_at(out, diagonal::geometry(out, offset, dim1, dim2)));
  }
  static Tensor d_self(grad<0> g, shape_of<1> src, arg<2, int64_t> offset, arg<3, int64_t> dim1, arg<4, int64_t> dim2) {
    return op<"diagonal_scatter">(g, op<"new_zeros">(g, src.sizes()), *offset, *dim1, *dim2);
  }
  static Tensor d_src(grad<0> g, arg<2, int64_t> offset, arg<3, int64_t> dim1, arg<4, int64_t> dim2) { return op<"diagonal">(g, *offset, *dim1, *dim2); }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_src>>;
};
FB_CARD(diagonal_scatter)

// The gradient is laid out as self, so that the window means the same elements.
struct as_strided_scatter : lowered<as_strided_scatter> {
  static constexpr auto schema = "as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor";
  using Opt = std::optional<int64_t>;
  static Tensor lowering(const Tensor& self, const Tensor& src, Ints size, Ints stride, Opt offset) {
    const Tensor out = copy_in_place_of(self);
    const Tensor part = view_at(out, as_strided::geometry(out, size, stride, offset ? *offset - self.offset() : int64_t(0)));
    return scattered("as_strided_scatter", self, src, out, part);
  }
  static Tensor as_base(const Tensor& g, const InputMeta& x) {
    const Tensor t = beside(g, Tensor::empty_strided(x.sizes, x.strides, g.options()));
    return op<"copy_">(t, g);
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, shape_of<1> src, arg<2, Ints> size, arg<3, Ints> stride, arg<4, Opt> offset) {
    return op<"as_strided_scatter">(as_base(g, x.m), op<"new_zeros">(g, src.sizes()), *size, *stride, *offset ? **offset - x->offset : int64_t(0));
  }
  static Tensor d_src(grad<0> g, shape_of<0> x, arg<2, Ints> size, arg<3, Ints> stride, arg<4, Opt> offset) {
    return op<"as_strided">(as_base(g, x.m), *size, *stride, *offset ? **offset - x->offset : int64_t(0));
  }
  using vjp = rules<wrt<0, d_self>, wrt<1, d_src>>;
};
FB_CARD(as_strided_scatter)

}  // namespace fb::cards
