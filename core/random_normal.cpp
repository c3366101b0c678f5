// Normal numbers by the transform of Box and Muller. Dense fills of 16 and more work on blocks of
// 16: the first eight uniforms give the radii, the others the angles.
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "core/random.h"
#include "core/random_stream.h"

namespace fb {

using detail::to_element;
using detail::to_uniform_double;

namespace {

typedef float Floats __attribute__((vector_size(32)));
typedef int32_t Ints __attribute__((vector_size(32)));

inline Floats all(float x) { return Floats{} + x; }

inline Floats fma(Floats a, Floats b, Floats c) {
#if defined(__AVX2__)
  return _mm256_fmadd_ps(a, b, c);
#else
  for (int i = 0; i < 8; i++) a[i] = std::fma(a[i], b[i], c[i]);
  return a;
#endif
}
inline Floats square_root(Floats a) {
#if defined(__AVX2__)
  return _mm256_sqrt_ps(a);
#else
  for (int i = 0; i < 8; i++) a[i] = std::sqrt(a[i]);
  return a;
#endif
}

template <int n>
inline Floats polynomial(Floats x, const float (&c)[n]) {
  Floats y = all(c[0]);
  for (int i = 1; i < n; i++) y = fma(y, x, all(c[i]));
  return y;
}

// Logarithm after Moshier's Cephes library, for 2^-24 <= x <= 1. The order of roundings is that of
// the stream that is reproduced.
inline Floats log_unit(Floats x) {
  static constexpr float c[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  Ints bits = (Ints)x;
  Ints exponent = (bits >> 23) - 126;
  Floats m = (Floats)((bits & 0x007fffff) | 0x3f000000);  // [0.5, 1)
  Ints low = m < all(0.707106781186547524f);
  Floats e = __builtin_convertvector(exponent + low, Floats);  // low is -1 where true
  x = (m - 1.0f) + (Floats)((Ints)m & low);
  Floats z = x * x;
  Floats y = polynomial(x, c) * x;
  y = fma(y, z, e * -2.12194440e-4f);
  y = fma(z, all(-0.5f), y);
  return fma(e, all(0.693359375f), x + y);
}

// Sine and cosine after Cephes, for 0 <= x < 2 pi.
inline void sine_cosine(Floats x, Floats* sine, Floats* cosine) {
  static constexpr float cos_c[] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                                    4.166664568298827e-2f};
  static constexpr float sin_c[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  Ints octant = __builtin_convertvector(x * 1.27323954473516f, Ints);
  octant = (octant + 1) & ~1;
  Floats k = __builtin_convertvector(octant, Floats);
  x = fma(k, all(-0.78515625f), x);
  x = fma(k, all(-2.4187564849853515625e-4f), x);
  x = fma(k, all(-3.77489497744594108e-8f), x);
  Floats z = x * x;
  Floats c = polynomial(z, cos_c) * z;
  c = fma(c, z, -(z * 0.5f)) + 1.0f;
  Floats s = fma(polynomial(z, sin_c) * z, x, x);
  Ints swap = (octant & 2) != 0;
  Ints sin_sign = (octant & 4) << 29, cos_sign = ((octant + 2) & 4) << 29;
  *sine = (Floats)((Ints)(swap ? c : s) ^ sin_sign);
  *cosine = (Floats)((Ints)(swap ? s : c) ^ cos_sign);
}

inline Floats to_uniform(Ints words) {
  return __builtin_convertvector(words & 0xffffff, Floats) * 0x1p-24f;
}

// 16 words to 16 normals; both may be the same memory.
inline void normal_block(const uint32_t* words, float* out, Floats mean, Floats std) {
  Ints a, b;
  std::memcpy(&a, words, sizeof a);
  std::memcpy(&b, words + 8, sizeof b);
  Floats radius = square_root(log_unit(1.0f - to_uniform(a)) * -2.0f);
  Floats angle = to_uniform(b) * 6.283185307179586f;
  Floats s, c;
  sine_cosine(angle, &s, &c);
  c = fma(radius * c, std, mean);
  s = fma(radius * s, std, mean);
  std::memcpy(out, &c, sizeof c);
  std::memcpy(out + 8, &s, sizeof s);
}

inline void normal_block(const double* u, double* out, double mean, double std) {
  for (int j = 0; j < 8; j++) {
    double u1 = 1 - u[j], u2 = u[j + 8];
    double radius = std::sqrt(-2 * std::log(u1)), angle = 2.0 * 3.14159265358979323846 * u2;
    out[j] = std::fma(radius * std::cos(angle), std, mean);
    out[j + 8] = std::fma(radius * std::sin(angle), std, mean);
  }
}

void dense_normal(Generator& g, float* out, int64_t n, double mean_value, double std_value) {
  Floats mean = all(float(mean_value)), std = all(float(std_value));
  // Large enough for the threads, small enough to stay in the caches.
  constexpr int64_t piece = 1 << 18, grain = 1 << 13;
  for (int64_t first = 0; first < n; first += piece) {
    int64_t count = std::min(piece, n - first);
    auto* words = reinterpret_cast<uint32_t*>(out + first);
    g.engine.fill(words, count);
    // A last part block stays raw: it is drawn anew below.
    parallel_for(0, count / 16 * 16, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; i += 16) normal_block(words + i, out + first + i, mean, std);
    });
  }
  if (n % 16) {
    uint32_t words[16];
    g.engine.fill(words, 16);
    normal_block(words, out + n - 16, mean, std);
  }
}

void dense_normal(Generator& g, double* out, int64_t n, double mean, double std) {
  constexpr int64_t piece = 1 << 16, grain = 1 << 10;
  std::unique_ptr<uint32_t[]> words(new uint32_t[size_t(2 * std::min(n, piece))]);
  for (int64_t first = 0; first < n; first += piece) {
    int64_t count = std::min(piece, n - first);
    g.engine.fill(words.get(), 2 * count);
    parallel_for(0, count / 16 * 16, grain, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; i += 16) {
        double u[16];
        for (int j = 0; j < 16; j++)
          u[j] = to_uniform_double(words[2 * (i + j)], words[2 * (i + j) + 1]);
        normal_block(u, out + first + i, mean, std);
      }
    });
  }
  if (n % 16) {
    double u[16];
    for (double& v : u) v = g.uniform_double();
    normal_block(u, out + n - 16, mean, std);
  }
}

