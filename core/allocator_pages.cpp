#include "core/allocator_pages.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace fb::detail {
namespace {

constexpr size_t page = 4096, huge_page = 2 << 20;
constexpr size_t pool_border = 1 << 20;      // larger requests have segments of their own kind
constexpr size_t shared_segment = 8 << 20;   // of the requests below
constexpr size_t always_allowed = 8 << 20;   // idle bytes that no bound takes away at once

size_t round_up(size_t n, size_t to) { return (n + to - 1) & ~(to - 1); }

struct RecordChunk {
  RecordChunk* next;
  Block blocks[126];
};

}  // namespace

PageHeap::PageHeap(DeviceBackend& b) : backend(b) {
  idle_limit_ = std::max<size_t>(backend.capacity() / 8, 1);
  table_size_ = 1024;
  table_ = static_cast<Block**>(std::calloc(table_size_, sizeof(Block*)));
  if (!table_) throw std::bad_alloc();
}

PageHeap::~PageHeap() {
  for (Segment* s = segments; s;) {
    Segment* next = s->next;
    backend.release(s->base, s->size);
    std::free(s);
    s = next;
  }
  for (auto* c = static_cast<RecordChunk*>(records_); c;) {
    auto* next = c->next;
    std::free(c);
    c = next;
  }
  std::free(table_);
}

// ---------------------------------------------------------------- records and the address table

Block* PageHeap::new_block() {
  if (!spare_) {
    auto* chunk = static_cast<RecordChunk*>(std::malloc(sizeof(RecordChunk)));
    if (!chunk) throw std::bad_alloc();
    chunk->next = static_cast<RecordChunk*>(records_);
    records_ = chunk;
    for (Block& b : chunk->blocks) {
      b.bin_next = spare_;
      spare_ = &b;
    }
  }
  Block* b = spare_;
  spare_ = b->bin_next;
  *b = Block{};
  return b;
}

size_t PageHeap::slot(const void* p) const {
  return (reinterpret_cast<uintptr_t>(p) * 0x9e3779b97f4a7c15ull >> 20) & (table_size_ - 1);
}

void PageHeap::insert(Block* block) {
  if (table_used_ * 2 >= table_size_) {
    size_t old_size = table_size_;
    Block** old = table_;
    auto* wider = static_cast<Block**>(std::calloc(old_size * 2, sizeof(Block*)));
    if (!wider) throw std::bad_alloc();
    table_ = wider;
    table_size_ = old_size * 2;
    for (size_t i = 0; i < old_size; i++) {
      if (!old[i]) continue;
      size_t at = slot(old[i]->p);
      while (table_[at]) at = (at + 1) & (table_size_ - 1);
      table_[at] = old[i];
    }
    std::free(old);
  }
  size_t at = slot(block->p);
  while (table_[at]) at = (at + 1) & (table_size_ - 1);
  table_[at] = block;
  table_used_++;
}

Block* PageHeap::find(void* p) const {
  for (size_t at = slot(p); table_[at]; at = (at + 1) & (table_size_ - 1))
    if (table_[at]->p == p) return table_[at];
  return nullptr;
}

void PageHeap::erase(Block* block) {
  size_t mask = table_size_ - 1, hole = slot(block->p);
  while (table_[hole] != block) hole = (hole + 1) & mask;
  // Later entries of the run move back where their own place allows it.
  for (size_t at = (hole + 1) & mask; table_[at]; at = (at + 1) & mask) {
    size_t home = slot(table_[at]->p);
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      table_[hole] = table_[at];
      hole = at;
    }
  }
  table_[hole] = nullptr;
  table_used_--;
}

// ---------------------------------------------------------------- free blocks

void PageHeap::bin_of(size_t size, int* log, int* part) {
  int l = 63 - std::countl_zero(uint64_t(size));
  *part = int(size >> (l - 3)) & 7;
  *log = std::min(l - first_log, logs - 1);
}

