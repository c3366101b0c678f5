#include "core/storage.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "core/error.h"

namespace fb {

namespace {

constexpr size_t kInlineBytes = 192;

// Blocks of header + kInlineBytes are kept per thread: most tensors of a small program are this size.
struct FreeList {
  void* head = nullptr;
  int count = 0;
  ~FreeList() {
    while (head) {
      void* next = *static_cast<void**>(head);
      std::free(head);
      head = next;
    }
    count = 1 << 20;  // what dies later in this thread goes straight back to the system
  }
};
thread_local FreeList t_small;

void* take_small() {
  if (void* p = t_small.head) {
    t_small.head = *static_cast<void**>(p);
    --t_small.count;
    return p;
  }
  return std::aligned_alloc(64, (sizeof(Storage) + 63) / 64 * 64 + kInlineBytes);
}

void give_small(void* p) {
  if (t_small.count >= 1024) return std::free(p);
  *static_cast<void**>(p) = t_small.head;
  t_small.head = p;
  ++t_small.count;
}

void* allocate_block(size_t nbytes) {
  void* p = std::aligned_alloc(64, (nbytes + 63) / 64 * 64);
  if (!p) raise(ErrorKind::out_of_memory, text("out of memory on cpu: the request for ", uint64_t(nbytes), " bytes was refused"));
  return p;
}

}  // namespace

Ref<Storage> Storage::allocate(size_t nbytes, Device device) {
  FB_CHECK(device.is_cpu() || device.is_meta(), "no memory can be allocated on ", device,
           ": this build has no back end for it");
  if (device.is_cpu() && nbytes > kInlineBytes) {
    void* block = allocate_block(nbytes);
    Storage* s = new (take_small()) Storage;
    s->data = block;
    s->nbytes = s->block_bytes = nbytes;
    s->device = device;
    return Ref<Storage>(s);
  }
  void* mem = take_small();
  Storage* s = new (mem) Storage;
  s->nbytes = nbytes;
  s->device = device;
  if (device.is_cpu() && nbytes) {
    s->data = static_cast<char*>(mem) + (sizeof(Storage) + 63) / 64 * 64;
    s->inline_data = true;
  }
  return Ref<Storage>(s);
}

Ref<Storage> Storage::foreign(void* data, size_t nbytes, Device device, void (*release)(void*), void* context) {
  Storage* s = new (take_small()) Storage;
  s->data = data;
  s->nbytes = nbytes;
  s->device = device;
  s->resizable = false;
  s->release = release;
  s->context = context;
  return Ref<Storage>(s);
}

void Storage::resize(size_t n) {
  FB_CHECK(resizable, "a storage of ", uint64_t(nbytes), " bytes over foreign memory cannot be resized to ", uint64_t(n));
  if (device.is_meta() || n == nbytes) {
    nbytes = n;
    return;
  }
  void* block = n ? allocate_block(n) : nullptr;
  if (n && nbytes) std::memcpy(block, data, n < nbytes ? n : nbytes);
  if (!inline_data && data) std::free(data);
  data = block;
  nbytes = block_bytes = n;
  inline_data = false;
}

void Storage::destroy(Storage* s) {
  if (s->release) s->release(s->context);
  else if (!s->inline_data && s->data) std::free(s->data);
  s->~Storage();
  give_small(s);
}

}  // namespace fb
