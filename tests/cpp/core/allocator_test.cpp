#include "core/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "core/allocator_small.h"
#include "core/error.h"

namespace fb {
namespace {

constexpr size_t MiB = 1 << 20;

struct Held {
  unsigned char* p;
  size_t n;
  unsigned char mark;
};

void fill(Held& h) { std::memset(h.p, h.mark, h.n); }
bool intact(const Held& h) {
  for (size_t i = 0; i < h.n; i += h.n < 4096 ? 1 : 997)
    if (h.p[i] != h.mark) return false;
  return h.p[h.n - 1] == h.mark;
}

// The bounds that hold at every moment, from the segments alone.
void check_segments(const CachingAllocator& a) {
  for (const SegmentInfo& s : a.snapshot()) {
    uintptr_t at = s.address;
    bool last_free = false;
    for (auto& b : s.blocks) {
      ASSERT_EQ(b.address, at);
      ASSERT_FALSE(last_free && !b.used) << "two free neighbours were not merged";
      last_free = !b.used;
      at += b.size;
    }
    ASSERT_EQ(at, s.address + s.size);
  }
}

TEST(Allocator, SizeClassesCoverEverySize) {
  for (size_t n = 1; n <= small_limit; n++) {
    int c = detail::small_class(n);
    ASSERT_GE(detail::small_sizes[c], n);
    if (c) {
      ASSERT_LT(detail::small_sizes[c - 1], n);
    }
    ASSERT_EQ(detail::small_sizes[c] % 64, 0);
  }
}

TEST(Allocator, ZeroBytesAreNull) {
  EXPECT_EQ(cpu_allocate(0), nullptr);
  cpu_free(nullptr, 0);
  cpu_free(nullptr, 100);
}

TEST(Allocator, RandomTrafficKeepsContents) {
  FixedCapacityBackend backend(256 * MiB, true);
  CachingAllocator a(backend);
  std::mt19937 rng(1);
  std::vector<Held> held;
  size_t live = 0;
  for (int step = 0; step < 20000; step++) {
    if (held.size() < 50 || (rng() % 2 && live < 100 * MiB)) {
      size_t n = 1 + rng() % (size_t(1) << (rng() % 23));
      Held h{static_cast<unsigned char*>(a.allocate(n)), n, static_cast<unsigned char>(step)};
      ASSERT_EQ(reinterpret_cast<uintptr_t>(h.p) % 64, 0u);
      fill(h);
      live += n;
      held.push_back(h);
    } else {
      size_t i = rng() % held.size();
      ASSERT_TRUE(intact(held[i]));
      a.free(held[i].p, held[i].n);
      live -= held[i].n;
      held[i] = held.back();
      held.pop_back();
    }
    if (step % 1000 == 0) {
      check_segments(a);
      AllocatorStats s = a.stats();
      EXPECT_GE(s.allocated, live);
      EXPECT_LE(s.reserved, std::max(size_t(1.2 * s.peak_allocated), s.allocated + 8 * MiB));
    }
  }
  for (auto& h : held) {
    ASSERT_TRUE(intact(h));
    a.free(h.p, h.n);
  }
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved, 0u);
  EXPECT_EQ(a.stats().allocated, 0u);
  EXPECT_EQ(backend.obtained(), 0u);
}

TEST(Allocator, LargeBlocksAreReused) {
  FixedCapacityBackend backend(1024 * MiB);
  CachingAllocator a(backend);
  void* first = a.allocate(40 * MiB);
  a.free(first, 40 * MiB);
  uint64_t calls = a.stats().obtain_calls;
  for (int i = 0; i < 100; i++) {
    void* p = a.allocate(40 * MiB);
    EXPECT_EQ(p, first);
    a.free(p, 40 * MiB);
  }
  EXPECT_EQ(a.stats().obtain_calls, calls);
}

TEST(Allocator, SplitsAndMerges) {
  FixedCapacityBackend backend(64 * MiB);
  CachingAllocator a(backend);
  void* whole = a.allocate(48 * MiB);
  a.free(whole, 48 * MiB);
  // 48 MiB are above an eighth of the capacity: only 8 MiB may stay idle.
  EXPECT_LE(a.stats().idle, 8 * MiB);
  FixedCapacityBackend wide(8192 * MiB);
  CachingAllocator b(wide);
  whole = b.allocate(48 * MiB);
  b.free(whole, 48 * MiB);
  void* x = b.allocate(16 * MiB);
  void* y = b.allocate(16 * MiB);
  void* z = b.allocate(16 * MiB);
  EXPECT_EQ(x, whole);
  EXPECT_EQ(b.stats().segments, 1u);
  b.free(x, 16 * MiB);
  b.free(z, 16 * MiB);
  check_segments(b);
  b.free(y, 16 * MiB);
  EXPECT_EQ(b.stats().largest_free, 48 * MiB);
  EXPECT_EQ(b.allocate(48 * MiB), whole);
  b.free(whole, 48 * MiB);
}

TEST(Allocator, RefusalEmptiesTheCacheThenRaises) {
  FixedCapacityBackend backend(40 * MiB);
  CachingAllocator a(backend);
  std::vector<void*> small;
  for (int i = 0; i < 7; i++) small.push_back(a.allocate(1 * MiB));
  for (void* p : small) a.free(p, 1 * MiB);
  EXPECT_GT(a.stats().idle, 0u);
  void* p = a.allocate(38 * MiB);  // only fits once the 7 MiB have gone back
  EXPECT_LE(backend.obtained(), 40 * MiB);
  for (size_t n : {3 * MiB, 100 * MiB, SIZE_MAX / 4, SIZE_MAX}) {
    try {
      a.allocate(n);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::out_of_memory);
      EXPECT_NE(e.text().find(std::to_string(n) + " bytes"), std::string::npos) << e.text();
      EXPECT_NE(e.text().find("limit is 40.00 MiB"), std::string::npos) << e.text();
      EXPECT_NE(e.text().find("largest free block"), std::string::npos) << e.text();
    }
  }
  EXPECT_EQ(a.stats().out_of_memory, 4u);
  a.free(p, 38 * MiB);
  a.free(a.allocate(30 * MiB), 30 * MiB);
}

