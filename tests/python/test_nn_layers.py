"""Layers: shapes, parameters, printing, and results against formulas or other layers."""

import math

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

if any(
    not hasattr(torch, n)
    for n in ("relu", "sub", "lt", "std", "allclose", "matmul", "conv2d", "lstm", "batch_norm")
):
    pytest.skip("the operators of layers are needed", allow_module_level=True)


def close(a, b, tol=1e-5):
    return torch.allclose(a, b, atol=tol, rtol=1e-4)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: nn.Linear(2, 3, bias=False), "Linear(in_features=2, out_features=3, bias=False)"),
        (
            lambda: nn.Conv2d(2, 4, 3, 2, 1, 2, 2, False, "reflect"),
            "Conv2d(2, 4, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), dilation=(2, 2), groups=2, "
            "bias=False, padding_mode=reflect)",
        ),
        (
            lambda: nn.Conv1d(2, 4, 3, padding="same"),
            "Conv1d(2, 4, kernel_size=(3,), stride=(1,), padding=same)",
        ),
        (
            lambda: nn.BatchNorm2d(4),
            "BatchNorm2d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ),
        (
            lambda: nn.LayerNorm((2, 4)),
            "LayerNorm((2, 4), eps=1e-05, elementwise_affine=True, bias=True)",
        ),
        (lambda: nn.Embedding(3, 4, 1), "Embedding(3, 4, padding_idx=1)"),
        (lambda: nn.EmbeddingBag(3, 4), "EmbeddingBag(3, 4, mode='mean')"),
        (lambda: nn.ReLU(True), "ReLU(inplace=True)"),
        (lambda: nn.ReLU6(), "ReLU6()"),
        (lambda: nn.GELU(), "GELU(approximate='none')"),
        (lambda: nn.PReLU(3), "PReLU(num_parameters=3)"),
        (lambda: nn.Dropout(0.3), "Dropout(p=0.3, inplace=False)"),
        (
            lambda: nn.MaxPool2d(2),
            "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
        ),
        (lambda: nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))"),
        (lambda: nn.ZeroPad2d(1), "ZeroPad2d((1, 1, 1, 1))"),
        (lambda: nn.ConstantPad1d(1, 2.0), "ConstantPad1d(padding=(1, 1), value=2.0)"),
        (lambda: nn.Upsample(scale_factor=2), "Upsample(scale_factor=2.0, mode='nearest')"),
        (lambda: nn.LSTM(2, 3, 2, dropout=0.5), "LSTM(2, 3, num_layers=2, dropout=0.5)"),
        (lambda: nn.GRUCell(2, 3, False), "GRUCell(2, 3, bias=False)"),
        (lambda: nn.LazyLinear(3), "LazyLinear(in_features=0, out_features=3, bias=True)"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_printing(make, text):
    assert repr(make()) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Conv2d(3, 4, 2, groups=2),
        lambda: nn.Conv2d(4, 3, 2, groups=2),
        lambda: nn.Conv2d(4, 4, 2, groups=0),
        lambda: nn.Conv2d(4, 4, 2, padding="x"),
        lambda: nn.Conv2d(4, 4, 2, 2, padding="same"),
        lambda: nn.Conv2d(4, 4, 2, padding_mode="x"),
        lambda: nn.ConvTranspose2d(4, 4, 2, padding_mode="reflect"),
        lambda: nn.Dropout(2),
        lambda: nn.GroupNorm(3, 4),
        lambda: nn.Bilinear(0, 1, 2),
        lambda: nn.FractionalMaxPool2d(2),
        lambda: nn.RNN(3, 0),
        lambda: nn.GRU(3, 4, 0),
        lambda: nn.LSTM(3, 4, proj_size=4),
        lambda: nn.RNN(3, 4, nonlinearity="x"),
        lambda: nn.TripletMarginLoss(margin=0),
        lambda: nn.MultiMarginLoss(p=3),
        lambda: nn.MultiheadAttention(0, 1),
    ],
)
def test_wrong_sizes_are_refused(make):
    with pytest.raises(ValueError):
        make()


def test_linear_and_bilinear():
    m, x = nn.Linear(3, 2), torch.randn(4, 5, 3)
    assert close(m(x), x @ m.weight.T + m.bias)
    b, y = nn.Bilinear(3, 3, 2), torch.randn(4, 3)
    expected = torch.einsum("ni,kij,nj->nk", y, b.weight, y) + b.bias
    assert close(b(y, y), expected)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_convolution_pads_by_mode(mode):
    m = nn.Conv1d(2, 3, 3, padding=2, padding_mode=mode)
    x = torch.randn(1, 2, 6)
    padded = F.pad(x, (2, 2), "constant" if mode == "zeros" else mode)
    assert close(m(x), F.conv1d(padded, m.weight, m.bias))


