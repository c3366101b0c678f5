#include "compile/kernels.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/fork_mutex.h"
#include "dispatch/thread_state.h"

namespace fb::compile {
namespace {

struct Known {
  Ref<Code> code;
  uint64_t wanted = 0;               // when it was last asked for
};
struct Table {
  std::map<std::string, Known> kernels;
  uint64_t now = 0;
  struct Times {
    int64_t count = 0;
    double sum = 0;
    std::vector<float> last;         // milliseconds, of kMostKernels
    void add(double took) {
      if (int64_t(last.size()) < kMostKernels) last.push_back(float(took));
      else last[size_t(count % kMostKernels)] = float(took);
      ++count;
      sum += took;
    }
  };
  Times made, loaded;
};
double middle(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : v[v.size() / 2];
}
constinit ForkMutex lock;
Table* table = nullptr;              // under the lock

Table& known() {
  if (!table) table = new Table;
  return *table;
}
// Of those that nothing else holds, the half that was not asked for longest. What is let go dies outside the lock.
std::vector<Ref<Code>> let_go(Table& t) {
  std::vector<uint64_t> times;
  for (const auto& [key, k] : t.kernels)
    if (k.code.use_count() == 1) times.push_back(k.wanted);
  std::vector<Ref<Code>> gone;
  if (times.empty()) return gone;
  std::nth_element(times.begin(), times.begin() + int64_t(times.size() / 2), times.end());
  const uint64_t until = times[times.size() / 2];
  for (auto at = t.kernels.begin(); at != t.kernels.end();)
    if (at->second.code.use_count() == 1 && at->second.wanted <= until) {
      gone.push_back(std::move(at->second.code));
      at = t.kernels.erase(at);
    } else ++at;
  return gone;
}

}  // namespace

Ref<Code> kernel(const std::string& key, tile::Program (*make)(const void*), const void* context) {
  {
    const std::lock_guard<ForkMutex> hold(lock);
    Table& t = known();
    if (const auto at = t.kernels.find(key); at != t.kernels.end()) {
      at->second.wanted = ++t.now;
      return at->second.code;
    }
  }
  // Two threads may make the same at the same time; neither waits for the other, which a child of fork() would do for ever.
  const auto start = std::chrono::steady_clock::now();
  bool from_disk = false;
  Ref<Code> code = compile(make(context), &from_disk);
  const double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::vector<Ref<Code>> gone;
  const std::lock_guard<ForkMutex> hold(lock);
  Table& t = known();
  (from_disk ? t.loaded : t.made).add(took);
  if (int64_t(t.kernels.size()) >= kMostKernels) gone = let_go(t);
  Known& k = t.kernels[key];
  if (!k.code) k.code = std::move(code);
  k.wanted = ++t.now;
  return k.code;
}
Statistics statistics() {
  const std::lock_guard<ForkMutex> hold(lock);
  const Table& t = known();
  Statistics s;
  s.kernels = t.made.count;
  s.milliseconds = t.made.sum;
  s.median = middle(t.made.last);
  s.loaded = t.loaded.count;
  s.loading = t.loaded.sum;
  s.median_loading = middle(t.loaded.last);
  s.known = int64_t(t.kernels.size());
  return s;
}
void shape_of(const OpEntry& op, const Value* args, Results& out) {
  std::vector<Tensor> twins;
  std::vector<Value> with(op.schema.args.size());
  twins.reserve(with.size());
  for (size_t i = 0; i < with.size(); ++i) {
    with[i] = args[i];
    if (args[i].tag != Tag::tensor) continue;
    const Tensor& t = args[i].tensor();
    twins.push_back(Tensor::empty_strided(t.sizes(), t.strides(), {t.dtype(), DeviceType::meta}));
    twins.back()->wrapped_number = t->wrapped_number;
    with[i] = Value(twins.back());
  }
  op.run(op, with.data(), out);
}

}  // namespace fb::compile
