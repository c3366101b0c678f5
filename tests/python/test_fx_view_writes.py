"""Writes through views in graphs without writes: the bits of the plain function, or a plain NotImplementedError."""
import operator

import pytest
import torch
from torch._functorch.functionalization import functionalize_graph
from torch._functorch.view_rules import INVERSES, IN_PLACE_VIEWS
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx


def numbers(*shape):
    return torch.arange(1., 1 + torch.Size(shape).numel()).reshape(shape)


def complexes(*shape):
    return torch.complex(numbers(*shape), -numbers(*shape) / 2)


def each(parts):
    for i, part in enumerate(parts):
        part.mul_(i + 2)


def through_other_views(x):
    windows, rows = x.unfold(0, 2, 3), x.view(2, 4)
    windows.add_(1)
    rows[1].mul_(2)
    windows[0].sub_(5)
    return windows * 1, rows * 1


def strided_after_a_write(x):
    x.mul_(2)
    part = x[1:].as_strided((2,), (1,), x.storage_offset() + 2)
    part.add_(1)
    x.sub_(3)
    return part * 1


def strided_conj_after_a_write(x):
    x.view(-1).conj().mul_(2)
    part = x.view(-1).conj().as_strided((2,), (1,))
    part.copy_(part.clone() * 3)
    return part * 1, x.view(-1)[3] * 1


def strided_neg(x):
    part = torch._neg_view(x).as_strided((2,), (1,))
    return part.fill_(7) * 1


def strided_of_what_was_computed_of_views(x):
    y = x.t() * 2                                   # its strides are those of the view
    y.as_strided((2,), (3,), 1).add_(5)
    return y


def strided_in_place(x):
    y = x.clone()
    y.as_strided_((2, 2), (3, 1), 1)
    y.add_(10)
    y.as_strided((2,), (2,)).mul_(2)
    return y


def transposed_in_place(x):
    y = x.clone()
    y.transpose_(0, 1)
    y[0].add_(10)
    return y, y.sum(1)


WRITES = {
    "unfold": (lambda x: x.unfold(0, 2, 2).add_(1), numbers(8)),
    "unfold with gaps": (lambda x: x.unfold(1, 2, 3).mul_(x.unfold(1, 2, 3)), numbers(2, 9, 2)),
    "unfold, one window": (lambda x: x.unfold(-1, 3, 1).neg_(), numbers(2, 3)),
    "unfold, no window": (lambda x: x.unfold(0, 0, 1).add_(1), numbers(4)),
    "unfold of a number": (lambda x: x.unfold(0, 1, 1).add_(1), torch.tensor(3.)),
    "unfold of a transposed one": (lambda x: x.t().unfold(1, 2, 2)[1].add_(1), numbers(4, 3)),
    "unfold of an input that is transposed": (lambda x: x.unfold(0, 2, 4).copy_(numbers(2, 3, 2)), numbers(3, 6).t()),
    "unfold and its base's views": (through_other_views, numbers(8)),
    "chunk": (lambda x: each(torch.chunk(x, 3)), numbers(8)),
    "chunk along a dimension": (lambda x: each(x.chunk(3, -1)), numbers(2, 8)),
    "tensor_split": (lambda x: each(torch.tensor_split(x, 3)), numbers(8)),
    "real": (lambda x: x.real.mul_(2), complexes(4)),
    "real of a real one": (lambda x: x.real.mul_(2), numbers(4)),
    "imag": (lambda x: x.imag.add_(x.real), complexes(4)),
    "conj": (lambda x: x.conj().mul_(2j), complexes(4)),
    "conj, copied to": (lambda x: x.conj().copy_(complexes(4) + 1), complexes(4)),
    "imag of conj": (lambda x: x.conj().imag.add_(2), complexes(4)),
    "mH": (lambda x: x.mH[1:].add_(2j), complexes(3, 4)),
    "real of conj, transposed": (lambda x: x.conj().t().real[0].fill_(2), complexes(3, 4)),
    "neg_view": (lambda x: torch._neg_view(x)[1:].add_(2), numbers(4)),
    "an input that is conj": (lambda x: x.imag.add_(2), complexes(4).conj()),
    "an input that is neg": (lambda x: x.add_(2), torch._neg_view(numbers(4))),
    "expand of dimensions of one": (lambda x: x.expand(1, -1, 4).add_(1), numbers(3, 4)),
    "as_strided of a slice": (lambda x: x[1:].as_strided((2, 2), (3, 1), 1).add_(1), numbers(3, 3)),
    "as_strided of a part": (lambda x: x.as_strided((2,), (1,)).add_(1), numbers(9)[1:]),
    "as_strided of a computed one": (lambda x: (x * 2)[1:].as_strided((2,), (1,), 2).add_(1), numbers(9)),
    "as_strided after a write": (strided_after_a_write, numbers(9)),
    "as_strided after a write to a part": (strided_after_a_write, numbers(9)[2:]),
    "as_strided of conj after a write": (strided_conj_after_a_write, complexes(14)[1:13].view(4, 3)),
    "as_strided of neg": (strided_neg, numbers(9)[1:]),
    "as_strided_": (strided_in_place, numbers(3, 3)),
    "transpose_": (transposed_in_place, numbers(2, 3)),
}


