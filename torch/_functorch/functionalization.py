"""Graphs without writes: every in-place operator becomes one that gives a new value.

Each value of a graph is a base or a view of one, by a chain of view operators. A write to a view gives a new base, by the
inverse writes of `view_rules`; what looks at the base is taken from the new one when it is next used.
"""
import functools
import math
import operator
import re

import torch
from torch._C import _functorch as _levels
from torch._ops import OpOverload
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, map_aggregate
from torch._functorch.view_rules import IN_PLACE_VIEWS, INVERSES, copy_form
from torch.utils import _pytree as pytree

__all__ = ["functionalize", "functionalize_graph", "written_arguments", "functional_form"]

aten = torch.ops.aten
_ARGUMENT = re.compile(r"^Tensor(?:\(([^)]*)\))?(\[[^\]]*\])?\??(?:\(([^)]*)\))?(\[[^\]]*\])?\??\s+(\w+)")


def _split(text):
    parts, depth, current = [], 0, ""
    for c in text:
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    return [*parts, current.strip()] if current.strip() else parts


class _Form:
    """What of an overload's schema matters: names of arguments, which are written, which are keywords."""

    def __init__(self, func):
        text = str(func._schema)
        self.names, self.written, self.keywords, self.key = [], [], set(), []
        only = False
        for part in _split(text[text.index("(") + 1:text.rindex("->")].strip()[:-1]):
            if part == "*":
                only = True
                continue
            name = part.split("=")[0].split()[-1]
            self.names.append(name)
            if only:
                self.keywords.add(name)
            kind = part.split("=")[0].rsplit(None, 1)[0]
            if "!" in kind:
                self.written.append(name)
            else:
                self.key.append((re.sub(r"\([^)]*\)", "", kind), name))


_forms = {}


def _form(func):
    form = _forms.get(func)
    if form is None:
        form = _forms[func] = _Form(func)
    return form


def written_arguments(func):
    """The names of the arguments that an overload writes to."""
    return _form(func).written if isinstance(func, OpOverload) else []


# Where the functional operator has another name or other arguments.
_SPECIAL = {"zero_": "zeros_like", "_index_put_impl_": "index_put", "bernoulli_.float": "bernoulli.p", "clamp_min_": "clamp_min", "clamp_max_": "clamp_max"}
# In-place operators that draw numbers: they run on a new tensor, which nobody else sees.
_FILLS = ("uniform_", "normal_", "random_", "exponential_", "cauchy_", "log_normal_", "geometric_", "bernoulli_")

_functional = {}


def functional_form(func):
    """The overload that gives as a result what `func` writes to its argument; None where there is none."""
    if func in _functional:
        return _functional[func]
    name, overload = func._overloadpacket.__name__, func._overloadname
    form, found = _form(func), None
    special = _SPECIAL.get(f"{name}.{overload}") or _SPECIAL.get(name)
    if special:
        packet, _, wanted = special.partition(".")
        packet = getattr(aten, packet, None)
        found = getattr(packet, wanted or "default", None) if packet is not None else None
    elif (known := torch._C._op_info(func._full))["form"] != "functional":   # the registry derived it from that one
        packet, _, wanted = known["functional"].partition(".")
        found = getattr(getattr(aten, packet), wanted or "default")
    elif name.endswith("_") and not name.endswith("__"):
        packet = getattr(aten, name[:-1], None)
        if packet is not None:
            if overload in packet.overloads():
                found = getattr(packet, overload)
            else:
                found = _with_arguments(packet, [n for n in form.names])
    else:
        out = set(form.written)
        found = _with_key(func._overloadpacket, [k for k in form.key if k[1] not in out])
    _functional[func] = found
    return found


def _with_arguments(packet, names):
    return next((getattr(packet, o) for o in packet.overloads()
                 if _form(getattr(packet, o)).names == names and not _form(getattr(packet, o)).written), None)


