// Rules on sizes and strides shared by view cards. No card stands here.
#pragma once
#include <optional>

#include "core/shape_rules.h"
#include "dispatch/card.h"

namespace fb {

// Replaces the one -1 of `shape` so that it holds numel elements; raises where that cannot be.
inline int64_t product_of_sizes(int64_t a, int64_t b, bool& over) {
  int64_t r;
  over |= __builtin_mul_overflow(a, b, &r);
  return r;
}
template <class I> I product_of_sizes(const I& a, const I& b, bool&) { return a * b; }
// Adds s to sum; false where that does not fit.
inline bool add_size(int64_t& sum, int64_t s) { return !__builtin_add_overflow(sum, s, &sum); }
template <class I> bool add_size(I& sum, const I& s) {
  sum += s;
  return true;
}

template <class I> SmallVec<I, 6> infer_shape(Span<I> shape, std::type_identity_t<I> numel) {
  SmallVec<I, 6> out(shape);
  I known = 1;
  int64_t open = -1;
  bool over = false;
  for (int64_t i = 0; i < shape.n; ++i) {
    if (shape[i] == -1) {
      FB_CHECK(open < 0, "shape ", shape, " leaves more than one dimension to be inferred: -1 stands at ", open, " and ", i);
      open = i;
    } else {
      FB_CHECK(shape[i] >= 0, "size ", shape[i], " at dimension ", i, " of shape ", shape, " is negative; only one -1 is allowed");
      known = product_of_sizes(known, shape[i], over);
    }
  }
  for (const I& s : shape)
    if (s == 0) known = 0, over = false;
  if (open >= 0 && known == 0)
    FB_CHECK(!(numel == 0), "shape ", shape, " is ambiguous for a tensor of 0 elements: any size would do for -1");
  const bool ok = !over && (open < 0 ? known == numel : !(known == 0) && numel % known == 0);
  FB_CHECK(ok, "shape ", shape, " is invalid for a tensor of ", numel, " elements");
  if (open >= 0) out[open] = numel / known;
  return out;
}

// Strides with which a tensor of (sizes, strides) reads as `to` without a copy; nothing where there are none. A size of 1 steps
// as the run does that it stands outside of.
template <class I> std::optional<SmallVec<I, 6>> view_strides(Span<I> sizes, Span<I> strides, Span<I> to) {
  I numel = 1;
  for (const I& s : sizes) numel *= s;
  if (numel == 0) return sizes == to ? SmallVec<I, 6>(strides) : contiguous_strides(to);
  SmallVec<I, 6> out(to.n, I(1));
  int64_t j = to.n - 1;
  for (int64_t i = sizes.n - 1; i >= 0;) {
    // A run of old dimensions that step through memory as one: the innermost gives the step, also where its size is 1.
    const I stride = strides[i];
    I run = sizes[i];
    for (--i; i >= 0 && (sizes[i] == 1 || strides[i] == stride * run); --i) run *= sizes[i];
    I next = stride;
    while (j >= 0 && (run > 1 || to[j] == 1)) {
      if (!(run % to[j] == 0)) return std::nullopt;
      out[j] = next;
      next *= to[j];
      run /= to[j];
      --j;
    }
    if (!(run == 1)) return std::nullopt;
  }
  for (; j >= 0; --j)
    if (!(to[j] == 1)) return std::nullopt;
  return out;
}

// Sizes and strides of `self` broadcast to `to`, where -1 keeps a size.
template <class T> GeometryOf<typename T::Int> expand_geometry(const T& self, Span<typename T::Int> to) {
  using I = typename T::Int;
  FB_CHECK(to.n >= self.ndim(), "expand: ", to.n, " sizes ", to, " were given for a tensor of shape ", self.sizes(),
           "; at least ", self.ndim(), " are needed");
  GeometryOf<I> g{typename T::Sizes(to), typename T::Sizes(to.n, I(0)), self.offset()};
  const int64_t lead = to.n - self.ndim();
  for (int64_t i = to.n - 1; i >= 0; --i) {
    if (i < lead) {
      FB_CHECK(to[i] >= 0, "expand: size ", to[i], " at the new leading dimension ", i, " of ", to, " must be at least 0");
      g.strides[i] = self.ndim() == 0 ? I(0) : g.sizes[i + 1] * g.strides[i + 1];
      if (!(to[i] == 1)) g.strides[i] = 0;
      continue;
    }
    const I size = self.sizes()[i - lead], stride = self.strides()[i - lead];
    if (to[i] == -1 || to[i] == size) {
      g.sizes[i] = size;
      g.strides[i] = stride;
      continue;
    }
    FB_CHECK(size == 1 && to[i] >= 0, "expand: shape ", self.sizes(), " does not expand to ", to, ": size ", size,
             " meets ", to[i], " at dimension ", i, " and only size 1 expands");
    g.strides[i] = 0;
  }
  return g;
}

// A size that decides how many results there are: a number, also where sizes are symbolic.
inline int64_t known_size(int64_t s) { return s; }
template <class I> int64_t known_size(const I& s) { return s.specialized(); }

template <class T> GeometryOf<typename T::Int> same_geometry(const T& t) {
  return {typename T::Sizes(t.sizes()), typename T::Sizes(t.strides()), t.offset()};
}

// Raises unless (sizes, strides, offset) lies within the storage of t, in elements of its type.
inline void check_window(const char* name, const Tensor& t, Ints sizes, Ints strides, int64_t offset) {
  FB_CHECK(sizes.n == strides.n, name, ": ", sizes.n, " sizes ", sizes, " were given with ", strides.n, " strides ", strides);
  for (int64_t i = 0; i < sizes.n; ++i) {
    FB_CHECK(sizes[i] >= 0, name, ": size ", sizes[i], " of ", sizes, " is negative");
    FB_CHECK(strides[i] >= 0, name, ": stride ", strides[i], " of ", strides, " is negative; strides are at least 0");
  }
  FB_CHECK(offset >= 0, name, ": storage offset ", offset, " is negative");
  const size_t bytes = storage_bytes(sizes, strides, offset, t.item_bytes());
  FB_CHECK(t->wrapped || bytes <= t.storage()->nbytes, name, ": shape ", sizes, " with strides ", strides, " from offset ", offset, " reaches ",
           int64_t(bytes), " bytes, the storage has ", int64_t(t.storage()->nbytes));
}

// dim for a tensor that must have one.
template <class T> int64_t wrap_dim_of(const char* name, const T& self, int64_t dim) {
  FB_CHECK_INDEX(self.ndim() > 0, name, ": a tensor without dimensions has none to take (dim is ", dim, ")");
  return wrap_dim(dim, self.ndim());
}

// A mask of the dimensions named, which must differ.
inline SmallVec<bool, 16> dim_set(const char* name, Ints dims, int64_t ndim) {
  SmallVec<bool, 16> in(ndim > 0 ? ndim : 1, false);
  for (int64_t d : dims) {
    const int64_t w = wrap_dim(d, ndim);
    FB_CHECK(!in[w], name, ": dimension ", d, " appears more than once in ", dims);
    in[w] = true;
  }
  return in;
}

}  // namespace fb
