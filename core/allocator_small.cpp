#include "core/allocator_small.h"

#include <algorithm>

#include "core/allocator_pages.h"

namespace fb::detail {

// A chunk lies at a multiple of its size, so that a block's slab is found from its address. The
// records of its slabs take the front of the first slab.
constexpr size_t slab_size = 64 << 10, chunk_size = 1 << 20, slabs_in_chunk = chunk_size / slab_size;

struct Slab {
  FreeNode* list = nullptr;
  Slab *prev = nullptr, *next = nullptr;
  uint32_t used = 0;       // blocks handed out
  uint32_t fresh = 0;      // offset of the part that was never handed out
  int32_t size_class = -1;
  bool open = false, resident = false;
  Chunk* chunk = nullptr;
  char* base = nullptr;
};

struct Chunk {
  Slab slabs[slabs_in_chunk];
  Chunk *prev, *next;
  int slabs_used;
};
static constexpr size_t chunk_header = (sizeof(Chunk) + 63) / 64 * 64;
static_assert(chunk_header <= 4096);

static void link(Slab*& head, Slab* s) {
  s->prev = nullptr;
  s->next = head;
  if (head) head->prev = s;
  head = s;
}
static void unlink(Slab*& head, Slab* s) {
  (s->prev ? s->prev->next : head) = s->next;
  if (s->next) s->next->prev = s->prev;
}

SmallHeap::~SmallHeap() {
  for (Chunk* c = chunks_; c;) {
    Chunk* next = c->next;
    backend_.release(c, chunk_size);
    c = next;
  }
}

Slab* SmallHeap::new_slab(int c) {
  if (!empty_) {
    if (pages_.live() + chunk_size > backend_.capacity()) return nullptr;
    void* memory = backend_.obtain(chunk_size, chunk_size);
    if (!memory) {
      pages_.trim(0);
      memory = backend_.obtain(chunk_size, chunk_size);
      if (!memory) return nullptr;
    }
    auto* chunk = static_cast<Chunk*>(memory);
    *chunk = Chunk{};
    chunk->next = chunks_;
    if (chunks_) chunks_->prev = chunk;
    chunks_ = chunk;
    for (size_t i = slabs_in_chunk; i-- > 0;) {
      Slab* s = &chunk->slabs[i];
      s->chunk = chunk;
      s->base = static_cast<char*>(memory) + i * slab_size;
      link(empty_, s);
    }
  }
  Slab* s = empty_;
  unlink(empty_, s);
  s->size_class = c;
  s->list = nullptr;
  s->used = 0;
  s->fresh = s->base == reinterpret_cast<char*>(s->chunk) ? uint32_t(chunk_header) : 0;
  s->chunk->slabs_used++;
  idle_slabs_ -= s->resident;
  pages_.count_foreign(int64_t(slab_size), s->resident ? -int64_t(slab_size) : 0);
  s->resident = true;
  s->open = true;
  link(open_[c], s);
  return s;
}

FreeNode* SmallHeap::fetch(int c, int n, int* got) {
  FreeNode* list = nullptr;
  uint32_t size = small_sizes[c];
  int count = 0;
  while (count < n) {
    Slab* s = open_[c];
    if (!s && !(count == 0 && (s = new_slab(c)))) break;
    for (; count < n; count++) {
      FreeNode* node = s->list;
      if (node) {
        s->list = node->next;
      } else if (s->fresh + size <= slab_size) {
        node = reinterpret_cast<FreeNode*>(s->base + s->fresh);
        s->fresh += size;
      } else {
        unlink(open_[c], s);
        s->open = false;
        break;
      }
      s->used++;
      node->next = list;
      list = node;
    }
  }
  *got = count;
  return list;
}

void SmallHeap::retire(Slab* s) {
  unlink(open_[s->size_class], s);
  s->open = false;
  s->size_class = -1;
  Chunk* chunk = s->chunk;
  chunk->slabs_used--;
  idle_slabs_++;
  pages_.count_foreign(-int64_t(slab_size), int64_t(slab_size));
  link(empty_, s);
}

void SmallHeap::put_back(int c, FreeNode* list) {
  while (list) {
    FreeNode* node = list;
    list = list->next;
    uintptr_t at = reinterpret_cast<uintptr_t>(node);
    auto* chunk = reinterpret_cast<Chunk*>(at & ~(chunk_size - 1));
    Slab* s = &chunk->slabs[(at & (chunk_size - 1)) / slab_size];
    node->next = s->list;
    s->list = node;
    if (!s->open) {
      s->open = true;
      link(open_[c], s);
    }
    // One empty slab of a class stays, so that a lone block that comes and goes costs no slab.
    if (--s->used == 0 && (s->next || s->prev)) retire(s);
  }
}

void SmallHeap::trim() {
  for (auto& head : open_)
    for (Slab* s = head; s;) {
      Slab* next = s->next;
      if (s->used == 0) retire(s);
      s = next;
    }
  for (Chunk* c = chunks_; c;) {
    Chunk* next = c->next;
    int64_t idle = 0;
    for (Slab& s : c->slabs)
      if (s.size_class < 0 && s.resident) idle += slab_size;
    if (c->slabs_used == 0) {
      for (Slab& s : c->slabs) unlink(empty_, &s);
      (c->prev ? c->prev->next : chunks_) = next;
      if (next) next->prev = c->prev;
      pages_.count_foreign(0, -idle);
      idle_slabs_ -= idle / int64_t(slab_size);
      backend_.release(c, chunk_size);
    } else {
      for (Slab& s : c->slabs) {
        if (s.size_class >= 0 || !s.resident || s.base == reinterpret_cast<char*>(c)) continue;
        if (!backend_.discard(s.base, slab_size)) continue;
        s.resident = false;
        idle_slabs_--;
        pages_.count_foreign(0, -int64_t(slab_size));
      }
    }
    c = next;
  }
}

}  // namespace fb::detail
