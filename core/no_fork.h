// Work that fork() must not cut in two, and values that are made on first use.
#pragma once
#include <atomic>
#include <mutex>

namespace fb {

// While one of these lives, fork() waits in every other thread. For work that takes locks which are no ForkMutex (those of a
// library, of the loader), or several at once: a lock that is taken within NoFork alone is free in every child. They nest.
// Who has one neither forks nor waits for the interpreter, whose holder may be the one that forks; it is had before a ForkMutex.
class NoFork {
 public:
  NoFork();
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

// A value that is made when it is first asked for, and whole in a child. A function's own static is not: where another thread
// forks while one makes it, the child waits for ever for the thread that made it. For constinit variables; never destroyed.
template <class T>
class FirstUse {
 public:
  constexpr FirstUse() = default;
  // make() gives the value, within NoFork. What it raises goes on to the caller, and the next one tries again.
  template <class Make>
  T& get(Make&& make) {
    if (T* t = made_.load(std::memory_order_acquire)) return *t;
    const NoFork whole;
    const std::lock_guard<std::mutex> hold(lock_);
    T* t = made_.load(std::memory_order_relaxed);
    if (!t) made_.store(t = new T(make()), std::memory_order_release);
    return *t;
  }

 private:
  std::atomic<T*> made_{nullptr};
  std::mutex lock_;  // within NoFork alone
};

}  // namespace fb
