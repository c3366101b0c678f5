"""Graphs where gradients are wanted: forward and backward as one joint graph, each half to a compiler.

Only for graphs whose results are tensors of their own, at the sizes they were made for. Elsewhere the graph's operators run
one by one and autograd records them, which gives the same bits.
"""
import torch


def wants_gradients(gm, example_inputs):
    """Whether autograd may record something of the graph, now or after it switched grad mode."""
    return (torch.is_grad_enabled() or bool(gm.facts.get("grad_mode"))) and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs)


def joint(gm, example_inputs, compiler):
    """compiler's forward and backward as one function, or None where the joint graph cannot be made."""
    facts = gm.facts
    # With several results, one that is not used would get a gradient of zeros, and zero times infinity is no zero.
    if facts.get("roots") != 1 or not facts.get("static") or any(facts.get(f) for f in ("aliases", "writes", "grad_mode", "unknown")):
        return None

    def compile_half(half, examples):
        return compiler(half, [_like(x) for x in examples])
    from torch._functorch import aot_autograd as aot   # on first use: it takes torch.fx along
    guesses = torch._C._may_guess(False)   # what eager decides by values
    try:
        made = aot._compile(lambda *inputs: list(gm.forward(*inputs)), list(example_inputs), compile_half, None, None,
                            aot.default_partition, None)
    except Exception as e:   # the graph as it is gives the same
        import logging
        from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
        known = isinstance(e, (NotImplementedError, DataDependentOutputException, DynamicOutputShapeException))
        logging.getLogger("torch._dynamo").log(logging.INFO if known else logging.WARNING, "no joint graph of forward and backward: %s: %s",
                                               type(e).__name__, e)
        return None
    finally:
        torch._C._may_guess(guesses)
    return lambda *inputs: made(list(inputs))


def _like(x):
    """A tensor of the geometry of a fake one."""
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(tuple(map(int, x.shape)), tuple(map(int, x.stride())), dtype=x.dtype, device=x.device)
