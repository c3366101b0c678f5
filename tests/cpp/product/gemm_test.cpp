#include "cpu/product/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/threads.h"

using namespace fb;
using namespace fb::product;

namespace {

template <class T>
constexpr double resolution = 0;
template <>
constexpr double resolution<float> = 6e-8;
template <>
constexpr double resolution<double> = 1.2e-16;
template <>
constexpr double resolution<half> = 5e-4;
template <>
constexpr double resolution<bfloat16> = 4e-3;

struct Layout {
  int64_t m, n, k;
  bool ta, tb, tc;
  int64_t pad = 0;   // extra elements between rows
  int64_t step = 1;  // distance of elements within a row
};

template <class T>
struct Case {
  std::vector<T> a, b, c, add;
  Gemm<T> g;
};

template <class T>
Case<T> make(const Layout& l, int64_t batch = 1, unsigned seed = 1) {
  Case<T> r;
  uint32_t state = seed;
  auto value = [&state] {
    state = state * 1664525u + 1013904223u;
    return double(int32_t(state)) / 2147483648.0;
  };
  auto place = [&](std::vector<T>& v, int64_t rows, int64_t cols, bool turned, int64_t& row,
                   int64_t& col, int64_t& jump) {
    const int64_t inner = turned ? rows : cols, outer = turned ? cols : rows;
    const int64_t pitch = inner * l.step + l.pad;
    (turned ? row : col) = l.step;
    (turned ? col : row) = pitch;
    jump = outer * pitch;
    v.assign(size_t(batch * jump + 1), T(99.0f));
    // The logical order of the values does not depend on the layout.
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j)
          v[size_t(b * jump + i * row + j * col)] = T(float(value()));
  };
  Gemm<T>& g = r.g;
  g.batch = batch, g.m = l.m, g.n = l.n, g.k = l.k;
  place(r.a, l.m, l.k, l.ta, g.a_row, g.a_col, g.a_batch);
  place(r.b, l.k, l.n, l.tb, g.b_row, g.b_col, g.b_batch);
  place(r.c, l.m, l.n, l.tc, g.c_row, g.c_col, g.c_batch);
  r.add = r.c;
  g.a = r.a.data(), g.b = r.b.data(), g.c = r.c.data();
  return r;
}

template <class T>
void expect_close(const Case<T>& r, const std::vector<T>& before) {
  const Gemm<T>& g = r.g;
  std::vector<bool> written(r.c.size());
  for (int64_t b = 0; b < g.batch; ++b)
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < g.k; ++k) {
          const double x = double(float(g.a[b * g.a_batch + i * g.a_row + k * g.a_col])) *
                           double(float(g.b[b * g.b_batch + k * g.b_row + j * g.b_col]));
          sum += x;
          size += std::fabs(x);
        }
        const size_t at = size_t(b * g.c_batch + i * g.c_row + j * g.c_col);
        double want = double(g.alpha) * sum;
        if (g.add) want += double(g.beta) * double(float(before[at]));
        const double slack =
            (std::is_same_v<T, double> ? 1e-7 : 0) * std::fabs(want);  // float() above
        const double bound =
            resolution<T> * (std::fabs(want) + 2) +
            (sizeof(T) == 8 ? 1e-15 : 1.2e-7) * std::sqrt(double(g.k) + 1) * size * 2 + slack;
        ASSERT_NEAR(double(float(r.c[at])), want, bound + 1e-30)
            << g.m << "x" << g.n << "x" << g.k << " at " << b << "," << i << "," << j;
        written[at] = true;
      }
  for (size_t i = 0; i < written.size(); ++i)
    ASSERT_TRUE(written[i] || !std::memcmp(&r.c[i], &before[i], sizeof(T)))
        << "wrote outside the result";
}

template <class T>
void check(const Layout& l, float alpha = 1, float beta = 0, int64_t batch = 1) {
  Case<T> r = make<T>(l, batch);
  r.g.alpha = typename Gemm<T>::Scale(alpha);
  r.g.beta = typename Gemm<T>::Scale(beta);
  const std::vector<T> before = r.c;
  if (beta != 0) {
    r.g.add = r.c.data();
    r.g.add_row = r.g.c_row, r.g.add_col = r.g.c_col, r.g.add_batch = r.g.c_batch;
  }
  gemm(r.g);
  expect_close(r, before);
}

