"""TorchDispatchMode and classes with __torch_dispatch__. Lists of operators are those PyTorch 2.14 gives to the same programs."""
import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import (
    TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode, _get_current_dispatch_mode_stack,
    is_traceable_wrapper_subclass, return_and_correct_aliasing, transform_subclass)
from torch.utils._pytree import tree_map


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((func, types, args, kwargs))
        return func(*args, **(kwargs or {}))

    @property
    def names(self):
        return [str(c[0]).removeprefix("aten.") for c in self.calls]


def seen(f, *args):
    with Log() as log:
        f(*args)
    return log.names


X = torch.arange(12.).reshape(4, 3)
W = torch.ones(5, 3, requires_grad=True)
B = torch.ones(5, requires_grad=True)


@pytest.mark.parametrize("run, expected", [
    (lambda: F.linear(X, W, B), "t.default addmm.default"),
    (lambda: F.linear(X[None], W, B), "unsqueeze.default view.default t.default addmm.default view.default"),
    (lambda: F.layer_norm(X, (3,), torch.ones(3), torch.zeros(3)), "ones.default zeros.default native_layer_norm.default"),
    (lambda: W.exp(), "exp.default detach.default"),
    (lambda: torch.tensor([1., 2.]), "lift_fresh.default"),
    (lambda: X[0, 0].item(), "select.int select.int _local_scalar_dense.default"),
    (lambda: list(X), "unbind.int"),
    (lambda: F.softmax(X, -1), "_softmax.default"),
    (lambda: F.cross_entropy(X, torch.tensor([0, 1, 2, 0])), "lift_fresh.default _log_softmax.default nll_loss_forward.default"),
    (lambda: 1 / X, "reciprocal.default mul.Tensor"),
    (lambda: X[torch.tensor([0, 1])], "lift_fresh.default index.Tensor"),
    (lambda: X[1:, None, ..., 0], "slice.Tensor unsqueeze.default select.int"),
    (lambda: X.mean(), "mean.default"),
    (lambda: X.sum(dim=1, keepdim=True), "sum.dim_IntList"),
    (lambda: X.to(torch.float64), "_to_copy.default"),
    (lambda: W.detach(), "detach.default"),
    (lambda: W.data, "detach.default"),
    (lambda: torch.ones(2, 3), "ones.default"),
    (lambda: torch.rand(2, 3), "rand.default"),
    (lambda: torch.arange(3), "arange.default"),
    (lambda: X[None] @ X.t(), "unsqueeze.default t.default view.default mm.default _unsafe_view.default"),
    (lambda: X.sum().item(), "sum.default _local_scalar_dense.default"),
    (lambda: X.clone().add_(1), "clone.default add_.Tensor"),
    (lambda: torch.add(X, X, out=torch.empty(4, 3)), "empty.memory_format add.out"),
    (lambda: torch.cat([X, X]), "cat.default"),
    (lambda: X.reshape(3, 4), "view.default"),
    (lambda: X.T, "permute.default"),
    (lambda: F.gelu(X), "gelu.default"),
    (lambda: F.conv2d(torch.ones(1, 2, 5, 5), torch.ones(3, 2, 3, 3)), "ones.default ones.default convolution.default"),
    (lambda: F.max_pool2d(torch.ones(1, 1, 4, 4), 2), "ones.default max_pool2d_with_indices.default"),
    (lambda: F.embedding(torch.tensor([0, 1]), X), "lift_fresh.default embedding.default"),
    (lambda: X ** 2, "pow.Tensor_Scalar"),
    (lambda: F.mse_loss(X, X), "mse_loss.default"),
    (lambda: torch.arccos(X / 20), "div.Tensor acos.default"),
    (lambda: torch.ones(2, 3, 4).flatten(1), "ones.default view.default"),
    (lambda: torch.numel(X), ""),
])
def test_operators_a_mode_sees(run, expected):
    assert seen(run) == expected.split()


def test_operators_of_a_training_step():
    """A step of a small classifier under a mode, forwards and backwards: what computes, without the bookkeeping of saved results."""
    torch.manual_seed(0)
    first, second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
    x, y = torch.ones(5, 3), torch.zeros(5, dtype=torch.long)
    loss = []
    forward = seen(lambda: loss.append(F.cross_entropy(second(F.relu(first(x))), y)))
    assert [n for n in forward if n != "detach.default"] == (
        "t.default addmm.default relu.default t.default addmm.default _log_softmax.default nll_loss_forward.default").split()
    backward = seen(lambda: loss[0].backward())
    assert backward[0] == "ones_like.default"
    computes = ("nll_loss_backward.default", "_log_softmax_backward_data.default", "mm.default", "sum.dim_IntList", "threshold_backward.default")
    assert [n for n in backward if n in computes] == (
        "nll_loss_backward.default _log_softmax_backward_data.default mm.default mm.default sum.dim_IntList threshold_backward.default "
        "mm.default sum.dim_IntList").split()


