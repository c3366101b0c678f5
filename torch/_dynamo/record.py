"""The program that a run makes: every operator of torch that is called becomes a step.

Operators run on stand-ins of the tensors that the function got or reached, so that following a function changes nothing that
others see. A bare recorder's stand-ins have no values, on the meta device: what Python may see of a tensor, its values decide
nothing of. It takes tensors of the CPU alone, and raises NeedsValues where it does not know; others copy.
"""
import operator

import torch
from torch._ops import OpOverload, OpOverloadPacket

from . import allowed
from .exc import Unsupported
from .guards import check_tensor_type
from .program import Input, Program, Step, Value, mapped, values_of


def stand_in(t):
    """A copy of t with its geometry, alone in its memory."""
    with torch.no_grad():
        if t.device.type == "meta":
            copy = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device)
        elif t.is_contiguous():
            copy = t.detach().clone(memory_format=torch.contiguous_format)
        elif 0 in t.stride() or t.numel() == 0 or t.is_conj() or t.is_neg():
            span = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride())) if t.numel() else 0
            copy = torch.as_strided(t.detach(), (span,), (1,)).clone().as_strided(t.shape, t.stride()) \
                if not (t.is_conj() or t.is_neg()) else t.detach().clone()
        else:
            copy = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device)
            try:
                copy.copy_(t.detach())
            except RuntimeError:
                raise Unsupported("a tensor whose elements overlap in memory") from None
    return copy.detach().requires_grad_(t.requires_grad) if t.requires_grad else copy.detach()


class NeedsValues(Exception):
    """A bare recorder does not do."""


def bare_stand_in(t):
    """A tensor of the geometry of t without values."""
    if t.device.type != "cpu" or t.is_conj() or t.is_neg():
        raise NeedsValues
    if not t.is_contiguous():   # elements that share memory are for the other kind
        reach = 1
        for stride, size in sorted(zip(t.stride(), t.shape)):
            if size > 1:
                if stride < reach:
                    raise NeedsValues
                reach = stride * size
    copy = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta")
    return copy.requires_grad_() if t.requires_grad else copy


_LARGE = 1 << 22   # elements of what a graph may hold for good

# Facts of where a tensor is. A bare recorder's are those of the CPU.
_PLACES = frozenset("device is_cuda is_cpu is_meta is_mkldnn is_mps is_xla is_xpu get_device".split())
_MOVES = frozenset("cpu cuda type pin_memory".split())


# What raises where an element of an integer divisor is 0, or an index is out of bounds.
_DIVIDES = frozenset("floor_divide remainder fmod floordiv mod ifloordiv imod divide div true_divide __floordiv__ __mod__ floor_divide_ "
                     "remainder_ fmod_ __rfloordiv__ __rmod__".split())
_READS_BY_INDEX = frozenset("gather index_select embedding take_along_dim take index".split())


def _on_meta(x):
    """An argument of an operator, the CPU as the meta device."""
    if type(x) is torch.device or type(x) is str and x.split(":")[0] in ("cpu", "cuda", "meta", "mps", "xpu"):
        if torch.device(x).type != "cpu":
            raise NeedsValues
        return torch.device("meta")
    return x


def _is_meta(x):
    """Whether x names the meta device: the compiler's own stand-ins are there, and it would take the one for the other."""
    return type(x) is torch.device and x.type == "meta" or type(x) is str and x.split(":")[0] == "meta"


def _tensors_of(x):
    """The tensors in nested arguments."""
    if isinstance(x, torch.Tensor):
        yield x
    elif type(x) in (tuple, list, dict):
        for i in x.values() if type(x) is dict else x:
            yield from _tensors_of(i)


def set_grad_enabled(on):
    """The step that switches grad mode."""
    torch._C._set_grad_enabled(on)


