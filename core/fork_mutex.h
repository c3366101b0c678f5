// Locks of tables that live as long as the process.
#pragma once
#include <shared_mutex>

namespace fb {

// A shared mutex that fork() waits for, so that the child finds whole tables and a free lock: a new one, since the thread
// that forked has another number there than the one that locked. Who holds one neither forks, nor waits for another one or
// for the interpreter. Never destroyed.
class ForkMutex {
 public:
  ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  void lock_shared() { mutex_.lock_shared(); }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  friend struct ForkHandlers;
  std::shared_mutex mutex_;
  ForkMutex* next_ = nullptr;
};

}  // namespace fb
