// What operators over lists of tensors share. `_foreach_NAME` is the operator NAME for each element of a list, in one
// call: derivatives, types and broadcasting are those of the elements' operators, and so are versions in place.
#pragma once
#include <string_view>

#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/visible.h"

namespace fb::cards::foreach {

inline void check(const char* name, TensorSpan self) {
  FB_CHECK(self.size() > 0, name, ": self is an empty list; it must hold a tensor");
}
inline void check(const char* name, TensorSpan self, TensorSpan other) {
  check(name, self);
  FB_CHECK(self.size() == other.size(), name, ": self holds ", self.size(), " tensors and the other list ", other.size(), "; both must be as long");
}
inline void check(const char* name, TensorSpan self, TensorSpan a, TensorSpan b) {
  check(name, self, a);
  check(name, self, b);
}
inline void check(const char* name, TensorSpan self, Span<Scalar> scalars) {
  check(name, self);
  FB_CHECK(self.size() == scalars.size(), name, ": self holds ", self.size(), " tensors and scalars ", scalars.size(), " numbers; both must be as long");
}
inline void check(const char* name, TensorSpan self, TensorSpan a, Span<Scalar> scalars) {
  check(name, self, a);
  check(name, self, scalars);
}
inline void check(const char* name, TensorSpan self, TensorSpan a, TensorSpan b, Span<Scalar> scalars) {
  check(name, self, a, b);
  check(name, self, scalars);
}
// A tensor that stands for one number.
inline void check(const char* name, TensorSpan self, const Tensor& number) {
  check(name, self);
  FB_CHECK(number.ndim() == 0, name, ": other must be a 0-d tensor, it has shape ", number.sizes());
}
// A tensor of one number for each element of the list.
inline std::vector<Scalar> numbers(const char* name, TensorSpan self, const Tensor& t) {
  FB_CHECK(t.ndim() == 1 && t.sizes()[0] == self.size(), name, ": scalars must have shape [", self.size(), "], one number for each tensor of self, got ", t.sizes());
  std::vector<Scalar> r;
  for (int64_t i = 0; i < self.size(); ++i) r.push_back(op_value<"item">(op<"select">(t, int64_t(0), i)).scalar());
  return r;
}

template <class F> std::vector<Tensor> each(TensorSpan self, F&& f) {
  std::vector<Tensor> out;
  out.reserve(size_t(self.size()));
  for (int64_t i = 0; i < self.size(); ++i) out.push_back(f(i));
  return out;
}
template <class F> std::tuple<> each_inplace(TensorSpan self, F&& f) {
  for (int64_t i = 0; i < self.size(); ++i) f(i);
  return {};
}

}  // namespace fb::cards::foreach

#define FB_UNWRAP(...) __VA_ARGS__
// Two cards of one text. ID names the structs; OVERLOAD is ".List" or empty; ARGS is what follows self in the schema;
// CHECK the lists that must be as long, CALL the arguments after self[i], both in parentheses; then parameters.
#define FB_FOREACH_AS(ID, NAME, OVERLOAD, ARGS, CHECK, OP, OP_INPLACE, ...)                                             \
  struct ID : composite<ID> {                                                                                           \
    static constexpr auto schema = "_foreach_" NAME OVERLOAD "(Tensor[] self" ARGS ") -> Tensor[]";                     \
    static constexpr uint32_t forms = form::fn | form::visible;                                                                         \
    static constexpr auto doc = NAME " of each tensor of a list: the list of results.";                                 \
    static std::vector<Tensor> body(TensorSpan self __VA_OPT__(, ) __VA_ARGS__) {                                       \
      foreach::check("_foreach_" NAME, self FB_UNWRAP CHECK);                                                           \
      return foreach::each(self, [&](int64_t i) { return OP; });                                                        \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(ID)                                                                                                           \
  struct ID##InPlace : composite<ID##InPlace> {                                                                         \
    static constexpr auto schema = "_foreach_" NAME "_" OVERLOAD "(Tensor(a!)[] self" ARGS ") -> ()";                   \
    static constexpr uint32_t forms = form::fn | form::visible;                                                                         \
    static constexpr auto doc = NAME " of each tensor of a list, in place.";                                            \
    static std::tuple<> body(TensorSpan self __VA_OPT__(, ) __VA_ARGS__) {                                              \
      foreach::check("_foreach_" NAME "_", self FB_UNWRAP CHECK);                                                       \
      return foreach::each_inplace(self, [&](int64_t i) { OP_INPLACE; });                                               \
    }                                                                                                                   \
  };                                                                                                                    \
  FB_CARD(ID##InPlace)
#define FB_FOREACH(ID, NAME, OVERLOAD, ARGS, CHECK, CALL, ...)                                                          \
  FB_FOREACH_AS(ID, NAME, OVERLOAD, ARGS, CHECK, op<NAME>(self[i] FB_UNWRAP CALL), op_list<NAME "_">(self[i] FB_UNWRAP CALL) \
                __VA_OPT__(, ) __VA_ARGS__)
