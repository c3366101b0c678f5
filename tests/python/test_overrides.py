"""Types and modes that take over operators."""
import pickle
import threading

import contextlib

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
    with pytest.raises(TypeError, match=r"torch\.add.*_Declines"):
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


# ---- who is asked, and what if nobody answers: recorded from PyTorch 2.14.1 ----

def _mode(name, log, declines):
    def call(self, func, types, args=(), kwargs=None):
        log.append((name, func, tuple(t.__name__ for t in types)))
        return NotImplemented if declines else func(*args, **(kwargs or {}))
    return type(name, (torch.overrides.TorchFunctionMode,), {"__torch_function__": call})()


def _class(name, log, declines):
    def call(cls, func, types, args=(), kwargs=None):
        log.append((name, func, tuple(t.__name__ for t in types)))
        return NotImplemented if declines else super(made, cls).__torch_function__(func, types, args, kwargs)
    made = type(name, (torch.Tensor,), {"__torch_function__": classmethod(call)})
    return made


_ASKED = {  # (outer and inner mode, class of the argument): who is called; "-" ends in TypeError
    ("N", None): "N -", ("NP", None): "P N -", ("PN", None): "N -", ("NM", None): "M -", ("", "D"): "D -", ("", "K"): "K",
    ("N", "D"): "N D -", ("NP", "D"): "P N D -", ("PN", "D"): "N D -", ("N", "K"): "N K N -", ("NP", "K"): "P N K N -", ("P", "K"): "P K"}


@pytest.mark.parametrize("call", [lambda x: torch.add(x, 1), lambda x: x.add(1), lambda x: x + 1, lambda x: x[0], lambda x: torch.ops.aten.add.Tensor(x, 1),
                                  lambda x: torch.ops.aten.add(x, 1)], ids=["function", "method", "operator", "indexed", "overload", "packet"])
@pytest.mark.parametrize("modes, cls", list(_ASKED))
def test_not_implemented_goes_on_to_the_next_and_ends_in_a_type_error(call, modes, cls):
    log = []
    kinds = {n: _mode(n, log, n != "P") for n in "NMP"}
    x = torch.ones(2) if cls is None else torch.ones(2).as_subclass(_class(cls, log, cls == "D"))
    log.clear()
    *asked, end = _ASKED[modes, cls].split() if _ASKED[modes, cls].endswith("-") else (*_ASKED[modes, cls].split(), "")
    with contextlib.ExitStack() as stack:
        for m in modes:
            stack.enter_context(kinds[m])
        if end:
            with pytest.raises(TypeError):
                call(x)
        else:
            call(x)
    assert [name for name, _, _ in log][:len(asked)] == asked


def test_comparisons_that_all_decline_compare_identity():
    x = torch.ones(2)
    with _mode("N", [], True):
        assert (x == 1) is False and (x != 1) is True and (x == x) is True and x.__iadd__(1) is NotImplemented
        for f in (lambda: x < 1, lambda: 1 - x, lambda: 2**x, lambda: float(torch.ones(()))):
            with pytest.raises(TypeError):
                f()


def test_functions_of_python_decline_in_the_same_way():
    log = []
    for f in (lambda x: torch.split(x, 1), lambda x: torch.nn.functional.softmax(x, 0), lambda x: x.split(1), lambda x: torch.tensor([1.0]), lambda x: torch.zeros(2),
              lambda x: torch.numel(x), lambda x: len(x)):
        with _mode("N", log, True), pytest.raises(TypeError, match="NotImplemented"):
            f(torch.ones(2))
    with pytest.raises(TypeError, match="D"):
        torch.ones(2).as_subclass(_class("D", log, True)).shape


_PROPERTIES = ["H", "T", "_base", "_cdata", "_version", "data", "device", "dtype", "grad", "grad_fn", "imag", "is_cpu", "is_cuda", "is_leaf", "is_meta",
               "is_mkldnn", "is_mps", "is_nested", "is_quantized", "is_sparse", "is_sparse_csr", "is_xla", "is_xpu", "itemsize", "layout", "mH", "mT", "name",
               "nbytes", "ndim", "output_nr", "real", "requires_grad", "retains_grad", "shape"]


