// Random numbers in place: what is drawn depends on the generator, the type, and the tensor's size alone.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace random {
// The gradient of what a fill overwrote.
inline Tensor none(grad<0> g) { return op<"zeros_like">(*g); }
}  // namespace random

#define FB_FILL(NAME, ID, ARGS)                                                              \
  struct ID : direct<ID> {                                                                   \
    static constexpr auto schema = NAME "(Tensor(a!) self, " ARGS "*, Generator? generator=None) -> Tensor(a!)"; \
    static constexpr uint32_t forms = form::method;                                          \
    static constexpr bool lazy_bits = true;                                                  \
    using vjp = rules<wrt<0, random::none>>;                                                 \
  };                                                                                         \
  FB_CARD(ID)
FB_FILL("uniform_", uniform_, "float from=0., float to=1., ")
FB_FILL("normal_", normal_, "float mean=0., float std=1., ")
FB_FILL("log_normal_", log_normal_, "float mean=1., float std=2., ")
FB_FILL("cauchy_", cauchy_, "float median=0., float sigma=1., ")
FB_FILL("exponential_", exponential_, "float lambd=1., ")
FB_FILL("geometric_", geometric_, "float p, ")
FB_FILL("bernoulli_.Tensor", bernoulli_tensor_, "Tensor p, ")
FB_FILL("bernoulli_.float", bernoulli_float_, "float p=0.5, ")
FB_FILL("random_.from", random_from_, "int from, int? to, ")
FB_FILL("random_.to", random_to_, "int to, ")
FB_FILL("random_", random_any_, "")
#undef FB_FILL

}  // namespace fb::cards
