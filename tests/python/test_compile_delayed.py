"""Iterators that make their items when they are wanted, and variables that a compiled function shares with those around it."""
import pytest
import torch
import torch.nn.functional as F

from python.compiling import Listing, fresh  # noqa: F401


def _first_written(x):
    return next(x.add_(i) for i in range(1, 4))


def _any_written(x):
    return any(x.add_(i) is not None for i in range(1, 4))


def _variable_set_later(x):
    n = 1
    items = (x * n for _ in range(2))
    n = 5
    return list(items)


def _drawn_later(x):
    items = (torch.rand(2) for _ in range(3))
    first = torch.rand(2)
    return first, list(items), x * 2


def _loop_that_writes(x):
    seen = []
    for y in (x.add_(1) for _ in range(3)):
        seen.append(y.clone())
        x.mul_(2)
    return seen


def _summed_writes(x):
    return sum(x.add_(1) for _ in range(3))


def _appended(x):
    seen = []
    items = (seen.append(i) or x * i for i in range(3))
    return next(items), seen


def _zipped(x):
    return list(zip((x.add_(i) for i in range(5)), range(2)))


def _mapped(x):
    items = map(lambda i: x.add_(i), [1, 2, 3])
    before = x * 2
    return before, next(items)


def _filtered(x):
    return next(filter(lambda i: x.add_(1) is not None, [1, 2])), x + 0


def _dropped_out(x):
    return tuple(F.dropout(x, 0.5) for _ in range(3))


@pytest.mark.parametrize("f", [_first_written, _any_written, _variable_set_later, _drawn_later, _loop_that_writes, _summed_writes, _appended,
                               _zipped, _mapped, _filtered, _dropped_out])
def test_items_are_made_when_they_are_wanted(f):
    def run(g):
        torch.manual_seed(0)
        x = torch.ones(4)
        return g(x), x, torch.rand(1)
    expected = run(f)
    assert repr(run(torch.compile(f, fullgraph=True))) == repr(expected)


def test_a_generator_expression_that_was_not_begun_goes_on_behind_a_break():
    def f(x):
        items = (x * i for i in range(3))
        rest = map(lambda i: x + i, [1, 2])
        y = x.sin()
        print("between")
        return list(items), list(rest), y
    seen = Listing()
    x = torch.ones(2)
    assert repr(torch.compile(f, backend=seen)(x)) == repr(f(x))
    assert seen.graphs[0] == ["sin"]


def test_a_generator_expression_in_the_middle_runs_as_it_is():
    def f(x):
        items = (x.add_(i) for i in range(3))
        first = next(items).clone()
        print("between")
        return first, x.clone(), list(items)[-1]
    x, y = torch.ones(2), torch.ones(2)
    assert repr(torch.compile(f)(x)) == repr(f(y))
    assert torch.equal(x, y)


def test_a_function_made_before_a_break_shares_the_variables_around():
    seen, count = [], 0

    def f(a):
        def hook(g):
            nonlocal count
            count += 1
            seen.append(g.clone())
            return g * 3
        b = a * 2
        b.register_hook(hook)
        return b.sin()
    a = torch.tensor([0.5, 1.0], requires_grad=True)
    compiled = torch.compile(f)
    for n in (1, 2):
        a.grad = None
        compiled(a).sum().backward()
        assert count == len(seen) == n
        assert torch.equal(seen[-1], (a.detach() * 2).cos()) and torch.equal(a.grad, seen[-1] * 3 * 2)


def test_a_list_around_is_the_same_list_behind_a_break():
    kept = [1]

    def f(x):
        def keep(v):
            kept.append(v)
        y = x * 2
        print("between")
        keep(5)
        return y * len(kept)
    compiled, x = torch.compile(f), torch.ones(2)
    assert torch.equal(compiled(x), x * 4) and torch.equal(compiled(x), x * 6)
    assert kept == [1, 5, 5]