def test_transposed_convolution_is_the_adjoint():
    c, t = nn.Conv2d(2, 3, 3, 2, 1, bias=False), nn.ConvTranspose2d(3, 2, 3, 2, 1, bias=False)
    t.weight = c.weight
    x, y = torch.randn(1, 2, 7, 7), torch.randn(1, 3, 4, 4)
    assert close((c(x) * y).sum(), (x * t(y)).sum(), 1e-4)
    assert t(y, output_size=(8, 8)).shape == (1, 2, 8, 8)
    with pytest.raises(ValueError):
        t(y, output_size=(9, 9))


def test_batch_norm_keeps_statistics():
    m = nn.BatchNorm1d(3, momentum=None)
    xs = [torch.randn(8, 3) for _ in range(3)]
    for x in xs:
        y = m(x)
        assert close(y.mean(0), torch.zeros(3)) and m.training
    assert m.num_batches_tracked == 3
    assert close(m.running_mean, sum(x.mean(0) for x in xs) / 3)
    m.eval()
    x = xs[0]
    assert close(m(x), (x - m.running_mean) / (m.running_var + m.eps).sqrt())
    with pytest.raises(ValueError):
        m(torch.ones(2))
    state = {k: v for k, v in m.state_dict().items() if "num" not in k}
    state = type(m.state_dict())(state)
    assert nn.BatchNorm1d(3).load_state_dict(state).missing_keys == []


def test_lstm_follows_its_formula():
    m = nn.LSTM(2, 3)
    x = torch.randn(4, 1, 2)
    h = c = torch.zeros(1, 3)
    for t in range(4):
        gates = x[t] @ m.weight_ih_l0.T + m.bias_ih_l0 + h @ m.weight_hh_l0.T + m.bias_hh_l0
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    out, (hn, cn) = m(x)
    assert close(out[-1], h) and close(hn[0], h) and close(cn[0], c)


