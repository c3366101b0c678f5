// Vectors of any width on the compiler's own: Wide<T, 64> is AVX-512's register, Wide<T, 16> is NEON's. An operation that
// the target has no instruction for goes lane by lane through the scalar domain, where it is exactly rounded: so this is
// also the emulation below the supported widths, which keeps the bits and is slow. Same names and bits as
// ops/math/domain.h. AVX2's vectors, which the loops over tensors use, are those of vec.h.
#pragma once
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/half.h"
#include "ops/math/domain.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>
#define FB_WIDE_AVX512
#elif defined(__aarch64__)
#include <arm_neon.h>
#define FB_WIDE_NEON
#endif

#define FB_SIMD [[gnu::always_inline]] inline

namespace fb {

template <class T, int bytes> struct wide_vector { using type [[gnu::vector_size(bytes)]] = T; };
template <int lane_bytes> using wide_integer = std::conditional_t<lane_bytes == 4, int32_t, int64_t>;

// What +, - and * are taken in: signed integers wrap as unsigned ones.
template <class T> struct wide_wrapping { using type = T; };
template <> struct wide_wrapping<int32_t> { using type = uint32_t; };
template <> struct wide_wrapping<int64_t> { using type = uint64_t; };

template <class T, int B> struct Wide {
  using raw = typename wide_vector<T, B>::type;
  using wrapping = typename wide_vector<typename wide_wrapping<T>::type, B>::type;
  using lane = T;
  static constexpr int lanes = B / int(sizeof(T));
  raw v;
  Wide() = default;
  FB_SIMD Wide(raw r) : v(r) {}
  FB_SIMD explicit Wide(T s) : v(filled(s, std::make_index_sequence<lanes>())) {}
  FB_SIMD T operator[](int i) const { return v[i]; }

  // Whole, or the first n lanes: the others load as zero. Formats of 8 and 16 bits load as float, and round once when stored.
  FB_SIMD static Wide load(const T* p) {
    Wide r;
    std::memcpy(&r.v, p, B);
    return r;
  }
  FB_SIMD static Wide load(const T* p, int n) {
    Wide r(T(0));
    std::memcpy(&r.v, p, n * sizeof(T));
    return r;
  }
  template <class S> requires(sizeof(S) <= 2 && std::is_same_v<T, float>)
  static Wide load(const S* p, int n = lanes) {
    Wide r(T(0));
    for (int i = 0; i < n; ++i) r.v[i] = float(p[i]);
    return r;
  }
  FB_SIMD void store(T* p, int n = lanes) const { std::memcpy(p, &v, n * sizeof(T)); }
  template <class S> requires(sizeof(S) <= 2 && std::is_same_v<T, float>)
  void store(S* p, int n = lanes) const {
    for (int i = 0; i < n; ++i) p[i] = S(float(v[i]));
  }

 private:
  template <size_t... I> FB_SIMD static raw filled(T s, std::index_sequence<I...>) { return raw{((void)I, s)...}; }
};

// All bits of a lane set, or none; the lanes are lane_bytes wide.
template <int lane_bytes, int B> struct WideMask {
  using lane = wide_integer<lane_bytes>;
  using raw = typename wide_vector<lane, B>::type;
  static constexpr int lanes = B / lane_bytes;
  raw v;
  WideMask() = default;
  FB_SIMD WideMask(raw r) : v(r) {}
  FB_SIMD bool operator[](int i) const { return v[i] != 0; }
};

template <class T, int B> struct domain<Wide<T, B>> {
  using lane = T;
  using integer = Wide<wide_integer<sizeof(T)>, B>;
  using mask = WideMask<sizeof(T), B>;
  static constexpr int lanes = Wide<T, B>::lanes;
  FB_SIMD static Wide<T, B> constant(T c) { return Wide<T, B>(c); }
};

#define FB_WIDE_OP(op)                                                               \
  template <class T, int B> FB_SIMD Wide<T, B> operator op(Wide<T, B> a, Wide<T, B> b) { \
    using U = typename Wide<T, B>::wrapping;                                         \
    return Wide<T, B>((typename Wide<T, B>::raw)((U)a.v op (U)b.v));                 \
  }
FB_WIDE_OP(+) FB_WIDE_OP(-) FB_WIDE_OP(*)  // integers wrap
#undef FB_WIDE_OP
#define FB_WIDE_OP(op) \
  template <class T, int B> FB_SIMD Wide<T, B> operator op(Wide<T, B> a, Wide<T, B> b) { return Wide<T, B>(a.v op b.v); }
FB_WIDE_OP(/) FB_WIDE_OP(&) FB_WIDE_OP(|) FB_WIDE_OP(^)
#undef FB_WIDE_OP
#define FB_WIDE_OP(op)                                                                              \
  template <class T, int B> FB_SIMD WideMask<sizeof(T), B> operator op(Wide<T, B> a, Wide<T, B> b) { \
    return WideMask<sizeof(T), B>((typename WideMask<sizeof(T), B>::raw)(a.v op b.v));              \
  }
FB_WIDE_OP(<) FB_WIDE_OP(<=) FB_WIDE_OP(>) FB_WIDE_OP(>=) FB_WIDE_OP(==) FB_WIDE_OP(!=)
#undef FB_WIDE_OP
template <class T, int B> FB_SIMD Wide<T, B> operator-(Wide<T, B> a) {
  using U = typename Wide<T, B>::wrapping;
  return Wide<T, B>((typename Wide<T, B>::raw)(-(U)a.v));
}
template <class T, int B> FB_SIMD Wide<T, B> operator~(Wide<T, B> a) { return Wide<T, B>(~a.v); }
template <class T, int B> FB_SIMD Wide<T, B> operator<<(Wide<T, B> a, int n) { return Wide<T, B>(a.v << n); }
template <class T, int B> FB_SIMD Wide<T, B> operator>>(Wide<T, B> a, int n) { return Wide<T, B>(a.v >> n); }
template <class T, int B> FB_SIMD Wide<T, B> shift_right_logical(Wide<T, B> a, int n) {
  using U = typename Wide<T, B>::wrapping;
  return Wide<T, B>((typename Wide<T, B>::raw)((U)a.v >> n));
}
template <int L, int B> FB_SIMD WideMask<L, B> operator&(WideMask<L, B> a, WideMask<L, B> b) { return WideMask<L, B>(a.v & b.v); }
template <int L, int B> FB_SIMD WideMask<L, B> operator|(WideMask<L, B> a, WideMask<L, B> b) { return WideMask<L, B>(a.v | b.v); }
template <int L, int B> FB_SIMD WideMask<L, B> operator^(WideMask<L, B> a, WideMask<L, B> b) { return WideMask<L, B>(a.v ^ b.v); }
template <int L, int B> FB_SIMD WideMask<L, B> operator!(WideMask<L, B> a) { return WideMask<L, B>(~a.v); }

template <class T, int B> FB_SIMD Wide<T, B> select(WideMask<sizeof(T), B> m, Wide<T, B> a, Wide<T, B> b) {
  return Wide<T, B>(m.v ? a.v : b.v);
}

template <int B> FB_SIMD Wide<int32_t, B> bits(Wide<float, B> a) { return Wide<int32_t, B>((typename Wide<int32_t, B>::raw)a.v); }
template <int B> FB_SIMD Wide<int64_t, B> bits(Wide<double, B> a) { return Wide<int64_t, B>((typename Wide<int64_t, B>::raw)a.v); }
template <int B> FB_SIMD Wide<float, B> from_bits(Wide<int32_t, B> a) { return Wide<float, B>((typename Wide<float, B>::raw)a.v); }
template <int B> FB_SIMD Wide<double, B> from_bits(Wide<int64_t, B> a) { return Wide<double, B>((typename Wide<double, B>::raw)a.v); }

template <class T, int B> FB_SIMD Wide<T, B> abs(Wide<T, B> a) { return from_bits(bits(a) & ~bits(Wide<T, B>(T(-0.0)))); }
template <class T, int B> FB_SIMD Wide<T, B> copysign(Wide<T, B> a, Wide<T, B> b) {
  const auto sign = bits(Wide<T, B>(T(-0.0)));
  return from_bits((bits(a) & ~sign) | (bits(b) & sign));
}
template <class T, int B> FB_SIMD WideMask<sizeof(T), B> isnan(Wide<T, B> a) { return a != a; }

// Lane by lane, wherever nothing below fits better.
#define FB_WIDE_FN(name)                                           \
  template <class T, int B> inline Wide<T, B> name(Wide<T, B> a) { \
    Wide<T, B> r;                                                  \
    for (int i = 0; i < r.lanes; ++i) r.v[i] = fb::name(T(a.v[i])); \
    return r;                                                      \
  }
FB_WIDE_FN(sqrt) FB_WIDE_FN(floor) FB_WIDE_FN(ceil) FB_WIDE_FN(trunc) FB_WIDE_FN(rint)
#undef FB_WIDE_FN
template <class T, int B> inline Wide<T, B> fma(Wide<T, B> a, Wide<T, B> b, Wide<T, B> c) {
  Wide<T, B> r;
  for (int i = 0; i < r.lanes; ++i) r.v[i] = fb::fma(T(a.v[i]), T(b.v[i]), T(c.v[i]));
  return r;
}
template <class T, int B> FB_SIMD Wide<T, B> min(Wide<T, B> a, Wide<T, B> b) { return select(a < b, a, b); }
template <class T, int B> FB_SIMD Wide<T, B> max(Wide<T, B> a, Wide<T, B> b) { return select(a > b, a, b); }
template <int L, int B> inline bool any(WideMask<L, B> m) {
  typename WideMask<L, B>::lane r = 0;
  for (int i = 0; i < m.lanes; ++i) r |= m.v[i];
  return r != 0;
}
template <int L, int B> FB_SIMD bool all(WideMask<L, B> m) { return !any(!m); }
template <int B> inline Wide<float, B> lookup(const float (&table)[8], Wide<int32_t, B> i) {
  Wide<float, B> r;
  for (int j = 0; j < r.lanes; ++j) r.v[j] = table[i.v[j]];
  return r;
}

#ifdef FB_WIDE_AVX512
#define FB_WIDE_FN(name, ps, pd)                                                          \
  FB_SIMD Wide<float, 64> name(Wide<float, 64> a) { return Wide<float, 64>(ps); }         \
  FB_SIMD Wide<double, 64> name(Wide<double, 64> a) { return Wide<double, 64>(pd); }
#define FB_WIDE_ROUND(name, mode) \
  FB_WIDE_FN(name, _mm512_roundscale_ps(a.v, mode | _MM_FROUND_NO_EXC), _mm512_roundscale_pd(a.v, mode | _MM_FROUND_NO_EXC))
FB_WIDE_FN(sqrt, _mm512_sqrt_ps(a.v), _mm512_sqrt_pd(a.v))
FB_WIDE_ROUND(floor, _MM_FROUND_TO_NEG_INF)
FB_WIDE_ROUND(ceil, _MM_FROUND_TO_POS_INF)
FB_WIDE_ROUND(trunc, _MM_FROUND_TO_ZERO)
FB_WIDE_ROUND(rint, _MM_FROUND_TO_NEAREST_INT)
#undef FB_WIDE_ROUND
#undef FB_WIDE_FN
FB_SIMD Wide<float, 64> fma(Wide<float, 64> a, Wide<float, 64> b, Wide<float, 64> c) {
  return Wide<float, 64>(_mm512_fmadd_ps(a.v, b.v, c.v));
}
FB_SIMD Wide<double, 64> fma(Wide<double, 64> a, Wide<double, 64> b, Wide<double, 64> c) {
  return Wide<double, 64>(_mm512_fmadd_pd(a.v, b.v, c.v));
}
FB_SIMD Wide<float, 64> min(Wide<float, 64> a, Wide<float, 64> b) { return Wide<float, 64>(_mm512_min_ps(a.v, b.v)); }
FB_SIMD Wide<double, 64> min(Wide<double, 64> a, Wide<double, 64> b) { return Wide<double, 64>(_mm512_min_pd(a.v, b.v)); }
FB_SIMD Wide<float, 64> max(Wide<float, 64> a, Wide<float, 64> b) { return Wide<float, 64>(_mm512_max_ps(a.v, b.v)); }
FB_SIMD Wide<double, 64> max(Wide<double, 64> a, Wide<double, 64> b) { return Wide<double, 64>(_mm512_max_pd(a.v, b.v)); }
template <int L> FB_SIMD bool any(WideMask<L, 64> m) { return _mm512_test_epi32_mask((__m512i)m.v, (__m512i)m.v) != 0; }
FB_SIMD Wide<float, 64> lookup(const float (&table)[8], Wide<int32_t, 64> i) {
  return Wide<float, 64>(_mm512_permutexvar_ps((__m512i)i.v, _mm512_broadcast_f32x8(_mm256_loadu_ps(table))));
}
#endif

#ifdef FB_WIDE_NEON
#define FB_WIDE_FN(name, call)                                                                                       \
  FB_SIMD Wide<float, 16> name(Wide<float, 16> a) { return Wide<float, 16>((Wide<float, 16>::raw)call##_f32(a.v)); } \
  FB_SIMD Wide<double, 16> name(Wide<double, 16> a) { return Wide<double, 16>((Wide<double, 16>::raw)call##_f64(a.v)); }
FB_WIDE_FN(sqrt, vsqrtq) FB_WIDE_FN(floor, vrndmq) FB_WIDE_FN(ceil, vrndpq) FB_WIDE_FN(trunc, vrndq) FB_WIDE_FN(rint, vrndnq)
#undef FB_WIDE_FN
FB_SIMD Wide<float, 16> fma(Wide<float, 16> a, Wide<float, 16> b, Wide<float, 16> c) {
  return Wide<float, 16>((Wide<float, 16>::raw)vfmaq_f32(c.v, a.v, b.v));
}
FB_SIMD Wide<double, 16> fma(Wide<double, 16> a, Wide<double, 16> b, Wide<double, 16> c) {
  return Wide<double, 16>((Wide<double, 16>::raw)vfmaq_f64(c.v, a.v, b.v));
}
template <int L> FB_SIMD bool any(WideMask<L, 16> m) { return vmaxvq_u32((uint32x4_t)m.v) != 0; }
// The four bytes of entry i stand at 4i.
FB_SIMD Wide<float, 16> lookup(const float (&table)[8], Wide<int32_t, 16> i) {
  const uint8x16x2_t t = {(uint8x16_t)vld1q_f32(table), (uint8x16_t)vld1q_f32(table + 4)};
  const auto at = i * Wide<int32_t, 16>(0x04040404) + Wide<int32_t, 16>(0x03020100);
  return Wide<float, 16>((Wide<float, 16>::raw)vqtbl2q_u8(t, (uint8x16_t)at.v));
}
#endif

template <int B> FB_SIMD Wide<int32_t, B> to_int(Wide<float, B> a) {
  return Wide<int32_t, B>(__builtin_convertvector(rint(a).v, typename Wide<int32_t, B>::raw));
}
// Numbers below 2^51 pass through the significand of 1.5 * 2^52: few targets convert 64-bit integers.
template <int B> FB_SIMD Wide<int64_t, B> to_int(Wide<double, B> a) {
  const Wide<double, B> shift(0x1.8p52);
  return bits(a + shift) - bits(shift);
}
template <int B> FB_SIMD Wide<float, B> to_float(Wide<int32_t, B> a) {
  return Wide<float, B>(__builtin_convertvector(a.v, typename Wide<float, B>::raw));
}
template <int B> FB_SIMD Wide<double, B> to_float(Wide<int64_t, B> a) {
  const Wide<double, B> shift(0x1.8p52);
  return from_bits(a + bits(shift)) - shift;
}

// The lanes of a vector of floats as two vectors of doubles, and back.
template <int B> struct WideDoubles { Wide<double, B> lo, hi; };
template <int B> FB_SIMD WideDoubles<B> widened(Wide<float, B> a) {
  using half_raw = typename wide_vector<float, B / 2>::type;
  half_raw lo, hi;
  std::memcpy(&lo, &a.v, B / 2);
  std::memcpy(&hi, reinterpret_cast<const char*>(&a.v) + B / 2, B / 2);
  using raw = typename Wide<double, B>::raw;
  return {Wide<double, B>(__builtin_convertvector(lo, raw)), Wide<double, B>(__builtin_convertvector(hi, raw))};
}
template <int B> FB_SIMD Wide<float, B> narrow(Wide<double, B> lo, Wide<double, B> hi) {
  using half_raw = typename wide_vector<float, B / 2>::type;
  const half_raw l = __builtin_convertvector(lo.v, half_raw), h = __builtin_convertvector(hi.v, half_raw);
  Wide<float, B> r;
  std::memcpy(&r.v, &l, B / 2);
  std::memcpy(reinterpret_cast<char*>(&r.v) + B / 2, &h, B / 2);
  return r;
}
template <class F, int B> FB_SIMD Wide<float, B> in_double(F f, Wide<float, B> x) {
  const auto a = widened(x);
  return narrow(f(a.lo), f(a.hi));
}
template <class F, int B> FB_SIMD Wide<float, B> in_double(F f, Wide<float, B> x, Wide<float, B> y) {
  const auto a = widened(x), b = widened(y);
  return narrow(f(a.lo, b.lo), f(a.hi, b.hi));
}

template <class T, int B, class F, class... X>
[[gnu::noinline, gnu::cold]] Wide<T, B> patch_lanes(WideMask<sizeof(T), B> m, Wide<T, B> r, F f, X... x) {
  for (int i = 0; i < r.lanes; ++i)
    if (m[i]) r.v[i] = f(x[i]...);
  return r;
}
template <class T, int B, class F, class... X>
FB_SIMD Wide<T, B> patch(WideMask<sizeof(T), B> m, Wide<T, B> r, F f, Wide<T, B> x, X... y) {
  return __builtin_expect(any(m), 0) ? patch_lanes(m, r, f, x, y...) : r;
}
template <class F, class T, int B, class... X> Wide<T, B> lane_by_lane(F f, Wide<T, B> x, X... y) {
  Wide<T, B> r;
  for (int i = 0; i < r.lanes; ++i) r.v[i] = T(f(double(x[i]), double(y[i])...));
  return r;
}

}  // namespace fb
