// The one error type. Its kind is the Python exception it becomes; its text is made where the facts are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace fb {

enum class ErrorKind : uint8_t { runtime, type, value, index, not_implemented, out_of_memory, attribute, key, overflow };

class Error {
 public:
  Error(ErrorKind k, std::string text) : kind_(k), text_(std::move(text)) {}
  virtual ~Error() = default;
  ErrorKind kind() const { return kind_; }
  const std::string& text() const { return text_; }
  const char* what() const { return text_.c_str(); }

 private:
  ErrorKind kind_;
  std::string text_;
};

// A Python exception is already set; whoever is nearest to the interpreter hands it on.
struct PythonErrorSet {};

namespace detail {
void append(std::string& s, const char* t);
void append(std::string& s, const std::string& t);
void append(std::string& s, std::string_view t);
void append(std::string& s, int64_t v);
void append(std::string& s, uint64_t v);
void append(std::string& s, double v);
inline void append(std::string& s, char c) { s.push_back(c); }
inline void append(std::string& s, int v) { append(s, int64_t(v)); }
inline void append(std::string& s, unsigned v) { append(s, uint64_t(v)); }
inline void append(std::string& s, unsigned long long v) { append(s, uint64_t(v)); }
inline void append(std::string& s, long long v) { append(s, int64_t(v)); }
inline void append(std::string& s, bool v) { append(s, v ? "True" : "False"); }
}  // namespace detail

// Joins its arguments as Python would print them. Types of core/ add an `append` found by ADL.
template <class... A>
std::string text(const A&... a) {
  using detail::append;
  std::string s;
  (append(s, a), ...);
  return s;
}

[[noreturn]] void raise(ErrorKind kind, std::string text);
template <class... A> [[noreturn]] void raise_runtime(const A&... a) { raise(ErrorKind::runtime, text(a...)); }
template <class... A> [[noreturn]] void raise_type(const A&... a) { raise(ErrorKind::type, text(a...)); }
template <class... A> [[noreturn]] void raise_value(const A&... a) { raise(ErrorKind::value, text(a...)); }
template <class... A> [[noreturn]] void raise_index(const A&... a) { raise(ErrorKind::index, text(a...)); }
template <class... A> [[noreturn]] void raise_not_implemented(const A&... a) {
  raise(ErrorKind::not_implemented, text(a...));
}

// check(ok, "what was given, and the limit", ...): a RuntimeError unless ok.
#define FB_CHECK(cond, ...)                              \
  do {                                                   \
    if (!(cond)) [[unlikely]] ::fb::raise_runtime(__VA_ARGS__); \
  } while (0)
#define FB_CHECK_VALUE(cond, ...)                        \
  do {                                                   \
    if (!(cond)) [[unlikely]] ::fb::raise_value(__VA_ARGS__); \
  } while (0)
#define FB_CHECK_INDEX(cond, ...)                        \
  do {                                                   \
    if (!(cond)) [[unlikely]] ::fb::raise_index(__VA_ARGS__); \
  } while (0)

// Shown through warnings.warn once Python is there; to stderr before. `once` shows a text a single time.
void warn(const std::string& text);
using WarningHandler = void (*)(const std::string& text);
void set_warning_handler(WarningHandler);

}  // namespace fb
