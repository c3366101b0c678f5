"""Write type stubs for the built package, so that an editor completes `torch.` and `tensor.`.

    write_stubs.py OUT.pyi [FOLDER]

The package is read from this checkout, its extension from FOLDER where one is given. Everything is read from the package itself:
operators from the schemas at the end of their docstrings, Python functions from their signatures,
so there is no list here that could fall behind.
"""
import importlib.util
import inspect
import keyword
import pathlib
import re
import sys
import types

HEAD = '''# Written by tools/write_stubs.py from the built package.
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload
import builtins

# Under a name of their own, since members of a class hide the others.
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_memory_format: TypeAlias = memory_format
Number: TypeAlias = builtins.int | builtins.float | builtins.complex | builtins.bool
'''
TYPES = {"Tensor": "Tensor", "Scalar": "Number", "int": "builtins.int", "SymInt": "builtins.int", "float": "builtins.float",
         "bool": "builtins.bool", "str": "builtins.str", "complex": "builtins.complex", "ScalarType": "_dtype", "Device": "_device | builtins.str",
         "Layout": "_layout", "MemoryFormat": "_memory_format", "Generator": "Generator", "Storage": "Any", "Dimname": "builtins.str"}
# What the properties of a tensor hold.
PROPERTIES = {"shape": "Size", "dtype": "_dtype", "device": "_device", "layout": "_layout", "grad": "Tensor | None", "grad_fn": "Any",
              "requires_grad": "builtins.bool", "is_leaf": "builtins.bool", "ndim": "builtins.int", "itemsize": "builtins.int",
              "nbytes": "builtins.int", "output_nr": "builtins.int", "names": "tuple[builtins.str | None, ...]",
              "name": "builtins.str | None"} | dict.fromkeys(("T", "H", "mT", "mH", "real", "imag", "data"), "Tensor")
OR_NUMBER = {"other", "exponent", "min", "max"}  # tensors that the binding makes of a number
# The operator protocol; what else has two underscores at both ends is left out.
BINARY = {f"__{r}{n}__" for n in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split() for r in ("", "r", "i")}
PROTOCOL = dict.fromkeys(BINARY | {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}, "(self, other: Any) -> Tensor") | {
    "__neg__": "(self) -> Tensor", "__pos__": "(self) -> Tensor", "__abs__": "(self) -> Tensor", "__invert__": "(self) -> Tensor",
    "__getitem__": "(self, index: Any) -> Tensor", "__setitem__": "(self, index: Any, value: Any) -> None",
    "__len__": "(self) -> builtins.int", "__bool__": "(self) -> builtins.bool", "__int__": "(self) -> builtins.int",
    "__float__": "(self) -> builtins.float", "__complex__": "(self) -> builtins.complex", "__index__": "(self) -> builtins.int",
    "__iter__": "(self) -> Any", "__contains__": "(self, value: Any) -> builtins.bool"}
ARGUMENT = re.compile(r"^(?P<type>\w+)(?:\([a-z!|*> -]*\))?(?P<inner>\?)?(?P<list>\[\d*\])?(?P<optional>\?)? (?P<name>\w+)(?:=(?P<default>.+))?$")
SCHEMA = re.compile(r"^(?P<name>\w+)(?:\.\w+)?\((?P<arguments>.*)\) -> (?P<result>.+)$")


