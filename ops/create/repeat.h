// Elements repeated, rolled, flipped and put on diagonals.
#pragma once
#include "dispatch/call.h"
#include "dispatch/levels.h"
#include "dispatch/repeated.h"
#include "ops/create/copy.h"
#include "dispatch/pointwise_shape.h"
#include "ops/view/geometry.h"

namespace fb::cards {

struct repeat : lowered<repeat> {
  static constexpr auto schema = "repeat(Tensor self, int[] repeats) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr uint32_t forms = form::method | form::out;
  static Tensor lowering(const Tensor& self, Ints repeats) {
    FB_CHECK(repeats.n >= self.ndim(), "repeat: repeats ", repeats, " must have at least ", self.ndim(), " entries for shape ", self.sizes());
    const int64_t lead = repeats.n - self.ndim();
    // As pairs (times, size) of dimensions: out [r0, s0, r1, s1 ...], self broadcast along the r.
    Dims sizes, split, from;
    for (int64_t i = 0; i < repeats.n; ++i) {
      const int64_t s = i < lead ? 1 : self.sizes()[i - lead], r = repeats[i];
      FB_CHECK(r >= 0, "repeat: ", r, " of repeats ", repeats, " is negative");
      int64_t n = 0;
      FB_CHECK(!__builtin_mul_overflow(s, r, &n), "repeat: shape ", self.sizes(), " times ", repeats, " overflows");
      sizes.push_back(n);
      split.push_back(r), split.push_back(s);
      from.push_back(1), from.push_back(s);
    }
    const Tensor out = beside(self, Tensor::empty(sizes, self.options()));
    if (out.numel() == 0) return out;
    op<"copy_">(op<"view">(out, split), op<"reshape">(self, from));
    return out;
  }
  static Tensor d_self(grad<0> g, shape_of<0> x, arg<1, Ints> repeats) {
    const int64_t lead = repeats->n - x->sizes.size();
    Dims split, dims;
    for (int64_t i = 0; i < repeats->n; ++i) {
      split.push_back((*repeats)[i]);
      split.push_back(i < lead ? 1 : x->sizes[i - lead]);
      dims.push_back(2 * i);
      if (i < lead) dims.push_back(2 * i + 1);
    }
    return dims.empty() ? g : op<"sum.dim_IntList">(op<"reshape">(g, split), dims);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(repeat(*repeats) -> Tensor

self laid side by side repeats[i] times along dimension i; further entries in front make new dimensions.)";
};
FB_CARD(repeat)

struct tile : composite<tile> {
  static constexpr auto schema = "tile(Tensor self, int[] dims) -> Tensor";
  static Tensor body(const Tensor& self, Ints dims) {
    Dims r;
    for (int64_t i = dims.n; i < self.ndim(); ++i) r.push_back(1);
    for (int64_t d : dims) r.push_back(d);
    return op<"repeat">(self, r);
  }
};
FB_CARD(tile)

struct roll : lowered<roll> {
  static constexpr auto schema = "roll(Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static Tensor lowering(const Tensor& self, Ints shifts, Ints dims) {
    FB_CHECK(shifts.n > 0, "roll: shifts must not be empty");
    if (dims.n == 0 && shifts.n == 1 && self.ndim() == 1) return rolled(self, shifts, Ints({int64_t(0)}));
    if (dims.n == 0 && shifts.n == 1) {
      const Tensor flat = self.is_contiguous() ? self : op<"clone">(self, MemoryFormat::contiguous);
      const Tensor r = rolled(op<"view">(flat, Ints({int64_t(-1)})), shifts, Ints({int64_t(0)}));
      return r.alias(self.sizes(), contiguous_strides(self.sizes()), 0);
    }
    FB_CHECK(shifts.n == dims.n, "roll: shifts ", shifts, " and dims ", dims, " must have the same length");
    for (int64_t d : dims) wrap_dim_of("roll", self, d);
    return rolled(self, shifts, dims);
  }
  // Each part of a dimension, before and after the seam, goes to its new place.
  static Tensor rolled(const Tensor& self, Ints shifts, Ints dims) {
    if (self.numel() == 0) return op<"clone">(self);
    const Tensor out = beside(self, Tensor::empty(self.sizes(), self.options()));
    Dims shift(self.ndim(), 0);
    for (int64_t i = 0; i < dims.n; ++i) {
      const int64_t d = wrap_dim(dims[i], self.ndim()), n = self.sizes()[d];
      shift[d] = (shift[d] + (shifts[i] % n + n) % n) % n;
    }
    Dims moved;
    for (int64_t d = 0; d < shift.size(); ++d)
      if (shift[d]) moved.push_back(d);
    for (int64_t part = 0; part < int64_t(1) << moved.size(); ++part) {
      Tensor from = self, to = out;
      for (int64_t k = 0; k < moved.size(); ++k) {
        const int64_t d = moved[k], s = shift[d], n = self.sizes()[d];
        const bool wrapped = part >> k & 1;
        from = op<"slice">(from, d, wrapped ? n - s : 0, wrapped ? n : n - s, 1);
        to = op<"slice">(to, d, wrapped ? 0 : s, wrapped ? s : n, 1);
      }
      op<"copy_">(to, from);
    }
    return out;
  }
  static Tensor d_self(grad<0> g, arg<1, Ints> shifts, arg<2, Ints> dims) {
    Dims back(*shifts);
    for (int64_t& s : back) s = -s;
    return op<"roll">(g, back, *dims);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(roll(input, shifts, dims=None) -> Tensor

Elements moved along dims by shifts; what leaves at one end comes in at the other. Without dims, over the flattened tensor.)";
};
FB_CARD(roll)

struct flip : structured<flip, symbolic> {
  static constexpr auto schema = "flip(Tensor self, int[] dims) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  template <class T> static T meta(const T& self, Ints dims) {
    dim_set("flip", dims, self.ndim());
    return empty_as(self, self.options(), MemoryFormat::preserve);
  }
  static Tensor d_self(grad<0> g, arg<1, Ints> dims) { return op<"flip">(g, *dims); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(flip(input, dims) -> Tensor

A copy with the order along dims reversed.)";
};
FB_CARD(flip)

struct fliplr : composite<fliplr> {
  static constexpr auto schema = "fliplr(Tensor self) -> Tensor";
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() >= 2, "fliplr: takes at least 2 dimensions, the shape is ", self.sizes());
    return op<"flip">(self, Ints({int64_t(1)}));
  }
};
FB_CARD(fliplr)

