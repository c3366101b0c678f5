#include "compile/triton/launch.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "compile/pipeline.h"
#include "compile/tile/named.h"
#include "compile/triton/program.h"
#include "core/error.h"
#include "core/threads.h"

namespace fb::triton {

struct Kernel {
  Ref<compile::Code> code;
  tile::Program program;                // kept where the interpreter runs it
  bool interpreted = false;
  std::vector<std::shared_ptr<const Message>> messages;
  std::string name, text;
  Facts facts;
};

namespace {

// Of the programs that this thread runs: the first requirement that did not hold.
thread_local std::string* failure = nullptr;
struct Listening {
  explicit Listening(std::string* to) { failure = to; }
  Listening(const Listening&) = delete;
  ~Listening() { failure = nullptr; }
};

constexpr double kShare = 40000;        // operations that are worth a thread

// Working memory of a thread; grows, and is given back when the thread ends.
struct Scratch {
  void* data = nullptr;
  size_t size = 0;
  ~Scratch() { std::free(data); }
  void* get(size_t bytes) {
    if (bytes > size) {
      std::free(data);
      data = nullptr;
      size = 0;
      const size_t all = (bytes + 4095) / 4096 * 4096;
      data = std::aligned_alloc(64, all);
      if (!data) raise_runtime("a kernel's working memory of ", int64_t(bytes), " bytes cannot be had");
      size = all;
    }
    return data;
  }
};
thread_local Scratch scratch;

}  // namespace

void say(int64_t message, void*, const void* const* in) {
  const Message& m = *reinterpret_cast<const Message*>(message);
  int64_t w[4];
  for (int i = 0; i < 4; ++i) std::memcpy(&w[i], in[i], 8);
  char where[96];
  std::snprintf(where, sizeof where, "pid (%lld, %lld, %lld)", static_cast<long long>(w[0]), static_cast<long long>(w[1]), static_cast<long long>(w[2]));
  std::string line = where;
  if (w[3] >= 0) line += " idx (" + std::to_string(w[3]) + ")";
  if (m.requirement) {
    if (failure && failure->empty()) *failure = m.text + " [" + line + "]";
    return;
  }
  line += " " + m.text;
  if (m.elem != tile::Elem::none) {
    char number[64];
    if (tile::is_float(m.elem) || tile::is_half(m.elem)) {
      double v;
      std::memcpy(&v, in[4], 8);
      std::snprintf(number, sizeof number, m.hexadecimal ? "%a" : "%f", v);
    } else {
      int64_t v;
      std::memcpy(&v, in[4], 8);
      std::snprintf(number, sizeof number, m.hexadecimal || m.elem == tile::Elem::address ? "0x%llx" : "%lld", static_cast<long long>(v));
    }
    line += number;
  }
  std::printf("%s\n", line.c_str());   // a whole line: stdio's own lock keeps those of threads apart
  std::fflush(stdout);
}

Kernel* make_kernel(const Program& given, bool interpreted) {
  Program p = given;
  const auto start = std::chrono::steady_clock::now();
  if (const std::string fault = verify(p); !fault.empty()) raise_runtime("kernel ", p.name, ": ", fault);
  drop_unused(p);
  auto k = std::make_unique<Kernel>();
  const Plan plan = plan_of(p);
  Lowered l = lower(p, plan);
  k->name = p.name;
  k->text = tile::print(l.program);
  k->interpreted = interpreted;
  k->messages = std::move(l.messages);
  if (interpreted) {
    if (const std::string fault = tile::verify(l.program); !fault.empty()) raise_runtime("kernel ", p.name, ": ", fault);
    k->program = std::move(l.program);
  } else {
    k->code = compile::compile(l.program);
  }
  k->facts = {l.scratch, plan.serial, plan.work, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count()};
  return k.release();
}
void drop_kernel(Kernel* k) { delete k; }
const Facts& facts(const Kernel& k) { return k.facts; }
std::string listing(const Kernel& k) { return k.text; }

void launch(const Kernel& k, const int64_t* words, int count, const int64_t grid[3]) {
  const int64_t total = grid[0] * grid[1] * grid[2];
  if (total <= 0) return;
  std::mutex lock;
  std::string failed;                   // of the first program, in the grid's order, that fails; under the lock
  int64_t first = total;
  auto range = [&](int64_t lo, int64_t hi) {
    std::string here;
    bool failing = false;
    const Listening listening(&here);
    int64_t w[7 + kMostParameters];
    for (int i = 0; i < 3; ++i) w[3 + i] = grid[i];
    w[6] = reinterpret_cast<int64_t>(scratch.get(size_t(k.facts.scratch) + 64));
    std::memcpy(w + 7, words, size_t(count) * 8);
    int64_t x = lo % grid[0], y = lo / grid[0] % grid[1], z = lo / grid[0] / grid[1];
    for (int64_t i = lo; i < hi; ++i) {
      w[0] = x, w[1] = y, w[2] = z;
      const int32_t errors = k.interpreted ? tile::interpret(k.program, w) : k.code->entry(w);
      if (!failing && (errors >> kFailedRequirement & 1)) {   // the others run all the same: what is written hangs on no split
        failing = true;
        const std::lock_guard<std::mutex> hold(lock);
        if (i < first) first = i, failed = here;
      }
      if (++x == grid[0]) {
        x = 0;
        if (++y == grid[1]) y = 0, ++z;
      }
    }
  };
  if (k.facts.serial || k.interpreted || k.facts.work * double(total) < kShare) {
    range(0, total);
  } else {
    const int64_t share = int64_t(kShare / (k.facts.work + 1)) + 1;
    const int64_t most = (total + 16 * get_num_threads() - 1) / (16 * get_num_threads());
    parallel_for(0, total, share > most ? share : most, range);
  }
  if (first < total) raise_runtime("kernel ", k.name, ": ", failed);
}

namespace {
const tile::Named* named(const char* name) {
#define FB_X(f) if (!std::strcmp(name, #f)) return &tile::named_##f;
  FB_TILE_NAMED1(FB_X)
  FB_TILE_NAMED2(FB_X)
#undef FB_X
  return nullptr;
}
}  // namespace
constinit const Table table{make_kernel, drop_kernel, facts, listing, launch, named};

}  // namespace fb::triton
