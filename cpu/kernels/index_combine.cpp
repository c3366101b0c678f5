// Sums, products and extremes into indexed elements.
#include "core/half.h"
#include "cpu/kernels/index_walk.h"

namespace fb {
namespace {

template <class T> bool is_nan(T x) {
  if constexpr (std::is_integral_v<T>) return false;
  else return x != x;
}

template <class T, IndexCombine C> T combine(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    if constexpr (C == IndexCombine::add || C == IndexCombine::greatest) return a || b;
    else return a && b;
  } else if constexpr (is_complex_v<T>) {
    if constexpr (C == IndexCombine::add) return a + b;
    else return a * b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if constexpr (C == IndexCombine::add) return T(U(a) + U(b));
    else if constexpr (C == IndexCombine::multiply) return T(uint64_t(a) * uint64_t(b));
    else if constexpr (C == IndexCombine::greatest) return a < b ? b : a;
    else return b < a ? b : a;
  } else {
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const F x = F(a), y = F(b);
    if constexpr (C == IndexCombine::add) return T(x + y);
    else if constexpr (C == IndexCombine::multiply) return T(x * y);
    else if constexpr (C == IndexCombine::greatest) return is_nan(x) ? a : (y > x || is_nan(y)) ? b : a;
    else return is_nan(x) ? a : (y < x || is_nan(y)) ? b : a;
  }
}

template <class T, IndexCombine C> void combine_body(const IndexRun& r) {
  for (int64_t j = 0; j < r.m; ++j) {
    char* p = r.indexed + r.at[j];
    const char* q = r.other + r.other_at[j];
    if (r.n > 1 && r.step == int64_t(sizeof(T)) && r.other_step == int64_t(sizeof(T))) {
      T* x = reinterpret_cast<T*>(p);
      const T* y = reinterpret_cast<const T*>(q);
      for (int64_t k = 0; k < r.n; ++k) x[k] = combine<T, C>(x[k], y[k]);
      continue;
    }
    for (int64_t k = 0; k < r.n; ++k) {
      T* x = reinterpret_cast<T*>(p + k * r.step);
      *x = combine<T, C>(*x, *reinterpret_cast<const T*>(q + k * r.other_step));
    }
  }
}

template <class T, IndexCombine C> void combine_line(const LineRun& line) {
  const LineRun r = line;
  if (r.step == int64_t(sizeof(T)) && r.other_step == int64_t(sizeof(T))) {
    const T* y = reinterpret_cast<const T*>(r.other);
    for (int64_t k = 0; k < r.n; ++k) {
      T* x = reinterpret_cast<T*>(r.self + k * int64_t(sizeof(T)) + r.at[k] * r.jump);
      *x = combine<T, C>(*x, y[k]);
    }
    return;
  }
  for (int64_t k = 0; k < r.n; ++k) {
    T* x = reinterpret_cast<T*>(r.self + k * r.step + r.at[k] * r.jump);
    *x = combine<T, C>(*x, *reinterpret_cast<const T*>(r.other + k * r.other_step));
  }
}

// make(T) where the type has the operation.
template <IndexCombine C, class F> void with_type(DType d, F make) {
  visit_types<float, double, half, bfloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, bool>(d, make);
  if constexpr (C == IndexCombine::add || C == IndexCombine::multiply) visit_types<cfloat, cdouble>(d, make);
}
template <IndexCombine C> IndexBody body_of(DType d) {
  IndexBody r = nullptr;
  with_type<C>(d, [&]<class T>() { r = &combine_body<T, C>; });
  return r;
}
template <IndexCombine C> LineBody line_of(DType d) {
  LineBody r = nullptr;
  with_type<C>(d, [&]<class T>() { r = &combine_line<T, C>; });
  return r;
}

}  // namespace

IndexBody index_combine(IndexCombine c, DType d) {
  switch (c) {
    case IndexCombine::add: return body_of<IndexCombine::add>(d);
    case IndexCombine::multiply: return body_of<IndexCombine::multiply>(d);
    case IndexCombine::greatest: return body_of<IndexCombine::greatest>(d);
    default: return body_of<IndexCombine::least>(d);
  }
}

LineBody line_combine(IndexCombine c, DType d) {
  switch (c) {
    case IndexCombine::add: return line_of<IndexCombine::add>(d);
    case IndexCombine::multiply: return line_of<IndexCombine::multiply>(d);
    case IndexCombine::greatest: return line_of<IndexCombine::greatest>(d);
    default: return line_of<IndexCombine::least>(d);
  }
}

}  // namespace fb
