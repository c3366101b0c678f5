"""Makes the arguments of a case: elements by type, memory by layout."""

import zlib

import numpy as np
import torch

from sweep.record import SWEPT, T, walk

LAYOUTS = ("contiguous", "transposed", "sliced", "expanded")


def elements(spec, dtype, seed):
    """The elements as a float64, complex128, int64 or bool array: distinct in floating types, shuffled."""
    n = int(np.prod(spec.shape))
    rng = np.random.default_rng(seed)
    if spec.values is not None:
        a = np.asarray(spec.values)
        if a.size != n:
            a = np.resize(a, n)
    elif dtype == torch.bool:
        a = rng.random(n) > 0.5
    elif dtype.is_floating_point or dtype.is_complex:

        def grid():
            return rng.permutation(spec.lo + (spec.hi - spec.lo) * (np.arange(n) + rng.uniform(0.2, 0.8)) / max(n, 1))

        a = grid() + 1j * grid() if dtype.is_complex else grid()
    else:
        lo, hi = spec.ints or (spec.lo, spec.hi)
        if not dtype.is_signed:
            lo = max(lo, 0)
        a = rng.integers(int(np.ceil(lo)), int(np.floor(hi)) + 1, n)
    return a.reshape(spec.shape)


def to_torch(array, dtype):
    return torch.from_numpy(np.ascontiguousarray(array)).to(dtype).reshape(array.shape).clone()


def to_numpy(t):
    """A copy as float64, complex128, int64 or bool; uint64 keeps its type."""
    t = t.detach().clone().resolve_conj().resolve_neg()
    if t.dtype == torch.bool:
        return t.numpy()
    if t.dtype.is_complex:
        return t.to(torch.complex128).numpy()
    if t.dtype.is_floating_point:
        return t.to(torch.float64).numpy()
    return t.numpy() if t.dtype == torch.uint64 else t.to(torch.int64).numpy()


def laid_out(t, layout):
    """The elements of t in other memory; None where the layout is no other. "expanded" repeats the first slice."""
    if layout == "contiguous":
        return t
    if layout == "transposed":
        if t.dim() < 2:
            return None
        order = list(range(t.dim()))[::-1]
        return t.permute(order).contiguous().permute(order)
    if layout == "sliced":
        if t.dim() == 0:
            buffer = torch.zeros(3, dtype=t.dtype)
            view = buffer[1]
        else:
            buffer = torch.zeros([2 * s + 1 for s in t.shape], dtype=t.dtype)
            view = buffer[tuple(slice(1, 1 + 2 * s, 2) for s in t.shape)]
        view.copy_(t)
        return view
    if layout == "expanded":
        if t.dim() == 0 or t.shape[0] < 2:
            return None
        return t[:1].contiguous().expand(t.shape)
    raise ValueError(layout)


class Arguments:
    """The arguments of a case in a type; `tensors` are those that the case describes, in order."""

    def __init__(self, case, dtype, layout="contiguous", device="cpu", same_as=None):
        self.case, self.dtype, self.tensors, self.specs = case, dtype, [], []
        self.changed = False

        def make(spec):
            i = len(self.tensors)
            want = spec.dtype or dtype
            seed = zlib.crc32(repr((case, i)).encode())
            t = to_torch(elements(spec, want, seed), want)
            other = laid_out(t, layout)
            if other is not None and other is not t:
                self.changed = True
                t = other
            self.tensors.append(t)
            self.specs.append(spec)
            return t

        filled = walk((case.args, case.kwargs), make)
        self.args, kwargs = filled
        self.args = tuple(dtype if a is SWEPT else a for a in self.args)
        self.kwargs = {k: dtype if v is SWEPT else v for k, v in kwargs.items()}

    def replaced(self, f):
        """(args, kwargs) with f(i, tensor, spec) for each tensor."""
        i = -1

        def each(spec):
            nonlocal i
            i += 1
            return f(i, self.tensors[i], spec)

        args, kwargs = walk((self.case.args, self.case.kwargs), each)
        return (
            tuple(self.dtype if a is SWEPT else a for a in args),
            {k: self.dtype if v is SWEPT else v for k, v in kwargs.items()},
        )

    def fresh(self):
        """(args, kwargs) on clones that keep the strides."""
        return self.replaced(lambda i, t, s: t.clone())

    def arrays(self):
        """(args, kwargs) for the value function; what only places or types the result is left out."""
        args, kwargs = self.replaced(lambda i, t, s: to_numpy(t))
        drop = ("dtype", "device", "layout", "pin_memory", "memory_format", "requires_grad")
        return args, {k: v for k, v in kwargs.items() if k not in drop}


def is_tensor_case(case):
    return any(isinstance(s, T) for s in case.specs())
