// median nanmedian mode kthvalue: one line at a time, copied out as (value, place) and partly sorted.
#include <algorithm>
#include <memory>

#include "core/threads.h"
#include "cpu/kernels/reduce_bodies.h"
#include "cpu/loops/convert.h"
#include "dispatch/box.h"
#include "ops/reduce/shape.h"

namespace fb {
namespace {

template <class T> struct Item {
  T v;
  int64_t at;
};
template <class T> bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return x != x;
  else return false;
}
// By value, NaN last, then by place.
template <class T> bool before(const Item<T>& a, const Item<T>& b) {
  if (is_nan(a.v) || is_nan(b.v)) return is_nan(a.v) == is_nan(b.v) ? a.at < b.at : is_nan(b.v);
  return a.v != b.v ? a.v < b.v : a.at < b.at;
}

template <class T> bool less(const Item<T>& a, const Item<T>& b) { return is_nan(a.v) || is_nan(b.v) ? !is_nan(a.v) && is_nan(b.v) : a.v < b.v; }

template <class T> Item<T> kth(Item<T>* x, int64_t n, int64_t k) {
  std::nth_element(x, x + k, x + n, &before<T>);
  return x[k];
}
// Hoare's selection with the median of the first, middle and last as pivot, which decides whose place of several equal
// elements is told; one that splits badly too often is finished by kth.
template <class T> Item<T> select(Item<T>* x, int64_t n, int64_t k) {
  int64_t l = 0, r = n - 1;
  for (int64_t work = 0; r > l; work += r - l) {
    if (work > 64 * n) return kth(x + l, r - l + 1, k - l);
    if (r == l + 1) {
      if (less(x[r], x[l])) std::swap(x[l], x[r]);
      break;
    }
    std::swap(x[l + (r - l) / 2], x[l + 1]);
    if (less(x[r], x[l + 1])) std::swap(x[l + 1], x[r]);
    if (less(x[r], x[l])) std::swap(x[l], x[r]);
    if (less(x[l], x[l + 1])) std::swap(x[l + 1], x[l]);
    const Item<T> pivot = x[l];
    int64_t i = l + 1, j = r;
    for (;;) {
      do ++i; while (less(x[i], pivot));
      do --j; while (less(pivot, x[j]));
      if (j < i) break;
      std::swap(x[i], x[j]);
    }
    std::swap(x[l], x[j]);
    const int64_t split = j;
    if (split <= k) l = i;
    if (split >= k) r = split - 1;
  }
  return x[k];
}
template <class T> Item<T> median(Item<T>* x, int64_t n, bool skip_nan) {
  int64_t nans = 0, first = n;
  for (int64_t i = 0; i < n; ++i)
    if (is_nan(x[i].v)) {
      ++nans;
      first = std::min(first, x[i].at);
    }
  if (nans && (!skip_nan || nans == n)) return {x[first].v, first};
  return kth(x, n, (n - nans - 1) / 2);
}
// The most frequent value, the least of several, at the place that sorting by value alone puts last.
template <class T> Item<T> mode(Item<T>* x, int64_t n) {
  std::sort(x, x + n, &less<T>);
  Item<T> best = x[0];
  int64_t most = 0;
  for (int64_t i = 0; i < n;) {
    int64_t j = i + 1;
    while (j < n && x[j].v == x[i].v) ++j;
    if (j - i > most) {
      most = j - i;
      best = x[j - 1];
    }
    i = j;
  }
  return best;
}

// values[k], places[k] = pick(items of line k, n) for every line along dim (of everything, flattened, where dim < 0).
template <class F> void each_line(const Tensor& values, const Tensor* places, const Tensor& self, int64_t dim, F pick) {
  const int64_t nd = self.ndim(), item = self.item_bytes();
  Dims kept_sizes, kept_strides, line_sizes, line_strides;
  for (int64_t d = 0; d < nd; ++d) {
    const bool along = dim < 0 || d == dim;
    (along ? line_sizes : kept_sizes).push_back(self.sizes()[d]);
    (along ? line_strides : kept_strides).push_back(self.strides()[d]);
  }
  auto offset = [](const Dims& sizes, const Dims& strides, int64_t i) {
    int64_t o = 0;
    for (int64_t d = sizes.size() - 1; d >= 0; --d) {
      o += i % sizes[d] * strides[d];
      i /= sizes[d];
    }
    return o;
  };
  const int64_t n = numel_of(line_sizes), lines = values.numel();
  const DType c = sum_compute_type(self.dtype());
  auto run = [&]<class T>() {
    parallel_for(0, lines, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, n)), [&](int64_t a, int64_t z) {
      std::unique_ptr<T[]> raw(new T[size_t(n)]);
      std::unique_ptr<Item<T>[]> items(new Item<T>[size_t(n)]);
      for (int64_t k = a; k < z; ++k) {
        const char* p = static_cast<const char*>(self.data()) + offset(kept_sizes, kept_strides, k) * item;
        if (line_sizes.size() <= 1) {
          convert_run(reinterpret_cast<char*>(raw.get()), sizeof(T), c, p, line_sizes.size() ? line_strides[0] * item : item, self.dtype(), n);
        } else {
          const int64_t last = line_sizes.back();
          for (int64_t i = 0; i < n; i += last)
            convert_run(reinterpret_cast<char*>(raw.get() + i), sizeof(T), c, p + offset(line_sizes, line_strides, i) * item, line_strides.back() * item,
                        self.dtype(), last);
        }
        for (int64_t i = 0; i < n; ++i) items[size_t(i)] = {raw[size_t(i)], i};
        const Item<T> r = pick(items.get(), n);
        convert_run(static_cast<char*>(values.data()) + k * item, item, values.dtype(), reinterpret_cast<const char*>(&r.v), sizeof(T), c, 1);
        if (places) places->ptr<int64_t>()[k] = r.at;
      }
    });
  };
  visit_types<float, double, int64_t>(c, run);
}
int64_t line_dim(const Tensor& self, int64_t dim) { return self.ndim() ? wrap_dim(dim, self.ndim()) : -1; }

