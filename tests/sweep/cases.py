"""Calls that many operators share, so that most records are one line."""

from sweep.record import Bad, Case, Cases, T, bad, call, inf, nan  # noqa: F401

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    inf,
    -inf,
    nan,
    1e-3,
    -1e-3,
    30.0,
    -30.0,
    1e-38,
    3e38,
    2.5,
    -1.5,
    7.0,
    -100.0,
]
BIG = (129, 513)


def unary(
    lo=-3.0,
    hi=3.0,
    *extra,
    special=True,
    ints=None,
    shapes=((2, 3, 4), (), (0, 3), (5,)),
    big=True,
    grad=True,
    **kwargs,
):
    """x, then further arguments; x in several shapes, at special values, and large."""
    made = [
        call(T(*s, lo=lo, hi=hi, ints=ints), *extra, **kwargs).but(grad=grad and i < 2) for i, s in enumerate(shapes)
    ]
    if special:
        made.append(call(T(values=SPECIAL), *extra, **kwargs).but(types="f", grad=False))
    if big:
        made.append(call(T(*BIG, lo=lo, hi=hi, ints=ints), *extra, **kwargs).but(grad=False, big=True))
    return Cases(made)


def binary(
    lo=-3.0,
    hi=3.0,
    lo2=None,
    hi2=None,
    *,
    special=True,
    ints=None,
    ints2=None,
    number=True,
    big=True,
    leaf=(True, True),
    **kwargs,
):
    """x and y: equal and broadcast shapes, 0-d, empty, a number for y, special values, large; shapes that do not meet.

    leaf: whether x and y get gradients.
    """
    lo2, hi2, ints2 = lo if lo2 is None else lo2, hi if hi2 is None else hi2, ints2 or ints

    def pair(a, b, **but):
        return call(
            T(*a, lo=lo, hi=hi, ints=ints, grad=leaf[0]), T(*b, lo=lo2, hi=hi2, ints=ints2, grad=leaf[1]), **kwargs
        ).but(**but)

    made = [
        pair((2, 3), (2, 3)),
        pair((3, 1, 2), (4, 1)),
        pair((), (3,)),
        pair((3,), (), grad=False),
        pair((0, 3), (1, 3), grad=False),
        pair((), (), grad=False),
    ]
    if number:
        y = (lo2 + hi2) / 2 if isinstance(number, bool) else number
        made.append(
            call(T(2, 3, lo=lo, hi=hi, ints=ints, grad=leaf[0]), int(y) if y == int(y) else y, **kwargs).but(
                types="fci" if y == int(y) else "fc"
            )
        )
    if special:
        n = len(SPECIAL)
        made.append(call(T(n, 1, values=SPECIAL), T(n, values=SPECIAL), **kwargs).but(types="f", grad=False))
    if big:
        made.append(pair((129, 513), (129, 1), grad=False, big=True))
    return Cases(
        made,
        [
            bad(
                RuntimeError,
                T(2, 3, lo=lo, hi=hi, ints=ints),
                T(2, 4, lo=lo2, hi=hi2, ints=ints2),
                says=["[2, 3]", "[2, 4]"],
                swept=None,
                **kwargs,
            )
        ],
    )


def ternary(*ranges, special=False, **kwargs):
    """x, y, z with their ranges: equal and broadcast shapes, 0-d, empty, large."""

    def three(*shapes, **but):
        return call(*[T(*s, lo=r[0], hi=r[1]) for s, r in zip(shapes, ranges)], **kwargs).but(**but)

    return Cases(
        [
            three((2, 3), (2, 3), (2, 3)),
            three((3, 1), (1, 2), ()),
            three((0, 2), (1, 2), (2,), grad=False),
            three((), (), (), grad=False),
            three((129, 513), (513,), (129, 1), grad=False, big=True),
        ],
        [bad(RuntimeError, T(2, 3), T(2, 4), T(2, 3), says=["[2, 3]", "[2, 4]"], swept=None, **kwargs)],
    )


