// Expected values were recorded from PyTorch 2.14.1 after torch.manual_seed(1234).
#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/threads.h"

namespace fb {
namespace {

uint64_t hash_bytes(const void* p, size_t n) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < n; i++) h = (h ^ static_cast<const uint8_t*>(p)[i]) * 0x100000001b3ull;
  return h;
}
uint64_t hash_state(const Generator& g) {
  uint8_t state[Generator::state_size];
  g.get_state(state);
  return hash_bytes(state, sizeof state);
}

RandomStatus draw(Generator& g, const std::string& call, DType t, void* out, int64_t n) {
  if (call == "uniform") return random_uniform(g, t, out, n, -3, 5.7);
  if (call == "normal") return random_normal(g, t, out, n, 1.5, 2.5);
  if (call == "any") return random_any(g, t, out, n);
  if (call == "range") return random_range(g, t, out, n, 3, 97);
  if (call == "wide range")
    return random_range(g, t, out, n, -(1ll << 40), (1ull << 40) + (1ull << 41));
  if (call == "full range") return random_range(g, t, out, n, 0, 0);
  if (call == "bernoulli") return random_bernoulli(g, t, out, n, 0.3);
  if (call == "geometric") return random_geometric(g, t, out, n, 0.3);
  if (call == "permutation") return random_permutation(g, t, out, n);
  std::vector<double> p64;
  std::vector<float> p32, rates, counts, weights;
  for (int i = 0; i < 1000; i++) {
    p64.push_back((i % 11) / 10.0);
    p32.push_back(float(p64.back()));
    rates.push_back(float(i % 40));
    counts.push_back(float(i % 97));
    if (i < 50) weights.push_back(float(i * 37 % 11 + 1));
  }
  if (call == "bernoulli each f64")
    return random_bernoulli_each(g, t, out, n, DType::f64, p64.data());
  if (call == "bernoulli each f32")
    return random_bernoulli_each(g, t, out, n, DType::f32, p32.data());
  if (call == "poisson") return random_poisson(g, t, out, n, rates.data());
  if (call == "binomial") return random_binomial(g, t, out, n, counts.data(), p32.data());
  auto* columns = static_cast<int64_t*>(out);
  return random_multinomial(g, DType::f32, weights.data(), 1, 50, n,
                            call == "multinomial replace", columns);
}

