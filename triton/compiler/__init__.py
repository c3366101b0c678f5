from ..absent import lookup
from .compiler import CompiledKernel, compile_kernel
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from .source import ASTSource, IRSource, compile, max_shared_mem


__getattr__ = lookup("triton.compiler", dict.fromkeys(("LazyDict", "get_cache_key", "make_backend"), "kernels are compiled in this process, by one back end"))


__all__ = ["ASTSource", "CompiledKernel", "CompilationError", "CompileTimeAssertionFailure", "IRSource", "UnsupportedLanguageConstruct",
           "compile", "compile_kernel", "max_shared_mem"]
