// histc histogram histogramdd bincount: one pass in the order of elements.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "cpu/loops/convert.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/math/fits.h"

namespace fb {
namespace {

std::vector<double> numbers(const Tensor& t) {
  GradMode no(false);
  const Tensor c = Tensor::empty(t.sizes(), {DType::f64, Device()});
  if (t.numel()) op_list<"copy_">(c, t);
  return std::vector<double>(c.numel() ? c.ptr<double>() : nullptr, c.numel() ? c.ptr<double>() + c.numel() : nullptr);
}
Tensor tensor_of(const std::vector<double>& v, Ints sizes, DType d) {
  const Tensor t = Tensor::empty(sizes, {d, Device()});
  convert_run(static_cast<char*>(t.numel() ? t.data() : nullptr), t.item_bytes(), d, reinterpret_cast<const char*>(v.data()), 8, DType::f64, t.numel());
  return t;
}
void check_type(const char* name, DType d) {
  if (d != DType::f32 && d != DType::f64) raise_not_implemented(name, " is not there for type ", d, "; it takes float32 and float64");
}

// The range of bins: as given, else of the elements; an empty one grows by 1 (0.5 where `half`) on both sides.
void settle_range(const char* name, double& lo, double& hi, const double* x, int64_t n, int64_t step, double grow) {
  if (lo == hi && n > 0) {
    lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < n; ++i) {
      const double v = x[i * step];
      if (v != v) lo = hi = v;
      lo = std::min(lo, v), hi = std::max(hi, v);
      if (lo != lo) break;
    }
  }
  FB_CHECK(std::isfinite(lo) && std::isfinite(hi), name, ": the range [", lo, ", ", hi, "] is not finite");
  FB_CHECK(lo <= hi, name, ": max ", hi, " is below min ", lo);
  if (lo == hi) lo -= grow, hi += grow;
}
// Edges as linspace makes them in the type d: from both ends, so that they are symmetric.
std::vector<double> even_edges(double lo, double hi, int64_t bins, DType d) {
  std::vector<double> e(size_t(bins + 1));
  const double step = (hi - lo) / double(bins);
  for (int64_t i = 0; i <= bins; ++i) {
    const double v = i < (bins + 1) / 2 ? lo + step * double(i) : hi - step * double(bins - i);
    e[size_t(i)] = d == DType::f32 ? double(float(v)) : v;
  }
  return e;
}
// The bin of v, -1 outside. `edges` ascend.
int64_t bin_of(const std::vector<double>& edges, double v) {
  const int64_t n = int64_t(edges.size()) - 1;
  if (!(v >= edges.front() && v <= edges.back())) return -1;
  const int64_t i = std::upper_bound(edges.begin(), edges.end(), v) - edges.begin() - 1;
  return std::min(i, n - 1);
}

Tensor histc_cpu(const Tensor& self, int64_t bins, Scalar min, Scalar max) {
  if (!is_half(self.dtype())) check_type("histc", self.dtype());
  FB_CHECK(bins > 0, "histc: bins is ", bins, "; it must be positive");
  for (const Scalar* s : {&min, &max}) cards::check_fits("histc", *s, self.dtype());
  double lo = min.to_double(), hi = max.to_double();
  FB_CHECK(std::isfinite(lo) && std::isfinite(hi), "histc: the range [", min, ", ", max, "] is not finite");
  FB_CHECK(lo <= hi, "histc: max ", max, " is below min ", min);
  const std::vector<double> x = numbers(self);
  settle_range("histc", lo, hi, x.data(), int64_t(x.size()), 1, 1);
  std::vector<double> count(size_t(bins), 0.0);
  for (double v : x) {
    if (!(v >= lo && v <= hi)) continue;
    double place = (v - lo) / (hi - lo) * double(bins);
    if (self.dtype() != DType::f64) place = double((float(v) - float(lo)) / (float(hi) - float(lo)) * float(bins));
    if (!(place >= 0)) place = 0;  // a range too wide for the type
    count[size_t(place < double(bins - 1) ? int64_t(place) : bins - 1)] += 1;
  }
  return tensor_of(count, Dims{bins}, self.dtype());
}

// Points are rows of `dims` numbers; one histogram over all of them.
Tensor count_points(const char* name, const Tensor& self, int64_t dims, const std::vector<std::vector<double>>& edges, const Tensor& weight, bool density) {
  const std::vector<double> x = numbers(self);
  const int64_t points = dims ? int64_t(x.size()) / dims : 0;
  std::vector<double> w;
  if (weight.defined()) {
    FB_CHECK(weight.dtype() == self.dtype(), name, ": weight is ", weight.dtype(), ", the input ", self.dtype());
    FB_CHECK(weight.numel() == points, name, ": weight of shape ", weight.sizes(), " does not give a number to each point of the input of shape ", self.sizes());
    w = numbers(weight);
  }
  Dims sizes;
  int64_t total = 1;
  for (const auto& e : edges) {
    sizes.push_back(int64_t(e.size()) - 1);
    total *= sizes.back();
  }
  std::vector<double> count(size_t(total), 0.0);
  double all = 0;
  for (int64_t p = 0; p < points; ++p) {
    int64_t at = 0;
    bool in = true;
    for (int64_t d = 0; d < dims && in; ++d) {
      const int64_t b = bin_of(edges[size_t(d)], x[size_t(p * dims + d)]);
      in = b >= 0;
      at = at * sizes[d] + b;
    }
    if (in) count[size_t(at)] += w.empty() ? 1.0 : w[size_t(p)];
  }
  if (density) {
    for (double c : count) all += c;
    for (int64_t i = 0; i < total; ++i) {
      double volume = 1;
      int64_t r = i;
      for (int64_t d = dims - 1; d >= 0; --d) {
        const auto& e = edges[size_t(d)];
        const int64_t k = r % sizes[d];
        volume *= e[size_t(k + 1)] - e[size_t(k)];
        r /= sizes[d];
      }
      count[size_t(i)] /= all * volume;
    }
  }
  return tensor_of(count, sizes, self.dtype());
}
std::vector<double> given_edges(const char* name, const Tensor& bins, DType d) {
  FB_CHECK(bins.dtype() == d, name, ": bins are ", bins.dtype(), ", the input ", d);
  FB_CHECK(bins.ndim() == 1 && bins.numel() > 0, name, ": bins have shape ", bins.sizes(), "; they are a row of edges");
  return numbers(bins);
}
std::vector<std::vector<double>> make_edges(const char* name, const Tensor& self, int64_t dims, Ints bins, Span<double> range) {
  FB_CHECK(bins.n == dims, name, ": ", bins.n, " numbers of bins for points of ", dims, " dimensions");
  FB_CHECK(range.empty() || range.n == 2 * dims, name, ": range has ", range.n, " numbers; it has two for each of ", dims, " dimensions");
  const std::vector<double> x = range.empty() ? numbers(self) : std::vector<double>();
  std::vector<std::vector<double>> edges;
  for (int64_t d = 0; d < dims; ++d) {
    FB_CHECK(bins[d] > 0, name, ": bins is ", bins[d], " for dimension ", d, "; it must be positive");
    double lo = range.empty() ? 0 : range[2 * d], hi = range.empty() ? 0 : range[2 * d + 1];
    if (range.empty() && x.empty()) lo = 0, hi = 1;
    else if (range.empty()) settle_range(name, lo, hi, x.data() + d, int64_t(x.size()) / dims, dims, 0.5);
    else settle_range(name, lo, hi, nullptr, 0, 1, 0.5);
    edges.push_back(even_edges(lo, hi, bins[d], self.dtype()));
  }
  return edges;
}
std::array<Tensor, 2> histogram_edges_cpu(const Tensor& self, const Tensor& bins, const Tensor& weight, bool density) {
  check_type("histogram", self.dtype());
  const auto edges = given_edges("histogram", bins, self.dtype());
  const Tensor e = tensor_of(edges, Dims{int64_t(edges.size())}, self.dtype());
  return {count_points("histogram", self, 1, {edges}, weight, density), e};
}
std::array<Tensor, 2> histogram_count_cpu(const Tensor& self, int64_t bins, Span<double> range, const Tensor& weight, bool density) {
  check_type("histogram", self.dtype());
  const int64_t b[] = {bins};
  const auto edges = make_edges("histogram", self, 1, Ints(b, 1), range);
  const Tensor e = tensor_of(edges[0], Dims{bins + 1}, self.dtype());
  return {count_points("histogram", self, 1, edges, weight, density), e};
}
int64_t point_length(const Tensor& self) {
  FB_CHECK(self.ndim() >= 2, "histogramdd: the input has shape ", self.sizes(), "; points are the rows of at least 2 dimensions");
  return self.sizes()[self.ndim() - 1];
}
std::vector<Tensor> dd_edges_cpu(const Tensor& self, Ints bins, Span<double> range, const Tensor&, bool) {
  check_type("histogramdd", self.dtype());
  std::vector<Tensor> r;
  for (const auto& e : make_edges("histogramdd", self, point_length(self), bins, range)) r.push_back(tensor_of(e, Dims{int64_t(e.size())}, self.dtype()));
  return r;
}
Tensor dd_counts_cpu(const Tensor& self, Ints bins, Span<double> range, const Tensor& weight, bool density) {
  check_type("histogramdd", self.dtype());
  const int64_t dims = point_length(self);
  return count_points("histogramdd", self, dims, make_edges("histogramdd", self, dims, bins, range), weight, density);
}
Tensor dd_tensors_cpu(const Tensor& self, TensorSpan bins, const Tensor& weight, bool density) {
  check_type("histogramdd", self.dtype());
  const int64_t dims = point_length(self);
  FB_CHECK(bins.n == dims, "histogramdd: ", bins.n, " rows of edges for points of ", dims, " dimensions");
  std::vector<std::vector<double>> edges;
  for (const Tensor& b : bins) edges.push_back(given_edges("histogramdd", b, self.dtype()));
  return count_points("histogramdd", self, dims, edges, weight, density);
}

Tensor bincount_cpu(const Tensor& self, const Tensor& weights, int64_t minlength) {
  if (!is_integral(self.dtype())) raise_not_implemented("bincount is not there for type ", self.dtype(), "; it takes integers");
  FB_CHECK(minlength >= 0, "bincount: minlength is ", minlength, "; it must be at least 0");
  FB_CHECK(self.ndim() == 1, "bincount takes one row of non-negative integers, the input has shape ", self.sizes());
  FB_CHECK(!weights.defined() || weights.sizes() == self.sizes(), "bincount: weights have shape ", weights.defined() ? weights.sizes() : Ints(), ", the input ", self.sizes());
  const int64_t n = self.numel();
  std::unique_ptr<int64_t[]> x(new int64_t[size_t(n)]);
  if (n) convert_run(reinterpret_cast<char*>(x.get()), 8, DType::i64, static_cast<const char*>(self.data()), self.strides()[0] * self.item_bytes(), self.dtype(), n);
  int64_t length = minlength;
  for (int64_t i = 0; i < n; ++i) {
    FB_CHECK(x[size_t(i)] >= 0, "bincount: the input holds ", x[size_t(i)], " at place ", i, "; numbers must be at least 0");
    FB_CHECK(x[size_t(i)] < INT64_MAX, "bincount: the input holds ", x[size_t(i)], " at place ", i, "; numbers must be below 2^63 - 1");
    length = std::max(length, x[size_t(i)] + 1);
  }
  if (!weights.defined()) {
    const Tensor out = Tensor::empty({length}, {DType::i64, Device()});
    if (length) std::fill_n(out.ptr<int64_t>(), length, 0);
    for (int64_t i = 0; i < n; ++i) ++out.ptr<int64_t>()[x[size_t(i)]];
    return out;
  }
  const DType d = weights.dtype() == DType::f32 ? DType::f32 : DType::f64;
  const Tensor out = Tensor::empty({length}, {d, Device()});
  const std::vector<double> w = numbers(weights);
  if (d == DType::f32) {
    std::fill_n(out.ptr<float>(), length, 0.0f);
    for (int64_t i = 0; i < n; ++i) out.ptr<float>()[x[size_t(i)]] += float(w[size_t(i)]);
  } else {
    std::fill_n(out.ptr<double>(), length, 0.0);
    for (int64_t i = 0; i < n; ++i) out.ptr<double>()[x[size_t(i)]] += w[size_t(i)];
  }
  return out;
}

}  // namespace

FB_KERNEL_DIRECT("histc", histc_cpu)
FB_KERNEL_DIRECT("histogram.bins_tensor", histogram_edges_cpu)
FB_KERNEL_DIRECT("histogram.bin_ct", histogram_count_cpu)
FB_KERNEL_DIRECT("_histogramdd_bin_edges", dd_edges_cpu)
FB_KERNEL_DIRECT("_histogramdd_from_bin_cts", dd_counts_cpu)
FB_KERNEL_DIRECT("_histogramdd_from_bin_tensors", dd_tensors_cpu)
FB_KERNEL_DIRECT("bincount", bincount_cpu)

}  // namespace fb
