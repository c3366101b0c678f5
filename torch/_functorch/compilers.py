"""Small compilers for `aot_function`: they show a graph, or run it as it is."""

from torch.fx.interpreter import Interpreter

__all__ = ["make_boxed_func", "make_boxed_compiler", "nop", "ts_compile", "print_compile", "debug_compile", "boxed_nop"]


def make_boxed_func(f):
    """`f(*args)` as a function of one list, which `aot_function` may empty early."""
    def g(args):
        return f(*args)
    g._boxed_call = True
    return g


def make_boxed_compiler(compiler):
    """A compiler whose functions take their arguments one by one, as one whose functions take a list."""
    def boxed(fx_g, inps):
        return make_boxed_func(compiler(fx_g, inps))
    return boxed


def nop(fx_g, _):
    """The graph as it is."""
    return fx_g


def boxed_nop(fx_g, _):
    """The graph run node by node; inputs are freed after their last use."""
    def run(args):
        return Interpreter(fx_g).boxed_run(args)
    run._boxed_call = True
    return run


def print_compile(fx_g, _):
    """Prints the code, and gives the graph as it is."""
    print(fx_g.code)
    return fx_g


def debug_compile(fx_g, inps):
    """Prints the code and what it is called with, and gives the graph as it is."""
    print(fx_g.code)
    print([getattr(i, "shape", i) for i in inps])
    return fx_g


def ts_compile(fx_g, inps):
    """By TorchScript, which is not there yet."""
    raise NotImplementedError("ts_compile: torch.jit is not there yet")
