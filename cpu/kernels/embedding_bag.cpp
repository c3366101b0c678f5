// embedding_bag: rows of a table summed, averaged or maximised bag by bag, and their gradients. A thread takes whole bags, or
// whole rows of the gradient; each sums in the order of the indices.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/half.h"
#include "core/threads.h"
#include "cpu/kernels/index_walk.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/index/embedding_bag.h"

namespace fb {
namespace {

using cards::BagMode;

template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

Tensor packed(const Tensor& t) { return t.is_contiguous() ? t : op<"clone">(t, MemoryFormat::contiguous); }

// Where the bags begin; one more entry, the end of the last.
std::vector<int64_t> bag_borders(const Tensor& offsets, int64_t n, bool last, bool all) {
  std::vector<int64_t> at = checked_positions("embedding_bag: offsets", offsets, n + 1, 0, false, false);
  FB_CHECK(at.empty() || at[0] == 0, "embedding_bag: offsets[0] must be 0, it is ", at[0]);
  for (size_t i = 1; i < at.size(); ++i)
    FB_CHECK(at[i - 1] <= at[i], "embedding_bag: offsets must not decrease, but offsets[", i, "] is ", at[i], " after ", at[i - 1]);
  if (!last) at.push_back(n);
  else if (all && at.size() > 1) at.back() = n;
  return at;
}

void write_index(const Tensor& out, const std::vector<int64_t>& v) {
  if (v.empty()) return;
  if (out.dtype() == DType::i64) std::copy(v.begin(), v.end(), out.ptr<int64_t>());
  else std::transform(v.begin(), v.end(), out.ptr<int32_t>(), [](int64_t x) { return int32_t(x); });
}

template <class T> struct Bags {
  const T* table;  // (rows, width), strides in elements
  int64_t row_stride, stride, width;
  const int64_t* at;
  const T* factors;  // null: 1
  int64_t padding;

  int64_t add(Wide<T>* sum, int64_t first, int64_t end) const {
    int64_t count = 0;
    std::fill(sum, sum + width, Wide<T>(0));
    for (int64_t j = first; j < end; ++j) {
      if (at[j] == padding) continue;
      ++count;
      const T* row = table + at[j] * row_stride;
      const Wide<T> f = factors ? Wide<T>(factors[j]) : Wide<T>(1);
      if (stride == 1)
        for (int64_t k = 0; k < width; ++k) sum[k] += f * Wide<T>(row[k]);
      else
        for (int64_t k = 0; k < width; ++k) sum[k] += f * Wide<T>(row[k * stride]);
    }
    return count;
  }
  // The first row stands; a later element takes its place where it is greater.
  template <class I> int64_t greatest(T* best, I* place, int64_t first, int64_t end) const {
    int64_t count = 0;
    std::fill(best, best + width, T(0));
    std::fill(place, place + width, I(0));
    for (int64_t j = first; j < end; ++j) {
      if (at[j] == padding) continue;
      const T* row = table + at[j] * row_stride;
      for (int64_t k = 0; k < width; ++k)
        if (count == 0 || Wide<T>(row[k * stride]) > Wide<T>(best[k])) {
          best[k] = row[k * stride];
          place[k] = I(at[j]);
        }
      ++count;
    }
    return count;
  }
};

template <class T>
void fill_bags(Tensor& out, Tensor& bag_size, Tensor& places, const Bags<T>& bags, const std::vector<int64_t>& border, BagMode mode) {
  const int64_t n = out.sizes()[0], width = bags.width;
  std::vector<int64_t> counts(size_t(n), 0);
  const int64_t mean_work = n ? std::max<int64_t>(1, (border.back() + n) / n * std::max<int64_t>(width, 1)) : 1;
  parallel_for(0, n, std::max<int64_t>(1, 16384 / mean_work), [&](int64_t lo, int64_t hi) {
    std::unique_ptr<Wide<T>[]> sum(new Wide<T>[size_t(width) + 1]);
    for (int64_t b = lo; b < hi; ++b) {
      T* o = out.ptr<T>() + b * width;
      const int64_t first = border[size_t(b)], end = border[size_t(b) + 1];
      if (mode == BagMode::max) {
        counts[size_t(b)] = places.dtype() == DType::i64 ? bags.greatest(o, places.ptr<int64_t>() + b * width, first, end)
                                                         : bags.greatest(o, places.ptr<int32_t>() + b * width, first, end);
        continue;
      }
      const int64_t count = bags.add(sum.get(), first, end);
      if (mode == BagMode::mean) counts[size_t(b)] = count;
      const Wide<T> over = mode == BagMode::mean && count > 1 ? Wide<T>(count) : Wide<T>(1);
      for (int64_t k = 0; k < width; ++k) o[k] = T(sum[size_t(k)] / over);
    }
  });
  write_index(bag_size, counts);
  if (mode != BagMode::max) write_index(places, counts);
}

void embedding_bag_cpu(Tensor& out, Tensor& map, Tensor& bag_size, Tensor& places, const Tensor& weight, const Tensor& indices,
                       const Tensor& offsets, bool, int64_t mode, bool, const Tensor& per_sample, bool last, int64_t padding) {
  const int64_t n = indices.numel();
  const bool no_map = cards::bags_need_no_map(weight.dtype(), mode, padding);
  const std::vector<int64_t> at = checked_positions("embedding_bag", indices, weight.sizes()[0], 0, false, false);
  const std::vector<int64_t> border = bag_borders(offsets, n, last, !no_map);
  if (!no_map) {
    std::vector<int64_t> m(size_t(n), 0);
    for (size_t b = 0; b + 1 < border.size(); ++b) std::fill(m.begin() + border[b], m.begin() + border[b + 1], int64_t(b));
    write_index(map, m);
  }
  const Tensor factors = per_sample.defined() ? packed(per_sample) : Tensor();
  visit_types<float, double, half, bfloat16>(weight.dtype(), [&]<class T>() {
    const Bags<T> bags{weight.ptr<T>(), weight.strides()[0], weight.strides()[1], weight.sizes()[1],
                       at.data(), factors.defined() ? factors.ptr<T>() : nullptr, padding};
    fill_bags<T>(out, bag_size, places, bags, border, BagMode(mode));
  });
}

// Positions ordered by the row they name: those of row r are order[first[r] .. first[r + 1]).
struct ByRow {
  std::vector<int64_t> first, order;
  ByRow(const std::vector<int64_t>& at, int64_t rows) : first(size_t(rows) + 1, 0), order(at.size()) {
    for (int64_t x : at) ++first[size_t(x) + 1];
    for (size_t r = 1; r < first.size(); ++r) first[r] += first[r - 1];
    std::vector<int64_t> next(first.begin(), first.end() - 1);
    for (size_t j = 0; j < at.size(); ++j) order[size_t(next[size_t(at[j])]++)] = int64_t(j);
  }
};

struct BagGradient {
  std::vector<int64_t> at, bag, sizes;
  BagMode mode;
  bool scale;
  int64_t padding;
};
template <class T> void scatter_bags(Tensor& out, const Tensor& g, const BagGradient& b, const T* factors) {
  const int64_t rows = out.sizes()[0], width = out.sizes()[1], bags = g.sizes()[0];
  const ByRow by(b.at, rows);
  const T* from = g.ptr<T>();
  parallel_for(0, rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, width)), [&](int64_t lo, int64_t hi) {
    std::unique_ptr<Wide<T>[]> sum(new Wide<T>[size_t(width)]);
    for (int64_t r = lo; r < hi; ++r) {
      std::fill(sum.get(), sum.get() + width, Wide<T>(0));
      const int64_t first = by.first[size_t(r)], end = r == b.padding ? first : by.first[size_t(r) + 1];
      for (int64_t i = first; i < end; ++i) {
        const size_t j = size_t(by.order[size_t(i)]);
        const int64_t bag = b.bag[j];
        if (bag < 0 || bag >= bags) continue;
        Wide<T> f = factors ? Wide<T>(factors[j]) : Wide<T>(1);
        if (b.scale) f /= Wide<T>(end - first);
        if (b.mode == BagMode::mean) f /= Wide<T>(b.sizes[size_t(bag)]);
        for (int64_t k = 0; k < width; ++k) sum[size_t(k)] += Wide<T>(from[bag * width + k]) * f;
      }
      for (int64_t k = 0; k < width; ++k) out.ptr<T>()[r * width + k] = T(sum[size_t(k)]);
    }
  });
}
// Each element of a bag's maximum sends its gradient to the row it came from.
template <class T> void scatter_maxima(Tensor& out, const Tensor& g, const std::vector<int64_t>& place, const std::vector<int64_t>& sizes) {
  const int64_t width = out.sizes()[1], bags = g.sizes()[0];
  op_list<"zero_">(out);
  parallel_for(0, width, std::max<int64_t>(16, 16384 / std::max<int64_t>(1, bags)), [&](int64_t lo, int64_t hi) {
    for (int64_t b = 0; b < bags; ++b) {
      if (sizes[size_t(b)] == 0) continue;
      for (int64_t k = lo; k < hi; ++k) {
        T& o = out.ptr<T>()[place[size_t(b * width + k)] * width + k];
        o = T(Wide<T>(o) + Wide<T>(g.ptr<T>()[b * width + k]));
      }
    }
  });
}

