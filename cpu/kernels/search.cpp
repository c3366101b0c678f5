// Binary search: searchsorted and isin. repeat_interleave, whose result inverts a running sum.
#include <algorithm>
#include <vector>

#include "core/half.h"
#include "core/threads.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "dispatch/pointwise.h"
#include "ops/sort/search.h"

namespace fb {
namespace {

Tensor as(const Tensor& t, DType d) {
  const Tensor x = t.dtype() == d ? t : op<"to.dtype">(t, d);
  return x.is_contiguous() ? x : op<"clone">(x, MemoryFormat::contiguous);
}
template <class T> auto comparable(T x) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) return float(x);
  else return x;
}
DType common_type(const Tensor& a, const Tensor& b) {
  const Value both[2] = {a, b};
  return result_type(both, 2);
}
template <class F> bool visit_ordered(DType d, F&& f) {
  return visit_types<float, double, half, bfloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, uint16_t, uint32_t, uint64_t>(d, f);
}

// The first of n places that v could stand at; a NaN in v goes to the end.
template <bool right, class T, class Place> int64_t search(const T* row, const Place* order, int64_t n, T value) {
  const auto v = comparable(value);
  int64_t a = 0, b = n;
  while (a < b) {
    const int64_t m = a + (b - a) / 2;
    const auto x = comparable(row[order ? order[m] : m]);
    if (right ? x > v : x >= v) b = m;
    else a = m + 1;
  }
  return a;
}

void searchsorted_cpu(Tensor& out, const Tensor& sequence, const Tensor& values, bool, bool right, std::optional<std::string_view> side,
                      const Tensor& sorter) {
  if (out.numel() == 0) return;
  const DType d = common_type(sequence, values);
  const Tensor s = as(sequence, d), v = as(values, d), order = sorter.defined() ? as(sorter, DType::i64) : Tensor();
  const int64_t n = s.sizes()[s.ndim() - 1], each = s.ndim() == 1 ? 0 : v.sizes()[v.ndim() - 1];
  if (order.defined())
    for (int64_t i = 0; i < order.numel(); ++i)
      FB_CHECK(order.ptr<int64_t>()[i] >= 0 && order.ptr<int64_t>()[i] < n, "searchsorted: sorter holds ", order.ptr<int64_t>()[i],
               ", it must be in [0, ", n, ")");
  if (n == 0) {
    op_list<"zero_">(out);
    return;
  }
  const bool after = cards::right_side(right, side);
  auto run = [&]<class T, class O, bool after_equals>() {
    parallel_for(0, out.numel(), 2048, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const int64_t row = each ? i / each * n : 0;
        const int64_t* o = order.defined() ? order.ptr<int64_t>() + row : nullptr;
        out.ptr<O>()[i] = O(search<after_equals>(s.ptr<T>() + row, o, n, v.ptr<T>()[i]));
      }
    });
  };
  visit_ordered(d, [&]<class T>() {
    if (out.dtype() == DType::i32) after ? run.template operator()<T, int32_t, true>() : run.template operator()<T, int32_t, false>();
    else after ? run.template operator()<T, int64_t, true>() : run.template operator()<T, int64_t, false>();
  });
}

void isin_cpu(Tensor& out, const Tensor& elements, const Tensor& test, bool, bool invert) {
  const DType d = common_type(elements, test);
  const Tensor x = as(elements, d), t = as(test, d);
  visit_ordered(d, [&]<class T>() {
    using V = decltype(comparable(T()));
    std::vector<V> known;
    known.reserve(size_t(t.numel()));
    for (int64_t i = 0; i < t.numel(); ++i) {
      const V v = comparable(t.ptr<T>()[i]);
      if (v == v) known.push_back(v);
    }
    std::sort(known.begin(), known.end());
    parallel_for(0, x.numel(), 4096, [&](int64_t lo, int64_t hi) {
      for (int64_t i = lo; i < hi; ++i) {
        const V v = comparable(x.ptr<T>()[i]);
        const bool there = v == v && std::binary_search(known.begin(), known.end(), v);
        out.ptr<bool>()[i] = there != invert;
      }
    });
  });
}

Tensor repeat_interleave_cpu(const Tensor& repeats, std::optional<int64_t> output_size) {
  if (repeats.dtype() != DType::i64 && repeats.dtype() != DType::i32) raise_not_implemented("repeat_interleave is not there for repeats of type ", repeats.dtype());
  FB_CHECK(repeats.ndim() == 1, "repeat_interleave: repeats must be a vector, their shape is ", repeats.sizes());
  const Tensor r = as(repeats, DType::i64);
  const int64_t n = r.numel();
  const int64_t* p = n ? r.ptr<int64_t>() : nullptr;
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    FB_CHECK(p[i] >= 0, "repeat_interleave: repeats must not be negative, repeats[", i, "] is ", p[i]);
    FB_CHECK(!__builtin_add_overflow(total, p[i], &total), "repeat_interleave: the sum of repeats is too large");
  }
  FB_CHECK(!output_size || *output_size == total, "repeat_interleave: output_size is ", output_size.value_or(0), ", the sum of repeats is ", total);
  const Tensor out = Tensor::empty(Ints{total}, repeats.options());
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (out.dtype() == DType::i64) std::fill_n(out.ptr<int64_t>() + at, p[i], i);
    else std::fill_n(out.ptr<int32_t>() + at, p[i], int32_t(i));
    at += p[i];
  }
  return out;
}

}  // namespace

FB_KERNEL("searchsorted.Tensor", searchsorted_cpu)
FB_KERNEL("isin.Tensor_Tensor", isin_cpu)
FB_KERNEL_DIRECT("repeat_interleave.Tensor", repeat_interleave_cpu)

}  // namespace fb