def test_arguments_are_split_and_defaults_dropped():
    with Log() as log:
        X.add(X, alpha=2)
        X.add(X, alpha=1)
        X.add(3)
        torch.sum(X, 1)
        torch.ones(2, 3, dtype=torch.float64)
    args = [(c[2], c[3]) for c in log.calls]
    assert args[0][0][0] is X and args[0][1] == {"alpha": 2}
    assert args[1][1] == {} and len(args[1][0]) == 2
    assert args[2][0][1] == 3 and type(args[2][0][1]) is int
    assert args[3] == ((X, [1]), {})
    assert args[4][0] == ([2, 3],)
    assert args[4][1] == {"dtype": torch.float64, "device": torch.device("cpu"), "pin_memory": False}
    assert all(c[1] == () for c in log.calls)


def test_the_function_is_one_object_for_each_overload():
    with Log() as log:
        X + 1
        X.add(X)
    add = torch.ops.aten.add
    assert log.calls[0][0] is log.calls[1][0] is add.Tensor
    f = add.Tensor
    assert (str(f), f.name(), f.__name__, f.namespace, f._overloadname) == ("aten.add.Tensor", "aten::add.Tensor", "add.Tensor", "aten", "Tensor")
    assert repr(f) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert f.overloadpacket is add and {f: 1}[add.Tensor] == 1
    assert not f.is_view and torch.ops.aten.view.default.is_view
    assert f._schema.name == "aten::add" and f._schema.overload_name == "Tensor"
    assert [a.name for a in f._schema.arguments] == ["self", "other", "alpha"]
    alpha = f._schema.arguments[2]
    assert (alpha.kwarg_only, alpha.has_default_value(), alpha.default_value, str(alpha.type)) == (True, True, 1, "number")
    assert not f._schema.is_mutable and torch.ops.aten.add_.Tensor._schema.is_mutable
    assert torch.ops.aten.add_.Tensor._schema.arguments[0].alias_info.is_write
    assert torch.Tag.pointwise in f.tags and torch.Tag.inplace in torch.ops.aten.add_.Tensor.tags
    assert torch.Tag.dynamic_output_shape in torch.ops.aten.nonzero.default.tags
    assert torch.Tag.data_dependent_output in torch.ops.aten._local_scalar_dense.default.tags
    with pytest.raises(AttributeError):
        add.no_such_overload
    with pytest.raises(AttributeError):
        torch.ops.aten.no_such_operator


def test_decompose():
    mm = torch.ops.aten.matmul.default
    assert mm.decompose(torch.ones(2, 2), torch.ones(2, 2)).equal(torch.full((2, 2), 2.))
    assert torch.ops.aten.add.Tensor.decompose(X, 1) is NotImplemented


