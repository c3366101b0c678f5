// Locks of tables that live as long as the process.
#pragma once
#include <atomic>
#include <shared_mutex>

namespace fb {

// A shared mutex that fork() waits for, so that the child finds whole tables and a free lock: a new one, since the thread
// that forked has another number there than the one that locked. Who holds one neither forks, nor waits for another one, for
// the interpreter or for NoFork. Never destroyed. As a constinit variable it needs no first use, in the middle of which another thread could fork.
class ForkMutex {
 public:
  constexpr ForkMutex() = default;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() {
    know();
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }
  void lock_shared() {
    know();
    mutex_.lock_shared();
  }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  friend struct ForkHandlers;
  void know() {
    if (!known_.load(std::memory_order_acquire)) enlist();
  }
  void enlist();  // tells the handlers of fork() about it; waits where another thread forks

  std::shared_mutex mutex_;
  std::atomic<bool> known_{false};
  ForkMutex* next_ = nullptr;
};

}  // namespace fb
