// Tensors joined: cat, stack and their kin.
#pragma once
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/out_rule.h"
#include "dispatch/out_type.h"
#include "ops/view/geometry.h"

namespace fb::cards {

template <class T> DType promoted(const char* name, Span<T> tensors) {
  DType d = tensors[0].dtype();
  for (const T& t : tensors) {
    const DType p = promote(d, t.dtype());
    if (p == DType::none) raise_type(name, ": types ", d, " and ", t.dtype(), " have no common type");
    d = p;
  }
  return d;
}
template <class I> bool is_legacy_empty(Span<I> sizes) { return sizes.n == 1 && sizes[0] == 0; }

struct cat : structured<cat, symbolic> {
  static constexpr auto schema = "cat(Tensor[] tensors, int dim=0) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr auto aliases = "concat concatenate";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_type_error;
  template <class T> static T meta(Span<T> tensors, int64_t dim) {
    using I = typename T::Int;
    FB_CHECK_VALUE(tensors.n > 0, "cat: takes at least one tensor, the list is empty");
    const T* first = nullptr;
    for (int64_t i = 0; i < tensors.n; ++i) {
      FB_CHECK(tensors[i].ndim() > 0, "cat: tensor ", i, " has no dimensions; use stack(), or reshape it to 1 dimension");
      if (!first && !is_legacy_empty(tensors[i].sizes())) first = &tensors[i];
    }
    const Options o{promoted("cat", tensors), tensors[0].device()};
    if (!first) {
      wrap_dim(dim, 1);
      return T::empty(Span<I>({I(0)}), o);
    }
    const int64_t d = wrap_dim(dim, first->ndim());
    typename T::Sizes sizes(first->sizes());
    sizes[d] = 0;
    MemoryFormat format = tensors[0].suggested_format();
    for (int64_t i = 0; i < tensors.n; ++i) {
      const T& t = tensors[i];
      if (t.suggested_format() != format) format = MemoryFormat::contiguous;
      if (is_legacy_empty(t.sizes())) continue;
      FB_CHECK(t.ndim() == first->ndim(), "cat: tensor ", i, " of shape ", t.sizes(), " must have as many dimensions as the first of shape ", first->sizes());
      for (int64_t k = 0; k < t.ndim(); ++k)
        FB_CHECK(k == d || t.sizes()[k] == sizes[k], "cat: tensor ", i, " of shape ", t.sizes(), " does not fit the first of shape ", first->sizes(),
                 ": sizes must agree except in dimension ", d);
      FB_CHECK(add_size(sizes[d], t.sizes()[d]), "cat: the sizes along dimension ", d, " overflow");
    }
    return T::empty_format(sizes, o, format);
  }
  static std::vector<Tensor> d_tensors(grad<0> g, shapes_of<0> x, arg<1, int64_t> dim) {
    std::vector<Tensor> out;
    int64_t at = 0;
    for (const InputMeta& m : *x) {
      if (is_legacy_empty(m.sizes.span())) {
        out.push_back(op<"new_zeros">(g, m.sizes));
        continue;
      }
      const int64_t n = m.sizes[wrap_dim(*dim, m.sizes.size())];
      out.push_back(op<"narrow">(g, *dim, at, n));
      at += n;
    }
    return out;
  }
  using vjp = rules<wrt<0, d_tensors>>;
  static constexpr auto doc = R"(cat(tensors, dim=0, *, out=None) -> Tensor

The tensors one after the other along dim; all other sizes must agree. Types are promoted. A tensor of shape [0] fits anywhere.)";
};
FB_CARD(cat)

struct stack : structured<stack, symbolic> {
  static constexpr auto schema = "stack(Tensor[] tensors, int dim=0) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_type_error;
  template <class T> static T meta(Span<T> tensors, int64_t dim) {
    using I = typename T::Int;
    FB_CHECK(tensors.n > 0, "stack: takes at least one tensor, the list is empty");
    const Span<I> sizes = tensors[0].sizes();
    const int64_t d = wrap_dim(dim, sizes.n + 1);
    // Inputs that the new dimension goes behind are looked at with that dimension, of size 1.
    auto format_of = [&](const T& t) {
      if (d < sizes.n) return t.suggested_format();
      typename T::Sizes with(sizes), steps(t.strides());
      with.push_back(I(1));
      steps.push_back(I(1));
      return rules_of_shape::suggested_format(with.span(), steps.span());
    };
    MemoryFormat format = format_of(tensors[0]);
    for (int64_t i = 0; i < tensors.n; ++i) {
      FB_CHECK(tensors[i].sizes() == sizes, "stack: tensor ", i, " of shape ", tensors[i].sizes(), " must have the shape of the first, ", sizes);
      if (format_of(tensors[i]) != format) format = MemoryFormat::contiguous;
    }
    typename T::Sizes shape(sizes);
    shape.insert(d, tensors.n);
    const Options o{promoted("stack", tensors), tensors[0].device()};
    if (d == sizes.n) return T::empty_format(shape, o, format);
    if (format == MemoryFormat::contiguous) return T::empty(shape, o);
    // channels_last inputs keep their order: they stand one after the other along the dimension that follows the new one,
    // which is then seen as two.
    typename T::Sizes joined(sizes);
    joined[d] *= tensors.n;
    const auto strides = view_strides<I>(joined, channels_last_strides(joined), shape);
    return strides ? T::empty_strided(shape, *strides, o) : T::empty(shape, o);
  }
  static std::vector<Tensor> d_tensors(grad<0> g, arg<1, int64_t> dim) { return op_list<"unbind">(g, *dim); }
  using vjp = rules<wrt<0, d_tensors>>;
  static constexpr auto doc = R"(stack(tensors, dim=0, *, out=None) -> Tensor

Tensors of one shape along a new dimension.)";
};
FB_CARD(stack)