struct Recorded {
  const char* call;
  DType type;
  int64_t n;
  uint64_t values, state;
};
const Recorded recorded[] = {
    {"uniform", DType::f32, 5, 0xc9f701c4d624eb9ull, 0x1e4b82ffc2766d96ull},
    {"uniform", DType::f32, 1000, 0xd4ea6dcee473d56dull, 0x780d7b6e413620d4ull},
    {"uniform", DType::f64, 5, 0x9b5abbd8d5a89d07ull, 0xb0da3e60dbe5bf86ull},
    {"uniform", DType::f64, 1000, 0x3703c8cb8a16927cull, 0x61fd4711fff43dadull},
    {"uniform", DType::f16, 5, 0xbf41f55885e3eb0eull, 0x1e4b82ffc2766d96ull},
    {"uniform", DType::f16, 1000, 0x131acf55d8abfe1ull, 0x780d7b6e413620d4ull},
    {"uniform", DType::bf16, 5, 0xc2f8c28e343562b9ull, 0x1e4b82ffc2766d96ull},
    {"uniform", DType::bf16, 1000, 0x5093ea2787bda177ull, 0x780d7b6e413620d4ull},
    {"normal", DType::f32, 16, 0xb290719277ae3b94ull, 0x8c6879af9479fafaull},
    {"normal", DType::f32, 17, 0x12395c09bf116e22ull, 0xbab66d6391c7e48eull},
    {"normal", DType::f32, 1000, 0x9e93bfe459250129ull, 0xa2a685162f484f94ull},
    {"normal", DType::f16, 16, 0x8ab8ee964bb950c2ull, 0x8c6879af9479fafaull},
    {"normal", DType::f16, 17, 0xc8db141f1b231ec6ull, 0x3e5af31a4a1b29baull},
    {"normal", DType::f16, 1000, 0xcdbfbe398970cedbull, 0x34460f4c84e8604ull},
    {"normal", DType::bf16, 16, 0xd4b6f0c2092d88c2ull, 0x8c6879af9479fafaull},
    {"normal", DType::bf16, 17, 0x2ce00e50c4d517bbull, 0x3e5af31a4a1b29baull},
    {"normal", DType::bf16, 1000, 0x767bf46cab0cfbfull, 0x34460f4c84e8604ull},
    {"any", DType::u8, 1000, 0x87e4b30893491714ull, 0x780d7b6e413620d4ull},
    {"any", DType::i8, 1000, 0x5ff38faa9f41e614ull, 0x780d7b6e413620d4ull},
    {"any", DType::i16, 1000, 0xceefc23ba092d493ull, 0x780d7b6e413620d4ull},
    {"any", DType::i32, 1000, 0x6b493b5ed316d7d8ull, 0x780d7b6e413620d4ull},
    {"any", DType::i64, 1000, 0x68319bf08adab9ffull, 0x61fd4711fff43dadull},
    {"any", DType::boolean, 1000, 0xd66819a4d89429a8ull, 0x780d7b6e413620d4ull},
    {"any", DType::f32, 1000, 0x86ac0caedcb559b4ull, 0x780d7b6e413620d4ull},
    {"any", DType::f64, 1000, 0x338861826fd37993ull, 0x61fd4711fff43dadull},
    {"any", DType::f16, 1000, 0x699484407af67b8full, 0x780d7b6e413620d4ull},
    {"any", DType::bf16, 1000, 0x2b8576cc6f12d01eull, 0x780d7b6e413620d4ull},
    {"range", DType::u8, 1000, 0x12a820ec72cf6c74ull, 0x780d7b6e413620d4ull},
    {"range", DType::i32, 1000, 0xf64a149dcb374310ull, 0x780d7b6e413620d4ull},
    {"range", DType::i64, 1000, 0xc89b08cd4b6613d0ull, 0x780d7b6e413620d4ull},
    {"range", DType::f32, 1000, 0xd670859475cb92c6ull, 0x780d7b6e413620d4ull},
    {"range", DType::f16, 1000, 0x27803dcbe7c20d0cull, 0x780d7b6e413620d4ull},
    {"range", DType::u16, 1000, 0x9344b6ba6dfb80e0ull, 0x780d7b6e413620d4ull},
    {"wide range", DType::i64, 1000, 0xb086aba63f121bbfull, 0x61fd4711fff43dadull},
    {"full range", DType::i64, 1000, 0x538ffffe814b31ffull, 0x61fd4711fff43dadull},
    {"bernoulli", DType::u8, 1000, 0x424d30cc320be94dull, 0x61fd4711fff43dadull},
    {"bernoulli", DType::i64, 1000, 0x7ae5cf679e75cea5ull, 0x61fd4711fff43dadull},
    {"bernoulli", DType::boolean, 1000, 0x424d30cc320be94dull, 0x61fd4711fff43dadull},
    {"bernoulli", DType::f32, 1000, 0x79403d5bd1f8c2e5ull, 0x61fd4711fff43dadull},
    {"bernoulli", DType::bf16, 1000, 0x94d7ec46821b105ull, 0x61fd4711fff43dadull},
    {"geometric", DType::i64, 1000, 0xa3a0b4da8a6092feull, 0x61fd4711fff43dadull},
    {"permutation", DType::i64, 1, 0xa8c7f832281a39c5ull, 0x378dce74bb1d706cull},
    {"permutation", DType::i64, 10, 0xff17eb2d9e84b044ull, 0x6633d6bfc79f8d2eull},
    {"permutation", DType::i64, 1000, 0x79563c9ece60b8d1ull, 0x434ac3c9209536b0ull},
    {"bernoulli each f64", DType::i64, 1000, 0x4bbae5593a81dd44ull, 0x61fd4711fff43dadull},
    {"bernoulli each f32", DType::i64, 1000, 0x1825e51e69a1fae4ull, 0x780d7b6e413620d4ull},
    {"poisson", DType::f32, 1000, 0x64b42ef07b469594ull, 0x8d8235afa0cbf7f6ull},
    {"binomial", DType::f32, 1000, 0x84e94f8aae2cf601ull, 0x4129a7665098cbdbull},
    {"multinomial", DType::i64, 20, 0x59eb0b7d364304deull, 0x1dc0e2d3a8724a4aull},
    {"multinomial replace", DType::i64, 200, 0xec8749fdbbcd2ed0ull, 0x6b93a687333511ebull},
};

