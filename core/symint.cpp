#include "core/symint.h"

#include <algorithm>
#include <map>

#include "core/error.h"

namespace fb {
namespace {

// What is no sum or product: a symbol, or a quotient or remainder of two expressions.
struct Atom {
  std::string name;
  int64_t hint, least;
};
using Monomial = std::vector<int32_t>;  // sorted numbers of atoms, one for each power; empty: the constant

int64_t times(int64_t a, int64_t b) {
  int64_t r;
  FB_CHECK(!__builtin_mul_overflow(a, b, &r), "a symbolic size has a factor beyond 2^63 - 1: ", a, " * ", b);
  return r;
}
int64_t plus(int64_t a, int64_t b) {
  int64_t r;
  FB_CHECK(!__builtin_add_overflow(a, b, &r), "a symbolic size is beyond 2^63 - 1: ", a, " + ", b);
  return r;
}
int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

}  // namespace

struct SymExpr {
  ShapeEnv::Impl* env;
  std::map<Monomial, int64_t> terms;
  std::string text;
};

struct ShapeEnv::Impl {
  std::vector<Atom> atoms;
  std::map<std::string, int32_t> atom_numbers;
  std::map<std::map<Monomial, int64_t>, std::unique_ptr<SymExpr>> exprs;
  std::vector<std::string> guards;

  int32_t atom(std::string name, int64_t hint, int64_t least) {
    const auto [i, fresh] = atom_numbers.emplace(name, int32_t(atoms.size()));
    if (fresh) atoms.push_back({std::move(name), hint, least});
    return i->second;
  }
  SymInt make(std::map<Monomial, int64_t> terms) {
    std::erase_if(terms, [](const auto& t) { return t.second == 0; });
    if (terms.empty()) return SymInt(0);
    int64_t hint = 0;
    for (const auto& [m, c] : terms) {
      int64_t v = c;
      for (int32_t a : m) v = times(v, atoms[size_t(a)].hint);
      hint = plus(hint, v);
    }
    if (terms.size() == 1 && terms.begin()->first.empty()) return SymInt(hint);
    auto& e = exprs[terms];
    if (!e) {
      e = std::make_unique<SymExpr>();
      e->env = this;
      e->terms = terms;
      e->text = print(terms);
    }
    return SymInt(hint, e.get());
  }
  std::string print(const std::map<Monomial, int64_t>& terms) const {
    std::string s;
    // The constant comes last.
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& [m, c] : terms) {
        if (m.empty() != (pass == 1)) continue;
        const bool minus = c < 0;
        if (s.empty()) s += minus ? "-" : "";
        else s += minus ? " - " : " + ";
        const uint64_t size = minus ? 0 - uint64_t(c) : uint64_t(c);
        if (m.empty() || size != 1) s += std::to_string(size);
        for (size_t i = 0; i < m.size(); ++i) {
          if (i || size != 1) s += "*";
          s += atoms[size_t(m[i])].name;
        }
      }
    return s;
  }
  // The least value of an expression over all values of its atoms; false where nothing is known.
  bool least(const std::map<Monomial, int64_t>& terms, int64_t& out) const {
    out = 0;
    for (const auto& [m, c] : terms) {
      if (!m.empty() && c < 0) return false;
      int64_t v = c;
      for (int32_t a : m) {
        if (atoms[size_t(a)].least < 0) return false;
        if (__builtin_mul_overflow(v, atoms[size_t(a)].least, &v)) return false;
      }
      if (__builtin_add_overflow(out, v, &out)) return false;
    }
    return true;
  }
};

namespace {

std::map<Monomial, int64_t> terms_of(const SymInt& a) {
  if (a.expr()) return a.expr()->terms;
  if (a.hint() == 0) return {};
  return {{Monomial(), a.hint()}};
}
ShapeEnv::Impl* env_of(const SymInt& a, const SymInt& b) {
  if (!a.expr()) return b.expr() ? b.expr()->env : nullptr;
  FB_CHECK(!b.expr() || b.expr()->env == a.expr()->env, "symbolic sizes ", a, " and ", b, " belong to different environments");
  return a.expr()->env;
}
std::map<Monomial, int64_t> sum(std::map<Monomial, int64_t> a, const std::map<Monomial, int64_t>& b, int64_t factor) {
  for (const auto& [m, c] : b) a[m] = plus(a[m], times(c, factor));
  std::erase_if(a, [](const auto& t) { return t.second == 0; });
  return a;
}
std::string wrapped(const SymInt& a) {
  std::string s;
  append(s, a);
  return a.expr() && (a.expr()->terms.size() > 1 || s[0] == '-' || s.find('*') != std::string::npos) ? "(" + s + ")" : s;
}

// a / b where every term of a holds all of b's single term; empty where not so.
bool exact_quotient(const std::map<Monomial, int64_t>& a, const std::map<Monomial, int64_t>& b, std::map<Monomial, int64_t>& out) {
  if (b.size() != 1) {
    if (a != b) return false;
    out = {{Monomial(), 1}};
    return true;
  }
  const auto& [bm, bc] = *b.begin();
  for (const auto& [m, c] : a) {
    if (c % bc != 0 || !std::includes(m.begin(), m.end(), bm.begin(), bm.end())) return false;
    Monomial rest;
    std::set_difference(m.begin(), m.end(), bm.begin(), bm.end(), std::back_inserter(rest));
    out[rest] = c / bc;
  }
  return true;
}

}  // namespace

