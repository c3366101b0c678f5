#include "core/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fb {
namespace {

struct Threads : ::testing::Test {
  int before = get_num_threads();
  void TearDown() override { set_num_threads(before); }
};

TEST_F(Threads, BlocksDependOnGrainOnly) {
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    for (int64_t n : {1, 2, 9, 10, 11, 1000, 1003}) {
      std::vector<std::atomic<int>> seen(n);
      std::atomic<int> wrong{0}, calls{0};
      parallel_for(5, 5 + n, 10, [&](int64_t lo, int64_t hi) {
        calls++;
        if ((lo - 5) % 10 || hi != std::min<int64_t>(lo + 10, 5 + n)) wrong++;
        for (int64_t i = lo; i < hi; i++) seen[i - 5]++;
      });
      EXPECT_EQ(wrong, 0);
      EXPECT_EQ(calls, (n + 9) / 10);
      for (auto& s : seen) EXPECT_EQ(s, 1);
    }
  }
}

TEST_F(Threads, EmptyAndHugeRanges) {
  set_num_threads(4);
  int calls = 0;
  parallel_for(3, 3, 1, [&](int64_t, int64_t) { calls++; });
  parallel_for(3, -3, 1, [&](int64_t, int64_t) { calls++; });
  EXPECT_EQ(calls, 0);
  std::atomic<uint64_t> total{0};
  parallel_for(0, INT64_MAX, INT64_MAX / 3,
               [&](int64_t lo, int64_t hi) { total += uint64_t(hi - lo); });
  EXPECT_EQ(total, uint64_t(INT64_MAX));
}

TEST_F(Threads, UsesSeveralThreads) {
  set_num_threads(2);
  std::atomic<int> arrived{0};
  // Each block waits for the other: this ends only if two threads run.
  parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    arrived++;
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(arrived, 2);
  });
}

TEST_F(Threads, NestedRunsInline) {
  set_num_threads(4);
  std::atomic<int> total{0};
  parallel_for(0, 8, 1, [&](int64_t, int64_t) {
    EXPECT_TRUE(in_parallel_region());
    auto me = std::this_thread::get_id();
    parallel_for(0, 8, 1, [&](int64_t, int64_t) {
      EXPECT_EQ(std::this_thread::get_id(), me);
      total++;
    });
  });
  EXPECT_EQ(total, 64);
  EXPECT_FALSE(in_parallel_region());
}

TEST_F(Threads, ExceptionsReachTheCaller) {
  for (int threads : {1, 4}) {
    set_num_threads(threads);
    for (int round = 0; round < 50; round++) {
      try {
        parallel_for(0, 100, 1, [](int64_t lo, int64_t) {
          if (lo == 37) throw std::out_of_range("block 37");
        });
        FAIL();
      } catch (const std::out_of_range& e) {
        EXPECT_STREQ(e.what(), "block 37");
      }
    }
    std::atomic<int> n{0};
    parallel_for(0, 100, 1, [&](int64_t, int64_t) { n++; });
    EXPECT_EQ(n, 100);
  }
}

TEST_F(Threads, ManyCallersAtOnce) {
  set_num_threads(4);
  std::vector<std::thread> callers;
  std::atomic<int64_t> total{0};
  for (int c = 0; c < 4; c++)
    callers.emplace_back([&] {
      for (int round = 0; round < 2000; round++)
        parallel_for(0, 16, 1, [&](int64_t lo, int64_t) { total += lo; });
    });
  for (auto& t : callers) t.join();
  EXPECT_EQ(total, 4 * 2000 * 120);
}

TEST_F(Threads, ChildOfForkRebuildsThePool) {
  set_num_threads(3);
  std::atomic<int> n{0};
  parallel_for(0, 64, 1, [&](int64_t, int64_t) { n++; });
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    std::atomic<int> arrived{0};
    parallel_for(0, 2, 1, [&](int64_t, int64_t) {
      arrived++;
      while (arrived < 2) std::this_thread::yield();
    });
    _exit(arrived == 2 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Threads, IdleWorkersUseNoTime) {
  set_num_threads(4);
  parallel_for(0, 64, 1, [&](int64_t, int64_t) {});
  auto cpu = [] {
    rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  double start = cpu();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu() - start, 20000);
}

TEST_F(Threads, InteropThreadsAreSetOnce) {
  EXPECT_GE(get_num_interop_threads(), 1);
  EXPECT_TRUE(set_num_interop_threads(3));
  EXPECT_FALSE(set_num_interop_threads(4));
  EXPECT_EQ(get_num_interop_threads(), 3);
}

}  // namespace
}  // namespace fb
