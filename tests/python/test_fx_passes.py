"""Passes over graphs: shapes, splitting, replacing, pass managers, fusing. Texts are those of PyTorch 2.14.1."""
import operator

import pytest
import torch
import torch.fx as fx
import torch.nn.functional as F
from torch import nn
from torch.fx.experimental.optimization import fuse, remove_dropout
from torch.fx.operator_schemas import normalize_function, normalize_module, type_matches
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.infra.pass_base import PassBase, PassResult
from torch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper, this_before_that_pass_constraint
from torch.fx.passes.operator_support import create_op_support
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.split_module import split_module
from torch.fx.passes.tools_common import legalize_graph


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.l, self.w = nn.Conv2d(3, 4, 3), nn.Linear(4, 2), nn.Parameter(torch.ones(4))

    def forward(self, x, y):
        a = self.c(x).relu()
        b = a.flatten(2).mean(-1)
        d = self.l(b * self.w + y)
        e, f = torch.split(d, 1, 1)
        return e + f, d.shape[0], a


def test_shapes():
    gm = fx.symbolic_trace(Net())
    ShapeProp(gm).propagate(torch.randn(2, 3, 8, 8), torch.ones(4))
    meta = {n.name: n.meta.get("tensor_meta") for n in gm.graph.nodes}
    assert str(meta["c"]) == (
        "TensorMetadata(shape=torch.Size([2, 4, 6, 6]), dtype=torch.float32, requires_grad=True, stride=(144, 36, 6, 1), "
        "memory_format=torch.contiguous_format, is_quantized=False, qparams={})")
    assert meta["getitem"].memory_format is None and meta["split"][1].stride == (2, 1) and meta["getitem_2"] is None
    assert meta["output"][1] == 2 and gm.graph.output_node().meta["type"] is tuple


def test_splitting():
    m = Net()
    gm = fx.symbolic_trace(m)
    count = [-1]

    def by_four(n):
        count[0] += 1
        return count[0] // 4
    names = {}
    parts = split_module(gm, m, by_four, names)
    assert parts.code.strip().split("\n")[1:] == [
        "    w = self.w", "    submod_0 = self.submod_0(x);  x = None", "    getitem = submod_0[0]",
        "    getitem_1 = submod_0[1];  submod_0 = None",
        "    submod_1 = self.submod_1(getitem, w, y);  getitem = w = y = None", "    getitem_2 = submod_1[0]",
        "    getitem_3 = submod_1[1];  submod_1 = None",
        "    submod_2 = self.submod_2(getitem_2, getitem_3);  getitem_2 = getitem_3 = None",
        "    getitem_4 = submod_2[0]", "    getitem_5 = submod_2[1];  submod_2 = None",
        "    submod_3 = self.submod_3(getitem_4);  getitem_4 = None", "    return (getitem_5, submod_3, getitem_1)"]
    assert parts.submod_1.code == (
        "\n\n\ndef forward(self, mean, w, y):\n    mul = mean * w;  mean = w = None\n    add = mul + y;  mul = y = None\n"
        "    l = self.l(add);  add = None\n    split = torch.functional.split(l, 1, dim = 1)\n    return (split, l)\n    ")
    assert names == {"submod_0.c": "c", "submod_1.l": "l"}
    x, y = torch.randn(2, 3, 8, 8), torch.ones(4)
    assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(parts(x, y), m(x, y)))

    def chain(x, y):
        a = x + 1
        c = (a * y).relu()
        return c - a
    g = fx.symbolic_trace(chain)
    with pytest.raises(RuntimeError):
        split_module(g, None, lambda n: 1 if n.name == "mul" else 0)


