"""Modules whose forward is the code of a graph."""
import contextlib
import copy
import itertools
import linecache
import sys
import traceback
import warnings
import weakref
from pathlib import Path

import torch
from torch.fx.codegen import _BoxedCodeGen, _custom_builtins, _is_from_torch, _PyTreeCodeGen
from torch.fx.graph import Graph
from torch.fx.node import Node  # noqa: F401

__all__ = ["reduce_graph_module", "reduce_package_graph_module", "reduce_deploy_graph_module", "GraphModule"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
_numbers = itertools.count()


def _exec_with_source(src, globals_, co_fields=None):
    name = f"<eval_with_key>.{next(_numbers)}"
    if co_fields:
        name += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    # So that tracebacks show the lines of generated code; without a time, linecache takes them as they are.
    linecache.cache[name] = (len(src), None, src.splitlines(True), name)
    exec(compile(src, name, "exec"), globals_)


def _forward_from_src(src, globals_, co_fields=None):
    space = globals_.copy()
    _exec_with_source(src, space, co_fields)
    forward = space["forward"]
    del space["forward"]
    # The lines are kept as long as the code.
    weakref.finalize(forward.__code__, linecache.cache.pop, forward.__code__.co_filename, None).atexit = False
    return forward


def _format_import_statement(name, obj):
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if _is_from_torch(name):
        return "import torch"
    attribute = getattr(obj, "__qualname__", None) or obj.__name__
    module = obj.__module__
    if module is None or "." in attribute:
        raise RuntimeError(f"generated code uses {obj!r}, which no import statement reaches")
    return f"from {module} import {attribute} as {name}"


def _format_import_block(globals_):
    return "\n".join(sorted({_format_import_statement(n, o) for n, o in globals_.items()}))


def _forward_from_import(import_block, src, globals_=None):
    space = dict(globals_ or {})
    exec(compile(import_block, "<imports of generated code>", "exec"), space)
    return _forward_from_src(src, space)


def reduce_graph_module(body, import_block):
    """The GraphModule that was pickled: its code is run, and traced back into a graph."""
    fn_src = body.get("_code") or body["code"]
    forward = _forward_from_import(import_block, fn_src)
    return _deserialize_graph_module(forward, body)


def reduce_package_graph_module(importer, body, generated_module_name):
    """The GraphModule within a package; packages are not there yet."""
    raise NotImplementedError("torch.package is not there yet, so no GraphModule is loaded from one")


def reduce_deploy_graph_module(importer, body, import_block):
    """The GraphModule within a deployed package; packages are not there yet."""
    raise NotImplementedError("torch.package is not there yet, so no GraphModule is loaded from one")


class _CodeOnlyModule(torch.nn.Module):
    """The state of a GraphModule with the code's forward, for tracing it back."""

    def __init__(self, body):
        super().__init__()
        self.__dict__.update(body)


def _deserialize_graph_module(forward, body, graph_module_cls=None):
    from torch.fx._symbolic_trace import Tracer
    _CodeOnlyModule.forward = forward
    com = _CodeOnlyModule(body)
    tracer_cls = body.get("_tracer_cls") or Tracer
    name = body.get("_graphmodule_cls_name", "GraphModule")

    class KeepModules(tracer_cls):
        # Modules that the code calls were leaves, whatever their type.
        def is_leaf_module(self, m, module_qualified_name):
            return True
    extras = body.get("_tracer_extras") or {}
    kept = body.get("_saved_graph")
    graph = kept if kept is not None else KeepModules().trace(com, **extras)
    graph._tracer_cls = tracer_cls
    gm = GraphModule(com, graph, class_name=name)
    # What the graph does not mention was there all the same.
    for k, v in body.items():
        if k not in ("_code", "_saved_graph", "_graphmodule_cls_name") and not hasattr(gm, k):
            setattr(gm, k, v)
    for k in ("meta", "training"):
        if k in body:
            gm.__dict__[k] = body[k]
    return gm


def _get_attr(model, attr_name):
    *prefix, field = attr_name.split(".")
    return getattr(_get_attr_via_attr_list(model, prefix), field)


def _get_attr_via_attr_list(model, attr_list):
    for name in attr_list:
        model = getattr(model, name)
    return model


def _del_attr(model, attr_name):
    *prefix, field = attr_name.split(".")
    delattr(_get_attr_via_attr_list(model, prefix), field)


def _has_attr(model, attr_name):
    *prefix, field = attr_name.split(".")
    t = model
    for name in prefix:
        t = getattr(t, name, None)
        if t is None:
            return False
    return hasattr(t, field)


def _copy_attr(from_module, to_module, target):
    """Copies the attribute at a dotted path, with empty modules on the way."""
    *prefix, field = target.split(".")
    for item in prefix:
        f, t = getattr(from_module, item), getattr(to_module, item, None)
        if f is t:
            # The whole branch was copied already.
            return
        if t is None:
            t = torch.nn.Module()
            setattr(to_module, item, t)
        from_module, to_module = f, t
    orig = getattr(from_module, field)
    if isinstance(orig, torch.Tensor) and not isinstance(orig, torch.nn.Parameter):
        to_module.register_buffer(field, orig) if not hasattr(to_module, field) else setattr(to_module, field, orig)
    else:
        setattr(to_module, field, orig)


def _assign_attr(from_obj, to_module, target):
    """Puts a value at a dotted path, with empty modules on the way."""
    *prefix, field = target.split(".")
    for item in prefix:
        t = getattr(to_module, item, None)
        if t is None:
            t = torch.nn.Module()
            setattr(to_module, item, t)
        to_module = t
    if isinstance(from_obj, torch.Tensor) and not isinstance(from_obj, torch.nn.Parameter):
        to_module.register_buffer(field, from_obj)
    else:
        setattr(to_module, field, from_obj)


def _call_text(error, gm):
    """Where in generated code an error came from, with the lines around it; None elsewhere."""
    last = error.__traceback__
    found = None
    while last is not None:
        if last.tb_frame.f_code.co_filename.startswith("<eval_with_key>"):
            found = last
        last = last.tb_next
    if found is None:
        return None
    lines = "".join(linecache.getlines(found.tb_frame.f_code.co_filename)).splitlines()
    at = found.tb_lineno
    before = "\n".join(lines[max(0, at - 3):at])
    after = "\n".join(lines[at:at + 2])
    return (f"This is line {at} of the generated forward of an FX-traced module:\n"
            f"{before}\n{'~' * len(lines[at - 1]) if at <= len(lines) else ''} <--- here\n{after}\n")


class GraphModule(torch.nn.Module):
    """A module whose `forward` is generated from its `graph`.

    Each instance has a class of its own. After the graph was changed, `recompile()` makes the code anew; assigning
    `graph` does so too. `code` is the text.
    """

    def __new__(cls, *args, **kwargs):
        # Forward is looked up on the class, so that each instance needs its own.
        for t in cls.__mro__:
            if t.__qualname__ == "GraphModule.__new__.<locals>.GraphModuleImpl":
                return super().__new__(cls)

        class GraphModuleImpl(cls):
            pass
        return super().__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        """`root`: the module, or {path: value}, that has what the graph's get_attr and call_module nodes refer to."""
        super().__init__()
        self.__class__.__name__ = class_name
        targets = [n.target for n in graph.nodes if n.op in ("get_attr", "call_module")]
        if isinstance(root, torch.nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in targets:
                _copy_attr(root, self, target)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(f"the node {node} refers to {node.target!r}, which `root` does not have; it has "
                                       f"{list(root)}")
            # Modules before what is inside them.
            for target in sorted(dict.fromkeys(targets), key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"the root of a GraphModule is a Module or a dict, not {root!r}")
        self.graph = graph
        self._tracer_cls = None
        if self.graph._tracer_cls and "<locals>" not in self.graph._tracer_cls.__qualname__:
            self._tracer_cls = self.graph._tracer_cls
        self._tracer_extras = self.graph._tracer_extras or {}
        self.meta = {}
        if isinstance(root, GraphModule):
            self.meta.update({k: v for k, v in root.meta.items() if k == _USER_PRESERVED_ATTRIBUTES_KEY})
        self._replace_hooks, self._create_node_hooks = [], []
        self._erase_node_hooks, self._deepcopy_hooks = [], []
        self.shape_env = None

    # Kept for TorchScript, which cannot take properties.
    __jit_unused_properties__ = ["graph"]

    @property
    def graph(self):
        """The graph that `forward` is the code of."""
        return self._graph

    @graph.setter
    def graph(self, g):
        if not isinstance(g, Graph):
            raise AssertionError(f"the graph of a GraphModule must be a torch.fx.Graph, not a {type(g).__name__}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self):
        """The text of `forward`."""
        if "_code" not in self.__dict__:
            raise RuntimeError("the module has no code yet: recompile() makes it")
        return self._code

    def recompile(self):
        """Makes `forward` anew from the graph; gives the PythonCode."""
        graph = self._graph
        codegen = graph._codegen
        if isinstance(codegen, _PyTreeCodeGen) and codegen.pytree_info is not None:
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        python_code = graph.python_code(root_module="self")
        self._code = python_code.src
        self._lineno_map = python_code._lineno_map
        self._prologue_start = python_code._prologue_start
        cls = type(self)
        cls.forward = _forward_from_src(self._code, python_code.globals, graph._co_fields)
        if "_told" not in cls.__dict__:
            cls._told = True
            inherited = cls.__call__ if cls.__call__ is not torch.nn.Module.__call__ else None

            def call(self, *args, **kwargs):
                try:
                    return (inherited or torch.nn.Module.__call__)(self, *args, **kwargs)
                except Exception as error:
                    if not getattr(error, "_shown_where", False):
                        where = _call_text(error, self)
                        if where is not None:
                            print("".join(traceback.format_exception(error)) + "\n" + where, file=sys.stderr)
                            with contextlib.suppress(AttributeError):
                                error._shown_where = True
                    raise
            cls.__call__ = call
        return python_code

    def _recompile_submodules(self):
        return [(name, mod.recompile()) for name, mod in self.named_children() if isinstance(mod, GraphModule)]

    @property
    def _boxed_call(self):
        return isinstance(self._graph._codegen, _BoxedCodeGen)

    # ---- submodules -------------------------------------------------------------------------

    def add_submodule(self, target, m):
        """Puts module `m` at a dotted path, with empty modules on the way; False where something is in its way."""
        *prefix, field = target.split(".")
        mod = self
        for item in prefix:
            submod = getattr(mod, item, None)
            if submod is None:
                submod = torch.nn.Module()
                setattr(mod, item, submod)
            if not isinstance(submod, torch.nn.Module):
                return False
            mod = submod
        mod.add_module(field, m)
        return True

    def delete_submodule(self, target):
        """Removes the module at a dotted path; False where there is none."""
        *path, name = target.split(".")
        mod = self
        for item in path:
            if not hasattr(mod, item):
                return False
            mod = getattr(mod, item)
            if not isinstance(mod, torch.nn.Module):
                return False
        if not isinstance(getattr(mod, name, None), torch.nn.Module):
            return False
        delattr(mod, name)
        return True

    def delete_all_unused_submodules(self):
        """Removes the modules that no call_module or get_attr node refers to, itself or something inside it."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                path = node.target.split(".")
                used.update(".".join(path[:i]) for i in range(1, len(path) + 1))
                if node.op == "call_module":
                    try:
                        called = self.get_submodule(node.target)
                    except AttributeError:
                        continue
                    used.update(f"{node.target}.{name}" for name, _ in called.named_modules() if name)
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # ---- copies and files -------------------------------------------------------------------

    def __reduce__(self):
        body = self.__dict__.copy()
        del body["_graph"]
        body["_graphmodule_cls_name"] = type(self).__name__
        for k in ("_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks"):
            body[k] = []
        python_code = self._graph.python_code(root_module="self")
        body["_code"] = python_code.src
        if type(self._graph._codegen) is not torch.fx.CodeGen:
            # Code of another form is not traced back: the graph goes along.
            saved = copy.deepcopy(self._graph)
            saved._owning_module = None
            body["_saved_graph"] = saved
        return reduce_graph_module, (body, _format_import_block(python_code.globals))

    def __reduce_package__(self, exporter):
        raise NotImplementedError("torch.package is not there yet")

    def _deepcopy_init(self):
        return GraphModule.__init__

    def __deepcopy__(self, memo):
        res = type(self).__new__(type(self).__mro__[1] if "GraphModuleImpl" in type(self).__qualname__ else type(self))
        memo[id(self)] = res
        root = _CopiedState(self, memo)
        self._deepcopy_init()(res, root, copy.deepcopy(self._graph, memo), type(self).__name__)
        for k in ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks", "_state_dict_pre_hooks",
                  "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks", "_forward_pre_hooks_with_kwargs"):
            if self.__dict__.get(k):
                res.__dict__[k] = copy.deepcopy(self.__dict__[k], memo)
        res.meta = dict(self.meta)
        if _USER_PRESERVED_ATTRIBUTES_KEY in res.meta:
            for name, value in res.meta[_USER_PRESERVED_ATTRIBUTES_KEY].items():
                setattr(res, name, value)
        for hook in self._deepcopy_hooks:
            hook(res)
        return res

    def __copy__(self):
        res = GraphModule(self, self._graph)
        res.meta = self.meta
        return res

    def to_folder(self, folder, module_name="FxModule"):
        """Writes the module to a folder as a Python package: its code, its parameters and its submodules."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True, parents=True)
        torch.save(self.state_dict(), folder / "state_dict.pt")
        tab = " " * 4
        custom = "\n".join(v.import_str for v in _custom_builtins.values())
        text = (f"\nimport torch\n{custom}\n\nfrom torch.nn import *\nclass {module_name}(torch.nn.Module):\n"
                f"{tab}def __init__(self):\n{tab * 2}super().__init__()\n")
        safe = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.BatchNorm1d,
                torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)
        pickled = []
        for name, module in self.named_children():
            if type(module) in safe:
                made, comment = repr(module), ""
            else:
                pickled.append(name)
                path = folder / f"{name}.pt"
                torch.save(module, path)
                note = repr(module).replace("\r", " ").replace("\n", " ")
                made = f"torch.load(r'{path}', weights_only=False)"
                comment = f" # {note}"
            text += f"{tab * 2}setattr(self, {name!r}, {made}){comment}\n"
        for name, buffer in self._buffers.items():
            if buffer is not None:
                text += f"{tab * 2}self.register_buffer({name!r}, torch.empty({list(buffer.shape)}, dtype={buffer.dtype}))\n"
        for name, param in self._parameters.items():
            if param is not None:
                text += f"{tab * 2}setattr(self, {name!r}, torch.nn.Parameter(torch.empty({list(param.shape)}, dtype={param.dtype})))\n"
        text += f"{tab * 2}self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))\n\n"
        text += _indented(self.code, 4) + "\n"
        (folder / "module.py").write_text(text)
        (folder / "__init__.py").write_text("from .module import *")
        if pickled:
            warnings.warn(f"these submodules are not built from their text but loaded from pickled files: {pickled}",
                          stacklevel=2)

    # ---- text -------------------------------------------------------------------------------

    def __str__(self):
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([super().__str__(), self._code, hint])

    def print_readable(self, print_output=True, include_stride=False, include_device=False, colored=False, *,
                       fast_sympy_print=False, expanded_def=False, additional_meta=None):
        """Prints the code of this module and of the GraphModules in it as classes, with shapes and origins; gives the text.
        """
        text = _print_readable(self, type(self).__name__, include_stride, include_device, colored, expanded_def,
                               additional_meta)
        if print_output:
            print(text)
        return text

    # ---- hooks ------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _set_replace_hook(self, f):
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f):
        _checked(f, "replace")
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f):
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f):
        _checked(f, "create_node")
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f):
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f):
        _checked(f, "erase_node")
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f):
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f):
        _checked(f, "deepcopy")
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f):
        self._deepcopy_hooks.remove(f)


