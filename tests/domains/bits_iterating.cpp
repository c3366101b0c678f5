// Texts that iterate: they go lane by lane in every vector domain, and are slow.
#include "ops/math/math.h"
#include "tests/domains/bits.h"

namespace {
constexpr size_t thin = 12;   // one argument of so many
}

#define FB_SLOW1(name)                                                                         \
  fb::testing::row<float>(to, #name, [](auto x) { return fb::math::name(x); }, thin); \
  fb::testing::row<double>(to, #name, [](auto x) { return fb::math::name(x); }, thin);
#define FB_SLOW2(name)                                                                                    \
  fb::testing::row<float>(to, #name, [](auto x, auto y) { return fb::math::name(x, y); }, thin); \
  fb::testing::row<double>(to, #name, [](auto x, auto y) { return fb::math::name(x, y); }, thin);

void fb::testing::append_iterating(std::vector<Row>& to) {
  FB_SLOW1(trigamma) FB_SLOW1(bessel_j0) FB_SLOW1(bessel_j1) FB_SLOW1(bessel_y0) FB_SLOW1(bessel_y1)
  FB_SLOW1(modified_bessel_k0) FB_SLOW1(modified_bessel_k1) FB_SLOW1(scaled_modified_bessel_k0)
  FB_SLOW1(scaled_modified_bessel_k1) FB_SLOW1(airy_ai) FB_SLOW1(spherical_bessel_j0)
  FB_SLOW2(igamma) FB_SLOW2(igammac) FB_SLOW2(zeta)
  const auto polygamma = [](auto x) { return fb::math::polygamma(3, x); };
  row<float>(to, "polygamma3", polygamma, thin);
  row<double>(to, "polygamma3", polygamma, thin);
}
