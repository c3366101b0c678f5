// The best of repeated runs. With one thread it counts the thread's processor time, which other
// work on the machine disturbs less; with more, the wall clock.
#pragma once
#include <ctime>

#include "core/threads.h"

inline double clock_seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

template <class F>
double best_seconds(F&& f, double budget = 0.4) {
  const clockid_t clock = fb::get_num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  f();
  double best = 1e9;
  const double start = clock_seconds(clock);
  do {
    // Short runs are timed several at once.
    int repeat = best < 1e-5 ? 100 : 1;
    const double t = clock_seconds(clock);
    for (int i = 0; i < repeat; ++i) f();
    const double s = (clock_seconds(clock) - t) / repeat;
    if (s < best) best = s;
  } while (clock_seconds(clock) - start < budget);
  return best;
}
