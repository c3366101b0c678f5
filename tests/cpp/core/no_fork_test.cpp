#include "core/no_fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "core/fork_mutex.h"

namespace fb {
namespace {

// Whether a child that runs f ends well, within 20 seconds.
template <class F> bool in_child(F&& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(f() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(NoFork, LocksTakenWithinAreFreeInAChild) {
  static std::mutex first, second;   // as a library has them
  static constinit ForkMutex table;
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::vector<std::thread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      while (!stop) {
        const NoFork whole;
        const std::lock_guard<std::mutex> one(first);
        const NoFork again;
        const std::lock_guard<std::mutex> two(second);
        const std::lock_guard<ForkMutex> three(table);
        ++rounds;
      }
    });
  for (int i = 0; i < 50 && !HasFailure(); ++i) {
    const int before = rounds;
    EXPECT_TRUE(in_child([] {
      const NoFork whole;
      const std::lock_guard<std::mutex> one(first), two(second);
      const std::lock_guard<ForkMutex> three(table);
      return true;
    })) << i;
    while (rounds == before) std::this_thread::yield();   // the threads go on
  }
  stop = true;
  for (std::thread& t : busy) t.join();
}

TEST(NoFork, AForkWaitsForTheEndOfIt) {
  std::atomic<int> at{0};
  std::thread busy([&] {
    const NoFork whole;
    at = 1;
    usleep(100000);
    at = 2;
  });
  while (at == 0) std::this_thread::yield();
  EXPECT_TRUE(in_child([&] { return at == 2; }));
  busy.join();
}

TEST(NoFork, WhoHasOneMayForkAllTheSame) {
  const NoFork whole;
  EXPECT_TRUE(in_child([] {
    bool free = false;
    std::thread([&] { const NoFork other; free = true; }).join();
    return free;
  }));
}

TEST(FirstUse, IsWholeInAChild) {
  struct Slow {
    int a = 0, b = 0;
  };
  static FirstUse<Slow> values[20];   // what they made is never destroyed
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    auto& value = values[i];
    std::atomic<bool> begun{false};
    auto get = [&]() -> Slow& {
      return value.get([&] {
        begun = true;
        usleep(2000);
        return Slow{1, 1};
      });
    };
    std::thread other([&] { get(); });
    while (!begun) std::this_thread::yield();
    EXPECT_TRUE(in_child([&] { return get().a == 1 && get().b == 1; }));
    other.join();
  }
}

TEST(FirstUse, WhatItsMakerRaisesIsNotKept) {
  static FirstUse<int> value;
  EXPECT_THROW(value.get([]() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(value.get([] { return 5; }), 5);
  EXPECT_EQ(value.get([] { return 6; }), 5);
}

}  // namespace
}  // namespace fb
