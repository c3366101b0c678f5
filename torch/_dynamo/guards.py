"""Guards: what must still hold for a graph to stand for its function.

They are collected as expressions over the call's arguments (`a`, a tuple, and `k`, a dict) and over objects that the
function reached, then made into one flat Python function that checks them and runs the graph.
"""
import math
import sys

import torch

from . import allowed
from .exc import Unsupported
from .unseen import file_name

MISS = object()   # what an entry gives when a guard does not hold


class Source:
    """Where a value comes from: an expression that gives it again, or, with `fixed`, the very object. `label` is for people."""
    __slots__ = ("text", "fixed", "label")

    def __init__(self, text, fixed=False, label=None):
        self.text, self.fixed, self.label = text, fixed, label or text

    def attr(self, name):
        return Source(f"{self.text}.{name}", label=f"{self.label}.{name}")

    def item(self, key, text=None):
        return Source(f"{self.text}[{text or repr(key)}]", label=f"{self.label}[{key!r}]")


def marks(t, name):
    """The dimensions that mark_dynamic and the like noted on t."""
    return {i % t.dim() for i in getattr(t, name, ())}


class Guards:
    def __init__(self):
        self.names = {"MISS": MISS}   # the namespace of the checks
        self.checks = {}              # expression: None, in the order of reading
        self.tensors = {}             # expression of a tensor: (the tensor, its variable)
        self._of = {}
        self.shapes_matter = False

    def name(self, obj, letter="O"):
        """The name that stands for this object in the checks."""
        found = self._of.get(id(obj))
        if found is None:
            found = f"{letter}{len(self._of)}"
            self._of[id(obj)] = found
            self.names[found] = obj
        return found

    def add(self, expression):
        self.checks[expression] = None

    def same(self, source, obj):
        self.add(f"{source.text} is {self.name(obj)}")

    def type(self, source, t):
        self.add(f"type({source.text}) is {self.name(t, 'T')}")

    def constant(self, source, value):
        t = type(value)
        if value is None or t in (bool, type(Ellipsis), type(NotImplemented), torch.dtype):
            self.same(source, value)
        elif t is int:
            self.type(source, t)
            self.add(f"{source.text} == {value}")
        elif t is float:
            self.type(source, t)
            if math.isnan(value):
                self.add(f"{source.text} != {source.text}")
            else:
                n = self.name(value)
                self.add(f"{source.text} == {n}" + ("" if value else f" and copysign(1.0, {source.text}) == {math.copysign(1.0, value)}"))
                self.names["copysign"] = math.copysign
        elif t is complex:
            self.type(source, t)
            self.add(f"repr({source.text}) == {repr(value)!r}")
        else:
            self.type(source, t)
            self.add(f"{source.text} == {self.name(value)}")

    def tensor(self, source, t):
        if source.text not in self.tensors:
            self.tensors[source.text] = (t, f"t{len(self.tensors)}")

    def free_sizes(self, t, dynamic):
        """The dimensions of t whose sizes are not guarded: all, or those that were marked so; none if Python read sizes."""
        if self.shapes_matter:
            return ()
        free = range(t.dim()) if dynamic else marks(t, "_dynamo_dynamic_indices") | marks(t, "_dynamo_weak_dynamic_indices")
        return set(free) - marks(t, "_dynamo_static_indices")

    def _tensor_lines(self, dynamic):
        if not self.tensors:
            return
        tensors = [t for t, _ in self.tensors.values()]
        variables = [var for _, var in self.tensors.values()]
        self.names["tensors"] = torch._C._TensorGuard(tuple(tensors), tuple(sorted(self.free_sizes(t, dynamic)) for t in tensors))
        for text, (_, var) in self.tensors.items():
            yield f"{var} = {text}"
        yield f"if not tensors({', '.join(variables)}): return MISS"

    def function(self, result, inputs, count, keys, graph, dynamic=False):
        """The entry: run(a, k), which gives MISS or what the function gives. `result` are lines that do so with `o`, the
        graph's outputs; None stands for an entry that says: run as it is."""
        lines = [f"if len(a) != {count} or " + ("k" if not keys else f"tuple(k) != {tuple(keys)!r}") + ": return MISS"]
        state, names = global_state()
        self.names.update(names)
        self.names["graph"] = graph
        lines.append(f"if not ({state}): return MISS")
        if self.checks:
            lines.append("if not (" + "\n   and ".join(self.checks) + "): return MISS")
        lines += self._tensor_lines(dynamic)
        body = "\n".join("    " + line.replace("\n", "\n    ") for line in lines)
        passed = ", ".join(self.tensors[s][1] if s in self.tensors else s for s in inputs)
        code = (f"def run(a, k):\n  try:\n{body}\n  except Exception: return MISS\n" +
                ("  return EAGER\n" if result is None else f"  o = graph({passed})\n" + "".join(f"  {line}\n" for line in result)))
        self.names["EAGER"] = EAGER
        exec(compile(code, file_name("guards"), "exec"), self.names)
        run = self.names["run"]
        run.code, run.checks = code, [*self.checks, *(f"{s}: {t.dtype} {tuple(t.shape)}" for s, (t, _) in self.tensors.items())]
        return run


EAGER = object()   # what an entry gives when its function must run as it is


def _autocast():
    return bool(torch.is_autocast_enabled("cpu")) and (torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled())


def global_state():
    """(expression that holds while the process-wide state is as now, its names)"""
    names = {"state": torch._C._StateGuard(), "deterministic": torch._defaults._deterministic, "precision": torch._defaults._matmul_precision}
    checks = ["state()", f"deterministic == {torch._defaults._deterministic}", f"precision == {torch._defaults._matmul_precision}"]
    if "torch.amp" not in sys.modules:   # autocast cannot be on
        names["modules"] = sys.modules
        checks.append("'torch.amp' not in modules")
    else:
        names["autocast"], names["AUTOCAST"] = _autocast, _autocast()
        checks.append("autocast() == AUTOCAST")
    return " and ".join(checks), names


def busy():
    """Whether nothing can be compiled now: modes, transforms and dual levels see every operator as it comes."""
    return torch._C._operators_are_watched()


def check_tensor_type(t):
    if not allowed.plain_tensor_type(type(t)):
        raise Unsupported(f"an argument or a value it reads is a {type(t).__name__}, a subclass of Tensor")
    if t.layout is not torch.strided:
        raise Unsupported(f"a tensor of layout {t.layout}")
    if t.is_quantized:
        raise Unsupported("a quantized tensor")
