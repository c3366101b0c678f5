"""FakeTensorMode: what operators say of tensors without elements. Expected values are PyTorch 2.14's."""
import copy
import weakref

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import FakeTensorDeviceMismatchError, is_fake, maybe_get_fake_mode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode


@pytest.fixture
def mode():
    return FakeTensorMode()


def test_from_tensor(mode):
    x = mode.from_tensor(torch.randn(2, 3))
    assert type(x) is FakeTensor and isinstance(x, torch.Tensor) and x.fake_mode is mode
    assert (x.shape, x.stride(), x.dtype, x.device, x.fake_device) == ((2, 3), (3, 1), torch.float32, torch.device("cpu"), torch.device("cpu"))
    assert repr(x) == "FakeTensor(..., size=(2, 3))" and not x.is_meta and x.is_cpu
    assert x.untyped_storage().device.type == "meta" and x.untyped_storage().nbytes() == 24
    assert is_fake(x) and maybe_get_fake_mode(x) is mode and not is_fake(torch.ones(1))
    assert mode.from_tensor(x) is x and FakeTensor.from_tensor(torch.ones(2), mode).shape == (2,)
    p = torch.nn.Parameter(torch.ones(2))
    f = mode.from_tensor(p)
    assert isinstance(f, torch.nn.Parameter) and f.requires_grad and f.is_leaf and mode.from_tensor(p) is f
    assert mode.from_tensor(torch.ones(4, 4)[1:, 1:]).stride() == (4, 1)
    base = torch.ones(4, 4)
    a, b = mode.from_tensor(base), mode.from_tensor(base[1:])
    assert a.untyped_storage()._cdata == b.untyped_storage()._cdata and b.storage_offset() == 4
    w = torch.ones(2, 3, requires_grad=True)
    v = mode.from_tensor(w.t())
    assert v._is_view() and v.requires_grad and v.shape == (3, 2) and v.grad_fn.name() == "AsStridedBackward0"


def test_operators_outside_the_mode(mode):
    x = mode.from_tensor(torch.randn(2, 3))
    for y, shape in [(x + 1, (2, 3)), (x @ x.t(), (2, 2)), (x.sum(), ()), (torch.cat([x, x]), (4, 3)), (x[:, None], (2, 1, 3)),
                     (x.double(), (2, 3)), (F.linear(x, x), (2, 2)), (x.softmax(-1), (2, 3)), (torch.stack([x, x], -1), (2, 3, 2))]:
        assert type(y) is FakeTensor and y.shape == shape and y.device.type == "cpu"
    assert x.double().dtype is torch.float64 and x.to("meta").is_meta and x.to("cuda").device == torch.device("cuda", 0)


def test_real_tensors_do_not_mix(mode):
    x = mode.from_tensor(torch.randn(2, 3))
    for real in (torch.ones(2, 3), torch.tensor(1.)):
        with pytest.raises(AssertionError, match="from_tensor"):
            x + real
    with pytest.raises(AssertionError), mode:
        torch.ones(2).add(_REAL)
    with pytest.raises(AssertionError, match="two modes"):
        x + FakeTensorMode().from_tensor(torch.ones(2, 3))
    lenient = FakeTensorMode(allow_non_fake_inputs=True)
    assert (lenient.from_tensor(torch.ones(2, 3)) + torch.ones(3)).shape == (2, 3)
    with pytest.raises(AssertionError, match="meta"):
        FakeTensor(mode, torch.ones(2), "cpu")


_REAL = torch.ones(2)


def test_what_depends_on_elements(mode):
    x = mode.from_tensor(torch.randn(2, 3))
    for f in (lambda: x.sum().item(), lambda: bool(x.sum() > 0), lambda: x.tolist(), lambda: torch.equal(x, x), lambda: float(x[0, 0])):
        with pytest.raises(DataDependentOutputException):
            f()
    for f in (lambda: x.nonzero(), lambda: x[x > 0], lambda: torch.unique(x), lambda: x.masked_select(x > 0)):
        with pytest.raises(DynamicOutputShapeException):
            f()
    with pytest.raises(DynamicOutputShapeException) as error:
        x.nonzero()
    assert error.value.func is torch.ops.aten.nonzero.default and isinstance(error.value, RuntimeError)
    with pytest.raises(RuntimeError):
        x.numpy()
    assert x.data_ptr() == 0


