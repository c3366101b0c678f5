// The product engine: every matrix product and convolution is m × n sums over k, cut into register
// tiles, k blocks and tasks. How it is cut never shows in the bits: a sum is one chain per k block
// (kernel.h), and blocks are folded by the tree that pairs neighbours level by level.
#pragma once
#include <bit>

#include "core/threads.h"
#include "cpu/product/kernel.h"
#include "cpu/product/pack.h"
#include "cpu/product/scratch.h"

namespace fb::product {

// Where results go. `store` receives finished sums (rows × cols elements, rows `panel` reals
// apart). Where `direct` is set, element (i, j) is just direct[i * i_stride + column(j)] with
// consecutive columns adjacent, but for a jump after every `run` columns; whole tiles are then
// written in place.
template <class Real>
struct Output {
  void (*store)(const void* target, const Real* tile, int64_t i0, int rows, int64_t j0,
                int cols) = nullptr;
  const void* target = nullptr;
  Real* direct = nullptr;
  int64_t i_stride = 0, run = INT64_MAX, run_stride = 0;
};

template <class Real>
struct Problem {
  int64_t m, n, k;
  Operand<Real> a, b;
  Output<Real> out;
};

template <class Tiles>
class Engine {
 public:
  using Real = typename Tiles::Real;
  static constexpr int unit = Tiles::unit, panel = Tiles::panel, columns = Tiles::columns;
  static constexpr int tile_size = Tiles::rows * panel;
  static constexpr int64_t block = block_length<Real>;

  static void multiply(const Problem<Real>& p) {
    if (p.m <= 0 || p.n <= 0) return;
    Engine(p).run();
  }

 private:
  explicit Engine(const Problem<Real>& p)
      : p_(p),
        a_panels_((p.m + Tiles::rows - 1) / Tiles::rows),
        a_base_(p.m / a_panels_),
        a_longer_(p.m % a_panels_),
        b_panels_((p.n + columns - 1) / columns),
        blocks_(std::max<int64_t>(1, (p.k + block - 1) / block)) {}

  static int usable_threads() { return in_parallel_region() ? 1 : get_num_threads(); }
  // Rows are shared evenly among panels, so that no panel is much lower than the others.
  int64_t first_row(int64_t ip) const { return ip * a_base_ + std::min(ip, a_longer_); }
  int panel_rows(int64_t ip) const { return int(a_base_ + (ip < a_longer_)); }
  // Whether tiles of so many columns are whole vectors, read and written in place.
  static bool whole(int64_t cols) { return unit == 1 && (cols == columns || cols == columns / 2); }
  int64_t block_size(int64_t q) const { return std::min(block, p_.k - q * block); }

