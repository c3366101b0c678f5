#include "compile/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "compile/passes/passes.h"
#include "core/error.h"

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

}  // namespace

tile::Program lower(const tile::Program& given) {
  static constexpr Pass passes[] = {
      {"expand_named", expand_named},
      {"share_equal", share_equal},
      {"drop_unused", drop_unused},
  };
  tile::Program p = checked(given, "the card's text");
  if (logging()) std::fprintf(stderr, "%s", tile::print(p).c_str());
  for (const Pass& pass : passes) {
    const double t = milliseconds();
    p = checked(pass.run(p), pass.name);
    if (logging()) std::fprintf(stderr, "-- %s: %.2f ms\n%s", pass.name, milliseconds() - t, tile::print(p).c_str());
  }
  return p;
}

Entry compile(const tile::Program& given) {
  const tile::Program p = lower(given);
  const double t = milliseconds();
  const Entry e = make_code(p);
  if (logging()) std::fprintf(stderr, "-- machine code: %.2f ms\n", milliseconds() - t);
  return e;
}

}  // namespace fb::compile
