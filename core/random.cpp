#include "core/random.h"

#include <limits>

#include "core/random_stream.h"

namespace fb {

using detail::for_words;
using detail::is_float_type;
using detail::to_element;
using detail::to_uniform_double;
using detail::to_uniform_float;

namespace {

constexpr double pi = 3.14159265358979323846;

RandomStatus status(bool known) { return known ? RandomStatus::ok : RandomStatus::unsupported; }

template <class F>
bool visit_floats(DType t, F&& f) {
  return visit_types<float, double, half, bfloat16>(t, f);
}
template <class F>
bool visit_numbers(DType t, F&& f) {
  return visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool, float, double, half,
                     bfloat16>(t, f);
}

// How many values Tensor.random_() has in types that take 32 bits of randomness.
template <class T>
constexpr uint32_t any_range() {
  if (std::is_same_v<T, bool>) return 2;
  if (std::is_same_v<T, float>) return (1u << 24) + 1;
  if (std::is_same_v<T, half>) return (1u << 11) + 1;
  if (std::is_same_v<T, bfloat16>) return (1u << 8) + 1;
  return 1u << std::numeric_limits<T>::digits;
}

template <class T>
void uniform(Generator& g, T* out, int64_t n, double from, double to) {
  if constexpr (std::is_same_v<T, double>) {
    double range = to - from;
    for_words<2>(g, n, true, [=](int64_t at, const uint32_t* w, int64_t count) {
      for (int64_t i = 0; i < count; i++)
        out[at + i] = std::fma(to_uniform_double(w[2 * i], w[2 * i + 1]), range, from);
    });
  } else {
    float low = float(from), range = float(to) - low;
    if constexpr (std::is_same_v<T, float>) {
      for_words<1>(g, n, true, [=](int64_t at, const uint32_t* w, int64_t count) {
        float* __restrict o = out + at;
        for (int64_t i = 0; i < count; i++) o[i] = std::fma(to_uniform_float(w[i]), range, low);
      });
    } else {
      // What rounds up to the excluded end becomes the other end.
      T last = T(float(to)), start = T(low);
      for_words<1>(g, n, true, [=](int64_t at, const uint32_t* w, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
          T v = T(std::fma(to_uniform_float(w[i]), range, low));
          out[at + i] = v.bits == last.bits ? start : v;
        }
      });
    }
  }
}

// One double in [0, 1) for each element, through f.
template <class T, class F>
void from_doubles(Generator& g, T* out, int64_t n, F f) {
  for_words<2>(g, n, true, [=](int64_t at, const uint32_t* w, int64_t count) {
    for (int64_t i = 0; i < count; i++)
      out[at + i] = to_element<T>(f(to_uniform_double(w[2 * i], w[2 * i + 1])));
  });
}

}  // namespace

RandomStatus random_uniform(Generator& g, DType t, void* out, int64_t n, double from, double to) {
  if (is_complex(t)) return random_uniform(g, to_real(t), out, 2 * n, from, to);
  return status(visit_floats(t, [&]<class T>() { uniform(g, static_cast<T*>(out), n, from, to); }));
}

RandomStatus random_range(Generator& g, DType t, void* out, int64_t n, int64_t base,
                          uint64_t range) {
  return status(visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, bool, float, double, half,
                            bfloat16, uint16_t, uint32_t, uint64_t>(t, [&]<class T>() {
    T* o = static_cast<T*>(out);
    // From 2^28 values on, 64 bits keep the remainder's bias out of sight.
    if (range == 0 || range >= 1u << 28) {
      for_words<2>(g, n, false, [=](int64_t at, const uint32_t* w, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
          uint64_t v = uint64_t(w[2 * i]) << 32 | w[2 * i + 1];
          if (range) v = v % range + uint64_t(base);
          o[at + i] = to_element<T>(int64_t(v));
        }
      });
    } else {
      uint32_t r = uint32_t(range);
      for_words<1>(g, n, false, [=](int64_t at, const uint32_t* w, int64_t count) {
        for (int64_t i = 0; i < count; i++) o[at + i] = to_element<T>(int64_t(w[i] % r) + base);
      });
    }
  }));
}

