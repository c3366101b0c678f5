"""Kernels in Python, as written for Triton, compiled in this process for the CPU. See triton/README.md."""
import torch
from .absent import lookup

__version__ = "3.7.0"

from . import knobs, language
from .runtime.autotuner import Config, autotune, heuristics
from .runtime.errors import InterpreterError, OutOfResources
from .runtime.jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, constexpr_function, jit, reinterpret
from .compiler.errors import CompilationError, TritonError
from .compiler.source import compile
from . import compiler, errors, runtime, testing, tools

_allocator = None
_ABSENT = {"aggregate": "kernels have tuples and named tuples for values of several parts", "backends": "there is one back end, the CPU's",
           "AsyncCompileMode": "kernels are compiled when they are first launched", "FutureKernel": "kernels are compiled when they are first launched"}


__getattr__ = lookup("triton", _ABSENT)


def must_use_result(x, s=True):
    """x, a function; what it gives is not looked at here."""
    return x if callable(x) else lambda f: f



def cdiv(x, y):
    """x / y rounded up; of a kernel's integers, too."""
    if isinstance(x, torch.SymInt) or isinstance(y, torch.SymInt):   # sizes of a graph
        return (x + (y - 1)) // y
    return language.cdiv(x, y)


cdiv.__triton_builtin__ = True


def next_power_of_2(n):
    """The least power of two that is not less than n."""
    return 1 << (n - 1).bit_length() if n > 1 else n if n == 1 else 1


next_power_of_2.__triton_builtin__ = True


def set_allocator(allocator):
    """Kernels on the CPU take their working memory themselves; the allocator is kept and not called."""
    global _allocator
    _allocator = allocator


__all__ = ["CompilationError", "Config", "InterpreterError", "JITFunction", "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper",
           "TritonError", "autotune", "cdiv", "compile", "compiler", "constexpr_function", "errors", "heuristics", "jit", "knobs", "language",
           "must_use_result", "next_power_of_2", "reinterpret", "runtime", "set_allocator", "testing", "tools"]
