"""`torch.library.triton_op` and `wrap_triton`: operators made of Triton kernels, and launches that graphs record."""
import torch
from torch import _C

_launches = []   # (positional arguments, named ones, grid) by the number that a graph holds: what is no tensor and no symbol
_same = {}       # those of them that can be compared -> that number
_kernels = {}    # kernel -> its number
_numbers = []    # the kernels by number
_op = None

_TENSOR, _SIZE, _TUPLE = "tensor", "size", "tuple"


def _launch_op():
    """The operator that stands for a launch wherever a mode, a graph or a tensor without values is at work."""
    global _op
    if _op is None:
        library = torch.library.Library("triton", "FRAGMENT")
        library.define("launch(int kernel, int arguments, SymInt[] grid, Tensor(a!)[] tensors, SymInt[] sizes) -> ()")
        library.impl("launch", _launch, "CompositeExplicitAutograd")
        library.impl("launch", lambda *args: None, "Meta")
        torch.library._keep_alive.append(library)
        _op = torch.ops.triton.launch.default
    return _op


def _launch(kernel, arguments, grid, tensors, sizes):
    from triton.language.types import tuple_of
    positional, named, function = _launches[arguments]
    given = {_TENSOR: iter(tensors), _SIZE: iter(sizes)}

    def value(kind, constant):
        if kind == _TUPLE:
            of, parts = constant
            return tuple_of(of, [value(*part) for part in parts])
        return next(given[kind]) if kind else constant
    args = [value(*a) for a in positional]
    _numbers[kernel].run(*args, grid=function or tuple(grid), warmup=False, **{name: value(*a) for name, a in named})


def _number_of(launch, kept):
    """The number of a launch; not `kept`: one that is given back after the call."""
    number = len(_launches)
    if kept:
        # 1, 1.0 and True are equal, and other arguments to a kernel.
        try:
            number = _same.setdefault((launch, repr(launch)), number)
        except TypeError:   # something that cannot be compared
            pass
    if number == len(_launches):
        _launches.append(launch)
    return number


def _is_recorded(tensors):
    """Whether somebody may make the call again: a trace, or a mode or class of the user's; fake tensors alone do not."""
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    return (torch.compiler.is_compiling() or any(not isinstance(m, FakeTensorMode) for m in torch.utils._python_dispatch._get_current_dispatch_mode_stack())
            or any(_C._takes_dispatch(t) and not isinstance(t, FakeTensor) for t in tensors))


class TraceableKernel:
    """A Triton kernel whose launches are seen by dispatch modes, fake tensors and make_fx."""

    def __init__(self, kernel):
        self.kernel = kernel
        if kernel not in _kernels:
            _kernels[kernel] = len(_numbers)
            _numbers.append(kernel)
        self.kernel_idx = _kernels[kernel]

    def __getitem__(self, grid):
        def launch(*args, **kwargs):
            return self.run(*args, grid=grid, **kwargs)
        return launch

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{self!r} is launched with a grid: wrap_triton(kernel)[grid](...)")

    def run(self, *args, grid, warmup=False, **kwargs):
        """Launches the kernel on a grid: a number, up to three numbers, or a function of the arguments by name."""
        from triton.tools.tensor_descriptor import TensorDescriptor
        tensors, sizes = [], []

        def part(a):
            if isinstance(a, TensorDescriptor):
                a = a.passed()
            if isinstance(a, tuple):
                return _TUPLE, (type(a), tuple(map(part, a)))
            if isinstance(a, torch.Tensor):
                tensors.append(a)
                return _TENSOR, None
            if isinstance(a, torch.SymInt):
                sizes.append(a)
                return _SIZE, None
            return None, a
        positional, named = tuple(map(part, args)), tuple((name, part(a)) for name, a in kwargs.items())
        if warmup or not (sizes or _C._len_torch_dispatch_stack() or any(t.is_meta or _C._takes_dispatch(t) for t in tensors)):
            return self.kernel.run(*args, grid=grid, warmup=warmup, **kwargs)
        function = None
        if callable(grid) and not hasattr(self.kernel, "signature"):
            function, grid = grid, ()   # of a kernel that chooses constants itself: only its launch knows what the function is given
        elif callable(grid):
            defaults = {n: p.default for n, p in self.kernel.signature.parameters.items() if p.default is not p.empty}
            grid = grid({**defaults, **dict(zip(self.kernel.arg_names, args)), **kwargs})
        grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
        kept = _is_recorded(tensors)
        number = _number_of((positional, named, function), kept)
        try:
            _launch_op()(self.kernel_idx, number, grid, tensors, sizes)
        finally:
            if not kept:
                _launches[number] = None
                while _launches and _launches[-1] is None:
                    _launches.pop()
        return None

    def __repr__(self):
        return f"wrap_triton({self.kernel!r})"


def wrap_triton(triton_kernel, /):
    """A Triton kernel whose launches dispatch modes, fake tensors and graphs of make_fx see.

    It is launched as the kernel is: `wrap_triton(kernel)[grid](arguments)`. On tensors without values nothing is
    launched. In a graph a launch is one call of torch.ops.triton.launch, whose arguments are the tensors that the kernel
    may write, sizes that are symbols, and numbers under which this process knows the kernel and its other arguments.

    RuntimeError where triton_kernel is no function of triton.jit, triton.autotune or triton.heuristics.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction
    if isinstance(triton_kernel, TraceableKernel):
        return triton_kernel
    if not isinstance(triton_kernel, (JITFunction, Autotuner, Heuristics)):
        raise RuntimeError(f"wrap_triton takes a kernel of triton.jit, triton.autotune or triton.heuristics, not {type(triton_kernel).__name__}")
    return TraceableKernel(triton_kernel)


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Makes an operator of a function that consists of operators and of Triton kernels launched by wrap_triton.

    Takes what custom_op takes, and gives a CustomOpDef. The function itself, run on tensors without values, says how the
    results look: register_fake is needed only where that is not so.
    """
    def inner(fn):
        op = torch.library.custom_op(name, fn, mutates_args=mutates_args, schema=schema)
        op.register_fake(fn)
        return op
    return inner if fn is None else inner(fn)
