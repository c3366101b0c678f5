"""Tracing to operators, and passes that may still change."""

_LAZY = frozenset(("proxy_tensor", "sym_node", "symbolic_shapes"))


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module
        return import_module("torch.fx.experimental." + name)
    raise AttributeError(f"module 'torch.fx.experimental' has no attribute {name!r}")
