// Where memory was asked for: names of places in the user's program, and what happened to blocks lately.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fb {

// A place in the user's program, such as "train.py:12 in step"; 0 where it is not known.
using OriginId = uint32_t;
OriginId intern_origin(std::string_view text);
std::string origin_text(OriginId id);

// Installed by the Python layer: the line that this thread runs. Called without the allocator's lock.
extern OriginId (*allocation_origin)() noexcept;

struct AllocationEvent {
  enum class Kind : uint8_t { allocate, free } kind;
  uintptr_t address;
  size_t size;
  OriginId origin;       // of the allocation, in both kinds
  uint64_t nanoseconds;  // of the monotonic clock
};

// The last `capacity` events, oldest first. Not thread-safe: the allocator's lock is around every call.
class AllocationHistory {
 public:
  void resize(size_t capacity);  // 0: off; what was recorded goes
  bool on() const { return capacity_ > 0; }
  void add(AllocationEvent::Kind kind, const void* p, size_t size, OriginId origin);
  std::vector<AllocationEvent> events() const;

 private:
  size_t capacity_ = 0, next_ = 0;
  std::vector<AllocationEvent> ring_;
};

// Around fork(): the table of names must not be in the middle of a change.
void lock_origins() noexcept;
void unlock_origins() noexcept;

}  // namespace fb
