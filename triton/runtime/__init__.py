from torch._absent import NotThereYet
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .driver import driver
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret


def __getattr__(name):
    if name in ("RedisRemoteCacheBackend", "RemoteCacheBackend", "build", "cache"):
        raise NotThereYet(f"triton.runtime.{name} is not there: the machine code that lies on disk is the compiler's own (docs/compile.md)")
    raise AttributeError(f"module 'triton.runtime' has no attribute {name!r}")


__all__ = ["Autotuner", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper",
           "autotune", "driver", "heuristics", "reinterpret"]
