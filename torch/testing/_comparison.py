"""assert_close: equality within tolerances, of tensors, numbers and containers of them."""

import cmath
import collections
import sys
import warnings

import torch

__all__ = ["assert_close", "assert_allclose", "default_tolerances"]

_TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7), torch.complex32: (1e-3, 1e-5), torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7)}


class _Different(Exception):
    """What differs, and the path of keys to it."""

    def __init__(self, text, kind=AssertionError):
        super().__init__(text)
        self.kind = kind
        self.path = []


def default_tolerances(*inputs, dtype_precisions=None):
    """(rtol, atol): the larger of those of the dtypes (or of the tensors' dtypes)."""
    table = {**_TOLERANCES, **(dtype_precisions or {})}
    pairs = []
    for x in inputs:
        dtype = x.dtype if isinstance(x, torch.Tensor) else x
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"expected a tensor or a dtype, got {type(x).__name__}")
        pairs.append(table.get(dtype, (0.0, 0.0)))
    return max(p[0] for p in pairs), max(p[1] for p in pairs)


def get_tolerances(*inputs, rtol, atol, id=()):
    """The given tolerances, or the defaults of the inputs. ValueError if one alone is given."""
    if (rtol is None) != (atol is None):
        given = "rtol" if atol is None else "atol"
        raise ValueError(f"give rtol and atol together; only {given} is given")
    if rtol is not None:
        return rtol, atol
    return default_tolerances(*inputs)


class _Options:
    def __init__(self, **kwargs):
        self.__dict__.update(kwargs)


def _is_numpy(x):
    return "numpy" in sys.modules and isinstance(x, (sys.modules["numpy"].ndarray,
                                                     sys.modules["numpy"].generic))


def _is_number(x):
    return isinstance(x, (int, float, complex, bool))


def _describe(x):
    return f"{type(x).__module__}.{type(x).__qualname__}".removeprefix("builtins.")


def _compare(actual, expected, o):
    if isinstance(actual, collections.abc.Mapping) and isinstance(expected,
                                                                  collections.abc.Mapping):
        if actual.keys() != expected.keys():
            raise _Different(
                "the mappings have different keys: only the first has "
                f"{sorted(map(repr, actual.keys() - expected.keys()))}, only the second "
                f"{sorted(map(repr, expected.keys() - actual.keys()))}")
        return _each(list(expected), actual, expected, o)
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Different(f"the sequences have the lengths {len(actual)} and {len(expected)}")
        return _each(range(len(actual)), actual, expected, o)
    if actual is None or expected is None:
        if actual is not expected:
            raise _Different(f"None is compared with {actual if expected is None else expected!r}")
        return None
    if isinstance(actual, bool) and isinstance(expected, bool):
        if actual is not expected:
            raise _Different(f"{actual} is not {expected}")
        return None
    if _is_number(actual) and _is_number(expected):
        return _compare_numbers(actual, expected, o)
    if isinstance(actual, str) or isinstance(expected, str):
        raise _Different(f"text cannot be compared: {_describe(actual)} and "
                         f"{_describe(expected)}", TypeError)
    tensors = [_as_tensor(x) for x in (actual, expected)]
    if any(t is None for t in tensors):
        raise _Different(f"a {_describe(actual)} cannot be compared with a "
                         f"{_describe(expected)}", TypeError)
    if not o.allow_subclasses and type(actual) is not type(expected):
        raise _Different(f"a {_describe(actual)} cannot be compared with a {_describe(expected)} "
                         "while allow_subclasses=False", TypeError)
    if not issubclass(type(actual), type(expected)) and not issubclass(type(expected),
                                                                      type(actual)):
        raise _Different(f"a {_describe(actual)} is compared with a {_describe(expected)}",
                         TypeError)
    return _compare_tensors(*tensors, o)


def _is_sequence(x):
    return isinstance(x, collections.abc.Sequence) and not isinstance(x, (str, bytes))


