"""Recurrent networks: fused layers against their formulas, gradients, packed sequences, names of nodes, bits, errors."""

import copy

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

KINDS = {"LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU, "RNN": torch.nn.RNN}


def network(kind, *args, **kw):
    torch.manual_seed(0)
    return KINDS[kind](*args, **kw)


def by_hand(m, x):
    """The outputs of a network of one direction, step by step from the definitions."""
    for k in range(m.num_layers):
        w_ih, w_hh, b_ih, b_hh = (getattr(m, f"{n}_l{k}") for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        h = c = x.new_zeros(x.size(1), m.hidden_size)
        out = []
        for t in range(x.size(0)):
            a, b = x[t] @ w_ih.T + b_ih, h @ w_hh.T + b_hh
            if m.mode == "LSTM":
                i, f, g, o = (a + b).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            elif m.mode == "GRU":
                (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
                r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
                n = (an + r * bn).tanh()
                h = (1 - z) * n + z * h
            else:
                h = (a + b).tanh()
            out.append(h)
        x = torch.stack(out)
    return x, h, c


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(5, 3, 4, 6), (3, 17, 7, 40), (1, 1, 1, 1)])
def test_against_the_definition(kind, dtype, sizes):
    steps, batch, features, hidden = sizes
    m = network(kind, features, hidden, 2).to(dtype)
    x = torch.randn(steps, batch, features, dtype=dtype)
    xs = [x.clone().requires_grad_() for _ in range(2)]
    y, state = m(xs[0])
    want, h, c = by_hand(m, xs[1])
    torch.testing.assert_close(y, want)
    torch.testing.assert_close(state[0][-1] if kind == "LSTM" else state[-1], h)
    if kind == "LSTM":
        torch.testing.assert_close(state[1][-1], c)
    g = torch.randn_like(y)
    got = torch.autograd.grad(y, [xs[0], *m.parameters()], g)
    expected = torch.autograd.grad(want, [xs[1], *m.parameters()], g)
    tolerance = {"rtol": 1e-4, "atol": 2e-5} if dtype == torch.float32 else {}
    for a, b in zip(got, expected):
        torch.testing.assert_close(a, b, **tolerance)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("biases", [False, True])
def test_fused_layer_gradients(reverse, biases):
    """Every gradient of the fused layer against the same network in float64, which is composed."""
    torch.manual_seed(1)
    steps, batch, features, hidden = 4, 7, 5, 19
    w = [torch.randn(4 * hidden, features) * 0.3, torch.randn(4 * hidden, hidden) * 0.3]
    w += [torch.randn(4 * hidden) * 0.3, torch.randn(4 * hidden) * 0.3] if biases else []
    args = [torch.randn(steps, batch, features), torch.randn(1, batch, hidden), torch.randn(1, batch, hidden), *w]
    weights = [torch.randn(steps, batch, hidden), torch.randn(1, batch, hidden), torch.randn(1, batch, hidden)]

    def run(dtype):
        leaves = [a.to(dtype).requires_grad_() for a in args]
        x, h, c, *params = leaves
        if reverse:
            x = x.flip(0)
        out = torch.lstm(x, (h, c), params, biases, 1, 0.0, True, False, False)
        if reverse:  # the reverse direction of a bidirectional layer whose forward one is the same
            out = torch.lstm(leaves[0], (torch.cat([h, h]), torch.cat([c, c])), params * 2, biases, 1, 0.0, True, True, False)
            out = (out[0][..., hidden:], out[1][1:], out[2][1:])
        loss = sum((o * g.to(dtype)).sum() for o, g in zip(out, weights))
        return out, torch.autograd.grad(loss, leaves)

    for got, want in zip(run(torch.float32), run(torch.float64)):
        for a, b in zip(got, want):
            torch.testing.assert_close(a, b.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck(kind):
    m = network(kind, 3, 2, 2, bidirectional=True).double()
    x = torch.randn(3, 2, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: m(x)[0], x)
    assert gradgradcheck(lambda x: m(x)[0], x)


def test_projection():
    m = network("LSTM", 4, 6, 2, proj_size=3)
    x = torch.randn(5, 2, 4)
    y, (h, c) = m(x)
    assert y.shape == (5, 2, 3) and h.shape == (2, 2, 3) and c.shape == (2, 2, 6)
    assert y.grad_fn.name() == "StackBackward0"
    x = x.double().requires_grad_()
    assert gradcheck(lambda x: m.double()(x)[0], x)


@pytest.mark.parametrize("kind", KINDS)
def test_packed_equals_each_sequence(kind):
    m = network(kind, 4, 5, 2, bidirectional=True)
    lengths = [5, 3, 3, 1]
    x = torch.randn(5, 4, 4)
    out, last = m(pack_padded_sequence(x, lengths))
    out, got = pad_packed_sequence(out)
    assert got.tolist() == lengths
    for i, n in enumerate(lengths):
        y, state = m(x[:n, i : i + 1])
        torch.testing.assert_close(out[:n, i : i + 1], y)
        for a, b in zip(last if kind == "LSTM" else [last], state if kind == "LSTM" else [state]):
            torch.testing.assert_close(a[:, i : i + 1], b)
    x = x.double().requires_grad_()
    assert gradcheck(lambda x: m.double()(pack_padded_sequence(x, lengths))[0].data, x)


def test_batch_first_and_dropout():
    m = network("LSTM", 4, 5, 2, batch_first=True)
    x = torch.randn(3, 7, 4)
    y, _ = m(x)
    assert y.shape == (3, 7, 5) and y.stride() == (5, 15, 1)
    m.batch_first = False
    assert torch.equal(m(x.transpose(0, 1))[0].transpose(0, 1), y)
    m = network("GRU", 4, 5, 2, dropout=0.5)
    x = torch.randn(7, 3, 4)
    assert not torch.equal(m(x)[0], m(x)[0])
    m.eval()
    assert torch.equal(m(x)[0], m(x)[0])


def test_node_names():
    x = torch.randn(3, 2, 4)
    names = {
        "MkldnnRnnLayerBackward0": network("LSTM", 4, 5)(x)[0],
        "StackBackward0": network("GRU", 4, 5)(x)[0],
        "CatBackward0": network("LSTM", 4, 5)(pack_padded_sequence(x, [3, 2]))[0].data,
        "MulBackward0": torch.nn.LSTMCell(4, 5)(x[0])[0],
        "AddBackward0": torch.nn.GRUCell(4, 5)(x[0]),
        "TanhBackward0": torch.nn.RNNCell(4, 5)(x[0]),
        "ReluBackward0": torch.nn.RNNCell(4, 5, nonlinearity="relu")(x[0]),
    }
    for name, y in names.items():
        assert y.grad_fn.name() == name


@pytest.mark.parametrize("layers, sides", [(1, False), (2, False), (1, True)])
@pytest.mark.parametrize("biases", [False, True])
def test_fused_layer_second_derivatives(layers, sides, biases):
    """Gradients of a penalty on the gradients, against the same network in float64, which is composed."""
    torch.manual_seed(2)
    m = torch.nn.LSTM(4, 3, layers, bias=biases, bidirectional=sides)
    x = torch.randn(5, 2, 4)
    state = [torch.randn(layers * (2 if sides else 1), 2, 3) for _ in range(2)]
    scale = torch.randn(5, 2, 6 if sides else 3)

    def run(dtype):
        module = copy.deepcopy(m).to(dtype)
        leaves = [t.to(dtype).requires_grad_() for t in (x, *state)]
        y, (h, c) = module(leaves[0], tuple(leaves[1:]))
        first = torch.autograd.grad((y * scale.to(dtype)).sum() + h.sum() - 2 * c.sum(), leaves, create_graph=True)
        penalty = sum((g * g).sum() for g in first)
        return first, torch.autograd.grad(penalty, [*leaves, *module.parameters()], create_graph=True)

    for got, want in zip(run(torch.float32), run(torch.float64)):
        for a, b in zip(got, want):
            torch.testing.assert_close(a, b.float(), rtol=1e-4, atol=1e-4)


def test_fused_layer_second_derivative_of_the_input_alone():
    m = network("LSTM", 4, 5).requires_grad_(False)
    x = torch.randn(3, 2, 4, requires_grad=True)
    y = x.detach().double().requires_grad_()
    for net, t in ((m, x), (copy.deepcopy(m).double(), y)):
        (g,) = torch.autograd.grad(net(t)[0].sum(), t, create_graph=True)
        g.square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad.float(), rtol=1e-4, atol=1e-5)


def test_bits_of_threads_and_batch():
    m = network("LSTM", 33, 70, 2, bidirectional=True)
    x = torch.randn(9, 13, 33, requires_grad=True)
    before = torch.get_num_threads()
    try:
        runs = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            y = m(x)[0]
            runs.append((y, *torch.autograd.grad(y.sum(), [x, *m.parameters()])))
        assert all(torch.equal(a, b) for a, b in zip(*runs))
        alone = m(x[:, 4:5])[0]
        assert torch.equal(alone, runs[0][0][:, 4:5])
        (g,) = torch.autograd.grad(alone.sum(), x)
        assert torch.equal(g[:, 4:5], runs[0][1][:, 4:5])
    finally:
        torch.set_num_threads(before)


def test_meta():
    m = torch.nn.LSTM(4, 5, 2, device="meta")
    y, (h, c) = m(torch.empty(3, 2, 4, device="meta"))
    assert y.shape == (3, 2, 5) and h.shape == c.shape == (2, 2, 5)


def cell_args(gates=3, hidden=5):
    return torch.randn(2, 4), torch.randn(2, hidden), torch.randn(gates * hidden, 4), torch.randn(gates * hidden, hidden)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.lstm(torch.randn(3, 2, 4), [torch.zeros(1, 2, 5)], [], True, 1, 0.0, True, False, False),
        lambda: torch.gru(torch.randn(3, 2, 4), torch.zeros(1, 2, 5), [], True, 1, 0.0, True, False, False),
        lambda: torch.gru(torch.randn(3, 4), torch.zeros(1, 2, 5), [torch.zeros(1)] * 4, True, 1, 0.0, True, False, False),
        lambda: torch.gru(torch.randn(0, 2, 4), torch.zeros(1, 2, 5), list(cell_args()[2:]), False, 1, 0.0, True, False, False),
        lambda: torch.gru_cell(cell_args()[0], torch.zeros(3, 5), *cell_args()[2:]),
        lambda: torch.gru_cell(*cell_args(gates=4)),
        lambda: torch.gru(torch.randn(4, 4), torch.tensor([2, 3]), torch.zeros(1, 2, 5), list(cell_args()[2:]), False, 1, 0.0, True, False),
    ],
)
def test_errors(call):
    with pytest.raises(RuntimeError):
        call()


def test_arguments_on_one_device():
    for kind, states in ((torch.nn.LSTM, 2), (torch.nn.GRU, 1), (torch.nn.RNN, 1)):
        net, x = kind(2, 3), torch.ones(1, 1, 2, device="meta")
        for h in (torch.zeros(1, 1, 3), torch.zeros(1, 1, 3, device="meta")):
            with pytest.raises(RuntimeError, match="meta"):
                net(x, (h, h) if states == 2 else h)