  void run() {
    const int64_t m = p_.m, n = p_.n, k = p_.k;
    const int64_t work = m * n * k * unit * unit;
    const bool small =
        (m + n) * k * unit * int64_t(sizeof(Real)) <= 160 * 1024 && m * n <= 128 * 128;
    const bool can_a = p_.a.direct && unit == 1,
               can_b = p_.b.direct && p_.b.i_stride == 1 && unit == 1;
    if (small) {
      direct_a_ = can_a;
      // Rows of B far apart share the cache's sets: worth reading in place a few times only.
      direct_b_ =
          can_b && (a_panels_ <= 3 || p_.b.k_stride * k * int64_t(sizeof(Real)) <= 16 * 1024);
      if (work <= 1 << 19 || usable_threads() == 1)
        return task(0, a_panels_, 0, b_panels_, 0, blocks_, nullptr);
    } else {
      direct_a_ = can_a && b_panels_ <= 2;
      direct_b_ = can_b && ((a_panels_ == 1 && (p_.b.k_stride <= 256 || k <= 32)) ||
                            (a_panels_ <= 3 && p_.b.k_stride <= 32));
    }
    const int threads = usable_threads();
    // Enough tasks for an even share, each of at least some tens of microseconds.
    const int64_t wanted =
        threads == 1 ? 1 : std::min<int64_t>(threads * 6, std::max<int64_t>(1, work / (1 << 18)));
    // The smaller operand is packed once for all tasks; each task packs its own part of the other.
    const bool share_a = m <= n;
    const int64_t panels = share_a ? b_panels_ : a_panels_;
    const int64_t most = share_a ? cached_b : cached_a;  // private panels that stay in the L2 cache
    const int64_t tasks = std::min(panels, std::max((panels + most - 1) / most, wanted));
    const int64_t shared_bytes = (share_a ? m : n) * k * unit * int64_t(sizeof(Real));
    const bool too_few = tasks * 2 <= wanted || tasks < std::min<int64_t>(threads, wanted);
    if (blocks_ >= 4 && m * n <= max_chunk_sums && (too_few || shared_bytes > max_shared_bytes))
      return by_chunks(wanted);
    if (tasks == 1 && (share_a ? b_panels_ : a_panels_) <= most && shared_bytes < 256 * 1024)
      return task(0, a_panels_, 0, b_panels_, 0, blocks_, nullptr);
    // A shared operand beyond the cache is taken in regions.
    const int64_t shared_panels = share_a ? a_panels_ : b_panels_;
    // A product of no terms (k = 0) is one region too: its zeros have to be written.
    const int64_t regions = std::max<int64_t>(1, (shared_bytes + max_shared_bytes - 1) / max_shared_bytes);
    for (int64_t r = 0; r < regions; ++r) {
      const int64_t s0 = shared_panels * r / regions, s1 = shared_panels * (r + 1) / regions;
      if (s0 == s1) continue;
      share(share_a, s0, s1);
      parallel_for(0, tasks, 1, [&](int64_t lo, int64_t hi) {
        for (int64_t t = lo; t < hi; ++t) {
          const int64_t p0 = panels * t / tasks, p1 = panels * (t + 1) / tasks;
          if (share_a)
            task(s0, s1, p0, p1, 0, blocks_, nullptr);
          else
            task(p0, p1, s0, s1, 0, blocks_, nullptr);
        }
      });
      shared_a_ = shared_b_ = nullptr;
    }
    trim_scratch();
  }

