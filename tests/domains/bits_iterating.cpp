// Texts that iterate: they go lane by lane in every vector domain, and are slow.
#include "ops/math/math.h"
#include "tests/domains/bits.h"

namespace {
constexpr size_t thin = 12;   // one argument of so many
}

void fb::testing::append_iterating(std::vector<Row>& to) {
  FB_ROW1(trigamma, thin) FB_ROW1(bessel_j0, thin) FB_ROW1(bessel_j1, thin) FB_ROW1(bessel_y0, thin) FB_ROW1(bessel_y1, thin)
  FB_ROW1(modified_bessel_k0, thin) FB_ROW1(modified_bessel_k1, thin) FB_ROW1(scaled_modified_bessel_k0, thin)
  FB_ROW1(scaled_modified_bessel_k1, thin) FB_ROW1(airy_ai, thin) FB_ROW1(spherical_bessel_j0, thin)
  FB_ROW2(igamma, thin) FB_ROW2(igammac, thin) FB_ROW2(zeta, thin)
  const auto polygamma = [](auto x) { return fb::math::polygamma(3, x); };
  row<float>(to, "polygamma3", polygamma, thin);
  row<double>(to, "polygamma3", polygamma, thin);
}
