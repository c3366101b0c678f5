// Complex numbers as plain pairs: products and quotients are the textbook formulas, with no
// detour through library calls, so that every domain (scalar, vector, compiled) gives the same bits.
#pragma once

namespace fb {

template <class T>
struct Complex {
  T re{}, im{};
  using value_type = T;
  constexpr Complex() = default;
  constexpr Complex(T r, T i = T(0)) : re(r), im(i) {}
  template <class U>
  constexpr explicit Complex(Complex<U> o) : re(T(o.re)), im(T(o.im)) {}

  constexpr Complex operator-() const { return {-re, -im}; }
  constexpr Complex& operator+=(Complex o) { return *this = *this + o; }
  constexpr Complex& operator-=(Complex o) { return *this = *this - o; }
  constexpr Complex& operator*=(Complex o) { return *this = *this * o; }
  constexpr Complex& operator/=(Complex o) { return *this = *this / o; }
  friend constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend constexpr Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  // With a sum in both parts: g++ makes one instruction of a difference beside a sum, which rounds only once
  // (vfmaddsub), whatever -ffp-contract says, and only in some loops.
  friend constexpr Complex operator*(Complex a, Complex b) {
    const T minus = -a.im;
    return {a.re * b.re + minus * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method scales by the larger part of the divisor, so that |b|^2 cannot overflow. Sums alone, as above.
  friend constexpr Complex operator/(Complex a, Complex b) {
    const T br = b.re < 0 ? -b.re : b.re, bi = b.im < 0 ? -b.im : b.im;
    if (br == 0 && bi == 0) return {a.re / br, a.im / bi};
    const bool real = br >= bi;
    const T large = real ? b.re : b.im, small = real ? b.im : b.re, ratio = small / large, d = large + small * ratio;
    const T x = real ? a.re : a.im, y = real ? a.im : -a.re, r = real ? ratio : -ratio, minus = -x;
    return {(x + y * r) / d, (y + minus * r) / d};
  }
  friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  friend constexpr bool operator!=(Complex a, Complex b) { return !(a == b); }
};

using cfloat = Complex<float>;
using cdouble = Complex<double>;

template <class T> inline constexpr bool is_complex_v = false;
template <class T> inline constexpr bool is_complex_v<Complex<T>> = true;

}  // namespace fb