def _each(keys, actual, expected, o):
    for key in keys:
        try:
            _compare(actual[key], expected[key], o)
        except _Different as error:
            error.path.insert(0, key)
            raise


def _as_tensor(x):
    if isinstance(x, torch.Tensor):
        return x
    if _is_numpy(x):
        return torch.as_tensor(x)
    return None


def _compare_numbers(actual, expected, o):
    kinds = [next(k for k in (bool, int, float, complex) if isinstance(x, k))
             for x in (actual, expected)]
    dtypes = {int: torch.int64, float: torch.float64, complex: torch.complex128, bool: torch.bool}
    rtol, atol = get_tolerances(*(dtypes[k] for k in kinds), rtol=o.rtol, atol=o.atol)
    if o.check_dtype and kinds[0] is not kinds[1]:
        raise _Different(f"the types differ: {_describe(actual)} and {_describe(expected)}")
    if actual == expected:
        return
    if o.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    difference = abs(actual - expected)
    allowed = atol + rtol * abs(expected)
    if cmath.isfinite(difference) and difference <= allowed:
        return
    what = "are not equal" if not rtol and not atol else "are not close"
    relative = difference / abs(expected) if expected else float("inf")
    raise _Different(f"the numbers {actual} and {expected} {what}: absolute difference "
                     f"{difference} (allowed {atol}), relative difference {relative} "
                     f"(allowed {rtol})")


def _compare_tensors(actual, expected, o):
    rtol, atol = get_tolerances(actual, expected, rtol=o.rtol, atol=o.atol)
    if actual.shape != expected.shape:
        raise _Different(f"the shapes differ: {tuple(actual.shape)} and {tuple(expected.shape)}")
    if actual.layout != expected.layout:
        if o.check_layout:
            raise _Different(f"the layouts differ: {actual.layout} and {expected.layout}")
        actual, expected = (t if t.layout == torch.strided else t.to_dense()
                            for t in (actual, expected))
    if o.check_device and actual.device != expected.device:
        raise _Different(f"the devices differ: {actual.device} and {expected.device}")
    if o.check_dtype and actual.dtype != expected.dtype:
        raise _Different(f"the dtypes differ: {actual.dtype} and {expected.dtype}")
    if o.check_stride and actual.layout == torch.strided \
            and actual.stride() != expected.stride():
        raise _Different(f"the strides differ: {actual.stride()} and {expected.stride()}")
    actual, expected = actual.detach(), expected.detach()
    if actual.device.type == "meta" or expected.device.type == "meta":
        return
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if getattr(actual, "is_quantized", False) or getattr(expected, "is_quantized", False):
        if actual.is_quantized and expected.is_quantized and o.check_dtype \
                and actual.qscheme() != expected.qscheme():
            raise _Different(f"the quantization schemes differ: {actual.qscheme()} and "
                             f"{expected.qscheme()}")
        actual, expected = (t.dequantize() if t.is_quantized else t for t in (actual, expected))
    if actual.layout != torch.strided:
        return _compare_sparse(actual, expected, rtol, atol, o)
    if actual.dtype != expected.dtype:
        common = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    _compare_values(actual, expected, rtol, atol, o.equal_nan)


def _compare_sparse(actual, expected, rtol, atol, o):
    if actual.layout == torch.sparse_coo:
        parts = [("number of elements", actual._nnz(), expected._nnz()),
                 ("indices", actual._indices(), expected._indices()),
                 ("values", actual._values(), expected._values())]
    elif actual.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = [("number of elements", actual._nnz(), expected._nnz()),
                 ("crow_indices", actual.crow_indices(), expected.crow_indices()),
                 ("col_indices", actual.col_indices(), expected.col_indices()),
                 ("values", actual.values(), expected.values())]
    else:
        parts = [("number of elements", actual._nnz(), expected._nnz()),
                 ("ccol_indices", actual.ccol_indices(), expected.ccol_indices()),
                 ("row_indices", actual.row_indices(), expected.row_indices()),
                 ("values", actual.values(), expected.values())]
    for name, a, b in parts:
        if isinstance(a, int):
            if a != b:
                raise _Different(f"the {name} in sparse tensors differs: {a} and {b}")
            continue
        try:
            exact = name != "values"
            if a.dtype != b.dtype:
                common = torch.promote_types(a.dtype, b.dtype)
                a, b = a.to(common), b.to(common)
            _compare_values(a, b, 0.0 if exact else rtol, 0.0 if exact else atol, o.equal_nan)
        except _Different as error:
            raise _Different(f"the {name} of sparse tensors: {error}") from None


