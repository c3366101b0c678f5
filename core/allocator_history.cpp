#include "core/allocator_history.h"

#include <pthread.h>
#include <time.h>

#include <deque>
#include <unordered_map>

namespace fb {

OriginId (*allocation_origin)() noexcept = nullptr;

namespace {

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

struct Origins {
  std::deque<std::string> texts;  // of id 1, 2, ...: a deque's elements stay where they are
  std::unordered_map<std::string_view, OriginId> ids;
};
Origins& origins() {
  static Origins* o = new Origins;  // memory may be freed by static destructors
  return *o;
}

}  // namespace

void lock_origins() noexcept { pthread_mutex_lock(&g_lock); }
void unlock_origins() noexcept { pthread_mutex_unlock(&g_lock); }

OriginId intern_origin(std::string_view text) {
  if (text.empty()) return 0;
  lock_origins();
  Origins& o = origins();
  auto at = o.ids.find(text);
  if (at == o.ids.end()) {
    o.texts.emplace_back(text);
    at = o.ids.emplace(o.texts.back(), OriginId(o.texts.size())).first;
  }
  const OriginId id = at->second;
  unlock_origins();
  return id;
}

std::string origin_text(OriginId id) {
  if (id == 0) return {};
  lock_origins();
  std::string s = id <= origins().texts.size() ? origins().texts[id - 1] : std::string();
  unlock_origins();
  return s;
}

void AllocationHistory::resize(size_t capacity) {
  capacity_ = capacity;
  next_ = 0;
  ring_.clear();
  ring_.shrink_to_fit();
}

void AllocationHistory::add(AllocationEvent::Kind kind, const void* p, size_t size, OriginId origin) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const AllocationEvent e{kind, reinterpret_cast<uintptr_t>(p), size, origin, uint64_t(t.tv_sec) * 1000000000 + uint64_t(t.tv_nsec)};
  if (ring_.size() < capacity_) ring_.push_back(e);
  else ring_[next_] = e;
  next_ = (next_ + 1) % capacity_;
}

std::vector<AllocationEvent> AllocationHistory::events() const {
  if (ring_.size() < capacity_) return ring_;
  std::vector<AllocationEvent> r(ring_.begin() + std::ptrdiff_t(next_), ring_.end());
  r.insert(r.end(), ring_.begin(), ring_.begin() + std::ptrdiff_t(next_));
  return r;
}

}  // namespace fb
