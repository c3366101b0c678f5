"""Graphs as machine code."""
from .compile_fx import compile, compile_fx

__all__ = ["check_options", "compile", "compile_fx", "list_mode_options", "list_options"]

# What programs set, with the types. The machine code is the same with any of them.
_OPTIONS = {"epilogue_fusion": bool, "max_autotune": bool, "fallback_random": bool, "shape_padding": bool, "triton.cudagraphs": bool,
            "trace.enabled": bool, "trace.graph_diagram": bool, "coordinate_descent_tuning": bool}


def list_options():
    """The names that torch.compile(options={name: value}) knows."""
    return sorted(_OPTIONS)


def list_mode_options(mode=None, dynamic=None):
    """{mode: its options}, or the options of one mode: none has any here."""
    modes = {m: {} for m in ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")}
    return modes[mode] if mode else modes


def check_options(options):
    """RuntimeError for an option that is not known, or a value of another type."""
    for name, value in options.items():
        kind = _OPTIONS.get(name.replace("-", "_"))
        if kind is None:
            raise RuntimeError(f"the compiler has no option {name!r}; torch._inductor.list_options() has {', '.join(list_options())}")
        if type(value) is not kind:
            raise RuntimeError(f"the option {name!r} takes a {kind.__name__}, but got {value!r} of type {type(value).__name__}")
