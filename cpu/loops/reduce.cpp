#include "cpu/loops/reduce.h"

#include <algorithm>
#include <memory>

#include "core/threads.h"
#include "cpu/loops/convert.h"
#include "cpu/loops/copy.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"
#include "ops/reduce/tree.h"

namespace fb {

namespace {

constexpr int64_t kTile = 256;         // columns taken together
constexpr int64_t kGroup = 64;         // outputs whose short runs are taken together
constexpr int64_t kGrain = 32768;      // elements below which no other thread is asked

struct Axes {  // row-major, neighbours merged
  Dims sizes, strides;
  int64_t numel = 1;
  void add(int64_t n, int64_t s) {
    numel *= n;
    if (n == 1) return;
    if (sizes.size() && strides.back() == s * n) {
      sizes.back() *= n;
      strides.back() = s;
    } else {
      sizes.push_back(n);
      strides.push_back(s);
    }
  }
  int64_t offset(int64_t i) const {
    int64_t o = 0;
    for (int64_t d = sizes.size() - 1; d > 0; --d) {
      o += i % sizes[d] * strides[d];
      i /= sizes[d];
    }
    return sizes.size() ? o + i * strides[0] : 0;
  }
  int64_t step() const { return sizes.size() ? strides.back() : 0; }   // of the last dimension
  int64_t last() const { return sizes.size() ? sizes.back() : 1; }
};

struct Reducer {
  const ReduceBody& body;
  const char* data;
  DType stored;
  int64_t item, width;  // bytes of an element as stored, and as computed
  bool direct;          // elements need no conversion
  Axes kept, outer, inner;
  int64_t blocks, count;
  ReduceFinish finish;
  double number;
  const char* params;
  bool one_param;
  char* out;
  DType out_type;
  // columns: one kept dimension lies along the vector; `rest` are the others, for input and output
  int64_t vn = 0, vs = 0, vo = 0;
  Axes rest;
  Dims rest_out;

  const char* param(int64_t o) const { return params ? params + (one_param ? 0 : o * width) : nullptr; }

  // n elements from p on, `stride` elements apart, as compute type
  void fetch(char* dst, const char* p, int64_t stride, int64_t n) const {
    if (body.by_truth && stored != DType::boolean) {
      bool t[512];
      for (int64_t i = 0; i < n; i += 512) {
        const int64_t c = n - i < 512 ? n - i : 512;
        convert_run(reinterpret_cast<char*>(t), 1, DType::boolean, p + i * stride * item, stride * item, stored, c);
        convert_run(dst + i * width, width, body.compute, reinterpret_cast<char*>(t), 1, DType::boolean, c);
      }
    } else {
      convert_run(dst, width, body.as_bits && !is_integral(stored, true) ? DType::f64 : body.compute, p, stride * item, stored, n);
    }
  }
  void store(char* v, int64_t o, int64_t step, int64_t n) const {
    if (finish) finish(v, n, count, number);
    const int64_t b = item_size(out_type);
    convert_run(out + o * b, step * b, out_type, v, width, body.compute, n);
  }
  // The outer indices and the piece of the inner run that block b holds.
  void extent(int64_t b, int64_t& o0, int64_t& o1, int64_t& i0, int64_t& i1) const {
    const int64_t n = inner.numel;
    if (n > tree::block) {
      const int64_t per = tree::blocks_of_run(n);
      o0 = b / per, o1 = o0 + 1;
      i0 = b % per * tree::block;
      i1 = std::min(n, i0 + tree::block);
    } else {
      const int64_t runs = tree::runs_of_block(n);
      o0 = b * runs, o1 = std::min(outer.numel, o0 + runs);
      i0 = 0, i1 = n;
    }
  }

  // ---- along the inner run ----