def _checked(f, kind):
    if not callable(f):
        raise AssertionError(f"a {kind} hook must be callable, got {f!r}")


class _CopiedState(torch.nn.Module):
    """The state of a GraphModule, copied."""

    def __init__(self, gm, memo):
        super().__init__()
        own = {"_graph", "_code", "_lineno_map", "_prologue_start", "_replace_hooks", "_create_node_hooks",
               "_erase_node_hooks", "_deepcopy_hooks", "_tracer_cls", "_tracer_extras", "meta", "shape_env"}
        self.__dict__.update({k: copy.deepcopy(v, memo) for k, v in gm.__dict__.items()
                              if k not in own and "hooks" not in k})


def _print_readable(module, name, include_stride, include_device, colored, expanded_def, additional_meta):
    code = module._graph.python_code("self", verbose=True, include_stride=include_stride, include_device=include_device,
                                     colored=colored, expanded_def=expanded_def, additional_meta=additional_meta).src
    code = code.lstrip("\n").rstrip()
    text = f"class {name}(torch.nn.Module):\n" + _indented(code, 4)
    inner = [""]
    for child_name, child in module.named_children():
        if isinstance(child, GraphModule):
            inner.append(_indented(_print_readable(child, child_name, include_stride, include_device, colored, expanded_def,
                                                   additional_meta), 4))
    return text + "\n" + "\n".join(inner) if len(inner) > 1 else text + "\n"


def _indented(text, n):
    pad = " " * n
    return "\n".join(pad + line if line.strip() else "" for line in text.split("\n"))
