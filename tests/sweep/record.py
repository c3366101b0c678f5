"""What a record says of an operator, and the few words it is written in."""

import math
import sys

import torch

GROUPS = {
    "f": (torch.float32, torch.float64, torch.float16, torch.bfloat16),
    "c": (torch.complex64, torch.complex128),
    "i": (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8),
    "b": (torch.bool,),
    "w": (torch.float32, torch.float64),
    "u": (torch.uint16, torch.uint32, torch.uint64),
}
RECORDS = {}


class T:
    """A tensor argument: its shape, the open range its elements come from, and its type (None: the swept one).

    `values` fixes the elements. `grad=False` keeps it out of the gradient checks. `ints` is another range for
    integer types; `spread=False` allows equal elements.
    """

    def __init__(self, *shape, lo=-3.0, hi=3.0, ints=None, dtype=None, values=None, grad=True):
        self.shape, self.lo, self.hi, self.ints = shape, lo, hi, ints
        self.dtype, self.values, self.grad = dtype, values, grad
        if values is not None and not shape:
            self.shape = (len(values),) if isinstance(values, (list, tuple)) else ()

    def __repr__(self):
        kind = "" if self.dtype is None else "," + str(self.dtype).removeprefix("torch.")
        return f"T{list(self.shape)}".replace(" ", "") + kind


class _Swept:
    """Stands for the swept type among the arguments."""

    def __repr__(self):
        return "SWEPT"


SWEPT = _Swept()


class Case:
    """One call: arguments in schema order, and which checks it takes part in.

    grad: whether its gradients are checked; types: groups of GROUPS that it is for (None: all of the record's);
    big: enough elements for several threads, only run in the main type; layouts: whether other strides are tried;
    values, meta: whether its elements are compared, whether the meta device can run it; batch: whether vmap can.
    """

    def __init__(self, args, kwargs, grad=True, types=None, big=False, layouts=True, values=True, meta=True, batch=True):
        self.args, self.kwargs = args, kwargs
        self.grad, self.types, self.big, self.layouts, self.values, self.meta = grad, types, big, layouts, values, meta
        self.batch = batch

    def but(self, **changes):
        return Case(
            self.args,
            self.kwargs,
            **{
                **dict(
                    grad=self.grad,
                    types=self.types,
                    big=self.big,
                    layouts=self.layouts,
                    values=self.values,
                    meta=self.meta,
                    batch=self.batch,
                ),
                **changes,
            },
        )

    def takes(self, dtype):
        return self.types is None or dtype is None or any(dtype in GROUPS[g] for g in self.types)

    def specs(self):
        found = []
        walk((self.args, self.kwargs), lambda t: found.append(t) or t)
        return found

    def __repr__(self):
        return "(" + ", ".join([repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]) + ")"


class Bad:
    """A call that must raise `error`, whose text holds each word of `says`."""

    def __init__(self, error, says, args, kwargs, dtype=None):
        self.error, self.says, self.args, self.kwargs, self.dtype = error, says, args, kwargs, dtype

    def __repr__(self):
        return repr(Case(self.args, self.kwargs))


def call(*args, **kwargs):
    return Case(args, kwargs)


def bad(error, *args, says=(), swept=torch.float32, **kwargs):
    return Bad(error, (says,) if isinstance(says, str) else tuple(says), args, kwargs, swept)


class Cases(list):
    """Calls that must work, and in `errors` those that must not."""

    def __init__(self, calls=(), errors=()):
        super().__init__(calls)
        self.errors = list(errors)

    def __add__(self, other):
        return Cases(list(self) + list(other), self.errors + list(getattr(other, "errors", ())))


def walk(x, f):
    """x with every T in it replaced by f(T)."""
    if isinstance(x, T):
        return f(x)
    if isinstance(x, (list, tuple)):
        return type(x)(walk(v, f) for v in x)
    if isinstance(x, dict):
        return {k: walk(v, f) for k, v in x.items()}
    return x


class Record:
    def __init__(self, name, family, **said):
        self.name, self.family = name, family
        self.__dict__.update(said)

    def dtypes(self):
        return [d for g in self.types for d in GROUPS[g]]

    def main(self):
        """The type that checks run in which are not about types."""
        return self.dtypes()[0] if self.types else None

    def __repr__(self):
        return f"{self.family}-{self.name}"


def op(
    name,
    cases,
    value=None,
    *,
    holds=None,
    types="fib",
    errors=(),
    ulp=None,
    tol=1.0,
    result=None,
    edges=(),
    grad=True,
    second=True,
    meta=True,
    exact=False,
    shares=False,
    open="",
    mixed=True,
    skip=None,
):
    """The record of a packet of torch.ops.aten; its in-place and out= forms and its aliases go with it.

    cases    calls (see cases.py)
    value    value(*arrays and other arguments) in float64, complex128, int64 or bool: the exact result, or a tuple
    holds    holds(results, *arguments) in place of `value`, for results that only have properties (fills, draws)
    types    groups of types it accepts; every other type must raise
    errors   bad(...): calls that must raise, with words of their text
    ulp      bound of the error in units in the last place; without it a tolerance, multiplied by `tol`
    result   "i64", "bool", "f32" ...: type of the result where it is not that of the inputs, or floating by the value
    edges    (arguments, gradients): gradients at single points, numbers
    grad     False: not differentiable: no result requires a gradient, or backward raises (None: not asked);
             second: double backward as well
    meta     False: the shape hangs on the data, so the meta device must raise
    exact    in-place forms want the result's own type, casts that widen included
    shares   results share memory though the schema does not say so; open: groups of types that may work or raise;
             mixed=False: operands of different types are refused or not converted
    skip     {column: reason}: a counted exception
    """
    if name in RECORDS:
        raise ValueError(f"{name} has two records")
    family = sys._getframe(1).f_globals["__name__"].rsplit(".", 1)[-1]
    if isinstance(cases, Case):
        cases = [cases]
    RECORDS[name] = Record(
        name,
        family,
        cases=list(cases),
        value=value,
        holds=holds,
        types=types,
        errors=list(errors) + list(getattr(cases, "errors", ())),
        ulp=ulp,
        tol=tol,
        result=result,
        edges=list(edges),
        grad=grad,
        second=second,
        meta=meta,
        exact=exact,
        shares=shares,
        open=open,
        mixed=mixed,
        skip=dict(skip or {}),
    )


inf, nan, pi = math.inf, math.nan, math.pi