def test_factories(mode):
    with mode:
        a = torch.empty(2, 3, device="cuda")
        assert a.device == torch.device("cuda", 0) and repr(a) == "FakeTensor(..., device='cuda:0', size=(2, 3))"
        for t, shape, dtype in [(torch.ones(3), (3,), torch.float32), (torch.tensor([1, 2]), (2,), torch.int64), (torch.rand(3), (3,), torch.float32),
                                (torch.arange(4), (4,), torch.int64), (torch.zeros(2, dtype=torch.int8), (2,), torch.int8),
                                (torch.full((2,), 1.5), (2,), torch.float32), (torch.eye(3), (3, 3), torch.float32),
                                (torch.linspace(0, 1, 5), (5,), torch.float32), (torch.randn(2, 2), (2, 2), torch.float32),
                                (torch.randint(5, (3,)), (3,), torch.int64), (torch.randperm(4), (4,), torch.int64)]:
            assert type(t) is FakeTensor and t.shape == shape and t.dtype is dtype and t.device.type == "cpu"
        assert torch.arange(4, device="meta").device.type == "meta" and torch.ones_like(a).device == a.device
        assert a.new_zeros(2).device == a.device and repr(torch.arange(4)) == "FakeTensor(..., size=(4,), dtype=torch.int64)"
        assert (a + torch.tensor(1.)).device == a.device and torch.ones(2).to("cuda").device.index == 0
        with pytest.raises(FakeTensorDeviceMismatchError):
            a + torch.ones(2, 3)
        with pytest.raises(RuntimeError):
            torch.mm(torch.ones(2, 3), torch.ones(2, 4))


def test_known_constants(mode):
    with mode:
        assert torch.tensor(3).item() == 3 and (1 if torch.tensor(True) else 0) == 1
        t = torch.tensor(3)
        t.add_(1)
        assert t.item() == 4
        t.add_(torch.ones(()).sum().long())
        with pytest.raises(DataDependentOutputException):
            t.item()
        with pytest.raises(DataDependentOutputException):
            torch.tensor([1, 2, 3]).sum().item()


def test_known_elements_of_aliases(mode):
    """What PyTorch knows after a write through another tensor on the same storage."""
    def unknown(t):
        with pytest.raises(DataDependentOutputException):
            t.item()
    with mode:
        u = torch.empty(1)
        for write in (lambda a: a.view(1).copy_(u), lambda a: a.detach().copy_(u[0]), lambda a: a.data.copy_(u[0]), lambda a: a.expand(2)[0].copy_(u[0]),
                      lambda a: a.view(1).split(1)[0].copy_(u), lambda a: torch.add(u[0], 1, out=a.view(()))):
            a = torch.tensor(3.)
            assert a.item() == 3
            write(a)
            unknown(a)
        a = torch.tensor(3.)
        b = a.view(1)
        a.copy_(u[0])
        unknown(b)
        a = torch.tensor(3.)
        b = a.view(1)
        b.add_(1)  # all that goes into it is known
        assert a.item() == 4 and b.item() == 4
        a.set_(torch.tensor(7.))
        assert torch.tensor(5.).item() == 5


def test_real_tensors_are_not_kept(mode):
    memory = np.ones(1000, np.float32)
    t = torch.from_numpy(memory)
    tensor, memory = weakref.ref(t), weakref.ref(memory)
    fake = mode.from_tensor(t)
    assert mode.from_tensor(t) is fake and mode.from_tensor(t[2:]).untyped_storage()._cdata == fake.untyped_storage()._cdata
    del t
    assert tensor() is None and memory() is None and fake.shape == (1000,)
    assert not mode.fake_tensor_converter._storages and not mode.fake_tensor_converter._tensors
    base = torch.ones(4)
    a = mode.from_tensor(base[1:])  # of a view that dies at once: its base holds the place
    assert mode.from_tensor(base).untyped_storage()._cdata == a.untyped_storage()._cdata