def test_modes_nest_and_the_innermost_goes_first():
    order = []

    class Named(TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    assert _get_current_dispatch_mode() is None
    with Named("outer") as outer:
        with Named("inner") as inner:
            assert _get_current_dispatch_mode() is inner
            assert _get_current_dispatch_mode_stack() == [outer, inner]
            X + 1
            with _disable_current_modes() as modes:
                assert modes == [outer, inner]
                X + 1
            X.sum()
        X + 1
    assert order == ["inner", "outer", "inner", "outer", "outer"]
    assert _get_current_dispatch_mode() is None


def test_a_mode_ends_with_an_exception():
    class Bad(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            raise KeyError("from the mode")

    with pytest.raises(KeyError, match="from the mode"):
        with Bad():
            X + 1
    assert _get_current_dispatch_mode() is None
    assert (X + 1).sum() == X.sum() + 12


def test_nothing_is_recorded_within_a_mode():
    x = torch.ones(3, requires_grad=True)
    inner = []

    class Looks(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert torch.is_grad_enabled()
            r = func(*args, **(kwargs or {}))
            inner.append((args[0].requires_grad, r.requires_grad, r._is_view(), args[0]._version))
            return r

    with Looks():
        y = x * 2
        z = y.view(3, 1)
        y.add_(1)
    assert inner == [(True, False, False, 0), (True, False, False, 0), (True, True, False, 0)]
    assert type(y.grad_fn).__name__ == "AddBackward0" and z._is_view() and z._base is y and y._version == 1
    y.sum().backward()
    assert x.grad.tolist() == [2., 2., 2.]


def test_a_mode_may_replace_results():
    class Zero(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func is torch.ops.aten.mul.Tensor:
                return torch.zeros_like(args[0])
            if func is torch.ops.aten.sort.stable:
                return [args[0], torch.zeros(12, dtype=torch.long)]
            return func(*args, **(kwargs or {}))

    with Zero():
        assert (X * 3).sum().item() == 0
        values, indices = X.reshape(-1).clone().sort()
    assert indices.sum() == 0 and values.shape == (12,)


def test_results_that_do_not_fit():
    class Gives(TorchDispatchMode):
        def __init__(self, result):
            super().__init__()
            self.result = result

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return self.result

    x = torch.ones(2)
    with Gives(None):
        assert x + 1 is None
    with pytest.raises(RuntimeError, match="add.Tensor"), Gives(3):
        x + 1
    with pytest.raises(RuntimeError, match="results"), Gives((x,)):
        x.sort()
    with pytest.raises(RuntimeError), Gives("text"):
        x.sum().item()
    with pytest.raises(RuntimeError), Gives("text"):
        x.equal(x)
    with pytest.raises(RuntimeError), Gives(x):
        x.split(1)
    with pytest.raises(RuntimeError, match="view"), Gives(x):
        x.view(2, 1)
    with pytest.raises(TypeError), Gives(NotImplemented):
        torch.add(x, 1)
    with Gives(torch.zeros(3)):
        assert x.add_(1) is x
    assert x.tolist() == [1., 1.]


def test_fast_paths_do_not_pass_a_mode_by():
    x = torch.ones(3)
    for run, name in [(lambda: x + x, "add.Tensor"), (lambda: x * 2.0, "mul.Tensor"), (lambda: -x, "neg.default"), (lambda: x[0], "select.int"),
                      (lambda: x == x, "eq.Tensor"), (lambda: x.sum().item(), "_local_scalar_dense.default"),
                      (lambda: abs(x), "abs.default"), (lambda: x @ x, "dot.default"), (lambda: x.to("cpu", torch.int32), "_to_copy.default"),
                      (lambda: float(x[0]), "select.int"), (lambda: torch.zeros(2), "zeros.default"), (lambda: x.new_zeros(2), "new_zeros.default")]:
        assert name in seen(run), name


# ---- classes ----

class Wrapper(torch.Tensor):
    calls = []

    @staticmethod
    def __new__(cls, inner, **kwargs):
        self = torch.Tensor._make_wrapper_subclass(cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
                                                         device=inner.device, **kwargs)
        self.inner = inner
        return self

    def __repr__(self, *, tensor_contents=None):
        return f"Wrapper({self.inner})"

    def __tensor_flatten__(self):
        return ["inner"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        return Wrapper(inner["inner"])

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        Wrapper.calls.append(str(func))
        args, kwargs = tree_map(lambda x: x.inner if isinstance(x, Wrapper) else x, (args, kwargs or {}))
        return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*args, **kwargs))


def test_wrapper():
    w = Wrapper(torch.arange(6.).reshape(2, 3))
    assert (w.shape, w.stride(), w.device, w.dtype, w.requires_grad, w.is_leaf) == ((2, 3), (3, 1), torch.device("cpu"), torch.float32, False, True)
    assert w.data_ptr() == 0 and is_traceable_wrapper_subclass(w) and not is_traceable_wrapper_subclass(w.inner)
    r = w + 1
    assert type(r) is Wrapper and r.inner.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert type(r.sum()) is Wrapper and w.sum().item() == 15
    assert [type(x) for x in w] == [Wrapper, Wrapper]
    assert w.view(-1).shape == (6,) and w.T.stride() == (1, 3) and w[0].inner.tolist() == [0, 1, 2]
    assert torch.cat([w, w]).shape == (4, 3) and torch.ones_like(w).inner.sum() == 6
    assert type(w.detach()) is Wrapper and type(w.data) is Wrapper and bool(w.sum() > 0)
    doubled = transform_subclass(w, lambda name, inner: inner * 2)
    assert doubled.inner.sum() == 30


def test_autograd_stands_above_a_wrapper():
    w = Wrapper(torch.tensor([1., 2., 3.]), requires_grad=True)
    y = (w * w).exp()
    assert y.grad_fn.name() == "ExpBackward0" and not y.inner.requires_grad
    Wrapper.calls.clear()
    y.sum().backward()
    assert type(w.grad) is Wrapper
    assert torch.allclose(w.grad.inner, 2 * w.inner * (w.inner ** 2).exp())
    assert "aten.exp.default" not in Wrapper.calls
    w.sum().backward()  # accumulates
    assert torch.allclose(w.grad.inner, 2 * w.inner * (w.inner ** 2).exp() + 1)
    z = Wrapper(torch.ones(2))
    z.add_(1)
    assert z.inner.tolist() == [2., 2.] and z._version == 1
    with pytest.raises(RuntimeError):
        w.add_(1)


def test_parameter_of_a_wrapper():
    p = torch.nn.Parameter(Wrapper(torch.ones(2)))
    assert type(p) is Wrapper and isinstance(p, torch.nn.Parameter) and p.requires_grad
    m = torch.nn.Linear(2, 2)
    m.weight = torch.nn.Parameter(Wrapper(torch.ones(2, 2)))
    out = m(torch.ones(1, 2))
    assert type(out) is Wrapper
    out.sum().backward()
    assert m.weight.grad.inner.tolist() == [[1., 1.], [1., 1.]] and m.bias.grad.inner.tolist() == [1., 1.]


def test_views_of_a_wrapper_share_its_storage():
    class Aliasing(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            out = super().__torch_dispatch__(func, types, args, kwargs)
            return return_and_correct_aliasing(func, args, kwargs or {}, out)

    a = Aliasing(torch.arange(4.))
    v = a.view(2, 2)
    assert v._is_view() and v._base is a and a.add_(1) is a
    assert v.inner.tolist() == [[1., 2.], [3., 4.]] and v._version == a._version == 1
    b = Aliasing(torch.ones(3), requires_grad=True)
    c = b * 2
    c[1:].mul_(3)
    c.sum().backward()
    assert b.grad.inner.tolist() == [2., 6., 6.]


def test_a_mode_goes_before_a_class_and_not_implemented_passes_on():
    class Passes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.types = types
            return NotImplemented if types else func(*args, **(kwargs or {}))

    w = Wrapper(torch.ones(2))
    with Passes() as mode:
        r = w.add(1)
    assert type(r) is Wrapper and r.inner.tolist() == [2., 2.] and mode.types == ()
    Wrapper.calls.clear()
    with Log() as log:
        w + 1
    # The mode, then the class, whose own call the mode sees no more: it is off while it runs.
    assert log.names == ["add.Tensor"] and Wrapper.calls == ["aten.add.Tensor"] and log.calls[0][1] == (Wrapper,)


def test_subclasses_go_before_their_bases():
    class Inner(Wrapper):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            assert types == (Inner, Wrapper)
            return "taken" if func is torch.ops.aten.mul.Tensor else NotImplemented

    a, b = Wrapper(torch.ones(2)), Inner(torch.ones(2))
    with pytest.raises(RuntimeError, match="mul.Tensor"):
        a * b
    assert type(a + b) is Wrapper


def test_elements_of_a_wrapper_are_not_there():
    w = Wrapper(torch.ones(2))
    for f in (lambda: w.numpy(), lambda: w.tolist()):
        with pytest.raises(RuntimeError):
            f()
    with torch._C._DisableTorchDispatch():
        with pytest.raises(RuntimeError, match="no memory"):
            w + 1
    with pytest.raises(RuntimeError):
        torch.ones(2).data = w
    assert (w + 1).inner.tolist() == [2., 2.]


def test_make_wrapper_refuses():
    make = torch.Tensor._make_wrapper_subclass

    class Plain(torch.Tensor):
        pass

    for args, kind in [((torch.Tensor, (2,)), TypeError), ((Plain, (2,)), TypeError), ((3, (2,)), TypeError), ((Wrapper, 2), TypeError),
                       ((Wrapper, (-2, 3)), RuntimeError), ((Wrapper, (2, 3), (1,)), RuntimeError), ((Wrapper, (2 ** 40, 2 ** 40)), RuntimeError)]:
        with pytest.raises(kind):
            make(*args)
    assert make(Wrapper, (2, 3), device="meta").device.type == "meta"
    assert make(Wrapper, (2, 3), strides=(1, 2), storage_offset=3).storage_offset() == 3


def test_make_subclass_with_elements():
    class Counting(torch.Tensor):
        count = 0

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            Counting.count += 1
            with torch._C._DisableTorchDispatch():
                return func(*args, **(kwargs or {}))

    x = torch.Tensor._make_subclass(Counting, torch.ones(2))
    assert Counting.count == 0
    assert (x + 1).tolist() == [2., 2.] and Counting.count == 1
    assert not hasattr(torch.Tensor.__torch_dispatch__, "__func__")


def test_objects_of_wrappers_live_with_their_tensors():
    w = Wrapper(torch.ones(3), requires_grad=True)
    y = w * w
    ref = weakref.ref(w)
    w.note = "kept"
    del w
    gc.collect()
    y.sum().backward()
    assert ref() is not None and ref().note == "kept" and ref().grad.inner.tolist() == [2., 2., 2.]
    del y
    gc.collect()
    assert ref() is None


def test_attributes_live_with_a_tensor_whose_object_is_garbage():
    def product():
        x = torch.ones(3, requires_grad=True)
        x.note, garbage = "kept", [x]
        garbage.append(garbage)
        return x * x

    y = product()
    gc.collect()
    assert y.grad_fn.next_functions[0][0].variable.note == "kept"

    def cycle():
        x = torch.ones(3)
        x.itself, x.note = [x], Wrapper(torch.ones(1))
        return weakref.ref(x.note)

    note = cycle()
    gc.collect()
    assert note() is None
