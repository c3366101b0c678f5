"""The contract of `nn.Module`: registration, hooks, state, moving, copying and printing."""

import copy
import pickle
import warnings

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import nn  # noqa: E402

if any(not hasattr(torch, n) for n in ("relu", "sub", "lt", "std", "allclose", "matmul")):
    pytest.skip("the operators of layers are needed", allow_module_level=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)
        self.b = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
        self.plain = 3

    def forward(self, x):
        return self.b(self.a(x))


def test_registration_by_assignment():
    m = Net()
    assert [n for n, _ in m.named_parameters()] == ["a.weight", "a.bias", "b.0.weight", "b.0.bias"]
    assert [n for n, _ in m.named_buffers()] == ["count", "scratch"]
    assert list(m.state_dict()) == ["count", "a.weight", "a.bias", "b.0.weight", "b.0.bias"]
    assert [n for n, _ in m.named_modules()] == ["", "a", "b", "b.0", "b.1"]
    assert [n for n, _ in m.named_children()] == ["a", "b"]
    m.w = nn.Parameter(torch.ones(1))
    m.w = None
    assert m._parameters["w"] is None and "w" not in m.state_dict()
    m.a = nn.ReLU()
    assert "a" in m._modules and isinstance(m.a, nn.ReLU)
    m.count = torch.ones(1)
    assert m._buffers["count"].item() == 1
    m.count = nn.Parameter(torch.ones(1))
    assert "count" in m._parameters and "count" not in m._buffers
    del m.count
    assert not hasattr(m, "count")
    m.buf = nn.Buffer(torch.ones(2), persistent=False)
    assert "buf" in m._buffers and "buf" not in m.state_dict()
    assert "a" in dir(m) and "plain" in dir(m) and "w" in dir(m)


def test_wrong_assignments():
    m = Net()
    for wrong in (3, torch.ones(1)):
        with pytest.raises(TypeError):
            m.a.weight = wrong
        with pytest.raises(TypeError):
            m.a = wrong
    with pytest.raises(TypeError):
        m.count = 3
    for name in ("a", "plain", "forward"):
        with pytest.raises(KeyError):
            m.register_buffer(name, torch.ones(1))
    for name in ("x.y", ""):
        with pytest.raises(KeyError):
            m.register_parameter(name, None)
        with pytest.raises(KeyError):
            m.add_module(name, None)
    with pytest.raises(TypeError):
        m.register_parameter("p", torch.ones(1))
    with pytest.raises(ValueError):
        m.register_parameter("p", _nonleaf())
    with pytest.raises(AttributeError):
        m.nothing

    class Early(nn.Module):
        def __init__(self):
            self.p = nn.Parameter(torch.ones(1))

    with pytest.raises(AttributeError):
        Early()
    with pytest.raises(TypeError):
        nn.Module(1)
    with pytest.raises(NotImplementedError):
        nn.Module()(1)


def _nonleaf():
    t = nn.Parameter(torch.ones(1)) * 2
    t._is_param = True
    return t


def test_shared_tensors_are_listed_once():
    m = nn.Module()
    m.a = nn.Linear(2, 2)
    m.b = m.a
    assert len(list(m.parameters())) == 2
    assert len(list(m.named_parameters(remove_duplicate=False))) == 4
    assert [n for n, _ in m.named_modules()] == ["", "a"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False)] == ["", "a", "b"]
    assert len(m.state_dict()) == 4
    assert len(list(m.children())) == 1


def test_paths():
    m = Net()
    assert m.get_submodule("b.0") is m.b[0] and m.get_submodule("") is m
    assert m.get_parameter("a.weight") is m.a.weight
    assert m.get_buffer("count") is m.count
    for call, path in (
        (m.get_submodule, "b.7"),
        (m.get_submodule, "plain"),
        (m.get_parameter, "a.nothing"),
        (m.get_parameter, "count"),
        (m.get_buffer, "a.weight"),
    ):
        with pytest.raises(AttributeError):
            call(path)
    m.set_submodule("b.0", nn.Identity())
    assert isinstance(m.b[0], nn.Identity)
    with pytest.raises(ValueError):
        m.set_submodule("", nn.Identity())