TEST(Random, StreamsAreThoseOfPyTorch) {
  int before = get_num_threads();
  for (int threads : {1, 3}) {
    set_num_threads(threads);
    for (const Recorded& r : recorded) {
      Generator g(1234);
      size_t bytes = size_t(r.n * item_size(r.type));
      std::vector<uint64_t> out(bytes / 8 + 1);
      ASSERT_EQ(draw(g, r.call, r.type, out.data(), r.n), RandomStatus::ok) << r.call;
      EXPECT_EQ(hash_bytes(out.data(), bytes), r.values) << r.call << " " << dtype_name(r.type) << " " << r.n;
      EXPECT_EQ(hash_state(g), r.state) << r.call << " " << dtype_name(r.type) << " " << r.n;
    }
  }
  set_num_threads(before);
}

// These go through the C library's functions of doubles, whose last bit may depend on its version.
void expect_doubles(std::vector<double> got, std::vector<double> want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); i++)
    EXPECT_NEAR(got[i], want[i], 4e-16 * std::fabs(want[i])) << i;
}

TEST(Random, DoublesOfPyTorch) {
  std::vector<double> out(6);
  Generator g(1234);
  random_normal(g, DType::f64, out.data(), 6, 0, 1);
  expect_doubles(out, {0x1.79e6972642193p-5, 0x1.9c0f7c849c2d7p-2, -0x1.02f39229f0988p+0,
                       0x1.bbe141793099cp-3, -0x1.397bdc8fc51e3p-1, 0x1.01d94424d92ffp-1});
  out.resize(4);
  g.manual_seed(1234);
  random_exponential(g, DType::f64, out.data(), 4, 1.7);
  expect_doubles(out, {0.15514685140141202, 0.04825178053668424, 0.36948254672930186, 0.3147548759353484});
  g.manual_seed(1234);
  random_cauchy(g, DType::f64, out.data(), 4, 1.5, 0.7);
  expect_doubles(out, {0.7151691331374055, -1.2713159181779716, 1.4258477735905126, 1.3070341824963547});
  g.manual_seed(1234);
  random_log_normal(g, DType::f64, out.data(), 4, 1.5, 0.7);
  expect_doubles(out, {4.628770690938224, 5.939838700128465, 2.207652274306778, 5.215926662933272});
  std::vector<double> dense(17);
  g.manual_seed(1234);
  random_normal(g, DType::f64, dense.data(), 17, 1.5, 0.7);
  expect_doubles({dense[0], dense[1], dense[2], dense[3], dense[16]},
                 {1.4381829444285896, 1.960125595162223, 0.3556657009738092, 1.07245984074953,
                  1.2437919673648972});
  g.manual_seed(1234);
  std::vector<double> alpha = {0.3, 1, 3, 50};
  random_gamma(g, DType::f64, out.data(), 4, alpha.data());
  expect_doubles(out, {0.9535252911225134, 1.202520356129174, 2.5349039237067927, 54.470183717350466});
  g.manual_seed(1234);
  out.resize(3);
  random_dirichlet(g, DType::f64, out.data(), 1, 3, alpha.data());
  expect_doubles(out, {0.20326914128980583, 0.25634902655401354, 0.5403818321561805});
}

TEST(Random, ComplexNormalsFillBothParts) {
  Generator g(1234);
  float out[6];
  ASSERT_EQ(random_normal(g, DType::c64, out, 3, 0, 1), RandomStatus::ok);
  const float want[] = {0.032619163393974304f, 0.2845417559146881f,  -0.7152590751647949f,
                        0.1532570719718933f,   -0.4329424798488617f, 0.35610657930374146f};
  for (int i = 0; i < 6; i++) EXPECT_EQ(out[i], want[i]);
}

TEST(Random, NormalsHaveTheMomentsOfTheNormal) {
  Generator g(7);
  int64_t n = 1 << 20;
  std::vector<float> x(static_cast<size_t>(n));
  random_normal(g, DType::f32, x.data(), n, 0, 1);
  double m1 = 0, m2 = 0, m4 = 0;
  for (float v : x) m1 += v, m2 += double(v) * v, m4 += double(v) * v * v * v;
  EXPECT_NEAR(m1 / n, 0, 5e-3);
  EXPECT_NEAR(m2 / n, 1, 1e-2);
  EXPECT_NEAR(m4 / n, 3, 5e-2);
}

