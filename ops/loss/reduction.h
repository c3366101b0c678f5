// How losses are reduced: the numbers of `reduction`, and the factor that a mean puts on gradients.
#pragma once
#include "dispatch/call.h"
#include "dispatch/vjp.h"

namespace fb::cards::loss {

constexpr int64_t kNone = 0, kMean = 1, kSum = 2;

inline Tensor reduce(const Tensor& t, int64_t reduction) {
  return reduction == kMean ? op<"mean">(t) : reduction == kSum ? op<"sum">(t) : t;
}
// The gradient of the reduction: g for each of n elements.
inline Tensor spread(const Tensor& g, int64_t reduction, int64_t n) { return reduction == kMean ? op<"div.Tensor">(g, double(n)) : g; }
// The factor that the reduction puts on the gradient of each element of the loss of these two.
inline double share(const Tensor& a, const Tensor& b, int64_t reduction) {
  if (reduction != kMean) return 1;
  return 1 / double(numel_of(broadcast_sizes(a.sizes(), b.sizes())));
}
inline void check_reduction(const char* name, int64_t reduction) {
  FB_CHECK(reduction >= kNone && reduction <= kSum, name, ": reduction must be 0 (none), 1 (mean) or 2 (sum), ", reduction, " was given");
}
// Raises unless a loss of type `found` may be kept in type `kept`.
inline void check_kept(const char* name, DType found, DType kept) {
  FB_CHECK(can_cast(found, kept), name, ": the loss is of type ", found, ", which cannot be kept as ", kept);
}

// The rule of an argument that has no derivative: asking for its gradient raises.
template <FixedString What> Tensor no_rule(needs) { raise_not_implemented(What.s, " has no derivative"); }

}  // namespace fb::cards::loss