  // Feeds [i0, i1) of the run at p to f(pointer, n): contiguous pieces in the compute type, whose first element is at lane 0.
  template <class F> void pieces(const char* p, int64_t i0, int64_t i1, char* buffer, F f) const {
    const bool flat = inner.sizes.size() <= 1;
    if (flat && direct && inner.step() == 1) return f(p + i0 * item, i1 - i0);
    if (flat) {
      fetch(buffer, p + i0 * inner.step() * item, inner.step(), i1 - i0);
    } else {
      const int64_t last = inner.last();
      for (int64_t i = i0; i < i1;) {
        const int64_t c = std::min(last - i % last, i1 - i);
        fetch(buffer + (i - i0) * width, p + inner.offset(i) * item, inner.step(), c);
        i += c;
      }
    }
    f(buffer, i1 - i0);
  }
  void block_along(const char* p, int64_t b, char* buffer, const char* q, char* result) const {
    int64_t o0, o1, i0, i1;
    extent(b, o0, o1, i0, i1);
    if (o1 - o0 == 1) {
      pieces(p + outer.offset(o0) * item, i0, i1, buffer, [&](const char* x, int64_t n) { body.rows(result, x, 0, 1, n, q, 0); });
      return;
    }
    alignas(64) char lanes[tree::lanes * 16];
    body.clear(lanes, tree::lanes);
    for (int64_t o = o0; o < o1; ++o)
      pieces(p + outer.offset(o) * item, i0, i1, buffer, [&](const char* x, int64_t n) { body.run(lanes, x, n, q); });
    body.fold(lanes, 1, 1, std::min<int64_t>(tree::lanes, i1 - i0), result);
  }
  // Blocks [b, end) of one output, one result after the other. Whole blocks of a run read in place are handed on four at a
  // time, from the four quarters of them: streams far apart are served fastest.
  void blocks_along(const char* p, int64_t b, int64_t end, char* buffer, const char* q, char* results) const {
    const bool in_place = direct && inner.sizes.size() <= 1 && inner.step() == 1 && inner.numel > tree::block;
    const int64_t per = tree::blocks_of_run(inner.numel), whole = inner.numel / tree::block;
    alignas(64) char four[4 * 16];
    while (b < end) {
      const int64_t quarter = in_place ? std::min(end - b, whole - b % per) / 4 : 0;
      if (quarter < 1) {
        block_along(p, b++, buffer, q, results);
        results += width;
        continue;
      }
      const char* x = p + (outer.offset(b / per) + b % per * tree::block) * item;
      for (int64_t k = 0; k < quarter; ++k) {
        body.rows(four, x + k * tree::block * item, quarter * tree::block, 4, tree::block, q, 0);
        for (int64_t j = 0; j < 4; ++j) std::copy_n(four + j * width, width, results + (j * quarter + k) * width);
      }
      b += 4 * quarter;
      results += 4 * quarter * width;
    }
  }
  // Several outputs at once, so that their short runs are read in the order of memory.
  void group_along(int64_t k, int64_t n, char* buffer, char* partial, char* results) const {
    alignas(64) char lanes[kGroup * tree::lanes * 16];
    const int64_t each = tree::lanes * width;
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t o0, o1, i0, i1;
      extent(b, o0, o1, i0, i1);
      body.clear(lanes, n * tree::lanes);
      for (int64_t o = o0; o < o1; ++o)
        for (int64_t j = 0; j < n; ++j)
          pieces(data + (kept.offset(k + j) + outer.offset(o)) * item, i0, i1, buffer,
                 [&](const char* x, int64_t c) { body.run(lanes + j * each, x, c, param(k + j)); });
      char* to = blocks > 1 ? partial + b * n * width : results;
      for (int64_t j = 0; j < n; ++j) body.fold(lanes + j * each, 1, 1, std::min<int64_t>(tree::lanes, i1 - i0), to + j * width);
    }
    if (blocks == 1) return;
    body.tree(partial, blocks, n);
    std::copy_n(partial, n * width, results);
  }
  void outputs_along(int64_t k0, int64_t k1) const {
    const bool plain = direct && inner.sizes.size() <= 1 && inner.step() == 1 && outer.numel == 1 && blocks == 1;
    std::unique_ptr<char[]> buffer, partial;
    if (!(direct && inner.sizes.size() <= 1 && inner.step() == 1)) buffer.reset(new char[size_t(std::min(tree::block, inner.numel) * width)]);
    if (blocks > 1) partial.reset(new char[size_t(blocks * kGroup * width)]);
    alignas(64) char results[128 * 16];
    for (int64_t k = k0; k < k1;) {
      int64_t n = std::min<int64_t>(128, k1 - k);
      if (plain && kept.sizes.size()) {
        n = std::min(n, kept.last() - k % kept.last());
        body.rows(results, data + kept.offset(k) * item, kept.step(), n, inner.numel, param(k), one_param ? 0 : 1);
      } else if (outer.numel > 1 && inner.numel <= tree::block) {
        n = std::min<int64_t>(n, kGroup);
        group_along(k, n, buffer.get(), partial.get(), results);
      } else {
        for (int64_t j = 0; j < n; ++j) {
          const char* p = data + kept.offset(k + j) * item;
          if (blocks == 1) block_along(p, 0, buffer.get(), param(k + j), results + j * width);
          else {
            blocks_along(p, 0, blocks, buffer.get(), param(k + j), partial.get());
            body.tree(partial.get(), blocks, 1);
            std::copy_n(partial.get(), width, results + j * width);
          }
        }
      }
      store(results, k, 1, n);
      k += n;
    }
  }
  void along() const {
    const int64_t each = inner.numel * outer.numel, total = each * kept.numel;
    if (blocks == 1 || total <= kGrain || kept.numel >= 2 * get_num_threads()) {
      if (total <= kGrain) return outputs_along(0, kept.numel);
      const int64_t grain = std::max<int64_t>(outer.numel > 1 ? std::min<int64_t>(kGroup, kept.numel / 4) : 1, kGrain / each);
      return parallel_for(0, kept.numel, grain, [&](int64_t a, int64_t z) { outputs_along(a, z); });
    }
    std::unique_ptr<char[]> partial(new char[size_t(blocks * kept.numel * width)]);
    parallel_for(0, blocks * kept.numel, 8, [&](int64_t a, int64_t z) {
      std::unique_ptr<char[]> buffer(new char[size_t(std::min(tree::block, inner.numel) * width)]);
      for (int64_t u = a; u < z;) {
        const int64_t k = u / blocks, b = u % blocks, end = std::min(blocks, b + z - u);
        blocks_along(data + kept.offset(k) * item, b, end, buffer.get(), param(k), partial.get() + u * width);
        u += end - b;
      }
    });
    for (int64_t k = 0; k < kept.numel; ++k) {
      char* v = partial.get() + k * blocks * width;
      body.tree(v, blocks, 1);
      store(v, k, 1, 1);
    }
  }

