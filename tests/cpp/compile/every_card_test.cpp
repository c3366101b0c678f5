#include <cstdio>

#include "core/error.h"
#include "dispatch/pointwise.h"
#include "tests/cpp/compile/bits.h"

namespace fb {
namespace {

using namespace compile_test;

// Whole numbers and truth values that any operator takes; divisors and shift distances stay in range.
Tensor operand(Ints sizes, DType d, uint64_t seed) {
  const Tensor t = numbers(sizes, d, seed);
  if (seed % 2 == 0 && is_integral(d)) return op<"where">(op<"eq">(t, Scalar(0)), op<"ones_like">(t), t);
  return t;
}

// Every pointwise card of the registry, in every type that it has a text for.
TEST(CompiledPointwise, EveryCardHasTheEagerBits) {
  int cards = 0, cases = 0, declined = 0;
  for (const Packet* packet : all_packets())
    for (const OpEntry* e : packet->overloads) {
      if (e->form != OpForm::functional || !e->card || e->card->kind != CardKind::pointwise) continue;
      const PointwiseCard& card = *e->card->pointwise;
      bool any = false;
      for (DType d : {DType::f32, DType::f64, DType::bf16, DType::u8, DType::i32}) {
        std::vector<Value> args(e->schema.args.size());
        std::vector<Tensor> keep;
        keep.reserve(8);
        bool fits = true;
        for (size_t i = 0; i < args.size(); ++i) {
          const auto& a = e->schema.args[i];
          if (a.type == ArgType::tensor) {
            const bool mask = card.bool_operands >> keep.size() & 1;
            keep.push_back(operand(Dims{41, 13}, mask ? DType::boolean : d, keep.size() + 1));
            // The degree of a polynomial is how often it goes round.
            if (a.name == "n") keep.back() = op<"full_like">(keep.back(), Scalar(4));
            args[i] = keep.back();
          } else if (a.has_default && !(card.operands >> i & 1)) args[i] = a.default_value;
          else if (a.type == ArgType::scalar) args[i] = is_floating(d) ? Value(1.25) : Value(int64_t(3));
          else if (a.type == ArgType::floating) args[i] = Value(0.75);
          else if (a.type == ArgType::integer) args[i] = Value(int64_t(2));
          else if (a.type == ArgType::boolean) args[i] = Value(true);
          else if (!a.optional) fits = false;
        }
        if (!fits) continue;
        Results eager;
        std::string refused;
        try {
          e->run(*e, args.data(), eager);
        } catch (const Error& error) {
          refused = error.text();
        }
        if (!compile::compiler().accepts(*e, args.data(), nullptr)) {
          declined += refused.empty();
          continue;
        }
        Results compiled;
        try {
          compile::compiler().run(*e, args.data(), compiled);
          EXPECT_EQ(refused, "") << e->schema.full_name() << " " << text(d);
        } catch (const Error& error) {
          EXPECT_NE(refused, "") << e->schema.full_name() << " " << text(d) << ": " << error.text();
          continue;
        }
        if (!refused.empty()) continue;
        std::string first;
        EXPECT_EQ(differing(eager[0], compiled[0], &first), 0) << e->schema.full_name() << " " << text(d) << ": " << first;
        ++cases;
        any = true;
      }
      cards += any;
    }
  const compile::Statistics s = compile::compiler().statistics();
  std::printf("%d cards in %d types compiled and equal, %d declined; median %.1f ms a kernel, mean %.1f\n", cards, cases, declined, s.median,
              s.milliseconds / double(s.kernels));
  // Seconds would mean that something went wrong; how fast it is on a quiet machine, benchmarks/compile_speed.cpp says.
  EXPECT_LT(s.median, 250);
  EXPECT_GT(cards, 200);
}

}  // namespace
}  // namespace fb
