#include "core/allocator.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/allocator_pages.h"
#include "core/allocator_small.h"
#include "core/cgroup.h"
#include "core/error.h"

namespace fb {

using detail::Block;
using detail::FreeNode;
using detail::PageHeap;
using detail::Segment;
using detail::small_batch;
using detail::small_class;
using detail::small_classes;
using detail::small_sizes;
using detail::SmallHeap;
using detail::ThreadCache;

// ---------------------------------------------------------------- back ends

namespace {

void* map_pages(size_t nbytes, size_t alignment) {
  size_t extra = alignment > 4096 ? alignment : 0;
  void* p = mmap(nullptr, nbytes + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (!extra) return p;
  auto at = reinterpret_cast<uintptr_t>(p), lo = (at + alignment - 1) & ~(alignment - 1);
  if (lo > at) munmap(p, lo - at);
  if (at + extra > lo) munmap(reinterpret_cast<void*>(lo + nbytes), at + extra - lo);
  return reinterpret_cast<void*>(lo);
}

class CpuBackend final : public DeviceBackend {
 public:
  CpuBackend() {
    struct sysinfo info;
    size_t physical = SIZE_MAX / 2;
    if (sysinfo(&info) == 0)
      physical = (size_t(info.totalram) + size_t(info.totalswap)) * info.mem_unit;
    capacity_ = std::min(physical, size_t(cgroup_memory_limit()));
  }
  const char* name() const override { return "CPU"; }
  void* obtain(size_t nbytes, size_t alignment) noexcept override {
    void* p = map_pages(nbytes, alignment);
    if (p && nbytes >= (2u << 20)) madvise(p, nbytes, MADV_HUGEPAGE);
    return p;
  }
  void release(void* p, size_t nbytes) noexcept override { munmap(p, nbytes); }
  bool discard(void* p, size_t nbytes) noexcept override {
    return madvise(p, nbytes, MADV_DONTNEED) == 0;
  }
  size_t capacity() const noexcept override { return capacity_; }
  bool zeroed() const noexcept override { return true; }

 private:
  size_t capacity_;
};

}  // namespace

DeviceBackend& cpu_backend() {
  static CpuBackend* backend = new CpuBackend;  // outlives static destructors
  return *backend;
}

void* FixedCapacityBackend::obtain(size_t nbytes, size_t alignment) noexcept {
  if (nbytes > capacity_ - obtained_) return nullptr;
  void* p = map_pages(nbytes, alignment);
  if (p) obtained_ += nbytes;
  return p;
}
void FixedCapacityBackend::release(void* p, size_t nbytes) noexcept {
  munmap(p, nbytes);
  obtained_ -= nbytes;
}
bool FixedCapacityBackend::discard(void* p, size_t nbytes) noexcept {
  return can_discard_ && madvise(p, nbytes, MADV_DONTNEED) == 0;
}

// ---------------------------------------------------------------- the allocator

struct CachingAllocator::Impl {
  Impl(DeviceBackend& b, int tick) : backend(b), pages(b), small(pages, b), tick_ms(tick) {
    init_condition();
  }
  void init_condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&timer_change, &attributes);
    pthread_condattr_destroy(&attributes);
  }

  DeviceBackend& backend;
  mutable pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  PageHeap pages;
  SmallHeap small;
  ThreadCache* caches = nullptr;
  AllocationHistory history;
  std::atomic<bool> recording{false};  // history.on(), for those without the lock
  uint64_t out_of_memory = 0;
  int tick_ms;
  pthread_cond_t timer_change;
  bool timer_runs = false, stopping = false;
};

namespace {

struct Lock {
  pthread_mutex_t& m;
  explicit Lock(pthread_mutex_t& mutex) : m(mutex) { pthread_mutex_lock(&m); }
  ~Lock() { pthread_mutex_unlock(&m); }
};

// Below this nobody waits for a decay: a timer thread is not worth it.
constexpr size_t no_timer_below = 1 << 20;

bool can_trim(CachingAllocator::Impl& a) { return a.pages.can_trim() || a.small.idle_slabs() > 0; }

// Lives while there is idle memory. At each tick, what was idle all through it goes back.
void* timer_main(void* argument) {
  auto& a = *static_cast<CachingAllocator::Impl*>(argument);
  Lock lock(a.mutex);
  a.pages.idle_low = a.pages.idle();
  while (!a.stopping) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + int64_t(a.tick_ms) * 1000000;
    until.tv_sec += nanoseconds / 1000000000;
    until.tv_nsec = nanoseconds % 1000000000;
    while (!a.stopping && pthread_cond_timedwait(&a.timer_change, &a.mutex, &until) == 0) {}
    if (a.stopping) break;
    size_t unneeded = std::min(a.pages.idle_low, a.pages.idle());
    if (unneeded) {
      a.small.trim();
      a.pages.trim(a.pages.idle() - std::min(unneeded, a.pages.idle()));
    }
    a.pages.idle_low = a.pages.idle();
    if (a.pages.idle() < no_timer_below || !can_trim(a)) break;
  }
  a.timer_runs = false;
  pthread_cond_broadcast(&a.timer_change);
  return nullptr;
}

