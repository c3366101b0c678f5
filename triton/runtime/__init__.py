from ..absent import lookup
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .driver import driver
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret


__getattr__ = lookup("triton.runtime", dict.fromkeys(("RedisRemoteCacheBackend", "RemoteCacheBackend", "build", "cache"), "the machine code that lies on disk is the compiler's own (docs/compile.md)"))


__all__ = ["Autotuner", "Config", "Heuristics", "InterpreterError", "JITFunction", "KernelInterface", "MockTensor", "OutOfResources", "TensorWrapper",
           "autotune", "driver", "heuristics", "reinterpret"]
