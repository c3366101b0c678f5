"""Containers of modules and parameters behave as lists and dicts, and register what they hold."""

import copy
from collections import OrderedDict

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import nn  # noqa: E402

if any(not hasattr(torch, n) for n in ("relu", "sub", "lt", "std", "allclose", "matmul")):
    pytest.skip("the operators of layers are needed", allow_module_level=True)


def names(container):
    return [type(m).__name__ for m in container]


def test_sequential_as_a_list():
    s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    assert names(s[1:]) == ["Tanh", "Sigmoid"] and isinstance(s[-1], nn.Sigmoid) and len(s) == 3
    with pytest.raises(IndexError):
        s[3]
    with pytest.raises(TypeError):
        s["a"]
    s[0] = nn.Identity()
    assert names(s.append(nn.ELU())) == ["Identity", "Tanh", "Sigmoid", "ELU"]
    s.insert(1, nn.GELU())
    s.insert(-1, nn.Mish())
    assert names(s) == ["Identity", "GELU", "Tanh", "Sigmoid", "Mish", "ELU"]
    assert isinstance(s.pop(0), nn.Identity)
    del s[0]
    assert list(s._modules) == ["0", "1", "2", "3"] and names(s)[0] == "Tanh"
    assert names(s[:1] + s[:1]) == ["Tanh", "Tanh"] and names(s[:1] * 2) == names(2 * s[:1])
    for wrong, error in ((0, ValueError), ("a", TypeError)):
        with pytest.raises(error):
            s * wrong
    with pytest.raises(ValueError):
        s + [nn.ReLU()]
    with pytest.raises(TypeError):
        s.append(3)
    with pytest.raises(IndexError):
        s.insert(99, nn.ReLU())
    assert not [k for k in dir(s) if k.isdigit()]


def test_sequential_from_a_dict_keeps_names():
    s = nn.Sequential(OrderedDict(first=nn.Identity(), second=nn.Identity()))
    assert [n for n, _ in s.named_children()] == ["first", "second"]
    assert list(s[:1]._modules) == ["first"]
    assert s(3) == 3


def test_module_list():
    m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    m.append(nn.ELU()).extend([nn.GELU(), nn.GELU()])
    m.insert(1, nn.Mish())
    assert names(m) == ["ReLU", "Mish", "Tanh", "ELU", "GELU", "GELU"]
    assert names(m[1:3]) == ["Mish", "Tanh"] and names(m + [nn.ReLU()])[-1] == "ReLU"
    del m[0]
    assert list(m._modules) == [str(i) for i in range(5)] and isinstance(m.pop(0), nn.Mish)
    assert repr(m[2:]) == ("ModuleList(\n  (0-1): 2 x GELU(approximate='none')\n)")
    for wrong in (3, nn.ReLU()):
        with pytest.raises(TypeError):
            m.extend(wrong)
    with pytest.raises(NotImplementedError):
        m(1)


def test_module_dict():
    d = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    d.update([("c", nn.ELU())])
    d["d"] = nn.GELU()
    assert list(d) == ["a", "b", "c", "d"] and "c" in d and len(d) == 4
    assert isinstance(d.pop("a"), nn.ReLU) and list(d.keys()) == ["b", "c", "d"]
    with pytest.raises(KeyError):
        d["a"]
    for wrong, error in (
        (3, TypeError),
        ([3], TypeError),
        ([(1, 2, 3)], ValueError),
        ({1: nn.ReLU()}, TypeError),
        ({"keys": nn.ReLU()}, KeyError),
        ({"x.y": nn.ReLU()}, KeyError),
    ):
        with pytest.raises(error):
            nn.ModuleDict(wrong)
    d.clear()
    assert len(d) == 0


def test_parameter_list():
    p = nn.Parameter(torch.ones(2))
    m = nn.ParameterList([p, torch.zeros(3), "x"])
    assert m[0] is p and isinstance(m[1], nn.Parameter) and m[2] == "x"
    assert [n for n, _ in m.named_parameters()] == ["0", "1"] and len(m) == 3
    m.append(torch.ones(1)).extend([torch.ones(1)])
    m[0] = torch.ones(5)
    assert m[0].shape == (5,) and len(m[1:]) == 4
    assert repr(m[:1]) == ("ParameterList(  (0): Parameter containing: [torch.float32 of size 5])")
    assert torch.equal(copy.deepcopy(m)[0], m[0])
    with pytest.raises(IndexError):
        m[9]
    with pytest.raises(TypeError):
        nn.ParameterList(torch.ones(2))


def test_parameter_dict():
    m = nn.ParameterDict({"b": torch.ones(2), "a": nn.Parameter(torch.ones(3)), "c": "x"})
    assert list(m) == ["a", "b", "c"] and isinstance(m["b"], nn.Parameter) and m["c"] == "x"
    assert [n for n, _ in m.named_parameters()] == ["a", "b"]
    assert m.setdefault("d", torch.ones(1)).shape == (1,) and m.get("nothing", 7) == 7
    assert m.popitem()[0] == "d" and m.pop("c") == "x"
    other = nn.ParameterDict({"z": torch.ones(1)})
    assert list(m | other) == ["a", "b", "z"] and list(reversed(m)) == ["b", "a"]
    with pytest.raises(AttributeError):
        m["nothing"]
    with pytest.raises(TypeError):
        m[3]
    m.clear()
    assert len(m) == 0 and not list(m.parameters())
