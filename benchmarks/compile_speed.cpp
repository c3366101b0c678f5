// Compiled against eager, and what a kernel costs to make: ninja -C build compile_speed && build/compile_speed
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "compile/compile.h"
#include "core/threads.h"
#include "dispatch/call.h"

namespace {

using namespace fb;

double milliseconds(auto&& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}
double best(auto&& f) {
  double least = 1e9;
  for (int i = 0; i < 15; ++i) least = std::min(least, milliseconds(f));
  return least;
}
void compare(const char* op, std::vector<Value> args, const char* what) {
  const OpEntry* e = find_op(op);
  args.resize(e->schema.args.size());
  const compile::Compiler& c = compile::compiler();
  const compile::Statistics before = c.statistics();
  Results warm;
  c.run(*e, args.data(), warm);
  const compile::Statistics made = c.statistics();
  const double eager = best([&] { Results r; e->run(*e, args.data(), r); });
  const double compiled = best([&] { Results r; c.run(*e, args.data(), r); });
  const int64_t kernels = made.kernels - before.kernels;
  std::printf("%-24s %-28s %8.3f ms eager %8.3f ms compiled; %lld kernels, %.1f ms each\n", op, what, eager, compiled,
              static_cast<long long>(kernels), (made.milliseconds - before.milliseconds) / double(std::max<int64_t>(kernels, 1)));
}

}  // namespace

int main() {
  set_num_threads(1);
  for (DType d : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor x = op<"randn">(Dims{1024, 1024}, d), y = op<"randn">(Dims{1024, 1024}, d);
    compare("sigmoid", {x}, dtype_name(d));
    compare("div.Tensor_mode", {x, y, Value()}, dtype_name(d));
    compare("div.Tensor_mode", {x, y, Value("floor")}, "floor");
    compare("var.correction", {x, Value(), Value(), Value(false)}, "everything");
    compare("var.correction", {x, Dims{1}, Value(), Value(false)}, "rows");
    compare("var.correction", {x, Dims{0}, Value(), Value(false)}, "columns");
  }
}