def test_state_round_trip_and_its_errors():
    m, n = Net(), Net()
    keys = n.load_state_dict(m.state_dict())
    assert repr(keys) == "<All keys matched successfully>"
    assert all(torch.equal(p, q) for p, q in zip(m.parameters(), n.parameters()))
    sd = m.state_dict()
    assert sd._metadata["a"] == {"version": 1}
    del sd["a.weight"]
    sd["b.9.x"] = torch.ones(1)
    with pytest.raises(RuntimeError, match="a.weight") as e:
        n.load_state_dict(sd)
    assert "b.9.x" in str(e.value) and "Net" in str(e.value)
    keys = n.load_state_dict(sd, strict=False)
    assert keys.missing_keys == ["a.weight"] and keys.unexpected_keys == ["b.9.x"]
    sd = m.state_dict()
    sd["a.bias"] = torch.ones(7)
    with pytest.raises(RuntimeError, match="size mismatch"):
        n.load_state_dict(sd, strict=False)
    sd["a.bias"] = 3
    with pytest.raises(RuntimeError, match="a.bias"):
        n.load_state_dict(sd)
    with pytest.raises(TypeError):
        n.load_state_dict(3)


def test_state_holds_or_detaches_and_assigns():
    m = Net()
    assert m.state_dict(keep_vars=True)["a.weight"] is m.a.weight
    assert not m.state_dict()["a.weight"].requires_grad
    assert list(m.state_dict(prefix="net."))[0] == "net.count"
    out = {}
    assert m.state_dict(destination=out) is out and len(out) == 5
    n = Net()
    sd = {k: v.double() for k, v in m.state_dict().items()}
    n.load_state_dict(sd, assign=True)
    assert n.a.weight.dtype == torch.float64 and isinstance(n.a.weight, nn.Parameter)
    assert n.a.weight.requires_grad and n.count is sd["count"]
    n.load_state_dict(m.state_dict())
    assert n.a.weight.dtype == torch.float64


def test_extra_state():
    class Extra(nn.Module):
        def __init__(self):
            super().__init__()
            self.value = 1

        def get_extra_state(self):
            return self.value

        def set_extra_state(self, state):
            self.value = state

    m = nn.Sequential(Extra())
    m[0].value = 5
    sd = m.state_dict()
    assert sd == {"0._extra_state": 5}
    n = nn.Sequential(Extra())
    n.load_state_dict(sd)
    assert n[0].value == 5
    with pytest.raises(RuntimeError, match="_extra_state"):
        n.load_state_dict({})
    with pytest.raises(RuntimeError, match="_extra_state"):
        nn.Sequential(nn.ReLU()).load_state_dict(sd)


def test_state_hooks():
    m = Net()
    seen = []
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append(("pre", prefix, keep)))
    m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: sd.update(extra=torch.ones(1)))
    sd = m.state_dict()
    assert seen == [("pre", "", False)] and "extra" in sd
    h = m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: sd)
    with pytest.raises(RuntimeError):
        m.state_dict()
    h.remove()
    m.register_load_state_dict_pre_hook(
        lambda mod, sd, prefix, meta, strict, missing, unexpected, errors: sd.pop("extra")
    )
    m.register_load_state_dict_post_hook(lambda mod, keys: seen.append(keys.missing_keys))
    m.load_state_dict(sd)
    assert seen[-1] == []

    def forgive(mod, keys):
        keys.missing_keys.clear()

    m.register_load_state_dict_post_hook(forgive)
    sd = m.state_dict()
    del sd["a.weight"]
    m.load_state_dict(sd)


def test_train_eval_grad():
    m = Net()
    assert m.eval() is m and not m.b[1].training
    assert m.train().b[1].training
    with pytest.raises(ValueError):
        m.train(1)
    m.requires_grad_(False)
    assert not any(p.requires_grad for p in m.parameters())
    m.requires_grad_()
    m(torch.ones(1, 2)).sum().backward()
    m.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in m.parameters())
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())


