#include "core/threads.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "core/cgroup.h"

namespace fb {
namespace {

// ---------------------------------------------------------------- how many

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    char* rest = nullptr;
    long n = std::strtol(text, &rest, 10);
    if (rest != text && n >= 1) return int(std::min<long>(n, 1024));
  }
  int64_t n = 0;
  // The mask may be wider than cpu_set_t: ask with more room until it fits.
  for (int cpus = 1024; cpus <= (1 << 16) && !n; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    size_t size = CPU_ALLOC_SIZE(cpus);
    if (set && sched_getaffinity(0, size, set) == 0) n = CPU_COUNT_S(size, set);
    CPU_FREE(set);
  }
  if (n < 1) n = std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN));
  return int(std::clamp<int64_t>(std::min(n, cgroup_cpu_quota()), 1, 1024));
}

std::atomic<int> num_threads{0};
std::atomic<int> num_interop{0};

// ---------------------------------------------------------------- the pool

long futex(std::atomic<uint32_t>* word, int op, uint32_t value) {
  return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

inline void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// About 2-4 microseconds of pauses: enough to catch the next operator of a loop without a system
// call, short enough that idle workers cost nothing.
constexpr int spin_rounds = 60;
constexpr int max_threads = 1024;

struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t last = 0;
};

struct Job {
  int64_t begin, end, grain;
  detail::BlockFn fn;
  void* context;
  int shares;
  Share* share;
  std::atomic<bool> failed{false};
  std::mutex error_mutex;
  int64_t error_block = INT64_MAX;
  std::exception_ptr error;
};

// `state` packs the job's number (high 32 bits), the places still open to workers (16) and the
// workers inside (16): a late worker can never touch a job that its caller has left.
constexpr uint64_t one_inside = 1, one_open = 1u << 16, open_mask = 0xffffull << 16,
                   inside_mask = 0xffff;

struct Pool {
  alignas(64) std::atomic<uint64_t> state{0};
  alignas(64) std::atomic<uint32_t> wake{0};   // changes when a job is published
  std::atomic<uint32_t> sleepers{0};
  alignas(64) std::atomic<uint32_t> done{0};   // changes when the last worker has left a job
  std::atomic<uint32_t> caller_sleeps{0};
  std::atomic<bool> busy{false};               // held by the one caller that runs a job
  Job* job = nullptr;
  int workers = 0;                             // started so far; written by the holder of `busy`
  uint32_t number = 0;
  Share shares[max_threads];
};

// Never destroyed: workers may outlive static destructors. A forked child builds a new one.
Pool* pool = nullptr;
std::once_flag pool_once;

thread_local bool inside_region = false;
thread_local int thread_index = 0;

void take_blocks(Job& job, int share_index) {
  for (int k = 0; k < job.shares; k++) {
    int s = share_index + k;
    if (s >= job.shares) s -= job.shares;
    Share& share = job.share[s];
    while (share.next.load(std::memory_order_relaxed) < share.last) {
      int64_t b = share.next.fetch_add(1, std::memory_order_relaxed);
      if (b >= share.last) break;
      if (job.failed.load(std::memory_order_relaxed)) return;
      int64_t lo = job.begin + b * job.grain;
      int64_t hi = job.end - lo > job.grain ? lo + job.grain : job.end;
      try {
        job.fn(job.context, lo, hi);
      } catch (...) {
        std::lock_guard<std::mutex> lock(job.error_mutex);
        if (b < job.error_block) {
          job.error_block = b;
          job.error = std::current_exception();
        }
        job.failed.store(true, std::memory_order_relaxed);
      }
    }
  }
}

void* worker_main(void* argument) {
  Pool& p = *static_cast<Pool*>(argument);
  inside_region = true;
  int idle_rounds = 0;
  for (;;) {
    uint32_t seen = p.wake.load();
    uint64_t s = p.state.load();
    bool joined = false;
    while (s & open_mask) {
      if (p.state.compare_exchange_weak(s, s - one_open + one_inside)) {
        joined = true;
        break;
      }
    }
    if (joined) {
      // Thread-local modes of the caller (grad mode and the like) would be entered here; kernels
      // do not read them, so none are carried.
      Job& job = *p.job;
      int index = int((s & open_mask) >> 16);
      thread_index = index;
      take_blocks(job, index);
      // After this line the job may be gone.
      uint64_t now = p.state.fetch_sub(one_inside) - one_inside;
      if ((now & (open_mask | inside_mask)) == 0) {
        p.done.fetch_add(1);
        if (p.caller_sleeps.load()) futex(&p.done, FUTEX_WAKE, 1);
      }
      idle_rounds = 0;
      continue;
    }
    if (idle_rounds++ < spin_rounds) {
      pause_cpu();
      continue;
    }
    idle_rounds = 0;
    p.sleepers.fetch_add(1);
    futex(&p.wake, FUTEX_WAIT, seen);
    p.sleepers.fetch_sub(1);
  }
  return nullptr;
}

