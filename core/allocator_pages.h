// The part of the caching allocator that keeps segments, and blocks split from them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/allocator.h"

namespace fb::detail {

struct Segment;

struct Block {
  char* p;
  size_t size;
  size_t resident;             // free: at most so many bytes hold physical memory
  bool used, zero, in_lru;
  OriginId origin;             // used: where in the program it was asked for
  Segment* segment;
  Block *left, *right;         // neighbours by address
  Block *bin_prev, *bin_next;  // free blocks of like size
  Block *lru_prev, *lru_next;  // free blocks that hold memory, oldest first
};

struct Segment {
  char* base;
  size_t size;
  int pool;  // 0: blocks up to 1 MiB, 1: larger ones
  Block* first;
  Segment *prev, *next;
};

// Not thread-safe: the allocator's lock is around every call.
class PageHeap {
 public:
  explicit PageHeap(DeviceBackend& backend);
  ~PageHeap();

  // Null when refused even with an empty cache.
  Block* allocate(size_t nbytes);
  void free(Block* block);
  Block* find(void* p) const;  // the used block that starts at p
  // Gives idle memory back until at most `target` idle bytes are left.
  void trim(size_t target);
  void count_foreign(int64_t live_change, int64_t idle_change);  // memory of the size classes
  // Brings idle memory within the bounds.
  void enforce();

  size_t live() const { return live_; }
  size_t idle() const { return idle_; }
  bool can_trim() const { return lru_first_ != nullptr; }
  size_t largest_free() const;

  DeviceBackend& backend;
  AllocatorStats counts;     // peaks and call counts
  size_t idle_low = 0;       // the least idle bytes since the decay's last tick
  Segment* segments = nullptr;
  size_t peak_reserved = 0, peak_live = 0;

 private:
  static constexpr int first_log = 9, logs = 40, parts = 8;  // bins: 8 a doubling, from 512 bytes
  struct Pool {
    uint64_t log_mask = 0;
    uint8_t part_mask[logs] = {};
    Block* bins[logs][parts] = {};
  };

  static void bin_of(size_t size, int* log, int* part);
  Block* search(Pool& pool, size_t size);
  Block* take(Block* block, size_t size);
  Block* grow(size_t size, int pool);
  void link_free(Block* block);
  void unlink_free(Block* block);
  void drop_lru(Block* block);
  void release_segment(Segment* segment);
  void changed();
  Block* new_block();
  void insert(Block* block);
  void erase(Block* block);
  size_t slot(const void* p) const;

  Pool pools_[2];
  Block *lru_first_ = nullptr, *lru_last_ = nullptr;
  Block* spare_ = nullptr;          // unused Block records
  Block** table_ = nullptr;         // used blocks by address, open addressing
  size_t table_size_ = 0, table_used_ = 0;
  void* records_ = nullptr;         // chunks of Block records
  size_t live_ = 0, idle_ = 0, idle_limit_;
};

}  // namespace fb::detail
