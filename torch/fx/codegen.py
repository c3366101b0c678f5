"""The Python code of a graph."""
import enum
import keyword
import math
import operator
import re
import types
import typing
from typing import Any, NamedTuple

import torch
from torch._ops import OpOverload
from torch.fx.node import Node, _get_qualified_name, _type_repr
from torch.utils import _pytree as pytree

magic_methods = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}"}
reflectable_magic_methods = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}",
    "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}"}
magic_methods.update(reflectable_magic_methods)
inplace_methods = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}"}
_infix = {getattr(operator, n): f for n, f in magic_methods.items() if hasattr(operator, n)}
_assigning = {getattr(operator, n): f for n, f in inplace_methods.items()}

dtype_abbrs = {getattr(torch, n): short for n, short in (
    ("uint8", "u8"), ("int8", "i8"), ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("float16", "f16"),
    ("float32", "f32"), ("float64", "f64"), ("complex32", "c32"), ("complex64", "c64"), ("complex128", "c128"),
    ("bool", "b8"), ("bfloat16", "bf16"), ("bits1x8", "b1x8"), ("bits2x4", "b2x4"), ("bits4x2", "b4x2"),
    ("bits8", "b8x1"), ("bits16", "b16x1"), ("float8_e5m2", "f8e5m2"), ("float8_e4m3fn", "f8e4m3fn"),
    ("float8_e5m2fnuz", "f8e5m2fnuz"), ("float8_e4m3fnuz", "f8e4m3fnuz"), ("uint16", "u16"), ("uint32", "u32"),
    ("uint64", "u64"), ("float8_e8m0fnu", "f8e8m0fnu"), ("float4_e2m1fn_x2", "f4e2m1fnx2"), ("bcomplex32", "bc32"))
    if hasattr(torch, n)}


class _CustomBuiltin(NamedTuple):
    """A global that all generated code has, and the statement that imports it."""

    import_str: str
    obj: Any


_custom_builtins = {}


def _register_custom_builtin(name, import_str, obj):
    """Gives all generated code the global `name`."""
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)


_register_custom_builtin("inf", "from math import inf", math.inf)
_register_custom_builtin("nan", "from math import nan", math.nan)
_register_custom_builtin("NoneType", "NoneType = type(None)", type(None))
_register_custom_builtin("torch", "import torch", torch)
_register_custom_builtin("device", "from torch import device", torch.device)


def _add_pytree_builtins():
    from torch.fx import _pytree as fx_pytree
    _register_custom_builtin("fx_pytree", "import torch.fx._pytree as fx_pytree", fx_pytree)
    _register_custom_builtin("pytree", "import torch.utils._pytree as pytree", pytree)


class PythonCode:
    """Source text, and the globals it needs."""

    __slots__ = ("src", "globals", "_lineno_map", "_prologue_start")

    def __init__(self, src, globals, _lineno_map=None, _prologue_start=0):
        self.src, self.globals, self._lineno_map, self._prologue_start = src, globals, _lineno_map, _prologue_start

    def __repr__(self):
        return (f"PythonCode(src={self.src!r}, globals={self.globals!r}, _lineno_map={self._lineno_map!r}, "
                f"_prologue_start={self._prologue_start!r})")


def _is_from_torch(obj):
    module = getattr(obj, "__module__", None)
    if module is not None:
        base = module.partition(".")[0]
        return base == "torch" and not module.startswith(("torch._dynamo.", "torch._inductor."))
    name = getattr(obj, "__name__", None)
    if name is not None and name != "torch":
        return any(getattr(space, name, None) is obj for space in (torch, torch.nn.functional, torch._C._nn))
    return name == "torch"


def _shape_text(shape):
    return "[" + ", ".join(str(s) for s in shape) + "]"


def _tensor_annotation(val, include_stride=False, include_device=False, colored=False):
    """f32[2, 3] for a tensor, then [3, 1] for strides and cpu for the device where asked."""
    stride = _shape_text(val.stride()) if include_stride and val.layout is torch.strided else ""
    parts = (dtype_abbrs.get(val.dtype) or str(val.dtype).removeprefix("torch."), _shape_text(val.shape), stride,
             str(val.device) if include_device else "")
    if colored:
        parts = [f"{_COLORS[c]}{p}{_COLORS['reset']}" for c, p in zip(("red", "blue", "dim_blue", "dim_green"), parts)]
    return "".join(parts)