void start_workers(Pool& p, int wanted) {
  while (p.workers < wanted) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 8 << 20);
    // Signals belong to the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t id;
    int failed = pthread_create(&id, &attributes, worker_main, &p);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    if (failed) return;  // fewer threads: the caller takes the blocks itself
    p.workers++;
  }
}

void after_fork_in_child() {
  // The old pool's threads do not exist here and its words may be in any state.
  pool = new Pool;
}

Pool& get_pool() {
  std::call_once(pool_once, [] {
    pool = new Pool;
    pthread_atfork(nullptr, nullptr, after_fork_in_child);
  });
  return *pool;
}

void run_inline(int64_t begin, int64_t end, int64_t grain, detail::BlockFn fn, void* context) {
  for (int64_t lo = begin; lo < end;) {
    int64_t hi = end - lo > grain ? lo + grain : end;
    fn(context, lo, hi);
    lo = hi;
  }
}

struct RegionGuard {
  bool before = inside_region;
  RegionGuard() { inside_region = true; }
  ~RegionGuard() { inside_region = before; }
};

}  // namespace

int get_num_threads() {
  int n = num_threads.load(std::memory_order_relaxed);
  if (n) return n;
  int wanted = default_threads();
  num_threads.compare_exchange_strong(n, wanted);
  return num_threads.load();
}

void set_num_threads(int n) { num_threads.store(std::clamp(n, 1, max_threads)); }

int get_num_interop_threads() {
  int n = num_interop.load();
  return n ? n : std::max<int>(1, get_num_threads());
}

bool set_num_interop_threads(int n) {
  int unset = 0;
  return num_interop.compare_exchange_strong(unset, std::max(1, n));
}

bool in_parallel_region() { return inside_region; }
int get_thread_num() { return thread_index; }

void detail::run_blocks(int64_t begin, int64_t end, int64_t grain, BlockFn fn, void* context) {
  int64_t blocks = (end - begin - 1) / grain + 1;
  int threads = int(std::min<int64_t>(get_num_threads(), blocks));
  if (threads <= 1 || inside_region) return run_inline(begin, end, grain, fn, context);
  Pool& p = get_pool();
  bool free = false;
  if (!p.busy.compare_exchange_strong(free, true))
    return run_inline(begin, end, grain, fn, context);
  start_workers(p, threads - 1);

  Job job{begin, end, grain, fn, context, threads, p.shares, {}, {}, INT64_MAX, {}};
  // Neighbouring blocks go to one thread, as its caches and pages like; early finishers take from
  // the others.
  for (int i = 0; i < threads; i++) {
    p.shares[i].next.store(blocks / threads * i + std::min<int64_t>(i, blocks % threads),
                           std::memory_order_relaxed);
    p.shares[i].last = blocks / threads * (i + 1) + std::min<int64_t>(i + 1, blocks % threads);
  }
  p.job = &job;
  p.state.store(uint64_t(++p.number) << 32 | uint64_t(threads - 1) << 16);
  p.wake.fetch_add(1);
  if (p.sleepers.load()) futex(&p.wake, FUTEX_WAKE, threads - 1);
  {
    RegionGuard guard;
    take_blocks(job, 0);
  }
  // Close the job to workers that have not come yet, then wait for those inside.
  uint32_t done = p.done.load();
  uint64_t s = p.state.fetch_and(~open_mask) & inside_mask;
  for (int round = 0; s; round++) {
    if (round < spin_rounds) {
      pause_cpu();
    } else {
      p.caller_sleeps.store(1);
      if (p.state.load() & inside_mask) futex(&p.done, FUTEX_WAIT, done);
      p.caller_sleeps.store(0);
      done = p.done.load();
    }
    s = p.state.load() & inside_mask;
  }
  std::exception_ptr error = job.error;
  p.busy.store(false);
  if (error) std::rethrow_exception(error);
}

}  // namespace fb