def test_casting_and_moving():
    m = Net()
    m.register_buffer("n", torch.tensor(3))
    w = m.a.weight
    m(torch.ones(1, 2)).sum().backward()
    assert m.double() is m
    assert m.a.weight is w and w.dtype == torch.float64 and w.grad.dtype == torch.float64
    assert m.n.dtype == torch.int64
    m.to(torch.float16)
    assert w.dtype == torch.float16
    m.to("cpu", torch.float32)
    m.to(torch.ones(1, dtype=torch.float64))
    assert w.dtype == torch.float64
    m.to(device="cpu", dtype=torch.bfloat16, non_blocking=True)
    assert w.dtype == torch.bfloat16
    m.float().half().bfloat16().type(torch.float32)
    assert w.dtype == torch.float32
    for wrong in (torch.int32, [1]):
        with pytest.raises(TypeError):
            m.to(wrong)
    with pytest.raises(TypeError):
        m.to(torch.float32, torch.float32)
    conv = nn.Conv2d(2, 4, 3).to(memory_format=torch.channels_last)
    assert conv.weight.stride() == (18, 1, 6, 2)


def test_meta_and_to_empty():
    m = nn.Linear(2, 3, device="meta")
    assert m.weight.is_meta
    m.to_empty(device="cpu")
    assert not m.weight.is_meta and isinstance(m.weight, nn.Parameter) and m.weight.shape == (3, 2)


def test_apply_order():
    seen = []
    Net().apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "Linear", "ReLU", "Sequential", "Net"]


def test_forward_hooks():
    m = nn.Linear(1, 1, bias=False)
    m.weight.data.fill_(2.0)
    x = torch.ones(1, 1)
    log = []

    def pre(mod, args):
        log.append("pre")
        return args[0] + 1

    def post(mod, args, out):
        log.append(("post", args[0].item(), out.item()))
        return out * 10

    h1, h2 = m.register_forward_pre_hook(pre), m.register_forward_hook(post)
    assert m(x).item() == 40 and log == ["pre", ("post", 2.0, 4.0)]
    h1.remove()
    with h2:
        assert m(x).item() == 20
    assert m(x).item() == 2
    order = []
    m.register_forward_hook(lambda *a: order.append(1))
    m.register_forward_hook(lambda *a: order.append(2), prepend=True)
    m.register_forward_pre_hook(lambda *a: order.append(3))
    m.register_forward_pre_hook(lambda *a: order.append(4), prepend=True)
    m(x)
    assert order == [4, 3, 2, 1]


def test_forward_hooks_with_kwargs():
    class K(nn.Module):
        def forward(self, x, *, scale=1):
            return x * scale

    m = K()
    m.register_forward_pre_hook(
        lambda mod, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True
    )
    seen = []
    m.register_forward_hook(
        lambda mod, args, kwargs, out: seen.append((kwargs, out)), with_kwargs=True
    )
    assert m(2, scale=4) == 10 and seen == [({"scale": 5}, 10)]
    m.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError):
        m(2, scale=4)


def test_always_called_hooks():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m = Fails()
    seen = []
    m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
    m.register_forward_hook(lambda mod, args, out: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        m(1)
    assert seen == [None]


def test_full_backward_hooks():
    m = nn.Linear(2, 2, bias=False)
    with torch.no_grad():
        m.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    log = []
    m.register_full_backward_pre_hook(lambda mod, go: log.append(("pre", go[0].tolist())))
    m.register_full_backward_hook(lambda mod, gi, go: log.append((gi[0].tolist(), go[0].tolist())))
    x = torch.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    assert log == [("pre", [[1.0, 1.0]]), ([[4.0, 6.0]], [[1.0, 1.0]])]
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 2,))
    x.grad = None
    m(x).sum().backward()
    assert x.grad.tolist() == [[8.0, 12.0]]
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
    x.grad = None
    m(x).sum().backward()
    assert x.grad.tolist() == [[24.0, 36.0]]
    with pytest.raises(RuntimeError):
        m.register_backward_hook(lambda *a: None)


def test_full_backward_hook_without_input_gradient():
    m = nn.Linear(2, 1)
    seen = []
    m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go[0].tolist())))
    m(torch.ones(1, 2)).sum().backward()
    assert seen == [((None,), [[1.0]])]


