// The functions that iterate, against values computed to 30 digits, and against each other.
#include "ops/math/special.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cpu/simd/vec.h"
#include "ops/math/bessel.h"
#include "ops/math/orthogonal.h"

namespace {

using namespace fb;  // NOLINT

void near(double got, double want, double relative = 1e-14) {
  EXPECT_LE(std::fabs(got - want), std::fabs(want) * relative) << got << " for " << want;
}

TEST(SpecialMath, IncompleteGamma) {
  near(math::igamma(0.5, 0.25), 5.2049987781304653768e-1, 1e-13);
  near(math::igamma(2.0, 3.5), 8.6411177459956674667e-1, 1e-13);
  near(math::igamma(30.0, 10.0), 2.5099512015279078234e-7, 1e-13);
  near(math::igamma(1e-10, 0.5), 9.9999999994402264052e-1, 1e-13);
  near(math::igamma(0.5, 1e-20), 1.1283791670955125429e-10, 1e-13);
  near(math::igamma(5.0, 20.0), 9.9998305525606993262e-1, 1e-13);
  near(math::igamma(200.0, 200.0), 5.0940341800723632503e-1, 1e-14);
  near(math::igamma(150.0, 170.0), 9.4436556868980670556e-1, 1e-14);
  near(math::igamma(25.0, 20.0), 1.5677262182623772638e-1, 1e-14);
  near(math::igamma(1000.0, 950.0), 5.5054686230738034495e-2, 1e-14);
  near(math::igammac(0.5, 0.25), 4.7950012218695346232e-1, 1e-14);
  near(math::igammac(2.0, 3.5), 1.3588822540043325333e-1, 1e-14);
  near(math::igammac(10.0, 30.0), 7.1217508628155770916e-6, 1e-14);
  near(math::igammac(1e-10, 0.5), 5.5977359480549881133e-11, 1e-14);
  near(math::igammac(0.3, 1.7), 3.2357996487784667905e-2, 1e-14);
  near(math::igammac(1.5, 2.0), 2.614641299491106222e-1, 1e-14);
  near(math::igammac(100.0, 120.0), 2.7863739890520661484e-2, 1e-14);
  near(math::igammac(21.0, 26.0), 1.3866991996791170352e-1, 1e-14);
  const double inf = INFINITY;
  EXPECT_TRUE(std::isnan(math::igamma(0.0, 0.0)) && std::isnan(math::igamma(-1.0, 1.0)) && std::isnan(math::igammac(1.0, -1.0)));
  EXPECT_TRUE(std::isnan(math::igamma(inf, inf)));
  EXPECT_EQ(math::igamma(0.0, 1.0), 1);
  EXPECT_EQ(math::igammac(0.0, 1.0), 0);
  EXPECT_EQ(math::igamma(inf, 1.0), 0);
  EXPECT_EQ(math::igamma(1.0, inf), 1);
  EXPECT_EQ(math::igammac(3.0, 0.0), 1);
  for (double a = 0.05; a < 60; a *= 1.3) {
    for (double x = 0.01; x < 90; x *= 1.25) ASSERT_NEAR(math::igamma(a, x) + math::igammac(a, x), 1, 1e-13) << a << " " << x;
  }
  near(math::igamma(2.f, 3.5f), math::igamma(2.0, 3.5), 1e-7);
  const auto v = math::igammac(Vec<double>(2.0), Vec<double>(3.5));
  EXPECT_EQ(v[3], math::igammac(2.0, 3.5));
}

TEST(SpecialMath, ZetaAndPolygamma) {
  near(math::zeta(2.0, 1.0), 1.6449340668482264365, 2e-14);
  near(math::zeta(1.0001, 1.0), 1.000057722294753897e+4, 2e-14);
  near(math::zeta(3.0, 1000000000.0), 5.0000000050000000025e-19, 2e-14);
  near(math::zeta(50.0, 0.01), 9.9999999999999895917e+99, 2e-14);
  near(math::zeta(1.5, 0.3), 8.2377616714597234206, 2e-14);
  near(math::zeta(7.0, 25.0), 7.6840229053590879634e-10, 2e-14);
  near(math::zeta(40.0, 17.0), 6.7507289763211689445e-50, 2e-14);
  near(math::zeta(2.0, -0.5), 8.9348022005446793094, 2e-14);
  near(math::zeta(3.0, -2.75), 62.058826529857589986, 2e-14);
  near(math::zeta(2.0, -1000.25), 19.738209551699784882, 2e-14);
  near(math::polygamma(1, 0.5), 4.9348022005446793094, 2e-14);
  near(math::polygamma(1, -2.25), 19.379410511869137363, 2e-14);
  near(math::polygamma(1, 10.0), 0.10516633568168574612, 2e-14);
  near(math::polygamma(2, 0.5), -16.828796644234319996, 2e-14);
  near(math::polygamma(2, -0.5), -0.8287966442343199956, 2e-14);
  near(math::polygamma(3, -2.25), 1558.45502318871434, 2e-14);
  near(math::polygamma(5, 4.0), 0.041558384635954378911, 2e-14);
  near(math::polygamma(0, 2.5), 0.70315664064524318723, 2e-14);
  near(math::polygamma(2, 1e-05), -2000000000000001.9132, 2e-14);
  EXPECT_EQ(math::zeta(1.0, 2.0), INFINITY);
  EXPECT_EQ(math::zeta(2.0, 0.0), INFINITY);
  EXPECT_EQ(math::zeta(2.0, -3.0), INFINITY);
  EXPECT_TRUE(std::isnan(math::zeta(0.5, 2.0)) && std::isnan(math::zeta(2.5, -0.5)) && std::isnan(math::zeta(2.0, double(NAN))));
  EXPECT_EQ(math::polygamma(1, double(INFINITY)), 0);
  EXPECT_EQ(math::polygamma(2, 0.0), -INFINITY);
  EXPECT_EQ(math::polygamma(3, -1.0), INFINITY);
  EXPECT_TRUE(std::isnan(math::polygamma(0, -1.0)));
  near(math::trigamma(0.5f), 4.9348022005446793094, 1e-7);
}

TEST(SpecialMath, Bessel) {
  near(math::bessel_j0(1e-09), 9.9999999999999999975e-1, 1e-13);
  near(math::bessel_j0(0.3), 9.7762624653829608922e-1, 1e-13);
  near(math::bessel_j0(1.0), 7.6519768655796655145e-1, 1e-13);
  near(math::bessel_j0(5.0), -1.7759677131433830435e-1, 1e-13);
  near(math::bessel_j0(12.5), 1.4688405470042110231e-1, 1e-13);
  near(math::bessel_j0(24.9), 8.3245968353015490053e-2, 1e-13);
  near(math::bessel_j0(25.1), 1.0827567149994945198e-1, 1e-13);
  near(math::bessel_j0(50.0), 5.5812327669251815005e-2, 1e-13);
  near(math::bessel_j0(100000.0), -1.7192011162359721926e-3, 1e-13);
  near(math::bessel_j1(1e-09), 5.0000000000000003108e-10, 1e-13);
  near(math::bessel_j1(0.3), 1.4831881627310400238e-1, 1e-13);
  near(math::bessel_j1(1.0), 4.4005058574493351596e-1, 1e-13);
  near(math::bessel_j1(5.0), -3.2757913759146522204e-1, 1e-13);
  near(math::bessel_j1(12.5), -1.6548380461475971846e-1, 1e-13);
  near(math::bessel_j1(24.9), -1.3485569953140886933e-1, 1e-13);
  near(math::bessel_j1(25.1), -1.1463478413442256746e-1, 1e-13);
  near(math::bessel_j1(50.0), -9.7511828125175137661e-2, 1e-13);
  near(math::bessel_j1(100000.0), 1.8467575628825677164e-3, 1e-13);
  near(math::bessel_y0(1e-09), -1.3266645074938386518e+1, 1e-13);
  near(math::bessel_y0(0.3), -8.0727357780451949121e-1, 1e-13);
  near(math::bessel_y0(1.0), 8.8256964215676957983e-2, 1e-13);
  near(math::bessel_y0(5.0), -3.0851762524903378007e-1, 1e-13);
  near(math::bessel_y0(12.5), -1.7121430684466928735e-1, 1e-13);
  near(math::bessel_y0(24.9), -1.3649918399676523538e-1, 1e-13);
  near(math::bessel_y0(25.1), -1.167677076380369472e-1, 1e-13);
  near(math::bessel_y0(50.0), -9.8064995470077079029e-2, 1e-13);
  near(math::bessel_y0(100000.0), 1.8467661588650641043e-3, 1e-13);
  near(math::bessel_y1(1e-09), -6.3661977236758131022e+8, 1e-13);
  near(math::bessel_y1(0.3), -2.2931051383885291231, 1e-13);
  near(math::bessel_y1(1.0), -7.8121282130028871655e-1, 1e-13);
  near(math::bessel_y1(5.0), 1.478631433912268448e-1, 1e-13);
  near(math::bessel_y1(12.5), -1.5383825653750118008e-1, 1e-13);
  near(math::bessel_y1(24.9), -8.6002557595554252479e-2, 1e-13);
  near(math::bessel_y1(25.1), -1.1062223322783098811e-1, 1e-13);
  near(math::bessel_y1(50.0), -5.6795668562014767942e-2, 1e-13);
  near(math::bessel_y1(100000.0), 1.719210350088256301e-3, 1e-13);
  near(math::modified_bessel_k0(1e-09), 2.0839197352604823548e+1, 1e-13);
  near(math::modified_bessel_k0(0.3), 1.3724600605442974106, 1e-13);
  near(math::modified_bessel_k0(1.0), 4.2102443824070833334e-1, 1e-13);
  near(math::modified_bessel_k0(1.1), 3.6560239154318583529e-1, 1e-13);
  near(math::modified_bessel_k0(5.0), 3.6910983340425942747e-3, 1e-13);
  near(math::modified_bessel_k0(29.0), 5.8949507287925601035e-14, 1e-13);
  near(math::modified_bessel_k0(31.0), 7.7183826555276153838e-15, 1e-13);
  near(math::modified_bessel_k0(200.0), 1.2256819797765334517e-88, 1e-13);
  near(math::modified_bessel_k1(1e-09), 9.9999999999999992705e+8, 1e-13);
  near(math::modified_bessel_k1(0.3), 3.0559920334573251072, 1e-13);
  near(math::modified_bessel_k1(1.0), 6.0190723019723457474e-1, 1e-13);
  near(math::modified_bessel_k1(1.1), 5.0976002716702697519e-1, 1e-13);
  near(math::modified_bessel_k1(5.0), 4.0446134454521642084e-3, 1e-13);
  near(math::modified_bessel_k1(29.0), 5.9957403212388098821e-14, 1e-13);
  near(math::modified_bessel_k1(31.0), 7.8418996008340633766e-15, 1e-13);
  near(math::modified_bessel_k1(200.0), 1.228742373472985812e-88, 1e-13);
  near(math::scaled_modified_bessel_k0(0.3), 1.8526273007720143077, 3e-15);
  near(math::scaled_modified_bessel_k0(5.0), 5.4780756431351898687e-1, 3e-15);
  near(math::scaled_modified_bessel_k0(29.0), 2.3175021980076457865e-1, 3e-15);
  near(math::scaled_modified_bessel_k0(31.0), 2.2421013741927490315e-1, 3e-15);
  near(math::scaled_modified_bessel_k0(100000.0), 3.9633223434747558606e-3, 3e-15);
  near(math::scaled_modified_bessel_k1(0.3), 4.1251577622444698058, 3e-15);
  near(math::scaled_modified_bessel_k1(5.0), 6.0027385878831258294e-1, 3e-15);
  near(math::scaled_modified_bessel_k1(29.0), 2.357125956165556969e-1, 3e-15);
  near(math::scaled_modified_bessel_k1(31.0), 2.2779816259459249946e-1, 3e-15);
  near(math::scaled_modified_bessel_k1(100000.0), 3.9633421600369322005e-3, 3e-15);
  near(math::spherical_bessel_j0(1e-09), 9.9999999999999999983e-1, 1e-15);
  near(math::spherical_bessel_j0(0.01), 9.9998333341666646825e-1, 1e-15);
  near(math::spherical_bessel_j0(0.5), 9.5885107720840600055e-1, 1e-15);
  near(math::spherical_bessel_j0(3.0), 4.7040002686622407367e-2, 1e-15);
  near(math::spherical_bessel_j0(50.0), -5.2474970740785757183e-3, 1e-15);
  near(math::airy_ai(-2000.0), 8.141138247758313136e-2, 1e-13);
  near(math::airy_ai(-50.0), -1.6188142361232092392e-1, 1e-13);
  near(math::airy_ai(-9.6), 3.1465158331169332861e-1, 1e-13);
  near(math::airy_ai(-9.4), 2.9347755611206789964e-1, 1e-13);
  near(math::airy_ai(-5.5), 1.7781541276574975603e-2, 1e-13);
  near(math::airy_ai(-1.0), 5.355608832923521188e-1, 1e-13);
  near(math::airy_ai(0.0), 3.5502805388781723926e-1, 1e-13);
  near(math::airy_ai(0.5), 2.3169360648083348977e-1, 1e-13);
  near(math::airy_ai(1.49), 7.2728710721994578098e-2, 1e-13);
  near(math::airy_ai(4.0), 9.5156385120480187362e-4, 1e-13);
  near(math::airy_ai(9.4), 7.26741177077919352e-10, 1e-13);
  near(math::airy_ai(9.6), 3.9032335304151394849e-10, 1e-13);
  near(math::airy_ai(50.0), 4.5849417240748284783e-104, 1e-13);
  EXPECT_TRUE(std::isnan(math::bessel_j0(double(NAN))) && std::isnan(math::bessel_j1(double(NAN))));
  EXPECT_EQ(math::bessel_y0(0.0), -INFINITY);
  EXPECT_EQ(math::bessel_y1(0.0), -INFINITY);
  EXPECT_EQ(math::modified_bessel_k0(0.0), INFINITY);
  EXPECT_EQ(math::modified_bessel_k1(double(INFINITY)), 0);
  EXPECT_TRUE(std::isnan(math::bessel_y0(-1.0)) && std::isnan(math::modified_bessel_k0(-1.0)) && std::isnan(math::bessel_j0(double(INFINITY))));
  EXPECT_EQ(math::bessel_j1(-2.0), -math::bessel_j1(2.0));
  EXPECT_TRUE(std::signbit(math::bessel_j1(-0.0)));
  EXPECT_EQ(math::airy_ai(1e5), 0);
  EXPECT_EQ(math::spherical_bessel_j0(double(INFINITY)), 0);
  near(math::bessel_j0(5.f), -0.17759677131433830435, 1e-7);
  // J1 Y0 - J0 Y1 = 2 / (pi x)
  for (double x = 1e-4; x < 1e4; x *= 1.17) {
    const double w = math::bessel_j1(x) * math::bessel_y0(x) - math::bessel_j0(x) * math::bessel_y1(x);
    near(w, 2 / (M_PI * x), 2e-13);
  }
}

TEST(SpecialMath, OrthogonalPolynomials) {
  for (double x : {-1.7, -1.0, -0.3, 0.0, 0.6, 1.0, 2.5}) {
    for (int n : {0, 1, 2, 3, 5, 9, 14}) {
      const double d = n, s = 2 * x - 1, scale = 1e-12;
      double t0 = 1, t1 = x, u0 = 1, u1 = 2 * x, h0 = 1, h1 = 2 * x, e0 = 1, e1 = x, l0 = 1, l1 = 1 - x, p0 = 1, p1 = x;
      for (int i = 0; i < n; ++i) {
        const double j = i + 1;
        double t = 2 * x * t1 - t0; t0 = t1; t1 = t;
        t = 2 * x * u1 - u0; u0 = u1; u1 = t;
        t = 2 * x * h1 - 2 * j * h0; h0 = h1; h1 = t;
        t = x * e1 - j * e0; e0 = e1; e1 = t;
        t = ((2 * j + 1 - x) * l1 - j * l0) / (j + 1); l0 = l1; l1 = t;
        t = ((2 * j + 1) * x * p1 - j * p0) / (j + 1); p0 = p1; p1 = t;
      }
      const auto close = [&](double got, double want) { EXPECT_NEAR(got, want, scale * (1 + std::fabs(want))) << x << " " << n; };
      close(math::chebyshev_polynomial_t(x, d), t0);
      close(math::chebyshev_polynomial_u(x, d), u0);
      close(math::hermite_polynomial_h(x, d), h0);
      close(math::hermite_polynomial_he(x, d), e0);
      close(math::laguerre_polynomial_l(x, d), l0);
      close(math::legendre_polynomial_p(x, d), p0);
      // v and w are differences and sums of u
      const double below = n ? math::chebyshev_polynomial_u(x, d - 1) : 0;
      close(math::chebyshev_polynomial_v(x, d), u0 - below);
      close(math::chebyshev_polynomial_w(x, d), u0 + below);
      EXPECT_EQ(math::shifted_chebyshev_polynomial_t(x, d), math::chebyshev_polynomial_t(s, d));
      EXPECT_EQ(math::shifted_chebyshev_polynomial_w(x, d), math::chebyshev_polynomial_w(s, d));
    }
  }
  EXPECT_EQ(math::chebyshev_polynomial_t(0.5, -1.0), 0);
  EXPECT_EQ(math::chebyshev_polynomial_t(0.5, double(NAN)), 0);
  EXPECT_EQ(math::chebyshev_polynomial_t(2.0, 2.7), 7);
  EXPECT_EQ(math::chebyshev_polynomial_u(-1.0, 7.0), -8);
  EXPECT_TRUE(std::isnan(math::hermite_polynomial_h(0.5f, 100.f)));
  EXPECT_TRUE(std::isnan(math::legendre_polynomial_p(double(NAN), 1.0)));
}

}  // namespace