void PageHeap::link_free(Block* b) {
  int log, part;
  bin_of(b->size, &log, &part);
  Pool& pool = pools_[b->segment->pool];
  b->bin_prev = nullptr;
  b->bin_next = pool.bins[log][part];
  if (b->bin_next) b->bin_next->bin_prev = b;
  pool.bins[log][part] = b;
  pool.part_mask[log] |= 1 << part;
  pool.log_mask |= 1ull << log;
  idle_ += b->resident;
  if (b->resident) {
    b->in_lru = true;
    b->lru_prev = lru_last_;
    b->lru_next = nullptr;
    (lru_last_ ? lru_last_->lru_next : lru_first_) = b;
    lru_last_ = b;
  }
}

void PageHeap::drop_lru(Block* b) {
  if (!b->in_lru) return;
  (b->lru_prev ? b->lru_prev->lru_next : lru_first_) = b->lru_next;
  (b->lru_next ? b->lru_next->lru_prev : lru_last_) = b->lru_prev;
  b->in_lru = false;
}

void PageHeap::unlink_free(Block* b) {
  int log, part;
  bin_of(b->size, &log, &part);
  Pool& pool = pools_[b->segment->pool];
  if (b->bin_next) b->bin_next->bin_prev = b->bin_prev;
  if (b->bin_prev) {
    b->bin_prev->bin_next = b->bin_next;
  } else {
    pool.bins[log][part] = b->bin_next;
    if (!b->bin_next && !(pool.part_mask[log] &= ~(1 << part))) pool.log_mask &= ~(1ull << log);
  }
  idle_ -= b->resident;
  drop_lru(b);
}

Block* PageHeap::search(Pool& pool, size_t size) {
  int log, part;
  bin_of(size, &log, &part);
  // The request's own bin may hold blocks that are too short: the best of the first few, so that a
  // loop which asks for the same sizes again finds the same blocks.
  Block* best = nullptr;
  int looked = 0;
  for (Block* b = pool.bins[log][part]; b && looked < 16; b = b->bin_next, looked++)
    if (b->size >= size && (!best || b->size < best->size)) best = b;
  if (best) return best;
  uint32_t rest = pool.part_mask[log] & ~((2u << part) - 1);
  if (!rest) {
    uint64_t higher = log + 1 < 64 ? pool.log_mask & ~((2ull << log) - 1) : 0;
    if (!higher) return nullptr;
    log = std::countr_zero(higher);
    rest = pool.part_mask[log];
  }
  part = std::countr_zero(rest);
  for (Block* b = pool.bins[log][part]; b; b = b->bin_next) {
    if (b->size >= size) return b;  // only the last doubling can hold shorter ones
  }
  return nullptr;
}

// Takes `size` bytes from the front of a free block.
Block* PageHeap::take(Block* b, size_t size) {
  unlink_free(b);
  if (b->size - size >= 512) {
    Block* rest = new_block();
    rest->p = b->p + size;
    rest->size = b->size - size;
    rest->resident = std::min(rest->size, b->resident);
    rest->zero = b->zero;
    rest->segment = b->segment;
    rest->left = b;
    rest->right = b->right;
    if (rest->right) rest->right->left = rest;
    b->right = rest;
    b->size = size;
    link_free(rest);
  }
  b->used = true;
  live_ += b->size;
  insert(b);
  changed();
  return b;
}

Block* PageHeap::grow(size_t size, int pool) {
  size_t room = pool ? round_up(size, size >= 16 * huge_page ? huge_page : 16 * page)
                     : std::max(shared_segment, round_up(size, page));
  size_t alignment = room >= huge_page ? huge_page : page;
  void* base = nullptr;
  // First as wished, then no more than is asked for, then with an empty cache.
  for (int attempt = 0; attempt < 3 && !base; attempt++) {
    if (attempt == 2) {
      if (!idle_) break;
      trim(0);
      counts.cache_flushes++;
    }
    if (attempt == 1) room = round_up(size, page);
    counts.obtain_calls++;
    base = backend.obtain(room, alignment);
  }
  if (!base) return nullptr;
  auto* segment = static_cast<Segment*>(std::malloc(sizeof(Segment)));
  if (!segment) {
    backend.release(base, room);
    return nullptr;
  }
  Block* b = new_block();
  *segment = Segment{static_cast<char*>(base), room, pool, b, nullptr, segments};
  if (segments) segments->prev = segment;
  segments = segment;
  counts.segments++;
  b->p = segment->base;
  b->size = room;
  b->zero = backend.zeroed();
  b->segment = segment;
  link_free(b);
  return b;
}

