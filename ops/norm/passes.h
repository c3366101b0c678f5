// softmax, its backward, and layer normalisation as passes over rows (ops/reduce/passes.h): their results are elements.
#pragma once
#include "ops/reduce/passes.h"

namespace fb::folds {

// Sum of a b, one rounding for each.
struct dot : sum {
  static constexpr bool param = true;
  template <class V> FB_INLINE static V step(V a, V x, V y) { return fma(x, y, a); }
};

}  // namespace fb::folds

namespace fb::passes {

struct softmax : by_input {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      const auto e = r.apply([](auto v, auto m) { return math::exp(v - m); }, x, r.template fold<folds::max>(x));
      r.result(0, r.apply([](auto v, auto s) { return v / s; }, e, r.template fold<folds::sum>(e)));
    }
  }
};
struct log_softmax : by_input {
  template <class A, int, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      const auto m = r.template fold<folds::max>(x);
      const auto l = r.apply([](auto s) { return math::log(s); }, r.template fold<folds::exp_sum>(x, m));
      r.result(0, r.apply([](auto v, auto m, auto l) { return v - m - l; }, x, m, l));
    }
  }
};
// Arguments: the gradient, the result, the dimension.
template <bool log> struct softmax_backward : by_input {
  static uint64_t mask(const OpEntry&, const Value* args, Ints sizes) { return uint64_t(1) << wrap_dim(args[2].integer(), sizes.n); }
  template <class A, int, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto g = r.element(), y = r.operand(1);
      if constexpr (log)
        r.result(0, r.apply([](auto g, auto y, auto s) { return fma(-math::exp(y), s, g); }, g, y, r.template fold<folds::sum>(g)));
      else r.result(0, r.apply([](auto g, auto y, auto d) { return (g - d) * y; }, g, y, r.template fold<folds::dot>(g, y)));
    }
  }
};

// Arguments: input, normalized_shape, weight, bias, eps.
struct layer_norm : by_input {
  static constexpr int variants = 4;
  static int variant(const Value* args) { return (args[2].tag == Tag::tensor ? 1 : 0) | (args[3].tag == Tag::tensor ? 2 : 0); }
  static uint64_t mask(const OpEntry&, const Value* args, Ints sizes) {
    uint64_t m = 0;
    for (int64_t d = sizes.n - args[1].int_list().n; d < sizes.n; ++d) m |= uint64_t(1) << d;
    return m;
  }
  template <class A, int variant, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      auto divided = [](auto s, auto n) { return s / n; };
      const auto mean = r.apply(divided, r.template fold<folds::sum>(x), r.template count<A>());
      const auto var = r.apply(divided, r.template fold<folds::squared_deviation>(x, mean), r.template count<A>());
      const auto rstd = r.apply([](auto v, auto eps) { return k<decltype(v)>(1) / math::own::sqrt_of(v + eps); }, var, r.number(0));
      if constexpr (variant == 3)
        r.result(0, r.apply([](auto x, auto m, auto s, auto w, auto b) { return fma((x - m) * s, w, b); }, x, mean, rstd, r.operand(2), r.operand(3)));
      else if constexpr (variant == 1)
        r.result(0, r.apply([](auto x, auto m, auto s, auto w) { return (x - m) * s * w; }, x, mean, rstd, r.operand(2)));
      else if constexpr (variant == 2)
        r.result(0, r.apply([](auto x, auto m, auto s, auto b) { return (x - m) * s + b; }, x, mean, rstd, r.operand(3)));
      else r.result(0, r.apply([](auto x, auto m, auto s) { return (x - m) * s; }, x, mean, rstd));
      r.result(1, mean);
      r.result(2, rstd);
    }
  }
  static constexpr int nnumbers = 1;
  static void numbers(const Value* args, int64_t, double* to) { to[0] = args[4].floating(); }
};

}  // namespace fb::passes
