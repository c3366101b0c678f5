// softmax, layer and batch normalisation and what is behind them, as passes (ops/reduce/passes.h): their results are elements
// of the input's shape, and numbers of a row or a channel.
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

inline bool given(const Value& v) { return v.tag == Tag::tensor; }

// Arguments: gradient, input, normalized_shape, mean, rstd, weight, bias, output_mask. The input's gradient goes over rows, the
// parameters' over what the rows share: a call for both is two.
struct layer_norm_backward : by_input {
  static constexpr int variants = 5;
  static int variant(const Value* args) {
    const bool* wanted = args[7].bools;
    const int64_t nd = args[0].tensor().ndim();
    if (wanted[0] == (wanted[1] || wanted[2]) || lane_type(args[1].tensor().dtype()) != lane_type(args[0].tensor().dtype())) return -1;
    for (int i : {3, 4})
      if (args[i].tensor().ndim() != nd) return -1;
    if (wanted[0]) return given(args[5]) ? 1 : 0;
    return wanted[1] && wanted[2] ? 2 : wanted[1] ? 3 : 4;
  }
  static uint64_t mask(const OpEntry&, const Value* args, Ints sizes) {
    const uint64_t lead = (uint64_t(1) << (sizes.n - args[2].int_list().n)) - 1;
    return args[7].bools[0] ? ~lead : lead;
  }
  template <class A, int variant, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto g = r.element();
      if constexpr (variant == 4) r.result(2, r.template fold<folds::sum>(g));
      else {
        const auto hat = r.apply([](auto x, auto m, auto s) { return (x - m) * s; }, r.operand(1), r.operand(3), r.operand(4));
        if constexpr (variant >= 2) {
          r.result(1, r.template fold<folds::sum>(r.apply([](auto g, auto h) { return g * h; }, g, hat)));
          if constexpr (variant == 2) r.result(2, r.template fold<folds::sum>(g));
        } else {
          auto scaled = [&] {
            if constexpr (variant == 1) return r.apply([](auto g, auto w) { return g * w; }, g, r.operand(5));
            else return g;
          };
          const auto q = scaled();
          auto divided = [](auto s, auto n) { return s / n; };
          const auto a = r.apply(divided, r.template fold<folds::sum>(q), r.template count<A>());
          const auto b = r.apply(divided, r.template fold<folds::dot>(q, hat), r.template count<A>());
          r.result(0, r.apply([](auto q, auto a, auto h, auto b, auto s) { return (q - a - h * b) * s; }, q, a, hat, b, r.operand(4)));
        }
      }
    }
  }
};

// All dimensions but that of the channels.
struct by_channel : by_input {
  static uint64_t mask(const OpEntry&, const Value*, Ints) { return ~uint64_t(2); }
};

// Arguments: input, weight, bias, running_mean, running_var, training, momentum, eps. A call that moves the running
// statistics writes to arguments, and has no passes.
struct batch_norm : by_channel {
  static constexpr int variants = 8;
  static int variant(const Value* args) {
    const bool training = args[5].boolean();
    if (training && (given(args[3]) || given(args[4]))) return -1;
    return (given(args[1]) ? 1 : 0) | (given(args[2]) ? 2 : 0) | (training ? 4 : 0);
  }
  template <class A, int variant, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      const auto x = r.element();
      auto rooted = [](auto v, auto eps) { return k<decltype(v)>(1) / math::own::sqrt_of(v + eps); };
      auto finish = [&](auto mean, auto invstd) {
        auto scale = [&] {
          if constexpr (variant & 1) return r.apply([](auto s, auto w) { return s * w; }, invstd, r.channel(1));
          else return invstd;
        };
        const auto a = scale();
        if constexpr (variant & 2) r.result(0, r.apply([](auto x, auto m, auto a, auto b) { return fma(x - m, a, b); }, x, mean, a, r.channel(2)));
        else r.result(0, r.apply([](auto x, auto m, auto a) { return fma(x - m, a, k<decltype(x)>(0)); }, x, mean, a));
      };
      if constexpr (variant & 4) {
        auto divided = [](auto s, auto n) { return s / n; };
        const auto mean = r.apply(divided, r.template fold<folds::sum>(x), r.template count<A>());
        const auto var = r.apply(divided, r.template fold<folds::squared_deviation>(x, mean), r.template count<A>());
        const auto invstd = r.apply(rooted, var, r.number(0));
        finish(mean, invstd);
        r.result(1, mean);
        r.result(2, invstd);
      } else finish(r.channel(3), r.apply(rooted, r.channel(4), r.number(0)));
    }
  }
  static constexpr int nnumbers = 1;
  static void numbers(const Value* args, int64_t, double* to) { to[0] = args[7].floating(); }
};

