// Evenly spaced numbers, the identity, and indices of triangles.
#pragma once
#include "ops/create/factories.h"
#include "ops/math/fits.h"

namespace fb::cards {

#define FB_RANGE_ARGS DType d, OptLayout l, OptDevice dev, OptBool pin

inline double real_number(const char* name, const Scalar& v) {
  FB_CHECK(!v.is_complex() || v.to_complex().im == 0, name, ": takes real numbers, ", v, " was given");
  return v.to_double();
}
inline bool is_range_type(DType d) { return d != DType::boolean && !is_complex(d) && !is_float8(d); }

inline int64_t range_length(const char* name, const Scalar& start, const Scalar& end, const Scalar& step, bool whole, bool closed) {
  const double a = real_number(name, start), b = real_number(name, end), s = real_number(name, step);
  FB_CHECK(s != 0, name, ": step must not be 0");
  FB_CHECK(a - a == 0 && b - b == 0, name, ": the range from ", start, " to ", end, " is not finite");
  FB_CHECK((s > 0 && b >= a) || (s < 0 && b <= a), name, ": from ", start, " to ", end, " no step of size ", step, " leads; its sign is wrong");
  if (whole && start.is_integral() && end.is_integral() && step.is_integral()) {
    const __int128 span = __int128(end.to_int()) - start.to_int(), w = step.to_int();
    const __int128 n = closed ? span / w + 1 : (span + w - (w > 0 ? 1 : -1)) / w;
    FB_CHECK(n <= INT64_MAX, name, ": the range has too many elements");
    return int64_t(n);
  }
  const double n = closed ? __builtin_floor((b - a) / s) + 1 : __builtin_ceil((b - a) / s);
  FB_CHECK(n >= 0 && n < 9.2e18, name, ": the range from ", start, " to ", end, " in steps of ", step, " has too many elements");
  return int64_t(n);
}

struct arange_step : structured<arange_step> {
  static constexpr auto schema = "arange.start_step(Scalar start, Scalar end, Scalar step=1, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const Scalar& start, const Scalar& end, const Scalar& step, FB_RANGE_ARGS) {
    const bool whole = start.is_integral() && end.is_integral() && step.is_integral();
    const Options o = options_of("arange", d, l, dev, pin, whole ? DType::i64 : DType::none);
    const int64_t n = range_length("arange", start, end, step, true, false);
    if (!is_range_type(o.dtype)) raise_not_implemented("arange: type ", o.dtype, " is not there");
    return T::empty(Ints({n}), o);
  }
  static constexpr auto doc = R"(arange(start=0, end, step=1, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False) -> Tensor

start, start + step, ... up to but not including end. Without a dtype int64 where all are ints, else the default float type.)";
};
struct arange_start : composite<arange_start> {
  static constexpr auto schema = "arange.start(Scalar start, Scalar end, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::visible;
  static Tensor body(const Scalar& start, const Scalar& end, FB_RANGE_ARGS) { return op<"arange.start_step">(start, end, 1, d, l, dev, pin); }
};
struct arange : composite<arange> {
  static constexpr auto schema = "arange(Scalar end, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::visible;
  static Tensor body(const Scalar& end, FB_RANGE_ARGS) { return op<"arange.start_step">(0, end, 1, d, l, dev, pin); }
};
FB_CARD(arange)
FB_CARD(arange_start)
FB_CARD(arange_step)

struct range_step : structured<range_step> {
  static constexpr auto schema = "range.step(Scalar start, Scalar end, Scalar step=1, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const Scalar& start, const Scalar& end, const Scalar& step, FB_RANGE_ARGS) {
    const Options o = options_of("range", d, l, dev, pin);
    if (!is_range_type(o.dtype)) raise_not_implemented("range: type ", o.dtype, " is not there");
    return T::empty(Ints({range_length("range", start, end, step, true, true)}), o);
  }
};
FB_CARD(range_step)

struct linspace : structured<linspace> {
  static constexpr auto schema = "linspace(Scalar start, Scalar end, int steps, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const Scalar& start, const Scalar& end, int64_t steps, FB_RANGE_ARGS) {
    return spaced<T>("linspace", start, end, steps, d, l, dev, pin);
  }
  template <class T> static T spaced(const char* name, const Scalar& start, const Scalar& end, int64_t steps, FB_RANGE_ARGS) {
    const bool z = start.is_complex() || end.is_complex();
    const Options o = options_of(name, d, l, dev, pin, z ? default_complex_dtype() : DType::none);
    FB_CHECK(steps >= 0, name, ": steps must be at least 0, it is ", steps);
    FB_CHECK(!z || is_complex(o.dtype), name, ": complex bounds cannot be written to type ", o.dtype);
    if (o.dtype == DType::boolean || is_float8(o.dtype)) raise_not_implemented(name, ": type ", o.dtype, " is not there");
    check_fits(name, start, o.dtype);
    check_fits(name, end, o.dtype);
    return T::empty(Ints({steps}), o);
  }
  static constexpr auto doc = R"(linspace(start, end, steps, *, out=None, dtype=None, ...) -> Tensor

steps numbers evenly spaced from start to end, both included. Computed from the nearer end.)";
};
FB_CARD(linspace)

struct logspace : structured<logspace> {
  static constexpr auto schema = "logspace(Scalar start, Scalar end, int steps, float base=10., *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out;
  template <class T> static T meta(const Scalar& start, const Scalar& end, int64_t steps, double, FB_RANGE_ARGS) {
    return linspace::spaced<T>("logspace", start, end, steps, d, l, dev, pin);
  }
  static constexpr auto doc = R"(logspace(start, end, steps, base=10.0, *, out=None, dtype=None, ...) -> Tensor

base to the power of linspace(start, end, steps).)";
};
FB_CARD(logspace)