Block* PageHeap::allocate(size_t nbytes) {
  int pool = nbytes > pool_border;
  if (nbytes > backend.capacity()) return nullptr;
  size_t size = round_up(nbytes, pool ? page : 512);
  if (live_ + size > backend.capacity()) return nullptr;
  trim(backend.capacity() - live_ - size);
  Block* b = search(pools_[pool], size);
  if (!b) {
    // Idle memory makes room first, so that live and idle stay within the bound.
    size_t live = live_ + size, peak = std::max(peak_live, live);
    size_t allowed = std::min(peak + peak / 5 - live, idle_limit_);
    trim(std::max(allowed, always_allowed));
    b = grow(size, pool);
    if (!b && pool == 0) b = search(pools_[1], size);
    if (!b) return nullptr;
  }
  return take(b, size);
}

void PageHeap::free(Block* b) {
  erase(b);
  live_ -= b->size;
  b->used = false;
  b->zero = false;
  b->resident = b->size;
  if (Block* l = b->left; l && !l->used) {
    unlink_free(l);
    l->size += b->size;
    l->resident += b->resident;
    l->zero = false;
    l->right = b->right;
    if (b->right) b->right->left = l;
    b->bin_next = spare_;
    spare_ = b;
    b = l;
  }
  if (Block* r = b->right; r && !r->used) {
    unlink_free(r);
    b->size += r->size;
    b->resident += r->resident;
    b->zero = false;
    b->right = r->right;
    if (r->right) r->right->left = b;
    r->bin_next = spare_;
    spare_ = r;
  }
  link_free(b);
  enforce();
}

void PageHeap::enforce() {
  size_t allowed = std::min(peak_live + peak_live / 5 - std::min(live_, peak_live), idle_limit_);
  trim(std::max(allowed, always_allowed));
  changed();
}

void PageHeap::changed() {
  idle_low = std::min(idle_low, idle_);
  peak_live = std::max(peak_live, live_);
  peak_reserved = std::max(peak_reserved, live_ + idle_);
  counts.peak_allocated = std::max(counts.peak_allocated, live_);
  counts.peak_reserved = std::max(counts.peak_reserved, live_ + idle_);
}

void PageHeap::count_foreign(int64_t live_change, int64_t idle_change) {
  live_ += live_change;
  idle_ += idle_change;
  changed();
}

void PageHeap::release_segment(Segment* s) {
  Block* b = s->first;
  (s->prev ? s->prev->next : segments) = s->next;
  if (s->next) s->next->prev = s->prev;
  counts.segments--;
  counts.release_calls++;
  backend.release(s->base, s->size);
  b->bin_next = spare_;
  spare_ = b;
  std::free(s);
}

void PageHeap::trim(size_t target) {
  while (idle_ > target && lru_first_) {
    Block* b = lru_first_;
    if (!b->left && !b->right) {
      unlink_free(b);
      release_segment(b->segment);
      continue;
    }
    char* lo = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(b->p), page));
    char* hi = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(b->p + b->size) & ~(page - 1));
    if (lo < hi && backend.discard(lo, hi - lo)) {
      counts.discard_calls++;
      idle_ -= b->resident;
      b->resident = 0;
      b->zero = backend.zeroed() && lo == b->p && hi == b->p + b->size;
    }
    drop_lru(b);  // what cannot go now is looked at again once it merges with a neighbour
  }
  changed();
}

size_t PageHeap::largest_free() const {
  size_t largest = 0;
  for (const Pool& pool : pools_) {
    if (!pool.log_mask) continue;
    int log = 63 - std::countl_zero(pool.log_mask);
    int part = 31 - std::countl_zero(uint32_t(pool.part_mask[log]));
    // The last doubling is open-ended: its parts are not in order.
    for (int p = log == logs - 1 ? 0 : part; p < parts; p++)
      for (Block* b = pool.bins[log][p]; b; b = b->bin_next) largest = std::max(largest, b->size);
  }
  return largest;
}

}  // namespace fb::detail
