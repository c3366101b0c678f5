// Draws that take a varying number of words: rejection methods, permutations, weighted choices.
#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "core/random_stream.h"

namespace fb {

using detail::to_element;
using detail::Wide;

namespace {

RandomStatus status(bool known) { return known ? RandomStatus::ok : RandomStatus::unsupported; }

// lgamma of the C library writes a global sign; this one is for threads.
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// Below 10 the product of uniforms (Knuth); above, transformed rejection (PTRS, Hoermann 1993).
double poisson(Generator& g, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    double limit = std::exp(-rate), product = 1;
    for (double k = 0;; k++) {
      product *= g.uniform_double();
      if (!(product > limit)) return k;
    }
  }
  double root = std::sqrt(rate), log_rate = std::log(rate);
  double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    double u = g.uniform_double() - 0.5, v = g.uniform_double(), us = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <=
        -rate + k * log_rate - log_gamma(k + 1))
      return k;
  }
}

// log k! less Stirling's leading terms.
double stirling_tail(double k) {
  static constexpr double table[] = {0.0810614667953272,  0.0413406959554092,  0.0276779256849983,
                                     0.02079067210376509, 0.0166446911898211,  0.0138761288230707,
                                     0.0118967099458917,  0.0104112652619720,  0.00925546218271273,
                                     0.00833056343336287};
  if (k <= 9) return table[int(k)];
  double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// BTRS of Hoermann (1993), for n p >= 10 and p <= 1/2.
double binomial_rejection(Generator& g, double n, double p) {
  double deviation = std::sqrt(n * p * (1 - p));
  double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
  double v_r = 0.92 - 4.2 / b, odds = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation;
  double m = std::floor((n + 1) * p);
  for (;;) {
    double u = g.uniform_double() - 0.5, v = g.uniform_double(), us = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || k > n) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    double bound = (m + 0.5) * std::log((m + 1) / (odds * (n - m + 1))) +
                   (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                   (k + 0.5) * std::log(odds * (n - k + 1) / (k + 1)) + stirling_tail(m) +
                   stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    if (v <= bound) return k;
  }
}

// Sums geometric waiting times.
double binomial_waiting(Generator& g, double n, double p) {
  double denominator = std::log1p(-p), sum = 0;
  for (double k = 0;; k++) {
    sum += std::ceil(std::log(g.uniform_double()) / denominator);
    if (!(sum <= n)) return k;
  }
}

// The choice of method compares in the elements' type.
template <class T>
double binomial(Generator& g, T n, T p) {
  if (!(n > 0) || p <= 0) return std::isnan(n) || std::isnan(p) ? double(NAN) : 0.0;
  if (p >= 1) return double(n);
  if (p <= T(0.5))
    return n * p >= 10 ? binomial_rejection(g, double(n), double(p))
                       : binomial_waiting(g, double(n), double(p));
  if (!(p > T(0.5))) return double(NAN);
  T q = T(1) - p;
  return double(n) - (n * q >= 10 ? binomial_rejection(g, double(n), double(q))
                                  : binomial_waiting(g, double(n), double(q)));
}

// Marsaglia and Tsang (2000). The arithmetic on alpha is in the elements' type, and the third is
// single precision, in the stream that is reproduced.
template <class T>
double gamma(Generator& g, T alpha) {
  double scale = 1;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale *= std::pow(1 - g.uniform_double(), double(T(1) / alpha));
    alpha += 1;
  }
  double d = double(T(alpha - T(1.0f / 3))), c = 1 / std::sqrt(9 * d);
  // No candidate can be accepted where these are NaN.
  if (std::isnan(c)) return NAN;
  for (;;) {
    double x, y;
    do {
      x = g.normal();
      y = 1 + c * x;
    } while (y <= 0);
    double v = y * y * y, u = 1 - g.uniform_double(), xx = x * x;
    if (u < 1 - 0.0331 * xx * xx) return scale * d * v;
    if (std::log(u) < 0.5 * xx + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

template <class T>
void permutation(Generator& g, T* out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = to_element<T>(i);
  bool wide = n >= int64_t(std::numeric_limits<uint32_t>::max() / 20);
  for (int64_t i = 0; i < n - 1; i++) {
    uint64_t left = uint64_t(n - i);
    uint64_t z = wide ? g.random64() % left : g.random() % uint32_t(left);
    std::swap(out[i], out[i + int64_t(z)]);
  }
}

}  // namespace

RandomStatus random_permutation(Generator& g, DType t, void* out, int64_t n) {
  return status(visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double, half,
                            bfloat16>(
      t, [&]<class T>() { permutation(g, static_cast<T*>(out), n); }));
}

RandomStatus random_poisson(Generator& g, DType t, void* out, int64_t n, const void* rate) {
  RandomStatus result = RandomStatus::unsupported;
  visit_types<float, double, half, bfloat16>(t, [&]<class T>() {
    auto* o = static_cast<T*>(out);
    auto* r = static_cast<const T*>(rate);
    result = RandomStatus::ok;
    for (int64_t i = 0; i < n; i++) {
      double v = double(Wide<T>(r[i]));
      if (!(v >= 0) || std::isinf(v)) {
        result = RandomStatus::bad_parameter;
        return;
      }
    }
    for (int64_t i = 0; i < n; i++) o[i] = to_element<T>(poisson(g, double(Wide<T>(r[i]))));
  });
  return result;
}

RandomStatus random_binomial(Generator& g, DType t, void* out, int64_t n, const void* count,
                             const void* probability) {
  return status(visit_types<float, double>(t, [&]<class T>() {
    auto* c = static_cast<const T*>(count);
    auto* p = static_cast<const T*>(probability);
    for (int64_t i = 0; i < n; i++) static_cast<T*>(out)[i] = T(binomial<T>(g, c[i], p[i]));
  }));
}

RandomStatus random_gamma(Generator& g, DType t, void* out, int64_t n, const void* alpha) {
  return status(visit_types<float, double>(t, [&]<class T>() {
    auto* a = static_cast<const T*>(alpha);
    for (int64_t i = 0; i < n; i++)
      static_cast<T*>(out)[i] = std::max(std::numeric_limits<T>::min(), T(gamma<T>(g, a[i])));
  }));
}

RandomStatus random_dirichlet(Generator& g, DType t, void* out, int64_t rows, int64_t columns,
                              const void* alpha) {
  return status(visit_types<float, double>(t, [&]<class T>() {
    auto* a = static_cast<const T*>(alpha);
    auto* o = static_cast<T*>(out);
    std::vector<double> row(static_cast<size_t>(columns));
    for (int64_t r = 0; r < rows; r++, a += columns, o += columns) {
      double sum = 0;
      for (int64_t i = 0; i < columns; i++) {
        row[size_t(i)] = std::max(std::numeric_limits<double>::min(), gamma<double>(g, double(a[i])));
        sum += row[size_t(i)];
      }
      for (int64_t i = 0; i < columns; i++)
        o[i] = std::clamp(T(row[size_t(i)] / sum), std::numeric_limits<T>::min(),
                          std::nextafter(T(1), T(0)));
    }
  }));
}

RandomStatus random_multinomial(Generator& g, DType t, const void* weights, int64_t rows,
                                int64_t columns, int64_t samples, bool replacement, int64_t* out) {
  RandomStatus result = RandomStatus::unsupported;
  visit_types<float, double, half, bfloat16>(t, [&]<class T>() {
    using W = Wide<T>;
    auto* w = static_cast<const T*>(weights);
    result = RandomStatus::ok;
    for (int64_t i = 0; i < rows * columns; i++) {
      W v = W(w[i]);
      if (!(v >= 0) || std::isinf(v)) {
        result = RandomStatus::bad_parameter;
        return;
      }
    }
    for (int64_t r = 0; r < rows; r++) {
      bool any = false;
      for (int64_t c = 0; c < columns; c++) any |= W(w[r * columns + c]) > 0;
      if (!any) {
        result = RandomStatus::zero_sum;
        return;
      }
    }
    // A single draw is a race too: one word more for each column, but no sums.
    if (replacement && samples > 1) {
      std::vector<W> row(static_cast<size_t>(columns));
      for (int64_t r = 0; r < rows; r++, w += columns, out += samples) {
        W sum = 0;
        for (int64_t c = 0; c < columns; c++) row[size_t(c)] = sum += W(w[c]);
        for (W& v : row) v /= sum;
        for (int64_t s = 0; s < samples; s++) {
          double u = g.uniform_double();
          int64_t low = 0, high = columns - 1;  // the last holds all that rounding left
          while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (double(row[size_t(middle)]) < u)
              low = middle + 1;
            else
              high = middle;
          }
          out[s] = low;
        }
      }
      return;
    }
    // Exponential races: the `samples` largest of weight / exponential.
    std::vector<T> race(static_cast<size_t>(rows * columns));
    random_exponential(g, t, race.data(), rows * columns, 1);
    struct Entry {
      W value;
      int64_t column;
    };
    std::vector<Entry> entries(static_cast<size_t>(columns));
    // Equal values are common in half types: the same selections as topk give the same order.
    auto before = [](const Entry& a, const Entry& b) {
      return (std::isnan(a.value) && !std::isnan(b.value)) || a.value > b.value;
    };
    for (int64_t r = 0; r < rows; r++, w += columns, out += samples) {
      for (int64_t c = 0; c < columns; c++)
        entries[size_t(c)] = {W(T(W(w[c]) / W(race[size_t(r * columns + c)]))), c};
      auto first = entries.begin(), last = entries.end();
      if (samples == 1) {
        // The first of the largest.
        out[0] = std::min_element(first, last, before)->column;
        continue;
      }
      if (samples * 64 <= columns) {
        std::partial_sort(first, first + samples, last, before);
      } else {
        std::nth_element(first, first + (samples - 1), last, before);
        std::sort(first, first + (samples - 1), before);
      }
      for (int64_t s = 0; s < samples; s++) out[s] = entries[size_t(s)].column;
    }
  });
  return result;
}

}  // namespace fb