def test_old_backward_hook():
    m = nn.Sigmoid()
    seen = []
    m.register_backward_hook(lambda mod, gi, go: seen.append(len(gi)))
    x = torch.ones(1, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m(x).sum().backward()
    assert seen == [1]


def test_global_hooks():
    from torch.nn.modules import module as mm

    seen = []
    handles = [
        mm.register_module_forward_pre_hook(lambda m, args: seen.append("pre")),
        mm.register_module_forward_hook(lambda m, args, out: seen.append("post")),
        mm.register_module_parameter_registration_hook(lambda m, n, p: seen.append(n)),
        mm.register_module_module_registration_hook(lambda m, n, c: seen.append(n)),
        mm.register_module_buffer_registration_hook(lambda m, n, b: seen.append(n)),
    ]
    try:
        nn.ReLU()(torch.ones(1))
        assert seen == ["pre", "post"]
        m = nn.Module()
        m.p = nn.Parameter(torch.ones(1))
        m.c = nn.ReLU()
        m.register_buffer("b", torch.ones(1))
        assert seen[2:] == ["p", "c", "b"]
    finally:
        for h in handles:
            h.remove()
    nn.ReLU()(torch.ones(1))
    assert len(seen) == 5
    h = mm.register_module_full_backward_hook(lambda m, gi, go: seen.append("bw"))
    try:
        nn.ReLU()(torch.ones(1, requires_grad=True)).sum().backward()
        assert seen[5:] == ["bw"]
    finally:
        h.remove()


def test_copy_and_pickle():
    m = Net()
    m.a.weight.requires_grad_(False)
    n = copy.deepcopy(m)
    assert n.a.weight is not m.a.weight and torch.equal(n.a.weight, m.a.weight)
    assert isinstance(n.a.weight, nn.Parameter) and not n.a.weight.requires_grad
    shallow = copy.copy(m)
    assert shallow.a is m.a
    back = pickle.loads(pickle.dumps(nn.Sequential(nn.Linear(2, 3), nn.ReLU())))
    assert isinstance(back[0].weight, nn.Parameter) and back[0].weight.requires_grad
    tied = nn.Module()
    tied.a = nn.Parameter(torch.ones(1))
    tied.b = tied.a
    tied = copy.deepcopy(tied)
    assert tied.a is tied.b


def test_parameter():
    p = nn.Parameter(torch.ones(2))
    assert p.requires_grad and isinstance(p, torch.Tensor) and isinstance(p, nn.Parameter)
    assert not isinstance(torch.ones(1), nn.Parameter)
    assert type(p + 1) is torch.Tensor and type(p.detach()) is torch.Tensor
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert nn.Parameter(torch.ones(1), requires_grad=False).requires_grad is False
    with torch.no_grad():
        assert nn.Parameter(torch.ones(1)).requires_grad
    q = copy.deepcopy(p)
    assert type(q) is nn.Parameter and q is not p
    t = torch.ones(2)
    assert nn.Parameter(t).data_ptr() == t.data_ptr()
    b = nn.Buffer(torch.ones(2))
    assert isinstance(b, nn.Buffer) and b.persistent


def test_printing():
    m = Net()
    assert repr(m) == (
        "Net(\n"
        "  (a): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (b): Sequential(\n"
        "    (0): Linear(in_features=3, out_features=2, bias=True)\n"
        "    (1): ReLU()\n"
        "  )\n"
        ")"
    )

    class Two(nn.Module):
        def extra_repr(self):
            return "x=1\ny=2"

    assert repr(Two()) == "Two(\n  x=1\n  y=2\n)"
    assert repr(nn.Module()) == "Module()"


def test_old_states_gain_what_they_lack():
    m = nn.ReLU()
    state = m.__getstate__()
    del state["_forward_pre_hooks_with_kwargs"], state["_non_persistent_buffers_set"]
    n = nn.ReLU.__new__(nn.ReLU)
    n.__setstate__(state)
    assert n(torch.tensor([-1.0])).item() == 0 and n._non_persistent_buffers_set == set()


def test_arguments_of_to():
    parse = torch._C._nn._parse_to
    assert parse(torch.float64) == (None, torch.float64, False, None)
    assert parse("cpu", torch.half, True) == (torch.device("cpu"), torch.half, True, None)
    assert parse(torch.ones(1)) == (torch.device("cpu"), torch.float32, False, None)
    assert parse("cpu", memory_format=torch.channels_last) == (torch.device("cpu"), None, False, torch.channels_last)
