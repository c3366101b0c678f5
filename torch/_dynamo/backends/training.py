"""Graphs where gradients are wanted: forward and backward as one joint graph, each half to a compiler.

Only for graphs whose results are tensors of their own, at the sizes they were made for. Elsewhere the graph's operators run
one by one and autograd records them, which gives the same bits.
"""
import importlib.util

import torch

_ready = None


def _aot():
    global _ready
    if _ready is None:
        _ready = importlib.util.find_spec("torch._functorch.aot_autograd") is not None
    if not _ready:
        return None
    from torch._functorch import aot_autograd
    return aot_autograd


def wants_gradients(example_inputs):
    return torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs)


def joint(gm, example_inputs, compiler):
    """compiler's forward and backward as one function, or None where the joint graph cannot be made."""
    aot, facts = _aot(), gm.facts
    if aot is None or not facts.get("static") or facts.get("aliases") or facts.get("grad_mode"):
        return None

    def compile_half(half, examples):
        return compiler(half, [_like(x) for x in examples])
    try:
        made = aot._compile(lambda *inputs: list(gm.forward(*inputs)), list(example_inputs), compile_half, None, None,
                            aot.default_partition, None)
    except Exception as e:   # the graph as it is gives the same
        import logging
        logging.getLogger("torch._dynamo").info("no joint graph: %s: %s", type(e).__name__, e)
        return None
    return lambda *inputs: made(list(inputs))


def _like(x):
    """A tensor of the geometry of a fake one."""
    if not isinstance(x, torch.Tensor):
        return x
    return torch.empty_strided(tuple(map(int, x.shape)), tuple(map(int, x.stride())), dtype=x.dtype, device=x.device)