template <bool skip> void median_all(Tensor& out, const Tensor& self) {
  if (self.numel() == 0) {
    const double nan = __builtin_nan("");
    const int64_t least = INT64_MIN;
    if (out.is_floating()) convert_run(static_cast<char*>(out.data()), 8, out.dtype(), reinterpret_cast<const char*>(&nan), 8, DType::f64, 1);
    else convert_run(static_cast<char*>(out.data()), 8, out.dtype(), reinterpret_cast<const char*>(&least), 8, DType::i64, 1);
    return;
  }
  each_line(out, nullptr, self, -1, [](auto* x, int64_t n) { return median(x, n, skip); });
}
void median_cpu(Tensor& out, const Tensor& self) { median_all<false>(out, self); }
void nanmedian_cpu(Tensor& out, const Tensor& self) { median_all<true>(out, self); }
void median_dim_cpu(Tensor& v, Tensor& i, const Tensor& self, int64_t dim, bool) {
  each_line(v, &i, self, line_dim(self, dim), [](auto* x, int64_t n) { return median(x, n, false); });
}
void nanmedian_dim_cpu(Tensor& v, Tensor& i, const Tensor& self, int64_t dim, bool) {
  each_line(v, &i, self, line_dim(self, dim), [](auto* x, int64_t n) { return median(x, n, true); });
}
void mode_cpu(Tensor& v, Tensor& i, const Tensor& self, int64_t dim, bool) {
  each_line(v, &i, self, line_dim(self, dim), [](auto* x, int64_t n) { return mode(x, n); });
}
void kthvalue_cpu(Tensor& v, Tensor& i, const Tensor& self, int64_t k, int64_t dim, bool) {
  each_line(v, &i, self, line_dim(self, dim), [k](auto* x, int64_t n) { return select(x, n, k - 1); });
}

}  // namespace

FB_KERNEL("median", median_cpu)
FB_KERNEL("nanmedian", nanmedian_cpu)
FB_KERNEL("median.dim", median_dim_cpu)
FB_KERNEL("nanmedian.dim", nanmedian_dim_cpu)
FB_KERNEL("mode", mode_cpu)
FB_KERNEL("kthvalue", kthvalue_cpu)

}  // namespace fb
