// Every float through every function of one operand, against its exact value:
//
//   math_sweep [--stride N] [--iterating N] [--threads N] [--table] [NAME...]
//
// N: each N-th bit pattern (1, all 2^32, without the option), beside which the special values and the ends of every binade
// are always taken; --iterating for the functions that iterate, as --stride without it. Prints the greatest error in ULP and
// its argument, and ends with 1 where one is above its bound or where scalar and vector differ. --table only prints the
// bounds, as docs/math.md has them.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "tests/domains/sweep.h"

namespace {

using fb::testing::Found;
using fb::testing::Function;

constexpr int block = 1 << 14;

// Zeros, denormals, infinities, NaN of both kinds and the numbers next to the ends of every binade.
std::vector<float> special_values() {
  std::vector<float> x;
  for (uint32_t sign : {0u, 0x80000000u}) {
    for (uint32_t e = 0; e < 256; ++e)
      for (uint32_t low : {0u, 1u, 2u, 0x3fffffu, 0x400000u, 0x400001u, 0x7ffffeu, 0x7fffffu}) x.push_back(std::bit_cast<float>(sign | e << 23 | low));
    for (float v : {1.5f, 2.f, 3.f, 10.f, 88.72283f, 88.72284f, -103.97208f, -87.33655f, 0.6931472f, 3.1415927f, 1.5707964f, 0.5f})
      x.push_back(sign ? -v : v);
  }
  while (x.size() % 64) x.push_back(1);
  return x;
}

Found sweep(const Function& f, uint64_t stride, int threads) {
  const uint64_t count = ((uint64_t(1) << 32) + stride - 1) / stride;
  std::atomic<uint64_t> next{0};
  std::mutex lock;
  Found all;
  const auto special = special_values();
  f.measure(special.data(), special.size(), all);
  const auto work = [&] {
    Found own;
    std::vector<float> x(block);
    for (uint64_t first; (first = next.fetch_add(block)) < count;) {
      // past the end: the first patterns again
      for (int i = 0; i < block; ++i) x[i] = std::bit_cast<float>(uint32_t((first + i) * stride));
      f.measure(x.data(), block, own);
    }
    const std::lock_guard<std::mutex> hold(lock);
    all.join(own);
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (auto& t : pool) t.join();
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t stride = 1, iterating = 0;
  int threads = int(std::thread::hardware_concurrency());
  bool table = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto number = [&]() -> uint64_t {
      const long long n = i + 1 < argc ? std::atoll(argv[++i]) : 0;
      if (n < 1 || n > 1ll << 32) {
        std::fprintf(stderr, "%s takes a number from 1 to 2^32\n", a.c_str());
        std::exit(2);
      }
      return uint64_t(n);
    };
    if (a == "--stride") stride = number();
    else if (a == "--iterating") iterating = number();
    else if (a == "--threads") threads = int(number());
    else if (a == "--table") table = true;
    else names.push_back(a);
  }
  std::vector<Function> functions;
  fb::testing::append_elementary(functions);
  fb::testing::append_special(functions);
  fb::testing::append_iterating(functions);
  if (table) {
    for (const auto& f : functions) {
      if (f.double_bound > 0 || f.bound == 0) std::printf("| %s | %g | %g |\n", f.name, f.bound, f.double_bound);
      else std::printf("| %s | %g | |\n", f.name, f.bound);
    }
    return 0;
  }
  size_t known = 0;
  for (const auto& n : names)
    for (const auto& f : functions) known += n == f.name;
  if (known != names.size()) {
    std::fprintf(stderr, "of the names, %zu are no functions of one operand\n", names.size() - known);
    return 2;
  }
  bool good = true;
  std::printf("%s, %d threads\n", fb::native_domain, threads);
  for (const auto& f : functions) {
    bool wanted = names.empty();
    for (const auto& n : names) wanted = wanted || n == f.name;
    if (!wanted) continue;
    const uint64_t step = f.iterates && iterating ? iterating : stride;
    const auto start = std::chrono::steady_clock::now();
    const Found r = sweep(f, step, threads);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const bool fits = r.worst <= f.bound && !r.differs;
    good = good && fits;
    std::printf("%-26s %8.4f ULP of %-5g at %-15a (%.9g): %.9g, exact %.17g; every %llu, %.1f s%s\n", f.name, r.worst, f.bound, r.at,
                r.at, r.got, r.exact, (unsigned long long)step, took, fits ? "" : "  ABOVE ITS BOUND");
    if (r.differs) std::printf("%-26s scalar and vector differ at %a\n", f.name, r.differs_at);
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