TEST(Allocator, RefusesMoreThanTheMachineHas) {
  EXPECT_THROW(cpu_allocate(size_t(1) << 60), Error);
  EXPECT_THROW(cpu_allocate(SIZE_MAX), Error);
}

TEST(Allocator, IdleMemoryDecaysWhenQuiet) {
  FixedCapacityBackend backend(8192 * MiB, true);
  CachingAllocator a(backend, 50);
  void* keep = a.allocate(3 * MiB);
  void* p = a.allocate(64 * MiB);
  a.free(p, 64 * MiB);
  EXPECT_GE(a.stats().idle, 64 * MiB);
  for (int i = 0; i < 100 && a.stats().idle > MiB; i++)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LT(a.stats().idle, MiB);
  EXPECT_GE(a.stats().allocated, 3 * MiB);
  a.free(keep, 3 * MiB);
}

TEST(Allocator, MemoryInUseDoesNotDecay) {
  FixedCapacityBackend backend(8192 * MiB, true);
  CachingAllocator a(backend, 20);
  uint64_t calls = 0;
  for (int i = 0; i < 100; i++) {
    void* p = a.allocate(64 * MiB);
    if (i == 0) calls = a.stats().obtain_calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    a.free(p, 64 * MiB);
  }
  EXPECT_EQ(a.stats().obtain_calls, calls);
}

TEST(Allocator, SaysWhenMemoryIsZero) {
  FixedCapacityBackend backend(512 * MiB, true);
  CachingAllocator a(backend);
  bool zero = false;
  size_t n = 4 * MiB;
  auto* p = static_cast<unsigned char*>(a.allocate(n, &zero));
  EXPECT_TRUE(zero);
  for (size_t i = 0; i < n; i += 61) ASSERT_EQ(p[i], 0);
  std::memset(p, 7, n);
  a.free(p, n);
  EXPECT_EQ(a.allocate(n, &zero), p);
  EXPECT_FALSE(zero);
  a.free(p, n);
}

TEST(Allocator, PeaksAndReset) {
  FixedCapacityBackend backend(512 * MiB);
  CachingAllocator a(backend);
  void* p = a.allocate(20 * MiB);
  void* q = a.allocate(10 * MiB);
  a.free(p, 20 * MiB);
  EXPECT_EQ(a.stats().peak_allocated, 30 * MiB);
  EXPECT_EQ(a.stats().allocated, 10 * MiB);
  a.reset_peak();
  EXPECT_EQ(a.stats().peak_allocated, 10 * MiB);
  a.free(q, 10 * MiB);
}

