// Reductions against the scalar definition of their tree, bit for bit, over strides, types and threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/threads.h"
#include "dispatch/call.h"
#include "ops/reduce/folds.h"
#include "ops/reduce/tree.h"

namespace fb {
namespace {

struct Random {
  uint64_t s = 88172645463325252ull;
  double operator()() {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    return double(int64_t(s >> 11)) / double(1ll << 52) - 1.0;
  }
};

// A tensor of these sizes whose memory order is `order` (slowest first); logical values do not depend on the order.
template <class T> Tensor make(Ints sizes, Ints order, double scale = 1) {
  Dims strides(sizes.n, 1);
  int64_t s = 1;
  for (int64_t i = sizes.n - 1; i >= 0; --i) {
    strides[order[i]] = s;
    s *= sizes[order[i]];
  }
  const Tensor t = Tensor::empty_strided(sizes, strides, {dtype_of<T>, Device()});
  Random r;
  Dims at(sizes.n, 0);
  for (int64_t k = 0; k < t.numel(); ++k) {
    int64_t o = 0;
    for (int64_t d = 0; d < sizes.n; ++d) o += at[d] * strides[d];
    const double v = r() * scale;
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) t.ptr<T>()[o] = T(float(v));
    else t.ptr<T>()[o] = T(v);
    for (int64_t d = sizes.n - 1; d >= 0 && ++at[d] == sizes[d]; --d) at[d] = 0;
  }
  return t;
}
template <class A, class T> A as(T v) {
  if constexpr (std::is_arithmetic_v<T>) return A(v);
  else return A(float(v));
}

// The definition over a strided tensor: every kept index, then outer runs and the inner run in row-major order.
template <class Fold, class A, class T> std::vector<A> defined(const Tensor& x, uint64_t mask) {
  Dims kept, inner, outer;
  const int64_t nd = x.ndim();
  int64_t last = nd - 1;
  while (last >= 0 && !(mask >> last & 1)) --last;
  int64_t first = last;
  while (first > 0 && (mask >> (first - 1) & 1)) --first;
  for (int64_t d = 0; d < nd; ++d) (!(mask >> d & 1) ? kept : d >= first ? inner : outer).push_back(d);
  auto count = [&](const Dims& ds) {
    int64_t n = 1;
    for (int64_t d : ds) n *= x.sizes()[d];
    return n;
  };
  auto offset = [&](const Dims& ds, int64_t i) {
    int64_t o = 0;
    for (int64_t k = ds.size() - 1; k >= 0; --k) {
      o += i % x.sizes()[ds[k]] * x.strides()[ds[k]];
      i /= x.sizes()[ds[k]];
    }
    return o;
  };
  std::vector<A> r;
  for (int64_t k = 0; k < count(kept); ++k)
    r.push_back(tree::reduce<Fold, A>(count(outer), count(inner), [&](int64_t o, int64_t i) {
      return as<A>(x.ptr<T>()[offset(kept, k) + offset(outer, o) + offset(inner, i)]);
    }));
  return r;
}

struct Case {
  Dims sizes, dims;
};
const Case cases[] = {
    {{5}, {0}}, {{33}, {0}}, {{31, 7}, {1}}, {{31, 7}, {0}}, {{40, 300}, {0}}, {{300, 40}, {1}}, {{10000}, {0}}, {{100, 257}, {0, 1}},
    {{3, 9000}, {1}}, {{9000, 3}, {0}}, {{9000, 17}, {0}}, {{13, 6, 7, 9}, {0, 2, 3}}, {{13, 6, 70, 9}, {0, 2}}, {{4, 5, 6, 7}, {1, 3}},
    {{70, 3, 90}, {0, 2}}, {{2, 300, 20}, {1}}, {{20, 40, 300}, {0, 1, 2}}, {{2, 3, 4}, {0}}, {{6000, 5, 2}, {0, 2}}, {{1, 300, 1}, {1}},
};
std::vector<Dims> orders(int64_t n) {
  if (n == 1) return {{0}};
  if (n == 2) return {{0, 1}, {1, 0}};
  if (n == 3) return {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
  return {{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 2, 1, 0}, {1, 0, 3, 2}};
}
uint64_t mask_of(const Dims& dims) {
  uint64_t m = 0;
  for (int64_t d : dims) m |= uint64_t(1) << d;
  return m;
}

template <class Fold, class A, class T, class Run> void compare(Run run, double scale = 1) {
  for (const Case& c : cases)
    for (const Dims& order : orders(c.sizes.size())) {
      const Tensor x = make<T>(c.sizes, order, scale);
      const std::vector<A> want = defined<Fold, A, T>(x, mask_of(c.dims));
      for (int threads : {1, 2}) {
        set_num_threads(threads);
        const Tensor got = run(x, c.dims);
        ASSERT_EQ(got.numel(), int64_t(want.size()));
        for (size_t i = 0; i < want.size(); ++i) {
          const T w = std::is_same_v<A, T> ? T(want[i]) : T(want[i]);
          ASSERT_EQ(0, std::memcmp(&w, got.ptr<T>() + i, sizeof(T)))
              << text("sizes ", c.sizes, " order ", order, " dims ", c.dims, " threads ", threads, " element ", int64_t(i));
        }
      }
    }
}

TEST(Reduce, SumFollowsTheTree) {
  compare<folds::sum, float, float>([](const Tensor& x, const Dims& d) { return op<"sum">(x, d); });
  compare<folds::sum, double, double>([](const Tensor& x, const Dims& d) { return op<"sum">(x, d); });
}
TEST(Reduce, HalfAddsInFloatAndRoundsOnce) {
  compare<folds::sum, float, half>([](const Tensor& x, const Dims& d) { return op<"sum">(x, d); });
  compare<folds::sum, float, bfloat16>([](const Tensor& x, const Dims& d) { return op<"sum">(x, d); });
}
TEST(Reduce, IntegersWrap) {
  compare<folds::sum, int64_t, int64_t>([](const Tensor& x, const Dims& d) { return op<"sum">(x, d); }, 4e18);
}
TEST(Reduce, Extremes) {
  compare<folds::max, float, float>([](const Tensor& x, const Dims& d) { return op<"amax">(x, d); });
  compare<folds::min, double, double>([](const Tensor& x, const Dims& d) { return op<"amin">(x, d); });
  compare<folds::max, int64_t, int64_t>([](const Tensor& x, const Dims& d) { return op<"amax">(x, d); }, 1e18);
}

TEST(Reduce, NothingAndNaN) {
  const Tensor none = Tensor::empty({0, 3}, {DType::f32, Device()});
  EXPECT_EQ(op<"sum">(none).ptr<float>()[0], 0.0f);
  EXPECT_FALSE(std::signbit(op<"sum">(none).ptr<float>()[0]));
  EXPECT_EQ(op<"prod">(none).ptr<float>()[0], 1.0f);
  EXPECT_TRUE(std::isnan(op<"mean">(none).ptr<float>()[0]));
  EXPECT_EQ(op<"sum">(none, Dims{0}).numel(), 3);
  EXPECT_THROW(op<"amax">(none), Error);
  const Tensor x = make<float>(Dims{40, 50}, Dims{0, 1});
  x.ptr<float>()[77] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(op<"amax">(x).ptr<float>()[0]));
  EXPECT_TRUE(std::isnan(op<"amin">(x).ptr<float>()[0]));
  EXPECT_EQ(op<"argmax">(x).ptr<int64_t>()[0], 77);
  EXPECT_EQ(op<"argmin">(x, int64_t(0)).ptr<int64_t>()[27], 1);
  EXPECT_FALSE(std::isnan(op<"nansum">(x).ptr<float>()[0]));
  EXPECT_EQ(op<"count_nonzero.dim_IntList">(x, Dims{}).ptr<int64_t>()[0], 2000);
}

TEST(Reduce, FirstExtremeAlongADimension) {
  for (const Dims& order : orders(3)) {
    const Tensor x = make<float>(Dims{7, 90, 13}, order, 4);
    for (int64_t k = 0; k < x.numel(); ++k) x.ptr<float>()[k] = std::floor(x.ptr<float>()[k]);  // ties
    for (int64_t dim = 0; dim < 3; ++dim) {
      const auto [v, i] = ops<"max", 2>(x, dim);
      const int64_t a = dim == 0 ? 1 : 0, b = dim == 2 ? 1 : 2;
      for (int64_t p = 0; p < x.sizes()[a]; ++p)
        for (int64_t q = 0; q < x.sizes()[b]; ++q) {
          const float* base = x.ptr<float>() + p * x.strides()[a] + q * x.strides()[b];
          int64_t at = 0;
          for (int64_t k = 1; k < x.sizes()[dim]; ++k)
            if (base[k * x.strides()[dim]] > base[at * x.strides()[dim]]) at = k;
          ASSERT_EQ(i.ptr<int64_t>()[p * x.sizes()[b] + q], at);
          ASSERT_EQ(v.ptr<float>()[p * x.sizes()[b] + q], base[at * x.strides()[dim]]);
        }
    }
  }
}

}  // namespace
}  // namespace fb
