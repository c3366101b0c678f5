#include "core/dtype.h"

namespace fb {

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_float8(a) || is_float8(b)) return DType::none;
  if (is_complex(a) || is_complex(b)) {
    const DType ra = to_real(a), rb = to_real(b);
    const bool wide = ra == DType::f64 || rb == DType::f64;
    if (wide) return DType::c128;
    // complex32 stays only beside types that float16 can hold.
    if (a == DType::c32 || b == DType::c32) {
      const DType other = a == DType::c32 ? b : a;
      if (other == DType::f16 || is_integral(other, true)) return DType::c32;
    }
    return DType::c64;
  }
  const bool fa = is_floating(a), fb_ = is_floating(b);
  if (fa != fb_) return fa ? a : b;
  if (fa) return a == DType::f64 || b == DType::f64 ? DType::f64 : DType::f32;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  const bool sa = is_signed(a), sb = is_signed(b);
  if (sa == sb) return item_size(a) >= item_size(b) ? a : b;
  const DType s = sa ? a : b, u = sa ? b : a;
  // The wide unsigned types have no promotion with signed ones; uint8 takes the next signed type.
  if (u != DType::u8) return DType::none;
  return item_size(s) > 1 ? s : DType::i16;
}

}  // namespace fb
