"""Signatures of what nodes call, and arguments in their canonical form."""
import inspect
import numbers
import re
import types
import typing
from typing import NamedTuple

import torch
from torch import _C
from torch._ops import OpOverload, OpOverloadPacket
from torch.fx.node import Node

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "get_signature_for_torch_op", "create_type_hint", "type_matches",
           "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments."""

    args: tuple
    kwargs: dict


_NAMED_TYPES = {
    "Tensor": torch.Tensor, "Scalar": numbers.Number, "int": int, "SymInt": int, "float": float, "bool": bool, "str": str,
    "ScalarType": torch.dtype, "Device": torch.device, "Layout": torch.layout, "MemoryFormat": torch.memory_format,
    "Generator": torch.Generator, "complex": complex}
_ARGUMENT = re.compile(r"^(?P<type>[A-Za-z]+)(?:\((?P<alias>[^)]*)\))?(?P<rest>[\[\]0-9?]*)\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$")


def _python_type(name, rest):
    kind = _NAMED_TYPES.get(name, typing.Any)
    for mark in re.findall(r"\[\d*\]|\?", rest):
        kind = typing.Optional[kind] if mark == "?" else list[kind]
    return kind


def _default(text):
    if text in ("None", "True", "False") or text is None:
        return {"None": None, "True": True, "False": False}.get(text)
    if text.startswith("[") and text.endswith("]"):
        inner = text[1:-1].strip()
        return [_default(x.strip()) for x in inner.split(",")] if inner else []
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return {"contiguous_format": torch.contiguous_format, "Mean": 1, "long": torch.int64}.get(text, text)


def _split_arguments(text):
    parts, depth, current = [], 0, ""
    for c in text:
        depth += c in "(["
        depth -= c in ")]"
        if c == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts


def _schema_signature(schema):
    """The signature of a schema's text; self is named input, as the functions of torch do."""
    schema = str(schema)
    body, _, returns = schema.rpartition("->")
    inside = body[body.index("(") + 1:body.rindex(")")]
    parameters, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for part in _split_arguments(inside):
        if part == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        m = _ARGUMENT.match(part)
        if m is None:
            return None
        name = m["name"]
        default = inspect.Parameter.empty if m["default"] is None else _default(m["default"])
        if isinstance(default, int) and not isinstance(default, bool) and "[" in m["rest"]:
            size = re.search(r"\[(\d+)\]", m["rest"])
            default = [default] * int(size[1]) if size else default
        parameters.append(inspect.Parameter("input" if name == "self" else "from_" if name == "from" else name, kind,
                                            default=default, annotation=_python_type(m["type"], m["rest"])))
    kinds = [_NAMED_TYPES.get(r.strip("() !abc?[]*").split("(")[0], typing.Any) for r in _split_arguments(returns.strip(" ()"))]
    result = kinds[0] if len(kinds) == 1 else tuple(kinds) or None
    return inspect.Signature(parameters, return_annotation=result)