struct flipud : composite<flipud> {
  static constexpr auto schema = "flipud(Tensor self) -> Tensor";
  static Tensor body(const Tensor& self) {
    FB_CHECK(self.ndim() >= 1, "flipud: takes at least 1 dimension, the shape is ", self.sizes());
    return op<"flip">(self, Ints({int64_t(0)}));
  }
};
FB_CARD(flipud)

struct rot90 : lowered<rot90> {
  static constexpr auto schema = "rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor";
  static Tensor lowering(const Tensor& self, int64_t k, Ints dims) {
    FB_CHECK(dims.n == 2, "rot90: dims must name 2 dimensions, it is ", dims);
    FB_CHECK(self.ndim() >= 2, "rot90: takes at least 2 dimensions, the shape is ", self.sizes());
    const int64_t a = wrap_dim(dims[0], self.ndim()), b = wrap_dim(dims[1], self.ndim());
    FB_CHECK(a != b, "rot90: dims ", dims, " name the same dimension");
    switch ((k % 4 + 4) % 4) {
      case 1: return turned(op<"flip">(self, Ints({b})), a, b);
      case 2: return op<"flip">(self, dims);
      case 3: return turned(op<"flip">(self, Ints({a})), a, b);
      default: return op<"clone">(self, MemoryFormat::contiguous);
    }
  }
  static Tensor turned(const Tensor& t, int64_t a, int64_t b) {
    Dims sizes(t.sizes()), strides(t.strides());
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    return t.alias(sizes, strides, t.offset());
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> k, arg<2, Ints> dims) { return op<"rot90">(g, (4 - (*k % 4 + 4) % 4) % 4, *dims); }
  using vjp = rules<wrt<0, d_self>>;
};
FB_CARD(rot90)

