// Random numbers in place: what is drawn depends on the generator, the type, and the tensor's size alone.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace random {
// The gradient of what a fill overwrote.
inline Tensor none(grad<0> g) { return op<"zeros_like">(*g); }
}  // namespace random

// `check` sees the parameters on every device; on the meta device it is all there is.
#define FB_FILL(NAME, ID, ARGS, CHECK, ...)                                                  \
  struct ID : direct<ID> {                                                                   \
    static constexpr auto schema = NAME "(Tensor(a!) self, " ARGS "*, Generator? generator=None) -> Tensor(a!)"; \
    static constexpr uint32_t forms = form::method;                                          \
    static constexpr bool lazy_bits = true;                                                  \
    static void check([[maybe_unused]] const Tensor& self, __VA_ARGS__) { CHECK; }                           \
    using vjp = rules<wrt_zero<0, random::none>>;                                                 \
  };                                                                                         \
  FB_CARD(ID)
FB_FILL("uniform_", uniform_, "float from=0., float to=1., ", FB_CHECK(from <= to, "uniform_: expected from <= to, got from ", from, " and to ", to), double from,
        double to, Generator*)
FB_FILL("normal_", normal_, "float mean=0., float std=1., ", FB_CHECK(std >= 0, "normal_: expected std >= 0, got ", std), double, double std, Generator*)
FB_FILL("log_normal_", log_normal_, "float mean=1., float std=2., ", FB_CHECK(std > 0, "log_normal_: expected std > 0, got ", std), double, double std, Generator*)
FB_FILL("cauchy_", cauchy_, "float median=0., float sigma=1., ", FB_CHECK(sigma > 0, "cauchy_: expected sigma > 0, got ", sigma), double, double sigma, Generator*)
FB_FILL("exponential_", exponential_, "float lambd=1., ", FB_CHECK(lambd > 0, "exponential_: expected lambd > 0, got ", lambd), double lambd, Generator*)
FB_FILL("geometric_", geometric_, "float p, ", FB_CHECK(p > 0 && p < 1, "geometric_: expected 0 < p < 1, got ", p), double p, Generator*)
FB_FILL("bernoulli_.Tensor", bernoulli_tensor_, "Tensor p, ",
        FB_CHECK(p.is_floating(), "bernoulli_: probabilities must be of a floating type, got ", p.dtype()), const Tensor& p, Generator*)
FB_FILL("bernoulli_.float", bernoulli_float_, "float p=0.5, ", FB_CHECK(p >= 0 && p <= 1, "bernoulli_: expected 0 <= p <= 1, got ", p), double p, Generator*)
FB_FILL("random_.from", random_from_, "int from, int? to, ",
        FB_CHECK(!to || from < *to, "random_: expected from < to, got from ", from, " and to ", *to), int64_t from, std::optional<int64_t> to, Generator*)
FB_FILL("random_.to", random_to_, "int to, ", FB_CHECK(to > 0, "random_: expected from < to, got from 0 and to ", to), int64_t to, Generator*)
FB_FILL("random_", random_any_, "", , Generator*)
#undef FB_FILL

}  // namespace fb::cards
