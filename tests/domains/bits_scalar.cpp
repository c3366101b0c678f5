// Texts of numbers alone: complex ones, polynomials of degree n.
#include "ops/math/math.h"
#include "tests/domains/bits.h"

namespace fb::testing {
namespace {

template <class T, class F> void complex_row(std::vector<Row>& to, const char* name, F f) {
  Row r(name, sizeof(T) == 4 ? "cfloat" : "cdouble");
  const auto &x = arguments<T>(), &y = partners<T>();
  for (size_t i = 0; i < x.size(); i += 2) {
    const Complex<T> w = f(Complex<T>(x[i], y[i]));
    compare(r, w.re, w.re, x[i], y[i]);
    compare(r, w.im, w.im, x[i], y[i]);
  }
  to.push_back(std::move(r));
}
template <class T, class F> void degree_row(std::vector<Row>& to, const char* name, F f) {
  Row r(name, type_name<T>());
  const auto& x = arguments<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    const T w = f(x[i], T(i % 11));
    compare(r, w, w, x[i], T(i % 11));
  }
  to.push_back(std::move(r));
}

}  // namespace
}  // namespace fb::testing

#define FB_COMPLEX_ROW(name)                                                                \
  fb::testing::complex_row<float>(to, #name, [](auto z) { return fb::math::name(z); });      \
  fb::testing::complex_row<double>(to, #name, [](auto z) { return fb::math::name(z); });
#define FB_DEGREE_ROW(name)                                                                       \
  fb::testing::degree_row<float>(to, #name, [](auto x, auto n) { return fb::math::name(x, n); });  \
  fb::testing::degree_row<double>(to, #name, [](auto x, auto n) { return fb::math::name(x, n); });

void fb::testing::append_scalar(std::vector<Row>& to) {
  FB_COMPLEX_ROW(exp) FB_COMPLEX_ROW(log) FB_COMPLEX_ROW(log2) FB_COMPLEX_ROW(log10) FB_COMPLEX_ROW(log1p) FB_COMPLEX_ROW(expm1)
  FB_COMPLEX_ROW(sqrt) FB_COMPLEX_ROW(rsqrt) FB_COMPLEX_ROW(reciprocal) FB_COMPLEX_ROW(sigmoid)
  FB_COMPLEX_ROW(sin) FB_COMPLEX_ROW(cos) FB_COMPLEX_ROW(tan) FB_COMPLEX_ROW(sinh) FB_COMPLEX_ROW(cosh) FB_COMPLEX_ROW(tanh)
  FB_COMPLEX_ROW(asin) FB_COMPLEX_ROW(acos) FB_COMPLEX_ROW(atan) FB_COMPLEX_ROW(asinh) FB_COMPLEX_ROW(acosh) FB_COMPLEX_ROW(atanh)
  FB_DEGREE_ROW(chebyshev_polynomial_t) FB_DEGREE_ROW(chebyshev_polynomial_u) FB_DEGREE_ROW(chebyshev_polynomial_v)
  FB_DEGREE_ROW(chebyshev_polynomial_w) FB_DEGREE_ROW(shifted_chebyshev_polynomial_t) FB_DEGREE_ROW(shifted_chebyshev_polynomial_u)
  FB_DEGREE_ROW(shifted_chebyshev_polynomial_v) FB_DEGREE_ROW(shifted_chebyshev_polynomial_w) FB_DEGREE_ROW(hermite_polynomial_h)
  FB_DEGREE_ROW(hermite_polynomial_he) FB_DEGREE_ROW(laguerre_polynomial_l) FB_DEGREE_ROW(legendre_polynomial_p)
}