// ---- diagonals ----

struct diag_embed : lowered<diag_embed> {
  static constexpr auto schema = "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor";
  static Tensor lowering(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
    const int64_t n = self.ndim() + 1, a = wrap_dim(dim1, n), b = wrap_dim(dim2, n);
    FB_CHECK(a != b, "diag_embed: dim1 ", dim1, " and dim2 ", dim2, " are the same dimension of a result of ", n, " dimensions");
    const int64_t side = self.sizes()[n - 2] + (offset < 0 ? -offset : offset);
    Dims sizes(self.sizes());
    sizes.pop_back();
    sizes.insert(std::min(a, b), side);
    sizes.insert(std::max(a, b), side);
    const Tensor out = op<"new_zeros">(self, sizes);
    op<"copy_">(op<"diagonal">(out, offset, a, b), self);
    return out;
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> offset, arg<2, int64_t> dim1, arg<3, int64_t> dim2) {
    return op<"diagonal">(g, *offset, *dim1, *dim2);
  }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(diag_embed(input, offset=0, dim1=-2, dim2=-1) -> Tensor

Matrices, in dimensions dim1 and dim2, whose diagonal is the last dimension of input; zero elsewhere.)";
};
FB_CARD(diag_embed)

struct diag : composite<diag> {
  static constexpr auto schema = "diag(Tensor self, int diagonal=0) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::method | form::out;
  static Tensor body(const Tensor& self, int64_t diagonal) {
    FB_CHECK(self.ndim() == 1 || self.ndim() == 2, "diag: takes 1 or 2 dimensions, the shape is ", self.sizes());
    return self.ndim() == 1 ? op<"diag_embed">(self, diagonal) : op<"diagonal_copy">(self, diagonal);
  }
  static constexpr auto doc = R"(diag(input, diagonal=0, *, out=None) -> Tensor

Of a vector, the square matrix with it on the diagonal; of a matrix, a copy of its diagonal.)";
};
FB_CARD(diag)

struct diagflat : composite<diagflat> {
  static constexpr auto schema = "diagflat(Tensor self, int offset=0) -> Tensor";
  static Tensor body(const Tensor& self, int64_t offset) {
    return op<"diag">(op<"view">(op<"contiguous">(self), Ints({int64_t(-1)})), offset);
  }
};
FB_CARD(diagflat)

struct fill_diagonal_ : composite<fill_diagonal_> {
  static constexpr auto schema = "fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)";
  static constexpr uint32_t forms = form::method;
  static Tensor body(const Tensor& self, const Scalar& value, bool wrap) {
    const int64_t n = self.ndim();
    FB_CHECK(n >= 2, "fill_diagonal_: takes at least 2 dimensions, the shape is ", self.sizes());
    int64_t least = self.sizes()[0], step = 0;
    for (int64_t d = 0; d < n; ++d) {
      FB_CHECK(n == 2 || self.sizes()[d] == self.sizes()[0], "fill_diagonal_: all sizes of more than 2 dimensions must be equal, the shape is ", self.sizes());
      least = std::min(least, self.sizes()[d]);
      step += self.strides()[d];
    }
    op<"fill_">(op<"as_strided">(self, Ints({least}), Ints({step}), self.offset()), value);
    if (wrap && n == 2 && self.sizes()[0] > self.sizes()[1] + 1) {
      const int64_t rows = self.sizes()[0], cols = self.sizes()[1], period = cols + 1;
      for (int64_t from = period; from < rows; from += period)
        op<"fill_">(op<"as_strided">(self, Ints({std::min(cols, rows - from)}), Ints({step}), self.offset() + from * self.strides()[0]), value);
    }
    return self;
  }
};
FB_CARD(fill_diagonal_)

