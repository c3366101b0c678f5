"""The column of the compiler: a compiled call gives the bits of the plain one, and so does its compiled backward."""

import torch
from torch._functorch.functionalization import functionalize_graph
from torch._inductor import compile as compile_graph
from torch.fx.experimental.proxy_tensor import make_fx

from sweep import columns, registry
from sweep.columns import column, packet, where
from sweep.compare import flat
from sweep.gradients import prepared
from sweep.not_followed import NOT_FOLLOWED
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
    """code, a graph or a function, compiled, against f; where not `steady`, shapes and types alone. "kernel" where machine code
    was made, "call" where the graph has calls alone, None where the code cannot be followed: then it runs as it is."""
    want = seeded(f, inputs, generators)
    if not all(isinstance(r, torch.Tensor) for r in want):
        return None
    inputs = [x.detach() for x in inputs]
    compiled = compile_graph(code, inputs)
    if compiled is code:
        return None
    got = seeded(compiled, inputs, generators)
    assert len(got) == len(want), at + f"{len(got)} results compiled, {len(want)} otherwise"
    for i, (g, w) in enumerate(zip(got, want)):
        said = unlike(g, w) if steady else unlike(torch.zeros_like(g), torch.zeros_like(w))
        assert said is None, at + f"result {i}: {said}"
    steps = compiled.steps(*inputs).splitlines()
    if steps and steps[0].startswith("operator by operator"):
        return None
    return "kernel" if any(not step.startswith(("call ", "view ")) for step in steps) else "call"


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


def functional(f, inputs):
    """The graph of a function that writes to what it makes, without writes; None where there is none."""
    try:
        return functionalize_graph(make_fx(f)(*inputs), detached=True).forward
    except RuntimeError:  # NotImplementedError among them
        return None


def on_copies(run, filled, overload):
    """(the call on copies of the tensors, giving its results and what it wrote, number of tensors that it writes)"""
    written = [i for i, (kind, _) in enumerate(overload.args) if "!" in kind]
    names = [n for _, n in overload.args]

    def call(*tensors):
        args, kwargs = filled.replaced(lambda i, t, s: tensors[i].clone())
        results = flat(run(*args, **kwargs))
        named = {**dict(zip(names, args)), **kwargs}
        return tuple(r for r in [*results, *flat([named.get(names[i]) for i in written])] if isinstance(r, torch.Tensor))

    return call


def into_new(run, filled, want, overload):
    """The call with out= tensors that it makes."""
    listed = overload.args[-1][0].endswith("[]")
    names = [n for _, n in overload.args][-1 if listed else -len(want) :]

    def call(*tensors):
        args, kwargs = filled.replaced(lambda i, t, s: tensors[i])
        outs = [torch.empty(w.shape, dtype=w.dtype) for w in want]
        run(*args, **kwargs, **({names[0]: outs} if listed else dict(zip(names, outs))))
        return tuple(outs)

    return call


def writing_forms(record, taken, filled, want):
    """(name, function) of the in-place form and the out= form of a call."""
    name, first = record.name + "_", filled.args[0] if filled.args else None
    if isinstance(first, torch.Tensor) and len(want) == 1 and want[0].shape == first.shape and want[0].dtype == first.dtype:
        for form in registry.overloads(name) if name[-2] != "_" else ():
            if form.functional == taken.name:
                yield name, on_copies(getattr(getattr(torch.ops.aten, name), form.overload), filled, form)
                break
    for form in registry.overloads(record.name):
        if form.form == "out" and form.functional == taken.name:
            yield record.name + ".out", into_new(getattr(getattr(torch.ops.aten, form.packet), form.overload), filled, want, form)
            break


def best(followed, name, how):
    followed[name] = max((followed.get(name), how), key=(None, "call", "kernel").index)


def followed_forms(record):
    """{name of the operator, of its in-place form ("add_"), its out= form ("add.out") and its gradients ("add backward"), where
    there is a case of them: how it was followed}. Each call that is followed gives the bits of the plain one."""
    run = packet(record)
    by_name = {o.name: o for o in registry.overloads(record.name)}
    steady = "empty" not in record.name  # elements of fresh memory are anyone's
    followed = {}
    for case, dtype, layout in samples(record):
        filled = Arguments(case, dtype, layout)
        at = where(record, case, dtype, layout)
        taken = by_name[registry.resolve(record.name, filled.args, filled.kwargs)]
        if taken.writes:
            code = on_copies(run, filled, taken)
            graph = functional(code, filled.tensors)
            best(followed, record.name, None if graph is None else check(at, code, graph, filled.tensors, steady, draws(case)))
            continue

        def call(*tensors, filled=filled):
            args, kwargs = filled.replaced(lambda i, t, s: tensors[i])
            return tuple(flat(run(*args, **kwargs)))

        best(followed, record.name, check(at, call, call, filled.tensors, steady, draws(case)))
        want = call(*filled.tensors)
        if not filled.tensors or layout != "contiguous" or not all(isinstance(w, torch.Tensor) for w in want):
            continue
        for name, code in writing_forms(record, taken, filled, want):
            if followed.get(name) is None:
                graph = functional(code, filled.tensors)
                best(followed, name, None if graph is None else check(at + name + ": ", code, graph, filled.tensors, steady, draws(case)))
    for dtype in (torch.float32, next((d for d in HALVES if d in record.dtypes()), None)):
        case = next((c for c in record.cases if not c.big and c.grad and c.takes(dtype)), None)
        if not record.grad or dtype not in record.dtypes() or case is None:
            continue
        graph, backward, inputs = gradient_graph(record, case, dtype)
        if backward is not None:
            how = None if graph is None else check(where(record, case, dtype, "backward"), backward, graph, inputs, steady, draws(case))
            best(followed, record.name + " backward", how)
    return followed


@column
def compiled(record):
    """Calls, in-place and out= forms, and gradients, those of autograd: the bits of plain code. Every form is followed, or
    `not_followed.py` says why not."""
    for name, how in followed_forms(record).items():
        reason = NOT_FOLLOWED.get(name)
        assert how or reason, f"{name}: no case is followed by the compiler, and not_followed.py gives no reason"
        assert not (how and reason), f"{name}: a case is followed ({how}), but not_followed.py says: {reason}"


def gradient_graph(record, case, dtype):
    """(graph, function, inputs) of the gradients; nothing where there are none, no graph where their code reads elements."""
    function, inputs = prepared(record, case, dtype)
    results = [r for r in function(*inputs) if r.requires_grad]
    cotangents = [torch.linspace(-1, 1, r.numel(), dtype=torch.float64).to(r.dtype).reshape(r.shape) for r in results]
    backward = joint(function, len(inputs))
    inputs = [*inputs, *cotangents]
    if not results or not backward(*inputs):
        return None, None, None
    try:
        return functionalize_graph(make_fx(backward)(*inputs), detached=True).forward, backward, inputs
    except RuntimeError:  # NotImplementedError among them: make_fx refuses what it cannot follow
        return None, backward, inputs
