"""What is done to modules and parameters: clipping, norms, parametrizations, pruning, packing."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import utils  # noqa: E402
from torch.nn.utils import parametrizations, parametrize, prune, rnn  # noqa: E402

if any(
    not hasattr(torch, n)
    for n in ("relu", "sub", "lt", "std", "allclose", "matmul", "conv2d", "norm_except_dim")
):
    pytest.skip("the operators of layers are needed", allow_module_level=True)


def close(a, b, tol=1e-5):
    return torch.allclose(a, b, atol=tol, rtol=1e-4)


def with_grads(*grads):
    ps = [nn.Parameter(torch.zeros(len(g))) for g in grads]
    for p, g in zip(ps, grads):
        p.grad = torch.tensor(g)
    return ps


@pytest.mark.parametrize("norm_type, total", [(2, 5.0), (1, 7.0), (float("inf"), 4.0)])
def test_clip_grad_norm(norm_type, total):
    ps = with_grads([3.0, 0.0], [4.0])
    assert utils.clip_grad_norm_(ps, 2.0, norm_type).item() == pytest.approx(total)
    scale = 2.0 / (total + 1e-6)
    assert ps[0].grad.tolist() == pytest.approx([3 * scale, 0])
    assert utils.clip_grad_norm_(ps, 100.0, norm_type).item() == pytest.approx(2.0, rel=1e-5)
    ps[0].grad[0] = float("nan")
    with pytest.raises(RuntimeError):
        utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)
    assert utils.clip_grad_norm_([], 1.0).item() == 0


def test_clip_grad_value_and_vectors():
    ps = with_grads([3.0, -0.1], [-4.0])
    utils.clip_grad_value_(ps, 0.5)
    assert ps[0].grad.tolist() == pytest.approx([0.5, -0.1]) and ps[1].grad.item() == -0.5
    utils.vector_to_parameters(torch.arange(3.0), ps)
    assert utils.parameters_to_vector(ps).tolist() == [0, 1, 2]
    with pytest.raises(TypeError):
        utils.vector_to_parameters([1.0], ps)


def test_fusion():
    torch.manual_seed(0)
    x = torch.randn(2, 2, 5, 5)
    for transpose, kind in ((False, nn.Conv2d), (True, nn.ConvTranspose2d)):
        conv, bn = kind(2, 3, 3, bias=False), nn.BatchNorm2d(3)
        for _ in range(3):
            bn(conv(x))
        bn.weight.data.uniform_(0.5, 2)
        with pytest.raises(AssertionError):
            utils.fuse_conv_bn_eval(conv, bn)
        conv.eval(), bn.eval()
        assert close(utils.fuse_conv_bn_eval(conv, bn, transpose)(x), bn(conv(x)))


def test_skip_init():
    m = utils.skip_init(nn.Linear, 2, 3, dtype=torch.float64)
    assert m.weight.shape == (3, 2) and m.weight.dtype == torch.float64 and not m.weight.is_meta
    for wrong in (nn.ReLU,):
        with pytest.raises(RuntimeError):
            utils.skip_init(wrong)


@pytest.mark.filterwarnings("ignore")
def test_weight_norm_old_and_new():
    torch.manual_seed(0)
    a = nn.Linear(3, 2)
    w = a.weight.detach().clone()
    utils.weight_norm(a)
    assert sorted(a.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert close(a.weight, w) and close(a.weight_g[:, 0], w.norm(dim=1))
    b = parametrizations.weight_norm(nn.Linear(3, 2))
    b.load_state_dict(a.state_dict())
    assert close(b.weight, w)
    with torch.no_grad():
        a.weight_g.mul_(2)
    a(torch.ones(1, 3))
    assert close(a.weight, 2 * w)
    utils.remove_weight_norm(a)
    assert isinstance(a.weight, nn.Parameter) and list(a.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError):
        utils.remove_weight_norm(a)


def test_spectral_norm_old_and_new():
    torch.manual_seed(0)
    for make in (utils.spectral_norm, parametrizations.spectral_norm):
        m = make(nn.Linear(5, 4), n_power_iterations=50)
        m(torch.ones(1, 5))
        assert abs(np.linalg.svd(m.weight.detach().numpy(), compute_uv=False)[0] - 1) < 1e-4
        m.eval()
        assert torch.equal(m(torch.ones(1, 5)), m(torch.ones(1, 5)))
    old = utils.spectral_norm(nn.Linear(5, 4))
    assert old.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    utils.remove_spectral_norm(old)
    assert not old._forward_pre_hooks and isinstance(old.weight, nn.Parameter)


@pytest.mark.skipif(not hasattr(torch, "matrix_exp"), reason="the operators of linear algebra are needed")
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("base", [True, False])
def test_orthogonal(shape, how, base):
    torch.manual_seed(0)
    m = parametrizations.orthogonal(
        nn.Linear(shape[1], shape[0], bias=False), "weight", how, use_trivialization=base
    )
    w = m.weight
    gram = w @ w.T if shape[0] <= shape[1] else w.T @ w
    assert close(gram, torch.eye(min(shape)))
    q = torch.linalg.qr(torch.randn(5, 5))[0][: shape[0], : shape[1]]
    q = torch.linalg.qr(q if shape[0] >= shape[1] else q.T)[0]
    q = q if shape[0] >= shape[1] else q.T
    if base or how == "householder":
        m.weight = q
        assert close(m.weight, q)
    else:
        with pytest.raises(NotImplementedError):
            m.weight = q


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, a):
        return a.triu()


class Exp(nn.Module):
    def forward(self, x):
        return x.exp()


class Halves(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, w):
        return w / 2, w / 2


def test_parametrization():
    m = nn.Linear(3, 3)
    w = m.weight
    parametrize.register_parametrization(m, "weight", Symmetric())
    assert close(m.weight, m.weight.T) and m.parametrizations.weight.original is w
    assert type(m).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(m) is nn.Linear
    assert sorted(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    sym = torch.tensor([[1.0, 2, 3], [2, 4, 5], [3, 5, 6]])
    m.weight = sym
    assert close(m.weight, sym)
    n = copy.deepcopy(m)
    assert close(n.weight, sym) and n.parametrizations.weight.original is not w
    with pytest.raises(RuntimeError):
        pickle.dumps(m)
    with parametrize.cached():
        assert m.weight is m.weight
    parametrize.register_parametrization(m, "weight", Exp())
    assert close(m.weight, sym.exp(), 1e-3)
    with pytest.raises(RuntimeError):
        m.weight = sym
    parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    assert type(m) is nn.Linear and m.weight is w and not parametrize.is_parametrized(m)
    for name, p in (("nothing", Exp()), ("weight", nn.Flatten(0))):
        with pytest.raises(ValueError):
            parametrize.register_parametrization(m, name, p)
    m(torch.ones(1, 3))


def test_parametrization_by_two_tensors():
    m = nn.Linear(2, 2)
    w = m.weight.detach().clone()
    parametrize.register_parametrization(m, "weight", Halves())
    m(torch.ones(1, 2)).sum().backward()
    assert close(m.weight, w) and m.parametrizations.weight.original0.grad.sum() == 4
    with pytest.raises(ValueError):
        parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(m, "weight")
    assert close(m.weight, w) and isinstance(m.weight, nn.Parameter)


def test_pruning():
    m = nn.Linear(2, 2)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[1.0, -2.0], [3.0, -4.0]]))
    prune.l1_unstructured(m, "weight", 1)
    assert m.weight.tolist() == [[0, -2], [3, -4]] and prune.is_pruned(m)
    assert sorted(m.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    prune.l1_unstructured(m, "weight", 1)
    assert m.weight.tolist() == [[0, 0], [3, -4]]
    prune.ln_structured(m, "weight", 1, n=2, dim=1)
    assert m.weight.tolist() == [[0, 0], [0, -4]]
    prune.remove(m, "weight")
    assert m.weight.tolist() == [[0, 0], [0, -4]] and not prune.is_pruned(m)
    assert isinstance(m.weight, nn.Parameter)
    a, b = nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        a.weight.copy_(torch.tensor([[1.0, 5.0]]))
        b.weight.copy_(torch.tensor([[2.0, 7.0]]))
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=0.5)
    assert a.weight.tolist() == [[0, 5]] and b.weight.tolist() == [[0, 7]]
    for amount, error in ((-1, ValueError), (1.5, ValueError), ("x", TypeError), (100, ValueError)):
        with pytest.raises(error):
            prune.l1_unstructured(nn.Linear(2, 2), "weight", amount)
    with pytest.raises(ValueError):
        prune.remove(m, "weight")


@pytest.mark.filterwarnings("ignore")
def test_functional_call():
    call = utils.stateless.functional_call
    m = nn.Sequential(nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1, affine=False))
    w = m[0].weight
    x = torch.tensor([[1.0], [3.0]])
    state = {"0.weight": torch.full((1, 1), 2.0), "1.running_mean": torch.zeros(1)}
    call(m, state, x)
    assert m[0].weight is w and m[1].running_mean.item() == 0
    assert state["1.running_mean"].item() == pytest.approx(0.4)
    m.eval()
    assert call(m[0], {"weight": torch.full((1, 1), 5.0)}, x).tolist() == [[5], [15]]
    with pytest.raises(RuntimeError):
        call(m, {}, x, strict=True)
    with pytest.raises(AttributeError):
        call(m, {"9.weight": x}, x)
    with pytest.raises(TypeError):
        call(m, {"0": x}, x)
    tied = nn.Module()
    tied.a = nn.Linear(1, 1, bias=False)
    tied.b = tied.a
    tied.forward = lambda x: tied.b(x)
    assert call(tied, {"a.weight": torch.full((1, 1), 7.0)}, x[:1]).item() == 7
    with pytest.raises(ValueError):
        call(tied, {"a.weight": x[:1], "b.weight": x[1:]}, x[:1])


def test_packed_sequences():
    seqs = [torch.arange(3.0), torch.arange(1.0), torch.arange(2.0)]
    p = rnn.pack_sequence(seqs, enforce_sorted=False)
    assert p.data.tolist() == [0, 0, 0, 1, 1, 2] and p.batch_sizes.tolist() == [3, 2, 1]
    assert p.sorted_indices.tolist() == [0, 2, 1] and p.unsorted_indices.tolist() == [0, 2, 1]
    padded, lengths = rnn.pad_packed_sequence(p, batch_first=True, padding_value=-1.0)
    assert padded.tolist() == [[0, 1, 2], [0, -1, -1], [0, 1, -1]] and lengths.tolist() == [3, 1, 2]
    assert all(torch.equal(a, b) for a, b in zip(rnn.unpack_sequence(p), seqs))
    assert rnn.pad_sequence(seqs, padding_side="left").T.tolist() == [
        [0, 1, 2],
        [0, 0, 0],
        [0, 0, 1],
    ]
    assert p.double().data.dtype == torch.float64 and p.to("cpu") is p
    assert torch.equal(pickle.loads(pickle.dumps(p)).data, p.data)
    with pytest.raises(ValueError):
        rnn.pad_packed_sequence(p, total_length=1)
    with pytest.raises(RuntimeError):
        rnn.pack_padded_sequence(torch.ones(3, 2), [1, 2])


def test_gradients_of_convolutions_by_name():
    from torch.nn import grad

    x, w = torch.randn(1, 2, 5, requires_grad=True), torch.randn(3, 2, 2, requires_grad=True)
    y = torch.conv1d(x, w, None, 2, 1)
    g = torch.randn_like(y)
    gx, gw = torch.autograd.grad(y, [x, w], g)
    assert close(grad.conv1d_input(x.shape, w, g, 2, 1), gx)
    assert close(grad.conv1d_weight(x, w.shape, g, 2, 1), gw)


def test_attention_backends_and_data_parallel():
    from torch.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel

    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert _cur_sdpa_kernel_backends(True) == [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]
    assert len(_cur_sdpa_kernel_backends()) == 5
    with pytest.raises(AssertionError):
        with sdpa_kernel(3):
            pass
    if not torch.cuda.is_available():
        m = nn.DataParallel(nn.Linear(2, 3))
        assert list(m.state_dict()) == ["module.weight", "module.bias"]
        assert m(torch.ones(1, 2)).shape == (1, 3)
