// Graphs: what shares a kernel, and that a call gives eager's bits.
#include "compile/cache/disk.h"
#include "compile/fuse/group.h"
#include "compile/fuse/parts.h"
#include "compile/pipeline.h"
#include "compile/tile/builder.h"
#include "compile/trace.h"
#include "tests/cpp/compile/bits.h"

namespace fb {
namespace {

using namespace compile_test;
using compile::GraphTrace;
using compile::StepKind;

template <class F> compile::Graph traced(F&& f, const std::vector<Tensor>& inputs) {
  GraphTrace t;
  std::vector<Tensor> stand_ins;
  for (const Tensor& x : inputs) stand_ins.push_back(t.input(x));
  t.begin();
  const std::vector<Tensor> out = f(stand_ins);
  t.end();
  return t.finish(out);
}
std::vector<TensorImpl*> impls(const std::vector<Tensor>& t) {
  std::vector<TensorImpl*> r;
  for (const Tensor& x : t) r.push_back(x.impl());
  return r;
}
// How many groups of a kind the graph falls into.
int groups(const compile::Graph& given, const std::vector<Tensor>& inputs, StepKind kind) {
  const compile::Graph g = compile::in_parts(given);
  compile::Shapes s;
  const auto in = impls(inputs);
  EXPECT_TRUE(compile::infer_shapes(g, in.data(), s, nullptr));
  int n = 0;
  for (const auto& group : compile::group(g, s).groups) n += group.kind == kind;
  return n;
}
template <class F> void check(F&& f, const std::vector<Tensor>& inputs, int nests) {
  const compile::Graph g = traced(f, inputs);
  EXPECT_EQ(groups(g, inputs, StepKind::nest), nests);
  compile::Compiled* c = compile::compiler().make(g);
  const std::vector<Tensor> want = f(inputs);
  for (int again = 0; again < 2; ++again) {
    std::vector<Tensor> got(want.size());
    const auto in = impls(inputs);
    compile::compiler().call(*c, in.data(), got.data());
    for (size_t i = 0; i < want.size(); ++i) {
      std::string first;
      EXPECT_EQ(differing(want[i], got[i], &first), 0) << "output " << i << ": " << first;
    }
  }
  compile::compiler().drop(c);
}

using List = std::vector<Tensor>;

TEST(CompiledGraph, BranchesThatMeetAreOneKernel) {
  for (DType d : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const Tensor x = op<"randn">(Dims{37, 50}, d), y = op<"randn">(Dims{37, 50}, d);
    check([](const List& v) { return List{op<"mul">(op<"sigmoid">(op<"add">(v[0], v[1])), op<"tanh">(v[1]))}; }, {x, y}, 1);
  }
}

TEST(CompiledGraph, AStepBetweenKeepsThemApart) {
  const Tensor x = op<"randn">(Dims{8, 8}, DType::f32);
  // The product reads one branch, and what follows reads both: joining them would make a circle.
  check([](const List& v) {
    const Tensor a = op<"exp">(v[0]), b = op<"mm">(a, a), c = op<"sin">(b);
    return List{op<"add">(a, c), op<"mul">(a, Scalar(2))};
  }, {x}, 2);
}

TEST(CompiledGraph, ReductionsTakeWhatStandsAroundThem) {
  const Tensor x = op<"randn">(Dims{33, 200}, DType::f32);
  check([](const List& v) {
    const Tensor m = op<"mean">(v[0], Dims{1}, true), c = op<"sub">(v[0], m);
    return List{op<"mul">(c, op<"rsqrt">(op<"add">(op<"mean">(op<"mul">(c, c), Dims{1}, true), Scalar(1e-5)))), op<"exp">(m)};
  }, {x}, 1);
  // Two ways of reducing are two kernels.
  check([](const List& v) { return List{op<"sum">(v[0], Dims{0}, false), op<"sum">(v[0], Dims{1}, false)}; }, {x}, 2);
  // A result without its dimension does not line up with the rows it came from.
  const Tensor q = op<"randn">(Dims{64, 64}, DType::f32);
  check([](const List& v) { return List{op<"sub">(v[0], op<"mean">(v[0], Dims{1}, false))}; }, {q}, 2);
  check([](const List& v) { return List{op<"sub">(v[0], op<"mean">(v[0], Dims{0}, false))}; }, {q}, 1);
}

TEST(CompiledGraph, CompositesAreFollowed) {
  const Tensor x = op<"randn">(Dims{20, 64}, DType::f32), w = op<"randn">(Dims{64}, DType::f32);
  check([](const List& v) { return List{op<"rms_norm">(v[0], Dims{64}, v[1])}; }, {x, w}, 1);
  check([](const List& v) { return List{op<"softmax">(v[0], int64_t(1), DType::none)}; }, {x}, 1);
}

TEST(CompiledGraph, ScansTakeWhatStandsAroundThem) {
  for (DType d : {DType::f32, DType::bf16}) {
    const Tensor x = op<"randn">(Dims{33, 200}, d), w = op<"randn">(Dims{200}, d);
    for (int64_t dim : {0, 1})
      check([&](const List& v) { return List{op<"mul">(op<"cumsum">(op<"exp">(v[0]), dim), v[1]), op<"cumsum">(v[0], dim)}; }, {x, w}, 1);
    // Lines along different dimensions are two kernels, as are lines and what they add up to.
    check([](const List& v) { return List{op<"cumsum">(op<"cumsum">(v[0], int64_t(0)), int64_t(1))}; }, {x}, 2);
    check([](const List& v) { return List{op<"sum">(op<"cumsum">(v[0], int64_t(1)), Dims{1}, false)}; }, {x}, 2);
  }
  // A single line has no lanes for what stands around it.
  check([](const List& v) { return List{op<"cumsum">(op<"exp">(v[0]), int64_t(0))}; }, {op<"randn">(Dims{5000}, DType::f32)}, 2);
}

TEST(CompiledGraph, NormsOfChannelsTakeWhatStandsAroundThem) {
  for (DType d : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor x = op<"randn">(Dims{6, 17, 9, 11}, d), w = op<"randn">(Dims{17}, d), b = op<"randn">(Dims{17}, d), m = op<"randn">(Dims{17}, d);
    const Tensor v = op<"rand">(Dims{17}, d);
    for (const Tensor& in : {x, op<"clone">(x, MemoryFormat::channels_last)})
      for (bool training : {false, true}) {
        const auto norm = [&](const List& t) {
          const Tensor none;
          const auto r = training ? ops<"native_batch_norm", 3>(t[0], t[1], t[2], none, none, true, 0.1, 1e-5)
                                  : ops<"native_batch_norm", 3>(t[0], t[1], t[2], t[3], t[4], false, 0.1, 1e-5);
          return training ? List{op<"relu">(r[0]), r[1], r[2]} : List{op<"relu">(r[0])};
        };
        check(norm, {in, w, b, m, v}, 1);
        const auto back = [&](const List& t) {
          const bool mask[] = {true, true, true};
          const Tensor none;
          const auto r = ops<"native_batch_norm_backward", 3>(op<"mul">(t[0], t[0]), t[0], t[1], t[3], t[4], t[3], t[4], training, 1e-5, Span<bool>(mask, 3));
          return List{r[0], r[1], r[2]};
        };
        check(back, {in, w, b, m, v}, 1);
      }
  }
}

TEST(CompiledGraph, GradientsOfRowsAndParametersAreTwoKernels) {
  for (DType d : {DType::f32, DType::bf16}) {
    const Tensor x = op<"randn">(Dims{37, 5, 64}, d), g = op<"randn">(Dims{37, 5, 64}, d), w = op<"randn">(Dims{64}, d);
    const auto [y, mean, rstd] = ops<"native_layer_norm", 3>(x, Dims{64}, w, w, 1e-5);
    check([](const List& v) {
      const bool mask[] = {true, true, true};
      const auto r = ops<"native_layer_norm_backward", 3>(v[0], v[1], Dims{64}, v[3], v[4], v[2], v[2], Span<bool>(mask, 3));
      return List{r[0], r[1], r[2]};
    }, {g, x, w, mean, rstd}, 2);
  }
  const Tensor x = op<"randn">(Dims{70, 90}, DType::f32);
  check([](const List& v) { return List{op<"trace">(v[0])}; }, {x}, 1);
  check([](const List& v) { return List{op<"trace">(op<"t">(v[0])), op<"trace">(v[0])}; }, {x}, 2);  // they meet nowhere
}

TEST(CompiledGraph, MoreNodesThanAKernelTakes) {
  const Tensor x = op<"randn">(Dims{100}, DType::f32);
  const auto chain = [](const List& v) {
    Tensor t = v[0];
    for (int i = 0; i < 120; ++i) t = op<"add">(op<"mul">(t, Scalar(0.5)), v[0]);
    return List{t};
  };
  const compile::Graph g = traced(chain, {x});
  EXPECT_LE(groups(g, {x}, StepKind::nest), 8);
  check(chain, {x}, groups(g, {x}, StepKind::nest));
}

TEST(CompiledGraph, TheTraceRefusesWhatItCannotFollow) {
  const Tensor x = op<"randn">(Dims{3}, DType::f32);
  EXPECT_THROW(traced([](const List& v) { op_list<"add_">(v[0], Scalar(1)); return v; }, {x}), Error);
  EXPECT_THROW(traced([](const List& v) { return List{op<"nonzero">(v[0])}; }, {x}), Error);
  EXPECT_EQ(op<"add">(x, x).is_meta(), false);   // nothing of it is left on this thread
}

TEST(CompiledGraph, NamesOfCodeFollowTheProgram) {
  auto program = [](double c, int lanes) {
    tile::Program p;
    p.name = "p";
    tile::Builder b(p);
    const tile::Id in = b.parameter("in", tile::Elem::address);
    const tile::Id at = b.ramp(in, b.integer(4), lanes);
    b.store(at, b.apply(tile::Op::mul, b.load(at, tile::Elem::f32), b.real(tile::Elem::f32, c)));
    return p;
  };
  EXPECT_EQ(compile::cache::name_of(program(2, 8)), compile::cache::name_of(program(2, 8)));
  EXPECT_NE(compile::cache::name_of(program(2, 8)), compile::cache::name_of(program(3, 8)));
  EXPECT_NE(compile::cache::name_of(program(2, 8)), compile::cache::name_of(program(2, 4)));
}

}  // namespace
}  // namespace fb
