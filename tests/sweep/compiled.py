"""The column of the compiler: a compiled call gives the bits of the plain one, and so does its compiled backward."""

import torch
from torch._functorch.functionalization import functionalize_graph
from torch._inductor import compile as compile_graph
from torch.fx.experimental.proxy_tensor import make_fx

from sweep import columns, registry
from sweep.columns import column, packet, where
from sweep.compare import flat
from sweep.gradients import prepared
from sweep.tensors import LAYOUTS, Arguments

HALVES = (torch.bfloat16, torch.float16)
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def bits(t):
    """The elements as integers, every NaN as one."""
    t = t.detach().resolve_conj().resolve_neg()
    if t.is_complex():
        t = torch.view_as_real(t.contiguous())
    t = t.contiguous()
    if not t.is_floating_point():
        return t
    words = t.reshape(-1).view(WORDS[t.element_size()]).reshape(t.shape)
    return torch.where(t.isnan(), torch.full_like(words, -1 if words.dtype.is_signed else 255), words)


def unlike(got, want):
    """None, or in words how a result is not the other."""
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        return None if got is want or got == want or (got != got and want != want) else f"{got!r}, eager gives {want!r}"
    for what in ("dtype", "shape", "layout"):
        if getattr(got, what) != getattr(want, what):
            return f"{what} {getattr(got, what)}, eager gives {getattr(want, what)}"
    if want.layout == torch.strided and got.stride() != want.stride():
        return f"strides {got.stride()}, eager gives {want.stride()}"
    differ = bits(got) != bits(want)
    if not differ.any():
        return None
    at = tuple(differ.nonzero()[0].tolist())
    return f"{int(differ.sum())} of {want.numel()} elements differ; at {list(at)}: {got[at]!r}, eager gives {want[at]!r}"


def seeded(f, inputs, generators=()):
    for g in (torch.default_generator, *generators):
        g.manual_seed(0)
    return flat(f(*inputs))


def check(at, f, code, inputs, steady=True, generators=()):
    """code, a graph or a function, compiled, against f; where not `steady`, shapes and types alone. False where the code
    cannot be followed: then it runs as it is."""
    want = seeded(f, inputs, generators)
    if not all(isinstance(r, torch.Tensor) for r in want):
        return False
    inputs = [x.detach() for x in inputs]
    compiled = compile_graph(code, inputs)
    if compiled is code:
        return False
    got = seeded(compiled, inputs, generators)
    assert len(got) == len(want), at + f"{len(got)} results compiled, {len(want)} otherwise"
    for i, (g, w) in enumerate(zip(got, want)):
        if not steady:
            g, w = torch.empty_like(g, device="meta"), torch.empty_like(w, device="meta")
        said = unlike(g, w)
        assert said is None, at + f"result {i}: {said}"
    return True


def samples(record):
    """(case, type, layout): the first calls and a large one in the main type, one in a half type and one of integers."""
    types = record.dtypes() or [None]
    small = [c for c in record.cases if not c.big]
    half = [d for d in HALVES if d in types[1:]][:1]
    whole = [d for d in (torch.int64, torch.int32) if d in types[1:]][:1]
    for dtype, count in ((types[0], 2), *[(d, 1) for d in half + whole]):
        for case in [c for c in small if c.takes(dtype) and (c.values or dtype == types[0])][: None if columns.FULL else count]:
            for layout in LAYOUTS[:3] if columns.FULL and case.layouts else LAYOUTS[:1]:
                yield case, dtype, layout
    yield from [(c, types[0], "contiguous") for c in record.cases if c.big and c.takes(types[0])][:1]


def joint(function, count):
    """The gradients of `function` at its first `count` inputs, which require some, for cotangents that are further inputs."""

    def run(*inputs):
        results = [r for r in function(*inputs[:count]) if r.requires_grad]
        gradients = torch.autograd.grad(results, inputs[:count], inputs[count:], allow_unused=True)
        return tuple(g for g in gradients if g is not None)

    return run


def draws(case):
    return [x for x in (*case.args, *case.kwargs.values()) if isinstance(x, torch.Generator)]


@column
def compiled(record):
    """Calls, and gradients in float32: those of autograd. In a half type a graph of gradients rounds at every operator, and
    its bits are compared with the graph's own, one operator after another."""
    run = packet(record)
    by_name = {o.name: o for o in registry.overloads(record.name)}
    steady = "empty" not in record.name  # elements of fresh memory are anyone's
    for case, dtype, layout in samples(record):
        filled = Arguments(case, dtype, layout)
        if by_name[registry.resolve(record.name, filled.args, filled.kwargs)].writes or not filled.tensors:
            continue

        def call(*tensors, filled=filled):
            args, kwargs = filled.replaced(lambda i, t, s: tensors[i])
            return tuple(flat(run(*args, **kwargs)))

        check(where(record, case, dtype, layout), call, call, filled.tensors, steady, draws(case))
    for dtype in (torch.float32, next((d for d in HALVES if d in record.dtypes()), None)):
        case = next((c for c in record.cases if not c.big and c.grad and c.takes(dtype)), None)
        if not record.grad or dtype not in record.dtypes() or case is None:
            continue
        graph, backward, inputs = gradient_graph(record, case, dtype)
        if graph is not None:
            check(where(record, case, dtype, "backward"), backward if dtype == torch.float32 else graph, graph, inputs, steady, draws(case))


def gradient_graph(record, case, dtype):
    """(graph, function, inputs) of the gradients; no graph where there are none, or where their code reads elements."""
    function, inputs = prepared(record, case, dtype)
    results = [r for r in function(*inputs) if r.requires_grad]
    cotangents = [torch.linspace(-1, 1, r.numel(), dtype=torch.float64).to(r.dtype).reshape(r.shape) for r in results]
    backward = joint(function, len(inputs))
    inputs = [*inputs, *cotangents]
    if not results or not backward(*inputs):
        return None, None, None
    try:
        return functionalize_graph(make_fx(backward)(*inputs), detached=True), backward, inputs
    except RuntimeError:  # NotImplementedError among them: make_fx refuses what it cannot follow
        return None, None, None
