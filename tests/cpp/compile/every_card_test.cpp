#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "compile/tile_card.h"
#include "core/error.h"
#include "dispatch/pointwise.h"
#include "tests/cpp/compile/bits.h"

namespace fb {
namespace {

using namespace compile_test;

// Pointwise cards that eager takes in a real type in which the compiler has no text for them, with the reason.
const std::set<std::string_view>& without_text() {
  static const std::set<std::string_view> names = {
      // in half types: the next number is that of the storage, whose lanes compute in float
      "nextafter"};
  return names;
}

// Whole numbers and truth values that any operator takes; divisors and shift distances stay in range.
Tensor operand(Ints sizes, DType d, uint64_t seed) {
  const Tensor t = numbers(sizes, d, seed);
  if (seed % 2 == 0 && is_integral(d)) return op<"where">(op<"eq">(t, Scalar(0)), op<"ones_like">(t), t);
  return t;
}

// Compares the results of a call, compiled and eager. False where there is nothing to compare: eager refuses the call, or the
// compiler declines it, and then says why.
bool compared(const OpEntry& e, const std::vector<Value>& args, const std::string& call, std::string* why) {
  Results eager, compiled;
  try {
    e.run(e, args.data(), eager);
  } catch (const Error&) {
    return false;
  }
  if (!compile::compiler().accepts(e, args.data(), why)) return false;
  compile::compiler().run(e, args.data(), compiled);
  EXPECT_EQ(eager.size(), compiled.size()) << call;
  for (int i = 0; i < std::min(eager.size(), compiled.size()); ++i) {
    EXPECT_EQ(eager[i].defined(), compiled[i].defined()) << call << " result " << i;
    if (!eager[i].defined() || !compiled[i].defined()) continue;
    std::string first;
    EXPECT_EQ(differing(eager[i], compiled[i], &first), 0) << call << " result " << i << ": " << first;
  }
  return true;
}

constexpr DType kEveryType[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::i16, DType::i32, DType::i64,
                                DType::u8, DType::u16, DType::u32, DType::u64, DType::boolean};

bool is_pointwise(const OpEntry& e) { return e.form == OpForm::functional && e.card && e.card->kind == CardKind::pointwise; }

// The arguments of a call of a pointwise card in a type; false where this does not know what to give it.
bool pointwise_arguments(const OpEntry& e, DType d, std::vector<Tensor>& keep, std::vector<Value>& args) {
  const PointwiseCard& card = *e.card->pointwise;
  args.assign(e.schema.args.size(), Value());
  keep.reserve(8);
  for (size_t i = 0; i < args.size(); ++i) {
    const auto& a = e.schema.args[i];
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
    else if (!a.optional) return false;
  }
  return true;
}

// Every pointwise card of the registry.
TEST(CompiledPointwise, EveryCardHasTheEagerBits) {
  int cards = 0, cases = 0;
  for (const Packet* packet : all_packets())
    for (const OpEntry* e : packet->overloads) {
      if (!is_pointwise(*e)) continue;
      bool any = false;
      for (DType d : {DType::f32, DType::f64, DType::bf16, DType::u8, DType::i32, DType::boolean}) {
        std::vector<Value> args;
        std::vector<Tensor> keep;
        ASSERT_TRUE(pointwise_arguments(*e, d, keep, args)) << e->schema.full_name();
        Results eager;
        std::string refused;
        try {
          e->run(*e, args.data(), eager);
        } catch (const Error& error) {
          refused = error.text();
        }
        if (!compile::compiler().accepts(*e, args.data(), nullptr)) continue;
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
      EXPECT_TRUE(any) << e->schema.full_name() << " was never compiled";
      cards += any;
    }
  const compile::Statistics s = compile::compiler().statistics();
  std::printf("%d cards in %d cases compiled and equal; median %.1f ms a kernel, mean %.1f\n", cards, cases, s.median,
              s.milliseconds / double(s.kernels));
}

// In every real type that eager takes a call in, the compiler has a text for it.
TEST(CompiledPointwise, EveryCardIsLowered) {
  std::map<std::string, std::string> declined;   // card: in which types, and why
  int cards = 0, types = 0;
  for (const Packet* packet : all_packets())
    for (const OpEntry* e : packet->overloads) {
      if (!is_pointwise(*e)) continue;
      ++cards;
      for (DType d : kEveryType) {
        std::vector<Value> args;
        std::vector<Tensor> keep;
        ASSERT_TRUE(pointwise_arguments(*e, d, keep, args)) << e->schema.full_name();
        Results eager;
        try {
          e->run(*e, args.data(), eager);
        } catch (const Error&) {
          continue;
        }
        std::string why;
        ++types;
        if (!compile::compiler().accepts(*e, args.data(), &why)) declined[std::string(e->schema.full_name())] += text(d, ": ", why, "; ");
      }
    }
  for (const auto& [name, why] : declined) EXPECT_TRUE(without_text().contains(name)) << name << ": " << why;
  for (std::string_view name : without_text()) EXPECT_TRUE(declined.contains(std::string(name))) << name << " is lowered in every type";
  std::printf("%d pointwise cards, %d of them and their real types\n", cards, types);
}

// Every card with passes, in every type that it takes, along the last dimension, the first, both, and of transposed memory.
TEST(CompiledReduction, EveryCardHasTheEagerBits) {
  int cards = 0, cases = 0;
  for (const compile::TileReduction& r : compile::all_tile_reductions()) {
    if (!r.schema || !r.passes) continue;
    const std::string_view name = std::string_view(r.schema).substr(0, std::string_view(r.schema).find('('));
    const OpEntry* e = find_op(name);
    ASSERT_NE(e, nullptr) << name;
    bool any = false;
    for (DType d : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean})
      for (int layout = 0; layout < 2; ++layout)
        for (int which = 0; which < 3; ++which) {
          std::vector<Value> args(e->schema.args.size());
          std::vector<Tensor> keep;
          keep.reserve(8);
          static const bool masks[][3] = {{true, false, false}, {false, true, true}, {true, true, true}};
          const Dims dims = which == 0 ? Dims{1} : which == 1 ? Dims{0} : Dims{0, 1}, shape{130};
          bool fits = true;
          for (size_t i = 0; i < args.size(); ++i) {
            const auto& a = e->schema.args[i];
            if (a.type == ArgType::tensor) {
              static const std::set<std::string_view> rows = {"weight", "bias", "running_mean", "running_var", "save_mean", "save_invstd"};
              const bool row = rows.contains(a.name), moved = a.name.starts_with("running_") && name == "native_batch_norm";
              if (moved && which == 1) continue;   // in training the call would write them
              if (a.name == "mean" || a.name == "rstd") {
                keep.push_back(numbers(Dims{41, 1}, d, i + 1));
                args[i] = keep.back();
                continue;
              }
              Tensor t = row ? numbers(Dims{130}, d, i + 1) : numbers(layout ? Dims{130, 41} : Dims{41, 130}, d, i + 1);
              keep.push_back(!row && layout ? op<"t">(t) : t);
              args[i] = keep.back();
            } else if (a.name == "dim") {
              if (a.type == ArgType::integer) args[i] = Value(int64_t(which == 1 ? 0 : 1)), fits = fits && which < 2;
              else args[i] = Value(dims);
            } else if (a.name == "normalized_shape") args[i] = Value(shape);
            else if (a.name == "N") args[i] = Value(int64_t(41));
            else if (a.name == "C") args[i] = Value(int64_t(130));
            else if (a.name == "HxW") args[i] = Value(int64_t(1));
            else if (a.name == "group") args[i] = Value(int64_t(which == 0 ? 10 : which == 1 ? 1 : 130));
            else if (a.name == "ord") args[i] = which == 0 ? Value(3.0) : which == 1 ? Value(2.0) : Value(1.0);
            else if (a.name == "input_dtype") args[i] = Value(d);
            else if (a.name == "output_mask") args[i] = Value(Span<bool>(masks[which], 3));
            else if (a.has_default) args[i] = a.default_value;
            else if (a.name == "training" || a.name == "train") args[i] = Value(which == 1);
            else if (a.type == ArgType::boolean) args[i] = Value(false);
            else if (a.type == ArgType::floating) args[i] = Value(1e-5);
          }
          std::string why;
          if (!fits || !compared(*e, args, text(name, " ", d, " layout ", layout, " dims ", which), &why)) continue;
          ++cases;
          any = true;
        }
    EXPECT_TRUE(any) << name << " was never compiled";
    cards += any;
  }
  std::printf("%d cards with passes compiled and equal in %d cases\n", cards, cases);
  EXPECT_GE(cards, 39);
}

// What is not lowered of these families, with the reason: a card that comes to them is lowered or joins this list, and leaves it
// when it is lowered.
TEST(CompiledReduction, WhatIsNotLoweredIsKnown) {
  const std::set<std::string> known = {
      // places in an order, which no fold gives
      "median", "median.dim", "nanmedian", "nanmedian.dim", "mode", "kthvalue",
      // counts by places that elements name
      "histc", "bincount", "histogram.bin_ct", "histogram.bins_tensor", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts",
      "_histogramdd_from_bin_tensors",
      // gives a truth value, no tensor
      "equal",
      // the sum of a diagonal: it is planned as that
      "trace",
      // sums over channels, then over their groups and over the batch: no one nest; graphs follow its lowering
      "native_group_norm_backward"};
  std::set<std::string> without;
  for (const compile::TileReduction& r : compile::all_tile_reductions())
    if (r.schema && !r.passes) without.insert(std::string(r.schema, std::string_view(r.schema).find('(')));
  EXPECT_EQ(without, known);
}

// Every card with a chain, in every type that it takes, along the last dimension and the first, of transposed memory, and of
// one line.
TEST(CompiledScan, EveryCardHasTheEagerBits) {
  int cards = 0, cases = 0;
  for (const compile::TileScan& r : compile::all_tile_scans()) {
    if (!r.schema) continue;
    const std::string_view name = std::string_view(r.schema).substr(0, std::string_view(r.schema).find('('));
    const OpEntry* e = find_op(name);
    ASSERT_NE(e, nullptr) << name;
    ASSERT_TRUE(r.floating) << name << " has no chain";
    bool any = false;
    for (DType d : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8, DType::boolean})
      for (int which = 0; which < 8; ++which) {
        const bool wild = which / 4, turned = which % 4 == 2;
        const Dims shape = which % 4 == 3 ? Dims{1000} : turned ? Dims{131, 41} : Dims{41, 131};
        Tensor x = wild || is_integral(d, true) ? numbers(shape, d, uint64_t(which) + 1) : op<"randn">(shape, d);
        if (turned) x = op<"t">(x);
        std::vector<Value> args(e->schema.args.size());
        args[0] = x;
        args[1] = Value(int64_t(which % 4 == 1 || which % 4 == 2));
        if (which % 4 == 3) args[1] = Value(int64_t(0));
        const std::string call = text(name, " ", d, " ", which);
        std::string why;
        const bool done = compared(*e, args, call, &why);
        EXPECT_EQ(why, "") << call;
        cases += done;
        any |= done;
      }
    EXPECT_TRUE(any) << name << " was never compiled";
    cards += any;
  }
  std::printf("%d cards with chains compiled and equal in %d cases\n", cards, cases);
  EXPECT_EQ(cards, 5);
}

}  // namespace
}  // namespace fb
