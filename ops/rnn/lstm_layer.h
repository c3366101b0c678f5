// One direction of one LSTM layer as one operator: the gates of all inputs in one product, then fused steps.
#pragma once
#include "dispatch/card.h"
#include "dispatch/call.h"
#include "dispatch/thread_state.h"

namespace fb::cards {

namespace rnn {
template <class T>
void check_lstm_layer(const T& x, const T& w_ih, const T& w_hh, const T& b_ih, const T& b_hh, const T& h, const T& c, bool has_biases, int64_t mode) {
  FB_CHECK(mode == 2, "mkldnn_rnn_layer: there is only mode 2 (LSTM), ", mode, " was given");
  FB_CHECK(x.ndim() == 3, "mkldnn_rnn_layer: the input has dimensions (steps, batch, features), its shape is ", x.sizes());
  FB_CHECK(w_ih.ndim() == 2 && w_hh.ndim() == 2, "mkldnn_rnn_layer: the weights have 2 dimensions, their shapes are ", w_ih.sizes(), " and ", w_hh.sizes());
  const int64_t n = x.sizes()[1], hidden = w_hh.sizes()[1];
  FB_CHECK(w_hh.sizes()[0] == 4 * hidden && w_ih.sizes()[0] == 4 * hidden && w_ih.sizes()[1] == x.sizes()[2], "mkldnn_rnn_layer: weights of shapes ", w_ih.sizes(), " and ",
           w_hh.sizes(), " do not fit an input of shape ", x.sizes());
  FB_CHECK(!has_biases || (b_ih.numel() == 4 * hidden && b_hh.numel() == 4 * hidden), "mkldnn_rnn_layer: the biases must have shape (", 4 * hidden, ",), theirs are ", b_ih.sizes(),
           " and ", b_hh.sizes());
  for (const T* s : {&h, &c})
    FB_CHECK(s->ndim() == 2 && s->sizes()[0] == n && s->sizes()[1] == hidden, "mkldnn_rnn_layer: the states must have shape (", n, ", ", hidden, "), one has ", s->sizes());
  for (const T* t : {&x, &w_ih, &w_hh, &b_ih, &b_hh, &h, &c})
    FB_CHECK(t->dtype() == DType::f32, "mkldnn_rnn_layer: takes float32, one argument is ", t->dtype());
}

// What _lstm_steps_backward gives, as a program over operators that begins from the layer's own inputs, so that it has derivatives.
std::array<Tensor, 3> lstm_steps_backward(const Tensor& x, const Tensor& w_ih, const Tensor& w_hh, const Tensor& bias, const Tensor& hx, const Tensor& cx, const Tensor& g_y,
                                          const Tensor& g_h, const Tensor& g_c, bool reverse);
}  // namespace rnn

// Back through the steps: gradients of the gates before their activations, (steps, batch, 4 hidden), and of both first states.
struct lstm_steps_backward : structured<lstm_steps_backward> {
  static constexpr auto schema =
      "_lstm_steps_backward(Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, Tensor weight_hh, Tensor cx, Tensor workspace, int steps, bool reverse) -> (Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden;
  template <class T> static std::array<T, 3> meta(const T&, const T&, const T&, const T& w, const T& cx, const T&, int64_t steps, bool) {
    FB_CHECK(cx.ndim() == 2 && steps >= 0, "_lstm_steps_backward: ", steps, " steps of states of shape ", cx.sizes(), "; it must be (batch, hidden)");
    const int64_t n = cx.sizes()[0], hidden = cx.sizes()[1];
    return {T::empty({steps, n, 4 * hidden}, w.options()), T::empty({n, hidden}, w.options()), T::empty({n, hidden}, w.options())};
  }
  static std::array<Tensor, 4> no_rule(needs) {
    raise_not_implemented("_lstm_steps_backward: what it was given does not tell the layer's inputs, without which it has no derivative");
  }
  using vjp = rules<joint<no_rule, 0, 1, 2, 3>>;
};
FB_CARD(lstm_steps_backward)

struct mkldnn_rnn_layer : structured<mkldnn_rnn_layer> {
  static constexpr auto schema =
      "mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, "
      "int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::fn;
  static constexpr auto grad_name = "MkldnnRnnLayerBackward0";
  // Kept for the backward pass, by step: the four gates, the cell state, and its tanh.
  static int64_t workspace_floats(int64_t steps, int64_t n, int64_t hidden) { return steps * n * hidden * 6; }
  template <class T>
  static std::array<T, 4> meta(const T& x, const T& w_ih, const T& w_hh, const T& b_ih, const T& b_hh, const T& h, const T& c, bool, Ints, int64_t mode, int64_t, int64_t,
                               bool has_biases, bool, bool, bool) {
    rnn::check_lstm_layer(x, w_ih, w_hh, b_ih, b_hh, h, c, has_biases, mode);
    const int64_t steps = x.sizes()[0], n = x.sizes()[1], hidden = w_hh.sizes()[1];
    return {T::empty({steps, n, hidden}, x.options()), T::empty({n, hidden}, x.options()), T::empty({n, hidden}, x.options()),
            T::empty({4 * workspace_floats(steps, n, hidden)}, {DType::u8, x.device()})};
  }
  // Each weight gradient is one product over all steps. `steps_back` holds the gradients of the gates and of the first states.
  static std::array<Tensor, 7> gradients(const Tensor& x, const Tensor& w_ih, const Tensor& w_hh, const Tensor& hx, const Tensor& y, bool reverse, bool has_biases,
                                         const std::array<Tensor, 3>& steps_back, uint64_t wanted) {
    const int64_t steps = x.sizes()[0], n = x.sizes()[1], features = x.sizes()[2], hidden = w_hh.sizes()[1];
    const auto& [gates, gh, gc] = steps_back;
    const Tensor all = op<"reshape">(gates, Ints{steps * n, 4 * hidden}), turned = op<"t">(all);
    std::array<Tensor, 7> r;
    if (wanted & 1) r[0] = op<"reshape">(op<"mm">(all, w_ih), Ints{steps, n, features});
    if (wanted & 2) r[1] = op<"mm">(turned, op<"reshape">(x, Ints{steps * n, features}));
    if (wanted & 4) {  // the state that each step started from
      const Tensor first = op<"unsqueeze">(hx, int64_t(0));
      std::vector<Tensor> before;
      if (reverse) before = {op<"narrow">(y, int64_t(0), int64_t(1), steps - 1), first};
      else before = {first, op<"narrow">(y, int64_t(0), int64_t(0), steps - 1)};
      r[2] = op<"mm">(turned, op<"reshape">(op<"cat">(before, int64_t(0)), Ints{steps * n, hidden}));
    }
    if (has_biases && (wanted & 24)) r[3] = r[4] = op<"sum">(all, Dims{0}, false);
    r[5] = gh;
    r[6] = gc;
    return r;
  }
  static std::array<Tensor, 7> d_all(maybe_grad<0> gy, maybe_grad<1> gh, maybe_grad<2> gc, in<0> x, in<1> w_ih, in<2> w_hh, in<3> b_ih, in<4> b_hh, in<5> hx, in<6> cx,
                                     result<0> y, result<3> workspace, arg<7, bool> reverse, arg<12, bool> has_biases, needs n) {
    const std::array<Tensor, 3> back =
        tls.grad_enabled && (*x).sizes()[0] > 0
            ? rnn::lstm_steps_backward(*x, *w_ih, *w_hh, *has_biases ? op<"add">(*b_ih, *b_hh) : Tensor(), *hx, *cx, *gy, *gh, *gc, *reverse)
            : ops<"_lstm_steps_backward", 3>(*gy, *gh, *gc, *w_hh, *cx, *workspace, (*x).sizes()[0], *reverse);
    return gradients(*x, *w_ih, *w_hh, *hx, *y, *reverse, *has_biases, back, n.mask);
  }
  using vjp = rules<joint<d_all, 0, 1, 2, 3, 4, 5, 6>>;
};
FB_CARD(mkldnn_rnn_layer)

struct mkldnn_rnn_layer_backward : composite<mkldnn_rnn_layer_backward> {
  static constexpr auto schema =
      "mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, Tensor weight2, Tensor weight3, Tensor weight4, Tensor hx_, Tensor cx_tmp, Tensor output, Tensor hy_, Tensor cy_, "
      "Tensor? grad_output, Tensor? grad_hy, Tensor? grad_cy, bool reverse, int mode, int hidden_size, int num_layers, bool has_biases, bool train, bool bidirectional, "
      "int[] batch_sizes, bool batch_first, Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)";
  static constexpr uint32_t forms = form::hidden;
  static std::array<Tensor, 7> body(const Tensor& x, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih, const Tensor& b_hh, const Tensor& hx, const Tensor& cx,
                                    const Tensor& y, const Tensor&, const Tensor&, const Tensor& g_y, const Tensor& g_h, const Tensor& g_c, bool reverse, int64_t mode, int64_t,
                                    int64_t, bool has_biases, bool, bool, Ints, bool, const Tensor& workspace) {
    rnn::check_lstm_layer(x, w_ih, w_hh, b_ih, b_hh, hx, cx, has_biases, mode);
    return mkldnn_rnn_layer::gradients(x, w_ih, w_hh, hx, y, reverse, has_biases,
                                       ops<"_lstm_steps_backward", 3>(g_y, g_h, g_c, w_hh, cx, workspace, x.sizes()[0], reverse), 127);
  }
};
FB_CARD(mkldnn_rnn_layer_backward)

}  // namespace fb::cards