// Arguments: input, weight, bias, N, C, HxW, group, eps. The channels are cut into the groups; what is done with a group is what
// batch_norm does with a channel.
struct group_norm : by_input {
  static constexpr int variants = 4;
  static int variant(const Value* args) {
    const Tensor& x = args[0].tensor();
    if (x.ndim() < 2 || x.sizes()[0] != args[3].integer() || x.sizes()[1] != args[4].integer()) return -1;
    // Channels of one group that are not side by side in memory are no run; the call copies them first.
    if (groups(args) && !x.is_contiguous()) return -1;
    return (given(args[1]) ? 1 : 0) | (given(args[2]) ? 2 : 0);
  }
  // Channels that are their own groups need not be cut.
  static int64_t groups(const Value* args) {
    return args[6].integer() == args[4].integer() && args[0].tensor().ndim() > 2 ? 0 : args[6].integer();
  }
  static uint64_t mask(const OpEntry&, const Value*, Ints) { return ~uint64_t(3); }
  template <class A, int variant, class R> static void run(R& r) { batch_norm::run<A, variant | 4>(r); }
  static constexpr int nnumbers = 1;
  static void numbers(const Value* args, int64_t, double* to) { to[0] = args[7].floating(); }
};

// Arguments: gradient, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask.
struct batch_norm_backward : by_channel {
  static constexpr int variants = 8;
  static int variant(const Value* args) {
    const bool train = args[7].boolean();
    const bool* wanted = args[9].bools;
    if (lane_type(args[1].tensor().dtype()) != lane_type(args[0].tensor().dtype())) return -1;
    for (int i : {2, train ? 5 : 3, train ? 6 : 4})
      if (given(args[i]) && args[i].tensor().ndim() != 1) return -1;
    return (given(args[2]) ? 1 : 0) | (train ? 2 : 0) | (wanted[1] || wanted[2] ? 4 : 0);
  }
  template <class A, int variant, class R> static void run(R& r) {
    if constexpr (!std::is_integral_v<A>) {
      constexpr bool train = variant & 2, sums = variant & 6;
      const auto g = r.element(), x = r.operand(1);
      const auto mean = r.channel(train ? 5 : 3);
      auto inverse = [&] {
        if constexpr (train) return r.channel(6);
        else return r.apply([](auto v, auto eps) { return k<decltype(v)>(1) / math::own::sqrt_of(v + eps); }, r.channel(4), r.number(0));
      };
      const auto invstd = inverse();
      const auto from_mean = r.apply([](auto x, auto m) { return x - m; }, x, mean);
      auto scale = [&] {
        if constexpr (variant & 1) return r.apply([](auto s, auto w) { return s * w; }, invstd, r.channel(2));
        else return invstd;
      };
      const auto a = scale();
      auto give = [&](auto b, auto d) {
        r.result(0, r.apply([](auto g, auto c, auto a, auto b, auto d) { return fma(g, a, -fma(c, b, d)); }, g, from_mean, a, b, d));
      };
      if constexpr (sums) {
        const auto sum = r.template fold<folds::sum>(g), dot = r.template fold<folds::dot>(g, from_mean);
        if constexpr (train) {
          const auto n = r.template count<A>();
          give(r.apply([](auto a, auto d, auto s, auto n) { return a * (d * s * s / n); }, a, dot, invstd, n),
               r.apply([](auto a, auto s, auto n) { return a * (s / n); }, a, sum, n));
        }
        r.result(1, r.apply([](auto d, auto s) { return d * s; }, dot, invstd));
        r.result(2, sum);
      }
      if constexpr (!train) {
        const auto none = r.apply([](auto a) { return k<decltype(a)>(0); }, r.number(0));
        give(none, none);
      }
    }
  }
  static constexpr int nnumbers = 1;
  static void numbers(const Value* args, int64_t, double* to) { to[0] = args[8].floating(); }
};

}  // namespace fb::passes
