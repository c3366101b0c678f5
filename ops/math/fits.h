// Whether a number can be held by a type.
#pragma once
#include "core/error.h"
#include "core/scalar.h"

namespace fb::cards {

// Raises unless `v` can be held by `to` in the sense of PyTorch: no imaginary part is lost, no value overflows.
inline void check_fits(const char* name, const Scalar& v, DType to) {
  if (to == DType::boolean) return;
  bool ok = true;
  const double d = v.to_double();
  if (v.is_complex() && !is_complex(to)) ok = v.to_complex().im == 0;
  const bool special = v.is_integral() ? false : d != d || d - d != 0;
  auto range = [&](double lo, double hi) {
    if (v.is_integral()) {
      const bool huge = v.kind() == Scalar::Kind::unsigned_integer && v.to_int() < 0;
      return huge ? hi >= 18446744073709551615.0 : double(v.to_int()) >= lo && double(v.to_int()) <= hi;
    }
    return d >= lo && d <= hi;
  };
  if (ok && is_integral(to)) {
    double lo = 0, hi = 0;
    switch (to) {  // unsigned types also take the negative integers that wrap
      case DType::u8: lo = -255, hi = 255; break;
      case DType::i8: lo = -128, hi = 127; break;
      case DType::i16: lo = -32768, hi = 32767; break;
      case DType::u16: lo = -65535, hi = 65535; break;
      case DType::i32: lo = -2147483648.0, hi = 2147483647; break;
      case DType::u32: lo = -4294967295.0, hi = 4294967295.0; break;
      case DType::u64: lo = -18446744073709551615.0, hi = 18446744073709551615.0; break;
      default: lo = -9223372036854775808.0, hi = v.is_integral() ? 9223372036854775807.0 : 9223372036854774784.0; break;
    }
    if (!is_signed(to) && !v.is_integral()) lo = 0;
    if (to == DType::i64 && v.is_integral()) ok = !(v.kind() == Scalar::Kind::unsigned_integer && v.to_int() < 0);
    else ok = !special && range(lo, hi);
  } else if (ok && !special) {
    double hi = 0;
    switch (to_real(to)) {
      case DType::f16: hi = 65504; break;
      case DType::f32: hi = 3.4028234663852886e38; break;
      case DType::bf16: hi = 3.3895313892515355e38; break;
      case DType::f8_e5m2: hi = 57344; break;
      case DType::f8_e4m3fn: hi = 448; break;
      default: break;
    }
    if (hi != 0) {
      ok = range(-hi, hi);
      if (v.is_complex()) {
        const double im = v.to_complex().im;
        ok = ok && (im != im || im - im != 0 || (im >= -hi && im <= hi));
      }
    }
  }
  FB_CHECK(ok, name, ": value ", v, " cannot be held by type ", to, " without overflow");
}

// The type that numbers beside tensors of type `compute` are held in: half types compute in float.
inline DType number_type_of(DType compute) {
  switch (compute) {
    case DType::f16: case DType::bf16: case DType::f8_e5m2: case DType::f8_e4m3fn: return DType::f32;
    case DType::c32: return DType::c64;
    default: return compute;
  }
}

}  // namespace fb::cards
