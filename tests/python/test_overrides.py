"""Types and modes that take over operators."""
import pickle
import threading

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import overrides  # noqa: E402


class Tagged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Recorder(overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(overrides.resolve_name(func))
        return func(*args, **(kwargs or {}))


def test_subclass_sees_operators_and_keeps_its_type():
    s = torch.ones(2).as_subclass(Tagged)
    Tagged.calls.clear()
    out = torch.add(s, 1)
    assert type(out) is Tagged and torch.add in Tagged.calls
    assert overrides.has_torch_function((s,)) and overrides.has_torch_function_unary(s)
    assert not overrides.has_torch_function_variadic(torch.ones(1), 3)
    assert overrides.is_tensor_like(s) and not overrides.is_tensor_like(3)


class Plain(torch.Tensor):
    pass


class Narrower(Plain):
    pass


class Other(torch.Tensor):
    pass


KEEPS = {
    "function": lambda x: torch.sin(x), "method": lambda x: x.mean(), "operators": lambda x: 2 ** (1 - (1 + x) / 3), "division": lambda x: 1 / x,
    "comparison": lambda x: x > 1, "index": lambda x: x[0], "index by a list": lambda x: x[[0]], "transposed": lambda x: x.T, "data": lambda x: x.data,
    "real": lambda x: x.real, "detach": lambda x: x.detach(), "two results": lambda x: x.max(0).values, "parts": lambda x: x.split(1)[1], "each": lambda x: list(x)[0],
    "relu": lambda x: torch.nn.functional.relu(x), "softmax": lambda x: torch.nn.functional.softmax(x, 0), "linear": lambda x: torch.nn.functional.linear(x, torch.ones(2, 3)),
    "like": lambda x: torch.zeros_like(x), "new": lambda x: x.new_zeros(2), "clone": lambda x: x.clone(), "to": lambda x: x.double(), "cat": lambda x: torch.cat([torch.ones(3, 3), x]),
    "product": lambda x: torch.ones(3, 3) @ x, "in place": lambda x: x.clone().add_(1), "where": lambda x: torch.where(x > 0, x, 0), "unique": lambda x: torch.unique(x),
    "einsum": lambda x: torch.einsum("ij->ji", x), "norm": lambda x: torch.linalg.vector_norm(x), "erf": lambda x: torch.special.erf(x), "pickled": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("name", KEEPS)
def test_a_subclass_without_a_function_of_its_own_keeps_its_type(name):
    x = torch.rand(3, 3).as_subclass(Plain)
    got = KEEPS[name](x)
    assert type(got) is Plain
    if name != "pickled":
        assert torch.equal(got.as_subclass(torch.Tensor), KEEPS[name](x.as_subclass(torch.Tensor)))


def test_types_of_two_subclasses():
    plain, narrower, other = (torch.ones(2).as_subclass(c) for c in (Plain, Narrower, Other))
    assert type(plain + narrower) is Narrower and type(narrower + plain) is Narrower and type(plain + torch.nn.Parameter(torch.ones(2))) is Plain
    with pytest.raises(TypeError):
        plain + other
    with torch._C.DisableTorchFunctionSubclass():
        assert type(plain + 1) is torch.Tensor
    assert type(torch.nn.Parameter(torch.ones(2)) * 2) is torch.Tensor
    assert isinstance(plain.shape, torch.Size) and plain.grad is None and plain.numpy().tolist() == [1, 1] and plain[0].item() == 1


def test_attributes_that_are_tensors_ask_the_class():
    s = torch.ones(2, 2).as_subclass(Tagged)
    Tagged.calls.clear()
    s.T, s.data, s.real
    assert Tagged.calls == [torch.Tensor.T.__get__, torch.Tensor.data.__get__, torch.Tensor.real.__get__]


def test_threads_do_not_see_each_others_modes():
    seen = []
    with Recorder() as mode:
        t = threading.Thread(target=lambda: seen.append(torch.ones(2).as_subclass(Plain) + 1))
        t.start()
        t.join()
        assert mode.names == [] and type(seen[0]) is Plain
    with torch._C.DisableTorchFunctionSubclass():
        t = threading.Thread(target=lambda: seen.append(torch.ones(2).as_subclass(Plain) + 1))
        t.start()
        t.join()
    assert type(seen[1]) is Plain


def test_mode_sees_functions_and_is_off_within():
    with Recorder() as mode:
        torch.add(torch.ones(1), 1)
    assert "torch.add" in mode.names
    count = len(mode.names)
    torch.add(torch.ones(1), 1)
    assert len(mode.names) == count
    with overrides.BaseTorchFunctionMode():
        assert torch.add(torch.ones(1), 1).item() == 2


def test_a_function_of_python_can_be_taken_over():
    @overrides.wrap_torch_function(lambda x, scale=1: (x,))
    def scaled(x, scale=1):
        return x * scale

    class Unit:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "taken", func.__name__, kwargs

    assert scaled(torch.ones(1), scale=3).item() == 3
    assert scaled(Unit(), scale=2) == ("taken", "scaled", {"scale": 2})

    class Declines:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="Declines"):
        scaled(Declines())


def test_names():
    assert overrides.resolve_name(torch.add) == "torch.add"
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert torch.Tensor.grad.__get__ in overrides.get_default_nowrap_functions()


class _Declines(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class _Answers(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return 5


class _DecliningMode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


class _CallingMode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_what_all_handlers_decline_is_a_type_error():
    x, declines, answers = torch.ones(2), torch.ones(2).as_subclass(_Declines), torch.ones(2).as_subclass(_Answers)
    with pytest.raises(TypeError, match=r"torch\.add .*_Declines"):
        torch.add(declines, 1)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: '_Declines' and 'int'"):
        declines + 1
    assert torch.add(declines, answers) == declines + answers == 5
    for call in (lambda: torch.add(x, 1), lambda: torch.nn.functional.linear(x, x), lambda: x.add_(1), lambda: torch.ones(2)):
        with pytest.raises(TypeError, match="_DecliningMode"), _DecliningMode():
            call()
        with pytest.raises(TypeError, match="_DecliningMode"), _DecliningMode(), _CallingMode():
            call()
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+"), _DecliningMode():
        x + 1
    with _DecliningMode():   # the classes of the arguments are asked next
        assert torch.add(answers, 1) == answers + 1 == 5