def split_commas(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return [p for p in (*parts, text[start:].strip()) if p]


def python_type(match):
    one = TYPES.get(match["type"], "Any")
    if match["inner"]:
        one = f"{one} | None"
    if match["list"]:
        many = f"Sequence[{one}]"
        one = f"{one} | {many}" if re.search(r"\d", match["list"]) or match["type"] == "int" else many
    return f"{one} | None" if match["optional"] else one


def result_type(text):
    text = text.strip()
    if text == "()":
        return "None"
    if text.startswith("("):
        return f"tuple[{', '.join(result_type(p) for p in split_commas(text[1:-1]))}]"
    match = ARGUMENT.match(text if " " in text else text + " _")
    return python_type(match) if match else "Any"


def parameters(schema, method):
    """The Python parameters of one schema, or None when the line is no schema."""
    out, rest = [], split_commas(schema["arguments"])
    own = next((i for i, text in enumerate(rest) if text.endswith(" self")), 0)
    if method and rest:  # the tensor itself comes first, wherever the schema has it
        rest.insert(0, rest.pop(own))
    for position, text in enumerate(rest):
        if text == "*":
            out.append("*")
            continue
        match = ARGUMENT.match(text)
        if not match:
            return None
        name, kind = match["name"], python_type(match)
        if name in OR_NUMBER and match["type"] == "Tensor":
            kind += " | Number"
        if position == 0 and method and match["type"] == "Tensor":
            out.append("self")
            continue
        if name == "self":
            name = "input"
        if keyword.iskeyword(name):
            name += "_"
        out.append(f"{name}: {kind}" + ("" if match["default"] is None else " = ..."))
    # A parameter without a default may not follow one that has it.
    seen = False
    for i, p in enumerate(out):
        if p == "*":
            break
        seen |= p.endswith("= ...")
        if seen and not p.endswith("= ..."):
            out[i] = p + " = ..."
    return out


def spread(listed):
    """The same call with its leading list of sizes given one by one: view(2, 3) for view((2, 3))."""
    first = next((i for i, p in enumerate(listed) if p != "self"), None)
    if first is None or "Sequence[builtins.int]" not in listed[first] or listed[first].endswith("= ..."):
        return None
    if any(p != "*" for p in listed[first + 1:listed.index("*") if "*" in listed else len(listed)]):
        return None
    name = listed[first].split(":")[0]
    return [*listed[:first], f"*{name}: builtins.int", *(p for p in listed[first + 1:] if p != "*")]


def operator_stub(name, doc, method):
    """Overloads of one operator from the schemas in its docstring."""
    found = []
    for line in (doc or "").splitlines():
        schema = SCHEMA.match(line.strip())
        if not schema:
            continue
        listed = parameters(schema, method)
        if listed is None or (method and "self" not in listed):
            continue
        out = any(p.startswith("out:") for p in listed)
        if not out and not method and "Tensor" in schema["result"]:
            listed += ["out: Any = ..."] if "*" in listed else ["*", "out: Any = ..."]
        for one in (listed, spread(listed)):
            entry = f"({', '.join(one or ())}) -> {result_type(schema['result'])}: ..."
            if one and entry not in found:
                found.append(entry)
    if not found:
        first = "self, " if method else ""
        return [f"def {name}({first}*args: Any, **kwargs: Any) -> Any: ..."]
    mark = ["@overload"] if len(found) > 1 else []
    return [line for entry in found for line in (*mark, f"def {name}{entry}")]


def function_stub(name, function, method):
    try:
        listed = []
        signature = inspect.signature(function)
        for p in signature.parameters.values():
            star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            if p.kind is p.KEYWORD_ONLY and not any(x.startswith("*") for x in listed):
                listed.append("*")
            kind = "" if method and not listed else ": Any"
            listed.append(f"{star}{p.name}{kind}" + ("" if p.default is p.empty else " = ..."))
        return [f"def {name}({', '.join(listed)}) -> Any: ..."]
    except (TypeError, ValueError):
        return operator_stub(name, function.__doc__, method)


def class_stub(name, cls):
    if issubclass(cls, BaseException):
        return [f"class {name}({cls.__mro__[1].__name__}): ..."]
    lines = [f"class {name}:"]
    for member in sorted(dir(cls)):
        value = inspect.getattr_static(cls, member)
        if member in PROTOCOL and name == "Tensor":
            hides = "  # type: ignore[override]" if member in ("__eq__", "__ne__") else ""
            lines.append(f"def {member}{PROTOCOL[member]}: ...{hides}")
            continue
        if member.startswith("_") or keyword.iskeyword(member):
            continue
        if isinstance(value, (types.GetSetDescriptorType, types.MemberDescriptorType, property)):
            lines.append(f"{member}: {PROPERTIES.get(member, 'Any')}")
        elif isinstance(value, (staticmethod, classmethod)):
            lines.append(f"{member}: Callable[..., Any]")
        elif isinstance(value, types.FunctionType):
            lines += function_stub(member, value, True)
        elif isinstance(value, type):
            continue
        elif callable(value):
            lines += operator_stub(member, getattr(value, "__doc__", None), True)
        else:
            lines.append(f"{member}: Any")
    if name == "Size":
        lines[0] = "class Size(tuple[builtins.int, ...]):"
    return [lines[0], *("    " + line for line in lines[1:])] if len(lines) > 1 else [f"class {name}: ..."]


def module_stub(torch):
    lines, classes = [], []
    package = pathlib.Path(torch.__file__).parent
    names = set(dir(torch))
    for entry in sorted(package.iterdir()):
        if entry.suffix == ".py" or (entry / "__init__.py").exists():
            if not entry.stem.startswith("_"):
                lines.append(f"from torch import {entry.stem} as {entry.stem}")
                names.discard(entry.stem)
    for name in sorted(names):
        if name.startswith("_") or keyword.iskeyword(name):
            continue
        try:
            value = getattr(torch, name)
        except (AttributeError, ImportError, NotImplementedError):
            continue
        if isinstance(value, types.ModuleType):
            continue
        home = getattr(value, "__module__", None) or ""
        if isinstance(value, type):
            if home.startswith("torch.") and home != "torch._C" and name != "Tensor":
                lines.append(f"from {home} import {name} as {name}")
            elif home.split(".")[0] == "torch" and not name.endswith("Base"):
                classes += class_stub(name, value)
        elif isinstance(value, types.FunctionType):
            lines.append(f"from {home} import {value.__name__} as {name}" if home.startswith("torch.") and value.__name__ != "<lambda>"
                         else "\n".join(function_stub(name, value, False)))
        elif type(value).__name__ in ("dtype", "layout", "memory_format"):
            lines.append(f"{name}: _{type(value).__name__}")
        elif callable(value):
            lines += operator_stub(name, getattr(value, "__doc__", None), False)
        elif isinstance(value, (bool, int, float, str)):
            lines.append(f"{name}: builtins.{type(value).__name__}")
        else:
            lines.append(f"{name}: Any")
    return "\n".join([HEAD, *classes, "", *lines, "__version__: builtins.str", ""])


def load(extension):
    """The package of this checkout, with the extension that lies in the given folder."""
    source = pathlib.Path(__file__).resolve().parent.parent / "torch"
    spec = importlib.util.spec_from_file_location("torch", source / "__init__.py",
                                                  submodule_search_locations=[extension or str(source), str(source)])
    sys.modules["torch"] = torch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(torch)
    return torch


def main(path, extension=None):
    text = module_stub(load(extension))
    compile(text, path, "exec")
    pathlib.Path(path).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
