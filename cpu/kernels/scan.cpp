// cumsum cumprod cummax cummin logcumsumexp: lines along one dimension. Neighbouring lines are taken together, so that
// additions of one line need not wait for those of another; each line is a chain of its own.
#include <cmath>
#include <complex>
#include <memory>

#include "core/threads.h"
#include "cpu/kernels/scan_sums.h"
#include "cpu/loops/convert.h"
#include "cpu/loops/row_loops.h"
#include "dispatch/box.h"
#include "ops/scan/chains.h"

namespace fb {
namespace {

struct Lines {
  int64_t n, inner, outer;
};
Lines lines_of(const Tensor& t, int64_t dim) {
  const int64_t nd = t.ndim(), d = wrap_dim(dim, nd);
  Lines l{nd ? t.sizes()[d] : 1, 1, 1};
  for (int64_t i = 0; i < nd; ++i) {
    if (i < d) l.outer *= t.sizes()[i];
    if (i > d) l.inner *= t.sizes()[i];
  }
  return l;
}

constexpr int64_t kLines = 8;

// make_step(base, along, across) makes a step for some neighbouring lines: element k of line j lies at base + j across +
// k along. step(k, x, m) takes element k of m lines, x[m], and leaves the results there. A is what elements become.
template <class A, class Step>
void scan(const Tensor& out, const Tensor& in, const Lines& l, Step make_step) {
  const Tensor x = contiguous_operand(in);
  const int64_t xi = x.item_bytes(), oi = out.item_bytes();
  const char* xp = static_cast<const char*>(x.data());
  char* op = static_cast<char*>(out.data());
  if (l.inner == 1) {  // lines one after another: some are turned on their side, a stretch at a time
    constexpr int64_t kStretch = 256;
    const int64_t groups = (l.outer + kLines - 1) / kLines;
    parallel_for(0, groups, std::max<int64_t>(1, 16384 / (l.n * kLines)), [&](int64_t a, int64_t z) {
      std::unique_ptr<A[]> rows(new A[size_t(kLines * kStretch)]), lines(new A[size_t(kLines * kStretch)]);
      for (int64_t g = a; g < z; ++g) {
        const int64_t first = g * kLines, m = std::min(kLines, l.outer - first);
        auto step = make_step(first * l.n, int64_t(1), l.n);
        for (int64_t k = 0; k < l.n; k += kStretch) {
          const int64_t c = std::min(kStretch, l.n - k);
          for (int64_t j = 0; j < m; ++j) {
            convert_run(reinterpret_cast<char*>(rows.get()), sizeof(A), dtype_of<A>, xp + ((first + j) * l.n + k) * xi, xi, x.dtype(), c);
            for (int64_t i = 0; i < c; ++i) lines[size_t(i * kLines + j)] = rows[size_t(i)];
          }
          for (int64_t i = 0; i < c; ++i) step(k + i, lines.get() + i * kLines, m);
          for (int64_t j = 0; j < m; ++j) {
            for (int64_t i = 0; i < c; ++i) rows[size_t(i)] = lines[size_t(i * kLines + j)];
            convert_run(op + ((first + j) * l.n + k) * oi, oi, out.dtype(), reinterpret_cast<const char*>(rows.get()), sizeof(A), dtype_of<A>, c);
          }
        }
      }
    });
    return;
  }
  const int64_t groups = (l.inner + kLines - 1) / kLines;
  parallel_for(0, l.outer * groups, std::max<int64_t>(1, 16384 / (l.n * kLines)), [&](int64_t a, int64_t z) {
    A line[kLines];
    for (int64_t u = a; u < z; ++u) {
      const int64_t first = u % groups * kLines, m = std::min(kLines, l.inner - first), base = u / groups * l.n * l.inner + first;
      auto step = make_step(base, l.inner, int64_t(1));
      for (int64_t k = 0; k < l.n; ++k) {
        convert_run(reinterpret_cast<char*>(line), sizeof(A), dtype_of<A>, xp + (base + k * l.inner) * xi, xi, x.dtype(), m);
        step(k, line, m);
        convert_run(op + (base + k * l.inner) * oi, oi, out.dtype(), reinterpret_cast<const char*>(line), sizeof(A), dtype_of<A>, m);
      }
    }
  });
}

template <class A, class F> void fold_lines(const Tensor& out, const Tensor& in, int64_t dim, A start, F f) {
  scan<A>(out, in, lines_of(in, dim), [&](int64_t, int64_t, int64_t) {
    struct State {
      A a[kLines];
    } s;
    for (A& v : s.a) v = start;
    return [s, f](int64_t, A* x, int64_t m) mutable {
      if (m == kLines)
        for (int64_t j = 0; j < kLines; ++j) x[j] = s.a[j] = f(s.a[j], x[j]);
      else
        for (int64_t j = 0; j < m; ++j) x[j] = s.a[j] = f(s.a[j], x[j]);
    };
  });
}
void by_accumulator(const Tensor& out, const Tensor& in, int64_t dim, bool product) {
  if (out.numel() == 0) return;
  if (in.dtype() == out.dtype()) {
    auto run = [&]<class T>() {
      const Lines l = lines_of(in, dim);
      running_sums(out.ptr<T>(), contiguous_operand(in).ptr<T>(), l.outer, l.n, l.inner, product);
    };
    if (visit_types<float, double>(out.dtype(), run)) return;
  }
  // Elements are converted to the result's type first.
  if (is_complex(out.dtype()))
    fold_lines<cdouble>(out, in, dim, product ? cdouble(1) : cdouble(0), [product](cdouble a, cdouble x) { return product ? a * x : a + x; });
  else if (is_integral(out.dtype(), true))
    fold_lines<int64_t>(out, in, dim, product ? 1 : 0, [product](int64_t a, int64_t x) {
      return product ? int64_t(uint64_t(a) * uint64_t(x)) : int64_t(uint64_t(a) + uint64_t(x));
    });
  else if (product) fold_lines<double>(out, in, dim, 1.0, [](double a, double x) { return a * x; });
  else fold_lines<double>(out, in, dim, 0.0, [](double a, double x) { return a + x; });
}
void cumsum_cpu(Tensor& out, const Tensor& self, int64_t dim, DType) { by_accumulator(out, self, dim, false); }
void cumprod_cpu(Tensor& out, const Tensor& self, int64_t dim, DType) { by_accumulator(out, self, dim, true); }

template <bool greatest> void extremes(Tensor& values, Tensor& places, const Tensor& self, int64_t dim) {
  if (values.numel() == 0) return;
  int64_t* to = places.ptr<int64_t>();
  auto run = [&]<class A>() {
    scan<A>(values, self, lines_of(self, dim), [&](int64_t base, int64_t along, int64_t across) {
      struct State {
        A v[kLines];
        int64_t at[kLines];
      };
      return [s = State{}, base, across, along, to](int64_t k, A* x, int64_t m) mutable {
        for (int64_t j = 0; j < m; ++j) {
          if (k == 0 || chains::extreme<greatest>::takes(s.v[j], x[j])) {
            s.v[j] = x[j];
            s.at[j] = k;
          }
          x[j] = s.v[j];
          to[base + j * across + k * along] = s.at[j];
        }
      };
    });
  };
  if (is_integral(self.dtype(), true)) run.template operator()<int64_t>();
  else run.template operator()<double>();
}
void cummax_cpu(Tensor& v, Tensor& i, const Tensor& self, int64_t dim) { extremes<true>(v, i, self, dim); }
void cummin_cpu(Tensor& v, Tensor& i, const Tensor& self, int64_t dim) { extremes<false>(v, i, self, dim); }

cdouble add_complex_logs(cdouble a, cdouble x) {
  using C = std::complex<double>;
  if (a.re == -INFINITY) return x;
  if (x.re == -INFINITY) return a;
  // From the one with the greater real part, so that its phase goes on where it is past pi.
  const cdouble hi = a.re >= x.re ? a : x, lo = a.re >= x.re ? x : a;
  const C s = std::log(C(1) + std::exp(C(lo.re, lo.im) - C(hi.re, hi.im)));
  return {hi.re + s.real(), hi.im + s.imag()};
}
void logcumsumexp_cpu(Tensor& out, const Tensor& self, int64_t dim) {
  if (out.numel() == 0) return;
  if (self.is_complex()) fold_lines<cdouble>(out, self, dim, cdouble(-INFINITY), [](cdouble a, cdouble x) { return add_complex_logs(a, x); });
  else fold_lines<double>(out, self, dim, -INFINITY, [](double a, double x) { return chains::log_sum_exp::step(a, x); });
}

}  // namespace

FB_KERNEL("cumsum", cumsum_cpu)
FB_KERNEL("cumprod", cumprod_cpu)
FB_KERNEL("cummax", cummax_cpu)
FB_KERNEL("cummin", cummin_cpu)
FB_KERNEL("logcumsumexp", logcumsumexp_cpu)

}  // namespace fb
