"""The graph that a run makes: every operator of torch that is called becomes a node.

Operators run on stand-ins, copies of the tensors that the function got or reached, so that following a function changes
nothing that others see.
"""
import operator
import re

import torch
from torch import fx

from . import allowed
from .exc import Unsupported
from .guards import check_tensor_type


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
            copy = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device=t.device).copy_(t.detach())
    return copy.detach().requires_grad_(t.requires_grad) if t.requires_grad else copy.detach()


def set_grad_enabled(on):
    """The node that switches grad mode."""
    torch._C._set_grad_enabled(on)


class Recorder:
    def __init__(self):
        self.graph = fx.Graph()
        self.nodes = {}       # id of a tensor of this run, or of one from outside: its node
        self.outside = {}     # id of a tensor from outside: (tensor, its stand-in, source)
        self.inputs = []      # (placeholder, source)
        self.keep = []
        self.calls = 0
        self.changes_grad_mode = self.draws_without_input = False
        self._last_input = None

    def outside_tensor(self, t, source):
        """Makes a tensor from outside an input of the graph."""
        check_tensor_type(t)
        if id(t) not in self.outside:
            name = re.sub(r"\W+", "_", source.label).strip("_")
            with self.graph.inserting_after(self._last_input) if self._last_input else self.graph.inserting_before(self._first()):
                node = self.graph.placeholder(f"L_{name}_")
            self._last_input = node
            copy = stand_in(t)
            node.meta["example_value"] = copy
            self.outside[id(t)] = (t, copy, source)
            self.nodes[id(t)] = self.nodes[id(copy)] = node
            self.keep += (t, copy)
            self.inputs.append((node, source))

    def outside_of(self, source):
        """(tensor, stand-in, source) of an input."""
        return next(x for x in self.outside.values() if x[2] is source)

    def _first(self):
        return next(iter(self.graph.nodes), None)

    def real(self, x):
        """x with stand-ins in the place of tensors from outside."""
        if isinstance(x, torch.Tensor):
            found = self.outside.get(id(x))
            if found is not None:
                return found[1]
            if id(x) not in self.nodes:
                raise Unsupported("a tensor whose origin is not known")
            return x
        return _mapped(x, self.real)

    def _argument(self, x):
        if isinstance(x, torch.Tensor):
            return self.nodes[id(x)]
        if type(x) in allowed.CONSTANT_TYPES:
            return x
        if type(x) in (tuple, list, dict, slice):
            return _mapped(x, self._argument)
        raise Unsupported(f"an operator of torch is given a {type(x).__name__}")

    def call(self, f, name, args, kwargs, method=False):
        """Runs an operator on stand-ins and makes it a node."""
        if allowed.decides_shape(name, args, kwargs):
            raise Unsupported(f"{name}: the shape of the result depends on data")
        args, kwargs = self.real(tuple(args)), self.real(dict(kwargs))
        nodes = self._argument(args), self._argument(kwargs)
        if name in allowed.RANDOM_WITHOUT_INPUT:
            self.draws_without_input = True
        value = getattr(args[0], f)(*args[1:], **kwargs) if method else f(*args, **kwargs)
        node = self.graph.create_node("call_method" if method else "call_function", f, *nodes)
        self.calls += 1
        self._result(value, node, name)
        return self._outward(value)

    def _outward(self, value):
        for t, copy, _ in self.outside.values():
            if copy is value:   # in place: the tensor from outside itself
                return t
        return value

    def _result(self, value, node, name):
        if isinstance(value, torch.Tensor):
            if type(value) not in allowed.TENSOR_TYPES or value.layout is not torch.strided:
                raise Unsupported(f"{name} gives a {type(value).__name__} of layout {value.layout}")
            for t, copy, _ in self.outside.values():
                if copy is value:
                    self.nodes[id(t)] = node
            self.nodes[id(value)] = node
            node.meta["example_value"] = value
            self.keep.append(value)
        elif isinstance(value, (tuple, list)):
            self.keep.append(value)
            node.meta["example_value"] = value
            for i, item in enumerate(value):
                if item is None:
                    continue
                if not isinstance(item, (torch.Tensor, tuple, list)):
                    raise Unsupported(f"{name} gives a {type(item).__name__}")
                self._result(item, self.graph.call_function(operator.getitem, (node, i)), name)
        elif value is not None or name != "setitem":
            raise Unsupported(f"{name} gives a {type(value).__name__}, which is no tensor")

    def grad_mode(self, on):
        """Switches grad mode here and in the graph."""
        self.graph.call_function(set_grad_enabled, (bool(on),))
        torch._C._set_grad_enabled(bool(on))
        self.changes_grad_mode = True

    def aliases(self, outputs):
        """Whether an output shares memory with an input or another output."""
        places = [t.untyped_storage().data_ptr() for t in (*(x[1] for x in self.outside.values()), *outputs) if t.numel()]
        return len(set(places)) != len(places)

    def module(self, outputs):
        """The GraphModule with these tensors as its outputs; inputs that nothing reads are dropped."""
        nodes = tuple(self.nodes[id(t)] for t in outputs)
        self.graph.output(nodes)
        for node, _ in self.inputs:
            if not node.users:
                self.graph.erase_node(node)
        self.inputs = [(n, s) for n, s in self.inputs if n.users]
        gm = fx.GraphModule(torch.nn.Module(), self.graph)
        gm.recompile()
        return gm


def _mapped(x, f):
    t = type(x)
    if t in (tuple, list):
        return t(f(i) for i in x)
    if t is dict:
        return {k: f(v) for k, v in x.items()}
    if t is slice:
        return slice(f(x.start), f(x.stop), f(x.step))
    return x