// The results in logical order.
template <class T>
std::vector<T> logical(const Case<T>& r) {
  std::vector<T> v;
  for (int64_t b = 0; b < r.g.batch; ++b)
    for (int64_t i = 0; i < r.g.m; ++i)
      for (int64_t j = 0; j < r.g.n; ++j)
        v.push_back(r.c[size_t(b * r.g.c_batch + i * r.g.c_row + j * r.g.c_col)]);
  return v;
}

template <class T>
bool same_bits(const std::vector<T>& x, const std::vector<T>& y) {
  return x.size() == y.size() && !std::memcmp(x.data(), y.data(), x.size() * sizeof(T));
}

// The definition: one chain for each block, blocks folded pairwise, level by level.
template <class T>
T defined_sum(const Gemm<T>& g, int64_t i, int64_t j) {
  using Real = typename ChainType<T>::type;
  const int64_t block = std::is_same_v<Real, float> ? 512 : 256;
  std::vector<Real> s;
  for (int64_t k0 = 0; k0 < g.k || s.empty(); k0 += block) {
    Real acc = 0;
    for (int64_t k = k0; k < std::min(g.k, k0 + block); ++k)
      acc =
          std::fma(Real(g.a[i * g.a_row + k * g.a_col]), Real(g.b[k * g.b_row + j * g.b_col]), acc);
    s.push_back(acc);
  }
  while (s.size() > 1) {
    std::vector<Real> up;
    for (size_t q = 0; q < s.size(); q += 2)
      up.push_back(q + 1 < s.size() ? s[q] + s[q + 1] : s[q]);
    s = up;
  }
  return T(s[0]);
}

class ThreadCount {
 public:
  explicit ThreadCount(int n) : before_(get_num_threads()) { set_num_threads(n); }
  ~ThreadCount() { set_num_threads(before_); }

 private:
  int before_;
};

const Layout shapes[] = {
    {1, 1, 1, 0, 0, 0},
    {8, 8, 8, 0, 0, 0},
    {7, 5, 3, 1, 0, 0},
    {5, 17, 33, 0, 1, 0},
    {64, 64, 64, 0, 0, 0},
    {13, 1, 700, 0, 0, 0},
    {1, 200, 1300, 0, 0, 0},
    {1, 200, 1300, 0, 1, 0},
    {300, 1, 1025, 1, 0, 0},
    {1, 1, 70001, 0, 0, 0},
    {3, 2, 40000, 0, 1, 0},
    {100, 3, 515, 0, 0, 0},
    {3, 100, 515, 0, 1, 1},
    {130, 150, 1030, 1, 1, 0},
    {257, 129, 520, 0, 0, 1},
    {31, 65, 513, 1, 0, 1},
    {20, 20, 1024, 0, 0, 0},
    {6, 16, 0, 0, 0, 0},
    {90, 40, 77, 0, 0, 0, 3, 2},
    {40, 90, 600, 1, 1, 0, 5, 1},
    {2, 33, 300, 0, 0, 0, 1, 1},
    {1, 70, 90, 0, 0, 0, 2, 3},
    {200, 300, 260, 0, 1, 0, 7, 1},
    {5, 8, 90, 0, 0, 0},
    {8, 24, 1100, 0, 0, 0},
    {13, 8, 3000, 0, 0, 0},
};

}  // namespace

TEST(Gemm, AgreesWithPlainLoops) {
  for (const Layout& l : shapes) {
    check<float>(l);
    check<float>(l, 0.5f, 2.0f);
    check<float>(l, 1.0f, 1.0f);
    check<double>(l, -2.0f, 1.0f);
    check<half>(l, 1.0f, 0.5f);
    check<bfloat16>(l);
  }
  check<float>({9, 10, 11, 0, 0, 0}, 1, 0, 5);
  check<double>({33, 20, 300, 1, 1, 0}, 1, 1, 3);
  check<float>({1, 30, 600, 0, 1, 0}, 1, 1, 4);
}

