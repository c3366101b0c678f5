"""triton.compile: a kernel for types that a signature names, without arguments of a call."""
import inspect

from ..language.types import constexpr_type, dtype, pointer_type, str_to_ty, unwrap
from .compiler import compile_kernel, torch_dtypes


class ASTSource:
    """A jit function, the types of its arguments ("*fp32", "i32", "fp32", "constexpr") and the values of its constants.

    Both are by name; constants may be by number, alone or as a tuple of one."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        if not getattr(fn, "__triton_jit__", False):
            raise TypeError(f"ASTSource takes a function decorated with @triton.jit, not {fn!r}")
        self.fn, self.signature, self.attrs = fn, dict(signature), dict(attrs or {})
        self.constants = {}
        for key, value in (constexprs or {}).items():
            key = key[0] if isinstance(key, tuple) and len(key) == 1 else key
            name = fn.arg_names[key] if isinstance(key, int) else key
            if name not in fn.arg_names:
                raise ValueError(f"constexprs of ASTSource has {key!r}; kernel {fn.__name__} has the parameters {', '.join(fn.arg_names)}")
            self.constants[name] = unwrap(value)
        for name in self.signature:
            if name not in fn.arg_names:
                raise ValueError(f"the signature of ASTSource has {name!r}; kernel {fn.__name__} has the parameters {', '.join(fn.arg_names)}")
        self.name, self.ext = fn.__name__, "ttir"

    def values(self):
        """Arguments of these types, one for each parameter."""
        return tuple(self._value(n) for n in self.fn.arg_names)

    def _value(self, name):
        default = self.fn.signature.parameters[name].default
        if name in self.constants:
            return self.constants[name]
        said = self.signature.get(name)
        if said is None or isinstance(said, str) and said == "constexpr" or isinstance(said, constexpr_type):
            if default is inspect.Parameter.empty:
                raise ValueError(f"ASTSource of kernel {self.fn.__name__} says neither a type nor a value of {name}")
            return unwrap(default)
        if name in self.fn.constexpr_names:
            raise ValueError(f"{name} of kernel {self.fn.__name__} is a tl.constexpr; ASTSource needs its value in constexprs, not the type {said!r}")
        return _argument_of(said if isinstance(said, dtype) else str_to_ty(said, None), said, name)

    def __repr__(self):
        return f"ASTSource({self.fn.__name__}, {self.signature})"


def _argument_of(type, said, name):
    """An argument that a launch takes for this type."""
    if isinstance(type, pointer_type):
        import torch
        by_type = {v: k for k, v in torch_dtypes().items()}
        if type.element_ty not in by_type:
            raise NotImplementedError(f"{name} has type {said!r} in a signature; there are no tensors of {type.element_ty}")
        return torch.empty(0, dtype=by_type[type.element_ty])
    # Numbers of a launch are of these types by their value; 1 would be compiled in.
    sample = {"int1": True, "int32": 2, "int64": 1 << 40, "uint64": 1 << 63, "fp32": 0.5}.get(type.name)
    if sample is None:
        raise NotImplementedError(f"{name} has type {said!r} in a signature; numbers are passed as i1, i32, i64, u64 or fp32")
    return sample


class IRSource:
    """Not there: raises NotImplementedError."""

    def __init__(self, path, context=None, backend=None):
        raise NotImplementedError("IRSource is not there: kernels are compiled from Python only, by ASTSource")


def compile(src, target=None, options=None, _env_vars=None):
    """The kernel of an ASTSource, launched as kernel[grid](arguments) with arguments of these types."""
    from ..runtime.jit import interpreting
    if not isinstance(src, ASTSource):
        raise TypeError(f"triton.compile takes an ASTSource, not {src!r} of type {type(src).__name__}")
    if target is not None and getattr(target, "backend", target) != "cpu":
        raise NotImplementedError(f"triton.compile for {target!r} is not there: kernels are compiled for the CPU of this machine")
    return compile_kernel(src.fn, src.values(), dict(options or {}), interpreting())


def max_shared_mem(device):
    """Bytes of fast memory that a program may use: of the driver in use."""
    from ..runtime.driver import driver
    return driver.active.utils.get_device_properties(device)["max_shared_mem"]
