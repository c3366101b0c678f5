from torch._absent import NotThereYet
from .compiler import CompiledKernel, compile_kernel
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from .source import ASTSource, IRSource, compile, max_shared_mem


def __getattr__(name):
    if name in ("LazyDict", "get_cache_key", "make_backend"):
        raise NotThereYet(f"triton.compiler.{name} is not there: kernels are compiled in this process, by one back end")
    raise AttributeError(f"module 'triton.compiler' has no attribute {name!r}")


__all__ = ["ASTSource", "CompiledKernel", "CompilationError", "CompileTimeAssertionFailure", "IRSource", "UnsupportedLanguageConstruct",
           "compile", "compile_kernel", "max_shared_mem"]
