// A number given from outside: Python's int, float, complex or bool.
#pragma once
#include "core/dtype.h"
#include "core/error.h"

namespace fb {

class Scalar {
 public:
  enum class Kind : uint8_t { integer, floating, complex, boolean, unsigned_integer };
  constexpr Scalar() : Scalar(int64_t(0)) {}
  constexpr Scalar(int v) : Scalar(int64_t(v)) {}
  constexpr Scalar(int64_t v) : kind_(Kind::integer), i_(v) {}
  constexpr Scalar(uint64_t v) : kind_(Kind::unsigned_integer), i_(int64_t(v)) {}
  constexpr Scalar(double v) : kind_(Kind::floating), re_(v) {}
  constexpr Scalar(cdouble v) : kind_(Kind::complex), re_(v.re), im_(v.im) {}
  constexpr Scalar(bool v) : kind_(Kind::boolean), i_(v) {}
  constexpr Kind kind() const { return kind_; }
  constexpr bool is_integral(bool count_bool = true) const {
    return kind_ == Kind::integer || kind_ == Kind::unsigned_integer || (count_bool && kind_ == Kind::boolean);
  }
  constexpr bool is_boolean() const { return kind_ == Kind::boolean; }
  constexpr bool is_floating() const { return kind_ == Kind::floating; }
  constexpr bool is_complex() const { return kind_ == Kind::complex; }
  constexpr double to_double() const {
    return kind_ == Kind::floating || kind_ == Kind::complex ? re_
           : kind_ == Kind::unsigned_integer ? double(uint64_t(i_)) : double(i_);
  }
  constexpr int64_t to_int() const {
    if (kind_ == Kind::floating || kind_ == Kind::complex) {
      if (!(re_ >= -9223372036854775808.0 && re_ < 9223372036854775808.0)) return INT64_MIN;
      return int64_t(re_);
    }
    return i_;
  }
  constexpr bool to_bool() const {
    return kind_ == Kind::floating ? re_ != 0 : kind_ == Kind::complex ? re_ != 0 || im_ != 0 : i_ != 0;
  }
  constexpr cdouble to_complex() const { return {to_double(), kind_ == Kind::complex ? im_ : 0.0}; }
  // Converts as a C++ cast does (wrapping integers).
  template <class T> constexpr T to() const {
    if constexpr (is_complex_v<T>) return T(to_complex());
    else if constexpr (std::is_same_v<T, bool>) return to_bool();
    else if constexpr (std::is_integral_v<T>) return T(to_int());
    else if constexpr (std::is_same_v<T, double>) return to_double();
    else return T(float(to_double()));
  }
  // The type a bare number has before promotion: its category's default.
  constexpr DType dtype() const {
    return kind_ == Kind::floating ? DType::f64 : kind_ == Kind::complex ? DType::c128
           : kind_ == Kind::boolean ? DType::boolean : kind_ == Kind::unsigned_integer ? DType::u64 : DType::i64;
  }

 private:
  Kind kind_;
  union {
    double re_;
    int64_t i_;
  };
  double im_ = 0;
};

namespace detail {
inline void append(std::string& s, const Scalar& v) {
  if (v.is_complex()) {
    s += '(';
    append(s, v.to_complex().re);
    s += " + ";
    append(s, v.to_complex().im);
    s += "j)";
  } else if (v.is_floating()) append(s, v.to_double());
  else if (v.is_boolean()) append(s, v.to_bool());
  else append(s, v.to_int());
}
inline void append(std::string& s, DType d) { s += dtype_name(d); }
}  // namespace detail
using detail::append;

}  // namespace fb
