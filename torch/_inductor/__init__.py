"""Graphs as machine code."""
from .compile_fx import compile, compile_fx

__all__ = ["compile", "compile_fx"]