def test_gru_and_rnn_follow_their_formulas():
    g = nn.GRUCell(2, 3)
    x, h = torch.randn(1, 2), torch.randn(1, 3)
    a, b = x @ g.weight_ih.T + g.bias_ih, h @ g.weight_hh.T + g.bias_hh
    (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
    r, z = (ar + br).sigmoid(), (az + bz).sigmoid()
    n = (an + r * bn).tanh()
    assert close(g(x, h), (1 - z) * n + z * h)
    m = nn.RNN(2, 3, nonlinearity="relu", bias=False)
    out, hn = m(x.unsqueeze(0), h.unsqueeze(0))
    assert close(out[0], (x @ m.weight_ih_l0.T + h @ m.weight_hh_l0.T).relu()) and close(hn, out)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_forms_agree(kind):
    m = kind(2, 3, 2, bidirectional=True)
    x = torch.randn(4, 2, 2)
    out, state = m(x)
    assert out.shape == (4, 2, 6)
    first = kind(2, 3, 2, bidirectional=True, batch_first=True)
    first.load_state_dict(m.state_dict())
    assert close(first(x.transpose(0, 1))[0].transpose(0, 1), out)
    assert close(m(x[:, 0])[0], out[:, 0])
    packed = nn.utils.rnn.pack_sequence([x[:2, 0], x[:, 1]], enforce_sorted=False)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(m(packed)[0])
    assert lengths.tolist() == [2, 4]
    assert close(padded[:2, 0], m(x[:2, :1])[0][:, 0]) and close(padded[:, 1], out[:, 1])
    with pytest.raises(RuntimeError):
        m(torch.randn(4, 2, 5))
    with pytest.raises(ValueError):
        m(torch.randn(4, 2, 2, 2))


def test_attention_by_its_formula():
    torch.manual_seed(0)
    m = nn.MultiheadAttention(4, 2, batch_first=True)
    x = torch.randn(1, 3, 4)
    mask = torch.tensor([[False, True, True], [False, False, True], [False, False, False]])
    out, weights = m(x, x, x, attn_mask=mask, average_attn_weights=False)
    q, k, v = (x[0] @ m.in_proj_weight.T + m.in_proj_bias).chunk(3, -1)
    heads = []
    for h in range(2):
        s = slice(2 * h, 2 * h + 2)
        w = ((q[:, s] @ k[:, s].T) / math.sqrt(2)).masked_fill(mask, -math.inf).softmax(-1)
        assert close(weights[0, h], w)
        heads.append(w @ v[:, s])
    assert close(out[0], m.out_proj(torch.cat(heads, -1)))
    assert close(m(x, x, x, attn_mask=mask, need_weights=False)[0], out)
    assert close(m(x[0], x[0], x[0], attn_mask=mask)[0], out[0])
    padding = torch.tensor([[False, False, True]])
    padded = m(x, x, x, key_padding_mask=padding)[1]
    assert (padded[..., 2] == 0).all()
    with pytest.raises(RuntimeError):
        m(x, x, x, attn_mask=mask[:2])
    with pytest.raises(AssertionError):
        m(x, x, x, attn_mask=mask.long())


def test_transformer_layers():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    x = torch.randn(2, 3, 4)
    a = layer.norm1(x + layer.self_attn(x, x, x, need_weights=False)[0])
    assert close(layer(x), layer.norm2(a + layer.linear2(layer.linear1(a).relu())))
    encoder = nn.TransformerEncoder(layer, 2)
    assert encoder(x).shape == x.shape and len(list(encoder.parameters())) == 24
    padding = torch.tensor([[False, False, True], [False, True, True]])
    with torch.no_grad():
        y = encoder.eval()(x, src_key_padding_mask=padding)
    assert (y[padding] == 0).all() and (y[~padding] != 0).any()
    causal = nn.Transformer.generate_square_subsequent_mask(3)
    assert causal[0, 1] == -math.inf and causal[1, 0] == 0
    model = nn.Transformer(4, 2, 1, 1, 8, dropout=0.0, batch_first=True)
    one = model(x, x, tgt_mask=causal)
    changed = x.clone()
    changed[:, 2] += 1
    assert close(model(x, changed, tgt_mask=causal)[:, :2], one[:, :2])
    with pytest.raises(RuntimeError):
        model(x, x[:1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "make, shape, becomes",
    [
        (lambda: nn.LazyLinear(3), (2, 5), nn.Linear),
        (lambda: nn.LazyConv2d(4, 2), (1, 3, 4, 4), nn.Conv2d),
        (lambda: nn.LazyConvTranspose1d(4, 2), (1, 3, 4), nn.ConvTranspose1d),
        (lambda: nn.LazyBatchNorm2d(), (2, 3, 4, 4), nn.BatchNorm2d),
        (lambda: nn.LazyInstanceNorm1d(affine=True), (2, 3, 4), nn.InstanceNorm1d),
    ],
)
def test_lazy_modules_take_their_sizes_from_the_first_input(make, shape, becomes):
    m = make()
    assert m.has_uninitialized_params()
    with pytest.raises(RuntimeError):
        m.weight.shape
    with pytest.raises(ValueError):
        m.weight + 1
    m(torch.ones(shape))
    assert type(m) is becomes and type(m.weight) is nn.Parameter
    assert not m._forward_pre_hooks
    n = make()
    n.load_state_dict(m.state_dict())
    assert torch.equal(n.weight, m.weight)


def test_embedding_layers():
    m = nn.Embedding(4, 2, padding_idx=-1)
    assert m.padding_idx == 3 and (m.weight[3] == 0).all()
    m(torch.tensor([0, 3, 3])).sum().backward()
    assert m.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    e = nn.Embedding.from_pretrained(torch.ones(3, 2))
    assert not e.weight.requires_grad and e(torch.tensor([1])).tolist() == [[1, 1]]
    with pytest.raises(AssertionError):
        nn.Embedding(3, 2, padding_idx=3)


def test_adaptive_log_softmax_is_a_distribution():
    torch.manual_seed(0)
    m = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 5], div_value=2.0)
    x, y = torch.randn(6, 8), torch.tensor([0, 3, 9, 1, 5, 7])
    lp = m.log_prob(x)
    assert close(lp.exp().sum(1), torch.ones(6))
    out, loss = m(x, y)
    assert close(out, lp.gather(1, y[:, None])[:, 0]) and close(loss, -out.mean())
    assert torch.equal(m.predict(x), lp.argmax(1))
    with pytest.raises(RuntimeError):
        m(x, y + 5)


def test_losses_as_modules_equal_the_functions():
    x, t = torch.randn(4, 3), torch.tensor([0, 2, 1, 1])
    w = torch.tensor([1.0, 2.0, 0.5])
    assert close(
        nn.CrossEntropyLoss(w, label_smoothing=0.1)(x, t),
        F.cross_entropy(x, t, w, label_smoothing=0.1),
    )
    assert list(nn.CrossEntropyLoss(w).state_dict()) == ["weight"]
    with pytest.warns(UserWarning):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    m = nn.LinearCrossEntropyLoss(3, 5, bias=True)
    assert close(m(x, t), F.cross_entropy(m.linear(x), t))
    assert isinstance(nn.TripletMarginWithDistanceLoss().distance_function, nn.PairwiseDistance)


def test_cross_map_lrn_of_one_channel():
    x = torch.randn(1, 1, 2, 2)
    expected = x / (2.0 + 0.3 / 3 * x * x) ** 0.5
    assert close(nn.CrossMapLRN2d(3, 0.3, 0.5, 2.0)(x), expected)


def test_sync_batch_norm_in_one_process():
    m = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm2d(2)))
    assert isinstance(m[0], nn.SyncBatchNorm)
    x = torch.randn(2, 2, 3, 3)
    assert close(m(x), nn.BatchNorm2d(2)(x))
    assert close(
        m.eval()(x),
        (x - m[0].running_mean[:, None, None]) / (m[0].running_var + 1e-5).sqrt()[:, None, None],
    )
