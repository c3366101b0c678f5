// Distinct elements, slices, and runs of them. Everything is an order of places, in which neighbours that differ start a new
// group: sorted for unique, the given one for unique_consecutive. The first of a group stands for it.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/half.h"
#include "core/threads.h"
#include "cpu/kernels/radix_sort.h"
#include "dispatch/box.h"
#include "dispatch/call.h"

namespace fb {
namespace {

Tensor packed(const Tensor& t) { return t.is_contiguous() ? t : op<"clone">(t, MemoryFormat::contiguous); }

template <class T> auto comparable(T x) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) return float(x);
  else return x;
}
// Rows of `width` elements of one type: which of two comes first, and whether they differ. Sorting goes through these two,
// so that it is compiled once for all types.
struct Rows {
  const void* data;
  int64_t width;
  int (*order)(const void* data, int64_t width, int64_t a, int64_t b);
  bool (*unlike)(const void* data, int64_t width, int64_t a, int64_t b);
  bool before(int64_t a, int64_t b) const {
    const int c = order(data, width, a, b);
    return c < 0 || (c == 0 && a < b);
  }
  bool differ(int64_t a, int64_t b) const { return unlike(data, width, a, b); }
};
// NaN is above every number, and differs from every NaN.
template <class T> int order_of(const void* data, int64_t width, int64_t a, int64_t b) {
  const T* p = static_cast<const T*>(data);
  for (int64_t k = 0; k < width; ++k) {
    const auto x = comparable(p[a * width + k]), y = comparable(p[b * width + k]);
    const bool x_nan = x != x, y_nan = y != y;
    if (x_nan != y_nan) return x_nan ? 1 : -1;
    if (x < y) return -1;
    if (y < x) return 1;
  }
  return 0;
}
template <class T> bool unlike_of(const void* data, int64_t width, int64_t a, int64_t b) {
  const T* p = static_cast<const T*>(data);
  for (int64_t k = 0; k < width; ++k)
    if (comparable(p[a * width + k]) != comparable(p[b * width + k])) return true;
  return false;
}
template <class T> Rows rows_of(const T* p, int64_t width) { return {p, width, &order_of<T>, &unlike_of<T>}; }

struct Groups {
  std::vector<int64_t> first;    // place of the first member
  std::vector<int64_t> members;  // how many
};
using Result = std::array<Tensor, 3>;

Tensor places(const std::vector<int64_t>& v, Ints sizes, Device device) {
  const Tensor t = Tensor::empty(sizes, {DType::i64, device});
  std::copy(v.begin(), v.end(), t.ptr<int64_t>());
  return t;
}
// Groups of `order`, cut where differ(a, b) holds for neighbours; writes each place's group where `inverse` is not null.
template <class Order, class Differ> Groups cut(int64_t n, Order order, Differ differ, int64_t* inverse) {
  Groups g;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t i = order(j);
    if (j == 0 || differ(order(j - 1), i)) {
      g.first.push_back(i);
      g.members.push_back(0);
    }
    ++g.members.back();
    if (inverse) inverse[i] = int64_t(g.first.size()) - 1;
  }
  return g;
}

// The places of n rows in order. Pieces of fixed size are sorted by themselves and merged pairwise, so the result does not
// depend on threads.
std::vector<int64_t> sorted_places(int64_t n, const Rows& rows) {
  std::vector<int64_t> v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  auto lt = [rows](int64_t a, int64_t b) { return rows.before(a, b); };
  constexpr int64_t kPiece = 1 << 16;
  parallel_for(0, (n + kPiece - 1) / kPiece, 1, [&](int64_t lo, int64_t hi) {
    for (int64_t p = lo; p < hi; ++p) std::sort(v.begin() + p * kPiece, v.begin() + std::min(n, (p + 1) * kPiece), lt);
  });
  if (n <= kPiece) return v;
  std::vector<int64_t> other(v.size());
  for (int64_t width = kPiece; width < n; width *= 2) {
    parallel_for(0, (n + 2 * width - 1) / (2 * width), 1, [&](int64_t lo, int64_t hi) {
      for (int64_t p = lo; p < hi; ++p) {
        const int64_t a = p * 2 * width, m = std::min(n, a + width), b = std::min(n, a + 2 * width);
        std::merge(v.begin() + a, v.begin() + m, v.begin() + m, v.begin() + b, other.begin() + a, lt);
      }
    });
    v.swap(other);
  }
  return v;
}