// Bounds given as tensors without dimensions.
inline Scalar bound(const char* name, const Tensor& t) {
  FB_CHECK(t.ndim() == 0, name, ": start and end must be numbers or tensors without dimensions, one has shape ", t.sizes());
  return op_value<"item">(t).scalar();
}
#define FB_BOUNDS(name, over, A, B, a, b, extra, extra_args, extra_names)                                                       \
  struct name##_##over : composite<name##_##over> {                                                                             \
    static constexpr auto schema = #name "." #over "(" #A " start, " #B " end, int steps" extra ", *, " FB_OPTIONS ") -> Tensor"; \
    static constexpr uint32_t forms = form::fn | form::visible;                                                                                 \
    static Tensor body(const A& start, const B& end, int64_t steps extra_args, FB_RANGE_ARGS) {                                 \
      return op<#name>(a, b, steps extra_names, d, l, dev, pin);                                                                \
    }                                                                                                                           \
  };                                                                                                                            \
  FB_CARD(name##_##over)
#define FB_COMMA ,
FB_BOUNDS(linspace, Tensor_Tensor, Tensor, Tensor, bound("linspace", start), bound("linspace", end), "", , )
FB_BOUNDS(linspace, Tensor_Scalar, Tensor, Scalar, bound("linspace", start), end, "", , )
FB_BOUNDS(linspace, Scalar_Tensor, Scalar, Tensor, start, bound("linspace", end), "", , )
FB_BOUNDS(logspace, Tensor_Tensor, Tensor, Tensor, bound("logspace", start), bound("logspace", end), ", float base=10.", FB_COMMA double base, FB_COMMA base)
FB_BOUNDS(logspace, Tensor_Scalar, Tensor, Scalar, bound("logspace", start), end, ", float base=10.", FB_COMMA double base, FB_COMMA base)
FB_BOUNDS(logspace, Scalar_Tensor, Scalar, Tensor, start, bound("logspace", end), ", float base=10.", FB_COMMA double base, FB_COMMA base)
#undef FB_BOUNDS
#undef FB_COMMA

struct eye_m : composite<eye_m> {
  static constexpr auto schema = "eye.m(int n, int m, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(int64_t n, int64_t m, FB_RANGE_ARGS) {
    FB_CHECK(n >= 0 && m >= 0, "eye: n and m must be at least 0, they are ", n, " and ", m);
    const Tensor t = op<"zeros">(Ints({n, m}), options_of("eye", d, l, dev, pin).dtype, std::nullopt, dev);
    if (n && m) op<"fill_">(op<"diagonal">(t), 1);
    return t;
  }
};
struct eye : composite<eye> {
  static constexpr auto schema = "eye(int n, *, " FB_OPTIONS ") -> Tensor";
  static constexpr uint32_t forms = form::fn | form::out | form::out_repeated | form::visible;
  static Tensor body(int64_t n, FB_RANGE_ARGS) { return eye_m::body(n, n, d, l, dev, pin); }
};
FB_CARD(eye)
FB_CARD(eye_m)

// How many elements of a rows x cols matrix lie on or below diagonal `offset`.
inline int64_t triangle_count(int64_t rows, int64_t cols, int64_t offset) {
  __int128 n = 0;
  if (rows == 0 || cols == 0) return 0;
  // Row i holds clamp(i + offset + 1, 0, cols): a run of zeros, a ramp, a run of cols.
  const int64_t first = offset + 1 > 0 ? 0 : std::min(rows, -offset);          // first row with an element
  int64_t full = cols - offset - 1 > 0 ? std::min(rows, cols - offset - 1) : 0;  // first row that is full
  if (full < first) full = first;
  if (full > first) n += (__int128(first + offset + 1) + (full - 1 + offset + 1)) * (full - first) / 2;
  n += __int128(rows - full) * cols;
  FB_CHECK(n <= INT64_MAX / 16, "the triangle of a ", rows, " x ", cols, " matrix has too many elements");
  return int64_t(n);
}

template <class T> T triangle_meta(const char* name, int64_t row, int64_t col, int64_t n, FB_RANGE_ARGS) {
  const Options o = options_of(name, d, l, dev, pin, DType::i64);
  if (o.dtype != DType::i64 && o.dtype != DType::i32) raise_not_implemented(name, ": type ", o.dtype, " is not there, only int32 and int64");
  return T::empty(Ints({2, n}), o);
}
inline void check_triangle(const char* name, int64_t row, int64_t col) {
  FB_CHECK(row >= 0 && col >= 0, name, ": row and col must be at least 0, they are ", row, " and ", col);
}

struct tril_indices : structured<tril_indices> {
  static constexpr auto schema = "tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  template <class T> static T meta(int64_t row, int64_t col, int64_t offset, FB_RANGE_ARGS) {
    check_triangle("tril_indices", row, col);
    return triangle_meta<T>("tril_indices", row, col, triangle_count(row, col, offset), d, l, dev, pin);
  }
};
FB_CARD(tril_indices)

struct triu_indices : structured<triu_indices> {
  static constexpr auto schema = "triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
  static constexpr uint32_t forms = form::fn;
  template <class T> static T meta(int64_t row, int64_t col, int64_t offset, FB_RANGE_ARGS) {
    check_triangle("triu_indices", row, col);
    return triangle_meta<T>("triu_indices", row, col, row * col - triangle_count(row, col, offset - 1), d, l, dev, pin);
  }
};
FB_CARD(triu_indices)

}  // namespace fb::cards
