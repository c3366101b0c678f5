// Per-thread buffers for packed panels and pending sums, kept between calls.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fb::product {

enum class Slot { shared, a, b, sums, chunks, staging, image, count };

// At least `bytes` bytes, 64-byte aligned (2 MiB with huge pages where that large), valid until
// this thread asks for the same slot again. Contents are arbitrary.
void* scratch_bytes(Slot slot, size_t bytes);
// Gives back buffers above the size worth keeping. Called at the end of large products.
void trim_scratch();

template <class T>
T* scratch(Slot slot, int64_t count) {
  // The slack lets a kernel read a whole vector at the end of a panel.
  return static_cast<T*>(scratch_bytes(slot, size_t(count) * sizeof(T) + 64));
}

}  // namespace fb::product