def test_replacing_patterns():
    def f(x, w1, w2):
        m1, m2 = torch.cat([w1, w2]).sum(), torch.cat([w2, w1]).sum()
        return x + torch.max(m1) + torch.max(m2)
    gm = fx.symbolic_trace(f)
    found = fx.replace_pattern(gm, lambda a, b: torch.cat([a, b]).sum(), lambda a, b: torch.stack([a, b]))
    assert gm.code.strip().split("\n")[1:] == [
        "    stack = torch.stack([w1, w2])", "    max_1 = torch.max(stack);  stack = None",
        "    add = x + max_1;  x = max_1 = None", "    stack_1 = torch.stack([w2, w1]);  w2 = w1 = None",
        "    max_2 = torch.max(stack_1);  stack_1 = None", "    add_1 = add + max_2;  add = max_2 = None",
        "    return add_1"]
    assert [type(m).__name__ for m in found] == ["Match", "Match"] and found[0].anchor.target == "sum"
    done = fx.subgraph_rewriter.replace_pattern_with_filters(
        gm, lambda x: torch.max(x), lambda x: torch.min(x), [lambda match, graph, pattern: match.placeholder_nodes[0].name != "stack"])
    assert len(done) == 1 and [n.name for n in done[0].replacements] == ["min_1"] and "torch.max(stack)" in gm.code


def test_patterns_that_do_not_match():
    gm = fx.symbolic_trace(lambda x: (torch.neg(x).relu(), torch.neg(x)))
    assert len(fx.replace_pattern(gm, lambda x: torch.neg(x).relu(), lambda x: x)) == 1
    def shared(x):
        a = torch.neg(x)
        return a.relu(), a
    gm = fx.symbolic_trace(shared)
    assert fx.replace_pattern(gm, lambda x: torch.neg(x).relu(), lambda x: x) == []
    gm = fx.symbolic_trace(lambda x: torch.add(x, 2))
    assert fx.replace_pattern(gm, lambda x: torch.add(x, 1), lambda x: x) == []
    rw = fx.subgraph_rewriter.replace_pattern_with_filters
    assert len(rw(gm, lambda x: torch.add(x, 1), lambda x: torch.neg(x), ignore_literals=True)) == 1


def test_chained_matches():
    gm = fx.symbolic_trace(lambda x: x.relu().relu().relu())
    assert len(fx.replace_pattern(gm, lambda x: x.relu(), lambda x: torch.neg(x))) == 3
    assert gm(torch.tensor([2.0])).item() == -2.0


class Swap(PassBase):
    def call(self, gm):
        changed = False
        for n in gm.graph.nodes:
            if n.target is operator.add:
                n.target, changed = operator.mul, True
        gm.recompile()
        return PassResult(gm, changed)


def test_pass_managers():
    def nothing(gm):
        return PassResult(gm, False)

    def fails(gm):
        raise ValueError("x")
    gm = fx.symbolic_trace(lambda x: x + 1)
    checks = []
    manager = PassManager([Swap(), nothing], steps=3, run_checks_after_each_pass=True)
    manager.add_checks(lambda gm: checks.append(gm))
    result = manager(gm)
    assert result.modified and result.graph_module(3) == 3 and len(checks) == 5
    with pytest.raises(Exception, match="fails"):
        PassManager([fails])(gm)
    with pytest.raises(Exception, match="lambda"):
        PassManager([lambda gm: None])(gm)
    assert PassManager([pass_result_wrapper(lambda gm: None)])(gm).modified
    manager = PassManager([nothing, fails], constraints=[this_before_that_pass_constraint(fails, nothing)])
    with pytest.raises(RuntimeError):
        manager.validate_constraints()
    manager.solve_constraints()
    assert manager.passes == [fails, nothing]
    manager.add_constraint(this_before_that_pass_constraint(nothing, fails))
    with pytest.raises(RuntimeError):
        manager.solve_constraints()
    with pytest.raises(TypeError):
        manager.add_checks(lambda a, b: None)


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout())
        self.c2, self.b2 = nn.Conv2d(4, 4, 3, bias=False), nn.BatchNorm2d(4)
        self.l, self.b1 = nn.Linear(3, 3), nn.BatchNorm1d(3)

    def forward(self, x, y):
        return self.b2(self.c2(self.f(x))), self.b1(self.l(y))


