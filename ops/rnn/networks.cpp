#include "ops/rnn/networks.h"
#include "ops/rnn/lstm_layer.h"
#include "ops/create/known_values.h"

#include <algorithm>

namespace fb::cards::rnn {

State step(Kind kind, const Tensor& gates, const State& s, const Weights& w) {
  const Tensor own = w.hidden(s.h);
  switch (kind) {
    case Kind::tanh: return {op<"tanh">(op<"add">(own, gates)), {}};
    case Kind::relu: return {op<"relu">(op<"add">(own, gates)), {}};
    case Kind::gru: {
      const auto x = op_list<"unsafe_chunk">(gates, int64_t(3), int64_t(1)), h = op_list<"unsafe_chunk">(own, int64_t(3), int64_t(1));
      const Tensor reset = op<"sigmoid">(op<"add">(h[0], x[0])), keep = op<"sigmoid">(op<"add">(h[1], x[1]));
      const Tensor fresh = op<"tanh">(op<"add">(x[2], op<"mul">(h[2], reset)));
      return {op<"add">(op<"mul">(op<"sub">(s.h, fresh), keep), fresh), {}};
    }
    case Kind::lstm: {
      const auto g = op_list<"unsafe_chunk">(op<"add">(own, gates), int64_t(4), int64_t(1));
      const Tensor in = op<"sigmoid">(g[0]), forget = op<"sigmoid">(g[1]), fresh = op<"tanh">(g[2]), open = op<"sigmoid">(g[3]);
      const Tensor c = op<"add">(op<"mul">(forget, s.c), op<"mul">(in, fresh));
      const Tensor h = op<"mul">(open, op<"tanh">(c));
      return {w.w_hr.defined() ? op<"matmul">(h, op<"t">(w.w_hr)) : h, c};
    }
  }
  return {};
}

std::array<Tensor, 3> lstm_steps_backward(const Tensor& x, const Tensor& w_ih, const Tensor& w_hh, const Tensor& bias, const Tensor& hx, const Tensor& cx, const Tensor& g_y,
                                          const Tensor& g_h, const Tensor& g_c, bool reverse) {
  struct Kept { Tensor in, forget, fresh, open, before, squashed; };  // gates, the cell state before the step, tanh of that after it
  const int64_t steps = x.sizes()[0];
  Tensor shares = op<"matmul">(x, op<"t">(w_ih));
  if (bias.defined()) shares = op<"add">(shares, bias);
  std::vector<Kept> kept;
  Tensor h = hx, c = cx;
  for (int64_t k = 0; k < steps; ++k) {
    const Tensor share = op<"select">(shares, int64_t(0), reverse ? steps - 1 - k : k);
    const auto g = op_list<"unsafe_chunk">(op<"add">(op<"mm">(h, op<"t">(w_hh)), share), int64_t(4), int64_t(1));
    Kept s{op<"sigmoid">(g[0]), op<"sigmoid">(g[1]), op<"tanh">(g[2]), op<"sigmoid">(g[3]), c, {}};
    c = op<"add">(op<"mul">(s.forget, c), op<"mul">(s.in, s.fresh));
    s.squashed = op<"tanh">(c);
    h = op<"mul">(s.open, s.squashed);
    kept.push_back(std::move(s));
  }
  Tensor gh = g_h.defined() ? g_h : op<"zeros_like">(hx), gc = g_c.defined() ? g_c : op<"zeros_like">(cx);
  std::vector<Tensor> gates(static_cast<size_t>(steps));
  for (int64_t k = steps - 1; k >= 0; --k) {
    const Kept& s = kept[size_t(k)];
    const int64_t t = reverse ? steps - 1 - k : k;
    if (g_y.defined()) gh = op<"add">(gh, op<"select">(g_y, int64_t(0), t));
    gc = op<"add">(gc, op<"tanh_backward">(op<"mul">(gh, s.open), s.squashed));
    const std::vector<Tensor> four{op<"sigmoid_backward">(op<"mul">(gc, s.fresh), s.in), op<"sigmoid_backward">(op<"mul">(gc, s.before), s.forget),
                                   op<"tanh_backward">(op<"mul">(gc, s.in), s.fresh), op<"sigmoid_backward">(op<"mul">(gh, s.squashed), s.open)};
    gates[size_t(t)] = op<"cat">(four, int64_t(1));
    gh = op<"mm">(gates[size_t(t)], w_hh);
    gc = op<"mul">(gc, s.forget);
  }
  return {op<"stack">(gates, int64_t(0)), gh, gc};
}

void check_cell(const char* name, const Tensor& input, const Tensor& h, const Weights& w, int64_t gates) {
  FB_CHECK(input.ndim() == 2 && h.ndim() == 2, name, ": input and states have dimensions (batch, features), their shapes are ", input.sizes(), " and ", h.sizes());
  FB_CHECK(input.sizes()[0] == h.sizes()[0], name, ": the batch of the input, of shape ", input.sizes(), ", is not that of the states, of shape ", h.sizes());
  FB_CHECK(w.w_ih.ndim() == 2 && w.w_ih.sizes()[1] == input.sizes()[1], name, ": an input of shape ", input.sizes(), " does not fit w_ih of shape ", w.w_ih.sizes());
  FB_CHECK(w.w_hh.ndim() == 2 && w.w_hh.sizes()[1] == h.sizes()[1] && w.w_hh.sizes()[0] == gates * h.sizes()[1], name, ": states of shape ", h.sizes(),
           " do not fit w_hh of shape ", w.w_hh.sizes());
}

namespace {

// The parameters of each direction of each layer in turn.
std::vector<Weights> weights_of(const char* name, const Network& n) {
  const int64_t sides = n.layers * (n.bidirectional ? 2 : 1), count = int64_t(n.params.size()), plain = n.has_biases ? 4 : 2;
  FB_CHECK(n.layers > 0, name, ": num_layers must be positive, ", n.layers, " was given");
  const bool projects = n.kind == Kind::lstm && count == sides * (plain + 1);
  FB_CHECK(count == sides * plain || projects, name, ": ", n.layers, " layers ", n.bidirectional ? "in two directions " : "", n.has_biases ? "with" : "without",
           " biases have ", sides * plain, " parameters, ", count, " were given");
  std::vector<Weights> out;
  const int64_t each = plain + projects;
  for (int64_t i = 0; i < sides; ++i) {
    const Tensor* p = &n.params[size_t(i * each)];
    out.push_back({p[0], p[1], n.has_biases ? p[2] : Tensor(), n.has_biases ? p[3] : Tensor(), projects ? p[each - 1] : Tensor()});
  }
  return out;
}
void check_states(const char* name, const Network& n, const Tensor& input, const State& hx, int64_t batch) {
  auto beside = [&](const char* what, const Tensor& t) {
    FB_CHECK(!t.defined() || t.device() == input.device(), name, ": the input is on ", input.device(), ", ", what, " of shape ", t.sizes(), " on ", t.device());
  };
  beside("a state", hx.h);
  beside("a state", hx.c);
  for (const Tensor& t : n.params) beside("a parameter", t);
  const int64_t sides = n.layers * (n.bidirectional ? 2 : 1);
  for (const Tensor* t : {&hx.h, &hx.c})
    FB_CHECK(!t->defined() || (t->ndim() == 3 && t->sizes()[0] == sides && t->sizes()[1] == batch), name, ": states must have shape (", sides, ", ", batch,
             ", hidden), one has shape ", t->defined() ? t->sizes() : Ints());
}
State side_of(const State& hx, int64_t i) {
  return {op<"select">(hx.h, int64_t(0), i), hx.c.defined() ? op<"select">(hx.c, int64_t(0), i) : Tensor()};
}
std::array<Tensor, 3> finish(const Tensor& out, const std::vector<State>& last) {
  std::vector<Tensor> h, c;
  for (const State& s : last) {
    h.push_back(s.h);
    if (s.c.defined()) c.push_back(s.c);
  }
  return {out, op<"stack">(h), c.empty() ? Tensor() : op<"stack">(c)};
}

// One direction of one layer on (steps, N, I).
std::pair<Tensor, State> padded_side(const Network& n, const Tensor& x, const State& s, const Weights& w, bool reverse) {
  const bool fused = n.kind == Kind::lstm && !w.w_hr.defined() && x.dtype() == DType::f32 && w.w_ih.dtype() == DType::f32 && s.h.dtype() == DType::f32;
  if (fused) {
    const Tensor none_ih = w.b_ih.defined() ? w.b_ih : op<"zeros">(w.w_ih.sizes(), DType::f32, std::nullopt, w.w_ih.device());
    const Tensor none_hh = w.b_hh.defined() ? w.b_hh : op<"zeros">(w.w_hh.sizes(), DType::f32, std::nullopt, w.w_hh.device());
    auto r = ops<"mkldnn_rnn_layer", 4>(x, w.w_ih, w.w_hh, none_ih, none_hh, s.h, s.c, reverse, Ints(), int64_t(2), w.w_hh.sizes()[1], n.layers, n.has_biases, n.bidirectional,
                                        false, n.train);
    return {r[0], {r[1], r[2]}};
  }
  std::vector<Tensor> gates = op_list<"unbind">(w.input(x), int64_t(0)), out;
  State at = s;
  if (reverse) std::reverse(gates.begin(), gates.end());
  for (const Tensor& g : gates) {
    at = step(n.kind, g, at, w);
    out.push_back(at.h);
  }
  if (reverse) std::reverse(out.begin(), out.end());
  return {op<"stack">(out), at};
}

// One direction of one layer on packed sequences, whose number never grows from step to step.
std::pair<Tensor, State> packed_side(const Network& n, const Tensor& data, const std::vector<int64_t>& sizes, const State& s, const Weights& w, bool reverse) {
  const Tensor gates = w.input(data);
  auto rows = [](const State& t, int64_t from, int64_t count) {
    return State{op<"narrow">(t.h, int64_t(0), from, count), t.c.defined() ? op<"narrow">(t.c, int64_t(0), from, count) : Tensor()};
  };
  auto joined = [](const std::vector<State>& parts) {
    std::vector<Tensor> h, c;
    for (const State& p : parts) {
      h.push_back(p.h);
      if (p.c.defined()) c.push_back(p.c);
    }
    return State{op<"cat">(h, int64_t(0)), c.empty() ? Tensor() : op<"cat">(c, int64_t(0))};
  };
  const int64_t steps = int64_t(sizes.size());
  std::vector<Tensor> out(static_cast<size_t>(steps));
  if (!reverse) {
    State at = s;
    std::vector<State> ended;  // states of sequences that are over, shortest last
    int64_t offset = 0, have = sizes[0];
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t count = sizes[size_t(t)];
      if (count < have) {
        ended.push_back(rows(at, count, have - count));
        at = rows(at, 0, count);
        have = count;
      }
      at = step(n.kind, op<"narrow">(gates, int64_t(0), offset, count), at, w);
      out[size_t(t)] = at.h;
      offset += count;
    }
    ended.push_back(at);
    std::reverse(ended.begin(), ended.end());
    return {op<"cat">(out, int64_t(0)), joined(ended)};
  }
  int64_t have = sizes[size_t(steps - 1)], offset = data.sizes()[0];
  State at = rows(s, 0, have);
  for (int64_t t = steps; t-- > 0;) {
    const int64_t count = sizes[size_t(t)];
    offset -= count;
    if (count > have) {
      at = joined({at, rows(s, have, count - have)});
      have = count;
    }
    at = step(n.kind, op<"narrow">(gates, int64_t(0), offset, count), at, w);
    out[size_t(t)] = at.h;
  }
  return {op<"cat">(out, int64_t(0)), at};
}

template <class Side> std::array<Tensor, 3> run_layers(const char* name, const Network& n, Tensor x, const State& hx, Side side) {
  const std::vector<Weights> weights = weights_of(name, n);
  const int64_t directions = n.bidirectional ? 2 : 1;
  std::vector<State> last;
  for (int64_t layer = 0; layer < n.layers; ++layer) {
    std::vector<Tensor> both;
    for (int64_t d = 0; d < directions; ++d) {
      const int64_t i = layer * directions + d;
      auto [out, state] = side(x, side_of(hx, i), weights[size_t(i)], d == 1);
      both.push_back(out);
      last.push_back(state);
    }
    x = directions == 2 ? op<"cat">(both, int64_t(-1)) : both[0];
    if (n.dropout != 0 && n.train && layer + 1 < n.layers) x = op<"dropout">(x, n.dropout, true);
  }
  return finish(x, last);
}

}  // namespace