TEST(Gemm, EverySumIsTheDefinedChain) {
  auto test = [&]<class T>() {
    for (const Layout& l : shapes) {
      if (l.k > 40000) continue;
      Case<T> r = make<T>(l);
      gemm(r.g);
      for (int64_t i = 0; i<l.m; i += l.m> 40 ? 7 : 1)
        for (int64_t j = 0; j<l.n; j += l.n> 40 ? 5 : 1) {
          const T want = defined_sum(r.g, i, j), got = r.c[size_t(i * r.g.c_row + j * r.g.c_col)];
          ASSERT_EQ(std::memcmp(&want, &got, sizeof(T)), 0)
              << l.m << "x" << l.n << "x" << l.k << " at " << i << "," << j << ": " << float(want)
              << " " << float(got);
        }
    }
  };
  test.operator()<float>();
  test.operator()<double>();
  test.operator()<half>();
  test.operator()<bfloat16>();
}

TEST(Gemm, BitsDoNotDependOnThreadsOrLayout) {
  for (const Layout& l : {Layout{200, 300, 2100, 0, 0, 0}, Layout{20, 30, 30000, 0, 0, 0},
                          Layout{1, 3000, 900, 0, 0, 0}, Layout{2000, 1, 3000, 0, 0, 0},
                          Layout{1, 1, 500000, 0, 0, 0}, Layout{7, 1500, 1100, 0, 0, 0}}) {
    std::vector<float> first;
    for (int threads : {1, 3})
      for (int layout = 0; layout < 8; ++layout) {
        ThreadCount use(threads);
        Layout x = l;
        x.ta = layout & 1, x.tb = layout & 2, x.tc = layout & 4;
        Case<float> r = make<float>(x);
        gemm(r.g);
        const std::vector<float> got = logical(r);
        if (first.empty()) first = got;
        ASSERT_TRUE(same_bits(first, got))
            << l.m << "x" << l.n << "x" << l.k << " threads " << threads << " layout " << layout;
      }
  }
}

TEST(Gemm, ARowAloneHasTheBitsOfTheBatch) {
  const Layout l{67, 120, 1500, 0, 1, 0};
  Case<float> all = make<float>(l);
  gemm(all.g);
  for (int64_t i = 0; i < l.m; ++i) {
    std::vector<float> row(size_t(l.n));
    Gemm<float> g = all.g;
    g.m = 1;
    g.a += i * g.a_row;
    g.c = row.data();
    gemm(g);
    ASSERT_EQ(std::memcmp(row.data(), all.c.data() + i * l.n, row.size() * 4), 0) << "row " << i;
  }
}

TEST(Gemm, BatchesByStridesTablesAndBroadcast) {
  const Layout l{10, 24, 30, 0, 0, 0};
  Case<float> r = make<float>(l, 6);
  r.g.b_batch = 0;
  gemm(r.g);
  const std::vector<float> folded = r.c;
  std::vector<int64_t> at_a, at_b, at_c;
  for (int64_t i = 0; i < 6; ++i) {
    at_a.push_back((5 - i) * r.g.a_batch);
    at_b.push_back(0);
    at_c.push_back((5 - i) * r.g.c_batch);
  }
  std::fill(r.c.begin(), r.c.end(), -1.0f);
  r.c.back() = folded.back();
  r.g.a_offsets = at_a.data(), r.g.b_offsets = at_b.data(), r.g.c_offsets = at_c.data();
  gemm(r.g);
  EXPECT_TRUE(same_bits(folded, r.c));
}

TEST(Gemm, ABiasRowIsAddedAndBetaZeroReadsNothing) {
  Case<float> r = make<float>({20, 40, 50, 0, 1, 0});
  gemm(r.g);
  const std::vector<float> plain = r.c;
  std::vector<float> bias(40);
  for (int j = 0; j < 40; ++j) bias[size_t(j)] = float(j);
  r.g.add = bias.data();
  r.g.add_col = 1;
  gemm(r.g);
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 40; ++j)
      EXPECT_EQ(r.c[size_t(i * 40 + j)], plain[size_t(i * 40 + j)] + float(j));
  std::fill(bias.begin(), bias.end(), NAN);
  r.g.beta = 0;
  gemm(r.g);
  EXPECT_TRUE(same_bits(plain, r.c));
}

