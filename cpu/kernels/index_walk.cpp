#include "cpu/kernels/index_walk.h"

#include <algorithm>
#include <cstring>

#include "core/threads.h"
#include "cpu/loops/copy.h"
#include "cpu/simd/memory.h"

namespace fb {
namespace {

template <int N> struct Bytes { alignas(N) char b[N]; };

template <class T, bool reading> void move_body(const IndexRun& r) {
  auto move = [](char* indexed, char* other) {
    T* a = reinterpret_cast<T*>(reading ? other : indexed);
    const T* b = reinterpret_cast<const T*>(reading ? indexed : other);
    *a = *b;
  };
  if (r.n == 1) {
    for (int64_t j = 0; j < r.m; ++j) move(r.indexed + r.at[j], r.other + r.other_at[j]);
    return;
  }
  const bool dense = r.step == int64_t(sizeof(T)) && r.other_step == int64_t(sizeof(T));
  constexpr int64_t kAhead = 6;  // rows that are asked for before they are read, 256 bytes of each
  for (int64_t j = 0; j < r.m; ++j) {
    char* p = r.indexed + r.at[j];
    char* q = r.other + r.other_at[j];
    if (reading && dense && j + kAhead < r.m)
      for (int64_t b = 0; b < std::min<int64_t>(r.n * int64_t(sizeof(T)), 256); b += 64) __builtin_prefetch(r.indexed + r.at[j + kAhead] + b);
    if (dense) std::memcpy(reading ? q : p, reading ? p : q, size_t(r.n) * sizeof(T));
    else
      for (int64_t k = 0; k < r.n; ++k) move(p + k * r.step, q + k * r.other_step);
  }
}
template <class T, bool reading> void move_line(const LineRun& line) {
  const LineRun r = line;
  for (int64_t k = 0; k < r.n; ++k) {
    T* indexed = reinterpret_cast<T*>(r.self + k * r.step + r.at[k] * r.jump);
    T* other = reinterpret_cast<T*>(r.other + k * r.other_step);
    if constexpr (reading) *other = *indexed;
    else *indexed = *other;
  }
}
template <bool reading> LineBody line_mover(int64_t item) {
  switch (item) {
    case 1: return &move_line<Bytes<1>, reading>;
    case 2: return &move_line<Bytes<2>, reading>;
    case 4: return &move_line<Bytes<4>, reading>;
    case 8: return &move_line<Bytes<8>, reading>;
    default: return &move_line<Bytes<16>, reading>;
  }
}
template <bool reading> IndexBody mover(int64_t item) {
  switch (item) {
    case 1: return &move_body<Bytes<1>, reading>;
    case 2: return &move_body<Bytes<2>, reading>;
    case 4: return &move_body<Bytes<4>, reading>;
    case 8: return &move_body<Bytes<8>, reading>;
    default: return &move_body<Bytes<16>, reading>;
  }
}

// Joins neighbouring dimensions that are one run in both, drops those of size 1.
void coalesce(Dims& sizes, Dims& a, Dims& b) {
  Dims s, x, y;
  for (int64_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (s.size() && x.back() == a[d] * sizes[d] && y.back() == b[d] * sizes[d]) {
      s.back() *= sizes[d];
      x.back() = a[d];
      y.back() = b[d];
    } else {
      s.push_back(sizes[d]);
      x.push_back(a[d]);
      y.push_back(b[d]);
    }
  }
  sizes = s;
  a = x;
  b = y;
}

}  // namespace

IndexBody index_read(int64_t item) { return mover<true>(item); }
IndexBody index_write(int64_t item) { return mover<false>(item); }
LineBody line_read(int64_t item) { return line_mover<true>(item); }
LineBody line_write(int64_t item) { return line_mover<false>(item); }

void run_index(IndexWalk& w, char* indexed, char* other, IndexBody body, bool reading) {
  const int64_t m = int64_t(w.at.size());
  const int64_t rest = numel_of(w.rest);
  if (m == 0 || rest == 0) return;
  std::vector<int64_t> other_at(size_t(m), 0);
  {
    Dims c(w.sizes.size(), 0);
    int64_t p = 0;
    for (int64_t j = 0; j < m; ++j) {
      other_at[size_t(j)] = p;
      for (int64_t d = w.sizes.size() - 1; d >= 0; --d) {
        p += w.other_strides[d];
        if (++c[d] < w.sizes[d]) break;
        p -= w.other_strides[d] * w.sizes[d];
        c[d] = 0;
      }
    }
  }
  coalesce(w.rest, w.rest_indexed, w.rest_other);
  const int64_t nr = w.rest.size();
  // The innermost dimension is a run of its own where it is long enough; positions are the inner loop otherwise.
  const bool run = nr > 0 && (w.rest[nr - 1] >= 4 || m < 4);
  const int64_t n = run ? w.rest[nr - 1] : 1;
  const int64_t step = run ? w.rest_indexed[nr - 1] : 0, other_step = run ? w.rest_other[nr - 1] : 0;
  const int64_t outer_dims = nr - (run ? 1 : 0), outer = rest / n;
  // Pieces of the work: reading, of positions; writing, of the run.
  const int64_t target = 16384;
  const int64_t piece = reading ? std::max<int64_t>(1, target / n) : std::max<int64_t>(64, target / m);
  const int64_t pieces = ((reading ? m : n) + piece - 1) / piece;
  const int64_t each = std::min(piece, reading ? m : n) * (reading ? n : m);
  parallel_for(0, outer * pieces, std::max<int64_t>(1, target / std::max<int64_t>(each, 1)), [&](int64_t lo, int64_t hi) {
    for (int64_t u = lo; u < hi; ++u) {
      int64_t o = u / pieces, a = 0, b = 0;
      const int64_t first = u % pieces * piece;
      for (int64_t d = outer_dims - 1; d >= 0; --d) {
        a += o % w.rest[d] * w.rest_indexed[d];
        b += o % w.rest[d] * w.rest_other[d];
        o /= w.rest[d];
      }
      if (reading)
        body({indexed + a, w.at.data() + first, other + b, other_at.data() + first, std::min(piece, m - first), n, step, other_step});
      else
        body({indexed + a + first * step, w.at.data(), other + b + first * other_step, other_at.data(), m, std::min(piece, n - first), step, other_step});
    }
  });
}

bool all_within(const int64_t* p, int64_t n, int64_t least, int64_t size) {
  const Vec<int64_t> low(least), high(size - 1);
  Mask<8> out = low > low;
  int64_t k = 0;
  for (; k + 4 <= n; k += 4) {
    const Vec<int64_t> x = load(p + k);
    out = out | (x < low) | (x > high);
  }
  bool bad = any(out);
  for (; k < n; ++k) bad |= p[k] < least || p[k] >= size;
  return !bad;
}

void raise_position(const char* name, const int64_t* p, int64_t n, int64_t least, int64_t size, int64_t dim, bool index_error) {
  const int64_t* bad = std::find_if(p, p + n, [=](int64_t x) { return x < least || x >= size; });
  raise(index_error ? ErrorKind::index : ErrorKind::runtime,
        text(name, ": index ", bad == p + n ? 0 : *bad, " is out of bounds for dimension ", dim, " of size ", size));
}

Positions::Positions(const Tensor& index) {
  if (index.numel() == 0) return;
  if (index.dtype() == DType::i64 && index.is_contiguous()) {
    p = index.ptr<int64_t>();
    return;
  }
  own.resize(size_t(index.numel()));
  copy_strided(reinterpret_cast<char*>(own.data()), byte_strides(contiguous_strides(index.sizes()), 8), DType::i64, index.ptr<char>(),
               byte_strides(index.strides(), index.item_bytes()), index.dtype(), index.sizes());
  p = own.data();
}

std::vector<int64_t> checked_positions(const char* name, const Tensor& index, int64_t size, int64_t dim, bool wrap, bool index_error) {
  const int64_t n = index.numel();
  Positions given(index);
  std::vector<int64_t> v = given.own.empty() ? std::vector<int64_t>(given.p, given.p + n) : std::move(given.own);
  if (all_within(v.data(), n, 0, size)) return v;
  const int64_t least = wrap ? -size : 0;
  if (!all_within(v.data(), n, least, size)) raise_position(name, v.data(), n, least, size, dim, index_error);
  for (int64_t& x : v) x += x < 0 ? size : 0;
  return v;
}

}  // namespace fb
