#include "core/storage.h"

#include <cstring>
#include <new>

#include "core/allocator.h"
#include "core/error.h"

namespace fb {

namespace {

constexpr size_t kInlineBytes = 192;

constexpr size_t kHeader = (sizeof(Storage) + 63) / 64 * 64;
constexpr size_t kBlock = kHeader + kInlineBytes;
#ifdef __SANITIZE_ADDRESS__
constexpr bool kExact = true;  // a block ends where its data does, so that what goes beyond is seen
#else
constexpr bool kExact = false;
#endif

}  // namespace

Ref<Storage> Storage::allocate(size_t nbytes, Device device) {
  FB_CHECK(device.is_cpu() || device.is_meta(), "no memory can be allocated on ", device,
           ": this build has no back end for it");
  if (device.is_cpu() && nbytes > kInlineBytes) {
    void* block = cpu_allocate(nbytes);
    Storage* s = new (cpu_allocate(kBlock)) Storage;
    s->data = block;
    s->nbytes = s->block_bytes = nbytes;
    s->device = device;
    return Ref<Storage>(s);
  }
  void* mem = cpu_allocate(kExact ? kHeader + (device.is_cpu() ? nbytes : 0) : kBlock);
  Storage* s = new (mem) Storage;
  s->nbytes = nbytes;
  s->device = device;
  if (device.is_cpu() && nbytes) {
    s->data = static_cast<char*>(mem) + kHeader;
    s->inline_data = true;
  }
  return Ref<Storage>(s);
}

Ref<Storage> Storage::foreign(void* data, size_t nbytes, Device device, void (*release)(void*), void* context) {
  Storage* s = new (cpu_allocate(kBlock)) Storage;
  s->data = data;
  s->nbytes = nbytes;
  s->device = device;
  s->resizable = false;
  s->release = release;
  s->context = context;
  return Ref<Storage>(s);
}

Ref<Storage> Storage::of_payload(Payload* payload, Device device) {
  Storage* s = new (cpu_allocate(kBlock)) Storage;
  s->device = device;
  s->resizable = false;
  s->payload = payload;
  return Ref<Storage>(s);
}

void Storage::resize(size_t n) {
  FB_CHECK(resizable, "a storage of ", uint64_t(nbytes), " bytes that an array or another program sees or owns cannot be resized to ", uint64_t(n));
  if (device.is_meta() || n == nbytes) {
    nbytes = n;
    return;
  }
  void* block = cpu_allocate(n);
  if (n && nbytes) std::memcpy(block, data, n < nbytes ? n : nbytes);
  if (!inline_data) cpu_free(data, block_bytes);
  data = block;
  nbytes = block_bytes = n;
  inline_data = false;
}

void Storage::destroy(Storage* s) {
  if (s->payload) [[unlikely]] delete s->payload;
  if (s->release) s->release(s->context);
  else if (!s->inline_data) cpu_free(s->data, s->block_bytes);
  s->~Storage();
  cpu_free(s, kBlock);
}

}  // namespace fb