void start_timer(CachingAllocator::Impl& a) {
  if (a.timer_runs || a.stopping || a.tick_ms <= 0 || a.pages.idle() < no_timer_below) return;
  if (!can_trim(a)) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t id;
  a.timer_runs = pthread_create(&id, &attributes, timer_main, &a) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

std::string human(size_t n) {
  char s[64];
  if (n < 1024) {
    std::snprintf(s, sizeof s, "%zu bytes", n);
  } else {
    double v = double(n) / 1024;
    const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int u = 0;
    while (v >= 1024 && u < 5) v /= 1024, u++;
    std::snprintf(s, sizeof s, "%.2f %s", v, units[u]);
  }
  return s;
}

constexpr size_t origin_always_from = 1 << 20;

// The three places of the program that hold most, of those that are known.
std::string top_holders(CachingAllocator::Impl& a) {
  struct Holder {
    OriginId origin;
    size_t bytes, blocks;
  };
  std::vector<Holder> all;
  for (Segment* s = a.pages.segments; s; s = s->next)
    for (Block* b = s->first; b; b = b->right) {
      if (!b->used || !b->origin) continue;
      auto at = std::find_if(all.begin(), all.end(), [&](const Holder& h) { return h.origin == b->origin; });
      if (at == all.end()) at = all.insert(at, {b->origin, 0, 0});
      at->bytes += b->size;
      at->blocks++;
    }
  std::sort(all.begin(), all.end(), [](const Holder& x, const Holder& y) { return x.bytes > y.bytes; });
  std::string s;
  for (size_t i = 0; i < all.size() && i < 3; i++)
    s += (i ? "; " : " Most is held by: ") + human(all[i].bytes) + " in " + std::to_string(all[i].blocks) +
         (all[i].blocks == 1 ? " block" : " blocks") + " from " + origin_text(all[i].origin);
  return s.empty() ? s : s + ".";
}

[[noreturn]] void raise_out_of_memory(CachingAllocator::Impl& a, size_t nbytes) {
  std::string message;
  {
    Lock lock(a.mutex);
    a.out_of_memory++;
    size_t capacity = a.backend.capacity();
    message = std::string(a.backend.name()) + " out of memory: " + human(nbytes) + " (" +
              std::to_string(nbytes) + " bytes) were asked for; " + human(a.pages.live()) +
              " are in use, " + human(a.pages.idle()) + " are cached in " +
              std::to_string(a.pages.counts.segments) + " segments, the largest free block has " +
              human(a.pages.largest_free()) + ", and the limit is " + human(capacity) + ".";
    if (a.pages.idle())
      message += " Of the cached memory " +
                 std::to_string(100 - 100 * std::min(a.pages.largest_free(), a.pages.idle()) / a.pages.idle()) +
                 " % lies outside the largest block.";
    if (nbytes > capacity)
      message += " The request alone is above the limit.";
    else if (a.pages.live() + nbytes > capacity)
      message += " Free tensors that are no longer needed, or use smaller ones.";
    else
      message += " The free memory is in pieces, or the system refused to give more.";
    message += top_holders(a);
  }
  raise(ErrorKind::out_of_memory, std::move(message));
}

}  // namespace

CachingAllocator::CachingAllocator(DeviceBackend& backend, int tick_ms)
    : impl_(new Impl(backend, tick_ms)) {}

CachingAllocator::~CachingAllocator() {
  {
    Lock lock(impl_->mutex);
    impl_->stopping = true;
    pthread_cond_broadcast(&impl_->timer_change);
    while (impl_->timer_runs) pthread_cond_wait(&impl_->timer_change, &impl_->mutex);
  }
  delete impl_;
}