def _with_key(packet, key):
    return next((getattr(packet, o) for o in packet.overloads()
                 if _form(getattr(packet, o)).key == key and not _form(getattr(packet, o)).written), None)


class _Base:
    """Memory that tensors look at: the node of its contents now, and how often it was written."""

    __slots__ = ("value", "version", "source", "views", "memory")

    def __init__(self, value, source=None, old=None):
        self.value, self.version, self.source = value, 0, source
        self.memory = _memory(_val(value if old is None else old))   # where its elements lie for the program that writes
        self.views = {}  # {the steps to it: node} since the last write


class _Tensor:
    """A tensor of the old graph: a base, and the views that lead from it to the tensor."""

    __slots__ = ("base", "path", "value", "version")

    def __init__(self, base, path, value):
        self.base, self.path, self.value, self.version = base, path, value, base.version


class _Step:
    """One view: its operator, its arguments after the tensor, and which of several results it is.

    Results of one call have the same `group`. `memory` is how what as_strided looks at lies in memory (sizes, strides, offset).
    """

    __slots__ = ("func", "args", "kwargs", "index", "group", "memory")

    def __init__(self, func, args, kwargs, index=None, group=None, memory=None):
        self.func, self.args, self.kwargs, self.index = func, args, kwargs, index
        self.group = self if group is None else group
        self.memory = memory

    def arguments(self, value):
        """The view's arguments for what the node `value` gives, which may lie elsewhere."""
        if self.memory is None:
            return self.args
        size, stride, offset = self.args
        now = _memory(_val(value))
        if now is None or now[:2] != self.memory[:2]:
            raise NotImplementedError(f"as_strided looks at memory of strides {self.memory and list(self.memory[1])}, which a graph without "
                                      f"writes does not keep")
        return size, stride, offset - self.memory[2] + now[2]

    def check_write(self):
        """Whether as_strided sees elements of its tensor alone."""
        if self.memory is None:
            return
        size, stride, offset = self.args
        sizes, strides, start = self.memory
        if any(n > 1 and s <= reached for n, s, reached in _reaches(size, stride)):
            raise NotImplementedError(f"a write by as_strided(size={list(size)}, stride={list(stride)}), whose elements may share memory, has no functional form")
        last = offset + sum((n - 1) * s for n, s in zip(size, stride))
        reach = start + sum((n - 1) * s for n, s in zip(sizes, strides))
        if math.prod(size) and not (start <= offset and last <= reach and reach - start + 1 == math.prod(sizes)):
            raise NotImplementedError(f"a write by as_strided(size={list(size)}, stride={list(stride)}, storage_offset={offset}) to other memory than "
                                      f"that of its tensor, of shape {list(sizes)}, strides {list(strides)} and offset {start}, has no functional form")


def _key(path):
    """What a path of views is known by."""
    key = ()
    for step in path:
        key = (*key, step.group) if step.index is None else (*key, step.group, step.index)
    return key