RandomStatus random_any(Generator& g, DType t, void* out, int64_t n) {
  return status(visit_numbers(t, [&]<class T>() {
    T* o = static_cast<T*>(out);
    if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
      uint64_t range = std::is_same_v<T, double> ? (1ull << 53) + 1 : 1ull << 63;
      for_words<2>(g, n, false, [=](int64_t at, const uint32_t* w, int64_t count) {
        for (int64_t i = 0; i < count; i++)
          o[at + i] = T((uint64_t(w[2 * i]) << 32 | w[2 * i + 1]) % range);
      });
    } else {
      constexpr uint32_t range = any_range<T>();
      for_words<1>(g, n, false, [=](int64_t at, const uint32_t* w, int64_t count) {
        for (int64_t i = 0; i < count; i++) o[at + i] = to_element<T>(int64_t(w[i] % range));
      });
    }
  }));
}

RandomStatus random_bernoulli(Generator& g, DType t, void* out, int64_t n, double p) {
  return status(visit_numbers(t, [&]<class T>() {
    from_doubles(g, static_cast<T*>(out), n, [=](double u) { return int32_t(u < p); });
  }));
}

RandomStatus random_bernoulli_each(Generator& g, DType t, void* out, int64_t n, DType pt,
                                   const void* p) {
  RandomStatus result = RandomStatus::unsupported;
  visit_numbers(t, [&]<class T>() {
    T* o = static_cast<T*>(out);
    visit_floats(pt, [&]<class P>() {
      using W = detail::Wide<P>;
      const P* probability = static_cast<const P*>(p);
      result = RandomStatus::ok;
      for (int64_t i = 0; i < n; i++) {
        W v = W(probability[i]);
        if (!(v >= 0 && v <= 1)) {
          result = RandomStatus::bad_parameter;
          return;
        }
      }
      constexpr int per = std::is_same_v<P, double> ? 2 : 1;
      for_words<per>(g, n, false, [=](int64_t at, const uint32_t* w, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
          W u;
          if constexpr (per == 2) {
            u = to_uniform_double(w[2 * i], w[2 * i + 1]);
          } else {
            u = to_uniform_float(w[i]);
          }
          o[at + i] = to_element<T>(int32_t(u < W(probability[at + i])));
        }
      });
    });
  });
  return result;
}

RandomStatus random_exponential(Generator& g, DType t, void* out, int64_t n, double lambda) {
  return status(visit_floats(t, [&]<class T>() {
    double scale = -1.0 / lambda;
    from_doubles(g, static_cast<T*>(out), n, [=](double u) { return scale * std::log1p(-u); });
  }));
}

RandomStatus random_geometric(Generator& g, DType t, void* out, int64_t n, double p) {
  return status(visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, half,
                            bfloat16>(t, [&]<class T>() {
    double denominator = std::log1p(-p);
    from_doubles(g, static_cast<T*>(out), n,
                 [=](double u) { return std::ceil(std::log(u) / denominator); });
  }));
}

RandomStatus random_cauchy(Generator& g, DType t, void* out, int64_t n, double median,
                           double sigma) {
  return status(visit_floats(t, [&]<class T>() {
    from_doubles(g, static_cast<T*>(out), n,
                 [=](double u) { return std::fma(sigma, std::tan(pi * (u - 0.5)), median); });
  }));
}

RandomStatus random_log_normal(Generator& g, DType t, void* out, int64_t n, double mean,
                               double std) {
  return status(visit_floats(t, [&]<class T>() {
    T* o = static_cast<T*>(out);
    for (int64_t i = 0; i < n; i++)
      o[i] = to_element<T>(std::exp(std::fma(g.normal(), std, mean)));
  }));
}

}  // namespace fb
