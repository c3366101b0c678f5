"""torch.compile."""


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """Compiles a function or module. With disable=True it is returned as it is; the compiler itself is not there yet."""
    if disable:
        return model if model is not None else (lambda m: m)
    raise NotImplementedError("torch.compile is not there yet")