// A place that the tests choose stands for the line of a program.
OriginId g_place = 0;
struct Place {
  explicit Place(const char* text) {
    g_place = intern_origin(text);
    allocation_origin = []() noexcept { return g_place; };
  }
  ~Place() { allocation_origin = nullptr; }
};

TEST(Allocator, OutOfMemoryNamesThoseWhoHoldMost) {
  FixedCapacityBackend backend(64 * MiB);
  CachingAllocator a(backend);
  void *p, *q, *r;
  {
    Place here("weights.py:3 in build");
    p = a.allocate(8 * MiB);
    q = a.allocate(16 * MiB);
  }
  {
    Place here("train.py:40 in step");
    r = a.allocate(2 * MiB);
    try {
      a.allocate(60 * MiB);
      FAIL() << "60 MiB were given where 38 MiB are left";
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_EQ(e.kind(), ErrorKind::out_of_memory);
      EXPECT_NE(text.find("24.00 MiB in 2 blocks from weights.py:3 in build; 2.00 MiB in 1 block from train.py:40 in step."),
                std::string::npos)
          << text;
    }
  }
  a.free(p, 8 * MiB);
  a.free(q, 16 * MiB);
  a.free(r, 2 * MiB);
}

TEST(Allocator, HistoryKeepsTheLastEvents) {
  FixedCapacityBackend backend(64 * MiB);
  CachingAllocator a(backend);
  Place here("loop.py:1");
  void* before = a.allocate(100000);
  EXPECT_TRUE(a.history().empty());
  a.record_history(3);
  void* p = a.allocate(10000);
  void* q = a.allocate(20000);
  a.free(p, 10000);
  a.free(before, 100000);
  const auto events = a.history();
  ASSERT_EQ(events.size(), 3u);  // of four, the oldest went
  EXPECT_EQ(events[0].kind, AllocationEvent::Kind::allocate);
  EXPECT_EQ(events[0].address, reinterpret_cast<uintptr_t>(q));
  EXPECT_EQ(events[1].kind, AllocationEvent::Kind::free);
  EXPECT_EQ(events[1].address, reinterpret_cast<uintptr_t>(p));
  EXPECT_EQ(origin_text(events[1].origin), "loop.py:1");
  EXPECT_EQ(events[2].origin, 0u);  // asked for before anything was recorded, and below 1 MiB
  EXPECT_LE(events[0].nanoseconds, events[2].nanoseconds);
  a.record_history(0);
  a.free(q, 20000);
  EXPECT_TRUE(a.history().empty());
}

TEST(Allocator, ThreadsFreeEachOthersBlocks) {
  std::vector<std::vector<Held>> boxes(4);
  std::atomic<int> ready{0}, broken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      std::mt19937 rng(t);
      for (int i = 0; i < 3000; i++) {
        size_t n = 1 + rng() % (i % 10 ? 5000 : 300000);
        Held h{static_cast<unsigned char*>(cpu_allocate(n)), n, static_cast<unsigned char>(i + t)};
        fill(h);
        boxes[t].push_back(h);
      }
      ready++;
      while (ready < 4) std::this_thread::yield();
      for (auto& h : boxes[(t + 1) % 4]) {
        if (!intact(h)) broken++;
        cpu_free(h.p, h.n);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(broken, 0);
  check_segments(cpu_allocator());
}

TEST(Allocator, SmallBlocksComeBackWithTheThread) {
  size_t before = cpu_allocator().stats().allocated;
  std::thread([] {
    std::vector<void*> held;
    for (int i = 0; i < 100000; i++) held.push_back(cpu_allocate(100));
    for (void* p : held) cpu_free(p, 100);
  }).join();
  size_t after = cpu_allocator().stats().allocated;
  EXPECT_LE(after, before + 512 * 1024);
}

TEST(Allocator, WorksInAChildOfFork) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's own allocator keeps a lock that another thread held at the fork";
#endif
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) cpu_free(cpu_allocate(100000), 100000);
  });
  for (int round = 0; round < 10; round++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (size_t n : {10, 1000, 100000, 10000000}) {
        void* p = cpu_allocate(n);
        std::memset(p, 1, n);
        cpu_free(p, n);
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
    if (HasFailure()) break;  // the thread must be joined
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace fb
