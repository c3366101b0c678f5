"""@triton.jit: functions that become kernels."""
import ast
import functools
import inspect
import textwrap

from torch import _C

from .. import knobs
from ..compiler.compiler import compile_kernel
from ..compiler.jumps import without_jumps
from ..tools.tensor_descriptor import TensorDescriptor
from ..language.types import const, constexpr, dtype, tuple_of, unwrap

_OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "enable_fp_fusion", "launch_cooperative_grid", "launch_pdl", "ir_override",
            "sanitize_overflow", "instrumentation_mode"}


def interpreting():
    """TRITON_INTERPRET=1: kernels run on the tile interpreter, the definition of the language, and not as machine code."""
    return knobs.runtime.interpret


class KernelInterface:
    """What can be launched: self[grid](...)."""

    def warmup(self, *args, grid, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid):
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


class MockTensor:
    """Stands for a tensor of a dtype where a kernel is only compiled (warmup)."""

    def __init__(self, dtype, shape=None):
        self.dtype = dtype
        self.shape = shape if shape is not None else [1]

    def stride(self, dim=None):
        strides, n = [], 1
        for s in reversed(self.shape):
            strides.insert(0, n)
            n *= s
        return tuple(strides) if dim is None else strides[dim]

    @staticmethod
    def wrap_dtype(arg):
        import torch
        return MockTensor(arg) if isinstance(arg, torch.dtype) else arg

    def tensor(self):
        import torch
        return torch.empty(0, dtype=self.dtype)


