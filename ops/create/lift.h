// Tensors made outside of the operators, from Python's data: what a mode sees of torch.tensor(...).
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"
#include "dispatch/visible.h"

namespace fb::cards {

struct lift_fresh : composite<lift_fresh> {
  static constexpr auto schema = "lift_fresh(Tensor(a) self) -> Tensor(a)";
  static constexpr uint32_t forms = form::hidden | form::visible;
  static Tensor body(const Tensor& self) { return self; }
};
FB_CARD(lift_fresh)

struct lift : composite<lift> {
  static constexpr auto schema = "lift(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::visible;
  static Tensor body(const Tensor& self) { return self; }
};
FB_CARD(lift)

// What a trace records for a constant: a graph that is run twice finds its attribute unchanged.
struct lift_fresh_copy : composite<lift_fresh_copy> {
  static constexpr auto schema = "lift_fresh_copy(Tensor self) -> Tensor";
  static constexpr uint32_t forms = form::hidden | form::visible;
  static Tensor body(const Tensor& self) { return op<"clone">(self, MemoryFormat::contiguous); }
};
FB_CARD(lift_fresh_copy)

}  // namespace fb::cards
