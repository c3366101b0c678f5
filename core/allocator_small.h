// Size classes of the caching allocator: blocks up to small_limit bytes of host memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/allocator.h"

namespace fb::detail {

class PageHeap;

// Steps of 64 bytes to 1 KiB, then of an eighth to a quarter of the size.
inline constexpr int small_classes = 24;
inline constexpr uint16_t small_sizes[small_classes] = {
    64,  128, 192, 256,  320,  384,  448,  512,  576,  640,  704,  768,
    832, 896, 960, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096};
struct SmallClassTable {
  uint8_t at[small_limit / 64 + 1];
  constexpr SmallClassTable() : at{} {
    for (size_t i = 0; i <= small_limit / 64; i++) {
      int c = 0;
      while (small_sizes[c] < i * 64) c++;
      at[i] = uint8_t(c);
    }
  }
};
inline constexpr SmallClassTable small_class_table;
inline int small_class(size_t nbytes) { return small_class_table.at[(nbytes + 63) / 64]; }

// How many blocks move between a thread and the heap at once; a thread keeps up to twice as many.
inline int small_batch(int c) {
  int n = 16384 / small_sizes[c];
  return n < 4 ? 4 : n > 64 ? 64 : n;
}

struct FreeNode {
  FreeNode* next;
};

struct ThreadCache {
  struct List {
    FreeNode* head = nullptr;
    std::atomic<uint32_t> count{0};  // written by its thread, read by whoever asks for statistics
    uint32_t most = 0;
  };
  List lists[small_classes];
  ThreadCache *prev = nullptr, *next = nullptr;
  ThreadCache() {
    for (int c = 0; c < small_classes; c++) lists[c].most = uint32_t(2 * small_batch(c));
  }
};

struct Slab;
struct Chunk;

// Not thread-safe: the allocator's lock is around every call.
class SmallHeap {
 public:
  SmallHeap(PageHeap& pages, DeviceBackend& backend) : pages_(pages), backend_(backend) {}
  ~SmallHeap();

  // A list of 1 to `n` blocks; null when the back end refuses.
  FreeNode* fetch(int c, int n, int* got);
  void put_back(int c, FreeNode* list);
  // Gives empty slabs' memory back.
  void trim();
  int64_t idle_slabs() const { return idle_slabs_; }

 private:
  Slab* new_slab(int c);
  void retire(Slab* slab);

  PageHeap& pages_;
  DeviceBackend& backend_;
  Slab* open_[small_classes] = {};  // slabs with a free block
  Slab* empty_ = nullptr;           // slabs of no class
  Chunk* chunks_ = nullptr;
  int64_t idle_slabs_ = 0;          // of no class, holding memory
};

}  // namespace fb::detail
