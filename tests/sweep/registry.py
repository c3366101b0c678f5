"""Walks the operators that are registered, with what their cards claim."""

import functools
import re

import torch

FN, METHOD, INPLACE, OUT, NN, HIDDEN, SPECIAL, FN_INPLACE = (1 << i for i in range(8))
REPEATED = 1 << 23  # what is written may hold one element in several places
PREFIXES = {"special_": "special", "linalg_": "linalg", "fft_": "fft"}


class Overload:
    """One overload: `name` as in "add.Tensor", kind, form, and the arguments (type, name) of its schema."""

    def __init__(self, packet, overload):
        self.packet, self.overload = packet, overload
        self.name = packet if overload == "default" else f"{packet}.{overload}"
        self.__dict__.update(torch._C._op_info(self.name))
        self.schema = torch._C._op_schema(packet, overload)
        head, _, tail = self.schema.rpartition(" -> ")   # "Tensor(a -> *)" has an arrow too
        inner = head[head.index("(") + 1 : -1]
        words = [w.strip() for w in re.split(r",(?![^\[(]*[\])])", inner) if w.strip() and w.strip() != "*"]
        self.args = [tuple(w.split("=")[0].rsplit(" ", 1)) for w in words]
        self.returns = tail
        self.writes = "!" in head
        self.views = "(a" in tail and not self.writes
        if (
            self.form == "functional" and overload.endswith("out") and self.writes
        ):  # an out= form with a card of its own
            self.form, self.functional = "out", self.name.removesuffix("_out").removesuffix(".out")


@functools.cache
def overloads(packet):
    names = torch._C._op_overloads(packet)
    return [] if names is None else [Overload(packet, n) for n in names]


@functools.cache
def packets():
    """Every name, and the name whose record covers it: that of the operator whose form or other name it is."""
    names = {n for n in torch._C._op_names() if "::" not in n}  # those from outside are tested where they are registered

    def owner(name):
        first = overloads(name)[0].functional.split(".")[0]
        if first != name and first in names:
            return owner(first)
        base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
        return owner(base) if base != name and base in names else name

    return {name: owner(name) for name in sorted(names)}


def owners():
    """The names that need a record."""
    return sorted(set(packets().values()))


def aliases(name):
    return sorted({a for o in overloads(name) for a in o.aliases.split() if a != name})


def resolve(name, args, kwargs):
    return torch._C._op_resolve(name, *args, **kwargs)
