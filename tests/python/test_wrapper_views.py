"""Views of classes with __torch_dispatch__, whatever place they tell: gradients are those of plain tensors."""
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.utils._pytree import tree_map  # noqa: E402


def make(told):
    """A class over plain tensors that tells strides and offset where `told` says so."""

    class Wrapper(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, inner):
            place = {}
            if "strides" in told:
                place["strides"] = inner.stride()
            if "offset" in told:
                place["storage_offset"] = inner.storage_offset()
            r = torch.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype, device=inner.device, **place)
            r.inner = inner
            return r

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            def plain(x):
                return x.inner if isinstance(x, cls) else x
            out = func(*tree_map(plain, args), **tree_map(plain, kwargs or {}))
            if func._schema.is_mutable:
                return args[0]
            return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, out)

    return Wrapper


WRITES = {
    "rows": lambda b: b[1:3].mul_(3),
    "a row of rows": lambda b: b[1:][1].mul_(3),
    "transposed": lambda b: b.t()[1].mul_(3),
    "column": lambda b: b[:, 2].mul_(5),
    "diagonal": lambda b: b.diagonal().mul_(5),
    "part of a flat view": lambda b: b.view(-1)[5:7].mul_(5),
    "by another tensor": lambda b: b[2].mul_(b[1].sum()),
    "twice": lambda b: (b[1:][0].mul_(2), b.t()[3].mul_(b[0, 0].clone())),
}


@pytest.mark.parametrize("told", [(), ("strides",), ("strides", "offset")], ids=["nothing", "strides", "all"])
@pytest.mark.parametrize("write", WRITES)
def test_gradient_after_a_write_to_a_view(told, write):
    x = torch.arange(12.).view(3, 4)
    leaf = x.clone().requires_grad_()
    base = leaf * 1
    WRITES[write](base)
    (base * base).sum().backward()
    wrapped = make(told)(x.clone()).requires_grad_()
    other = wrapped * 1
    WRITES[write](other)
    assert torch.equal(other.inner, base.detach())
    (other * other).sum().backward()
    assert torch.equal(wrapped.grad.inner, leaf.grad)


@pytest.mark.parametrize("told", [(), ("strides", "offset")], ids=["nothing", "all"])
def test_view_of_a_base_that_is_written(told):
    wrapped = make(told)(torch.arange(12.).view(3, 4)).requires_grad_()
    base = wrapped * 1
    view = base[1:3]
    assert view._is_view() and view._base is base and view._version == base._version == 0
    base.mul_(3)
    assert view._version == base._version == 1
    view.sum().backward()
    assert torch.equal(wrapped.grad.inner, torch.tensor([0., 3., 3.])[:, None].expand(3, 4))


def test_saved_tensors_see_writes_to_their_views():
    wrapped = make(())(torch.ones(3)).requires_grad_()
    base = wrapped * 1
    out = (base * base).sum()
    base[1:].mul_(2)
    with pytest.raises(RuntimeError):
        out.backward()


class Scaled(torch.Tensor):
    """int8 elements and a scale; it has no memory of its own."""

    @staticmethod
    def __new__(cls, q, scale):
        return torch.Tensor._make_wrapper_subclass(cls, q.shape, dtype=torch.float32)

    def __init__(self, q, scale):
        self.q, self.scale = q, scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.clone.default):
            return cls(args[0].q, args[0].scale)
        return func(*(a.q.float() * a.scale if isinstance(a, Scaled) else a for a in args), **(kwargs or {}))


class Unclonable(Scaled):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.zeros(args[0].shape)


def test_copies_of_what_has_no_memory():
    import copy
    import io
    import pickle
    t = Scaled(torch.tensor([1, -2, 3], dtype=torch.int8), torch.tensor(0.5))
    shallow, deep, pickled = copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t))
    file = io.BytesIO()
    torch.save({"t": t}, file)
    file.seek(0)
    for made in (shallow, deep, pickled, torch.load(file, weights_only=False)["t"]):
        assert type(made) is Scaled and made.shape == (3,) and made.q.tolist() == [1, -2, 3] and (made + 1).tolist() == [1.5, 0, 2.5]
    assert shallow.q is t.q and deep.q is not t.q
    u = Unclonable(t.q, t.scale)
    assert type(copy.copy(u)) is Unclonable
    with pytest.raises(RuntimeError, match="clone.*Tensor.*must give a Unclonable"):
        copy.deepcopy(u)
