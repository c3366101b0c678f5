"""What a forward graph keeps for its backward: partitioners and minimum cuts."""
import itertools
import random

import pytest
import torch
import torch.fx as fx
from torch._functorch.min_cut import MinCut
from torch._functorch.partitioners import cut_size, default_partition, min_cut_rematerialization_partition
from torch.fx.node import map_aggregate

aten = torch.ops.aten


@pytest.mark.parametrize("late", [False, True])
def test_minimum_cuts_of_small_networks(late):
    random.seed(0)
    for _ in range(200):
        n = random.randint(2, 6)
        edges = [(a, b, random.randint(0, 9)) for a in range(n) for b in range(n) if a != b and random.random() < 0.5]
        net = MinCut()
        for _ in range(n):
            net.node()
        for e in edges:
            net.edge(*e)
        total, reached = net.solve(0, n - 1, late)
        sides = [{0, *k} for r in range(n - 1) for k in itertools.combinations(range(1, n - 1), r)]
        assert total == min(sum(c for a, b, c in edges if a in s and b not in s) for s in sides)
        assert total == sum(c for a, b, c in edges if a in reached and b not in reached)
        assert n - 1 not in reached and 0 in reached


def test_no_cut():
    net = MinCut()
    a, b = net.node(), net.node()
    net.edge(a, b)
    with pytest.raises(ValueError):
        net.solve(a, b)


def joint(build, *shapes):
    """A joint graph built by hand: `build(call, *inputs)` gives (results, gradients)."""
    g = fx.Graph()

    def value(x):
        return x.meta["val"] if isinstance(x, fx.Node) else x

    def call(op, *args, **kwargs):
        node = g.call_function(op, args, kwargs, name=op.overloadpacket.__name__)
        node.meta["val"] = op(*map_aggregate(args, value), **map_aggregate(kwargs, value))
        return node
    inputs = []
    for name, shape in shapes:
        node = g.placeholder(name)
        node.meta["val"] = torch.empty(shape, device="meta")
        inputs.append(node)
    results, gradients = build(call, *inputs)
    g.output([*results, *gradients])
    return fx.GraphModule(torch.nn.Module(), g), len(results)


def pointwise(call, x, t):
    """sin(cos(exp(x))) and its gradient."""
    a = call(aten.exp.default, x)
    b = call(aten.cos.default, a)
    c = call(aten.sin.default, b)
    g = call(aten.mul.Tensor, t, call(aten.cos.default, b))
    g = call(aten.mul.Tensor, g, call(aten.neg.default, call(aten.sin.default, a)))
    return [c], [call(aten.mul.Tensor, g, a)]


def with_product(call, x, w, t):
    """tanh(relu(x w)) and its gradients."""
    m = call(aten.mm.default, x, w)
    r = call(aten.relu.default, m)
    y = call(aten.tanh.default, r)
    g = call(aten.mul.Tensor, t, call(aten.sub.Tensor, call(aten.ones_like.default, y), call(aten.mul.Tensor, y, y)))
    g = call(aten.mul.Tensor, g, call(aten.sign.default, r))
    return [y], [call(aten.mm.default, g, call(aten.t.default, w)), call(aten.mm.default, call(aten.t.default, x), g)]


def run(module, parts, count, inputs, primals):
    forward, backward = parts
    expected = module(*inputs)
    outputs = forward(*inputs[:primals])
    got = [*outputs[:count], *backward(*outputs[count:], *inputs[primals:])]
    for a, b in zip(expected, got):
        assert torch.equal(a, b)
    return [n.name for n in backward.graph.nodes if n.op == "placeholder"]


def test_pointwise_functions_keep_their_input_alone():
    module, count = joint(pointwise, ("primals_1", [8, 8]), ("tangents_1", [8, 8]))
    inputs = [torch.randn(8, 8), torch.randn(8, 8)]
    assert run(module, default_partition(module, [], num_fwd_outputs=count), count, inputs, 1) == ["exp", "cos", "tangents_1"]
    assert run(module, min_cut_rematerialization_partition(module, [], num_fwd_outputs=count), count, inputs, 1) == [
        "primals_1", "tangents_1"]


def test_products_are_not_computed_twice():
    module, count = joint(with_product, ("primals_1", [8, 4]), ("primals_2", [4, 16]), ("tangents_1", [8, 16]))
    inputs = [torch.randn(8, 4), torch.randn(4, 16), torch.randn(8, 16)]
    parts = min_cut_rematerialization_partition(module, [], num_fwd_outputs=count)
    kept = run(module, parts, count, inputs, 2)
    assert "mm" not in [n.name for n in parts[1].graph.nodes if n.op == "call_function"]
    assert set(kept) - {"primals_1", "primals_2", "tangents_1"} < {"mm", "relu", "tanh"}
    least = cut_size(parts[0], count)
    default = default_partition(module, [], num_fwd_outputs=count)
    run(module, default, count, inputs, 2)
    assert least == 8 * 16 * 4 < cut_size(default[0], count)


def test_small_values_are_kept_rather_than_large_ones():
    def build(call, x, t):
        big = call(aten.exp.default, x)
        small = call(aten.mm.default, call(aten.t.default, big), big)
        y = call(aten.sin.default, small)
        return [y], [call(aten.mul.Tensor, t, call(aten.cos.default, small))]
    module, count = joint(build, ("primals_1", [64, 2]), ("tangents_1", [2, 2]))
    inputs = [torch.randn(64, 2), torch.randn(2, 2)]
    parts = min_cut_rematerialization_partition(module, [], num_fwd_outputs=count)
    assert run(module, parts, count, inputs, 1) == ["mm", "tangents_1"]


def test_random_numbers_are_not_drawn_twice():
    def build(call, x, t):
        noise = call(aten.rand_like.default, x)
        return [call(aten.mul.Tensor, x, noise)], [call(aten.mul.Tensor, t, noise)]
    module, count = joint(build, ("primals_1", [4]), ("tangents_1", [4]))
    forward, backward = min_cut_rematerialization_partition(module, [], num_fwd_outputs=count)
    assert [n.name for n in backward.graph.nodes] == ["rand_like", "tangents_1", "mul_1", "output"]
    x = torch.ones(4)
    y, noise = forward(x)
    assert torch.equal(y, noise)


def test_results_that_are_gradients_and_inputs():
    def build(call, x, t):
        y = call(aten.exp.default, x)
        return [y], [y]
    module, count = joint(build, ("primals_1", [4]), ("tangents_1", [4]))
    for partition in (default_partition, min_cut_rematerialization_partition):
        run(module, partition(module, [], num_fwd_outputs=count), count, [torch.randn(4), torch.randn(4)], 1)
