// The steps of an LSTM layer. The recurrent weight is packed once, its panels in the order in which 16 hidden units need
// their four gates, so that a step is one pass: products, cell, results, without leaving the cache. Threads take hidden
// units. A sample's bits depend on that sample alone.
#include "core/threads.h"
#include "cpu/product/gemm.h"
#include "cpu/product/packed.h"
#include "cpu/simd/memory.h"
#include "dispatch/box.h"
#include "dispatch/call.h"
#include "ops/math/math.h"
#include "ops/rnn/lstm_layer.h"

namespace fb {
namespace {

using V = Vec<float>;
using Panels = product::PackedPanels<float>;
constexpr int kUnits = Panels::width, kRows = Panels::rows, L = V::lanes;

V some(const float* p, int64_t c) { return c >= L ? load(p) : load(p, int(c)); }
void put(float* p, V v, int64_t c) {
  if (c >= L) store(p, v);
  else store(p, v, int(c));
}

struct Layer {
  int64_t steps, n, hidden;
  bool reverse;
  int64_t blocks() const { return (hidden + kUnits - 1) / kUnits; }
  int64_t time(int64_t step) const { return reverse ? steps - 1 - step : step; }
  // Tasks of at least some tens of microseconds.
  int64_t grain(int64_t k) const { return std::max<int64_t>(1, (1 << 18) / std::max<int64_t>(1, n * k * kUnits)); }
};
// The kept values of one step: the gates i, f, g, o of each sample, then cell states, then their tanh.
struct Kept {
  float *gates, *cells, *squashed;
  Kept(float* base, const Layer& l, int64_t t) {
    const int64_t plane = l.steps * l.n * l.hidden, at = t * l.n * l.hidden;
    gates = base + 4 * at;
    cells = base + 4 * plane + at;
    squashed = base + 5 * plane + at;
  }
};

void layer_forward(Tensor& out, Tensor& hy, Tensor& cy, Tensor& workspace, const Tensor& x0, const Tensor& w_ih0, const Tensor& w_hh0, const Tensor& b_ih, const Tensor& b_hh,
             const Tensor& hx0, const Tensor& cx0, bool reverse, Ints, int64_t, int64_t, int64_t, bool has_biases, bool, bool, bool) {
  const Tensor x = op<"contiguous">(x0), w_ih = op<"contiguous">(w_ih0), w_hh = op<"contiguous">(w_hh0), hx = op<"contiguous">(hx0), cx = op<"contiguous">(cx0);
  const Layer l{x.sizes()[0], x.sizes()[1], w_hh.sizes()[1], reverse};
  const int64_t hidden = l.hidden, features = x.sizes()[2], wide = 4 * hidden;
  float* const base = workspace.ptr<float>();
  const Tensor bias = has_biases ? op<"add">(b_ih, b_hh) : Tensor();
  // The share of the input in all gates of all steps, in the place of the gates.
  product::Gemm<float> g;
  g.m = l.steps * l.n;
  g.n = wide;
  g.k = features;
  g.a = x.ptr<float>();
  g.a_row = features;
  g.a_col = 1;
  g.b = w_ih.ptr<float>();
  g.b_row = 1;
  g.b_col = features;
  g.c = base;
  g.c_row = wide;
  g.c_col = 1;
  if (has_biases) {
    g.add = bias.ptr<float>();
    g.add_col = 1;
  } else {
    g.beta = 0;
  }
  product::gemm(g);

  Panels w(4 * l.blocks(), hidden);
  parallel_for(0, l.blocks(), 4, [&](int64_t lo, int64_t hi) {
    for (int64_t b = lo; b < hi; ++b)
      for (int64_t gate = 0; gate < 4; ++gate)
        w.pack(b * 4 + gate, w_hh.ptr<float>() + (gate * hidden + b * kUnits) * hidden, std::min<int64_t>(kUnits, hidden - b * kUnits), hidden, 1, hidden);
  });
  const float *h = hx.ptr<float>(), *c = cx.ptr<float>();
  for (int64_t s = 0; s < l.steps; ++s) {
    const Kept k(base, l, l.time(s));
    float* y = out.ptr<float>() + l.time(s) * l.n * hidden;
    parallel_for(0, l.blocks(), l.grain(4 * hidden), [&](int64_t lo, int64_t hi) {
      alignas(64) float sums[4][kRows * kUnits];
      for (int64_t b = lo; b < hi; ++b)
        for (int64_t r0 = 0; r0 < l.n; r0 += kRows) {
          const int m = int(std::min<int64_t>(kRows, l.n - r0));
          for (int gate = 0; gate < 4; ++gate) w.multiply(b * 4 + gate, h + r0 * hidden, hidden, m, hidden, sums[gate], kUnits);
          for (int r = 0; r < m; ++r)
            for (int64_t u = 0; u < kUnits; u += L) {
              const int64_t j = b * kUnits + u, count = hidden - j, at = (r0 + r) * hidden + j;
              if (count <= 0) break;
              float* gates = k.gates + (r0 + r) * wide + j;
              auto gate = [&](int i) { return some(gates + i * hidden, count) + load(&sums[i][r * kUnits + u]); };
              const V in = math::sigmoid(gate(0)), forget = math::sigmoid(gate(1)), fresh = math::tanh(gate(2)), open = math::sigmoid(gate(3));
              const V cell = forget * some(c + at, count) + in * fresh, squashed = math::tanh(cell);
              put(gates, in, count);
              put(gates + hidden, forget, count);
              put(gates + 2 * hidden, fresh, count);
              put(gates + 3 * hidden, open, count);
              put(k.cells + at, cell, count);
              put(k.squashed + at, squashed, count);
              put(y + at, open * squashed, count);
            }
        }
    });
    h = y;
    c = k.cells;
  }
  const size_t bytes = size_t(l.n * hidden) * sizeof(float);
  if (bytes) {
    std::memcpy(hy.data(), h, bytes);
    std::memcpy(cy.data(), c, bytes);
  }
}

void layer_backward(Tensor& d_gates, Tensor& d_hx, Tensor& d_cx, const Tensor& gy0, const Tensor& gh0, const Tensor& gc0, const Tensor& w_hh0, const Tensor& cx0, const Tensor& workspace,
              int64_t steps, bool reverse) {
  auto fits = [](const Tensor& t, Dims shape) { return !t.defined() || (t.dtype() == DType::f32 && t.sizes() == shape.span()); };
  const Dims state(cx0.sizes());
  FB_CHECK(fits(cx0, state) && fits(gh0, state) && fits(gc0, state) && fits(gy0, {steps, state[0], state[1]}) && fits(w_hh0, {4 * state[1], state[1]}),
           "_lstm_steps_backward: gradients or weight_hh, whose shape is ", w_hh0.sizes(), ", are not float32 or do not fit ", steps, " steps of states of shape ", cx0.sizes());
  auto ready = [](const Tensor& t) { return t.defined() ? op<"contiguous">(t) : t; };
  const Tensor gy = ready(gy0), gh = ready(gh0), w_hh = ready(w_hh0), cx = ready(cx0);
  const Layer l{steps, cx.sizes()[0], cx.sizes()[1], reverse};
  const int64_t hidden = l.hidden, wide = 4 * hidden;
  FB_CHECK(workspace.dtype() == DType::u8 && workspace.is_contiguous() && workspace.numel() == 4 * cards::mkldnn_rnn_layer::workspace_floats(steps, l.n, hidden),
           "mkldnn_rnn_layer_backward: a workspace of shape ", workspace.sizes(), " does not belong to ", steps, " steps of states of shape ", cx.sizes());
  float* const base = workspace.ptr<float>();
  if (gc0.defined()) op_list<"copy_">(d_cx, gc0);
  else op_list<"zero_">(d_cx);

  Panels w(l.blocks(), wide);
  parallel_for(0, l.blocks(), 4, [&](int64_t lo, int64_t hi) {
    for (int64_t b = lo; b < hi; ++b) w.pack(b, w_hh.ptr<float>() + b * kUnits, std::min<int64_t>(kUnits, hidden - b * kUnits), 1, hidden, wide);
  });
  const float* later = nullptr;  // gate gradients of the step after, in the order of steps
  for (int64_t s = steps; s-- > 0;) {
    const int64_t t = l.time(s);
    const Kept k(base, l, t);
    const float* before = s > 0 ? Kept(base, l, l.time(s - 1)).cells : cx.ptr<float>();
    const float* g_out = gy.defined() ? gy.ptr<float>() + t * l.n * hidden : nullptr;
    const float* g_last = s + 1 == steps && gh.defined() ? gh.ptr<float>() : nullptr;
    float *to = d_gates.ptr<float>() + t * l.n * wide, *dc = d_cx.ptr<float>();
    parallel_for(0, l.blocks(), l.grain(wide), [&](int64_t lo, int64_t hi) {
      alignas(64) float sums[kRows * kUnits];
      for (int64_t b = lo; b < hi; ++b)
        for (int64_t r0 = 0; r0 < l.n; r0 += kRows) {
          const int m = int(std::min<int64_t>(kRows, l.n - r0));
          if (later) w.multiply(b, later + r0 * wide, wide, m, wide, sums, kUnits);
          for (int r = 0; r < m; ++r)
            for (int64_t u = 0; u < kUnits; u += L) {
              const int64_t j = b * kUnits + u, count = hidden - j, at = (r0 + r) * hidden + j;
              if (count <= 0) break;
              V g = later ? load(&sums[r * kUnits + u]) : V(0.0f);
              if (g_out) g = g + some(g_out + at, count);
              if (g_last) g = g + some(g_last + at, count);
              const float* gates = k.gates + (r0 + r) * wide + j;
              const V in = some(gates, count), forget = some(gates + hidden, count), fresh = some(gates + 2 * hidden, count), open = some(gates + 3 * hidden, count);
              const V squashed = some(k.squashed + at, count), one(1.0f);
              const V of_cell = some(dc + at, count) + g * open * (one - squashed * squashed);
              float* d = to + (r0 + r) * wide + j;
              put(d, of_cell * fresh * in * (one - in), count);
              put(d + hidden, of_cell * some(before + at, count) * forget * (one - forget), count);
              put(d + 2 * hidden, of_cell * in * (one - fresh * fresh), count);
              put(d + 3 * hidden, g * squashed * open * (one - open), count);
              put(dc + at, of_cell * forget, count);
            }
        }
    });
    later = to;
  }
  // The gradient of the first hidden state.
  parallel_for(0, l.blocks(), l.grain(wide), [&](int64_t lo, int64_t hi) {
    alignas(64) float sums[kRows * kUnits];
    for (int64_t b = lo; b < hi; ++b)
      for (int64_t r0 = 0; r0 < l.n; r0 += kRows) {
        const int m = int(std::min<int64_t>(kRows, l.n - r0));
        if (later) w.multiply(b, later + r0 * wide, wide, m, wide, sums, kUnits);
        for (int r = 0; r < m; ++r)
          for (int64_t j = b * kUnits; j < std::min(hidden, (b + 1) * kUnits); ++j)
            d_hx.ptr<float>()[(r0 + r) * hidden + j] =
                later ? sums[r * kUnits + j - b * kUnits] : gh.defined() ? gh.ptr<float>()[(r0 + r) * hidden + j] : 0.0f;
      }
  });
}

}  // namespace

FB_KERNEL("mkldnn_rnn_layer", layer_forward)
FB_KERNEL("_lstm_steps_backward", layer_backward)

}  // namespace fb