def test_fusing_normalisation():
    m = Norms()
    x, y = torch.randn(4, 3, 8, 8), torch.randn(5, 3)
    m(x, y)
    m.eval()
    fused = fuse(m)
    assert fused.code.strip().split("\n")[1:] == [
        '    f_0 = getattr(self.f, "0")(x);  x = None', '    f_2 = getattr(self.f, "2")(f_0);  f_0 = None',
        '    f_3 = getattr(self.f, "3")(f_2);  f_2 = None', "    c2 = self.c2(f_3);  f_3 = None",
        "    l = self.l(y);  y = None", "    return (c2, l)"]
    for a, b in zip(fused(x, y), m(x, y)):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
    assert not any(isinstance(c, nn.BatchNorm2d) for c in fused.modules()) and isinstance(m.b2, nn.BatchNorm2d)
    with pytest.raises(AssertionError):
        fuse(Norms())
    assert not any(isinstance(c, nn.Dropout) for c in remove_dropout(m).modules())


def test_groups_for_a_back_end():
    def f(x, y):
        a = x + y
        b = a * 2
        c = torch.sin(b)
        return c + b, a
    gm = fx.symbolic_trace(f)
    support = create_op_support(lambda modules, node: node.target in (operator.add, operator.mul))
    partitioner = CapabilityBasedPartitioner(gm, support)
    assert [sorted(n.name for n in p.nodes) for p in partitioner.propose_partitions()] == [["add", "mul"]]
    fused = partitioner.partition_and_fuse()
    assert [n.target for n in fused.graph.nodes if n.op == "call_module"] == ["fused_0"]
    x, y = torch.ones(2), torch.ones(2)
    assert all(torch.equal(a, b) for a, b in zip(fused(x, y), f(x, y)))


def test_putting_nodes_in_order():
    gm = fx.symbolic_trace(lambda x: torch.neg(x).relu())
    neg, relu = list(gm.graph.nodes)[1:3]
    neg.prepend(relu)
    with pytest.raises(RuntimeError):
        gm.graph.lint()
    legalize_graph(gm)
    gm.graph.lint()
    assert gm(torch.tensor([-1.0])).item() == 1.0


def test_normalised_arguments():
    x = torch.ones(1)
    f = normalize_function
    assert f(F.relu, (x,), {}, normalize_to_only_use_kwargs=True) == ((), {"input": x, "inplace": False})
    assert f(F.conv2d, (1, 2), {}, (torch.Tensor, torch.Tensor), {}, True).kwargs == {
        "input": 1, "weight": 2, "bias": None, "stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "groups": 1}
    assert f(torch.ops.aten.add.Tensor, (1, 2), {}, normalize_to_only_use_kwargs=True).kwargs == {"input": 1, "other": 2, "alpha": 1}
    assert f(torch.mean, (x,), {"dim": 1}, normalize_to_only_use_kwargs=True).kwargs == {
        "input": x, "dim": 1, "keepdim": False, "dtype": None}
    assert f(operator.add, (x, 1), {}) is None
    assert normalize_module(Net(), "l", (x,), {}, True).kwargs == {"input": x}
    gm = fx.symbolic_trace(Net())
    found = {n.name: n.normalized_arguments(gm, normalize_to_only_use_kwargs=True) for n in gm.graph.nodes}
    assert found["split"].kwargs.keys() == {"tensor", "split_size_or_sections", "dim"} and found["x"] is None
    assert type_matches(torch.Tensor, torch.Tensor) and type_matches(list[int], list[int]) and not type_matches(int, str)


def test_a_schema_whose_argument_aliases_a_list_has_a_signature():
    from torch.fx.operator_schemas import get_signature_for_torch_op
    signatures = get_signature_for_torch_op(torch.chunk)
    assert [list(s.parameters) for s in signatures] == [["input", "chunks", "dim"]] and signatures[0].parameters["dim"].default == 0
