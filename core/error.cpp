#include "core/error.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace fb {
namespace detail {
void append(std::string& s, const char* t) { s += t; }
void append(std::string& s, const std::string& t) { s += t; }
void append(std::string& s, std::string_view t) { s.append(t.data(), t.size()); }
void append(std::string& s, int64_t v) {
  char b[24];
  s.append(b, size_t(snprintf(b, sizeof b, "%" PRId64, v)));
}
void append(std::string& s, uint64_t v) {
  char b[24];
  s.append(b, size_t(snprintf(b, sizeof b, "%" PRIu64, v)));
}
void append(std::string& s, double v) {
  char b[40];
  int n = snprintf(b, sizeof b, "%.15g", v);
  if (strtod(b, nullptr) != v) n = snprintf(b, sizeof b, "%.17g", v);
  s.append(b, size_t(n));
  if (!strpbrk(b, ".einf")) s += ".0";
}
}  // namespace detail

void raise(ErrorKind kind, std::string t) { throw Error(kind, std::move(t)); }

static WarningHandler g_handler = nullptr;
void set_warning_handler(WarningHandler h) { g_handler = h; }
void warn(const std::string& t) {
  if (g_handler) return g_handler(t);
  fprintf(stderr, "Warning: %s\n", t.c_str());
}

}  // namespace fb
