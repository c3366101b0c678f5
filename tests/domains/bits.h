// The bits of scalar math in two domains of one program: the scalar one, and the widest vectors that it was compiled for.
// Programs for other targets take the same arguments, so their hashes are to be equal too.
#pragma once
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "cpu/simd/native.h"
#include "tests/cpp/math/ulp.h"

namespace fb::testing {

struct Row {
  Row(const char* n, const char* t) : name(n), type(t) {}
  std::string name, type;
  size_t count = 0;
  uint64_t scalar = 14695981039346656037u, native = 14695981039346656037u;  // FNV-1a of the results, all NaN as one
  std::string differs;       // the first argument at which the domains do
  std::vector<char> results;  // the scalar ones, as they are
};

void append_elementary(std::vector<Row>&);
void append_special(std::vector<Row>&);
void append_two(std::vector<Row>&);
void append_iterating(std::vector<Row>&);
void append_scalar(std::vector<Row>&);

template <class T> const char* type_name() { return sizeof(T) == 4 ? "float" : "double"; }

template <class T> using unsigned_of = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T> void add_hash(uint64_t& h, T v) {
  using U = unsigned_of<T>;
  const U u = v != v ? U(~U(0)) : std::bit_cast<U>(v);
  for (size_t i = 0; i < sizeof(T); ++i) h = (h ^ (u >> 8 * i & 0xff)) * 1099511628211u;
}

// Zeros, denormals, infinities, NaN, the ends of every binade (each eighth of doubles), patterns strewn over the whole
// range, and numbers from [-1, 1) and [-40, 40), where most functions do their work. A whole number of vectors.
template <class T> const std::vector<T>& arguments() {
  static const std::vector<T> all = [] {
    using U = unsigned_of<T>;
    constexpr int width = 8 * sizeof(T), mantissa = sizeof(T) == 4 ? 23 : 52;
    constexpr U one = 1, top = one << (width - 1);
    std::vector<T> x;
    for (U sign : {U(0), top})
      for (U e = 0; e < (one << (width - 1 - mantissa)); e += sizeof(T) == 4 || e < 2 ? 1 : 8)
        for (U low : {U(0), U(1), U((one << mantissa) - 1)}) x.push_back(std::bit_cast<T>(U(sign | e << mantissa | low)));
    const U infinity = std::bit_cast<U>(T(__builtin_inf()));
    for (U u : {infinity, U(infinity - 1), U(infinity + 1), U(infinity + (one << (mantissa - 1))), U(top - 1)})
      for (U sign : {U(0), top}) x.push_back(std::bit_cast<T>(U(sign | u)));
    for (T v : {T(1), T(0.5), T(2), T(3), T(10), T(20), T(0.75), T(1.4616321), T(88.722839), T(-103.97208), T(709.78271), T(1e22)})
      for (T s : {v, T(-v)}) x.push_back(s);
    uint64_t g = 88172645463325252u;  // xorshift
    const auto random = [&g] {
      g ^= g << 13, g ^= g >> 7, g ^= g << 17;
      return g;
    };
    for (int i = 0; i < 2000; ++i) x.push_back(std::bit_cast<T>(U(random() >> (64 - width))));
    for (int i = 0; i < 1200; ++i) x.push_back(T(double(int64_t(random())) * 0x1p-63));
    for (int i = 0; i < 1200; ++i) x.push_back(T(double(int64_t(random())) * 0x1p-63 * 40));
    while (x.size() % 64) x.push_back(T(1));
    return x;
  }();
  return all;
}
// The second operand: what stands elsewhere among the arguments, so that each special value meets many others.
template <class T> const std::vector<T>& partners() {
  static const std::vector<T> all = [] {
    const auto& x = arguments<T>();
    std::vector<T> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[(i * 1597 + i / 61 + 11) % x.size()];
    return y;
  }();
  return all;
}

template <class T> void compare(Row& r, T scalar, T native, T x, T y) {
  add_hash(r.scalar, scalar);
  add_hash(r.native, native);
  if (!same_value(scalar, native) && r.differs.empty()) {
    char t[160];
    std::snprintf(t, sizeof t, "%a, %a: scalar %a, %s %a", double(x), double(y), double(scalar), native_domain, double(native));
    r.differs = t;
  }
  const char* p = reinterpret_cast<const char*>(&scalar);
  r.results.insert(r.results.end(), p, p + sizeof(T));
  ++r.count;
}

// f(x) or f(x, y) in both domains; thin takes only each such vector of arguments.
template <class T, class F> [[gnu::noinline]] void row(std::vector<Row>& to, const char* name, F f, size_t thin = 1) {
  Row r(name, type_name<T>());
  const auto &x = arguments<T>(), &y = partners<T>();
  constexpr size_t lanes = Native<T>::lanes, most = 64 / sizeof(T);  // the same arguments whatever the width
  for (size_t at = 0; at < x.size(); at += most * thin)
    for (size_t i = at; i < at + most; i += lanes) {
      T native[lanes];
      if constexpr (requires { f(x[0]); }) store_native(native, f(load_native(&x[i])));
      else store_native(native, f(load_native(&x[i]), load_native(&y[i])));
      for (size_t j = 0; j < lanes; ++j) {
        if constexpr (requires { f(x[0]); }) compare(r, T(f(x[i + j])), native[j], x[i + j], T(0));
        else compare(r, T(f(x[i + j], y[i + j])), native[j], x[i + j], y[i + j]);
      }
    }
  to.push_back(std::move(r));
}

}  // namespace fb::testing

// FB_ROW1(name, n) takes one argument of so many.
#define FB_ROW1(name, ...)                                                                             \
  fb::testing::row<float>(to, #name, [](auto x) { return fb::math::name(x); } __VA_OPT__(, ) __VA_ARGS__); \
  fb::testing::row<double>(to, #name, [](auto x) { return fb::math::name(x); } __VA_OPT__(, ) __VA_ARGS__);
#define FB_ROW2(name, ...)                                                                                         \
  fb::testing::row<float>(to, #name, [](auto x, auto y) { return fb::math::name(x, y); } __VA_OPT__(, ) __VA_ARGS__); \
  fb::testing::row<double>(to, #name, [](auto x, auto y) { return fb::math::name(x, y); } __VA_OPT__(, ) __VA_ARGS__);