inline std::vector<Tensor> at_least_all(const char* name, TensorSpan tensors, const char* atleast) {
  FB_CHECK(tensors.n > 0, name, ": takes at least one tensor, the list is empty");
  switch (atleast[0]) {
    case '1': return op_list<"atleast_1d">(tensors);
    case '2': return op_list<"atleast_2d">(tensors);
    default: return op_list<"atleast_3d">(tensors);
  }
}

struct hstack : composite<hstack> {
  static constexpr auto schema = "hstack(Tensor[] tensors) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_type_error;
  static Tensor body(TensorSpan tensors) {
    const auto t = at_least_all("hstack", tensors, "1");
    return op<"cat">(t, t[0].ndim() == 1 ? 0 : 1);
  }
};
FB_CARD(hstack)

struct vstack : composite<vstack> {
  static constexpr auto schema = "vstack(Tensor[] tensors) -> Tensor";
  static constexpr auto aliases = "row_stack";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_type_error;
  static Tensor body(TensorSpan tensors) { return op<"cat">(at_least_all("vstack", tensors, "2"), 0); }
};
FB_CARD(vstack)

struct dstack : composite<dstack> {
  static constexpr auto schema = "dstack(Tensor[] tensors) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_type_error;
  static Tensor body(TensorSpan tensors) { return op<"cat">(at_least_all("dstack", tensors, "3"), 2); }
};
FB_CARD(dstack)

struct column_stack : composite<column_stack> {
  static constexpr auto schema = "column_stack(Tensor[] tensors) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_converts | form::out_type_error;
  static Tensor body(TensorSpan tensors) {
    FB_CHECK(tensors.n > 0, "column_stack: takes at least one tensor, the list is empty");
    std::vector<Tensor> t;
    for (const Tensor& x : tensors) t.push_back(x.ndim() <= 1 ? op<"reshape">(x, Ints({x.numel(), 1})) : x);
    return op<"cat">(t, 1);
  }
};
FB_CARD(column_stack)

struct block_diag : lowered<block_diag> {
  static constexpr auto schema = "block_diag(Tensor[] tensors) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static std::pair<int64_t, int64_t> extent(Ints s) { return {s.n < 2 ? 1 : s[0], s.n == 0 ? 1 : s[s.n - 1]}; }
  static Tensor lowering(TensorSpan tensors) {
    if (tensors.n == 0) return op<"zeros">(Ints({1, 0}));
    int64_t rows = 0, cols = 0;
    for (int64_t i = 0; i < tensors.n; ++i) {
      FB_CHECK(tensors[i].ndim() <= 2, "block_diag: takes tensors of at most 2 dimensions, tensor ", i, " has shape ", tensors[i].sizes());
      const auto [r, c] = extent(tensors[i].sizes());
      rows += r;
      cols += c;
    }
    const Tensor out = op<"new_zeros">(innermost_of(tensors), Ints({rows, cols}), promoted("block_diag", tensors), std::nullopt, tensors[0].device());
    rows = cols = 0;
    for (const Tensor& t : tensors) {
      const auto [r, c] = extent(t.sizes());
      op<"copy_">(op<"slice">(op<"slice">(out, 0, rows, rows + r, 1), 1, cols, cols + c, 1), t);
      rows += r;
      cols += c;
    }
    return out;
  }
  static std::vector<Tensor> d_tensors(grad<0> g, shapes_of<0> x) {
    std::vector<Tensor> out;
    int64_t rows = 0, cols = 0;
    for (const InputMeta& m : *x) {
      const auto [r, c] = extent(m.sizes);
      out.push_back(op<"reshape">(op<"slice">(op<"slice">(g, 0, rows, rows + r, 1), 1, cols, cols + c, 1), m.sizes));
      rows += r;
      cols += c;
    }
    return out;
  }
  using vjp = rules<wrt<0, d_tensors>>;
};
FB_CARD(block_diag)

}  // namespace fb::cards