  // All of an input whose memory runs another way than its logical order: pieces of it that fit in the caches are laid
  // out in logical order, and reduced from there. False where such pieces would be too large.
  bool staged() const {
    if (kept.numel != 1 || outer.numel != 1) return false;
    int64_t d = 0;
    for (int64_t i = 1; i < inner.sizes.size(); ++i)
      if (std::abs(inner.strides[i]) < std::abs(inner.strides[d])) d = i;
    int64_t row = 1;  // elements of logical order for one index of the dimensions up to d
    for (int64_t i = d + 1; i < inner.sizes.size(); ++i) row *= inner.sizes[i];
    constexpr int64_t kPiece = 1 << 17, kRows = 16;
    const int64_t piece = std::max(kPiece, kRows * row);
    if (row % tree::block == 0) return rows_of_blocks(d, row), true;
    if (row == 1 || piece > 8 * kPiece) return false;
    Axes upto;
    Dims sizes(Ints(inner.sizes.data() + d, inner.sizes.size() - d)), strides;
    for (int64_t i = 0; i <= d; ++i) upto.sizes.push_back(inner.sizes[i]), upto.strides.push_back(inner.strides[i]);
    for (int64_t i = d; i < inner.sizes.size(); ++i) strides.push_back(inner.strides[i] * item);
    Dims flat(sizes.size());
    int64_t at = item;
    for (int64_t i = sizes.size() - 1; i >= 0; --i) flat[i] = at, at *= sizes[i];
    const int64_t per = piece / tree::block, last = inner.sizes[d];
    std::unique_ptr<char[]> partial(new char[size_t(blocks * width)]);
    parallel_for(0, blocks, per, [&](int64_t a, int64_t z) {
      const int64_t begin = a * tree::block, end = std::min(inner.numel, z * tree::block);
      const int64_t r0 = begin / row, r1 = (end + row - 1) / row;
      std::unique_ptr<char[]> memory(new char[size_t((r1 - r0) * row * item)]), buffer;
      if (!direct) buffer.reset(new char[size_t(tree::block * width)]);
      for (int64_t r = r0; r < r1;) {
        Dims box(sizes);
        box[0] = std::min(last - r % last, r1 - r);
        copy_strided(memory.get() + (r - r0) * row * item, flat, stored, data + upto.offset(r) * item, strides, stored, box);
        r += box[0];
      }
      for (int64_t b = a; b < z; ++b) {
        const int64_t i0 = b * tree::block, n = std::min(inner.numel, i0 + tree::block) - i0;
        const char* p = memory.get() + (i0 - r0 * row) * item;
        if (!direct) fetch(buffer.get(), p, 1, n);
        body.rows(partial.get() + b * width, direct ? p : buffer.get(), 0, 1, n, param(0), 0);
      }
    });
    body.tree(partial.get(), blocks, 1);
    store(partial.get(), 0, 1, 1);
    return true;
  }