def _schemas_of(op):
    """The texts of the schemas of an operator or of a function of torch that is one."""
    if isinstance(op, OpOverload):
        return [str(op._schema)]
    if isinstance(op, OpOverloadPacket):
        name, overloads = op.__name__, op.overloads()
    else:
        name = getattr(op, "__name__", None)
        if name is None or isinstance(op, (types.FunctionType, type)) or (
                getattr(op, "__module__", None) in ("_operator", "math", "builtins")):
            return None
        overloads = _C._op_overloads(name)
        if overloads is None and hasattr(torch.special, name):
            name = "special_" + name
            overloads = _C._op_overloads(name)
        if overloads is None:
            return None
    return [_C._op_schema(name, o) for o in overloads]


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of an operator, one for each overload; None for what is none. With `return_schemas` the schemas too."""
    schemas = _schemas_of(op)
    if schemas is None:
        return (None, None) if return_schemas else None
    pairs = [(s, t) for s, t in ((_schema_signature(t), t) for t in schemas) if s is not None]
    if return_schemas:
        return [s for s, _ in pairs], [torch._ops.Schema(t) for _, t in pairs]
    return [s for s, _ in pairs]


def check_for_mutable_operation(target, args, kwargs):
    """RuntimeError where a call writes to one of its arguments."""
    schemas = _schemas_of(target)
    if not schemas:
        return
    fitting = []
    for text in schemas:
        signature = _schema_signature(text)
        try:
            signature.bind(*args, **kwargs)
        except (TypeError, AttributeError):
            continue
        fitting.append(text)
    if fitting and all("!" in t.partition("->")[0] for t in fitting):
        raise RuntimeError(f"{getattr(target, '__name__', target)} writes to an argument, which this tracer does not "
                           f"record: {fitting[0]}")


def create_type_hint(x):
    """The type of lists and tuples by that of their items: List[int], Tuple[int, ...]; other values as they are."""
    if not isinstance(x, (list, tuple)):
        return x
    head = (lambda k: list[k]) if isinstance(x, list) else (lambda k: tuple[k, ...])
    if not x:
        return head(typing.Any)
    base = x[0]
    for kind in x[1:]:
        if issubclass(kind, base):
            continue
        if issubclass(base, kind):
            base = kind
        else:
            return head(typing.Any)
    return head(base)


def type_matches(signature_type, argument_type):
    """Whether an argument of the second type fits a parameter of the first."""
    origin = getattr(signature_type, "__origin__", signature_type)
    if signature_type is argument_type or signature_type is typing.Any or signature_type is inspect.Parameter.empty:
        return True
    if origin is typing.Union or isinstance(signature_type, types.UnionType):
        if getattr(argument_type, "__origin__", None) is typing.Union:
            return all(type_matches(signature_type, a) for a in argument_type.__args__)
        return any(type_matches(c, argument_type) for c in signature_type.__args__)
    if origin is list:
        inner = signature_type.__args__[0]
        if argument_type in (int, list, tuple) and inner in (int, typing.Any):
            return True
        given = getattr(argument_type, "__origin__", None)
        if given in (list, tuple):
            return all(a is ... or type_matches(inner, a) for a in argument_type.__args__)
        return False
    if signature_type is numbers.Number and argument_type in (int, float, bool, complex):
        return True
    if signature_type is float and argument_type is int:
        return True
    return inspect.isclass(argument_type) and inspect.isclass(signature_type) and issubclass(argument_type, signature_type)


def _args_kwargs_to_normalized_args_kwargs(sig, args, kwargs, normalize_to_only_use_kwargs):
    supported = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(p.kind not in supported for p in sig.parameters.values()):
        # torch.tensor, say, and a lambda with *args cannot be given by keywords alone.
        if list(sig.parameters) != ["input", "from", "to", "generator"]:
            return None
    bound = sig.bind(*args, **kwargs)
    bound.apply_defaults()
    new_kwargs, new_args = {}, []
    for i, name in enumerate(sig.parameters):
        if not normalize_to_only_use_kwargs and i < len(args):
            new_args.append(bound.arguments[name])
        else:
            new_kwargs[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(new_args), new_kwargs)


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call by the signature of `target`, defaults filled in; None where that is not known.

    `arg_types` and `kwarg_types` (types in place of values) choose among overloads; RuntimeError where several fit.
    """
    kwargs = kwargs or {}
    if isinstance(target, types.FunctionType) and not getattr(target, "__name__", "").startswith("<"):
        try:
            signature = inspect.signature(inspect.unwrap(target))
        except (TypeError, ValueError):
            return None
        return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs, normalize_to_only_use_kwargs)
    if not callable(target):
        return None
    signatures = get_signature_for_torch_op(target)
    if not signatures:
        return None
    fitting = []
    for signature in signatures:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        fitting.append(signature)
    chosen = None
    if len(fitting) == 1:
        chosen = fitting[0]
    elif len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            by_value = [s for s in fitting if _values_fit(s, args, kwargs)]
            if len(by_value) == 1:
                chosen = by_value[0]
        if chosen is None and (arg_types is not None or kwarg_types is not None):
            typed = [s for s in fitting if _types_fit(s, tuple(arg_types or ()), dict(kwarg_types or {}))]
            if typed:
                chosen = typed[0]
        if chosen is None:
            shown = "\n".join(str(s) for s in signatures)
            raise RuntimeError(f"several overloads of {getattr(target, '__name__', target)} fit the arguments; give their "
                               f"types as arg_types and kwarg_types. The overloads are:\n{shown}")
    if chosen is None:
        return None
    return _args_kwargs_to_normalized_args_kwargs(chosen, args, kwargs, normalize_to_only_use_kwargs)


def _types_fit(signature, arg_types, kwarg_types):
    try:
        bound = signature.bind(*arg_types, **kwarg_types)
    except TypeError:
        return False
    return all(type_matches(signature.parameters[n].annotation, t) for n, t in bound.arguments.items())


def _values_fit(signature, args, kwargs):
    """Whether values (nodes fit tensors only) have the types of the parameters."""
    bound = signature.bind(*args, **kwargs)

    def kind(x):
        if isinstance(x, Node):
            return torch.Tensor
        if isinstance(x, (list, tuple)) and x:
            return create_type_hint([kind(i) for i in x])
        return type(x)
    return all(type_matches(signature.parameters[n].annotation, kind(v)) for n, v in bound.arguments.items())


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The arguments of a module's call by its forward's signature, for modules of torch.nn; None for others."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(f"there is no submodule {target!r} to find the signature of") from error
    if getattr(torch.nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(module.forward)
    return _args_kwargs_to_normalized_args_kwargs(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
