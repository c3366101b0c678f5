#include "compile/kernels.h"
#include "compile/triton/launch.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "dispatch/thread_state.h"
#include "ops/math/integer.h"

namespace fb::compile {
namespace {

std::mutex lock;
std::vector<double> made;            // milliseconds of each kernel

bool accepts(const OpEntry& op, const Value* args, std::string* why) {
  if (op.form != OpForm::functional) {
    if (why) *why = "only functional forms are compiled";
    return false;
  }
  const uint8_t flags = argument_flags(op, args);
  if (flags & (kConj | kNeg)) {
    if (why) *why = "an argument is lazily conjugated or negated";
    return false;
  }
  return op.card->kind == CardKind::pointwise ? accepts_pointwise(op, args, why) : accepts_reduction(op, args, why);
}
void run(const OpEntry& op, const Value* args, Results& out) {
  std::string why;
  if (!accepts(op, args, &why)) raise_not_implemented("no compiled form of ", op.schema.full_name(), ": ", why);
  GradMode no(false);
  if (op.card->kind == CardKind::pointwise) run_pointwise(op, args, out);
  else run_reduction(op, args, out);
}

}  // namespace

Entry kernel(const std::string& key, tile::Program (*make)(const void*), const void* context) {
  static auto& known = *new std::map<std::string, Entry>;
  const std::lock_guard<std::mutex> hold(lock);
  Entry& e = known[key];
  if (!e) {
    const auto start = std::chrono::steady_clock::now();
    e = compile(make(context));
    made.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return e;
}
Statistics statistics() {
  const std::lock_guard<std::mutex> hold(lock);
  Statistics s;
  s.kernels = int64_t(made.size());
  for (double t : made) s.milliseconds += t;
  std::vector<double> sorted = made;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) s.median = sorted[sorted.size() / 2];
  return s;
}
void raise_errors(int32_t errors) {
  if (errors >> tile::kZeroDivisor & 1) math::detail::raise_zero_divisor();
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

extern "C" [[gnu::visibility("default")]] const fb::compile::Compiler* fb_compiler() {
  static constexpr fb::compile::Compiler c{fb::compile::accepts, fb::compile::run, fb::compile::statistics, &fb::triton::table};
  return &c;
}
