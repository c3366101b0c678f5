// Element types and PyTorch's promotion between them.
#pragma once
#include <cstdint>

#include "core/complex.h"
#include "core/half.h"

namespace fb {

// The numbers are those of PyTorch's ScalarType: archives and C++ programs store them.
enum class DType : uint8_t {
  u8 = 0, i8 = 1, i16 = 2, i32 = 3, i64 = 4, f16 = 5, f32 = 6, f64 = 7, c32 = 8, c64 = 9, c128 = 10,
  boolean = 11, bf16 = 15, f8_e5m2 = 23, f8_e4m3fn = 24, u16 = 27, u32 = 28, u64 = 29, none = 255,
};

// X(C++ type, DType, Python name). c32 is a name only: no operator computes in it.
#define FB_FORALL_DTYPES(X)                                                                     \
  X(uint8_t, u8, "uint8") X(int8_t, i8, "int8") X(int16_t, i16, "int16") X(int32_t, i32, "int32") \
  X(int64_t, i64, "int64") X(half, f16, "float16") X(float, f32, "float32")                     \
  X(double, f64, "float64") X(cfloat, c64, "complex64") X(cdouble, c128, "complex128")          \
  X(bool, boolean, "bool") X(bfloat16, bf16, "bfloat16") X(float8_e5m2, f8_e5m2, "float8_e5m2") \
  X(float8_e4m3fn, f8_e4m3fn, "float8_e4m3fn") X(uint16_t, u16, "uint16")                       \
  X(uint32_t, u32, "uint32") X(uint64_t, u64, "uint64")

template <class T> inline constexpr DType dtype_of = DType::none;
#define FB_X(T, D, N) template <> inline constexpr DType dtype_of<T> = DType::D;
FB_FORALL_DTYPES(FB_X)
#undef FB_X

constexpr int64_t item_size(DType d) {
  switch (d) {
#define FB_X(T, D, N) case DType::D: return sizeof(T);
    FB_FORALL_DTYPES(FB_X)
#undef FB_X
    case DType::c32: return 4;
    default: return 0;
  }
}

// "float32"; str(dtype) in Python is "torch." + this.
constexpr const char* dtype_name(DType d) {
  switch (d) {
#define FB_X(T, D, N) case DType::D: return N;
    FB_FORALL_DTYPES(FB_X)
#undef FB_X
    case DType::c32: return "complex32";
    default: return "none";
  }
}

constexpr bool is_complex(DType d) { return d == DType::c32 || d == DType::c64 || d == DType::c128; }
constexpr bool is_float8(DType d) { return d == DType::f8_e5m2 || d == DType::f8_e4m3fn; }
constexpr bool is_half(DType d) { return d == DType::f16 || d == DType::bf16; }
constexpr bool is_floating(DType d) {
  return d == DType::f32 || d == DType::f64 || is_half(d) || is_float8(d);
}
constexpr bool is_integral(DType d, bool count_bool = false) {
  return d <= DType::i64 || (d >= DType::u16 && d <= DType::u64) || (count_bool && d == DType::boolean);
}
constexpr bool is_signed(DType d) {
  return !(d == DType::u8 || d == DType::boolean || (d >= DType::u16 && d <= DType::u64));
}
constexpr DType to_real(DType d) {
  return d == DType::c128 ? DType::f64 : d == DType::c64 ? DType::f32 : d == DType::c32 ? DType::f16 : d;
}
constexpr DType to_complex(DType d) {
  return d == DType::f64 ? DType::c128 : d == DType::f16 ? DType::c32 : is_complex(d) ? d : DType::c64;
}
// The type that arithmetic on d is done in: half formats compute in float.
constexpr DType compute_type(DType d) { return is_half(d) || is_float8(d) ? DType::f32 : d; }

// The type that holds both (PyTorch's table); none where there is no such type.
DType promote(DType a, DType b);
// Whether a result of type `from` may be written into `to` (out= and in-place forms).
constexpr bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && is_integral(to, true)) return false;
  if (is_integral(from) && to == DType::boolean) return false;
  return true;
}

// Calls f.template operator()<T>() with the C++ type of d. Returns false where d is not one of Ts.
template <class... Ts, class F>
constexpr bool visit_types(DType d, F&& f) {
  return ((d == dtype_of<Ts> ? (f.template operator()<Ts>(), true) : false) || ...);
}

}  // namespace fb
