"""From a jit function and what its arguments are to machine code."""
import collections
import time
from types import SimpleNamespace

from torch import _C

from ..language import semantic as S
from ..language.core import make_tensor_descriptor
from ..language import types as T
from ..language.semantic import compiling, tensor
from ..tools.tensor_descriptor import Passed
from .code_generator import Generator
from .errors import CompilationError

# Architectural vector registers of x86-64-v3; the code generator may use all of them.
VECTOR_REGISTERS = 16

KernelMetadata = collections.namedtuple("KernelMetadata", ["name", "shared", "num_warps", "num_stages", "num_ctas", "target", "debug"])
# Codes of arguments in TritonCache.key: a tuple's number of elements and their codes follow its own.
TUPLE, NAMED_TUPLE, CONSTANT = 40, 41, 42
_dtypes = {}


def torch_dtypes():
    """Element types of pointers by torch dtype."""
    if not _dtypes:
        import torch
        for t, name in ((torch.bool, "int1"), (torch.int8, "int8"), (torch.int16, "int16"), (torch.int32, "int32"), (torch.int64, "int64"),
                        (torch.uint8, "uint8"), (torch.uint16, "uint16"), (torch.uint32, "uint32"), (torch.uint64, "uint64"),
                        (torch.float16, "fp16"), (torch.bfloat16, "bf16"), (torch.float32, "fp32"), (torch.float64, "fp64")):
            _dtypes[t] = T.dtype(name)
    return _dtypes


def _kinds(values):
    """Arguments as an error tells of them: a tensor by its type, an integer by itself (1 is compiled in)."""
    return ", ".join(f"({_kinds(v)})" if isinstance(v, tuple) else str(v.dtype) if hasattr(v, "dtype") else repr(v) for v in values)


def _without_memory(v):
    """An argument as it is kept: tensors of the call need not live on; of them the type is told."""
    if isinstance(v, tuple):
        return T.tuple_of(type(v), [_without_memory(e) for e in v])
    return SimpleNamespace(dtype=v.dtype) if hasattr(v, "dtype") else v


class CompiledKernel:
    """A kernel for certain types and constants.

    n_regs: vector registers; metadata.shared: bytes of working memory that a program uses; n_spills: 0, they are not counted."""

    def __init__(self, fn, capsule, facts, options, ir, front):
        self.fn, self.capsule = fn, capsule
        self.serial, self.scratch, self.work, self.milliseconds = facts
        self.front_milliseconds = front
        self.name = fn.__name__
        self.function = capsule
        self.module = None
        self.n_regs, self.n_spills, self.n_max_threads = VECTOR_REGISTERS, 0, 1
        from ..runtime.driver import target
        self.metadata = KernelMetadata(self.name, self.scratch, options.get("num_warps", 4), options.get("num_stages", 3), options.get("num_ctas", 1), target, fn.debug)
        self.asm = _Asm(capsule, ir)
        self.values = self.made_for = None

    @property
    def num_warps(self): return self.metadata.num_warps

    @property
    def num_stages(self): return self.metadata.num_stages

    @property
    def shared(self): return self.metadata.shared

    def _init_handles(self):
        """Machine code is loaded as soon as it is made."""

    def __getitem__(self, grid):
        def launch(*args):
            values = tuple(args)
            n = len(self.fn.arg_names)
            if len(values) < n:   # without the constants
                given = iter(values)
                values = tuple(self.values[i] if self.fn.arg_names[i] in self.fn.constexpr_names else next(given) for i in range(n))
            if self.fn.cache.key(values[:n]) != self.made_for:
                raise TypeError(f"kernel {self.name} was compiled for other types: {_kinds(self.values)}; it was called with {_kinds(values[:n])}")
            self.fn.cache.launch(values[:n], self.capsule, grid if isinstance(grid, int) else tuple(grid))
        return launch

    def __repr__(self):
        return f"CompiledKernel({self.name}, {self.milliseconds + self.front_milliseconds:.1f} ms)"