SymInt operator+(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  if (!env) return SymInt(plus(a.hint(), b.hint()));
  return env->make(sum(terms_of(a), terms_of(b), 1));
}
SymInt operator-(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  if (!env) return SymInt(plus(a.hint(), times(b.hint(), -1)));
  return env->make(sum(terms_of(a), terms_of(b), -1));
}
SymInt SymInt::operator-() const { return SymInt(0) - *this; }
SymInt operator*(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  if (!env) return SymInt(times(a.hint(), b.hint()));
  std::map<Monomial, int64_t> r;
  for (const auto& [x, c] : terms_of(a))
    for (const auto& [y, d] : terms_of(b)) {
      Monomial m;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(m));
      r[m] = plus(r[m], times(c, d));
    }
  return env->make(std::move(r));
}
SymInt operator/(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  FB_CHECK(b.hint() != 0, "a symbolic size ", a, " is divided by ", b, ", which is 0");
  if (!env) return SymInt(floor_div(a.hint(), b.hint()));
  if (!b.expr() && b.hint() == 1) return a;
  std::map<Monomial, int64_t> exact;
  if (exact_quotient(terms_of(a), terms_of(b), exact)) return env->make(std::move(exact));
  const int64_t h = floor_div(a.hint(), b.hint());
  int64_t la, lb;
  const bool positive = env->least(terms_of(a), la) && la >= 0 && env->least(terms_of(b), lb) && lb > 0;
  return env->make({{Monomial{env->atom("(" + wrapped(a) + "//" + wrapped(b) + ")", h, positive ? (b.expr() ? 0 : la / b.hint()) : -1)}, 1}});
}
SymInt operator%(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  FB_CHECK(b.hint() != 0, "the remainder of a symbolic size ", a, " by ", b, ", which is 0, is asked for");
  if (!env) return SymInt(a.hint() - floor_div(a.hint(), b.hint()) * b.hint());
  std::map<Monomial, int64_t> exact;
  if (exact_quotient(terms_of(a), terms_of(b), exact)) return SymInt(0);
  const int64_t h = a.hint() - floor_div(a.hint(), b.hint()) * b.hint();
  return env->make({{Monomial{env->atom("(" + wrapped(a) + " % " + wrapped(b) + ")", h, b.hint() > 0 && !b.expr() ? 0 : -1)}, 1}});
}

namespace {
void note(ShapeEnv::Impl& env, const SymInt& a, const char* op, const SymInt& b) {
  std::string g, other;
  append(g, a);
  append(other, b);
  const bool either_way = op[2] == '=' && (op[1] == '=' || op[1] == '!');  // one text for both orders, constants last
  if (either_way && (!a.expr() || (b.expr() && other < g))) std::swap(g, other);
  g += op + other;
  if (std::find(env.guards.begin(), env.guards.end(), g) == env.guards.end()) env.guards.push_back(std::move(g));
}
}  // namespace

bool operator==(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  if (!env) return a.hint() == b.hint();
  const auto d = sum(terms_of(a), terms_of(b), -1), e = sum(terms_of(b), terms_of(a), -1);
  if (d.empty()) return true;
  int64_t least;
  if (d.size() == 1 && d.begin()->first.empty()) return false;
  if ((env->least(d, least) && least > 0) || (env->least(e, least) && least > 0)) return false;
  const bool same = a.hint() == b.hint();
  note(*env, a, same ? " == " : " != ", b);
  return same;
}
bool operator!=(const SymInt& a, const SymInt& b) { return !(a == b); }
bool operator<(const SymInt& a, const SymInt& b) {
  auto* env = env_of(a, b);
  if (!env) return a.hint() < b.hint();
  int64_t least;
  if (env->least(sum(terms_of(b), terms_of(a), -1), least) && least > 0) return true;
  if (env->least(sum(terms_of(a), terms_of(b), -1), least) && least >= 0) return false;
  const bool less = a.hint() < b.hint();
  note(*env, a, less ? " < " : " >= ", b);
  return less;
}
int64_t SymInt::specialized() const {
  if (expr_) note(*expr_->env, *this, " == ", SymInt(hint_));
  return hint_;
}

namespace detail {
void append(std::string& s, const SymInt& v) {
  if (v.expr()) s += v.expr()->text;
  else s += std::to_string(v.hint());
}
void append(std::string& s, SymInts v) {
  s += '[';
  for (int64_t i = 0; i < v.n; ++i) {
    if (i) s += ", ";
    append(s, v[i]);
  }
  s += ']';
}
}  // namespace detail

ShapeEnv::ShapeEnv() : impl_(std::make_unique<Impl>()) {}
ShapeEnv::~ShapeEnv() = default;

SymInt ShapeEnv::symbol(std::string name, int64_t hint, int64_t least) {
  if (hint < least) return SymInt(hint);
  FB_CHECK(!impl_->atom_numbers.count(name), "there is a symbol named ", name, " already");
  return impl_->make({{Monomial{impl_->atom(std::move(name), hint, least)}, 1}});
}
const std::vector<std::string>& ShapeEnv::guards() const { return impl_->guards; }

SymInt numel_of(SymInts sizes) {
  SymInt n = 1;
  for (const SymInt& s : sizes) n *= s;
  return n;
}

}  // namespace fb
