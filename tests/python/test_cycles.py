"""Tensors that hold themselves through a hook or through the context of a function are collected."""
import gc
import weakref

import pytest
import torch


class Keeps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x * 2
        return ctx.result

    @staticmethod
    def backward(ctx, g):
        return g * 2


class KeepsOneOfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.result = x * 2
        return ctx.result.clone(), ctx.result

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 2


def leaf():
    return torch.ones(3, requires_grad=True)


def hook_of_leaf():
    x = leaf()
    x.register_hook(lambda g: g * x.sum())
    return [x]


def hook_that_ran():
    x, = hook_of_leaf()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [6.0] * 3
    return [x]


def hook_after_accumulation():
    x = leaf()
    x.register_post_accumulate_grad_hook(lambda p: x.sum())
    return [x]


def hook_of_result():
    y = leaf() * 2
    y.register_hook(lambda g: y)
    return [y]


def hook_of_node():
    y = leaf() * 2
    y.grad_fn.register_hook(lambda inputs, outputs: y)
    y.grad_fn.register_prehook(lambda outputs: y)
    return [y]


def hook_of_parameter():
    m = torch.nn.Linear(2, 2)
    m.weight.register_hook(lambda g: m.weight.sum() * g)
    return [m, m.weight]


def attribute():
    x = leaf()
    x.me = x
    return [x]


def context():
    return [Keeps.apply(leaf())]


def context_below():
    y = Keeps.apply(leaf())
    return [y, y * 2]


@pytest.mark.parametrize("make", [hook_of_leaf, hook_that_ran, hook_after_accumulation, hook_of_result, hook_of_node, hook_of_parameter, attribute,
                                  context, context_below, lambda: [KeepsOneOfTwo.apply(leaf())[1]]])
def test_collected(make):
    held = make()
    kept = [weakref.ref(t) for t in held]
    gc.collect()
    assert all(r() is not None for r in kept)
    del held
    gc.collect()
    assert all(r() is None for r in kept)


def test_what_is_in_use_is_not_taken_apart():
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append(x.sum().item()))
    y = Keeps.apply(x)
    total = y.sum()
    del y
    gc.collect()
    total.backward()
    assert seen == [3.0] and x.grad.tolist() == [2.0] * 3

    def total_of_hooked():
        z = leaf()
        z.register_hook(lambda g: g * z.sum())
        return (z * 2).sum()

    loss = total_of_hooked()  # holds the leaf, whose object is gone
    gc.collect()
    node = loss.grad_fn.next_functions[0][0].next_functions[0][0]
    loss.backward()
    assert node.variable.grad.tolist() == [6.0] * 3


@pytest.mark.parametrize("before", [False, True])
def test_garbage_that_refers_to_a_tensor_takes_nothing_from_it(before):
    """What else refers to it is collected first or last; the tensor, held from C++, keeps what its object has."""
    x = leaf()
    x.sum().backward()
    cycle = []
    if before:
        cycle.append(cycle)
    gradient = x.grad
    gradient.mark = 1
    if not before:
        cycle = []
        cycle.append(cycle)
    cycle.append(gradient)
    del gradient, cycle
    gc.collect()
    assert x.grad.mark == 1
