"""How a tensor is printed: its numbers in columns, then what the numbers do not say."""

import contextlib
import dataclasses
import math

import torch

inf = math.inf


@dataclasses.dataclass
class _PrinterOptions:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _PrinterOptions()

_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, inf, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None):
    """Sets how tensors are printed; None leaves an option as it is.

    `precision`: digits after the point; `threshold`: number of elements from which on only
    `edgeitems` at both ends of each dimension are shown; `linewidth`: characters in a line;
    `profile`: "default", "short" or "full", which sets these four first; `sci_mode`: always (True)
    or never (False) 1.0e+00, or by the values (None).
    """
    if profile is not None:
        values = _PROFILES.get(profile)
        if values is None:
            raise ValueError(f"profile must be one of {sorted(_PROFILES)}, got {profile!r}")
        (PRINT_OPTS.precision, PRINT_OPTS.threshold, PRINT_OPTS.edgeitems,
         PRINT_OPTS.linewidth) = values
    for name, value in (("precision", precision), ("threshold", threshold),
                        ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions():
    """The options of `set_printoptions` as a dict."""
    return dataclasses.asdict(PRINT_OPTS)


@contextlib.contextmanager
def printoptions(**kwargs):
    """`set_printoptions` for the length of a with block."""
    old = get_printoptions()
    if "sci_mode" not in kwargs:
        kwargs["sci_mode"] = old["sci_mode"]
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**old)


def _flatten(values):
    """The numbers of nested lists, in order."""
    if not isinstance(values, list):
        return [values]
    while values and isinstance(values[0], list):
        values = [v for row in values for v in row]
    return values


class _Formatter:
    """One column format for all given numbers: decimals, exponent and width."""

    def __init__(self, values, floating):
        self.floating = floating
        self.int_mode = True
        self.sci_mode = False
        self.max_width = 1
        if not floating:
            if values:
                self.max_width = max(map(len, map(str, values)))
            return
        sizes = [abs(v) for v in values if v != 0 and math.isfinite(v)]
        if not sizes:
            # Zeros, infinities and NaNs alone are not set in columns.
            return
        smallest, largest = min(sizes), max(sizes)
        self.int_mode = all(v.is_integer() for v in sizes)
        if largest / smallest > 1000.0 or largest > 1.0e8:
            self.sci_mode = True
        elif not self.int_mode and smallest < 1.0e-4:
            self.sci_mode = True
        if PRINT_OPTS.sci_mode is not None:
            self.sci_mode = bool(PRINT_OPTS.sci_mode)
        self.max_width = max(len(self._text(v)) for v in values if v != 0 and math.isfinite(v))

    def _text(self, value):
        if not self.floating:
            return str(value)
        if self.sci_mode:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if not self.int_mode:
            return f"{value:.{PRINT_OPTS.precision}f}"
        return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"

    def width(self):
        return self.max_width

    def format(self, value):
        return self._text(value).rjust(self.max_width)