class _Functionalizer:
    def __init__(self, gm, copies, detached):
        self.gm, self.copies, self.detached = gm, copies, detached
        self.graph = Graph()
        self.env = {}
        self.attributes = {}
        self.inputs = []

    # ---- nodes of the new graph, with the values that their shapes are read from -------------

    def call(self, func, args, kwargs=None, meta=None):
        node = self.graph.call_function(func, tuple(args), dict(kwargs or {}))
        packet = getattr(func, "_overloadpacket", None)
        if packet is not None:
            node._rename(packet.__name__)
        if meta is not None:
            node.meta = dict(meta)
        else:
            value = _shape_of(node)
            if value is not None:
                node.meta["val"] = value
        return node

    def view_call(self, func, args, kwargs, meta=None):
        """A call that may be a view, which copies where views are to go."""
        if self.copies and func in INVERSES:
            func = copy_form(func) or func
        return self.call(func, args, kwargs, meta)

    def views(self, base, path):
        """The nodes of what each step of the path shows of the base now."""
        nodes, key = [], ()
        for step in path:
            value = nodes[-1] if nodes else base.value
            key = (*key, step.group)
            node = base.views.get(key)
            if node is None:
                node = base.views[key] = self.view_call(step.func, (value, *step.arguments(value)), step.kwargs)
            if step.index is not None:
                key = (*key, step.index)
                part = base.views.get(key)
                if part is None:
                    part = base.views[key] = self.call(operator.getitem, (node, step.index))
                node = part
            nodes.append(node)
        return nodes

    def current(self, t):
        """The node of a tensor's value now."""
        if t.version != t.base.version:
            t.value = self.views(t.base, t.path)[-1] if t.path else t.base.value
            t.version = t.base.version
        return t.value

    def write(self, t, new):
        """The tensor's memory holds `new` from now on."""
        if t.path:
            chain = [t.base.value, *self.views(t.base, t.path[:-1])]
            for base, step in zip(reversed(chain), reversed(t.path)):
                new = self.inverse(base, new, step)
        t.base.value = new = self.as_lazy(t.base.value, new)
        t.base.version += 1
        t.base.views = {}
        if not t.path:
            t.value, t.version = new, t.base.version

    def as_lazy(self, old, new):
        """`new`, conjugated and negated when it is read where `old` is: views of memory ask for that."""
        have, want = _val(new), _val(old)
        if not isinstance(have, torch.Tensor) or not isinstance(want, torch.Tensor):
            return new
        for lazy, bit, done in ((aten._conj.default, torch.is_conj, aten.conj_physical.default), (aten._neg_view.default, torch.is_neg, aten.neg.default)):
            if bit(have) != bit(want):
                new = self.call(lazy, (self.call(done, (new,)),)) if bit(want) else self.call(done, (self.call(lazy, (new,)),))
        return new

    def inverse(self, base, part, step):
        step.check_write()
        recorder = _Recorder(self)
        args = tuple(step.arguments(base))
        return recorder.node(INVERSES[step.func](recorder.value(base), recorder.value(part), args, step.kwargs, step.index))

    # ---- the walk ---------------------------------------------------------------------------

    def new_tensor(self, node, source=None, old=None):
        """A tensor with memory of its own; old: its value in the given graph, where that lies otherwise."""
        return _Tensor(_Base(node, source, old), (), node)

    def placed(self, node, new, copied=False):
        """`new`, which does what `node` did, on values that may lie otherwise in memory: its value is taken anew then."""
        if new.op == "call_function" and "val" in node.meta and (copied or any(
                isinstance(self.env.get(a), _Tensor) and _lies_otherwise(_val(a), _val(self.load(a))) for a in node.all_input_nodes)):
            if getattr(getattr(_val(node), "fake_mode", None), "shape_env", None) is None and (value := _shape_of(new)) is not None:
                new.meta["val"] = value
        return new

    def load(self, x):
        t = self.env[x]
        if isinstance(t, _Tensor):
            return self.current(t)
        if isinstance(t, (list, tuple)):
            return type(t)(self.current(i) if isinstance(i, _Tensor) else i for i in t)
        return t

    def run(self):
        output = None
        for node in self.gm.graph.nodes:
            if node.op == "placeholder":
                new = self.graph.node_copy(node, self.load)
                self.env[node] = t = self.new_tensor(new, new)
                self.inputs.append(t)
            elif node.op == "get_attr":
                t = self.attributes.get(node.target)
                if t is None:
                    t = self.attributes[node.target] = self.new_tensor(self.graph.node_copy(node, self.load))
                    t.base.source = t.value
                self.env[node] = t
            elif node.op == "output":
                output = node
            else:
                self.env[node] = self.operation(node)
        results = map_aggregate(output.args[0], lambda x: self.load(x) if isinstance(x, Node) else x)
        for t in (*self.inputs, *self.attributes.values()):
            if t.base.version:
                self.call(aten.copy_.default, (t.base.source, t.base.value), meta={})
        new = self.graph.output(results, type_expr=output.type)
        new.meta = dict(output.meta)
        self.graph._codegen = self.gm.graph._codegen
        return self.graph

    def mapped(self, node):
        def load(x):
            return self.load(x) if isinstance(x, Node) else x
        return map_aggregate(node.args, load), dict(map_aggregate(node.kwargs, load))

    def operation(self, node):
        func = node.target
        if func is operator.getitem and isinstance(self.env.get(node.args[0]), (list, tuple)):
            return self.env[node.args[0]][node.args[1]]
        if node.op == "call_function" and isinstance(func, OpOverload):
            if self.detached and func in (aten.detach.default, aten.alias.default):
                return self.env[node.args[0]]
            if func in IN_PLACE_VIEWS:
                t = self.take_view(node, IN_PLACE_VIEWS[func])
                self.env[node.args[0]] = t
                return t
            if func in INVERSES:
                return self.take_view(node, func)
            if func is aten.native_batch_norm.default:
                return self.batch_norm(node, func)
            if _form(func).written:
                return self.mutation(node, func)
        new = self.placed(node, self.graph.node_copy(node, self.load))
        if node.op == "call_function" and not isinstance(node.meta.get("val"), (list, tuple)):
            return self.new_tensor(new, old=node)
        return new if node.op != "call_function" else _results(self, new, node)

    def take_view(self, node, func):
        source = self.env[node.args[0]]
        if not isinstance(source, _Tensor):
            source = self.new_tensor(source, old=node.args[0])
        rest = map_aggregate(node.args[1:], lambda x: self.load(x) if isinstance(x, Node) else x)
        kwargs = dict(map_aggregate(node.kwargs, lambda x: self.load(x) if isinstance(x, Node) else x))
        value = self.current(source)
        if func is aten.view.default and getattr(getattr(_val(value), "fake_mode", None), "shape_env", None) is None and not _viewable(_val(value), rest[0]):
            func = aten.reshape.default   # what was written lies otherwise in memory
        if isinstance(node.meta.get("val"), (list, tuple)):
            call = self.placed(node, self.view_call(func, (value, *rest), kwargs, node.meta), self.copies)
            parts, group = [], object()
            for i, val in enumerate(call.meta["val"]):
                part = self.call(operator.getitem, (call, i), meta={"val": val})
                path = (*source.path, _Step(func, rest, kwargs, i, group))
                source.base.views[_key(path)[:-1]], source.base.views[_key(path)] = call, part
                parts.append(_Tensor(source.base, path, part))
            return parts
        if func in (aten._unsafe_view.default,):
            # A view of what nobody else looks at.
            return self.new_tensor(self.placed(node, self.call(func, (value, *rest), kwargs, node.meta)), old=node)
        if func is aten.as_strided.default:
            return self.take_strided(node, source, value, *rest, **kwargs)
        new = self.placed(node, self.view_call(func, (value, *rest), kwargs, node.meta), self.copies)
        path = (*source.path, _Step(func, rest, kwargs))
        source.base.views[_key(path)] = new
        return _Tensor(source.base, path, new)

    def take_strided(self, node, source, value, size, stride, storage_offset=None):
        """as_strided looks at memory, whatever views lead there: it is one of the base where those only choose elements."""
        of = _memory(_val(node.args[0]))
        if storage_offset is None:   # that of the tensor, which may have been given another one in place
            storage_offset = source.path[-1].args[2] if source.path and source.path[-1].memory else of[2]
        path, memory = source.path, of
        if all(step.func in _CHOOSING for step in path):
            path, value, memory = (), source.base.value, source.base.memory
        if (source.base.version or self.copies and value is not source.base.source) and getattr(_val(value).fake_mode, "shape_env", None) is not None:
            raise NotImplementedError("as_strided after a write, in a graph of symbolic sizes, has no functional form")
        step = _Step(aten.as_strided.default, (size, stride, storage_offset), {}, memory=memory)
        new = self.placed(node, self.view_call(step.func, (value, *step.arguments(value)), {}, node.meta), True)
        path = (*path, step)
        source.base.views[_key(path)] = new
        return _Tensor(source.base, path, new)

    def mutation(self, node, func):
        form = _form(func)
        named = dict(zip(form.names, node.args))
        named.update(node.kwargs)
        name = func._overloadpacket.__name__
        if name == "resize_":
            return self.resize(node)
        if name.startswith("set_") or name in ("resize_as_", "swap_"):
            raise NotImplementedError(f"{func} has no functional form")
        targets = [named[w] for w in form.written if named.get(w) is not None]
        if name == "copy_":
            value = self.copied(node)
        elif name in _FILLS and functional_form(func) is None:
            old = self.load(targets[0])
            args, kwargs = self.mapped(node)
            value = self.call(func, (self.call(aten.empty_like.default, (old,)), *args[1:]), kwargs)
        else:
            value = self.functional_call(node, func, form, named)
        flat = [t for x in targets for t in (x if isinstance(x, (list, tuple)) else [x])]
        if len(flat) == 1 and not isinstance(targets[0], (list, tuple)):
            self.write_to(flat[0], value)
            return self.env[flat[0]]
        values = value if isinstance(value, list) else [self.call(operator.getitem, (value, i)) for i in range(len(flat))]
        for target, new in zip(flat, values):
            self.write_to(target, new)
        return [self.env[t] for t in flat]

    def write_to(self, node, value):
        t = self.env[node]
        old, new = _val(self.current(t)), _val(value)
        if old is not None and new is not None and isinstance(new, torch.Tensor):
            if new.dtype != old.dtype:
                value = self.call(aten._to_copy.default, (value,), {"dtype": old.dtype})
            if new.shape != old.shape:
                if t.path or old.numel():
                    value = self.view_call(aten.expand.default, (value, list(old.shape)), {})
        self.write(t, value)

    def functional_call(self, node, func, form, named):
        other = functional_form(func)
        if other is None:
            raise NotImplementedError(f"{func} has no functional form")
        values = {k: map_aggregate(v, lambda x: self.load(x) if isinstance(x, Node) else x) for k, v in named.items()}
        wanted = _form(other)
        if func._overloadpacket.__name__ == "zero_":
            return self.call(other, (values["self"],))
        if func._overloadpacket.__name__ == "bernoulli_":
            values.setdefault("p", 0.5)
        args, kwargs = [], {}
        skipped = False
        for n in wanted.names:
            if n not in values:
                skipped = True
            elif n in wanted.keywords or skipped:
                kwargs[n] = values[n]
            else:
                args.append(values[n])
        return self.call(other, args, kwargs)

    def copied(self, node):
        """The source in the type and shape of the target, as a tensor of its own."""
        target, source = _val(self.load(node.args[0])), self.load(node.args[1])
        if _val(source).shape != target.shape:
            source = self.view_call(aten.expand.default, (source, list(target.shape)), {})
        if _val(source).dtype != target.dtype:
            return self.call(aten._to_copy.default, (source,), {"dtype": target.dtype})
        return self.call(aten.clone.default, (source,))

    def resize(self, node):
        t = self.env[node.args[0]]
        size = list(node.args[1])
        value = _val(self.current(t))
        count = 1
        for s in size:
            count *= s
        if value is None or count > value.numel():
            raise NotImplementedError("resize_ that makes a tensor larger has no functional form")
        strides, stride = [], 1
        for s in reversed(size):
            strides.insert(0, stride)
            stride *= s
        self.env[node.args[0]] = new = self.take_strided(node, t, self.current(t), size, strides)
        return new

    def batch_norm(self, node, func):
        """In training, the running mean and variance are written: they become results of their own."""
        args, kwargs = self.mapped(node)
        _, weight, bias, mean, var, training, momentum, eps = args
        if not training or mean is None:
            return _results(self, self.graph.node_copy(node, self.load), node)
        call = self.call(func, (args[0], weight, bias, None, None, True, momentum, eps), kwargs, node.meta)
        results = [self.new_tensor(self.call(operator.getitem, (call, i), meta={"val": v}))
                   for i, v in enumerate(node.meta["val"])]
        # In the type that the operator computes in, rounded once: its own bits.
        x = args[0]
        wide = torch.float64 if _val(x).dtype == torch.float64 else torch.float32
        dims = [d for d in range(_val(x).dim()) if d != 1]

        def to(t, dtype):
            return t if _val(t).dtype == dtype else self.call(aten._to_copy.default, (t,), {"dtype": dtype})

        def moved(running, value):
            kept = self.call(aten.mul.Tensor, (to(running, wide), 1 - momentum))
            new = self.call(aten.add.Tensor, (self.call(aten.mul.Tensor, (value, momentum)), kept))
            return to(new, _val(running).dtype)

        x = to(x, wide)
        self.write_to(node.args[3], moved(mean, self.call(aten.mean.dim, (x, dims))))
        self.write_to(node.args[4], moved(var, self.call(aten.var.correction, (x, dims), {"correction": 1})))
        return results