struct tril : structured<tril, symbolic> {
  static constexpr auto schema = "tril(Tensor self, int diagonal=0) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out | form::out_repeated;
  template <class T> static T meta(const T& self, int64_t) {
    FB_CHECK(self.ndim() >= 2, "tril: takes at least 2 dimensions, the shape is ", self.sizes());
    return T::empty(self.sizes(), self.options());
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> k) { return op<"tril">(g, *k); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(tril(input, diagonal=0, *, out=None) -> Tensor

Matrices in the last two dimensions with zeros above the given diagonal.)";
};
FB_CARD(tril)

struct triu : structured<triu, symbolic> {
  static constexpr auto schema = "triu(Tensor self, int diagonal=0) -> Tensor";
  static constexpr uint64_t linear_in = arguments(0);
  static constexpr uint32_t forms = form::fn | form::method | form::inplace | form::out | form::out_repeated;
  template <class T> static T meta(const T& self, int64_t) {
    FB_CHECK(self.ndim() >= 2, "triu: takes at least 2 dimensions, the shape is ", self.sizes());
    return T::empty(self.sizes(), self.options());
  }
  static Tensor d_self(grad<0> g, arg<1, int64_t> k) { return op<"triu">(g, *k); }
  using vjp = rules<wrt<0, d_self>>;
  static constexpr auto doc = R"(triu(input, diagonal=0, *, out=None) -> Tensor

Matrices in the last two dimensions with zeros below the given diagonal.)";
};
FB_CARD(triu)

// ---- complex numbers from parts ----

struct complex_ : structured<complex_, symbolic> {
  static constexpr auto schema = "complex(Tensor real, Tensor imag) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const T& re, const T& im) {
    FB_CHECK((re.dtype() == DType::f32 || re.dtype() == DType::f64 || re.dtype() == DType::f16) && re.dtype() == im.dtype(),
             "complex: real and imag must both be float16, float32 or float64, they are ", re.dtype(), " and ", im.dtype());
    const auto shape = broadcast_sizes(re.sizes(), im.sizes());
    const Options o{to_complex(re.dtype()), re.device()};
    const T* both[] = {&re, &im};
    return T::empty_strided(shape, pointwise_strides<T>(both, 2, shape, ResultLayout::of_operands, 0), o);
  }
  static Tensor d_re(grad<0> g) { return op<"real">(g); }
  static Tensor d_im(grad<0> g) { return op<"imag">(g); }
  using vjp = rules<wrt<0, d_re>, wrt<1, d_im>>;
};
FB_CARD(complex_)

struct polar : lowered<polar> {
  static constexpr auto schema = "polar(Tensor abs, Tensor angle) -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  static Tensor lowering(const Tensor& abs, const Tensor& angle) {
    FB_CHECK((abs.dtype() == DType::f32 || abs.dtype() == DType::f64) && abs.dtype() == angle.dtype(),
             "polar: abs and angle must both be float32 or float64, they are ", abs.dtype(), " and ", angle.dtype());
    return op<"complex">(op<"mul">(abs, op<"cos">(angle)), op<"mul">(abs, op<"sin">(angle)));
  }
  static Tensor d_abs(grad<0> g, in<0> abs, in<1> angle) {
    return op<"add">(op<"mul">(op<"real">(g), op<"cos">(angle)), op<"mul">(op<"imag">(g), op<"sin">(angle)));
  }
  static Tensor d_angle(grad<0> g, in<0> abs, in<1> angle) {
    return op<"mul">(abs, op<"sub">(op<"mul">(op<"imag">(g), op<"cos">(angle)), op<"mul">(op<"real">(g), op<"sin">(angle))));
  }
  using vjp = rules<wrt<0, d_abs>, wrt<1, d_angle>>;
};
FB_CARD(polar)

}  // namespace fb::cards
