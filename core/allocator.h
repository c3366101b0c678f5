// The caching allocator: one for every kind of memory, over a small back end that hands out pages.
//
// Requests up to 4 KiB of host memory come from size classes cached by each thread; larger ones from
// segments that are split and merged. What is free stays for reuse within these bounds: live and
// idle bytes together below 1.2 times the peak of live bytes, idle bytes below an eighth of the
// capacity (8 MiB are always allowed), and idle bytes that were not needed for some seconds go back.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/allocator_history.h"

namespace fb {

// Where memory comes from. Called with the allocator's lock held; must not allocate through it.
class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  virtual const char* name() const = 0;
  // Memory of `nbytes` (a multiple of 4 KiB) at a multiple of `alignment`; null when refused.
  virtual void* obtain(size_t nbytes, size_t alignment) noexcept = 0;
  virtual void release(void* p, size_t nbytes) noexcept = 0;
  // Gives up the contents and the physical pages of a part of a segment, keeping its addresses.
  virtual bool discard(void* p, size_t nbytes) noexcept { return false; }
  // The most bytes that may be live at once.
  virtual size_t capacity() const noexcept = 0;
  // Whether the processor may read and write it: size classes keep their lists inside free blocks.
  virtual bool host_accessible() const noexcept { return true; }
  // Whether obtained and discarded memory reads as zero.
  virtual bool zeroed() const noexcept { return false; }
};

// Anonymous pages of this machine, huge-page advised from 2 MiB. Its capacity is the smaller of the
// physical memory and the control group's limit.
DeviceBackend& cpu_backend();

// Host memory that behaves as a device of `capacity` bytes: for tests of what real devices refuse.
class FixedCapacityBackend final : public DeviceBackend {
 public:
  explicit FixedCapacityBackend(size_t capacity, bool can_discard = false)
      : capacity_(capacity), can_discard_(can_discard) {}
  const char* name() const override { return "test device"; }
  void* obtain(size_t nbytes, size_t alignment) noexcept override;
  void release(void* p, size_t nbytes) noexcept override;
  bool discard(void* p, size_t nbytes) noexcept override;
  size_t capacity() const noexcept override { return capacity_; }
  bool zeroed() const noexcept override { return true; }
  size_t obtained() const { return obtained_; }

 private:
  size_t capacity_, obtained_ = 0;
  bool can_discard_;
};

// Bytes, rounded as the allocator rounds. Blocks in the caches of threads do not count as allocated.
struct AllocatorStats {
  size_t allocated = 0, peak_allocated = 0;  // peaks of small blocks are seen when a cache refills
  size_t idle = 0;                           // free, but holding physical memory
  size_t reserved = 0, peak_reserved = 0;    // allocated + idle
  size_t largest_free = 0;                   // one block of cached memory
  size_t segments = 0;
  uint64_t obtain_calls = 0, release_calls = 0, discard_calls = 0;
  uint64_t out_of_memory = 0, cache_flushes = 0;
};

struct SegmentInfo {
  struct Block {
    uintptr_t address;
    size_t size;
    bool used;
    OriginId origin;  // of a used block: always known from 1 MiB on, below that while history is recorded
  };
  uintptr_t address;
  size_t size;
  std::vector<Block> blocks;
};

class CachingAllocator {
 public:
  // `tick_ms`: idle bytes not needed for one tick go back at its end.
  explicit CachingAllocator(DeviceBackend& backend, int tick_ms = 2500);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;

  // Memory at a multiple of 64, or null for 0 bytes. Raises out_of_memory when the back end refuses
  // after the cache was emptied. *is_zero tells whether the memory is known to hold zeros.
  void* allocate(size_t nbytes, bool* is_zero = nullptr);
  // `nbytes` as given to allocate. Any thread may free. Null is allowed.
  void free(void* p, size_t nbytes) noexcept;

  AllocatorStats stats() const;
  std::vector<SegmentInfo> snapshot() const;
  void reset_peak();
  // Keeps the last `events` allocations and frees above small_limit bytes; 0 stops and forgets.
  void record_history(size_t events);
  std::vector<AllocationEvent> history() const;
  // Gives every idle byte back.
  void empty_cache();

  // Around fork(): the child's copy must not be in the middle of a change.
  void before_fork() noexcept;
  void after_fork(bool child) noexcept;

  struct Impl;

 private:
  friend struct ThreadCacheOwner;
  Impl* impl_;
};

CachingAllocator& cpu_allocator();

// The CPU's memory, through the thread's cache: a few nanoseconds up to small_limit bytes.
inline constexpr size_t small_limit = 4096;
void* cpu_allocate(size_t nbytes, bool* is_zero = nullptr);
void cpu_free(void* p, size_t nbytes) noexcept;

}  // namespace fb