  // The same where `row`, the elements for one index of the dimensions up to d, is whole blocks: memory is read as it lies,
  // with dimension d along the vector, and each block of each of its indices is reduced by itself.
  void rows_of_blocks(int64_t d, int64_t row) const {
    Reducer r = *this;
    r.inner = {};
    for (int64_t i = d + 1; i < inner.sizes.size(); ++i) r.inner.add(inner.sizes[i], inner.strides[i]);
    r.vs = inner.strides[d];
    Axes before;
    for (int64_t i = 0; i < d; ++i) before.add(inner.sizes[i], inner.strides[i]);
    const int64_t n = inner.sizes[d], tiles = (n + kTile - 1) / kTile, per = row / tree::block;
    const bool staging = !(direct && r.vs == 1);
    const size_t room = size_t(kTile * width);
    std::unique_ptr<char[]> partial(new char[size_t(blocks * width)]);
    parallel_for(0, before.numel * tiles * per, 1, [&](int64_t a, int64_t z) {
      std::unique_ptr<char[]> memory(new char[size_t(tree::lanes + 2 + (staging ? tree::lanes : 0)) * room + 64]);
      char* acc = memory.get();
      acc += (64 - reinterpret_cast<uintptr_t>(acc) % 64) % 64;
      char *own = acc + size_t(tree::lanes) * room, *result = own + room, *buffer = result + room;
      if (params)
        for (int64_t j = 0; j < kTile; ++j) std::copy_n(param(0), width, own + j * width);
      for (int64_t u = a; u < z; ++u) {
        const int64_t b = u % per, t = u / per % tiles * kTile, o = u / per / tiles, m = std::min(kTile, n - t);
        r.block_across(data + (before.offset(o) + t * r.vs) * item, m, b, acc, buffer, params ? own : nullptr, result);
        for (int64_t j = 0; j < m; ++j) std::copy_n(result + j * width, width, partial.get() + ((o * n + t + j) * per + b) * width);
      }
    });
    body.tree(partial.get(), blocks, 1);
    store(partial.get(), 0, 1, 1);
  }

  // ---- across: a kept dimension along the vector ----

