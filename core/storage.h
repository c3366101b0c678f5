// A run of bytes with an owner. Small runs live in the same block as this header.
#pragma once
#include <cstddef>

#include "core/device.h"
#include "core/refcount.h"

namespace fb {

// What a tensor without memory of its own stands for; whoever makes one derives from this.
struct Payload {
  virtual ~Payload() = default;
};

struct Storage : RefCounted {
  void* data = nullptr;
  size_t nbytes = 0;
  Device device;
  bool resizable = true;   // foreign memory is not
  bool inline_data = false;
  uint32_t version = 0;    // raised by every in-place write; shared by all tensors on this storage
  void (*release)(void* context) = nullptr;  // foreign memory: called once when the storage dies
  void* context = nullptr;
  void* py = nullptr;      // the Python object that stands for this storage, borrowed
  size_t block_bytes = 0;  // what the allocator gave, when data is not inline
  Payload* payload = nullptr;  // owned; data is null then

  // Uninitialised bytes. On the meta device no memory is taken. Raises OutOfMemory.
  static Ref<Storage> allocate(size_t nbytes, Device device);
  static Ref<Storage> foreign(void* data, size_t nbytes, Device device, void (*release)(void*), void* context);
  // No memory; deletes `payload` when it dies.
  static Ref<Storage> of_payload(Payload* payload, Device device);
  // Keeps the first min(old, new) bytes.
  void resize(size_t nbytes);
  static void destroy(Storage*);
};

}  // namespace fb
