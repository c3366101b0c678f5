// The greatest error of each function of one float, against its exact value, over bit patterns that the caller chooses.
#pragma once
#include <bit>
#include <vector>

#include "cpu/simd/native.h"
#include "tests/cpp/math/functions.h"
#include "tests/cpp/math/ulp.h"

namespace fb::testing {

struct Found {
  double worst = 0;  // in ULP
  float at = 0, got = 0;
  double exact = 0;
  bool differs = false;  // scalar and vector
  float differs_at = 0;
  void join(const Found& o) {
    if (o.worst > worst) worst = o.worst, at = o.at, got = o.got, exact = o.exact;
    if (o.differs && !differs) differs = true, differs_at = o.differs_at;
  }
};
struct Function {
  const char* name;
  double bound, double_bound;
  bool iterates;
  void (*measure)(const float* x, size_t n, Found&);  // n: whole vectors
};

void append_elementary(std::vector<Function>&);
void append_special(std::vector<Function>&);
void append_iterating(std::vector<Function>&);

// A float's unit in the last place, at a finite value.
inline double float_ulp(double exact) {
  const int e = int(std::bit_cast<uint64_t>(exact) >> 52 & 0x7ff) - 1023;
  return std::bit_cast<double>(uint64_t(std::max(e - 23, -149) + 1023) << 52);
}

// slack(x) is an absolute error that is forgiven: the bound is that many units, or more of smaller ones.
template <class F, class R, class S>
[[gnu::noinline]] void measure(F f, R reference, S slack, double bound, const float* x, size_t n, Found& to) {
  constexpr int lanes = Native<float>::lanes;
  for (size_t i = 0; i < n; i += lanes) {
    float got[lanes];
    store_native(got, f(load_native(x + i)));
    for (int j = 0; j < lanes; ++j) {
      const float a = x[i + j], g = got[j];
      if (!same_value(f(a), g) && !to.differs) to.differs = true, to.differs_at = a;
      const double exact = double(reference(double(a))), off = std::fabs(exact - double(g));
      double e;
      if (off < HUGE_VAL && std::fabs(exact) < 0x1p128) e = off == 0 ? 0 : off / std::max(float_ulp(exact), slack(double(a)) / bound);
      else e = ulp_error<float>(exact, g);
      // The sign of zero: of the function's own zero at zero, and everywhere where the result is exact.
      if (exact == 0 && (bound == 0 || a == 0) && std::signbit(exact) != std::signbit(g)) e = HUGE_VAL;
      if (e > to.worst) to.worst = e, to.at = a, to.got = g, to.exact = exact;
    }
  }
}

}  // namespace fb::testing

#define FB_MEASURE_S(name, reference, float_bound, double_bound, lo, hi, float_slack, double_slack)                     \
  to.push_back({#name, float_bound, double_bound, iterates, [](const float* p, size_t n, fb::testing::Found& found) {   \
                  fb::testing::measure([](auto x) { return fb::math::name(x); }, [](double x) { return reference; },    \
                                       [](double x) -> double { return float_slack; }, float_bound, p, n, found);       \
                }});
#define FB_MEASURE_F(name, reference, float_bound, double_bound, lo, hi) \
  FB_MEASURE_S(name, reference, float_bound, double_bound, lo, hi, 0, 0)