class _Numbers:
    """Prints nested lists of numbers; complex ones have a format for each part."""

    def __init__(self, values, dtype):
        flat = _flatten(values)
        self.complex = dtype.is_complex
        if self.complex:
            self.real = _Formatter([v.real for v in flat], True)
            self.imag = _Formatter([v.imag for v in flat], True)
            self.width = self.real.width() + self.imag.width() + 1
        else:
            self.real = _Formatter(flat, dtype.is_floating_point)
            self.width = self.real.width()

    def format(self, value):
        if not self.complex:
            return self.real.format(value)
        real = self.real.format(value.real)
        imag = (self.imag.format(value.imag) + "j").lstrip()
        return real + (imag if imag[0] in "+-" else "+" + imag)

    def row(self, values, indent, size, summarize):
        per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / (self.width + 2)))
        edge = PRINT_OPTS.edgeitems
        if summarize and not edge:
            data = ["..."]
        elif summarize and size > 2 * edge:
            data = [*map(self.format, values[:edge]), " ...", *map(self.format, values[edge:])]
        else:
            data = list(map(self.format, values))
        lines = [", ".join(data[i:i + per_line]) for i in range(0, len(data), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"

    def text(self, values, indent, shape, summarize):
        if not shape:
            return self.format(values)
        if len(shape) == 1:
            return self.row(values, indent, shape[0], summarize)
        edge = PRINT_OPTS.edgeitems
        rows = [self.text(v, indent + 1, shape[1:], summarize) for v in values]
        if summarize and shape[0] > 2 * edge:
            rows[edge:edge] = ["..."]
        between = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
        return "[" + between.join(rows) + "]"


def get_summarized_data(self):
    """The tensor without what a summary leaves out: at most 2 * edgeitems along each dimension."""
    edge = PRINT_OPTS.edgeitems
    for dim, size in enumerate(self.shape):
        if size > 2 * edge:
            if edge == 0:
                self = self.narrow(dim, 0, 0)
            else:
                self = torch.cat([self.narrow(dim, 0, edge),
                                  self.narrow(dim, size - edge, edge)], dim)
    return self


def _tensor_str(self, indent):
    """The numbers of a dense tensor whose first line starts at column `indent`."""
    if self.numel() == 0:
        return "[]"
    if self.requires_grad:
        self = self.detach()
    summarize = self.numel() > PRINT_OPTS.threshold
    if self.is_neg():
        self = self.resolve_neg()
    if self.is_conj():
        self = self.resolve_conj()
    shown = get_summarized_data(self) if summarize else self
    if shown.dtype in _CONVERTED:
        shown = shown.float()
    values = shown.tolist()
    return _Numbers(values, shown.dtype).text(values, indent, tuple(self.shape), summarize)


# Storage formats without a Python number of their own.
_CONVERTED = {getattr(torch, name) for name in (
    "float16", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu") if hasattr(torch, name)}


def _add_suffixes(tensor_str, suffixes, indent, force_newline):
    """Appends `, suffix` for each, on a new line where one does not fit."""
    text = [tensor_str]
    line = len(tensor_str) - tensor_str.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or line + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text.append(",\n" + " " * indent + suffix)
            line = indent + len(suffix)
            force_newline = False
        else:
            text.append(", " + suffix)
            line += len(suffix) + 2
    return "".join(text) + ")"


def _is_default_dtype(dtype):
    default = torch.get_default_dtype()
    if dtype in (default, torch.int64, torch.bool):
        return True
    return dtype.is_complex and dtype.to_real() == default


def _sparse_parts(self, layout):
    """(name, part) of a sparse tensor in the order in which they are printed."""
    if layout is torch.sparse_coo:
        return [("indices", self._indices().detach()), ("values", self._values().detach())]
    if layout in (torch.sparse_csr, torch.sparse_bsr):
        return [("crow_indices", self.crow_indices().detach()),
                ("col_indices", self.col_indices().detach()),
                ("values", self.values().detach())]
    return [("ccol_indices", self.ccol_indices().detach()),
            ("row_indices", self.row_indices().detach()), ("values", self.values().detach())]


def _sparse_str(self, layout, prefix):
    parts = []
    for name, part in _sparse_parts(self, layout):
        start = f"{name}=tensor("
        text = start + _tensor_str(part, len(prefix) + len(start))
        if part.numel() == 0:
            text += f", size={tuple(part.shape)}"
        parts.append(text + ")")
    return (",\n" + " " * len(prefix)).join(parts)


def _grad_fn_name(self):
    """The name of grad_fn, None without one; a view that an in-place write broke is "Invalid"."""
    try:
        fn = self.grad_fn
    except RuntimeError:
        return "Invalid"
    if fn is None:
        return None
    name = type(fn).__name__
    if name == "CppFunction":
        name = fn.name().rsplit("::", maxsplit=1)[-1]
    return name


def _str_intern(self, *, tensor_contents=None):
    plain = type(self) is torch.Tensor or type(self) is torch.nn.Parameter \
        or type(self) is getattr(torch.nn, "Buffer", None)
    prefix = "tensor(" if plain else f"{type(self).__name__}("
    indent = len(prefix)
    suffixes = []
    layout, device, dtype = self.layout, self.device, self.dtype
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    default_dtype = _is_default_dtype(dtype)
    has_numbers = device.type != "meta"

    if layout is not torch.strided:
        suffixes.append(f"size={tuple(self.shape)}")
        if has_numbers:
            suffixes.append(f"nnz={self._nnz()}")
        if not default_dtype:
            suffixes.append(f"dtype={dtype}")
        text = "..." if not has_numbers else (
            tensor_contents if tensor_contents is not None else _sparse_str(self, layout, prefix))
    elif getattr(self, "is_quantized", False):
        suffixes += [f"size={tuple(self.shape)}", f"dtype={dtype}",
                     f"quantization_scheme={self.qscheme()}"]
        if self.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            suffixes += [f"scale={self.q_scale()}", f"zero_point={self.q_zero_point()}"]
        else:
            suffixes += [f"scale={self.q_per_channel_scales()}",
                         f"zero_point={self.q_per_channel_zero_points()}",
                         f"axis={self.q_per_channel_axis()}"]
        text = tensor_contents if tensor_contents is not None \
            else _tensor_str(self.dequantize(), indent)
    elif not has_numbers:
        suffixes.append(f"size={tuple(self.shape)}")
        if dtype != torch.get_default_dtype():
            suffixes.append(f"dtype={dtype}")
        text = "..." if tensor_contents is None else tensor_contents
    elif self.numel() == 0:
        # Nothing shows the shape or the kind of numbers.
        if self.dim() != 1:
            suffixes.append(f"size={tuple(self.shape)}")
        if dtype != torch.get_default_dtype():
            suffixes.append(f"dtype={dtype}")
        text = "[]" if tensor_contents is None else tensor_contents
    else:
        if not default_dtype:
            suffixes.append(f"dtype={dtype}")
        if PRINT_OPTS.edgeitems == 0:
            suffixes.insert(len(suffixes) - (not default_dtype), f"size={tuple(self.shape)}")
        text = _tensor_str(self, indent) if tensor_contents is None else tensor_contents
    if layout is not torch.strided:
        suffixes.append(f"layout={layout}")
    return prefix + text, suffixes, indent, layout is torch.sparse_coo


def _wrapper_str(self):
    """A tensor within a transform: its level, and what it stands for."""
    levels = torch._C._functorch
    kind, batch = "GradTrackingTensor", ""
    if levels.is_batchedtensor(self):
        kind, batch = "BatchedTensor", f"bdim={levels.maybe_get_bdim(self)}, "
    level = levels.maybe_get_level(self)
    inner = levels.get_unwrapped(self)
    text = levels._outside(lambda: repr(inner), 1) if levels.maybe_current_level() else repr(inner)
    lines = "\n".join("    " + line for line in text.split("\n"))
    return f"{kind}(lvl={level}, {batch}value=\n{lines}\n)"


def _str(self, *, tensor_contents=None):
    """The text of `repr(tensor)`; `tensor_contents` replaces the numbers."""
    if torch._C._functorch.is_functorch_wrapped_tensor(self):
        return _wrapper_str(self)
    disable = getattr(torch._C, "DisableTorchFunctionSubclass", contextlib.nullcontext)
    with disable(), torch.no_grad():
        grad_fn = _grad_fn_name(self)
        text, suffixes, indent, newline = _str_intern(self, tensor_contents=tensor_contents)
        if grad_fn is not None:
            suffixes.append(f"grad_fn=<{grad_fn}>")
        elif self.requires_grad:
            suffixes.append("requires_grad=True")
        return _add_suffixes(text, suffixes, indent, newline)