// Half types draw for whole blocks only, then for the last 16 elements.
template <class T>
void dense_normal(Generator& g, T* out, int64_t n, double mean_value, double std_value) {
  Floats mean = all(float(mean_value)), std = all(float(std_value));
  detail::for_words<1>(g, n / 16 * 16, true, [&](int64_t at, const uint32_t* w, int64_t count) {
    float block[16];
    for (int64_t i = 0; i < count; i += 16) {
      normal_block(w + i, block, mean, std);
      for (int j = 0; j < 16; j++) out[at + i + j] = T(block[j]);
    }
  });
  if (n % 16) {
    uint32_t words[16];
    float block[16];
    g.engine.fill(words, 16);
    normal_block(words, block, mean, std);
    for (int j = 0; j < 16; j++) out[n - 16 + j] = T(block[j]);
  }
}

}  // namespace

RandomStatus random_normal(Generator& g, DType t, void* out, int64_t n, double mean, double std,
                           bool dense) {
  if (t == DType::c64 || t == DType::c128)
    return random_normal(g, to_real(t), out, 2 * n, mean, std / std::sqrt(2.0), dense);
  bool known = visit_types<float, double, half, bfloat16>(t, [&]<class T>() {
    T* o = static_cast<T*>(out);
    if (dense && n >= 16) return dense_normal(g, o, n, mean, std);
    for (int64_t i = 0; i < n; i++) o[i] = to_element<T>(std::fma(g.normal(), std, mean));
  });
  return known ? RandomStatus::ok : RandomStatus::unsupported;
}

}  // namespace fb
