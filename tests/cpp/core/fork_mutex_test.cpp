#include "core/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace fb {
namespace {

TEST(ForkMutex, AChildFindsItFreeAndWhatItGuardsWhole) {
  static ForkMutex& lock = *new ForkMutex;
  static int64_t a = 0, b = 0;   // equal, but while the lock is held
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      const std::lock_guard<ForkMutex> hold(lock);
      ++a;
      for (int i = 0; i < 100; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
      ++b;
    }
  });
  std::thread reader([&] {
    while (!stop) {
      const std::shared_lock<ForkMutex> hold(lock);
      if (a != b) stop = true;
    }
  });
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);   // ends a child that waits for ever
      {
        const std::shared_lock<ForkMutex> hold(lock);
        if (a != b) _exit(1);
      }
      const std::lock_guard<ForkMutex> hold(lock);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
  }
  EXPECT_FALSE(stop) << "a reader saw a change that was not complete";
  stop = true;
  busy.join();
  reader.join();
}

}  // namespace
}  // namespace fb