void* CachingAllocator::allocate(size_t nbytes, bool* is_zero) {
  if (is_zero) *is_zero = false;
  if (nbytes == 0) return nullptr;
  Impl& a = *impl_;
  if (nbytes <= small_limit && a.backend.host_accessible()) {
    Lock lock(a.mutex);
    int got;
    if (FreeNode* node = a.small.fetch(small_class(nbytes), 1, &got)) return node;
  } else if (nbytes <= SIZE_MAX / 2) {
    OriginId origin = 0;
    if (allocation_origin && (nbytes >= origin_always_from || a.recording.load(std::memory_order_relaxed)))
      origin = allocation_origin();
    Lock lock(a.mutex);
    if (Block* b = a.pages.allocate(nbytes)) {
      b->origin = origin;
      if (a.history.on()) a.history.add(AllocationEvent::Kind::allocate, b->p, b->size, origin);
      if (is_zero) *is_zero = b->zero;
      return b->p;
    }
  }
  raise_out_of_memory(a, nbytes);
}

void CachingAllocator::free(void* p, size_t nbytes) noexcept {
  if (!p) return;
  Impl& a = *impl_;
  Lock lock(a.mutex);
  if (nbytes <= small_limit && a.backend.host_accessible()) {
    auto* node = static_cast<FreeNode*>(p);
    node->next = nullptr;
    a.small.put_back(small_class(nbytes), node);
    return;
  }
  Block* b = a.pages.find(p);
  if (!b) {
    std::fprintf(stderr, "%s allocator: %p was freed but is not a live block\n", a.backend.name(), p);
    std::abort();
  }
  if (a.history.on()) a.history.add(AllocationEvent::Kind::free, b->p, b->size, b->origin);
  a.pages.free(b);
  start_timer(a);
}

void CachingAllocator::record_history(size_t events) {
  Lock lock(impl_->mutex);
  impl_->history.resize(events);
  impl_->recording.store(events > 0, std::memory_order_relaxed);
}

std::vector<AllocationEvent> CachingAllocator::history() const {
  Lock lock(impl_->mutex);
  return impl_->history.events();
}

AllocatorStats CachingAllocator::stats() const {
  Impl& a = *impl_;
  Lock lock(a.mutex);
  AllocatorStats s = a.pages.counts;
  size_t cached = 0;
  for (ThreadCache* t = a.caches; t; t = t->next)
    for (int c = 0; c < small_classes; c++)
      cached += t->lists[c].count.load(std::memory_order_relaxed) * size_t(small_sizes[c]);
  s.reserved = a.pages.live() + a.pages.idle();
  s.allocated = a.pages.live() - std::min(cached, a.pages.live());
  s.peak_allocated = std::max(s.peak_allocated, s.allocated);
  s.peak_reserved = std::max(s.peak_reserved, s.reserved);
  s.idle = s.reserved - s.allocated;
  s.largest_free = a.pages.largest_free();
  s.out_of_memory = a.out_of_memory;
  return s;
}

std::vector<SegmentInfo> CachingAllocator::snapshot() const {
  Lock lock(impl_->mutex);
  std::vector<SegmentInfo> all;
  for (Segment* s = impl_->pages.segments; s; s = s->next) {
    SegmentInfo info{reinterpret_cast<uintptr_t>(s->base), s->size, {}};
    for (Block* b = s->first; b; b = b->right)
      info.blocks.push_back({reinterpret_cast<uintptr_t>(b->p), b->size, b->used, b->used ? b->origin : 0});
    all.push_back(std::move(info));
  }
  return all;
}

void CachingAllocator::reset_peak() {
  Lock lock(impl_->mutex);
  PageHeap& p = impl_->pages;
  p.peak_live = p.counts.peak_allocated = p.live();
  p.peak_reserved = p.counts.peak_reserved = p.live() + p.idle();
}

void CachingAllocator::empty_cache() {
  Lock lock(impl_->mutex);
  impl_->small.trim();
  impl_->pages.trim(0);
}

void CachingAllocator::before_fork() noexcept {
  pthread_mutex_lock(&impl_->mutex);
  lock_origins();
}

void CachingAllocator::after_fork(bool child) noexcept {
  if (child) {  // threads are not copied
    impl_->timer_runs = false;
    impl_->init_condition();
  }
  unlock_origins();
  pthread_mutex_unlock(&impl_->mutex);
}

// ---------------------------------------------------------------- the CPU's thread caches

CachingAllocator& cpu_allocator() {
  static CachingAllocator* allocator = [] {
    auto* a = new CachingAllocator(cpu_backend());  // memory may be freed by static destructors
    pthread_atfork([] { cpu_allocator().before_fork(); },
                   [] { cpu_allocator().after_fork(false); },
                   [] { cpu_allocator().after_fork(true); });
    return a;
  }();
  return *allocator;
}

namespace {
// One word of static TLS keeps the common path free of a call.
__attribute__((tls_model("initial-exec"))) thread_local ThreadCache* this_cache = nullptr;
thread_local bool thread_ends = false;
}  // namespace