  // Packs panels [s0, s1) of one operand for every k block: [block][panel][k][width].
  void share(bool of_a, int64_t s0, int64_t s1) {
    if (of_a ? direct_a_ : direct_b_) return;
    shared_first_ = s0;
    shared_rows_ = of_a ? first_row(s1) - first_row(s0) : (s1 - s0) * columns;
    Real* to = scratch<Real>(Slot::shared, shared_rows_ * p_.k * unit);
    const int64_t group = 16, groups = (s1 - s0 + group - 1) / group;
    parallel_for(0, groups * blocks_, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t t = lo; t < hi; ++t) {
        const int64_t q = t / groups, g0 = s0 + t % groups * group, g1 = std::min(s1, g0 + group);
        Real* base = to + shared_rows_ * q * block * unit;
        if (of_a)
          pack_a(g0, g1, q, base + (first_row(g0) - first_row(s0)) * block_size(q) * unit);
        else
          pack_b(g0, g1, q, base + (g0 - s0) * columns * block_size(q) * unit);
      }
    });
    (of_a ? shared_a_ : shared_b_) = to;
  }

  void pack_a(int64_t ip0, int64_t ip1, int64_t q, Real* to) const {
    const int64_t kn = block_size(q);
    for (int64_t ip = ip0; ip < ip1; ++ip) {
      const int r = panel_rows(ip);
      p_.a.pack(p_.a.source, first_row(ip), r, q * block, kn, r, to);
      to += r * kn * unit;
    }
  }
  void pack_b(int64_t jp0, int64_t jp1, int64_t q, Real* to) const {
    const int64_t j0 = jp0 * columns, j1 = std::min(p_.n, jp1 * columns);
    p_.b.pack(p_.b.source, j0, j1 - j0, q * block, block_size(q), columns, to);
  }

  // The sums of tiles [a0, a1) × [b0, b1) over blocks [q0, q1). Where `chunk` is null the blocks
  // are all there are and results go to the output; else sums go to chunk, tile by tile.
  void task(int64_t a0, int64_t a1, int64_t b0, int64_t b1, int64_t q0, int64_t q1,
            Real* chunk) const {
    const int64_t count = q1 - q0, depth = std::min(p_.k, q1 * block) - q0 * block;
    const int64_t longest = std::min(block, depth);
    const bool ragged = b1 * columns > p_.n && !whole(p_.n - (b1 - 1) * columns),
               pack_own_a = !shared_a_ && !direct_a_;
    const bool pack_own_b = !shared_b_ && (!direct_b_ || ragged);
    const int64_t packed_b0 = direct_b_ ? b1 - 1 : b0;
    // Bands of rows take all their k blocks in turn, so that pending sums stay in the cache; packed
    // columns are then kept for all blocks, unless that is too much.
    const bool keep_b =
        pack_own_b && (b1 - packed_b0) * panel * depth * int64_t(sizeof(Real)) <= max_kept_bytes;
    const int64_t band = !pack_own_b || keep_b ? std::min<int64_t>(resident_a, a1 - a0) : a1 - a0;
    const int64_t tiles = band * (b1 - b0), level_size = tiles * tile_size;
    const int64_t levels = std::bit_width(uint64_t(count - 1));
    Real* sums = levels ? scratch<Real>(Slot::sums, levels * level_size) : nullptr;
    Real* own_a =
        pack_own_a ? scratch<Real>(Slot::a, band * Tiles::rows * longest * unit) : nullptr;
    Real* own_b =
        pack_own_b ? scratch<Real>(Slot::b, (b1 - packed_b0) * (keep_b ? depth : longest) * panel)
                   : nullptr;
    for (int64_t band0 = a0; band0 < a1; band0 += band) {
      const int64_t band1 = std::min(a1, band0 + band);
      for (int64_t q = q0; q < q1; ++q) {
        const int64_t kn = block_size(q), k0 = q * block;
        Real* here_b = keep_b ? own_b + (k0 - q0 * block) * (b1 - packed_b0) * panel : own_b;
        if (pack_own_a) pack_a(band0, band1, q, own_a);
        if (pack_own_b && (!keep_b || band0 == a0)) pack_b(packed_b0, b1, q, here_b);
        // The tree: after block i, as many pending sums are folded as i has trailing ones; at the
        // end, all.
        const int64_t i = q - q0;
        const bool last = q + 1 == q1;
        const int pending = std::popcount(uint64_t(i));
        const int merges = last ? pending : std::countr_one(uint64_t(i));
        for (int64_t s0 = band0; s0 < band1; s0 += resident_a) {
          const int64_t s1 = std::min(band1, s0 + resident_a);
          for (int64_t jp = b0; jp < b1; ++jp) {
            const Real* b = nullptr;  // where B is read in place
            if (shared_b_)
              b = shared_b_ + (shared_rows_ * k0 + (jp - shared_first_) * columns * kn) * unit;
            else if (pack_own_b && jp >= packed_b0)
              b = here_b + (jp - packed_b0) * kn * panel;
            column_of_tiles(jp, s0, s1, q, b, own_a, band0, sums, level_size,
                            (jp - b0) * band - band0, pending, merges, last,
                            chunk ? chunk + ((jp - b0) * (a1 - a0) - a0) * tile_size : nullptr);
          }
        }
      }
    }
  }

  // Tiles [s0, s1) of one panel of B for block q. Pending sums of tile ip lie at sums, tile number
  // first_tile + ip of each level; finished ones go to chunk (if not null) or to the output.
  void column_of_tiles(int64_t jp, int64_t s0, int64_t s1, int64_t q, const Real* b,
                       const Real* own_a, int64_t own_first, Real* sums, int64_t level_size,
                       int64_t first_tile, int pending, int merges, bool last, Real* chunk) const {
    const int64_t j0 = jp * columns, kn = block_size(q), k0 = q * block;
    const int cols = int(std::min<int64_t>(columns, p_.n - j0));
    const bool packed = !direct_a_;
    TileCall<Real> call;
    call.k = kn;
    call.b = b;
    call.b_step = panel;
    if (direct_b_ && whole(cols)) {
      call.b = p_.b.direct + j0 + k0 * p_.b.k_stride;
      call.b_step = p_.b.k_stride;
    }
    Real* place = nullptr;
    if (last && !chunk && p_.out.direct && whole(cols)) {
      const int64_t at = j0 % p_.out.run;
      if (at + cols <= p_.out.run) place = p_.out.direct + j0 / p_.out.run * p_.out.run_stride + at;
    }
    const Real* merge[64];
    alignas(64) Real staged[tile_size];
    call.merge = merge;
    call.merges = merges;
    for (int64_t ip = s0; ip < s1; ++ip) {
      const int64_t r0 = first_row(ip), tile = (first_tile + ip) * tile_size;
      const int rows = panel_rows(ip);
      if (packed) {
        call.a = shared_a_
                     ? shared_a_ + (shared_rows_ * k0 + (r0 - first_row(shared_first_)) * kn) * unit
                     : own_a + (r0 - first_row(own_first)) * kn * unit;
      } else {
        call.a = p_.a.direct + r0 * p_.a.i_stride + k0 * p_.a.k_stride;
        call.a_row = p_.a.i_stride;
        call.a_step = p_.a.k_stride;
      }
      for (int d = 0; d < merges; ++d) merge[d] = sums + (pending - 1 - d) * level_size + tile;
      call.out_row = panel;
      if (!last) {
        call.out = sums + (pending - merges) * level_size + tile;
      } else if (chunk) {
        call.out = chunk + ip * tile_size;
      } else if (place) {
        call.out = place + r0 * p_.out.i_stride;
        call.out_row = p_.out.i_stride;
      } else {
        call.out = staged;
      }
      Tiles::tile(rows, cols, packed)(call);
      if (call.out == staged) p_.out.store(p_.out.target, staged, r0, rows, j0, cols);
    }
  }

  // Few sums over many blocks: chunks of 2^j blocks, each a whole subtree, are computed apart and
  // then folded as the tree prescribes.
  void by_chunks(int64_t wanted) {
    const int64_t tiles = a_panels_ * b_panels_, size = tiles * tile_size;
    int64_t length = 1;
    while (length < blocks_ &&
           (blocks_ / length > 2 * wanted || blocks_ / length * size > max_chunk_reals))
      length *= 2;
    const int64_t count = (blocks_ + length - 1) / length;
    if (count == 1) return task(0, a_panels_, 0, b_panels_, 0, blocks_, nullptr);
    Real* chunks = scratch<Real>(Slot::chunks, count * size);
    parallel_for(0, count, 1, [&](int64_t lo, int64_t hi) {
      for (int64_t c = lo; c < hi; ++c)
        task(0, a_panels_, 0, b_panels_, c * length, std::min(blocks_, (c + 1) * length),
             chunks + c * size);
    });
    parallel_for(0, tiles, 64, [&](int64_t lo, int64_t hi) {
      for (int64_t t = lo; t < hi; ++t) {
        const int64_t jp = t / a_panels_, ip = t % a_panels_;
        const int64_t used = panel_rows(ip) * panel;
        for (int64_t step = 1; step < count; step *= 2) {
          for (int64_t c = 0; c + step < count; c += 2 * step) {
            Real* x = chunks + c * size + t * tile_size;
            const Real* y = x + step * size;
            for (int64_t e = 0; e < used; ++e) x[e] += y[e];
          }
        }
        const int cols = int(std::min<int64_t>(columns, p_.n - jp * columns));
        p_.out.store(p_.out.target, chunks + t * tile_size, first_row(ip), panel_rows(ip),
                     jp * columns, cols);
      }
    });
    trim_scratch();
  }

  // Sizes in panels, for 512 KiB of L2: a private block fills about half of it, and the part of a
  // shared left operand that meets it a third.
  static constexpr int64_t panel_bytes_a = Tiles::rows * unit * block * sizeof(Real);
  static constexpr int64_t panel_bytes_b = panel * block * sizeof(Real);
  static constexpr int64_t cached_a = 192 * 1024 / panel_bytes_a,
                           cached_b = 256 * 1024 / panel_bytes_b;
  static constexpr int64_t resident_a = 192 * 1024 / panel_bytes_a;
  static constexpr int64_t max_kept_bytes = int64_t(2) << 20;
  static constexpr int64_t max_shared_bytes = int64_t(16) << 20;
  static constexpr int64_t max_chunk_sums = int64_t(1) << 19;
  static constexpr int64_t max_chunk_reals = int64_t(1) << 24;

  const Problem<Real>& p_;
  int64_t a_panels_, a_base_, a_longer_, b_panels_, blocks_;
  bool direct_a_ = false, direct_b_ = false;
  const Real *shared_a_ = nullptr, *shared_b_ = nullptr;
  int64_t shared_first_ = 0, shared_rows_ = 0;
};

// One instantiation for each type, in product_*.cpp.
void multiply(const Problem<float>& p);
void multiply(const Problem<double>& p);
void multiply_complex(const Problem<float>& p);
void multiply_complex(const Problem<double>& p);

}  // namespace fb::product
