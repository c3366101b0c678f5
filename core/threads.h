// The pool of threads behind every CPU loop.
//
// Work is cut into blocks whose borders depend on `grain` alone, so a kernel that keeps one partial
// result per block gives the same bits for any number of threads.
#pragma once
#include <cstdint>
#include <type_traits>

namespace fb {

// How many threads (the caller among them) parallel_for may use. The default is OMP_NUM_THREADS,
// else the smaller of the affinity mask and the cgroup's CPU quota. Values below 1 are refused by
// the caller of set_num_threads; here they count as 1.
int get_num_threads();
void set_num_threads(int n);

// Threads for tasks between operators; only a number in this pool, which runs no such tasks.
// Returns false where the number was set before (it may be set once).
int get_num_interop_threads();
bool set_num_interop_threads(int n);

// Whether this thread runs a block of a parallel_for that was split among threads.
bool in_parallel_region();

// Index of this thread within the running parallel_for: 0 for the caller, below get_num_threads().
// For scratch memory only: results must not depend on it.
int get_thread_num();

namespace detail {
using BlockFn = void (*)(void* context, int64_t lo, int64_t hi);
void run_blocks(int64_t begin, int64_t end, int64_t grain, BlockFn fn, void* context);
}  // namespace detail

// Calls f(lo, hi) once for each block [begin + i*grain, min(end, begin + (i+1)*grain)), whatever
// the number of threads, and returns when all are done. Runs on the calling thread alone where there
// is one block or one thread, inside another parallel_for, or while another caller has the pool.
// The exception of the lowest block that threw is thrown again here; later blocks may be skipped.
template <class F>
inline void parallel_for(int64_t begin, int64_t end, int64_t grain, F&& f) {
  if (begin >= end) return;
  if (grain < 1) grain = 1;
  if (end - begin <= grain) {
    f(begin, end);
    return;
  }
  using Fn = std::remove_reference_t<F>;
  detail::run_blocks(
      begin, end, grain,
      [](void* context, int64_t lo, int64_t hi) { (*static_cast<Fn*>(context))(lo, hi); },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace fb
