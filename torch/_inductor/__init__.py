"""Graphs as machine code."""
from . import compile_fx
from .compile_fx import compile

__all__ = ["check_options", "compile", "compile_fx", "list_mode_options", "list_options"]


def __getattr__(name):
    if name == "config":   # on first use
        import importlib
        return importlib.import_module("torch._inductor.config")
    raise AttributeError(f"module 'torch._inductor' has no attribute {name!r}")


def list_options():
    """The names that torch.compile(options={name: value}) knows: those of torch._inductor.config."""
    from . import config
    return sorted(config.get_config_copy())


def list_mode_options(mode=None, dynamic=None):
    """{mode: its options}, or the options of one mode: none has any here."""
    modes = {m: {} for m in ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")}
    return modes[mode] if mode else modes


def check_options(options):
    """RuntimeError for an option that is not known, or a value of another type; NotImplementedError for what has one value only."""
    from . import config
    known = config.get_config_copy()
    for name, value in options.items():
        name = name.replace("-", "_")
        if name not in known:
            raise RuntimeError(f"the compiler has no option {name!r}; torch._inductor.list_options() has {', '.join(list_options())}")
        default = known[name]
        if default is not None and type(value) is not type(default):
            raise RuntimeError(f"the option {name!r} takes a {type(default).__name__}, but got {value!r} of type {type(value).__name__}")
        config._refuse(name, value)