def reduction(
    lo=-3.0,
    hi=3.0,
    *,
    whole=True,
    one=True,
    several=True,
    keepdim=True,
    special=True,
    empty=True,
    big=True,
    ints=None,
    before=(),
    grad=True,
    **kwargs,
):
    """x over all of it, one dimension, several, with and without keepdim; 0-d, empty, special values, long runs."""

    def x(*shape):
        return T(*shape, lo=lo, hi=hi, ints=ints)

    made = []
    if whole:
        made += [call(x(2, 3, 4), *before, **kwargs), call(x(), *before, **kwargs)]
        if empty:
            made.append(call(x(0, 3), *before, **kwargs).but(grad=False))
        if special:
            made.append(call(T(values=[1.0, inf, 2.0]), *before, **kwargs).but(types="f", grad=False))
            made.append(call(T(values=[1.0, nan, 2.0, inf]), *before, **kwargs).but(types="f", grad=False))
        if big:
            made.append(
                call(T(67, 1031, lo=max(lo, -1), hi=hi, ints=ints), *before, **kwargs).but(grad=False, big=True)
            )
    if one:
        made += [
            call(x(2, 3, 4), *before, 1, **kwargs),
            call(x(3, 4), *before, -1, **kwargs).but(grad=False),
            call(x(), *before, 0, **kwargs).but(grad=False),
        ]
        if keepdim:
            made += [call(x(2, 3), *before, 0, True, **kwargs)]
        if empty:
            made += [call(x(2, 0, 3), *before, 1, **kwargs).but(grad=False)]
        made += [call(x(2, 3, 0), *before, 1, **kwargs).but(grad=False)]
        if special:
            made.append(
                call(T(2, 3, values=[1.0, nan, 2.0, inf, -inf, 0.0]), *before, 1, **kwargs).but(types="f", grad=False)
            )
        if big:
            made += [call(x(67, 1031), *before, d, **kwargs).but(grad=False, big=True) for d in (0, 1)]
    if several:
        made += [call(x(2, 3, 4), *before, [0, 2], **kwargs)]
        if keepdim:
            made += [call(x(2, 3, 2), *before, [-1, 0], True, **kwargs).but(grad=False)]
    errors = []
    if one:
        errors.append(bad(IndexError, x(2, 3), *before, 5, says=["5", "2"], swept=None, **kwargs))
        errors.append(bad(IndexError, x(2, 3), *before, -3, says=["-3", "2"], swept=None, **kwargs))
    if several:
        errors.append(bad(RuntimeError, x(2, 3), *before, [1, 1], says="1", swept=None, **kwargs))
    return Cases(made, errors)


def along(lo=-3.0, hi=3.0, *extra, ints=None, special=True, big=True, empty=True, **kwargs):
    """x and a dimension that stays: first, last, negative; 0-d, empty, special values, long runs; a dimension out of range."""

    def x(*shape):
        return T(*shape, lo=lo, hi=hi, ints=ints)

    made = [
        call(x(2, 3, 4), 1, *extra, **kwargs),
        call(x(3, 4), 0, *extra, **kwargs).but(grad=False),
        call(x(2, 3), -1, *extra, **kwargs),
        call(x(), 0, *extra, **kwargs).but(grad=False),
    ]
    if empty:
        made += [call(x(2, 0), 1, *extra, **kwargs).but(grad=False), call(x(0, 2), 1, *extra, **kwargs).but(grad=False)]
    if special:
        made.append(
            call(T(2, 4, values=[1.0, nan, 2.0, inf, -inf, 0.0, -0.0, 3.0]), 1, *extra, **kwargs).but(
                types="f", grad=False
            )
        )
    if big:
        made += [call(x(67, 1031), d, *extra, **kwargs).but(grad=False, big=True) for d in (0, 1)]
    return Cases(
        made,
        [
            bad(IndexError, x(2, 3), 5, *extra, says=["5", "2"], swept=None, **kwargs),
            bad(IndexError, x(2, 3), -3, *extra, says=["-3", "2"], swept=None, **kwargs),
        ],
    )


def calls(*made, errors=()):
    return Cases(made, errors)


def views(*made, errors=()):
    """Calls of an operator that only moves elements: no special values, nothing large."""
    return Cases(made, errors)