void dense_backward_cpu(Tensor& out, const Tensor& grad, const Tensor& indices, const Tensor& map, const Tensor& bag_size, const Tensor& places,
                        int64_t num_weights, bool scale, int64_t mode, const Tensor& per_sample, int64_t padding) {
  constexpr const char* name = "_embedding_bag_dense_backward";
  if (out.numel() == 0) return;
  const Tensor g = packed(grad);
  const bool max = BagMode(mode) == BagMode::max, mean = BagMode(mode) == BagMode::mean;
  std::vector<int64_t> sizes;
  if (max || mean) {
    FB_CHECK(bag_size.numel() == g.sizes()[0], name, ": bag_size of shape ", bag_size.sizes(), " must have one element for each row of grad, of shape ", g.sizes());
    sizes = checked_positions(name, bag_size, indices.numel() + 1, 0, false, false);
  }
  bool known;
  if (max) {
    FB_CHECK(places.sizes() == g.sizes(), name, ": maximum_indices of shape ", places.sizes(), " must have the shape of grad, ", g.sizes());
    const std::vector<int64_t> at = checked_positions(name, places, num_weights, 0, false, false);
    known = visit_types<float, double, half, bfloat16>(g.dtype(), [&]<class T>() { scatter_maxima<T>(out, g, at, sizes); });
  } else {
    BagGradient b{checked_positions(name, indices, num_weights, 0, false, false), {}, std::move(sizes), BagMode(mode), scale, padding};
    b.bag = checked_positions(name, map, INT64_MAX, 0, false, false);
    const Tensor factors = per_sample.defined() ? packed(per_sample) : Tensor();
    known = visit_types<float, double, half, bfloat16>(
        g.dtype(), [&]<class T>() { scatter_bags<T>(out, g, b, factors.defined() ? factors.ptr<T>() : nullptr); });
  }
  if (!known) raise_not_implemented(name, " is not there for type ", g.dtype());
}

