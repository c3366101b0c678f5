"""What a run computed, as steps: run by code made from them, and given to back ends as a torch.fx.GraphModule."""
import operator
import re

import torch


class Value:
    """What a step gives, or an input."""
    __slots__ = ("number", "uses")

    def __init__(self, number):
        self.number, self.uses = number, 0


class Input(Value):
    __slots__ = ("source", "example")

    def __init__(self, number, source, example):
        super().__init__(number)
        self.source, self.example = source, example


class Step:
    __slots__ = ("value", "target", "args", "kwargs", "method")

    def __init__(self, value, target, args, kwargs, method=False):
        self.value, self.target, self.args, self.kwargs, self.method = value, target, args, kwargs, method


def mapped(x, f):
    """x with f of each item of its tuples, lists, dicts and slices."""
    t = type(x)
    if t in (tuple, list):
        return t(f(i) for i in x)
    if t is dict:
        return {k: f(v) for k, v in x.items()}
    if t is slice:
        return slice(f(x.start), f(x.stop), f(x.step))
    return x


def values_of(x):
    """The Values in nested arguments."""
    if isinstance(x, Value):
        yield x
    elif type(x) in (tuple, list):
        for i in x:
            yield from values_of(i)
    elif type(x) is dict:
        yield from values_of(tuple(x.values()))
    elif type(x) is slice:
        yield from values_of((x.start, x.stop, x.step))


def _with_mode_restored(f):
    """f, which switches grad mode on its way: an error leaves the mode that f met, as the end of a with block does."""
    def forward(*inputs):
        before = torch.is_grad_enabled()
        try:
            return f(*inputs)
        except BaseException:
            torch._C._set_grad_enabled(before)
            raise
    return forward


class Program:
    """Steps with the inputs that they or the outputs use. `facts` tells back ends what else is known.

    static: sizes are those of the examples in every call. aliases, known where gradients are wanted: an output
    shares memory with another or an input. writes, known likewise: an input is written. roots,
    known likewise: how many outputs require grad.
    fixed: the Values that are made of constants alone, and neither written nor given back.
    grad_mode: grad mode is switched on the way. draws: random numbers come from steps without a tensor as input.
    unknown: a step is code of users, of which it is not known what it does besides giving its result.
    """

    def __init__(self, inputs, steps, outputs):
        for v in values_of([(s.args, s.kwargs) for s in steps] + list(outputs)):
            v.uses += 1
        self.inputs = [i for i in inputs if i.uses]
        self.steps, self.outputs, self.facts, self._forward = steps, outputs, {}, None

    @property
    def forward(self):
        """A function of the inputs that gives a tuple of the outputs, step by step. A value is let go after its last use."""
        if self._forward is None:
            f = self._function()
            self._forward = _with_mode_restored(f) if self.facts.get("grad_mode") else f
        return self._forward

    def with_fixed_inputs(self):
        """(a Program to which what is `fixed` is given behind its inputs, these tensors): back ends need not make them."""
        fixed = self.facts.get("fixed") or ()
        taken = [s for s in self.steps if s.value in fixed and s.value.uses]
        if not taken:
            return self, []
        held = [s.target(*s.args, **s.kwargs) for s in taken]
        program = Program(self.inputs, [s for s in self.steps if s not in taken], self.outputs)
        program.inputs = self.inputs + [Input(s.value.number, None, t) for s, t in zip(taken, held)]   # the same to the other steps
        program.facts = {**self.facts, "fixed": ()}
        return program, held

    def _function(self):
        names, last = {}, {}

        def text(x):
            t = type(x)
            if isinstance(x, Value):
                return f"v{x.number}"
            if t in (int, bool, str, type(None)) or t is float and x == x and abs(x) != float("inf"):
                return repr(x)
            if t is tuple:
                return "(" + "".join(text(i) + ", " for i in x) + ")"
            if t is list:
                return "[" + ", ".join(map(text, x)) + "]"
            if t is dict:
                return "{" + ", ".join(f"{text(k)}: {text(v)}" for k, v in x.items()) + "}"
            if t is slice:
                return f"slice({text(x.start)}, {text(x.stop)}, {text(x.step)})"
            name = f"c{len(names)}"
            names[name] = x
            return name
        for n, s in enumerate(self.steps):
            last[s.value] = n
            for v in values_of((s.args, s.kwargs)):
                last[v] = n
        for v in self.outputs:
            last.pop(v, None)
        ends = {}
        for v, n in last.items():
            ends.setdefault(n, []).append(f"v{v.number}")
        lines = [f"def forward({', '.join(f'v{i.number}' for i in self.inputs)}):"]
        for n, s in enumerate(self.steps):
            args, head = list(map(text, s.args)), None
            if s.method:
                head = f"{args.pop(0)}.{s.target}"
            elif s.target is operator.getitem:
                lines.append(f"    v{s.value.number} = {args[0]}[{args[1]}]")
            else:
                head = text(s.target)
            if head:
                args += [f"{k}={text(v)}" for k, v in s.kwargs.items()]
                lines.append(f"    v{s.value.number} = {head}({', '.join(args)})")
            if n in ends:
                lines.append(f"    del {', '.join(ends[n])}")
        lines.append("    return (" + "".join(f"v{v.number}, " for v in self.outputs) + ")")
        exec(compile("\n".join(lines), "<graph of torch.compile>", "exec"), names)
        return names["forward"]

    def graph_module(self):
        """The program as a torch.fx.GraphModule."""
        from torch import fx
        graph, nodes = fx.Graph(), {}

        def argument(x):
            return nodes[x] if isinstance(x, Value) else mapped(x, argument)
        for i in self.inputs:
            nodes[i] = graph.placeholder("L_" + re.sub(r"\W+", "_", i.source.label).strip("_") + "_")
            nodes[i].meta["example_value"] = i.example
        for s in self.steps:
            kind = "call_method" if s.method else "call_function"
            nodes[s.value] = graph.create_node(kind, s.target, argument(s.args), argument(s.kwargs))
        graph.output(tuple(nodes[v] for v in self.outputs))
        gm = fx.GraphModule(torch.nn.Module(), graph)
        gm.meta["dynamo"] = self.facts
        return gm
