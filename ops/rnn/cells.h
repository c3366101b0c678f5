// One step of a recurrent network: rnn_tanh_cell, rnn_relu_cell, gru_cell, lstm_cell.
#pragma once
#include "dispatch/call.h"
#include "dispatch/card.h"

namespace fb::cards {

namespace rnn {

// The parameters of one direction of one layer; biases and the projection may be absent.
struct Weights {
  Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
  Tensor input(const Tensor& x) const { return op<"linear">(x, w_ih, b_ih); }
  Tensor hidden(const Tensor& h) const { return op<"linear">(h, w_hh, b_hh); }
};
struct State {
  Tensor h, c;  // c of LSTMs only
};

enum class Kind { tanh, relu, gru, lstm };
constexpr int64_t gates_of(Kind k) { return k == Kind::lstm ? 4 : k == Kind::gru ? 3 : 1; }

// One step; `gates` is the input's share, which the steps of a layer compute together.
State step(Kind kind, const Tensor& gates, const State& s, const Weights& w);

void check_cell(const char* name, const Tensor& input, const Tensor& h, const Weights& w, int64_t gates);

}  // namespace rnn

#define FB_SIMPLE_CELL(NAME, KIND, TEXT)                                                                                                          \
  struct NAME : composite<NAME> {                                                                                                                \
    static constexpr auto schema = #NAME "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor";   \
    static constexpr uint32_t forms = form::fn;                                                                                                  \
    static Tensor body(const Tensor& x, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {        \
      const rnn::Weights w{w_ih, w_hh, b_ih, b_hh, {}};                                                                                           \
      rnn::check_cell(#NAME, x, h, w, rnn::gates_of(KIND));                                                                                       \
      return rnn::step(KIND, w.input(x), {h, {}}, w).h;                                                                                           \
    }                                                                                                                                            \
    static constexpr auto doc = #NAME "(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> Tensor\n\n" TEXT                                          \
      "\n\nShapes: input (N, I) or (I), hx (N, H) or (H), w_ih (gates * H, I), w_hh (gates * H, H), biases (gates * H).";                         \
  };                                                                                                                                             \
  FB_CARD(NAME)
FB_SIMPLE_CELL(rnn_tanh_cell, rnn::Kind::tanh, "tanh(w_ih input + b_ih + w_hh hx + b_hh).")
FB_SIMPLE_CELL(rnn_relu_cell, rnn::Kind::relu, "relu(w_ih input + b_ih + w_hh hx + b_hh).")
FB_SIMPLE_CELL(gru_cell, rnn::Kind::gru,
               "The gated unit of Cho et al. 2014: n + z (hx - n), gates r, z, n in this order, r applied to the product of hx with its bias.")
#undef FB_SIMPLE_CELL

struct lstm_cell : composite<lstm_cell> {
  static constexpr auto schema = "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 2> body(const Tensor& x, TensorSpan hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh) {
    FB_CHECK(hx.size() == 2, "lstm_cell: hx holds the hidden and the cell state, ", hx.size(), " tensors were given");
    const rnn::Weights w{w_ih, w_hh, b_ih, b_hh, {}};
    rnn::check_cell("lstm_cell", x, hx[0], w, 4);
    rnn::State s = rnn::step(rnn::Kind::lstm, w.input(x), {hx[0], hx[1]}, w);
    return {s.h, s.c};
  }
  static constexpr auto doc = R"(lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None) -> (Tensor, Tensor)

One step of the network of Hochreiter and Schmidhuber (1997) with forget gates: hidden and cell state from input (N, I) or
(I) and hx, both states (N, H) or (H); gates i, f, g, o in this order in w_ih (4H, I), w_hh (4H, H) and the biases (4H).)";
};
FB_CARD(lstm_cell)

}  // namespace fb::cards