Result flat_unique(const char* name, const Tensor& self, bool sorted, bool want_inverse, bool want_counts) {
  const Tensor x = packed(self);
  const int64_t n = x.numel();
  const Tensor inverse = Tensor::empty(want_inverse ? Dims(self.sizes()) : Dims{0}, {DType::i64, self.device()});
  int64_t* const inv = want_inverse && n ? inverse.ptr<int64_t>() : nullptr;
  Groups g;
  Tensor values;
  const bool known = visit_types<float, double, half, bfloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>(
      x.dtype(), [&]<class T>() {
        const T* p = n ? x.ptr<T>() : nullptr;
        auto differ = [p](int64_t a, int64_t b) { return comparable(p[a]) != comparable(p[b]); };
        if (sorted && n <= int64_t(UINT32_MAX)) {
          using K = SortKey<T>;
          std::unique_ptr<Keyed<K>[]> keyed(new Keyed<K>[size_t(2 * n)]);
          for (int64_t i = 0; i < n; ++i) keyed[size_t(i)] = {sort_key(p[i]), uint32_t(i)};
          const Keyed<K>* order = radix_sort(keyed.get(), keyed.get() + n, n);
          g = cut(n, [order](int64_t j) { return int64_t(order[j].at); }, differ, inv);
        } else if (sorted) {
          const std::vector<int64_t> order = sorted_places(n, rows_of(p, 1));
          g = cut(n, [&](int64_t j) { return order[size_t(j)]; }, differ, inv);
        } else {
          g = cut(n, [](int64_t j) { return j; }, differ, inv);
        }
        const int64_t m = int64_t(g.first.size());
        values = Tensor::empty(Ints{m}, self.options());
        for (int64_t k = 0; k < m; ++k) values.ptr<T>()[k] = p[g.first[size_t(k)]];
      });
  if (!known) raise_not_implemented(name, " is not there for type ", self.dtype());
  if (!want_counts) g.members.clear();
  return {values, inverse, places(g.members, Dims(1, int64_t(g.members.size())), self.device())};
}

// Slices along dim, each one row of a matrix.
Result slices_unique(const char* name, const Tensor& self, int64_t dim, bool sorted) {
  FB_CHECK_INDEX(self.ndim() > 0, name, ": dim is ", dim, " but the input has no dimensions");
  const int64_t d = wrap_dim(dim, self.ndim());
  int64_t empty = 0;
  for (int64_t s : self.sizes()) empty += s == 0;
  if (self.sizes()[d] == 0) {
    FB_CHECK(empty == 1, name, ": the input of shape ", self.sizes(), " has several dimensions of size 0");
    const Tensor none = Tensor::empty(Ints{0}, {DType::i64, self.device()});
    return {Tensor::empty(self.sizes(), self.options()), none, op<"clone">(none)};
  }
  FB_CHECK(empty == 0, name, ": a dimension other than dim (", d, ") of the input of shape ", self.sizes(), " has size 0");
  const Tensor moved = packed(op<"movedim">(self, d, int64_t(0)));
  const int64_t n = self.sizes()[d], width = self.numel() / n;
  const Tensor inverse = Tensor::empty(Ints{n}, {DType::i64, self.device()});
  Rows rows{};
  const bool known = visit_types<float, double, half, bfloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>(
      moved.dtype(), [&]<class T>() { rows = rows_of(moved.ptr<T>(), width); });
  if (!known) raise_not_implemented(name, " is not there for type ", self.dtype());
  auto differ = [rows](int64_t a, int64_t b) { return rows.differ(a, b); };
  const std::vector<int64_t> order = sorted ? sorted_places(n, rows) : std::vector<int64_t>();
  const Groups g = sorted ? cut(n, [&](int64_t j) { return order[size_t(j)]; }, differ, inverse.ptr<int64_t>())
                          : cut(n, [](int64_t j) { return j; }, differ, inverse.ptr<int64_t>());
  const Dims count(1, int64_t(g.first.size()));
  const Tensor firsts = op<"index_select">(moved, int64_t(0), places(g.first, count, self.device()));
  return {op<"movedim">(firsts, int64_t(0), d), inverse, places(g.members, count, self.device())};
}

Result unique2_cpu(const Tensor& self, bool, bool inverse, bool counts) { return flat_unique("_unique2", self, true, inverse, counts); }
std::array<Tensor, 2> unique_cpu(const Tensor& self, bool, bool inverse) {
  Result r = flat_unique("_unique", self, true, inverse, false);
  return {r[0], r[1]};
}
Result unique_dim_cpu(const Tensor& self, int64_t dim, bool, bool, bool) { return slices_unique("unique_dim", self, dim, true); }
Result unique_dim_consecutive_cpu(const Tensor& self, int64_t dim, bool, bool) { return slices_unique("unique_dim_consecutive", self, dim, false); }
Result unique_consecutive_cpu(const Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim) {
  if (dim) return slices_unique("unique_consecutive", self, *dim, false);
  return flat_unique("unique_consecutive", self, false, inverse, counts);
}

}  // namespace

FB_KERNEL_DIRECT("_unique2", unique2_cpu)
FB_KERNEL_DIRECT("_unique", unique_cpu)
FB_KERNEL_DIRECT("unique_dim", unique_dim_cpu)
FB_KERNEL_DIRECT("unique_dim_consecutive", unique_dim_consecutive_cpu)
FB_KERNEL_DIRECT("unique_consecutive", unique_consecutive_cpu)

}  // namespace fb