def _is_tensor_meta(x):
    return isinstance(x, tuple) and hasattr(x, "_fields") and "shape" in x._fields and "dtype" in x._fields


_COLORS = {"red": "\033[31m", "green": "\033[32m", "blue": "\033[34m", "yellow": "\033[33m", "dim": "\033[2m",
           "dim_blue": "\033[2m\033[34m", "dim_green": "\033[2m\033[32m", "reset": "\033[0m"}


class _Writer:
    """What generating one text needs: the globals found so far and how each thing is written."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.globals = {}
        self.wrapped = {}
        self.targets = {}

    def add_global(self, hint, obj):
        """The name by which the text reaches `obj`."""
        if _is_from_torch(obj) and obj != torch.device:
            home, _, name = _get_qualified_name(obj).rpartition(".")
            return f"getattr({home}, {name!r})" if keyword.iskeyword(name) else f"{home}.{name}" if home else name   # random_.from
        if getattr(_builtins, hint, None) is obj:
            self.globals[hint] = obj
            return hint
        name = self.namespace.create_name(hint, obj)
        if name in self.globals:
            if self.globals[name] != obj:
                raise AssertionError(f"the global {name!r} would stand for both {self.globals[name]!r} and {obj!r}")
            return name
        self.globals[name] = obj
        return name

    def function(self, target, call):
        """The text of a function."""
        text = self.targets.get(target)
        if text is None:
            qualified = _get_qualified_name(target)
            if "." in qualified or not hasattr(_builtins, qualified):
                text = self.add_global(qualified, target)
            else:
                text = qualified
                self.globals[qualified] = target
            self.targets[target] = text
        return text

    def type_name(self, o):
        if o == ():
            return "()"
        text = _type_repr(o)
        origin = getattr(o, "__origin__", None)
        if origin is None and isinstance(o, types.UnionType):
            origin = typing.Union
        if origin is not None:
            head = self.add_global(_type_repr(origin if origin is typing.Union or isinstance(o, types.GenericAlias)
                                              else getattr(typing, o._name) if getattr(o, "_name", None) else origin),
                                   origin if isinstance(o, types.GenericAlias) else
                                   typing.Union if origin is typing.Union else
                                   getattr(typing, o._name, origin) if getattr(o, "_name", None) else origin)
            parts = [self.type_name(a) for a in o.__args__] if getattr(o, "__args__", None) else []
            return f"{head}[{','.join(parts)}]" if parts else head
        if isinstance(o, type) and o.__module__ == "builtins" and o is not type(None):
            self.globals.setdefault(o.__name__, o)
            return o.__name__
        if o is type(None):
            return "NoneType"
        if o is torch.device:
            return "device"
        return self.add_global(text, o)

    def arg(self, a):
        """The text of an argument."""
        kind = type(a)
        if kind is Node:
            return a.name
        if kind is int or kind is str or kind is bool or a is None:
            return repr(a)
        if kind is tuple or isinstance(a, tuple):
            if hasattr(a, "_fields"):
                head = self.add_global(_get_qualified_name(kind), kind)
                return f"{head}({', '.join([self.arg(x) for x in a])})"
            items = [self.arg(x) for x in a]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
        if isinstance(a, list):
            return f"[{', '.join([self.arg(x) for x in a])}]"
        if isinstance(a, dict):
            return "{" + ", ".join([f"{self.key(k)}: {self.arg(v)}" for k, v in a.items()]) + "}"
        if kind is slice:
            return f"slice({self.arg(a.start)}, {self.arg(a.stop)}, {self.arg(a.step)})"
        if kind is complex:
            return f"complex({a.real!r}, {a.imag!r})"
        if isinstance(a, OpOverload):
            return self.add_global(_get_qualified_name(a), a)
        if isinstance(a, enum.Enum):
            return f"{self.add_global(kind.__name__, kind)}.{a.name}"
        if isinstance(a, torch.Tensor):
            return f"torch.Tensor(size={list(a.shape)}, dtype={str(a.dtype).removeprefix('torch.')})"
        if kind is torch.device:
            return f"device(type={a.type!r}" + (f", index={a.index})" if a.index is not None else ")")
        if isinstance(a, Node):
            return repr(a)
        if hasattr(kind, "__dataclass_fields__") and self._has_nodes(a):
            head = self.add_global(_get_qualified_name(kind), kind)
            return f"{head}({', '.join(f'{f} = {self.arg(getattr(a, f))}' for f in kind.__dataclass_fields__)})"
        return repr(a)

    def key(self, k):
        return repr(k) if isinstance(k, str | int | type(None)) else self.arg(k)

    def _has_nodes(self, a):
        return any(isinstance(getattr(a, f, None), Node) for f in type(a).__dataclass_fields__)

    def call_args(self, args, kwargs):
        parts = [self.arg(a) for a in args]
        if kwargs:
            parts += [f"{k} = {self.arg(v)}" for k, v in kwargs.items()]
        return ", ".join(parts)


import builtins as _builtins  # noqa: E402


def _format_target(base, target):
    """The text of an attribute path: names that are no identifiers go through getattr."""
    text = base
    for atom in target.split("."):
        if atom.isidentifier():
            text = f"{text}.{atom}"
        else:
            text = f'getattr({text}, "{atom}")'
    return text


class CodeGen:
    """Makes the Python text of a graph; subclasses change how inputs and results are passed."""

    _body_transformer = None
    _func_name = "forward"

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def _format_multiline_args(self, args):
        return "".join(f"        {a},\n" for a in args)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        """The line that begins the function; `free_vars` are the inputs as they are written in its head."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if expanded_def:
            inside = "".join(f"    {v},\n" for v in free_vars)
            return f"def {self._func_name}(\n{inside}){maybe_return_annotation}:"
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args, *, descs=None, repr_fn=None):
        """The line that gives the results."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args):
        """The values of the placeholders, from what the function is called with."""
        return args

    def process_outputs(self, outputs):
        """What the function gives, from the values of the output node."""
        return outputs

    def additional_globals(self):
        """[(name, object)] that the text needs besides."""
        return []

    def _gen_python_code(self, nodes, root_module, namespace, *, verbose=False, include_stride=False,
                         include_device=False, colored=False, expanded_def=False, record_func=False,
                         additional_meta=None):
        if "pytree" not in _custom_builtins:
            _add_pytree_builtins()
        writer = _Writer(namespace)
        arg, globals_ = writer.arg, writer.globals
        for name, builtin in _custom_builtins.items():
            globals_[name] = builtin.obj
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        free_vars, body, annotation = [], [], ""
        dim = (lambda s: f"{_COLORS['dim']}{s}{_COLORS['reset']}") if colored else (lambda s: s)

        # A value is let go after its last use: going backwards, the first user met is the last.
        last_uses, seen = {}, set()
        node_list = list(nodes)
        for node in reversed(node_list):
            for used in node._input_nodes:
                if used not in seen:
                    seen.add(used)
                    last_uses.setdefault(node, []).append(used)

        def let_go(node):
            if node.op == "placeholder" and not verbose:
                return ""
            if node.op == "output":
                return ""
            dead = list(last_uses.get(node, ()))
            if not node.users and node.op != "placeholder":
                dead.append(node)
            if not dead:
                return ""
            return ";  " + dim(f"{' = '.join([n.name for n in dead])} = None")

        comments = _Comments(body, dim) if verbose else None
        annotate = verbose or include_stride or include_device
        for position, node in enumerate(node_list):
            if comments:
                comments.before(node, additional_meta)
            body.append(f"{_COUNTER}{position}\n")
            op = node.op
            note = f" : {writer.type_name(node.type)}" if node.type is not None else ""
            if annotate and op != "output":
                shown = self._annotation(node, include_stride, include_device, colored)
                if shown is not None:
                    note = f': "{shown}"'
            name = node.name
            if op == "call_function":
                target, args, kwargs = node.target, node._args, node._kwargs
                form = _infix.get(target) if not kwargs else None
                if form is not None and (len(args) >= form.count("{}")):
                    text = form.format(*[arg(a) for a in args])
                    body.append(f"{name}{note} = {text}")
                elif not kwargs and target in _assigning and len(args) >= _assigning[target].count("{}"):
                    text = _assigning[target].format(*[arg(a) for a in args])
                    body.append(f"{text};  {name}{note} = {arg(args[0])}")
                else:
                    text = writer.function(target, node)
                    if target is getattr and len(args) == 2 and not kwargs and isinstance(args[1], str) and (
                            args[1].isidentifier()):
                        body.append(f"{name}{note} = {_attribute(arg(args[0]), args[1])}")
                    else:
                        body.append(f"{name}{note} = {text}({writer.call_args(args, kwargs)})")
                    if node.meta.get("is_wrapped", False):
                        writer.wrapped.setdefault(text)
            elif op == "call_method":
                body.append(f"{name}{note} = {_format_target(arg(node._args[0]), node.target)}"
                            f"({writer.call_args(node._args[1:], node._kwargs)})")
            elif op == "call_module":
                body.append(f"{name}{note} = {_format_target(root_module, node.target)}"
                            f"({writer.call_args(node._args, node._kwargs)})")
            elif op == "get_attr":
                body.append(f"{name}{note} = {_format_target(root_module, node.target)}")
            elif op == "placeholder":
                default = f" = {arg(node._args[0])}" if node._args else ""
                free_vars.append(f"{node.target}{note}{default}")
                raw = node.target.replace("*", "")
                if raw != name:
                    body.append(f"{name} = {raw}\n")
                continue
            elif op == "output":
                if node.type is not None:
                    annotation = f" -> {writer.type_name(node.type)}"
                body.append(self.generate_output(node._args[0], **self._output_options(arg)))
                body.append("\n")
                continue
            else:
                raise NotImplementedError(f"a node of the kind {op!r} has no text")
            body.append(let_go(node) + "\n")
        if not body:
            body.append("pass\n")

        wraps = ""
        if writer.wrapped:
            wrap = writer.add_global("wrap", torch.fx.wrap)
            wraps = "\n".join(f'{wrap}("{n}")' for n in writer.wrapped)
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        head = self._definition(free_vars, annotation, expanded_def)
        return self._assemble(head, body, wraps, globals_)

    def _definition(self, free_vars, annotation, expanded_def):
        if expanded_def:
            return self.gen_fn_def(free_vars, annotation, expanded_def=True)
        return self.gen_fn_def(free_vars, annotation)

    def _output_options(self, arg):
        # Overrides written for the one-argument form keep working.
        import inspect
        cls = type(self)
        if cls.generate_output is CodeGen.generate_output or cls.generate_output is _PyTreeCodeGen.generate_output:
            return {"repr_fn": arg}
        takes = inspect.signature(cls.generate_output).parameters
        return {"repr_fn": arg} if "repr_fn" in takes else {}

    def _annotation(self, node, include_stride, include_device, colored):
        val = node.meta.get("val", node.meta.get("tensor_meta"))
        if isinstance(val, torch.Tensor):
            return _tensor_annotation(val, include_stride, include_device, colored)
        if isinstance(val, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return f"Sym({val})"
        if _is_tensor_meta(val):
            stride = _shape_text(val.stride) if include_stride else ""
            return f"{dtype_abbrs[val.dtype]}{_shape_text(val.shape)}{stride}"
        return None

    def _assemble(self, head, body, wraps, globals_):
        lines, lineno_map, current = [], {}, None
        for line in "".join(body).lstrip("\n").split("\n"):
            if line.startswith(_COUNTER):
                current = int(line[len(_COUNTER):])
                continue
            lines.append("    " + line)
            lineno_map[len(lines)] = current
        code = "\n".join(lines)
        return PythonCode(f"\n{wraps}\n\n{head}\n{code}", globals_, lineno_map,
                          wraps.count("\n") + 4 + head.count("\n"))


# Marks the node that the lines after it belong to; it does not reach the text.
_COUNTER = "# COUNTER: "


def _attribute(text, name):
    """text.name, with parentheses where the text is no single name."""
    return f"{text}.{name}" if text.isidentifier() or text.endswith(")") else f"({text}).{name}"


class _Comments:
    """Lines above nodes that say where they come from."""

    def __init__(self, body, dim):
        self.body, self.dim, self.previous = body, dim, None

    def before(self, node, additional_meta):
        if node.op in ("placeholder", "output"):
            return
        told = "".join(f"# {key}: {node.meta[key]} " for key in additional_meta or () if key in node.meta)
        trace = node.stack_trace
        if trace:
            if trace == self.previous and not told:
                return
            self.previous = trace
            where = _parse_stack_trace(trace)
            if where is None:
                return
            text = f"# {where.get_summary_str()}"
        elif self.previous != "" or told:
            self.previous = ""
            text = "# No stacktrace found for following nodes"
        else:
            return
        blank = "\n" if any(not line.startswith(_COUNTER) for line in self.body) else ""
        self.body.append(f"{blank}{self.dim(told + text)}\n")


class _ParsedStackTrace(NamedTuple):
    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self):
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


_FRAME = re.compile(r'^File "(.+)", line (\d+), in (.+)$')


def _parse_stack_trace(stack_trace, filter_fn=None):
    """The innermost frame of a recorded stack."""
    lines = stack_trace.strip().split("\n")
    for i in range(len(lines) - 2, -1, -1):
        m = _FRAME.match(lines[i].strip())
        if m:
            found = _ParsedStackTrace(m.group(1), m.group(2), m.group(3), lines[i + 1].strip())
            if filter_fn is None or filter_fn(found.name, found.file, found.code):
                return found
    return None


class _PyTreeInfo(NamedTuple):
    """How the arguments and results of a traced function nest."""

    orig_args: list
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Code of a function whose arguments and results are nested containers: they are taken apart first."""

    def __init__(self, pytree_info):
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs):
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out):
        if self.pytree_info is None or self.pytree_info.out_spec is None:
            return out
        if not isinstance(out, (list, tuple)):
            out = [out]
        return pytree.tree_unflatten(out, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        names = self.pytree_info.orig_args
        own = names[0] == "self" if names else False
        head = super().gen_fn_def(list(names), maybe_return_annotation, expanded_def=expanded_def)
        if free_vars:
            without_default = [v.split("=")[0].split(":")[0].strip() for v in free_vars]
            shown = names[1:] if own else names
            spec = self.pytree_info.in_spec
            # Positional arguments, or (args, kwargs).
            children = spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs
            if spec.type is tuple and len(children) == 2 and children[0].type is tuple and children[1].type is dict:
                count = len(_children(children[0]))
                keywords = children[1].context
                text = f"([{', '.join(shown[:count])}], {{{', '.join(f'{k!r}:{n}' for k, n in zip(keywords, shown[count:]))}}})"
            else:
                text = f"[{', '.join(shown)}]"
            head += f"\n    {', '.join(without_default)}, = fx_pytree.tree_flatten_spec({text}, self._in_spec)"
            notes = [v for v in free_vars if ":" in v.split("=")[0]]
            if notes:
                head += "\n    " + "; ".join(v.split("=")[0].strip() for v in notes)
        return head

    def generate_output(self, output_args, *, descs=None, repr_fn=None):
        shown = (repr_fn or repr)(output_args)
        if self.pytree_info is not None and self.pytree_info.out_spec is not None:
            if isinstance(output_args, (list, tuple)):
                shown = "[" + ", ".join((repr_fn or repr)(a) for a in output_args) + "]"
            else:
                shown = f"[{shown}]"
            return f"return pytree.tree_unflatten({shown}, self._out_spec)"
        return f"return {shown}"


def _children(spec):
    return spec.children() if callable(getattr(spec, "children", None)) else spec.children_specs


class _BoxedCodeGen(CodeGen):
    """Code of a function that takes one list of its inputs and empties it, so that they can be freed early."""

    def gen_fn_def(self, free_vars, maybe_return_annotation, *, expanded_def=False):
        names = [v.split("=")[0].split(":")[0].strip() for v in free_vars if v != "self"]
        text = f"def {self._func_name}(self, args_list){maybe_return_annotation}:"
        if names:
            text += f"\n    {', '.join(names)}, = args_list\n    args_list.clear()"
        else:
            text += "\n    args_list.clear()"
        return text
