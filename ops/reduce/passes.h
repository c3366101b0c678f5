// Reductions as text on the domain: which folds go over the elements, and what is done with what they give. Every back end
// runs them over the tree of ops/reduce/tree.h. A card names its passes with `using passes = ...`.
//
// `run<A, variant>(r)` writes them for the compute type A. What r offers, v standing for a value of an element or of an
// output:
//   r.element(), r.operand(i)      the element of the reduced tensor, or of argument i, as A
//   r.channel(i)                   the element of argument i, one for each place along dimension 1, as A
//   r.count_truths()               how many elements differ from zero, int64
//   r.index()                      its place among those that are reduced to the same output, int64
//   r.fold<F>(v), r.fold<F>(v, p)  what fold F makes of all v; p belongs to the output or to the element
//   r.apply(f, v...)               f, a lambda without captures, of these values
//   r.count<T>(), r.number(i)      how many elements are reduced; number i of the call, as A
//   r.result(i, v)                 result i of the card
#pragma once
#include <cmath>
#include <limits>
#include <optional>

#include "dispatch/op.h"
#include "ops/reduce/folds.h"
#include "ops/reduce/shape.h"

namespace fb::passes {

// Which type the lanes hold: that of the result, of the input, or a count.
constexpr DType lane_type(DType d) { return is_integral(d, true) ? DType::i64 : compute_type(d); }
struct by_result {
  static constexpr DType compute(DType, DType result) { return lane_type(result); }
};
struct by_input {
  static constexpr DType compute(DType self, DType) { return lane_type(self); }
};
struct by_count {
  static constexpr DType compute(DType, DType) { return DType::i64; }
};

struct sum : by_result {
  template <class A, int, class R> static void run(R& r) { finish(r, r.template fold<folds::sum>(r.element())); }
  // -0, the sum of nothing, becomes 0.
  template <class R, class V> static void finish(R& r, V total) {
    r.result(0, r.apply([](auto v) {
      if constexpr (folds::integral_lane<decltype(v)>) return v;
      else return v + k<decltype(v)>(0);
    }, total));
  }
};
struct nansum : by_result {
  template <class A, int, class R> static void run(R& r) { sum::finish(r, r.template fold<folds::nansum>(r.element())); }
};
struct mean : by_result {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>)
      r.result(0, r.apply([](auto total, auto n) { return total / n; }, r.template fold<folds::sum>(r.element()), r.template count<A>()));
  }
};
struct prod : by_result {
  template <class A, int, class R> static void run(R& r) { r.result(0, r.template fold<folds::prod>(r.element())); }
};
struct count_nonzero : by_count {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (std::is_integral_v<A>) r.result(0, r.count_truths());
  }
};
struct any : by_count {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (std::is_integral_v<A>) r.result(0, r.apply([](auto n) { return n != k<decltype(n)>(0); }, r.count_truths()));
  }
};
struct all : by_count {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (std::is_integral_v<A>) r.result(0, r.apply([](auto n, auto of) { return n == of; }, r.count_truths(), r.template count<A>()));
  }
};

template <bool greatest> using extreme_fold = std::conditional_t<greatest, folds::max, folds::min>;
template <bool greatest> struct extreme : by_input {
  template <class A, int, class R> static void run(R& r) { r.result(0, r.template fold<extreme_fold<greatest>>(r.element())); }
};
struct both_extremes : by_input {
  template <class A, int, class R> static void run(R& r) {
    r.result(0, r.template fold<folds::min>(r.element()));
    r.result(1, r.template fold<folds::max>(r.element()));
  }
};
// The first place that holds the extreme, a NaN where there is one; values: result 0 is the extreme, 1 the place.
template <bool greatest, bool values> struct extreme_place : by_input {
  template <class A, int, class R> static void run(R& r) {
    const auto x = r.element();
    const auto best = r.template fold<extreme_fold<greatest>>(x);
    const auto here = r.apply([](auto v, auto b, auto i) {
      return select((v == b) | (isnan(v) & isnan(b)), i, k<decltype(i)>(std::numeric_limits<int64_t>::max()));
    }, x, best, r.index());
    const auto place = r.template fold<folds::min>(here);
    if constexpr (values) r.result(0, best);
    r.result(values ? 1 : 0, place);
  }
};

