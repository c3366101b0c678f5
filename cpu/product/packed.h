// A right operand that is packed once and multiplied by many left operands of few rows, panel by panel, so that a caller
// can put more work between a product and its use (recurrent cells, attention). Sums are the engine's: one chain for each
// block of k, folded by the tree that pairs neighbours.
#pragma once
#include <bit>
#include <memory>
#include <new>

#include "cpu/product/kernel.h"
#include "cpu/product/pack.h"

namespace fb::product {

template <class Real>
class PackedPanels {
 public:
  using Tiles = RealTiles<Real>;
  static constexpr int width = Tiles::panel, rows = Tiles::rows;
  static constexpr int64_t block = block_length<Real>;

  // Room for panels of `width` columns, each at most k deep.
  PackedPanels(int64_t panels, int64_t k)
      : k_(k), data_(new(std::align_val_t(64)) Real[size_t(panels * k * width + 1)]) {}

  // Column c of `panel` is b[c * column_stride + i * k_stride] for c < columns and i < k; the other columns are zeros.
  void pack(int64_t panel, const Real* b, int64_t columns, int64_t column_stride, int64_t k_stride, int64_t k) {
    const Strided<Real> s{b, column_stride, k_stride};
    for (int64_t k0 = 0; k0 < k; k0 += block)
      pack_strided<Real, Real>(&s, 0, columns, k0, std::min(block, k - k0), width, at(panel) + k0 * width);
  }
  const Real* panel(int64_t i) const { return data_.get() + i * k_ * width; }

  // out[r * out_row + c] = sum over i < k of a[r * a_row + i] * column c of the panel, for `width` columns and m <= rows.
  void multiply(int64_t panel_index, const Real* a, int64_t a_row, int m, int64_t k, Real* out, int64_t out_row) const {
    const int64_t blocks = (k + block - 1) / block;
    if (blocks == 0) {
      for (int r = 0; r < m; ++r)
        for (int c = 0; c < width; ++c) out[r * out_row + c] = 0;
      return;
    }
    TileCall<Real> call;
    call.a_row = a_row;
    call.a_step = 1;
    call.b_step = width;
    if (blocks == 1) {
      call.merge = nullptr;
      call.merges = 0;
      call.k = k;
      call.a = a;
      call.b = panel(panel_index);
      call.out = out;
      call.out_row = out_row;
      return Tiles::tile(m, width, false)(call);
    }
    // The tree: after block i, as many pending sums are folded as i has trailing ones; at the end, all.
    alignas(64) Real sums[kLevels][rows * width];
    const Real* merge[kLevels];
    call.merge = merge;
    for (int64_t i = 0; i < blocks; ++i) {
      const bool last = i + 1 == blocks;
      const int pending = std::popcount(uint64_t(i));
      call.merges = last ? pending : std::countr_one(uint64_t(i));
      for (int d = 0; d < call.merges; ++d) merge[d] = sums[pending - 1 - d];
      call.k = std::min(block, k - i * block);
      call.a = a + i * block;
      call.b = panel(panel_index) + i * block * width;
      call.out = last ? out : sums[pending - call.merges];
      call.out_row = last ? out_row : width;
      Tiles::tile(m, width, false)(call);
    }
  }
  // sums[r * width + c] += sum over i < k of a[r + i * a_step] * column c of the panel: the left operand turned.
  void add_turned(int64_t panel_index, const Real* a, int64_t a_step, int m, int64_t k, Real* sums) const {
    const Real* merge[1] = {sums};
    TileCall<Real> call;
    call.a = a;
    call.a_row = 1;
    call.a_step = a_step;
    call.b = panel(panel_index);
    call.b_step = width;
    call.k = k;
    call.merge = merge;
    call.merges = 1;
    call.out = sums;
    call.out_row = width;
    Tiles::tile(m, width, false)(call);
  }

 private:
  struct Free {
    void operator()(Real* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  static constexpr int kLevels = 32;
  Real* at(int64_t i) { return data_.get() + i * k_ * width; }
  int64_t k_;
  std::unique_ptr<Real[], Free> data_;
};

}  // namespace fb::product
