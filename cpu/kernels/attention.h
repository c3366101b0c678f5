// Fused attention on one type of numbers. A task takes rows of queries of one head (forward) or one head of keys (backward);
// within it, blocks of queries meet all keys they may look at while their scores stay in the cache. How rows are shared
// among tasks never shows: a row of scores is one row of the product, its softmax is that of cpu/kernels/softmax.cpp, and
// sums over keys and queries are cut into blocks by their index alone.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "core/threads.h"
#include "cpu/product/packed.h"  // before the loops, which keep a macro that it drops
#include "cpu/loops/row_loops.h"
#include "ops/math/math.h"

namespace fb::attention_loops {

// (batch, heads, length, features) with features adjacent.
template <class Real> struct Heads {
  Real* p = nullptr;
  int64_t batch = 0, head = 0, row = 0;
  explicit Heads(const Tensor& t) : p(t.ptr<Real>()), batch(t.strides()[0]), head(t.strides()[1]), row(t.strides()[2]) {}
  Real* at(int64_t b, int64_t h) const { return p + b * batch + h * head; }
};
// What is added to scores: any strides, already of type Real; p null where there is none.
template <class Real> struct MaskRows {
  const Real* p = nullptr;
  int64_t stride[4] = {0, 0, 0, 0};
  const Real* row(int64_t b, int64_t h, int64_t i, int64_t n, Real* buffer) const {
    const Real* q = p + b * stride[0] + h * stride[1] + i * stride[2];
    if (stride[3] == 1) return q;
    for (int64_t j = 0; j < n; ++j) buffer[j] = q[j * stride[3]];
    return buffer;
  }
};
struct Shape {
  int64_t batch, heads, shared, length, keys, features;  // `shared` heads of keys and values
  bool causal;
  double scale;
  int64_t group() const { return heads / shared; }
  // How many keys the queries before `end` may look at.
  int64_t visible(int64_t end) const { return causal ? std::min(keys, end) : keys; }
};

template <class Real> struct Attention {
  using Panels = product::PackedPanels<Real>;
  using T = RowTree<Real>;
  using V = Vec<Real>;
  static constexpr int width = Panels::width, rows = Panels::rows;
  static constexpr int64_t block = 8 * rows;  // queries
  static int64_t panels(int64_t n) { return (n + width - 1) / width; }
  template <class F> static void tiles(int64_t n, F f) {
    for (int64_t r = 0; r < n; r += rows) f(r, int(std::min<int64_t>(rows, n - r)));
  }
  // Rows of `from`, of `columns` elements, as the right operand of a product over rows or over columns.
  static void pack_over_columns(Panels& to, const Real* from, int64_t row, int64_t n, int64_t columns) {
    for (int64_t p = 0; p < panels(n); ++p) to.pack(p, from + p * width * row, std::min<int64_t>(width, n - p * width), row, 1, columns);
  }
  static void pack_over_rows(Panels& to, const Real* from, int64_t row, int64_t n, int64_t columns) {
    for (int64_t p = 0; p < panels(columns); ++p) to.pack(p, from + p * width, std::min<int64_t>(width, columns - p * width), 1, row, n);
  }
  static void product(const Panels& b, int64_t columns, const Real* a, int64_t a_row, int64_t n, int64_t k, Real* out, int64_t out_row) {
    for (int64_t p = 0; p < panels(columns); ++p)
      tiles(n, [&](int64_t r, int m) { b.multiply(p, a + r * a_row, a_row, m, k, out + r * out_row + p * width, out_row); });
  }
  // scale * score + mask.
  FB_SIMD static V masked(const Real* s, const Real* mask, V scale, int64_t i, int64_t c) {
    const V x = T::some(s + i, c) * scale;
    return mask ? x + T::some(mask + i, c) : x;
  }

  static void forward(const Shape& s, const Heads<Real>& q, const Heads<Real>& k, const Heads<Real>& v, const MaskRows<Real>& mask, const Tensor& out, Real* lse) {
    // Shares of some hundred queries, cut by the length alone.
    const int64_t shares = std::max<int64_t>(1, (s.length + 383) / 384), share = (panels_of_block(s.length) + shares - 1) / shares * block;
    const int64_t tasks = s.batch * s.heads * shares, pitch = panels(s.keys) * width;
    const Ints os = out.strides();
    parallel_for(0, tasks, 1, [&](int64_t lo, int64_t hi) {
      Panels kt(panels(s.keys), s.features), vs(panels(s.features), s.keys);
      std::vector<Real> scores(size_t(block * pitch)), sums(static_cast<size_t>(block)), results(size_t(block * panels(s.features) * width)), line(static_cast<size_t>(s.keys));
      int64_t packed_head = -1, packed_keys = 0;
      for (int64_t t = lo; t < hi; ++t) {
        const int64_t b = t / shares / s.heads, h = t / shares % s.heads, g = h / s.group();
        const int64_t begin = t % shares * share, end = std::min(s.length, begin + share);
        if (begin >= end) continue;
        const int64_t wanted = s.visible(end);
        if (packed_head != b * s.shared + g || packed_keys < wanted) {
          pack_over_columns(kt, k.at(b, g), k.row, wanted, s.features);
          pack_over_rows(vs, v.at(b, g), v.row, wanted, s.features);
          packed_head = b * s.shared + g;
          packed_keys = wanted;
        }
        for (int64_t r0 = begin; r0 < end; r0 += block) {
          const int64_t n = std::min(block, end - r0), seen = s.visible(r0 + n), wide = panels(s.features) * width;
          product(kt, seen, q.at(b, h) + r0 * q.row, q.row, n, s.features, scores.data(), pitch);
          for (int64_t r = 0; r < n; ++r) {
            const int64_t own = s.visible(r0 + r + 1);
            const Real* added = mask.p ? mask.row(b, h, r0 + r, own, line.data()) : nullptr;
            const auto [greatest, sum] = softmax(scores.data() + r * pitch, added, Real(s.scale), own, seen);
            sums[size_t(r)] = sum;
            lse[(b * s.length + r0 + r) * s.heads + h] = greatest + math::log(sum);
          }
          product(vs, s.features, scores.data(), pitch, n, seen, results.data(), wide);
          Real* o = out.ptr<Real>() + b * os[0] + h * os[1] + r0 * os[2];
          for (int64_t r = 0; r < n; ++r) {
            const Real part = sums[size_t(r)] == 0 ? Real(0) : 1 / sums[size_t(r)];
            for (int64_t e = 0; e < s.features; ++e) o[r * os[2] + e * os[3]] = results[size_t(r * wide + e)] * part;
          }
        }
      }
    });
  }

  // Turns a row of scores into exponentials, zero from n to `seen`; gives their greatest logarithm and their sum.
  static std::pair<Real, Real> softmax(Real* x, const Real* mask, Real factor, int64_t n, int64_t seen) {
    const V scale(factor);
    const Real m = T::template total<folds::max>(n, [&](V a, int64_t i, int64_t c) {
      const V z = masked(x, mask, scale, i, c);
      T::put(x + i, z, c);
      return folds::greater_of(a, z);
    });
    Real sum = 0;
    if (m == -std::numeric_limits<Real>::infinity()) {
      for (int64_t j = 0; j < n; ++j) x[j] = 0;
    } else {
      const V shift(m);
      sum = T::template total<folds::sum>(n, [&](V a, int64_t i, int64_t c) {
        const V e = math::exp(T::some(x + i, c) - shift);
        T::put(x + i, e, c);
        return a + e;
      });
    }
    for (int64_t j = n; j < seen; ++j) x[j] = 0;
    return {m, sum};
  }

  static void backward(const Shape& s, const Heads<Real>& go, const Heads<Real>& q, const Heads<Real>& k, const Heads<Real>& v, const Heads<Real>& out, const Tensor& lse,
                       const MaskRows<Real>& mask, const Heads<Real>& gq, const Heads<Real>& gk, const Heads<Real>& gv) {
    const int64_t pitch = panels(s.keys) * width, wide = panels(s.features) * width, key_tiles = (s.keys + rows - 1) / rows;
    const Ints ls = lse.strides();
    parallel_for(0, s.batch * s.shared, 1, [&](int64_t lo, int64_t hi) {
      Panels kt(panels(s.keys), s.features), vt(panels(s.keys), s.features), ks(panels(s.features), s.keys), qs(panels(s.features), block), gs(panels(s.features), block);
      std::vector<Real> weights(size_t(block * pitch)), slopes(size_t(block * pitch)), results(size_t(block * wide)), line(static_cast<size_t>(s.keys));
      // Gradients of keys and values, tile by tile.
      constexpr int64_t tile = rows * width;
      std::vector<Real> dk(size_t(panels(s.features) * key_tiles * tile)), dv(dk.size());
      for (int64_t t = lo; t < hi; ++t) {
        const int64_t b = t / s.shared, g = t % s.shared;
        pack_over_columns(kt, k.at(b, g), k.row, s.keys, s.features);
        pack_over_columns(vt, v.at(b, g), v.row, s.keys, s.features);
        pack_over_rows(ks, k.at(b, g), k.row, s.keys, s.features);
        std::fill(dk.begin(), dk.end(), Real(0));
        std::fill(dv.begin(), dv.end(), Real(0));
        for (int64_t h = g * s.group(); h < (g + 1) * s.group(); ++h)
          for (int64_t r0 = 0; r0 < s.length; r0 += block) {
            const int64_t n = std::min(block, s.length - r0), seen = s.visible(r0 + n);
            const Real *qr = q.at(b, h) + r0 * q.row, *gr = go.at(b, h) + r0 * go.row, *yr = out.at(b, h) + r0 * out.row;
            pack_over_rows(qs, qr, q.row, n, s.features);
            pack_over_rows(gs, gr, go.row, n, s.features);
            product(kt, seen, qr, q.row, n, s.features, weights.data(), pitch);
            product(vt, seen, gr, go.row, n, s.features, slopes.data(), pitch);
            for (int64_t r = 0; r < n; ++r) {
              const int64_t own = s.visible(r0 + r + 1);
              const Real* added = mask.p ? mask.row(b, h, r0 + r, own, line.data()) : nullptr;
              const Real dot = T::template total<folds::sum>(
                  s.features, [&](V a, int64_t i, int64_t c) { return fma(T::some(gr + r * go.row + i, c), T::some(yr + r * out.row + i, c), a); });
              row_slopes(weights.data() + r * pitch, slopes.data() + r * pitch, added, Real(s.scale), lse.ptr<Real>()[b * ls[0] + h * ls[1] + (r0 + r) * ls[2]], dot, own, seen);
            }
            for (int64_t p = 0; p < panels(s.features); ++p)
              tiles(seen, [&](int64_t j, int m) {
                const int64_t at = (p * key_tiles + j / rows) * tile;
                gs.add_turned(p, weights.data() + j, pitch, m, n, dv.data() + at);
                qs.add_turned(p, slopes.data() + j, pitch, m, n, dk.data() + at);
              });
            product(ks, s.features, slopes.data(), pitch, n, seen, results.data(), wide);
            Real* to = gq.at(b, h) + r0 * gq.row;
            for (int64_t r = 0; r < n; ++r)
              for (int64_t e = 0; e < s.features; ++e) to[r * gq.row + e] = results[size_t(r * wide + e)];
          }
        auto put = [&](const std::vector<Real>& from, const Heads<Real>& to) {
          for (int64_t j = 0; j < s.keys; ++j)
            for (int64_t e = 0; e < s.features; ++e)
              to.at(b, g)[j * to.row + e] = from[size_t((e / width * key_tiles + j / rows) * tile + j % rows * width + e % width)];
        };
        put(dk, gk);
        put(dv, gv);
      }
    });
  }
  // From scores and the gradients of weights: the weights, and the gradients of scores.
  static void row_slopes(Real* x, Real* d, const Real* mask, Real factor, Real lse, Real dot, int64_t n, int64_t seen) {
    if (lse == -std::numeric_limits<Real>::infinity()) n = 0;
    const V scale(factor), shift(lse), inner(dot);
    T::each(n, [&](int64_t i, int64_t c) {
      const V p = math::exp(masked(x, mask, scale, i, c) - shift);
      T::put(x + i, p, c);
      T::put(d + i, p * (T::some(d + i, c) - inner) * scale, c);
    });
    for (int64_t j = n; j < seen; ++j) x[j] = d[j] = 0;
  }

 private:
  static int64_t panels_of_block(int64_t length) { return (length + block - 1) / block; }
};

}  // namespace fb::attention_loops
