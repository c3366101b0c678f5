// Integers that are expressions over symbols, each with the value it has in one example. Shape rules that are templates on
// the tensor compute with them as with int64_t: arithmetic builds expressions; a comparison that the expressions do not
// decide is decided by the example, and noted as a guard.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/dims.h"

namespace fb {

struct SymExpr;   // a polynomial over symbols and quotients, owned by its environment

class SymInt {
 public:
  SymInt() = default;
  template <class T> requires std::is_integral_v<T> SymInt(T v) : hint_(int64_t(v)) {}
  SymInt(int64_t hint, const SymExpr* e) : hint_(hint), expr_(e) {}
  int64_t hint() const { return hint_; }
  const SymExpr* expr() const { return expr_; }  // null: the constant hint()
  bool is_constant() const { return !expr_; }
  // The value of the example, with a guard that it stays.
  int64_t specialized() const;
  SymInt operator-() const;

 private:
  int64_t hint_ = 0;
  const SymExpr* expr_ = nullptr;
};

SymInt operator+(const SymInt& a, const SymInt& b);
SymInt operator-(const SymInt& a, const SymInt& b);
SymInt operator*(const SymInt& a, const SymInt& b);
SymInt operator/(const SymInt& a, const SymInt& b);  // rounds down
SymInt operator%(const SymInt& a, const SymInt& b);
inline SymInt& operator+=(SymInt& a, const SymInt& b) { return a = a + b; }
inline SymInt& operator-=(SymInt& a, const SymInt& b) { return a = a - b; }
inline SymInt& operator*=(SymInt& a, const SymInt& b) { return a = a * b; }
inline SymInt& operator/=(SymInt& a, const SymInt& b) { return a = a / b; }
inline SymInt& operator--(SymInt& a) { return a = a - SymInt(1); }
bool operator==(const SymInt& a, const SymInt& b);
bool operator!=(const SymInt& a, const SymInt& b);
bool operator<(const SymInt& a, const SymInt& b);
inline bool operator>(const SymInt& a, const SymInt& b) { return b < a; }
inline bool operator<=(const SymInt& a, const SymInt& b) { return !(b < a); }
inline bool operator>=(const SymInt& a, const SymInt& b) { return !(a < b); }

using SymInts = Span<SymInt>;
using SymDims = SmallVec<SymInt, 6>;

namespace detail {
void append(std::string& s, const SymInt& v);  // as Python reads it
void append(std::string& s, SymInts v);
inline void append(std::string& s, const SymDims& v) { append(s, v.span()); }
}  // namespace detail
using detail::append;

// Symbols, the expressions made of them, and the guards that decisions rested on.
class ShapeEnv {
 public:
  ShapeEnv();
  ~ShapeEnv();
  ShapeEnv(const ShapeEnv&) = delete;
  // A new symbol; values below `least` are outside what results hold for. A hint below it is no symbol but a constant.
  SymInt symbol(std::string name, int64_t hint, int64_t least = 2);
  const std::vector<std::string>& guards() const;

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

SymInt numel_of(SymInts sizes);

}  // namespace fb