TEST(Gemm, ComplexProducts) {
  auto test = [&]<class R>(int64_t m, int64_t n, int64_t k, bool ca, bool cb) {
    std::vector<Complex<R>> a, b, c(size_t(m * n));
    std::mt19937 random(3);
    std::uniform_real_distribution<double> value(-1, 1);
    auto next = [&] { return Complex<R>(R(value(random)), R(value(random))); };
    for (int64_t i = 0; i < m * k; ++i) a.push_back(next());
    for (int64_t i = 0; i < n * k; ++i) b.push_back(next());
    Gemm<Complex<R>> g;
    g.m = m, g.n = n, g.k = k;
    g.a = a.data(), g.a_row = k, g.a_col = 1;
    g.b = b.data(), g.b_row = 1, g.b_col = k;  // b is given transposed
    g.c = c.data(), g.c_row = n, g.c_col = 1;
    g.conj_a = ca, g.conj_b = cb;
    g.alpha = Complex<R>(0, 1);
    gemm(g);
    const double eps = sizeof(R) == 4 ? 2e-6 : 4e-15;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        cdouble sum;
        for (int64_t l = 0; l < k; ++l) {
          cdouble x(a[size_t(i * k + l)]), y(b[size_t(j * k + l)]);
          if (ca) x.im = -x.im;
          if (cb) y.im = -y.im;
          sum += x * y;
        }
        sum = cdouble(0, 1) * sum;
        ASSERT_NEAR(c[size_t(i * n + j)].re, sum.re, eps * std::sqrt(double(k) + 1) * 4);
        ASSERT_NEAR(c[size_t(i * n + j)].im, sum.im, eps * std::sqrt(double(k) + 1) * 4);
      }
  };
  for (bool ca : {false, true})
    for (bool cb : {false, true}) {
      test.operator()<float>(13, 21, 300, ca, cb);
      test.operator()<double>(13, 21, 600, ca, cb);
    }
  test.operator()<float>(200, 130, 40, false, false);
  test.operator()<float>(1, 1, 5000, true, false);
  test.operator()<double>(1, 9, 1, false, false);
}

TEST(Gemm, IntegersWrapAround) {
  auto test = [&]<class T>(int64_t m, int64_t n, int64_t k) {
    std::vector<T> a(size_t(m * k)), b(size_t(k * n)), c(size_t(m * n)), add(size_t(m * n));
    uint64_t x = 1;
    for (auto* v : {&a, &b, &add})
      for (T& e : *v) e = T((x = x * 6364136223846793005u + 1442695040888963407u) >> 33);
    Gemm<T> g;
    g.m = m, g.n = n, g.k = k;
    g.a = a.data(), g.a_row = 1, g.a_col = m;
    g.b = b.data(), g.b_row = n, g.b_col = 1;
    g.c = c.data(), g.c_row = n, g.c_col = 1;
    g.add = add.data(), g.add_row = n, g.add_col = 1;
    g.alpha = T(3), g.beta = T(2);
    gemm(g);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        uint64_t s = 0;
        for (int64_t l = 0; l < k; ++l)
          s += uint64_t(a[size_t(l * m + i)]) * uint64_t(b[size_t(l * n + j)]);
        ASSERT_EQ(c[size_t(i * n + j)], T(3 * s + 2 * uint64_t(add[size_t(i * n + j)])));
      }
  };
  test.operator()<uint8_t>(3, 5, 300);
  test.operator()<int8_t>(70, 260, 131);
  test.operator()<int16_t>(1, 1, 1000);
  test.operator()<int32_t>(65, 257, 129);
  test.operator()<int64_t>(33, 20, 0);
  test.operator()<int64_t>(33, 20, 70);
}

TEST(Gemm, OperandsBeyondTheCacheAreTakenInRegions) {
  ThreadCount use(2);
  for (const Layout& l : {Layout{520, 530, 9000, 0, 1, 0}, Layout{530, 520, 9000, 1, 0, 0}}) {
    Case<float> r = make<float>(l);
    gemm(r.g);
    for (int64_t i = 0; i < l.m; i += 37)
      for (int64_t j = 0; j < l.n; j += 41)
        ASSERT_EQ(r.c[size_t(i * r.g.c_row + j * r.g.c_col)], defined_sum(r.g, i, j))
            << i << "," << j;
  }
}

// Results start as 99: what is not written shows.
TEST(Gemm, AProductOfNoTermsIsZero) {
  for (int threads : {1, 2}) {
    ThreadCount use(threads);
    check<float>({200, 300, 0, false, false, false});
    check<double>({300, 90, 0, false, true, true});
    check<half>({129, 257, 0, true, false, false});
  }
}