class TensorWrapper:
    """A tensor taken as one of another dtype; see reinterpret."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype
        self.data = getattr(base, "data", base)
        self.device, self.shape = base.device, base.shape

    def data_ptr(self): return self.base.data_ptr()
    def stride(self, *args): return self.base.stride(*args)
    def element_size(self): return self.base.element_size()
    def __str__(self): return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """The same memory as elements of another dtype (of the language or of torch)."""
    if isinstance(tensor, TensorWrapper):
        tensor = tensor.base
    return tensor if getattr(tensor, "dtype", None) == dtype else TensorWrapper(tensor, dtype)


_GONE = object()


def _plain(x):
    """What tells constants apart: 1 is not 1.0."""
    x = unwrap(x)
    return tuple(map(_plain, x)) if isinstance(x, tuple) else (type(x), repr(x) if isinstance(x, float) else x)


def _argument(x):
    """What a launch takes for x."""
    if isinstance(x, tuple):
        return tuple_of(type(x), map(_argument, x))
    if isinstance(x, TensorDescriptor):
        return _argument(x.passed())
    if isinstance(x, (MockTensor, TensorWrapper)):
        import torch
        from ..compiler.compiler import torch_dtypes
        to = x.dtype
        if isinstance(to, dtype):
            to = {v: k for k, v in torch_dtypes().items()}.get(to)
            if to is None:
                raise NotImplementedError(f"tensors of {x.dtype} are not there")
        return torch.empty(0, dtype=to) if isinstance(x, MockTensor) else x.base.view(to) if x.base.dtype.itemsize != to.itemsize or x.base.dtype != to else x.base
    import torch
    if isinstance(x, torch.dtype):
        return torch.empty(0, dtype=x)
    if type(x).__module__ == "numpy" and hasattr(x, "item") and getattr(x, "ndim", 1) == 0:
        return x.item()
    return x


class JITFunction(KernelInterface):
    """A Python function whose calls from the host are launches and whose calls from kernels are written in place."""

    __triton_jit__ = True
    __triton_constant__ = True   # part of the code where a launch is given one

    def __init__(self, fn, version=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None, repr=None, launch_metadata=None):
        self.fn = fn
        self.version, self.noinline, self.launch_metadata = version, noinline, launch_metadata
        self.debug = bool(debug) or knobs.runtime.debug
        self._repr = repr
        self.signature = inspect.signature(fn)
        self.arg_names = list(self.signature.parameters)
        for p in self.signature.parameters.values():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise TypeError(f"kernel {fn.__name__} has parameter {p}; kernels have named parameters only")
        lines, first = inspect.getsourcelines(fn)
        whole = textwrap.dedent("".join(lines))
        start = next(i for i, l in enumerate(whole.split("\n")) if l.lstrip().startswith(("def ", "async def ")))
        self.raw_src = lines
        self.src = "\n".join(whole.split("\n")[start:])
        self.first_line = self.starting_line_number = first + start
        self.filename = inspect.getsourcefile(fn) or "<kernel>"
        self._tree = None
        self.globals = self.__globals__ = fn.__globals__
        self.constexpr_names = {n for n, p in self.signature.parameters.items() if self._is_constexpr(p.annotation)}
        self.const_names = {n for n, p in self.signature.parameters.items() if p.annotation is const or isinstance(p.annotation, str) and
                            p.annotation.replace(" ", "").rsplit(".", 1)[-1] == "const"}
        self.constexprs = [i for i, n in enumerate(self.arg_names) if n in self.constexpr_names]
        unspecialized = {self.arg_names[x] if isinstance(x, int) else x for x in (do_not_specialize or ())}
        self.do_not_specialize = do_not_specialize or []
        kinds = bytes(1 if n in self.constexpr_names else 2 if n in unspecialized else 0 for n in self.arg_names)
        defaults = tuple(_C.TritonCache if p.default is p.empty else unwrap(p.default) for p in self.signature.parameters.values())
        self.cache = _C.TritonCache(tuple(self.arg_names), defaults, kinds, self._launch)
        self.hooked = _C.TritonCache(tuple(self.arg_names), defaults, kinds, self._launch)   # kernels of launches that hooks precede
        self.pre_run_hooks = []
        self.read = {}   # constants of the program around it that its code has: {(jit function or module, name): value}
        self._debug_twin = None
        self.kernel = None
        functools.update_wrapper(self, fn)
        self.__triton_jit__ = True

    @staticmethod
    def _is_constexpr(annotation):
        return annotation is constexpr or isinstance(annotation, constexpr) or isinstance(annotation, str) and annotation.replace(" ", "").endswith("constexpr")

    @property
    def tree(self):
        if self._tree is None:
            self._tree = without_jumps(ast.parse(self.src).body[0])
        return self._tree

    def parse(self):
        return ast.parse(self.src)

    @property
    def nonlocals(self):
        code = self.fn.__code__
        found = {}
        for name, cell in zip(code.co_freevars, self.fn.__closure__ or ()):
            try:
                found[name] = cell.cell_contents
            except ValueError:
                pass
        return found

    @property
    def params(self):
        return [KernelParam(i, p, self) for i, p in enumerate(self.signature.parameters.values())]

    def _look_again(self):
        """RuntimeError where a constant that the kernel was compiled with is another one now."""
        for (place, name), value in self.read.items():
            spaces = (place.nonlocals, place.globals) if isinstance(place, JITFunction) else (vars(place),)
            now = next((s[name] for s in spaces if name in s), _GONE)
            if now is not value and _plain(now) != _plain(value):
                raise RuntimeError(f"kernel {self.__name__} was compiled with {name} = {unwrap(value)!r}, which is "
                                   f"{'gone' if now is _GONE else repr(unwrap(now))} now; pass it as a tl.constexpr argument, or define the kernel anew")

    def __getitem__(self, grid):
        if self.read:
            self._look_again()
        return _C.TritonLaunch(self.cache, grid)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self.__name__} is a kernel: launch it as {self.__name__}[grid](...)")

    def add_pre_run_hook(self, hook):
        """Calls hook(*args, **kwargs) before each launch."""
        self.pre_run_hooks.append(hook)
        self.cache.clear()   # launches that it knows do not pass through Python

    def device_caches_clear(self):
        """Forgets the compiled kernels."""
        self.read = {}
        self.cache.clear()
        self.hooked.clear()

    def bind(self, args, kwargs):
        """The arguments, one for each parameter, and the options."""
        options = {k: kwargs.pop(k) for k in list(kwargs) if k in _OPTIONS and k not in self.signature.parameters}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"kernel {self.__name__}: {e}") from None
        bound.apply_defaults()
        values = tuple(unwrap(v) if n in self.constexpr_names else _argument(v) for n, v in bound.arguments.items())
        return values, options

    def run(self, *args, grid, warmup=False, **kwargs):
        return self._launch(grid, args, kwargs, True) if warmup else self[grid](*args, **kwargs)

    def _checked(self):
        """This kernel with its device_asserts."""
        if self._debug_twin is None:
            self._debug_twin = JITFunction(self.fn, do_not_specialize=self.do_not_specialize, debug=True, repr=self._repr)
        return self._debug_twin

    def _launch(self, grid, args, kwargs, warmup=False):
        named = dict(kwargs)
        if self.read:
            self._look_again()
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        values, options = self.bind(args, kwargs)
        if options.get("debug") and not self.debug:
            return self._checked()._launch(grid, args, {k: v for k, v in named.items() if k != "debug"}, warmup)
        cache = self.hooked if self.pre_run_hooks else self.cache
        kernel = cache.find(values)
        if kernel is None:
            kernel = compile_kernel(self, values, options, interpreting())
            cache.add(values, kernel.capsule, kernel)
        if warmup:
            return kernel
        if callable(grid):
            meta = dict(zip(self.arg_names, values))
            meta.update(named)
            grid = grid(meta)
        self.cache.launch(values, kernel.capsule, grid if isinstance(grid, int) else tuple(grid))
        return kernel

    def repr(self, _=None):
        return self.__name__ if self._repr is None else self._repr(_)

    def __repr__(self):
        return f"JITFunction({self.__module__}:{self.__name__})"

    def __reduce__(self):
        return self.__qualname__


class KernelParam:
    """A parameter of a kernel."""

    def __init__(self, num, param, fn):
        self.num, self._param, self._fn = num, param, fn
        self.name = param.name
        self.is_constexpr = param.name in fn.constexpr_names
        self.do_not_specialize = num in fn.do_not_specialize or param.name in fn.do_not_specialize
        self.default = param.default
        self.has_default = param.default is not param.empty
        self.annotation = param.annotation


def jit(fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None):
    """Makes a kernel of a Python function: launched as kernel[grid](arguments), called by other kernels as kernel(arguments).

    Arguments are tensors (pointers to their first elements), numbers and None; those annotated tl.constexpr are part of the code."""
    def decorate(f):
        if isinstance(f, JITFunction):
            return f
        if not callable(f):
            raise TypeError(f"triton.jit takes a function, not {f!r}")
        return JITFunction(f, version, do_not_specialize, do_not_specialize_on_alignment, debug, noinline, repr, launch_metadata)
    return decorate if fn is None else decorate(fn)


def constexpr_function(f):
    """A Python function that kernels may call with what is known when compiling."""
    @functools.wraps(f)
    def known(*args, **kwargs):
        return f(*[unwrap(a) for a in args], **{k: unwrap(v) for k, v in kwargs.items()})
    known.__triton_constexpr_function__ = True
    return known
