// Times matrix products: product_speed [threads] [type m n k ta tb]...; with no products, a fixed
// set. Each line: type m n k ta tb, best microseconds, GFLOP/s (a complex product counts four).
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/best_time.h"
#include "core/threads.h"
#include "cpu/product/gemm.h"

using namespace fb;
using namespace fb::product;

template <class T>
static void time_product(const char* name, int64_t batch, int64_t m, int64_t n, int64_t k, bool ta,
                         bool tb) {
  std::vector<T> a(batch * m * k), b(batch * k * n), c(batch * m * n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = T(float(int(i * 7 % 31) - 15) / 16);
  for (size_t i = 0; i < b.size(); ++i) b[i] = T(float(int(i * 5 % 29) - 14) / 16);
  Gemm<T> g;
  g.batch = batch, g.m = m, g.n = n, g.k = k;
  g.a = a.data(), g.b = b.data(), g.c = c.data();
  g.a_row = ta ? 1 : k, g.a_col = ta ? m : 1, g.a_batch = m * k;
  g.b_row = tb ? 1 : n, g.b_col = tb ? k : 1, g.b_batch = k * n;
  g.c_row = n, g.c_col = 1, g.c_batch = m * n;
  const double s = best_seconds([&] { gemm(g); });
  const double flop = 2.0 * batch * m * n * k * (is_complex_v<T> ? 4 : 1);
  std::printf("%-5s %3ld x %5ld %5ld %6ld %d %d  %10.1f us %7.1f GFLOP/s\n", name, long(batch),
              long(m), long(n), long(k), ta, tb, s * 1e6, flop / s * 1e-9);
  std::fflush(stdout);
}

static void time_named(const std::string& t, int64_t batch, int64_t m, int64_t n, int64_t k,
                       bool ta, bool tb) {
  const char* s = t.c_str();
  if (t == "f32") time_product<float>(s, batch, m, n, k, ta, tb);
  if (t == "f64") time_product<double>(s, batch, m, n, k, ta, tb);
  if (t == "f16") time_product<half>(s, batch, m, n, k, ta, tb);
  if (t == "bf16") time_product<bfloat16>(s, batch, m, n, k, ta, tb);
  if (t == "c64") time_product<cfloat>(s, batch, m, n, k, ta, tb);
  if (t == "c128") time_product<cdouble>(s, batch, m, n, k, ta, tb);
}

int main(int argc, char** argv) {
  if (argc > 1) set_num_threads(std::atoi(argv[1]));
  if (argc > 2) {
    for (int i = 2; i + 6 < argc; i += 7)
      time_named(argv[i], std::atol(argv[i + 1]), std::atol(argv[i + 2]), std::atol(argv[i + 3]),
                 std::atol(argv[i + 4]), std::atoi(argv[i + 5]), std::atoi(argv[i + 6]));
    return 0;
  }
  struct Row {
    const char* type;
    int64_t batch, m, n, k;
    bool ta, tb;
  };
  const Row rows[] = {
      {"f32", 1, 1024, 1024, 1024, 0, 0}, {"f32", 1, 1024, 1024, 1024, 1, 0},
      {"f32", 1, 1024, 1024, 1024, 0, 1}, {"f32", 1, 512, 3072, 768, 0, 1},
      {"f32", 1, 64, 64, 64, 0, 0},       {"f32", 1, 8, 8, 8, 0, 0},
      {"f64", 1, 512, 512, 512, 0, 0},    {"bf16", 1, 512, 512, 512, 0, 0},
      {"c64", 1, 256, 256, 256, 0, 0},    {"f32", 1, 37, 1111, 555, 0, 0},
      {"f32", 1, 1000, 7, 1000, 0, 0},    {"f32", 1, 7, 1000, 1000, 0, 0},
      {"f32", 1, 8, 8, 100000, 0, 0},     {"f32", 1, 64, 576, 25088, 1, 0},
      {"f32", 1, 1, 4096, 4096, 0, 1},    {"f32", 1, 1, 4096, 4096, 0, 0},
      {"f32", 1, 4096, 1, 4096, 0, 0},    {"f32", 1, 4096, 1, 4096, 1, 0},
      {"f32", 64, 128, 128, 64, 0, 0},    {"f32", 1, 1, 1, 1000000, 0, 0},
  };
  for (const Row& r : rows) time_named(r.type, r.batch, r.m, r.n, r.k, r.ta, r.tb);
}
