// The driver of pointwise loops: walks rows of a broadcast loop and hands the card's body contiguous runs of its
// compute type, staging whatever is strided, broadcast or of another type in buffers that stay in the first cache.
#include "cpu/loops/pointwise.h"

#include "core/threads.h"
#include "cpu/loops/convert.h"

namespace fb {
namespace {

constexpr int64_t kChunk = 512;        // elements staged at a time
constexpr int64_t kGrain = 1 << 15;    // elements of a block that one thread takes
constexpr int64_t kStreamBytes = 16 << 20;  // larger outputs are stored past the cache

struct Row {
  char* ptr[PointwiseLoop::kMax];
};

// One run of n elements along dimension 0.
void run_row(const PointwiseLoop& L, const Row& row, int64_t n, bool stream) {
  bool direct[PointwiseLoop::kMax];
  bool all = true;
  for (int i = 0; i <= L.nin; ++i) {
    const auto& o = L.op[i];
    direct[i] = o.stored == o.computed && (o.strides[0] == item_size(o.computed) || n == 1);
    all = all && direct[i];
  }
  if (all) return L.body(row.ptr[0], row.ptr + 1, n, L.attrs, stream);
  alignas(64) char staged[PointwiseLoop::kMax][kChunk * 16];
  // A broadcast operand fills its buffer once.
  const int64_t first = n < kChunk ? n : kChunk;
  for (int i = 1; i <= L.nin; ++i)
    if (!direct[i] && L.op[i].strides[0] == 0)
      convert_run(staged[i], item_size(L.op[i].computed), L.op[i].computed, row.ptr[i], 0, L.op[i].stored, first);
  char* ptr[PointwiseLoop::kMax];
  for (int64_t at = 0; at < n; at += kChunk) {
    const int64_t m = n - at < kChunk ? n - at : kChunk;
    for (int i = 0; i <= L.nin; ++i) {
      const auto& o = L.op[i];
      char* p = row.ptr[i] + at * o.strides[0];
      if (direct[i]) ptr[i] = p;
      else {
        ptr[i] = staged[i];
        if (i > 0 && o.strides[0] != 0)
          convert_run(staged[i], item_size(o.computed), o.computed, p, o.strides[0], o.stored, m);
      }
    }
    L.body(ptr[0], ptr + 1, m, L.attrs, stream && direct[0]);
    if (!direct[0]) {
      const auto& o = L.op[0];
      convert_run(row.ptr[0] + at * o.strides[0], o.strides[0], o.stored, staged[0], item_size(o.computed), o.computed, m);
    }
  }
}

void run_range(const PointwiseLoop& L, int64_t lo, int64_t hi, bool stream) {
  Row row;
  if (L.ndim == 1) {
    for (int i = 0; i <= L.nin; ++i) row.ptr[i] = L.op[i].data + lo * L.op[i].strides[0];
    return run_row(L, row, hi - lo, stream);
  }
  // Coordinates of element lo, then row by row.
  SmallVec<int64_t, 8> at(L.ndim);
  int64_t rest = lo;
  for (int d = 0; d < L.ndim; ++d) {
    at[d] = rest % L.shape[d];
    rest /= L.shape[d];
  }
  while (lo < hi) {
    for (int i = 0; i <= L.nin; ++i) {
      char* p = L.op[i].data;
      for (int d = 0; d < L.ndim; ++d) p += at[d] * L.op[i].strides[d];
      row.ptr[i] = p;
    }
    int64_t n = L.shape[0] - at[0];
    if (n > hi - lo) n = hi - lo;
    run_row(L, row, n, stream);
    lo += n;
    at[0] = 0;
    for (int d = 1; d < L.ndim; ++d) {
      if (++at[d] < L.shape[d]) break;
      at[d] = 0;
    }
  }
}

}  // namespace

void run_pointwise_loop(PointwiseLoop& L) {
  // Large results go past the cache, unless they take the place of an operand: those lines are in the cache already.
  bool stream = L.numel * item_size(L.op[0].computed) >= kStreamBytes;
  for (int i = 1; i <= L.nin; ++i) stream = stream && L.op[i].data != L.op[0].data;
  if (L.numel <= kGrain) return run_range(L, 0, L.numel, false);
  parallel_for(0, L.numel, kGrain, [&](int64_t lo, int64_t hi) { run_range(L, lo, hi, stream); });
}

}  // namespace fb