// Puts the thread's blocks back when it ends. Frees after that go straight to the heap.
struct ThreadCacheOwner {
  static CachingAllocator::Impl& cpu() { return *cpu_allocator().impl_; }

  ThreadCacheOwner() {
    auto& a = cpu();
    auto* t = new ThreadCache;
    Lock lock(a.mutex);
    t->next = a.caches;
    if (a.caches) a.caches->prev = t;
    a.caches = t;
    this_cache = t;
  }
  ~ThreadCacheOwner() {
    auto& a = cpu();
    ThreadCache* t = this_cache;
    this_cache = nullptr;
    thread_ends = true;
    {
      Lock lock(a.mutex);
      for (int c = 0; c < small_classes; c++) a.small.put_back(c, t->lists[c].head);
      (t->prev ? t->prev->next : a.caches) = t->next;
      if (t->next) t->next->prev = t->prev;
    }
    delete t;
  }

  static __attribute__((noinline)) void* refill(size_t nbytes, bool* is_zero) {
    if (nbytes == 0 || nbytes > small_limit || thread_ends)
      return cpu_allocator().allocate(nbytes, is_zero);
    if (is_zero) *is_zero = false;
    if (!this_cache) {
      thread_local ThreadCacheOwner owner;
      (void)owner;
    }
    auto& a = cpu();
    int c = small_class(nbytes), got = 0;
    FreeNode* list;
    {
      Lock lock(a.mutex);
      list = a.small.fetch(c, small_batch(c), &got);
    }
    if (!list) raise_out_of_memory(a, nbytes);
    auto& mine = this_cache->lists[c];
    // The list was empty, or this thread had no cache yet.
    mine.head = list->next;
    mine.count.store(uint32_t(got - 1), std::memory_order_relaxed);
    return list;
  }

  static __attribute__((noinline)) void overflow(void* p, size_t nbytes) noexcept {
    if (!p) return;
    if (nbytes > small_limit || thread_ends) return cpu_allocator().free(p, nbytes);
    if (!this_cache) {
      // A thread that only frees needs no cache.
      return cpu_allocator().free(p, nbytes);
    }
    int c = small_class(nbytes);
    auto& mine = this_cache->lists[c];
    auto* node = static_cast<FreeNode*>(p);
    node->next = mine.head;
    // The newer half stays: it is warm.
    int keep = small_batch(c);
    FreeNode* last = node;
    for (int i = 1; i < keep; i++) last = last->next;
    FreeNode* rest = last->next;
    last->next = nullptr;
    mine.head = node;
    mine.count.store(uint32_t(keep), std::memory_order_relaxed);
    auto& a = cpu();
    Lock lock(a.mutex);
    a.small.put_back(c, rest);
    start_timer(a);
  }
};

#ifdef __SANITIZE_ADDRESS__
// The sanitizer watches the edges of each block, and what is done with it after its end.
void* cpu_allocate(size_t nbytes, bool* is_zero) {
  if (is_zero) *is_zero = false;
  void* p = nullptr;
  if (nbytes && (nbytes > SIZE_MAX / 4 || posix_memalign(&p, 64, nbytes)))
    raise(ErrorKind::out_of_memory, text("out of memory: ", uint64_t(nbytes), " bytes were asked for"));
  return p;
}
void cpu_free(void* p, size_t) noexcept { std::free(p); }
#else
void* cpu_allocate(size_t nbytes, bool* is_zero) {
  ThreadCache* t = this_cache;
  if (nbytes - 1 < small_limit && t) [[likely]] {
    auto& mine = t->lists[small_class(nbytes)];
    if (FreeNode* node = mine.head) [[likely]] {
      mine.head = node->next;
      mine.count.store(mine.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
      if (is_zero) *is_zero = false;
      return node;
    }
  }
  return ThreadCacheOwner::refill(nbytes, is_zero);
}

void cpu_free(void* p, size_t nbytes) noexcept {
  ThreadCache* t = this_cache;
  if (nbytes - 1 < small_limit && t && p) [[likely]] {
    auto& mine = t->lists[small_class(nbytes)];
    uint32_t count = mine.count.load(std::memory_order_relaxed);
    if (count < mine.most) [[likely]] {
      auto* node = static_cast<FreeNode*>(p);
      node->next = mine.head;
      mine.head = node;
      mine.count.store(count + 1, std::memory_order_relaxed);
      return;
    }
  }
  ThreadCacheOwner::overflow(p, nbytes);
}
#endif

}  // namespace fb
