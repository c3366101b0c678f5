#include "compile/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "compile/cache/disk.h"
#include "compile/passes/passes.h"
#include "core/error.h"
#include "core/no_fork.h"

namespace fb::compile {
namespace {

bool logging() {
  static const bool on = [] {
    const char* v = std::getenv("FB_COMPILE_LOG");
    return v && *v && *v != '0';
  }();
  return on;
}
double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Pass {
  const char* name;
  tile::Program (*run)(const tile::Program&);
};

tile::Program checked(tile::Program p, const char* after) {
  if (const std::string fault = tile::verify(p); !fault.empty()) raise_runtime("after ", after, ": ", fault);
  return p;
}
tile::Program run(const tile::Program& given, const Pass* passes, size_t n) {
  tile::Program p = checked(given, "the card's text");
  if (logging()) std::fprintf(stderr, "%s", tile::print(p).c_str());
  for (size_t i = 0; i < n; ++i) {
    const double t = milliseconds();
    p = checked(passes[i].run(p), passes[i].name);
    if (logging()) std::fprintf(stderr, "-- %s: %.2f ms\n%s", passes[i].name, milliseconds() - t, tile::print(p).c_str());
  }
  return p;
}

}  // namespace

tile::Program lower(const tile::Program& given) {
  static constexpr Pass passes[] = {
      {"expand_named", expand_named},
      {"share_equal", share_equal},
      {"drop_unused", drop_unused},
  };
  return run(given, passes, std::size(passes));
}

tile::Program lower_for_cpu(const tile::Program& given) {
  static constexpr Pass passes[] = {
      {"expand_straight", expand_straight},
      {"share_equal", share_equal},
      {"drop_unused", drop_unused},
  };
  return run(given, passes, std::size(passes));
}

Ref<Code> compile(const tile::Program& given, bool* loaded) {
  const NoFork whole;
  double t = milliseconds();
  const tile::Program p = lower_for_cpu(given);
  const std::string name = cache::name_of(p);
  if (loaded) *loaded = false;
  if (std::string object; cache::find(name, &object))
    if (Ref<Code> c = load_object(object, p)) {
      if (loaded) *loaded = true;
      if (logging()) std::fprintf(stderr, "-- from the cache: %.2f ms\n", milliseconds() - t);
      return c;
    }
  t = milliseconds();
  double steps[3];
  const std::string object = make_object(p, steps);
  Ref<Code> c = load_object(object, p);
  if (!c) throw NoMachineCode(text("the machine code of ", p.name, " cannot be used: ", why_not_loaded()));
  if (logging()) std::fprintf(stderr, "-- machine code: %.2f ms (text %.2f, passes %.2f, code %.2f), %zu bytes\n", milliseconds() - t, steps[0], steps[1], steps[2], object.size());
  cache::keep(name, object);
  return c;
}

}  // namespace fb::compile
