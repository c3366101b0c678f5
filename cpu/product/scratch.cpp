#include "cpu/product/scratch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace fb::product {
namespace {

constexpr size_t huge_page = size_t(2) << 20;
constexpr size_t worth_keeping = size_t(32) << 20;

struct Buffers {
  struct One {
    void* data = nullptr;
    size_t size = 0;
  } slots[int(Slot::count)];

  ~Buffers() {
    for (One& b : slots) std::free(b.data);
  }
  static void release(One& b) {
    std::free(b.data);
    b = {};
  }
};
thread_local Buffers buffers;

}  // namespace

void* scratch_bytes(Slot slot, size_t bytes) {
  Buffers::One& b = buffers.slots[int(slot)];
  if (b.size >= bytes) return b.data;
  Buffers::release(b);
  const size_t align = bytes >= huge_page ? huge_page : 64;
  const size_t grain = bytes >= huge_page ? huge_page : 4096;
  const size_t size = (bytes + grain - 1) / grain * grain;
  void* p = std::aligned_alloc(align, size);
  if (!p) throw std::bad_alloc();
  if (align == huge_page) madvise(p, size, MADV_HUGEPAGE);
  b = {p, size};
  return p;
}

void trim_scratch() {
  for (Buffers::One& b : buffers.slots)
    if (b.size > worth_keeping) Buffers::release(b);
}

}  // namespace fb::product