class _Asm(dict):
    """asm["ttir"]: the kernel as the front end wrote it; asm["tile"]: as a tile program."""

    def __init__(self, capsule, ir):
        super().__init__(ttir=ir)
        self.capsule = capsule

    def __missing__(self, key):
        if key == "tile":
            self[key] = _C._triton_listing(self.capsule)
            return self[key]
        raise KeyError(key)


def listing(program):
    """The text of a program, a node a line."""
    lines = []

    def region(number, depth):
        for id in program.regions[number].body:
            op, elem, tile, shape, operands, imm, attrs, regions, name = program.nodes[id]
            kind = "x".join(map(str, shape)) + "x" + elem if tile else elem
            lines.append("  " * depth + (f"%{id}: {kind} = " if elem != "none" else f"%{id} ") + " ".join([op, name] * bool(name) or [op]) + "".join(f" %{o}" for o in operands) + f" #{imm}" * (imm != 0))
            for r in regions:
                lines.append("  " * depth + "{" + " ".join(f"%{a}" for a in program.regions[r].arguments))
                region(r, depth + 1)
                lines.append("  " * depth + "} " + " ".join(f"%{a}" for a in program.regions[r].yields))
    region(0, 0)
    return "\n".join(lines)


def compile_kernel(fn, values, options, interpreted=False):
    """fn for these arguments (a tuple, one for each parameter)."""
    start = time.perf_counter()
    g = Generator(fn.__name__, debug=fn.debug or bool(options.get("debug")))
    made_for = fn.cache.key(values)
    codes = iter(made_for)

    def coded(value):
        """The code of an argument, or those of a tuple's elements: what TritonCache.key begins with."""
        code = next(codes)
        return [coded(e) for _, e in zip(range(next(codes)), value)] if code in (TUPLE, NAMED_TUPLE) else code

    kinds = {name: coded(value) for name, value in zip(fn.arg_names, values) if name not in fn.constexpr_names}
    areas = enumerate(codes)   # of tensors, in the order of the arguments
    large = fn.cache.large(values)

    def parameter(name, value, code):
        if isinstance(code, list):
            parts = [parameter(f"{name}[{i}]", v, c) for i, (v, c) in enumerate(zip(value, code))]
            if isinstance(value, Passed):
                return make_tensor_descriptor(*parts)
            return T.tuple_of(type(value), parts)
        if code >= 1000:
            element = torch_dtypes().get(value.dtype)
            if element is None:
                raise TypeError(f"argument {name} of kernel {fn.__name__} is a tensor of {value.dtype}, which kernels here do not take")
            number, area = next(areas)
            return tensor(g.program.parameter("address", area, large >> number & 1), T.pointer_type(element, const=name in fn.const_names))
        if code == CONSTANT:
            return T.unwrap(value)
        if code == 1:
            return None
        if code == 10:
            return S.number(1, T.int32)
        t = {2: T.int1, 11: T.int32, 12: T.int64, 13: T.uint64, 20: T.float32}[code]
        return tensor(g.program.parameter(t.elem, -1), t)

    with compiling(g):
        scope = {name: T.unwrap(value) if name in fn.constexpr_names else parameter(name, value, kinds[name]) for name, value in zip(fn.arg_names, values)}
        g.run(fn, scope)
    if g.read:
        fn.read = {**fn.read, **g.read}   # another thread may be looking at it
    ir = listing(g.program)
    front = (time.perf_counter() - start) * 1000
    try:
        capsule, *facts = _C._triton_compile(fn.__name__, g.program.parameters, g.program.nodes, g.program.finished(), g.program.classes, g.program.large, interpreted)
    except RuntimeError as e:
        raise CompilationError(fn.src, fn.tree, str(e), fn.filename, fn.first_line, fn.__name__) from e
    kernel = CompiledKernel(fn, capsule, facts, options, ir, front)
    kernel.values = tuple(v if name in fn.constexpr_names else _without_memory(v) for name, v in zip(fn.arg_names, values))
    kernel.made_for = made_for
    return kernel
