from .compiler import CompiledKernel, compile_kernel
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct
from .source import ASTSource, IRSource, compile, max_shared_mem

__all__ = ["ASTSource", "CompiledKernel", "CompilationError", "CompileTimeAssertionFailure", "IRSource", "UnsupportedLanguageConstruct",
           "compile", "compile_kernel", "max_shared_mem"]