def _results(functionalizer, new, node):
    """The results of an operator that gives several tensors, each a base of its own."""
    values = new.meta.get("val")
    if not isinstance(values, (list, tuple)):
        return functionalizer.new_tensor(new, old=node)
    return [functionalizer.new_tensor(functionalizer.call(operator.getitem, (new, i), meta={"val": v}), old=old)
            for i, (v, old) in enumerate(zip(values, node.meta["val"]))]


def _memory(value):
    """Sizes, strides and offset of a tensor."""
    return (tuple(value.shape), tuple(value.stride()), value.storage_offset()) if isinstance(value, torch.Tensor) else None


def _lies_otherwise(a, b):
    """Whether two tensors of one shape differ in how they lie in memory."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or getattr(getattr(a, "fake_mode", None), "shape_env", None) is not None:
        return False
    return _memory(a) != _memory(b) or a.is_conj() != b.is_conj() or a.is_neg() != b.is_neg()


def _reaches(size, stride):
    """Sizes and strides, smallest stride first, with how far the dimensions before reach."""
    reached = 0
    for s, n in sorted(zip(stride, size)):
        yield n, s, reached
        reached += (n - 1) * s


# Views that change neither elements nor their type.
_CHOOSING = {f for f in INVERSES if f._overloadpacket.__name__ not in ("_conj", "_neg_view", "view_as_real", "view_as_complex", "real", "imag")
             and f is not aten.view.dtype}


def _val(node):
    return node.meta.get("val") if isinstance(node, Node) else node


def _shape_of(node):
    """The shapes of a new node's results, by running its operator on what its arguments' meta has."""
    missing = False

    def take(x):
        nonlocal missing
        if isinstance(x, Node):
            value = x.meta.get("val")
            if value is None:
                missing = True
            return value
        return x
    args, kwargs = map_aggregate(node.args, take), map_aggregate(node.kwargs, take)
    if missing:
        return None
    from torch.fx.experimental.proxy_tensor import run_on_shapes
    return run_on_shapes(node.target, args, kwargs)


class _Recorder:
    """Runs an inverse rule on values that make nodes."""

    def __init__(self, functionalizer):
        self.functionalizer = functionalizer

    def value(self, node):
        return _Recorded(self.functionalizer, node)

    def node(self, value):
        return value._node


class _Recorded:
    """Stands for a tensor in an inverse rule: its shape is known, and operators on it make nodes."""

    def __init__(self, functionalizer, node):
        self._functionalizer, self._node = functionalizer, node

    @property
    def shape(self):
        return _val(self._node).shape

    @property
    def dtype(self):
        return _val(self._node).dtype

    def dim(self):
        return _val(self._node).dim()

    def reshape(self, shape):
        return self._call(aten.view.default if _viewable(_val(self._node), shape) else aten.reshape.default, list(shape))

    def view(self, dtype):
        return self._call(aten.view.dtype, dtype)

    def contiguous(self):
        return self._call(aten.clone.default) if not _val(self._node).is_contiguous() else self

    def _call(self, func, *args):
        return _Recorded(self._functionalizer, self._functionalizer.view_call(func, (self._node, *args), {}))

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        functionalizer = next(a._functionalizer for a in args if isinstance(a, _Recorded))
        args = map_aggregate(tuple(args), lambda x: x._node if isinstance(x, _Recorded) else x)
        return _Recorded(functionalizer, functionalizer.view_call(func, args, kwargs or {}))


def _viewable(value, shape):
    try:
        torch.empty_strided(value.shape, value.stride(), device="meta").view(list(shape))
        return True
    except RuntimeError:
        return False


def functionalize_graph(gm, *, remove="mutations", detached=False):
    """A GraphModule that computes as `gm` does, without in-place operators.

    `gm` is a graph of `torch.ops.aten` overloads whose nodes have their shapes in `meta['val']`, as `make_fx` makes. Inputs
    that were written get their new values by `copy_` at the end. With `remove='mutations_and_views'` views become copies. `detached`:
    autograd does not see the graph run, so that `detach` is nothing.
    NotImplementedError for an in-place operator or a write to a view that has no functional form.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: remove is {remove!r}; it is 'mutations' or 'mutations_and_views'")
    graph = _Functionalizer(gm, remove == "mutations_and_views", detached).run()
    graph.eliminate_dead_code()
    return GraphModule(gm, graph, type(gm).__name__)


