from .compiler import CompiledKernel, compile_kernel
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = ["CompiledKernel", "CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "compile_kernel"]