  void block_across(const char* p, int64_t m, int64_t b, char* acc, char* buffer, const char* q, char* result) const {
    int64_t o0, o1, i0, i1;
    extent(b, o0, o1, i0, i1);
    const int64_t lanes = std::min<int64_t>(tree::lanes, i1 - i0);
    body.clear(acc, lanes * kTile);
    const int64_t last = inner.last(), step = inner.step();
    const bool straight = direct && vs == 1;
    for (int64_t o = o0; o < o1; ++o) {
      const char* base = p + outer.offset(o) * item;
      for (int64_t i = i0; i < i1;) {
        const int64_t c = std::min(last - i % last, i1 - i);
        const char* x = base + inner.offset(i) * item;
        if (straight) body.columns(acc, kTile, m, x, step, c, (i - i0) % tree::lanes, q);
        else
          for (int64_t r = 0; r < c; r += tree::lanes) {
            const int64_t rows = std::min<int64_t>(tree::lanes, c - r);
            for (int64_t j = 0; j < rows; ++j) fetch(buffer + j * kTile * width, x + (r + j) * step * item, vs, m);
            body.columns(acc, kTile, m, buffer, kTile, rows, (i - i0 + r) % tree::lanes, q);
          }
        i += c;
      }
    }
    body.fold(acc, kTile, m, lanes, result);
  }
  struct Unit {
    const char* p;
    int64_t o, m;
  };
  Unit unit(int64_t u) const {
    const int64_t tiles = (vn + kTile - 1) / kTile, j = u % tiles * kTile;
    int64_t r = u / tiles, o = j * vo, at = 0;
    for (int64_t d = rest.sizes.size() - 1; d >= 0; --d) {
      at += r % rest.sizes[d] * rest.strides[d];
      o += r % rest.sizes[d] * rest_out[d];
      r /= rest.sizes[d];
    }
    return {data + (at + j * vs) * item, o, std::min(kTile, vn - j)};
  }
  // The parameters of a tile, side by side.
  const char* tile_params(const Unit& t, char* room) const {
    if (!params) return nullptr;
    if (!one_param && vo == 1) return params + t.o * width;
    for (int64_t j = 0; j < t.m; ++j) std::copy_n(params + (one_param ? 0 : (t.o + j * vo) * width), width, room + j * width);
    return room;
  }
  void across() const {
    const int64_t units = (vn + kTile - 1) / kTile * rest.numel, each = inner.numel * outer.numel;
    const size_t room = size_t(kTile * width);
    const int64_t lanes = std::min<int64_t>(tree::lanes, inner.numel);
    const int64_t work = each * std::min(vn, kTile);
    const bool split = blocks > 1 && units < 2 * get_num_threads() && work > kGrain;
    std::unique_ptr<char[]> all;
    if (split) all.reset(new char[size_t(units * blocks) * room]);
    const bool staged = !(direct && vs == 1);
    auto some = [&](int64_t a, int64_t z, bool by_block) {
      // accumulators, parameters, results, staging
      std::unique_ptr<char[]> memory(new char[size_t(lanes + 2 + (staged ? tree::lanes : 0)) * room + 64]);
      char* acc = memory.get();
      acc += (64 - reinterpret_cast<uintptr_t>(acc) % 64) % 64;
      char *own = acc + size_t(lanes) * room, *result = own + room, *buffer = result + room;
      std::unique_ptr<char[]> partial;
      if (!by_block && blocks > 1) partial.reset(new char[size_t(blocks) * room]);
      for (int64_t u = a; u < z; ++u) {
        const Unit t = unit(by_block ? u / blocks : u);
        const char* q = tile_params(t, own);
        if (by_block) {
          block_across(t.p, t.m, u % blocks, acc, buffer, q, all.get() + size_t(u / blocks * blocks) * room + size_t(u % blocks * t.m * width));
        } else if (blocks == 1) {
          block_across(t.p, t.m, 0, acc, buffer, q, result);
          store(result, t.o, vo, t.m);
        } else {
          for (int64_t b = 0; b < blocks; ++b) block_across(t.p, t.m, b, acc, buffer, q, partial.get() + b * t.m * width);
          body.tree(partial.get(), blocks, t.m);
          store(partial.get(), t.o, vo, t.m);
        }
      }
    };
    if (split) {
      parallel_for(0, units * blocks, 1, [&](int64_t a, int64_t z) { some(a, z, true); });
      for (int64_t u = 0; u < units; ++u) {
        const Unit t = unit(u);
        char* v = all.get() + size_t(u * blocks) * room;
        body.tree(v, blocks, t.m);
        store(v, t.o, vo, t.m);
      }
    } else if (work * units <= kGrain) {
      some(0, units, false);
    } else {
      parallel_for(0, units, std::max<int64_t>(1, kGrain / work), [&](int64_t a, int64_t z) { some(a, z, false); });
    }
  }
};

}  // namespace