def in_memory_like(t):
    """A copy at the same place of a storage of its own, as lazily conjugated or negated."""
    if t.is_conj():
        return in_memory_like(t.conj()).conj()
    if t.is_neg():
        return torch._neg_view(in_memory_like(torch._neg_view(t)))
    memory = torch.zeros(t.untyped_storage().nbytes() // t.element_size(), dtype=t.dtype)
    return memory.as_strided(t.size(), t.stride(), t.storage_offset()).copy_(t)


def outcome(f, x):
    x = in_memory_like(x)
    out = f(x)
    return [t.resolve_conj().resolve_neg() for t in (*(out if isinstance(out, tuple) else (out,)), x) if t is not None]


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_writes_through_views(name, remove):
    f, x = WRITES[name]
    want = outcome(f, x)
    by_graph = make_fx(functionalize(f, remove=remove))(in_memory_like(x))
    for g in (functionalize(f, remove=remove), by_graph):
        got = outcome(g, x)
        assert len(got) == len(want) and all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(got, want))
    assert not any(str(n.target).split(".")[1].endswith("_") for n in by_graph.graph.nodes if n.op == "call_function" and str(n.target).startswith("aten.")
                   and "copy_" not in str(n.target))


def strided_with_gaps(x):
    x.mul_(2)
    return x.as_strided((2,), (4,), 3).add_(1)      # of the memory between x's rows


def big_slice(x):
    y = x[:, :3]
    y.as_strided((2,), (4,), 3).add_(1)             # of x, but not of y: eager writes it all the same
    return x * 1


@pytest.mark.parametrize("f, x", [
    (lambda x: x.unfold(0, 3, 1).add_(1), numbers(8)),
    (lambda x: x.unfold(0, 3, 1)[1].add_(1), numbers(8)),
    (lambda x: x.expand(3, 4)[1].add_(1), numbers(4)),
    (lambda x: x.as_strided((2, 2), (1, 1)).add_(1), numbers(9)),
    (lambda x: x.as_strided((2,), (1,), 0).add_(1), numbers(9)[2:]),
    (strided_with_gaps, numbers(2, 4)[:, :3]),
], ids=["unfold", "a window of unfold", "a row of expand", "as_strided on itself", "as_strided before the tensor", "as_strided between rows"])
def test_writes_without_functional_form_say_so(f, x):
    with pytest.raises(NotImplementedError, match="functional form|shares? the memory|does not keep"):
        functionalize(f)(in_memory_like(x))


def test_memory_of_the_whole_is_written_through_a_part():
    got, want = outcome(functionalize(big_slice), numbers(2, 4)), outcome(big_slice, numbers(2, 4))
    assert all(map(torch.equal, got, want))


def test_strides_that_copies_do_not_have():
    """With views as copies, what is computed of them lies otherwise than in the program: as_strided of that says so."""
    f, x = strided_of_what_was_computed_of_views, numbers(3, 4)
    assert all(map(torch.equal, outcome(functionalize(f), x), outcome(f, x)))
    with pytest.raises(NotImplementedError, match="memory of strides"):
        functionalize(f, remove="mutations_and_views")(x)


def test_graphs_that_name_composite_views():
    """Graphs written by hand may hold views that tracing takes apart."""
    aten = torch.ops.aten
    for view, args, x in ((aten.chunk.default, (3, 1), numbers(2, 8)), (aten.real.default, (), complexes(3)), (aten.imag.default, (), complexes(3)),
                          (aten.real.default, (), numbers(3)), (aten.flatten.using_ints, (), numbers(2, 3))):
        graph = torch.fx.Graph()
        a = graph.placeholder("a")
        part = graph.call_function(view, (a, *args))
        from torch._subclasses.fake_tensor import FakeTensorMode
        mode = FakeTensorMode()
        with mode:
            a.meta["val"] = mode.from_tensor(x)
            part.meta["val"] = view(a.meta["val"], *args)
            if isinstance(part.meta["val"], (list, tuple)):
                values = part.meta["val"]
                part = graph.call_function(operator.getitem, (part, 1))
                part.meta["val"] = values[1]
            written = graph.call_function(aten.mul_.Tensor, (part, 3))
            written.meta["val"] = part.meta["val"]
        graph.output((a,))
        gm = torch.fx.GraphModule(torch.nn.Module(), graph)
        want, got = x.clone(), x.clone()
        gm(want)
        functionalize_graph(gm)(got)
        assert torch.equal(got, want), view


def test_every_view_operator_has_an_inverse():
    """A view that the table does not know would be taken for a tensor of its own, and writes through it be lost."""
    known = {f._full for f in INVERSES} | {f._full for f in IN_PLACE_VIEWS}
    views = [f._full for name in torch._C._op_names() for f in overloads(name) if torch._C._op_info(f._full)["kind"] == "view"]
    assert len(views) > 20
    assert sorted(set(views) - known) == []
    assert all(callable(rule) for rule in INVERSES.values())


def overloads(name):
    packet = getattr(torch.ops.aten, name)
    return [getattr(packet, o) for o in packet.overloads()]
