// The rate of fused multiply-adds with nothing but registers: what a matrix product is held
// against.
//
//   fma_rate [--type f32|f64] [--width 256|512] [--threads N] [--seconds S]
//
// Prints GFLOP/s (a multiply and an add count as two) of N threads, each on a processor of its own.
// The width is by default the widest that the processor has.
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> stop{false};
std::atomic<float> sink{0};  // what the loops leave: keeps them from being optimised away
volatile double one = 1.0;   // not known to the compiler

// Twelve independent chains hide the latency (4 to 5 cycles) of two units on every processor so
// far.
constexpr int kChains = 12, kTurns = 4096;

#define FMA_LOOP(NAME, TARGET, VECTOR, SCALAR, SET, FMADD)                                         \
  __attribute__((target(TARGET))) long NAME() {                                                    \
    const VECTOR factor = SET(static_cast<SCALAR>(one)), term = SET(static_cast<SCALAR>(one - 1)); \
    VECTOR chain[kChains];                                                                         \
    for (VECTOR & c : chain) c = factor;                                                           \
    long done = 0;                                                                                 \
    while (!stop.load(std::memory_order_relaxed)) {                                                \
      for (int turn = 0; turn < kTurns; ++turn) {                                                  \
        _Pragma("GCC unroll 12") for (int i = 0; i < kChains; ++i) {                               \
          chain[i] = FMADD(chain[i], factor, term);                                                \
          asm volatile("" : "+v"(chain[i]));                                                       \
        }                                                                                          \
      }                                                                                            \
      done += static_cast<long>(kTurns) * kChains * (sizeof(VECTOR) / sizeof(SCALAR)) * 2;         \
    }                                                                                              \
    VECTOR total = chain[0];                                                                       \
    for (int i = 1; i < kChains; ++i) total = FMADD(chain[i], factor, total);                      \
    sink.store(static_cast<float>(total[0]));                                                      \
    return done;                                                                                   \
  }

FMA_LOOP(f32_256, "avx2,fma", __m256, float, _mm256_set1_ps, _mm256_fmadd_ps)
FMA_LOOP(f64_256, "avx2,fma", __m256d, double, _mm256_set1_pd, _mm256_fmadd_pd)
FMA_LOOP(f32_512, "avx512f", __m512, float, _mm512_set1_ps, _mm512_fmadd_ps)
FMA_LOOP(f64_512, "avx512f", __m512d, double, _mm512_set1_pd, _mm512_fmadd_pd)

std::vector<int> allowed_processors() {
  cpu_set_t set;
  std::vector<int> found;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) found.push_back(i);
    }
  }
  return found;
}

int fail(const char* text) {
  std::fprintf(stderr, "fma_rate: %s\n", text);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  bool is_double = false;
  int width = __builtin_cpu_supports("avx512f") ? 512 : 256;
  std::vector<int> processors = allowed_processors();
  int threads = static_cast<int>(processors.size());
  double seconds = 1.0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const char* value = argv[i + 1];
    if (!std::strcmp(argv[i], "--type")) {
      is_double = !std::strcmp(value, "f64");
      if (!is_double && std::strcmp(value, "f32")) return fail("--type is f32 or f64");
    } else if (!std::strcmp(argv[i], "--width")) {
      width = std::atoi(value);
      if (width != 256 && width != 512) return fail("--width is 256 or 512");
    } else if (!std::strcmp(argv[i], "--threads")) {
      threads = std::atoi(value);
    } else if (!std::strcmp(argv[i], "--seconds")) {
      seconds = std::atof(value);
    } else {
      return fail("options are --type --width --threads --seconds, each with a value");
    }
  }
  if (argc % 2 == 0) return fail("the last option has no value");
  if (threads < 1 || threads > static_cast<int>(processors.size())) {
    return fail(
        "--threads is at least 1 and at most the number of processors this process may use");
  }
  if (!(seconds > 0)) return fail("--seconds is more than 0");
  if (width == 512 && !__builtin_cpu_supports("avx512f"))
    return fail("this processor has no AVX-512");

  long (*const loop)() =
      width == 512 ? (is_double ? f64_512 : f32_512) : (is_double ? f64_256 : f32_256);
  std::vector<double> rates(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(processors[t], &set);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
      const auto start = Clock::now();
      const long done = loop();
      rates[t] = done / std::chrono::duration<double>(Clock::now() - start).count();
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  double total = 0;
  for (int t = 0; t < threads; ++t) {
    workers[t].join();
    total += rates[t];
  }
  std::printf("%.1f GFLOP/s (%s, %d bits, %d thread%s)\n", total / 1e9, is_double ? "f64" : "f32",
              width, threads, threads == 1 ? "" : "s");
}