void samples_backward_cpu(Tensor& out, const Tensor& grad, const Tensor& weight, const Tensor& indices, const Tensor& offsets, const Tensor& map,
                          int64_t, int64_t padding) {
  const int64_t n = out.numel(), width = weight.sizes()[1];
  if (n == 0) return;
  const char* name = "_embedding_bag_per_sample_weights_backward";
  FB_CHECK(grad.ndim() == 2 && grad.sizes()[1] == width && grad.dtype() == weight.dtype(), name, ": grad has shape ", grad.sizes(), " and type ", grad.dtype(),
           ", weight ", weight.sizes(), " and ", weight.dtype());
  const std::vector<int64_t> at = checked_positions(name, indices, weight.sizes()[0], 0, false, false);
  const std::vector<int64_t> bag = checked_positions(name, cards::bag_of_each(indices, offsets, map), INT64_MAX, 0, false, false);
  FB_CHECK(int64_t(at.size()) == n && int64_t(bag.size()) == n, name, ": ", at.size(), " indices, ", bag.size(), " places in offset2bag, ", n, " results");
  const Tensor g = packed(grad), w = packed(weight);
  const int64_t bags = g.sizes()[0];
  const bool known = visit_types<float, double, half, bfloat16>(w.dtype(), [&]<class T>() {
    parallel_for(0, n, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)), [&](int64_t lo, int64_t hi) {
      for (int64_t j = lo; j < hi; ++j) {
        Wide<T> sum = 0;
        const int64_t b = bag[size_t(j)];
        if (at[size_t(j)] != padding && b < bags) {
          const T* x = g.ptr<T>() + b * width;
          const T* y = w.ptr<T>() + at[size_t(j)] * width;
          for (int64_t k = 0; k < width; ++k) sum += Wide<T>(x[k]) * Wide<T>(y[k]);
        }
        out.ptr<T>()[j] = T(sum);
      }
    });
  });
  if (!known) raise_not_implemented(name, " is not there for type ", w.dtype());
}

}  // namespace

FB_KERNEL("_embedding_bag", embedding_bag_cpu)
FB_KERNEL("_embedding_bag_forward_only", embedding_bag_cpu)
FB_KERNEL("_embedding_bag_dense_backward", dense_backward_cpu)
FB_KERNEL("_embedding_bag_per_sample_weights_backward", samples_backward_cpu)

}  // namespace fb
