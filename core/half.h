// Storage formats of 16 and 8 bits. They hold values; arithmetic is done in float and rounded once.
#pragma once
#include <bit>
#include <cstdint>

namespace fb {

namespace detail {

// Rounds a float to a binary format of E exponent and M mantissa bits, to nearest even.
template <int E, int M, bool has_inf>
constexpr uint32_t round_to_format(float f) {
  const uint32_t u = std::bit_cast<uint32_t>(f), sign = (u >> 31) << (E + M);
  const uint32_t a = u & 0x7fffffffu;
  constexpr int bias = (1 << (E - 1)) - 1, drop = 23 - M;
  constexpr uint32_t top = has_inf ? ((1u << E) - 1) << M : (1u << (E + M)) - 1;  // inf, or the NaN of *fn formats
  if (a > 0x7f800000u) return sign | top | (has_inf ? 1u << (M - 1) : 0);
  if (a == 0x7f800000u) return sign | top;
  const int e = int(a >> 23) - 127 + bias;  // exponent in the new format
  if (e <= 0) {                             // denormal there: shift the full mantissa down
    const int shift = drop + 1 - e;
    if (shift > 24) return sign;
    const uint32_t m = (a & 0x7fffffu) | 0x800000u;
    const uint32_t half = 1u << (shift - 1), rest = m & ((1u << shift) - 1);
    uint32_t r = m >> shift;
    r += rest > half || (rest == half && (r & 1));
    return sign | r;
  }
  const uint32_t rounded = a - (uint32_t(127 - bias) << 23) + (1u << (drop - 1)) - 1 + ((a >> drop) & 1);
  const uint32_t r = rounded >> drop;
  return sign | (r >= top ? top : r);
}

template <int E, int M, bool has_inf>
constexpr float widen_from_format(uint32_t h) {
  const uint32_t sign = (h >> (E + M)) << 31, a = h & ((1u << (E + M)) - 1);
  constexpr int bias = (1 << (E - 1)) - 1;
  const uint32_t e = a >> M, m = a & ((1u << M) - 1);
  if (has_inf ? e == (1u << E) - 1 : a == (1u << (E + M)) - 1)
    return std::bit_cast<float>(sign | 0x7f800000u | (has_inf ? m << (23 - M) : 0x400000u));
  if (e == 0) {
    const float scale = std::bit_cast<float>(uint32_t(127 + 1 - bias - M) << 23);
    const float v = float(m) * scale;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | sign);
  }
  return std::bit_cast<float>(sign | ((e + 127 - bias) << 23) | (m << (23 - M)));
}

}  // namespace detail

struct half {
  uint16_t bits = 0;
  constexpr half() = default;
  constexpr explicit half(float f) : bits(uint16_t(detail::round_to_format<5, 10, true>(f))) {}
  constexpr explicit operator float() const { return detail::widen_from_format<5, 10, true>(bits); }
};

struct bfloat16 {
  uint16_t bits = 0;
  constexpr bfloat16() = default;
  constexpr explicit bfloat16(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    bits = (u & 0x7fffffffu) > 0x7f800000u ? uint16_t(0x7fc0) : uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct float8_e5m2 {
  uint8_t bits = 0;
  constexpr float8_e5m2() = default;
  constexpr explicit float8_e5m2(float f) : bits(uint8_t(detail::round_to_format<5, 2, true>(f))) {}
  constexpr explicit operator float() const { return detail::widen_from_format<5, 2, true>(bits); }
};

// Has no infinity: what is too large, infinity too, becomes the greatest value of its sign, as in PyTorch.
struct float8_e4m3fn {
  uint8_t bits = 0;
  constexpr float8_e4m3fn() = default;
  constexpr explicit float8_e4m3fn(float f) : bits(uint8_t(detail::round_to_format<4, 3, false>(f))) {
    if ((bits & 0x7f) == 0x7f && f == f) --bits;
  }
  constexpr explicit operator float() const { return detail::widen_from_format<4, 3, false>(bits); }
};

}  // namespace fb
