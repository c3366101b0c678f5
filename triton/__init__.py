"""Kernels in Python, as written for Triton, compiled in this process for the CPU. See triton/README.md."""
__version__ = "3.7.0"

from . import language
from .runtime.autotuner import Config, autotune, heuristics
from .runtime.errors import InterpreterError, OutOfResources
from .runtime.jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, constexpr_function, jit, reinterpret
from .compiler.errors import CompilationError, TritonError
from . import compiler, runtime, testing

_allocator = None


def cdiv(x, y):
    """x / y rounded up; of a kernel's integers, too."""
    if type(x).__name__ == "SymInt" or type(y).__name__ == "SymInt":   # sizes of a graph
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
           "TritonError", "autotune", "cdiv", "compiler", "constexpr_function", "heuristics", "jit", "language",
           "next_power_of_2", "reinterpret", "runtime", "set_allocator", "testing"]