def functionalize(func, *, remove="mutations"):
    """`func` computed without in-place operators; see `torch.func.functionalize`."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: remove is {remove!r}; it is 'mutations' or 'mutations_and_views'")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        from torch._functorch.captured import CapturedTensors
        from torch._functorch.eager_transforms import debug_unwrap
        from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode
        from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing, get_proxy_mode, make_fx, run_inline
        flat, spec = pytree.tree_flatten((args, kwargs))
        places = [i for i, x in enumerate(flat) if isinstance(x, torch.Tensor)]
        cell, mode, unrecorded = [], None, None

        def flat_func(*tensors):
            values = list(flat)
            for i, t in zip(places, tensors):
                values[i] = t
            call_args, call_kwargs = pytree.tree_unflatten(values, spec)
            with CapturedTensors(mode) as captured:
                out, out_spec = pytree.tree_flatten(func(*call_args, **call_kwargs))
            cell[:] = [out_spec]
            return [captured.stand_in(x) for x in out]

        def traced():
            nonlocal mode
            mode = next((t.fake_mode for i in places if hasattr(t := debug_unwrap(flat[i]), "fake_mode")), None)
            mode = mode or FakeTensorMode(allow_non_fake_inputs=True)
            fakes = [mode.from_tensor(t).requires_grad_(flat[i].requires_grad) for i, t in zip(places, detached)]
            return functionalize_graph(make_fx(flat_func, tracing_mode="fake")(*fakes), remove=remove)
        with disable_proxy_modes_tracing():
            detached = [flat[i].detach() for i in places]
            # The transforms around it are for the graph, not for the trace that makes it.
            try:
                gm = _levels._outside(traced, 1) if _levels.maybe_current_level() else traced()
            except (DataDependentOutputException, DynamicOutputShapeException) as error:
                unrecorded = error
        if unrecorded is not None:   # what hangs on elements can be computed, but not be recorded
            if get_proxy_mode() is not None:
                raise unrecorded
            return func(*args, **kwargs)
        if _levels.maybe_current_level() is not None:
            for node in gm.graph.nodes:   # the examples of a batch may lie otherwise in memory than one alone
                if node.target is aten.view.default:
                    node.target = aten.reshape.default
            gm.recompile()
        return pytree.tree_unflatten(list(run_inline(gm, [flat[i] for i in places])), cell[0])
    return wrapped
