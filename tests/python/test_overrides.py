"""Types and modes that take over operators."""
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
