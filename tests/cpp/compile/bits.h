// Compiled = eager, bit for bit; any NaN equals any other.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "compile/compile.h"
#include "dispatch/call.h"

namespace fb::compile_test {

inline Tensor called(const char* op, std::vector<Value> args, bool compiled) {
  const OpEntry* e = find_op(op);
  EXPECT_NE(e, nullptr) << op;
  args.resize(e->schema.args.size());
  Results r;
  if (compiled) compile::compiler().run(*e, args.data(), r);
  else e->run(*e, args.data(), r);
  return r[0];
}

template <class T> bool is_nan(T v) {
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) return std::isnan(float(v));
  else if constexpr (std::is_floating_point_v<T>) return std::isnan(v);
  else return false;
}
// Elements in logical order; the number of differing ones, the first is told.
inline int64_t differing(const Tensor& a, const Tensor& b, std::string* first = nullptr) {
  EXPECT_TRUE(a.sizes() == b.sizes() && a.strides() == b.strides() && a.dtype() == b.dtype())
      << text(a.sizes(), a.strides(), a.dtype(), " and ", b.sizes(), b.strides(), b.dtype());
  if (!(a.sizes() == b.sizes())) return a.numel();
  const Tensor x = op<"contiguous">(a), y = op<"contiguous">(b);
  int64_t n = 0;
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, bfloat16, float, double, bool, uint16_t, uint32_t, uint64_t>(x.dtype(), [&]<class T>() {
    for (int64_t i = 0; i < x.numel(); ++i) {
      const T u = x.ptr<T>()[i], v = y.ptr<T>()[i];
      if (std::memcmp(&u, &v, sizeof u) == 0 || (is_nan(u) && is_nan(v))) continue;
      if (n++ == 0 && first) {
        if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) *first = text("element ", i, ": eager ", float(u), ", compiled ", float(v));
        else *first = text("element ", i, ": eager ", u, ", compiled ", v);
      }
    }
  });
  return n;
}
inline void expect_same(const char* op, const std::vector<Value>& args, const char* what = "") {
  std::string first;
  const Tensor eager = called(op, args, false), compiled = called(op, args, true);
  EXPECT_EQ(differing(eager, compiled, &first), 0) << op << " " << what << ": " << first;
}

// Random bit patterns near and far, with every special value among the first.
inline Tensor numbers(Ints sizes, DType d, uint64_t seed) {
  const Tensor t = Tensor::empty(sizes, {d, DeviceType::cpu});
  std::mt19937_64 g(seed);
  visit_types<uint8_t, int8_t, int16_t, int32_t, int64_t, half, bfloat16, float, double, bool, uint16_t, uint32_t, uint64_t>(d, [&]<class T>() {
    for (int64_t i = 0; i < t.numel(); ++i) {
      if constexpr (std::is_integral_v<T>) t.ptr<T>()[i] = T(g() >> (g() % 2 ? 58 : 0));
      else {
        const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5, 1e-310, -1e-310, 5e-324, 1e-40, -1e-45, 6e-8, 65504, 3e38, -3e38, 1.7e308, 88.7, -103.9, 709, -745};
        double v = i < 22 ? special[(uint64_t(i) + seed) % 22] : std::ldexp(double(int64_t(g())) * 0x1p-63, int(g() % 40) - 20);
        if (i >= 22 && g() % 8 == 0) v = special[g() % 22];
        if constexpr (std::is_same_v<T, double>) t.ptr<T>()[i] = v;
        else t.ptr<T>()[i] = T(float(v));
      }
    }
  });
  return t;
}

}  // namespace fb::compile_test
