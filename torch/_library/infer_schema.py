"""The schema of a Python function, from its annotations."""
import collections.abc
import inspect
import types
import typing

import torch

_MUTATES = "mutates_args"


def _names():
    """{annotation: schema type}, lists and optionals included."""
    base = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
            torch.dtype: "ScalarType", torch.device: "Device"}
    table = dict(base)
    table[typing.Union[int, float, bool]] = "Scalar"
    table[typing.Union[int, float]] = "Scalar"
    numbers = {torch.Tensor: "Tensor", typing.Optional[torch.Tensor]: "Tensor?", int: "SymInt", float: "float", bool: "bool",
               typing.Union[int, float, bool]: "Scalar"}
    for element, text in numbers.items():
        for holder in (typing.Sequence, typing.List, collections.abc.Sequence, list):
            table[holder[element]] = text + "[]"
    for annotation, text in list(table.items()):
        if annotation is torch.Tensor or text.endswith("]") and text.startswith("Tensor") is False or annotation in base or text == "Scalar":
            table[typing.Optional[annotation]] = text + "?"
            try:
                table[annotation | None] = text + "?"
            except TypeError:
                pass
    return table


_table = None
_RETURNS = {torch.Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", typing.Union[int, float, bool]: "Scalar",
            typing.List[torch.Tensor]: "Tensor[]", list[torch.Tensor]: "Tensor[]"}


def _resolve(annotation, function):
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {**vars(typing), "torch": torch, "Tensor": torch.Tensor, **getattr(function, "__globals__", {})})
    except Exception as error:
        raise ValueError(f"infer_schema: the annotation {annotation!r} of {function} cannot be read: {error}") from None


def _default(value, name, function):
    if value is None:
        return "None"
    if isinstance(value, bool) or isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, torch.device):
        return f'"{value}"'
    if isinstance(value, torch.dtype):
        return str(value).partition(".")[2]
    raise ValueError(f"infer_schema: parameter {name} of {function} has a default of type {type(value).__name__}; "
                     "None, numbers, bools, strings, dtypes and devices are taken")


def _result(annotation, function):
    annotation = _resolve(annotation, function)
    if annotation is inspect.Signature.empty:
        raise ValueError(f"infer_schema: {function} has no annotation for what it returns")
    if annotation is None or annotation is type(None):
        return "()"
    if annotation in _RETURNS:
        return _RETURNS[annotation]
    if typing.get_origin(annotation) is tuple:
        items = typing.get_args(annotation)
        if items and all(_resolve(i, function) in _RETURNS for i in items):
            return "(" + ", ".join(_RETURNS[_resolve(i, function)] for i in items) + ")"
    raise ValueError(f"infer_schema: {function} returns {annotation}; a Tensor, int, float, bool, a list of Tensors, a tuple of "
                     "these, or None are taken")


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema text of a function with annotations: "(Tensor x, float a, SymInt n=3) -> Tensor".

    Args:
        prototype_function: its parameters and result must be annotated.
        mutates_args: names of the tensor parameters that it writes, or "unknown": all of them.
        op_name (str): put before the schema.

    Raises ValueError where an annotation or a default has no counterpart in schemas.
    """
    global _table
    if _table is None:
        _table = _names()
    function = prototype_function
    signature = inspect.signature(function)
    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(f"infer_schema: {_MUTATES} must be a collection of names or \"unknown\", not {mutates_args!r}")
    params, seen, keyword_only = [], set(), False
    for place, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise ValueError(f"infer_schema: parameter {name} of {function} is positional-only, *args or **kwargs; these are not taken")
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            params.append("*")
            keyword_only = True
        if p.annotation is p.empty:
            raise ValueError(f"infer_schema: parameter {name} of {function} must have an annotation")
        annotation = _resolve(p.annotation, function)
        try:
            text = _table.get(annotation)
        except TypeError:
            text = None
        if text is None and isinstance(annotation, types.UnionType):
            text = _table.get(typing.Union[annotation])
        if text is None:
            raise ValueError(f"infer_schema: parameter {name} of {function} has type {annotation}, which schemas have not; "
                             "Tensor, int, float, bool, str, torch.dtype, torch.device, numbers, Optional and lists of these are taken")
        seen.add(name)
        if mutates_args == "unknown" and text.startswith("Tensor") or mutates_args != "unknown" and name in mutates_args:
            if not text.startswith("Tensor"):
                raise ValueError(f"infer_schema: parameter {name} of {function} is in {_MUTATES}, but only tensors can be written")
            text = f"Tensor(a{place}!)" + text[len("Tensor"):]
        params.append(f"{text} {name}" + ("" if p.default is p.empty else "=" + _default(p.default, name, function)))
    if mutates_args != "unknown":
        unknown = set(mutates_args) - seen
        if unknown:
            raise ValueError(f"infer_schema: {sorted(unknown)} in {_MUTATES} are no parameters of {function}, which has {sorted(seen)}")
    return f"{op_name or ''}({', '.join(params)}) -> {_result(signature.return_annotation, function)}"