def _compare_values(actual, expected, rtol, atol, equal_nan):
    if actual.dtype == torch.bool or actual.is_floating_point() and actual.element_size() == 1:
        # No arithmetic is defined on these; their values are exact in wider types.
        wide = torch.int64 if actual.dtype == torch.bool else torch.float32
        actual, expected = actual.to(wide), expected.to(wide)
    close = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
    if bool(close.all()):
        return
    raise _Different(_differences(actual, expected, close, rtol, atol))


def _differences(actual, expected, close, rtol, atol):
    """How many elements differ, and where most."""
    bad = int((~close).sum())
    total = close.numel()
    exact = not rtol and not atol
    if actual.dim() == 0:
        what = "scalars are not equal" if exact else "scalars are not close"
        head = f"{what}: {actual.item()} and {expected.item()}"
    else:
        what = "tensors are not equal" if exact else "tensors are not close"
        head = f"{what}: {bad} of {total} elements differ ({bad / total:.1%})"
    if not actual.is_floating_point() and not actual.is_complex():
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    elif actual.element_size() < 4:
        actual, expected = actual.float(), expected.float()
    absolute = (actual - expected).abs()
    absolute = absolute.masked_fill(close, 0)
    relative = absolute / expected.abs()
    relative = relative.masked_fill(close, 0)

    def largest(values, name, allowed):
        value, at = torch.max(values.flatten().double(), 0)
        index, rest = [], int(at)
        for size in reversed(values.shape):
            index.insert(0, rest % size)
            rest //= size
        where = f" at index {tuple(index)}" if values.dim() else ""
        return f"largest {name} difference: {value.item():g}{where}" + (
            "" if exact else f" (allowed {allowed})")

    return "\n".join([head, largest(absolute, "absolute", atol),
                      largest(relative, "relative", rtol)])


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None,
                 equal_nan=False, check_device=True, check_dtype=True, check_layout=True,
                 check_stride=False, msg=None):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Tensors, numpy arrays, numbers, None, and sequences and mappings of these. The default
    tolerances are those of the dtypes, 0 for integers. `msg`: text, or a function of the text, for
    the error. Raises TypeError for things that cannot be compared, ValueError for one tolerance
    alone.
    """
    __tracebackhide__ = True
    options = _Options(allow_subclasses=allow_subclasses, rtol=rtol, atol=atol,
                       equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
                       check_layout=check_layout, check_stride=check_stride)
    try:
        _compare(actual, expected, options)
        return
    except _Different as error:
        text = str(error)
        if error.path:
            text += "\nat " + "".join(f"[{key!r}]" for key in error.path)
        kind = error.kind
    if kind is AssertionError and msg is not None:
        text = msg(text) if callable(msg) else msg
    raise kind(text)


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The older form of `assert_close`, which does not look at dtype, device and stride."""
    warnings.warn("assert_allclose is deprecated: use assert_close", FutureWarning, stacklevel=2)
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        older = {torch.float16: (1e-3, 1e-3), torch.float32: (1e-4, 1e-5),
                 torch.float64: (1e-5, 1e-8)}
        pairs = [older.get(t.dtype, (0.0, 0.0)) for t in (actual, expected)]
        rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
                 check_dtype=False, check_stride=False, msg=msg or None)
