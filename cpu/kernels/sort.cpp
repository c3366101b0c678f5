// sort.stable and topk along a dimension: rows are copied out, ordered by (value, place), and written back. Long rows are
// sorted digit by digit; few of many are kept in a heap.
#include <algorithm>
#include <memory>

#include "core/half.h"
#include "core/threads.h"
#include "cpu/kernels/radix_sort.h"
#include "dispatch/box.h"

namespace fb {
namespace {

template <class T> struct Entry {
  T v;
  int64_t i;
};
// NaN is above every number; equal values keep their places.
template <class T, bool descending> bool before(const Entry<T>& a, const Entry<T>& b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool na = a.v != a.v, nb = b.v != b.v;
    if (na || nb) return na != nb ? (descending ? na : nb) : a.i < b.i;
  }
  if (a.v != b.v) return descending ? a.v > b.v : a.v < b.v;
  return a.i < b.i;
}

// By value alone: which of several equal elements topk takes is up to the selection.
template <class T, bool descending> bool ahead(const Entry<T>& a, const Entry<T>& b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool na = a.v != a.v, nb = b.v != b.v;
    if (na || nb) return na != nb && (descending ? na : nb);
  }
  return descending ? a.v > b.v : a.v < b.v;
}
enum class Pick { all, first, first_sorted };

// The k first of a row, in order: a heap of the best so far, the last of them on top; one that is ahead of the top takes its
// place. The hole at the top sinks to the bottom along the later children, then the new element rises from there.
template <class T, bool descending> void replace_top(Entry<T>* heap, int64_t k, Entry<T> x) {
  int64_t hole = 0;
  for (int64_t child = 2; child <= k; child = 2 * hole + 2) {
    if (child == k || ahead<T, descending>(heap[child], heap[child - 1])) --child;
    heap[hole] = heap[child];
    hole = child;
  }
  for (int64_t parent = (hole - 1) / 2; hole > 0 && ahead<T, descending>(heap[parent], x); parent = (hole - 1) / 2) {
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = x;
}
template <class S, class T, bool descending> void heap_first(Entry<T>* heap, const S* from, int64_t step, int64_t n, int64_t k) {
  for (int64_t j = 0; j < k; ++j) heap[j] = {T(from[j * step]), j};
  std::make_heap(heap, heap + k, ahead<T, descending>);
  for (int64_t j = k; j < n; ++j) {
    const Entry<T> x{T(from[j * step]), j};
    if (ahead<T, descending>(x, heap[0])) replace_top<T, descending>(heap, k, x);
  }
  std::sort_heap(heap, heap + k, ahead<T, descending>);
}

template <class T, bool descending> void arrange(Entry<T>* e, int64_t n, int64_t k, Pick pick) {
  if (pick == Pick::all) return std::sort(e, e + n, before<T, descending>);
  std::nth_element(e, e + k - 1, e + n, ahead<T, descending>);
  if (pick == Pick::first_sorted) std::sort(e, e + k - 1, ahead<T, descending>);
}

// The first k of each row of self along dim in this order. S is the stored type, T the one compared.
template <class S, class T, bool descending> void rows(const Tensor& values, const Tensor& places, const Tensor& self, int64_t dim, int64_t k, Pick pick) {
  const int64_t nd = self.ndim(), n = nd ? self.sizes()[dim] : 1;
  auto step = [&](const Tensor& t) { return nd ? t.strides()[dim] : 0; };
  int64_t count = 1;
  for (int64_t d = 0; d < nd; ++d)
    if (d != dim) count *= self.sizes()[d];
  if (k == 0 || n == 0) return;
  const S* from = self.ptr<S>();
  S* to = values.ptr<S>();
  int64_t* at = places.ptr<int64_t>();
  const int64_t si = step(self), sv = step(values), sp = step(places);
  parallel_for(0, count, std::max<int64_t>(1, 4096 / n), [&](int64_t lo, int64_t hi) {
    const bool heap = pick != Pick::all && k * 64 <= n, digits = pick == Pick::all && n >= 1024 && n <= int64_t(UINT32_MAX);
    std::unique_ptr<Entry<T>[]> e(digits ? nullptr : new Entry<T>[size_t(heap ? k : n)]);
    using K = SortKey<S>;
    std::unique_ptr<Keyed<K>[]> keyed(digits ? new Keyed<K>[size_t(2 * n)] : nullptr);
    for (int64_t r = lo; r < hi; ++r) {
      int64_t o = r, a = 0, b = 0, c = 0;
      for (int64_t d = nd - 1; d >= 0; --d) {
        if (d == dim) continue;
        const int64_t x = o % self.sizes()[d];
        a += x * self.strides()[d];
        b += x * values.strides()[d];
        c += x * places.strides()[d];
        o /= self.sizes()[d];
      }
      if (digits) {
        for (int64_t j = 0; j < n; ++j) {
          const K key = sort_key(from[a + j * si]);
          keyed[size_t(j)] = {descending ? K(~key) : key, uint32_t(j)};
        }
        const Keyed<K>* sorted = radix_sort(keyed.get(), keyed.get() + n, n);
        for (int64_t j = 0; j < n; ++j) {
          to[b + j * sv] = from[a + sorted[j].at * si];
          at[c + j * sp] = sorted[j].at;
        }
        continue;
      }
      if (heap) heap_first<S, T, descending>(e.get(), from + a, si, n, k);
      else {
        for (int64_t j = 0; j < n; ++j) e[size_t(j)] = {T(from[a + j * si]), j};
        arrange<T, descending>(e.get(), n, k, pick);
      }
      for (int64_t j = 0; j < k; ++j) {
        const int64_t i = e[size_t(j)].i;
        to[b + j * sv] = from[a + i * si];
        at[c + j * sp] = i;
      }
    }
  });
}

void order(const char* name, const Tensor& values, const Tensor& places, const Tensor& self, int64_t dim, int64_t k, bool descending, Pick pick) {
  const int64_t d = wrap_dim(dim, self.ndim());
  if (values.numel() == 0) return;
  auto run = [&]<class S, class T>() {
    if (descending) rows<S, T, true>(values, places, self, d, k, pick);
    else rows<S, T, false>(values, places, self, d, k, pick);
  };
  switch (self.dtype()) {
    case DType::f32: return run.template operator()<float, float>();
    case DType::f64: return run.template operator()<double, double>();
    case DType::f16: return run.template operator()<half, float>();
    case DType::bf16: return run.template operator()<bfloat16, float>();
    case DType::i64: return run.template operator()<int64_t, int64_t>();
    case DType::i32: return run.template operator()<int32_t, int64_t>();
    case DType::i16: return run.template operator()<int16_t, int64_t>();
    case DType::i8: return run.template operator()<int8_t, int64_t>();
    case DType::u8: return run.template operator()<uint8_t, int64_t>();
    case DType::boolean: return run.template operator()<bool, int64_t>();
    default: raise_not_implemented(name, " is not there for type ", self.dtype());
  }
}

void sort_cpu(Tensor& values, Tensor& indices, const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  order("sort", values, indices, self, dim, self.ndim() ? self.size(dim) : 1, descending, Pick::all);
}
void topk_cpu(Tensor& values, Tensor& indices, const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  order("topk", values, indices, self, dim, k, largest, sorted ? Pick::first_sorted : Pick::first);
}

}  // namespace

FB_KERNEL("sort.stable", sort_cpu)
FB_KERNEL("topk", topk_cpu)

}  // namespace fb
