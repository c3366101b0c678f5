// Calls from C++: op<"matmul">(a, b) finds the overload that takes these arguments, once, and calls it as Python would.
// Arguments are positional in schema order, keyword-only ones included; what is left out has its default.
#pragma once
#include <array>

#include "dispatch/op.h"

namespace fb {

template <size_t N>
struct FixedString {
  char s[N]{};
  constexpr FixedString(const char (&t)[N]) {
    for (size_t i = 0; i < N; ++i) s[i] = t[i];
  }
};

// The overload of `name` (or the one named "packet.overload") that takes n arguments of these tags; raises otherwise.
const OpEntry& resolve_op(const char* name, const Value* args, int n);
// Fills defaults after the first n arguments and calls.
void call_with_defaults(const OpEntry& op, Value* args, int n, Results& out);

namespace detail {
constexpr int kMaxCallArgs = 24;
template <FixedString Name, class... A>
void call_into(Results& out, const A&... a) {
  Value v[kMaxCallArgs] = {Value(a)...};
  // The tags of one instantiation vary only where an argument may be absent; a miss resolves again.
  // One word holds the entry (48 bits of address) and the key it was found for, so that threads cannot mix them.
  static uint64_t cached = 0;
  uint64_t key = 1;
  for (size_t i = 0; i < sizeof...(A); ++i) key = key * 31 + uint64_t(v[i].tag);
  key = (key ^ key >> 16 ^ key >> 32) << 48;
  const uint64_t c = __atomic_load_n(&cached, __ATOMIC_ACQUIRE);
  const OpEntry* e = reinterpret_cast<const OpEntry*>(c & 0xffffffffffff);
  if (!e || (c & ~uint64_t(0xffffffffffff)) != key) {
    e = &resolve_op(Name.s, v, int(sizeof...(A)));
    __atomic_store_n(&cached, reinterpret_cast<uint64_t>(e) | key, __ATOMIC_RELEASE);
  }
  call_with_defaults(*e, v, int(sizeof...(A)), out);
}
}  // namespace detail

// One tensor.
template <FixedString Name, class... A>
Tensor op(const A&... a) {
  Results r;
  detail::call_into<Name>(r, a...);
  return std::move(r[0]);
}
// A fixed number of tensors: auto [values, indices] = ops<"sort", 2>(x).
template <FixedString Name, int N, class... A>
std::array<Tensor, N> ops(const A&... a) {
  Results r;
  detail::call_into<Name>(r, a...);
  std::array<Tensor, N> out;
  for (int i = 0; i < N; ++i) out[size_t(i)] = std::move(r[i]);
  return out;
}
// A list.
template <FixedString Name, class... A>
std::vector<Tensor> op_list(const A&... a) {
  Results r;
  detail::call_into<Name>(r, a...);
  std::vector<Tensor> out;
  for (int i = 0; i < r.size(); ++i) out.push_back(std::move(r[i]));
  return out;
}
// A plain value: op_value<"equal">(a, b).boolean().
template <FixedString Name, class... A>
Value op_value(const A&... a) {
  Results r;
  detail::call_into<Name>(r, a...);
  return r.value;
}

}  // namespace fb