class Recorder:
    def __init__(self, bare=False):
        self.bare = bare
        if bare and torch._C._get_default_device().type != "cpu":
            raise NeedsValues
        self.run, self.steps, self.inputs, self.versions = None, [], [], []
        self.values = {}      # id of a tensor of this run, or of one from outside: its Value
        self.outside = {}     # id of a tensor from outside: (tensor, its stand-in, source)
        self.keep = []
        self.may_raise = []   # (Value, tensor) of steps whose kernels raise for what some elements are
        self.fixed = []       # (Value, tensor, its version) of what is made of constants alone
        self.calls = self.count = 0
        self.changes_grad_mode = self.draws_without_input = False
        self.unknown = False  # whether code of users is a step: what it does besides its result is not known

    def _next(self):
        self.count += 1
        return self.count - 1

    def outside_tensor(self, t, source):
        """Makes a tensor from outside an input of the program."""
        check_tensor_type(t)
        if id(t) not in self.outside:
            copy = bare_stand_in(t) if self.bare else stand_in(t)
            value = Input(self._next(), source, t)
            self.outside[id(t)] = (t, copy, source)
            self.values[id(t)] = self.values[id(copy)] = value
            self.keep += (t, copy)
            self.inputs.append(value)
            self.versions.append(copy._version)

    def real(self, x):
        """x with stand-ins in the place of tensors from outside."""
        if isinstance(x, torch.Tensor):
            found = self.outside.get(id(x))
            if found is not None:
                return found[1]
            if id(x) not in self.values:
                raise Unsupported("a tensor whose origin is not known")
            return x
        return mapped(x, self.real)

    def fact(self, x, name):
        """x.name, which says what the tensor is."""
        if self.bare and name in _PLACES:
            return getattr(torch.empty(0, device="cpu"), name)
        return getattr(self.real(x), name)

    def _without_values(self, f, name, args, kwargs):
        """(arguments, keyword arguments) with which a bare recorder runs an operator."""
        if name in _MOVES or f in allowed.opaque:
            raise NeedsValues
        args, kwargs = [_on_meta(a) for a in args], {k: _on_meta(a) for k, a in kwargs.items()}
        if name in allowed._FACTORIES and not any(isinstance(a, torch.Tensor) for a in (*args, *kwargs.values())) \
                and kwargs.get("device") is None:
            kwargs["device"] = torch.device("meta")
        return args, kwargs

    def from_outside(self, f, args, kwargs):
        """Runs an operator from outside. Its kernel may print, count or draw, and runs when the graph does: here its shape rule
        runs, on the meta device, and its results are zeros. Without a rule their shapes may hang on elements."""
        if self.bare:
            result = f(*args, **kwargs)
        else:
            result = self._by_shapes(f, args, kwargs)
        overloads = [f] if isinstance(f, OpOverload) else f.op_overloads
        if any(o._schema.is_mutable for o in overloads):   # a shape rule does not say that it writes
            for t in _tensors_of((args, kwargs)):
                torch._C._bump_version(t)
        return result

    def _by_shapes(self, f, args, kwargs):
        stand_for = {}   # id of a tensor without elements: (it, the tensor that it stands for)

        def bare(x):
            if not isinstance(x, torch.Tensor):
                return mapped(x, bare)
            t = next((t for t, of in stand_for.values() if of is x), None)
            if t is None:
                t = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta").requires_grad_(x.requires_grad)
                stand_for[id(t)] = t, x
            return t

        def full(x):
            if not isinstance(x, torch.Tensor):
                return mapped(x, full)
            if id(x) in stand_for:
                return stand_for[id(x)][1]
            if any(torch._C._same_storage(x, t) for t, _ in stand_for.values()):
                raise Unsupported(f"torch.ops.{f} gives a view of an argument")
            t = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="cpu").zero_()
            return t.requires_grad_().clone() if x.requires_grad else t
        try:
            return full(f(*bare(args), **bare(kwargs)))
        except (RuntimeError, AssertionError) as error:   # NotImplementedError among them
            raise Unsupported(f"torch.ops.{f} does not run on tensors without elements (register_fake): {error}") from None

    def _argument(self, x):
        if isinstance(x, torch.Tensor):
            return self.values[id(x)]
        if type(x) in allowed.CONSTANT_TYPES:
            return x
        if type(x) in (tuple, list, dict, slice):
            return mapped(x, self._argument)
        raise Unsupported(f"an operator of torch is given a {type(x).__name__}")

    def call(self, f, name, args, kwargs, method=False):
        """Runs an operator on stand-ins and makes it a step."""
        if self.run.protected:
            raise Unsupported(f"{name} within try: what a graph raises would not come to the handler")
        if allowed.decides_shape(name, args, kwargs):
            raise Unsupported(f"{name}: the shape of the result depends on data")
        args, kwargs = self.real(tuple(args)), self.real(dict(kwargs))
        step = Step(Value(self._next()), f, self._argument(args), self._argument(kwargs), method)
        if name in allowed.RANDOM_WITHOUT_INPUT:
            self.draws_without_input = True
        if not method and f in allowed.opaque or any(map(_is_meta, (*args, *kwargs.values()))):
            self.unknown = True
        if self.bare:
            args, kwargs = self._without_values(f, name, args, kwargs)
        if isinstance(f, (OpOverload, OpOverloadPacket)) and f._namespace != "aten":
            self.unknown = True
            result = self.from_outside(f, args, kwargs)
        else:
            result = getattr(args[0], f)(*args[1:], **kwargs) if method else f(*args, **kwargs)
        self.steps.append(step)
        self.calls += 1
        if isinstance(result, torch.Tensor) and (name in _READS_BY_INDEX or name in _DIVIDES and not result.is_floating_point() or
                                                 name in ("getitem", "__getitem__") and any(True for _ in values_of(step.args[1:]))):
            self.may_raise.append((step.value, result))
        if result is not None or not isinstance(f, (OpOverload, OpOverloadPacket)):   # operators that only write give nothing
            self._result(result, step.value, name)
        if name in allowed.FIXED_MAKERS and isinstance(result, torch.Tensor) and not any(True for _ in values_of((step.args, step.kwargs))):
            self.fixed.append((step.value, result, result._version))
        for t, copy, _ in self.outside.values():
            if copy is result:   # in place: the tensor from outside itself
                return t
        return result

    def _result(self, result, value, name):
        if isinstance(result, torch.Tensor):
            if not allowed.plain_tensor_type(type(result)) or result.layout is not torch.strided:
                raise Unsupported(f"{name} gives a {type(result).__name__} of layout {result.layout}")
            for t, copy, _ in self.outside.values():
                if copy is result:
                    self.values[id(t)] = value
            self.values[id(result)] = value
            self.keep.append(result)
        elif isinstance(result, (tuple, list)):
            self.keep.append(result)
            for i, item in enumerate(result):
                if item is None:
                    continue
                if not isinstance(item, (torch.Tensor, tuple, list)):
                    raise Unsupported(f"{name} gives a {type(item).__name__}")
                part = Value(self._next())
                self.steps.append(Step(part, operator.getitem, (value, i), {}))
                self._result(item, part, name)
        elif result is not None or name != "setitem":
            raise Unsupported(f"{name} gives a {type(result).__name__}, which is no tensor")

    def grad_mode(self, on):
        """Switches grad mode here and in the program."""
        self.steps.append(Step(Value(self._next()), set_grad_enabled, (bool(on),), {}))
        torch._C._set_grad_enabled(bool(on))
        self.changes_grad_mode = True

    def _unused_that_may_raise(self, outputs):
        """The Values that nothing needs, with their tensors, of steps that raise for some values of their arguments: back ends
        leave out what is not an output, and its error with it."""
        if not self.may_raise:
            return []
        live = set(outputs)
        for step in reversed(self.steps):   # what is written in place is a value of its own, and does not raise
            if step.value in live:
                live.update(values_of((step.args, step.kwargs)))
        return [(v, t) for v, t in self.may_raise if v not in live]

    def program(self, outputs):
        """The Program with these tensors as its outputs."""
        given = [self.values[id(t)] for t in outputs]
        unused = self._unused_that_may_raise(given)
        made = Program(self.inputs, self.steps, given + [v for v, _ in unused])
        outputs = [*outputs, *(t for _, t in unused)]
        made.facts = {"grad_mode": self.changes_grad_mode, "draws": self.draws_without_input,
                      "unknown": self.unknown}
        given = {t.untyped_storage()._cdata for t in outputs}
        made.facts["fixed"] = {v for v, t, before in self.fixed if t._version == before and t.numel() <= _LARGE
                               and t.untyped_storage()._cdata not in given} if not self.unknown else ()
        if torch.is_grad_enabled() and any(t.requires_grad for t, _, _ in self.outside.values()):
            places = [t.untyped_storage()._cdata if self.bare else t.untyped_storage().data_ptr() for t in (*(x[1] for x in self.outside.values()), *outputs) if t.numel()]
            made.facts["aliases"] = len(set(places)) != len(places)
            made.facts["roots"] = sum(t.requires_grad for t in outputs)
            made.facts["writes"] = any(copy._version != before for (_, copy, _), before in zip(self.outside.values(), self.versions))
        return made
