"""A kernel's program under construction: nodes in regions, as torch._C._triton_compile takes them."""


class Region:
    """What a loop or a branch holds: numbers of nodes."""

    __slots__ = ("arguments", "body", "yields")

    def __init__(self):
        self.arguments, self.body, self.yields = [], [], []


class Program:
    """Nodes are tuples (op, elem, is a tile, shape, operands, imm, attrs, regions, name)."""

    def __init__(self, name):
        self.name = name
        self.parameters = []
        self.classes = []
        self.large = []
        self.nodes = []
        self.regions = [Region()]
        self.open = [0]

    def append(self, op, elem, shape=None, operands=(), imm=0, attrs=(), regions=(), name=""):
        """A new node of the open region; shape None: a scalar. Returns its number."""
        number = len(self.nodes)
        self.nodes.append((op, elem, shape is not None, tuple(shape) if shape is not None else (), tuple(operands), imm, tuple(attrs), tuple(regions), name))
        self.regions[self.open[-1]].body.append(number)
        return number

    def parameter(self, elem, memory=0, large=False):
        """A new parameter; of a pointer the class of memory, and whether that exceeds the caches."""
        self.parameters.append(elem)
        self.classes.append(memory)
        self.large.append(int(large))
        return self.append("parameter", elem, imm=len(self.parameters) - 1)

    def enter(self):
        """Opens a new region; returns its number."""
        self.regions.append(Region())
        self.open.append(len(self.regions) - 1)
        return self.open[-1]

    def argument(self, elem, shape=None):
        """One more argument of the open region."""
        region = self.regions[self.open[-1]]
        number = len(self.nodes)
        self.nodes.append(("argument", elem, shape is not None, tuple(shape) if shape is not None else (), (), len(region.arguments), (), (), ""))
        region.arguments.append(number)
        return number

    def leave(self, yields=()):
        self.regions[self.open.pop()].yields = list(yields)

    def finished(self):
        return [(r.arguments, r.body, r.yields) for r in self.regions]