std::array<Tensor, 3> run_padded(const char* name, const Network& n, const Tensor& input, const State& hx, bool batch_first) {
  FB_CHECK(input.ndim() == 3, name, ": the input has dimensions (steps, batch, features), its shape is ", input.sizes());
  Tensor x = batch_first ? op<"transpose">(input, int64_t(0), int64_t(1)) : input;
  FB_CHECK(x.sizes()[0] > 0, name, ": the input has no steps, its shape is ", input.sizes());
  check_states(name, n, x, hx, x.sizes()[1]);
  auto r = run_layers(name, n, x, hx, [&](const Tensor& in, const State& s, const Weights& w, bool reverse) { return padded_side(n, in, s, w, reverse); });
  if (batch_first) r[0] = op<"transpose">(r[0], int64_t(0), int64_t(1));
  return r;
}

std::array<Tensor, 3> run_packed(const char* name, const Network& n, const Tensor& data, const Tensor& batch_sizes, const State& hx) {
  FB_CHECK(batch_sizes.dtype() == DType::i64 && batch_sizes.ndim() == 1 && batch_sizes.device().is_cpu() && batch_sizes.numel() > 0, name,
           ": batch_sizes is a list of int64 on the CPU, its shape is ", batch_sizes.sizes(), " and its type ", batch_sizes.dtype());
  const Dims list = known_integers(batch_sizes);
  const std::vector<int64_t> sizes(list.begin(), list.end());
  int64_t total = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    FB_CHECK(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]), name, ": batch_sizes must be positive and never grow; entry ", int64_t(t), " is ", sizes[t]);
    total += sizes[t];
  }
  FB_CHECK(data.ndim() == 2 && data.sizes()[0] == total, name, ": batch_sizes add up to ", total, ", the data has shape ", data.sizes());
  check_states(name, n, data, hx, sizes[0]);
  return run_layers(name, n, data, hx, [&](const Tensor& in, const State& s, const Weights& w, bool reverse) { return packed_side(n, in, sizes, s, w, reverse); });
}

}  // namespace fb::cards::rnn
