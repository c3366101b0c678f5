// Recurrent networks of several layers over whole sequences: rnn_tanh, rnn_relu, gru, lstm, on padded (.input) or packed
// (.data) sequences.
#pragma once
#include "ops/rnn/cells.h"

namespace fb::cards {

namespace rnn {

struct Network {
  Kind kind;
  std::vector<Tensor> params;
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train, bidirectional;
};
// (steps, N, I), or (N, steps, I) where batch_first: the outputs of the last layer and the last states (layers * directions, N, *).
std::array<Tensor, 3> run_padded(const char* name, const Network& n, const Tensor& input, const State& hx, bool batch_first);
// data (sum of batch_sizes, I): the sequences step by step, batch_sizes of them at each.
std::array<Tensor, 3> run_packed(const char* name, const Network& n, const Tensor& data, const Tensor& batch_sizes, const State& hx);

}  // namespace rnn

#define FB_NETWORK(NAME, KIND, TEXT)                                                                                                                       \
  struct NAME##_padded : composite<NAME##_padded> {                                                                                                       \
    static constexpr auto schema =                                                                                                                        \
        #NAME ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, "         \
              "bool batch_first) -> (Tensor, Tensor)";                                                                                                     \
    static constexpr uint32_t forms = form::fn;                                                                                                           \
    static std::array<Tensor, 2> body(const Tensor& x, const Tensor& hx, TensorSpan p, bool biases, int64_t layers, double dropout, bool train, bool bi,    \
                                      bool batch_first) {                                                                                                 \
      auto r = rnn::run_padded(#NAME, {KIND, {p.begin(), p.end()}, biases, layers, dropout, train, bi}, x, {hx, {}}, batch_first);                         \
      return {r[0], r[1]};                                                                                                                                \
    }                                                                                                                                                     \
    static constexpr auto doc = TEXT "\n\nShapes: input (steps, N, I) or with batch_first (N, steps, I), hx and the second result (layers * directions, N, H)." \
      " params are w_ih, w_hh and where has_biases b_ih, b_hh of each direction of each layer in turn.";                                                  \
  };                                                                                                                                                      \
  FB_CARD(NAME##_padded)                                                                                                                                  \
  struct NAME##_packed : composite<NAME##_packed> {                                                                                                       \
    static constexpr auto schema =                                                                                                                        \
        #NAME ".data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "            \
              "bool bidirectional) -> (Tensor, Tensor)";                                                                                                   \
    static constexpr uint32_t forms = form::fn;                                                                                                           \
    static std::array<Tensor, 2> body(const Tensor& x, const Tensor& batch_sizes, const Tensor& hx, TensorSpan p, bool biases, int64_t layers,             \
                                      double dropout, bool train, bool bi) {                                                                              \
      auto r = rnn::run_packed(#NAME, {KIND, {p.begin(), p.end()}, biases, layers, dropout, train, bi}, x, batch_sizes, {hx, {}});                         \
      return {r[0], r[1]};                                                                                                                                \
    }                                                                                                                                                     \
  };                                                                                                                                                      \
  FB_CARD(NAME##_packed)
FB_NETWORK(rnn_tanh, rnn::Kind::tanh, "rnn_tanh(input, hx, params, ...) -> (Tensor, Tensor)\n\nA recurrent network of Elman's kind (1990) with tanh; see rnn_tanh_cell.")
FB_NETWORK(rnn_relu, rnn::Kind::relu, "rnn_relu(input, hx, params, ...) -> (Tensor, Tensor)\n\nA recurrent network of Elman's kind (1990) with relu; see rnn_relu_cell.")
FB_NETWORK(gru, rnn::Kind::gru, "gru(input, hx, params, ...) -> (Tensor, Tensor)\n\nA network of gated units; see gru_cell.")
#undef FB_NETWORK

struct lstm_padded : composite<lstm_padded> {
  static constexpr auto schema =
      "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first) "
      "-> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 3> body(const Tensor& x, TensorSpan hx, TensorSpan p, bool biases, int64_t layers, double dropout, bool train, bool bi, bool batch_first) {
    FB_CHECK(hx.size() == 2, "lstm: hx holds the hidden and the cell states, ", hx.size(), " tensors were given");
    return rnn::run_padded("lstm", {rnn::Kind::lstm, {p.begin(), p.end()}, biases, layers, dropout, train, bi}, x, {hx[0], hx[1]}, batch_first);
  }
  static constexpr auto doc = R"(lstm(input, hx, params, ...) -> (Tensor, Tensor, Tensor)

A long short-term memory network; see lstm_cell. params hold for each direction of each layer w_ih, w_hh, where has_biases
b_ih, b_hh, and w_hr (P, H) where hidden states are projected.

Shapes: input (steps, N, I) or with batch_first (N, steps, I), hx and the last results (layers * directions, N, H or P) and
(layers * directions, N, H).)";
};
FB_CARD(lstm_padded)
struct lstm_packed : composite<lstm_packed> {
  static constexpr auto schema =
      "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional) "
      "-> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static std::array<Tensor, 3> body(const Tensor& x, const Tensor& batch_sizes, TensorSpan hx, TensorSpan p, bool biases, int64_t layers, double dropout, bool train, bool bi) {
    FB_CHECK(hx.size() == 2, "lstm: hx holds the hidden and the cell states, ", hx.size(), " tensors were given");
    return rnn::run_packed("lstm", {rnn::Kind::lstm, {p.begin(), p.end()}, biases, layers, dropout, train, bi}, x, batch_sizes, {hx[0], hx[1]});
  }
};
FB_CARD(lstm_packed)

}  // namespace fb::cards