@pytest.mark.parametrize("name", _PROPERTIES)
def test_attributes_reach_modes_and_classes(name):
    log = []
    x = torch.ones(2, 2, dtype=torch.complex64 if name == "imag" else torch.float32)
    s = x.as_subclass(_class("K", log, False))
    plain = getattr(x, name)
    log.clear()
    with _mode("P", log, False):
        seen = getattr(x, name)
    assert log == [("P", getattr(torch.Tensor, name).__get__, ("Tensor",))] and type(seen) is type(plain)
    log.clear()
    seen = getattr(s, name)
    assert log == [("K", getattr(torch.Tensor, name).__get__, ("K",))]
    assert type(seen) is (type(s) if name in ("H", "T", "data", "imag", "mH", "mT", "real") else torch.Tensor if name == "_base" else type(plain))


def test_attributes_that_are_set_and_deleted():
    log = []
    for x in (torch.ones(2), torch.ones(2).as_subclass(_class("K", log, False))):
        for name, value in (("grad", torch.zeros(2)), ("_grad", None), ("requires_grad", True), ("data", torch.zeros(2)), ("real", torch.ones(2))):
            log.clear()
            with _mode("P", log, False), torch.no_grad():
                setattr(x, name, value)
            assert log[0][1] == getattr(torch.Tensor, name.lstrip("_")).__set__
        log.clear()
        with _mode("P", log, False):
            del x.grad
        assert log[0][1] == torch.Tensor.grad.__delete__ and x.grad is None


@pytest.mark.parametrize("name, args", [("size", ()), ("size", (0,)), ("stride", ()), ("dim", ()), ("numel", ()), ("nelement", ()), ("element_size", ()), ("data_ptr", ()), ("is_contiguous", ()),
                                        ("storage_offset", ()), ("is_floating_point", ()), ("is_complex", ()), ("untyped_storage", ()), ("requires_grad_", ()), ("tolist", ()), ("numpy", ()),
                                        ("__len__", ()), ("type", ()), ("type_as", (torch.ones(1),)), ("split", (1,)), ("storage", ()), ("is_shared", ()), ("get_device", ()), ("__contains__", (1,)),
                                        ("__array__", ())])
def test_methods_reach_modes_and_classes(name, args):
    log = []
    x = torch.ones(2, 2)
    s = x.as_subclass(_class("K", log, False))
    for who, t in (("P", x), ("K", s)):
        log.clear()
        with _mode("P", log, False) if who == "P" else contextlib.nullcontext():
            getattr(t, name)(*args)
        assert log[0][:2] == (who, getattr(torch.Tensor, name))


def test_numbers_of_a_tensor_and_functions_that_make_tensors():
    log = []
    x = torch.ones(())
    with _mode("P", log, False):
        float(x), int(x), bool(x)
        [1, 2][torch.tensor(1)]
        torch.as_tensor([1.0])
        torch.numel(x), torch.is_floating_point(x), torch.result_type(x, 1), torch.can_cast(torch.float32, torch.float64), torch.promote_types(torch.float32, torch.float64)
    assert [f for _, f, _ in log] == [torch.Tensor.__float__, torch.Tensor.__int__, torch.Tensor.__bool__, torch.tensor, torch.Tensor.__index__, torch.as_tensor, torch.numel,
                                     torch.is_floating_point, torch.result_type, torch.can_cast, torch.promote_types]
    assert [t for _, _, t in log[3:4] + log[5:]] == [()] * 7


def test_modes_are_asked_where_subclasses_are_plain():
    log = []
    s = torch.ones(2).as_subclass(_class("K", log, False))
    with torch._C.DisableTorchFunctionSubclass(), _mode("P", log, False):
        r = s + 1
    assert type(r) is torch.Tensor and [(n, t) for n, _, t in log] == [("P", ())]
    with _mode("P", log, False), torch._C.DisableTorchFunction():
        log.clear()
        s + 1
    assert log == []


def test_numbers_reach_modes_and_the_older_constructors_do_not():
    log = []
    with _mode("P", log, False):
        assert (torch.sym_max(1, 2), torch.sym_min(1, 2), torch.sym_int(1.5), torch.sym_float(1), torch.sym_not(True)) == (2, 1, 1, 1.0, False)
        assert [f for _, f, _ in log] == [torch.sym_max, torch.sym_min, torch.sym_int, torch.sym_float, torch.sym_not]
        log.clear()
        a, b, c = torch.Tensor(2), torch.FloatTensor([1.0, 2.0]), torch.Tensor([1.0])
    assert log == [] and a.shape == (2,) and b.tolist() == [1, 2] and c.tolist() == [1]