def test_views_and_writes(mode):
    with mode:
        b = torch.ones(3)
        v = b.view(3, 1)
        assert v._is_view() and v._base is b and v.untyped_storage()._cdata == b.untyped_storage()._cdata
        assert b.add_(1) is b and b._version == 1 and v._version == 1
        v.t_()
        assert v.shape == (1, 3)
        q = torch.ones(3)
        q.resize_(2, 5)
        assert q.shape == (2, 5)
        z = torch.ones(2, 3).t()
        assert z.stride() == (1, 3) and not z.is_contiguous() and (z + 1).stride() == (1, 3)
        b[0] = 1.
        assert torch.ones(5, 6)[1:3, ::2].stride() == (6, 2) and torch.ones(5, 6)[torch.tensor([0, 1])].shape == (2, 6)
        out = torch.empty(3)
        assert torch.add(b, b, out=out) is out
        b.data = torch.ones(7)
        assert b.shape == (7,) and (b + 1).shape == (7,)


def test_training_step(mode):
    with mode:
        m = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                                torch.nn.Linear(36, 10), torch.nn.LayerNorm(10), torch.nn.Dropout(0.5))
        assert isinstance(m[0].weight, torch.nn.Parameter) and repr(m[5].bias) == "Parameter(FakeTensor(..., size=(10,), requires_grad=True))"
        loss = F.cross_entropy(m(torch.ones(2, 1, 8, 8)), torch.zeros(2, dtype=torch.long))
        assert type(loss) is FakeTensor and loss.grad_fn.name() == "NllLossBackward0"
        loss.backward()
        for p in m.parameters():
            assert type(p.grad) is FakeTensor and p.grad.shape == p.shape
        for optim in (torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), torch.optim.AdamW(m.parameters())):
            optim.step()
            optim.step()
        assert m[0].weight._version > 0


def test_real_modules_become_fake(mode):
    m = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    fake = copy.deepcopy(m)
    for n, p in list(fake.named_parameters()):
        owner = fake.get_submodule(n.rpartition(".")[0])
        setattr(owner, n.rpartition(".")[2], torch.nn.Parameter(mode.from_tensor(p.detach())))
    with mode:
        out = fake(torch.ones(2, 5, 8))
        assert out.shape == (2, 5, 8) and type(out) is FakeTensor
        out.sum().backward()
    assert all(p.grad.shape == p.shape for p in fake.parameters())


def test_copies(mode):
    with mode:
        x = torch.nn.Parameter(torch.ones(2))
        y = copy.deepcopy(x)
        assert type(y) is FakeTensor and isinstance(y, torch.nn.Parameter) and y is not x
        assert "FakeTensor" in str(x.detach()) and x.type() == "torch.FloatTensor"


def test_modes_above_and_again(mode):
    class Log(TorchDispatchMode):
        names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Log.names.append((str(func), types))
            return func(*args, **(kwargs or {}))

    with mode, mode:
        with Log():
            torch.ones(2) + 1
    assert Log.names == [("aten.ones.default", ()), ("aten.add.Tensor", (FakeTensor,))]
    # A mode with a key stands below, whenever it came.
    Log.names.clear()
    with Log(), mode:
        assert type(torch.ones(2)) is FakeTensor
    assert [n for n, _ in Log.names] == ["aten.ones.default"]
    other = FakeTensorMode()
    with mode:
        with other:
            assert torch.ones(1).fake_mode is other
        assert torch.ones(1).fake_mode is mode
        with unset_fake_temporarily() as was:
            assert was is mode and type(torch.ones(1)) is torch.Tensor
        assert torch.ones(1).fake_mode is mode
    assert type(torch.ones(1)) is torch.Tensor


def test_custom_operators(mode):
    @torch.library.custom_op("fbfake::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x])

    x = mode.from_tensor(torch.ones(2))
    with pytest.raises(RuntimeError, match="register_fake"):
        twice(x)

    @twice.register_fake
    def _(x):
        assert type(x) is FakeTensor
        return x.new_empty(2 * x.size(0))
    assert twice(x).shape == (4,) and type(twice(x)) is FakeTensor

    @torch.library.custom_op("fbfake::nz", mutates_args=())
    def nz(x: torch.Tensor) -> torch.Tensor:
        return x.nonzero()

    @nz.register_fake
    def _(x):
        return x.new_empty(torch.library.get_ctx().new_dynamic_size(), x.dim(), dtype=torch.int64)
    with pytest.raises(DynamicOutputShapeException):
        nz(x)
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    found = nz(FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.randn(2, 3)))
    assert str(found.shape) == "torch.Size([u0, 2])" and str(found.stride()) == "(2, 1)"