TEST(Random, RefusesTypesAndParameters) {
  Generator g(1);
  int64_t out[4] = {};
  EXPECT_EQ(random_uniform(g, DType::i32, out, 4, 0, 1), RandomStatus::unsupported);
  EXPECT_EQ(random_normal(g, DType::boolean, out, 4, 0, 1), RandomStatus::unsupported);
  EXPECT_EQ(random_any(g, DType::u16, out, 4), RandomStatus::unsupported);
  EXPECT_EQ(random_gamma(g, DType::f16, out, 4, out), RandomStatus::unsupported);
  float p[4] = {0, 0.5f, NAN, 1};
  EXPECT_EQ(random_bernoulli_each(g, DType::f32, out, 4, DType::f32, p), RandomStatus::bad_parameter);
  EXPECT_EQ(random_poisson(g, DType::f32, out, 4, p), RandomStatus::bad_parameter);
  EXPECT_EQ(random_multinomial(g, DType::f32, p, 1, 4, 1, false, out), RandomStatus::bad_parameter);
  float zero[4] = {};
  EXPECT_EQ(random_multinomial(g, DType::f32, zero, 1, 4, 1, true, out), RandomStatus::zero_sum);
  EXPECT_EQ(hash_state(g), hash_state(Generator(1))) << "a refused call must not draw";
}

TEST(Random, BinomialOfNanIsNan) {
  Generator g(1);
  float count[3] = {5, NAN, 5}, p[3] = {NAN, 0.5f, 0.5f}, out[3];
  ASSERT_EQ(random_binomial(g, DType::f32, out, 3, count, p), RandomStatus::ok);
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(out[2] >= 0 && out[2] <= 5);
}

TEST(Generator, FillEqualsSingleDraws) {
  Mt19937 one(42), many(42);
  std::vector<uint32_t> words;
  for (int64_t n : {1, 7, 8, 600, 16, 623, 624, 625, 5000, 3}) {
    words.resize(size_t(n));
    many.fill(words.data(), n);
    for (uint32_t w : words) ASSERT_EQ(one.next(), w);
    ASSERT_EQ(one.next(), many.next());
  }
}

TEST(Generator, KnownWordsOfTheTwister) {
  // The 10000th output for the default seed is given by the C++ standard (mt19937).
  Mt19937 g;
  std::vector<uint32_t> words(10000);
  g.fill(words.data(), 10000);
  EXPECT_EQ(words.back(), 4123659995u);
}

TEST(Generator, StateBytesAreThoseOfPyTorch) {
  Generator g(1234);
  g.normal();  // as torch.randn(1): one normal is kept
  EXPECT_EQ(hash_state(g), 0x306490ce1d812cc4ull);
  uint8_t state[Generator::state_size];
  g.get_state(state);
  double kept = g.normal();
  uint64_t later = g.random64();
  Generator other(5);
  ASSERT_TRUE(other.set_state(state));
  EXPECT_EQ(other.initial_seed(), 1234u);
  EXPECT_EQ(other.normal(), kept);
  EXPECT_EQ(other.random64(), later);
  Generator copy(other);
  EXPECT_EQ(copy.random64(), other.random64());
}

TEST(Generator, RefusesWhatIsNoState) {
  Generator g(3);
  uint8_t state[Generator::state_size] = {};
  EXPECT_FALSE(g.set_state(state));
  g.get_state(state);
  int32_t left = 624;  // with next = 0 this is fine; with next = 100 it would read past the end
  std::memcpy(state + 8, &left, 4);
  EXPECT_TRUE(g.set_state(state));
  uint64_t next = 100;
  std::memcpy(state + 16, &next, 8);
  EXPECT_FALSE(g.set_state(state));
  next = ~0ull;
  std::memcpy(state + 16, &next, 8);
  EXPECT_FALSE(g.set_state(state));
}

TEST(Generator, SeedsFromTheSystem) {
  Generator a(1), b(1);
  EXPECT_NE(a.seed(), b.seed());
  EXPECT_EQ(Generator().initial_seed(), 67280421310721ull);
}

}  // namespace
}  // namespace fb