// var and std: the mean, then the squared distances from it.
struct two_passes : by_input {
  using first = folds::sum;
  using second = folds::squared_deviation;  // its parameter is what `between` gave
};
template <bool root, bool with_mean = false> struct spread : std::conditional_t<with_mean, by_input, two_passes> {
  template <class V> FB_INLINE static V between(V sum, V count) { return sum / count; }
  // number: how many elements count, after the correction.
  template <class V> FB_INLINE static V finish(V sum, V number) {
    if constexpr (root) return math::own::sqrt_of(sum / number);
    else return sum / number;
  }
  template <class A, int, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      const auto middle = r.apply([](auto s, auto n) { return between(s, n); }, r.template fold<folds::sum>(x), r.template count<A>());
      r.result(0, r.apply([](auto s, auto n) { return finish(s, n); }, r.template fold<folds::squared_deviation>(x, middle), r.number(0)));
      if constexpr (with_mean) r.result(1, middle);
    }
  }
  // args: of var.correction.
  static constexpr int nnumbers = 1;
  static void numbers(const Value* args, int64_t count, double* to) {
    const double left = double(count) - (args[2].is_none() ? 1.0 : args[2].floating());
    to[0] = left > 0 ? left : 0;
  }
};

struct vector_norm : by_result {
  static constexpr int variants = 6;
  static int variant(const Value* args) {
    const double p = args[1].floating();
    return p == 0 ? 0 : p == 1 ? 1 : p == 2 ? 2 : std::isinf(p) ? (p > 0 ? 3 : 4) : 5;
  }
  template <class A, int variant, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      auto plain = [](auto s) { return s + k<decltype(s)>(0); };
      if constexpr (variant == 0) r.result(0, r.apply(plain, r.template fold<folds::norm0>(x)));
      else if constexpr (variant == 1) r.result(0, r.apply(plain, r.template fold<folds::norm1>(x)));
      else if constexpr (variant == 2) r.result(0, r.apply([](auto s) { return math::own::sqrt_of(s + k<decltype(s)>(0)); }, r.template fold<folds::norm2>(x)));
      else if constexpr (variant == 3) r.result(0, r.apply(plain, r.template fold<folds::norm_max>(x)));
      else if constexpr (variant == 4) r.result(0, r.apply(plain, r.template fold<folds::norm_min>(x)));
      else r.result(0, r.apply([](auto s, auto q) { return math::pow(s + k<decltype(s)>(0), q); }, r.template fold<folds::norm_p>(x, r.number(0)), r.number(1)));
    }
  }
  static constexpr int nnumbers = 2;
  static void numbers(const Value* args, int64_t, double* to) {
    to[0] = args[1].floating();
    to[1] = 1 / to[0];
  }
};

struct logsumexp : by_result {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      const auto top = r.apply([](auto t) {
        using V = decltype(t);
        return select(abs(t) == k<V>(__builtin_inf()), k<V>(0), t);
      }, r.template fold<folds::max>(x));
      r.result(0, r.apply([](auto s, auto t) { return math::log(s + k<decltype(s)>(0)) + t; }, r.template fold<folds::exp_sum>(x, top), top));
    }
  }
};

// The bits of doubles, or integers.
struct hash : by_input {
  static constexpr DType compute(DType self, DType) { return is_integral(self, true) ? DType::i64 : DType::f64; }
  template <class A, int, class R> static void run(R& r) {
    if constexpr (std::is_same_v<A, int64_t>) r.result(0, r.template fold<folds::bits_xor>(r.element()));
    else if constexpr (std::is_same_v<A, double>) r.result(0, r.template fold<folds::bits_xor>(r.apply([](auto v) { return bits(v); }, r.element())));
  }
};

}  // namespace fb::passes