void reduce_into(const Tensor& out, const Tensor& x, uint64_t mask, const ReduceBody& body, ReduceFinish finish, double number,
                 const void* params, bool one_param) {
  if (out.numel() == 0) return;
  Reducer r{body, static_cast<const char*>(x.numel() ? x.data() : nullptr), x.dtype(), x.item_bytes(), item_size(body.compute), false,
            {}, {}, {}, 0, 0, finish, number, static_cast<const char*>(params), one_param, static_cast<char*>(out.data()), out.dtype(),
            0, 0, 0, {}, {}};
  r.direct = (x.dtype() == body.compute && !body.by_truth) ||
             (body.as_bits && x.item_bytes() == 8 && !x.is_complex());
  // Runs: a kept dimension ends one. The last run is the inner one.
  const int64_t nd = x.ndim();
  int64_t last_run = 0, run = 0;
  bool in_run = false;
  for (int64_t d = 0; d < nd; ++d) {
    const bool red = mask >> d & 1;
    if (red && !in_run) last_run = ++run;
    in_run = red;
  }
  run = 0;
  in_run = false;
  SmallVec<int64_t, 8> kept_dims;
  for (int64_t d = 0; d < nd; ++d) {
    const bool red = mask >> d & 1;
    if (red && !in_run) ++run;
    in_run = red;
    if (!red) {
      r.kept.add(x.sizes()[d], x.strides()[d]);
    } else if (run == last_run) {
      r.inner.add(x.sizes()[d], x.strides()[d]);
    } else {
      r.outer.add(x.sizes()[d], x.strides()[d]);
    }
  }
  r.count = r.inner.numel * r.outer.numel;
  r.blocks = tree::block_count(r.outer.numel, r.inner.numel);
  if (r.blocks == 0) {  // nothing to reduce
    alignas(64) char v[128 * 16];
    for (int64_t k = 0; k < r.kept.numel; k += 128) {
      const int64_t n = std::min<int64_t>(128, r.kept.numel - k);
      body.clear(v, n);
      r.store(v, k, 1, n);
    }
    return;
  }
  // The kept dimension with the smallest step, where it is smaller than the inner run's.
  const int64_t step = std::abs(r.inner.step());
  int64_t best = -1;
  for (int64_t d = 0; d < r.kept.sizes.size(); ++d)
    if (best < 0 || std::abs(r.kept.strides[d]) < std::abs(r.kept.strides[best])) best = d;
  if (r.inner.sizes.size() == 0) r.inner.add(1, 0);
  const bool across = best >= 0 && r.inner.numel > 1 && std::abs(r.kept.strides[best]) < step && r.kept.strides[best] != 0 &&
                      r.kept.sizes[best] >= 4;
  const bool pointless = r.inner.numel == 1 && best >= 0 && std::abs(r.kept.strides[best]) <= 1 && r.kept.sizes[best] >= 4;
  if (!across && !pointless) {
    // A large input whose memory runs another way than its logical order is laid out first.
    int64_t least = step;
    for (const Axes* axes : {&r.outer, &r.inner})
      for (int64_t s : axes->strides) least = std::min(least, std::abs(s));
    if (step > 4 && least < step && x.numel() > 4 * kGrain) {
      if (r.staged()) return;
      const Tensor flat = Tensor::empty(x.sizes(), x.options());
      GradMode no(false);
      op_list<"copy_">(flat, x);
      return reduce_into(out, flat, mask, body, finish, number, params, one_param);
    }
    return r.along();
  }
  int64_t o = 1;
  Dims outs(r.kept.sizes.size());
  for (int64_t d = r.kept.sizes.size() - 1; d >= 0; --d) {
    outs[d] = o;
    o *= r.kept.sizes[d];
  }
  for (int64_t d = 0; d < r.kept.sizes.size(); ++d) {
    if (d == best) {
      r.vn = r.kept.sizes[d];
      r.vs = r.kept.strides[d];
      r.vo = outs[d];
    } else {
      r.rest.sizes.push_back(r.kept.sizes[d]);
      r.rest.strides.push_back(r.kept.strides[d]);
      r.rest.numel *= r.kept.sizes[d];
      r.rest_out.push_back(outs[d]);
    }
  }
  r.across();
}

}  // namespace fb
