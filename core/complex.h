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
  friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  // Smith's method scales by the larger part of the divisor, so that |b|^2 cannot overflow.
  friend constexpr Complex operator/(Complex a, Complex b) {
    const T br = b.re < 0 ? -b.re : b.re, bi = b.im < 0 ? -b.im : b.im;
    if (br >= bi) {
      if (br == 0 && bi == 0) return {a.re / br, a.im / bi};
      const T r = b.im / b.re, d = b.re + b.im * r;
      return {(a.re + a.im * r) / d, (a.im - a.re * r) / d};
    }
    const T r = b.re / b.im, d = b.re * r + b.im;
    return {(a.re * r + a.im) / d, (a.im * r - a.re) / d};
  }
  friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
  friend constexpr bool operator!=(Complex a, Complex b) { return !(a == b); }
};

using cfloat = Complex<float>;
using cdouble = Complex<double>;

template <class T> inline constexpr bool is_complex_v = false;
template <class T> inline constexpr bool is_complex_v<Complex<T>> = true;

}  // namespace fb
