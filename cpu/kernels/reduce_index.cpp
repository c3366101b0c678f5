// max min argmax argmin with indices: the first extreme along a dimension, a NaN before any number.
#include <algorithm>
#include <memory>

#include "core/threads.h"
#include "cpu/kernels/reduce_bodies.h"
#include "cpu/loops/convert.h"
#include "cpu/simd/vec.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/reduce/shape.h"
#include "ops/reduce/tree.h"

namespace fb {
namespace {

template <class T> bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return x != x;
  else return false;
}

// The first place in a row of n where x holds `best`. Types: float, double, int64.
template <class T> int64_t place_of(const T* x, int64_t n, T best) {
  using V = Vec<T>;
  constexpr int L = V::lanes;
  int64_t i = 0;
  const V b(best);
  const bool nan = is_nan(best);
  for (; i + 4 * L <= n; i += 4 * L) {
    bool hit;
    if (nan) hit = any((load(x + i) != load(x + i)) | (load(x + i + L) != load(x + i + L)) |
                       (load(x + i + 2 * L) != load(x + i + 2 * L)) | (load(x + i + 3 * L) != load(x + i + 3 * L)));
    else hit = any((load(x + i) == b) | (load(x + i + L) == b) | (load(x + i + 2 * L) == b) | (load(x + i + 3 * L) == b));
    if (hit) break;
  }
  for (; i < n; ++i)
    if (nan ? is_nan(x[i]) : x[i] == best) return i;
  return 0;
}

// The first extreme so far. Blocks and pieces of a row are seen from its begin on.
template <class T> struct Extreme {
  T value{};
  int64_t place = -1;
  bool gives_way_to(T v, bool greatest) const {
    return place < 0 || (!is_nan(value) && (is_nan(v) || (greatest ? v > value : v < value)));
  }
};

// m rows of n elements `step` apart that start side by side.
template <class T, bool greatest>
void columns(T* __restrict value, int64_t* __restrict place, const T* x, int64_t m, int64_t n, int64_t step) {
  for (int64_t j = 0; j < m; ++j) {
    value[j] = x[j];
    place[j] = 0;
  }
  for (int64_t i = 1; i < n; ++i) {
    const T* __restrict r = x + i * step;
    for (int64_t j = 0; j < m; ++j) {
      const bool better = (greatest ? r[j] > value[j] : r[j] < value[j]) || (is_nan(r[j]) && !is_nan(value[j]));
      value[j] = better ? r[j] : value[j];
      place[j] = better ? i : place[j];
    }
  }
}

// out[k] over the kept indices k in row-major order; values or places may be absent.
void extreme_along(const Tensor* values, const Tensor* places, const Tensor& self, int64_t dim, bool greatest) {
  const DType c = sum_compute_type(self.dtype());
  const ReduceBody& body = greatest ? max_body(c) : min_body(c);
  const int64_t nd = self.ndim(), item = self.item_bytes();
  const int64_t n = nd ? self.sizes()[dim] : 1, step = nd ? self.strides()[dim] : 1;
  int64_t inner = 1, outer = 1;
  for (int64_t d = 0; d < nd; ++d) {
    if (d < dim) outer *= self.sizes()[d];
    if (d > dim) inner *= self.sizes()[d];
  }
  if (outer * inner == 0) return;
  // Where the dimensions behind dim form one line: taken as columns.
  int64_t inner_step = 1;
  bool line = true;
  for (int64_t d = nd - 1, expect = 0; d > dim; --d) {
    if (self.sizes()[d] == 1) continue;
    if (expect == 0) inner_step = self.strides()[d];
    else if (self.strides()[d] != expect) line = false;
    expect = self.strides()[d] * self.sizes()[d];
  }
  auto offset_of = [&](int64_t o, int64_t i) {
    int64_t at = 0;
    for (int64_t d = nd - 1; d > dim; --d) {
      at += i % self.sizes()[d] * self.strides()[d];
      i /= self.sizes()[d];
    }
    for (int64_t d = dim - 1; d >= 0; --d) {
      at += o % self.sizes()[d] * self.strides()[d];
      o /= self.sizes()[d];
    }
    return at;
  };
  const char* data = static_cast<const char*>(self.data());
  auto run = [&]<class T>() {
    const bool direct = dtype_of<T> == self.dtype();
    auto put = [&](int64_t k, const T* v, const int64_t* p, int64_t m) {
      if (values) convert_run(static_cast<char*>(values->data()) + k * item, item, values->dtype(), reinterpret_cast<const char*>(v), sizeof(T), c, m);
      if (places) std::copy_n(p, m, places->ptr<int64_t>() + k);
    };
    constexpr int64_t kTile = 64;
    if (line && inner_step == 1 && direct && inner >= 8) {
      const int64_t tiles = (inner + kTile - 1) / kTile;
      parallel_for(0, outer * tiles, std::max<int64_t>(1, 32768 / (n * kTile)), [&](int64_t a, int64_t z) {
        T v[kTile];
        int64_t p[kTile];
        for (int64_t u = a; u < z; ++u) {
          const int64_t o = u / tiles, i = u % tiles * kTile, m = std::min(kTile, inner - i);
          const T* x = reinterpret_cast<const T*>(data) + offset_of(o, i);
          if (greatest) columns<T, true>(v, p, x, m, n, step);
          else columns<T, false>(v, p, x, m, n, step);
          put(o * inner + i, v, p, m);
        }
      });
      return;
    }
    // Each row by itself, block by block through the tree's loops; a long one in pieces, which threads share.
    const bool straight = direct && (step == 1 || n == 1);
    constexpr int64_t kPiece = 32 * tree::block;
    auto piece = [&](int64_t k, int64_t i0, int64_t i1, T* buffer) {
      const char* row = data + offset_of(k / inner, k % inner) * item;
      Extreme<T> e;
      for (int64_t i = i0; i < i1; i += tree::block) {
        const int64_t m = std::min(tree::block, i1 - i);
        const T* x = reinterpret_cast<const T*>(row) + i;
        if (!straight) {
          convert_run(reinterpret_cast<char*>(buffer), sizeof(T), c, row + i * step * item, step * item, self.dtype(), m);
          x = buffer;
        }
        T v;
        body.rows(&v, x, 0, 1, m, nullptr, 0);
        if (e.gives_way_to(v, greatest)) e = {v, i + (places ? place_of(x, m, v) : 0)};
      }
      return e;
    };
    const int64_t count = outer * inner, pieces = (n + kPiece - 1) / kPiece;
    auto room = [&] { return std::unique_ptr<T[]>(straight ? nullptr : new T[size_t(std::min(n, tree::block))]); };
    if (pieces > 1) {
      std::unique_ptr<Extreme<T>[]> found(new Extreme<T>[size_t(count * pieces)]);
      parallel_for(0, count * pieces, 1, [&](int64_t a, int64_t z) {
        const auto buffer = room();
        for (int64_t u = a; u < z; ++u) {
          const int64_t i0 = u % pieces * kPiece;
          found[size_t(u)] = piece(u / pieces, i0, std::min(n, i0 + kPiece), buffer.get());
        }
      });
      for (int64_t k = 0; k < count; ++k) {
        Extreme<T> e;
        for (int64_t j = 0; j < pieces; ++j)
          if (const Extreme<T>& f = found[size_t(k * pieces + j)]; e.gives_way_to(f.value, greatest)) e = f;
        put(k, &e.value, &e.place, 1);
      }
      return;
    }
    parallel_for(0, count, std::max<int64_t>(1, 32768 / n), [&](int64_t a, int64_t z) {
      const auto buffer = room();
      for (int64_t k = a; k < z; ++k) {
        const Extreme<T> e = piece(k, 0, n, buffer.get());
        put(k, &e.value, &e.place, 1);
      }
    });
  };
  visit_types<float, double, int64_t>(c, run);
}

int64_t wrapped(int64_t dim, const Tensor& t) { return wrap_dim(dim, t.ndim()); }
void max_dim_cpu(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
  extreme_along(&values, &indices, self, wrapped(dim, self), true);
}
void min_dim_cpu(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim, bool) {
  extreme_along(&values, &indices, self, wrapped(dim, self), false);
}
// Without dim: the place in row-major order.
template <bool greatest> void arg_cpu(Tensor& out, const Tensor& self, std::optional<int64_t> dim, bool) {
  if (dim) return extreme_along(nullptr, &out, self, wrapped(*dim, self), greatest);
  Tensor flat = self;
  if (!self.is_contiguous()) {
    flat = Tensor::empty(self.sizes(), self.options());
    op_list<"copy_">(flat, self);
  }
  extreme_along(nullptr, &out, flat.alias(Ints{self.numel()}, Ints{1}, flat.offset()), 0, greatest);
}
void argmax_cpu(Tensor& out, const Tensor& self, std::optional<int64_t> dim, bool keep) { arg_cpu<true>(out, self, dim, keep); }
void argmin_cpu(Tensor& out, const Tensor& self, std::optional<int64_t> dim, bool keep) { arg_cpu<false>(out, self, dim, keep); }

}  // namespace

FB_KERNEL("max.dim", max_dim_cpu)
FB_KERNEL("min.dim", min_dim_cpu)
FB_KERNEL("argmax", argmax_cpu)
FB_KERNEL("argmin", argmin_cpu)

}  // namespace fb
