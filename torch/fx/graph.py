"""Graphs: doubly linked lists of nodes that stand for a function."""
import contextlib
import copy
import inspect

import torch
from torch.fx._naming import _candidate, _Namespace, _snake_case  # noqa: F401
from torch.fx.codegen import (  # noqa: F401
    CodeGen, PythonCode, _BoxedCodeGen, _custom_builtins, _CustomBuiltin, _format_target, _is_from_torch, _parse_stack_trace,
    _ParsedStackTrace, _PyTreeCodeGen, _PyTreeInfo, _register_custom_builtin, dtype_abbrs, inplace_methods, magic_methods,
    reflectable_magic_methods)
from torch.fx.immutable_collections import immutable_dict
from torch.fx.node import (  # noqa: F401
    _GAP, Argument, Node, Target, _get_qualified_name, _type_repr, map_aggregate, map_arg)

__all__ = ["PythonCode", "CodeGen", "Graph"]

_empty_kwargs = immutable_dict()
_MISSING = inspect.Signature.empty


class _node_list:
    """The nodes of a graph in order; they may be erased and added while it is walked."""

    __slots__ = ("graph", "direction")

    def __init__(self, graph, direction="_next"):
        if direction not in ("_next", "_prev"):
            raise AssertionError(f"a list of nodes goes along '_next' or '_prev', not {direction!r}")
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root, node = self.graph._root, self.graph._root
        if self.direction == "_next":
            node = root._next
            while node is not root:
                if not node._erased:
                    yield node
                node = node._next
        else:
            node = root._prev
            while node is not root:
                if not node._erased:
                    yield node
                node = node._prev

    def __reversed__(self):
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class _InsertPoint:
    """Where new nodes go, until the with block that it guards ends."""

    def __init__(self, graph, new_insert):
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        self.graph._insert = self.orig_insert


class Graph:
    """A function as a list of nodes.

    Nodes are made by `create_node` and the methods named after their kinds, at the insertion point (the end, or where
    `inserting_before` and `inserting_after` say). `python_code` gives the function's text.
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._used_names = {}
        self._insert = self._root._prepend
        self._len = 0
        self._graph_namespace = _Namespace()
        self._owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields = {}

    @property
    def owning_module(self):
        """The GraphModule that the graph is the code of; None where there is none."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod):
        self._owning_module = mod

    @property
    def nodes(self):
        """The nodes in order."""
        return _node_list(self)

    def output_node(self):
        """The node of the results."""
        node = self._root._prev
        if node.op != "output":
            node = next((n for n in reversed(self.nodes) if n.op == "output"), None)
            if node is None:
                raise AssertionError("the graph has no output node")
        return node

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and for calls of a target; in order."""
        if op == "call_function" and target is None:
            raise AssertionError("find_nodes: nodes of the kind call_function are found by their target; give one")
        if target is None or op in ("placeholder", "output"):
            return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]
        return [n for n in self.nodes if n.op == op and n.target == target]

    def _number_nodes(self):
        key = 0
        for node in self.nodes:
            key += _GAP
            node._sort_key = key

    def _position(self, node):
        for i, n in enumerate(self.nodes):
            if n is node:
                return i
        return -1

    # ---- making and removing nodes ----------------------------------------------------------

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A new node at the insertion point; `name` is a wish."""
        if args is None:
            args = ()
        elif not isinstance(args, tuple):
            raise AssertionError(f"the arguments of a node must be a tuple, got {type(args).__name__}")
        if kwargs is None:
            kwargs = _empty_kwargs
        elif not isinstance(kwargs, dict):
            raise AssertionError(f"the keyword arguments of a node must be a dict, got {type(kwargs).__name__}")
        candidate = name if name is not None else self._target_to_str(target)
        names = self._graph_namespace
        name = names.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        names._obj_to_name[node] = name
        self._insert(node)
        self._len += 1
        owner = self._owning_module
        if owner is not None:
            for hook in getattr(owner, "_create_node_hooks", ()):
                hook(node)
        return node

    def _target_to_str(self, target):
        if type(target) is not str:
            target = target.__name__ if not isinstance(target, str) else str(target)
            if target.startswith("__"):
                # Only names of methods lose their underscores.
                return _plain(target)
        return _candidate(target)

    def placeholder(self, name, type_expr=None, default_value=_MISSING):
        """An input."""
        args = () if default_value is _MISSING else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """An attribute of the owning module, by its dotted path; warns where the module does not have it."""
        owner = self._owning_module
        if owner is not None:
            value = owner
            for atom in qualified_name.split("."):
                if not hasattr(value, atom):
                    import warnings
                    warnings.warn(f"get_attr of {qualified_name!r}: the owning module has nothing at this path, so the "
                                  "node cannot run until it is added", stacklevel=2)
                    break
                value = getattr(value, atom)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule, by its dotted path; warns where the owning module does not have it."""
        owner = self._owning_module
        if owner is not None:
            try:
                owner.get_submodule(module_name)
            except AttributeError:
                import warnings
                warnings.warn(f"call_module of {module_name!r}: the owning module has no such submodule, so the node "
                              "cannot run until it is added", stacklevel=2)
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of the method `method_name` of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """The results: nodes in any nesting of tuples, lists and dicts."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def erase_node(self, to_erase):
        """Removes a node that nobody uses; RuntimeError otherwise."""
        if to_erase.users:
            raise RuntimeError(f"the node {to_erase} cannot be erased: {len(to_erase.users)} nodes use it: "
                               f"{list(to_erase.users)}")
        if to_erase.graph is not self:
            raise RuntimeError(f"the node {to_erase} belongs to another graph and cannot be erased from this one")
        if to_erase._erased:
            import warnings
            warnings.warn(f"the node {to_erase} was erased already", stacklevel=2)
            return
        owner = self._owning_module
        if owner is not None:
            for hook in getattr(owner, "_erase_node_hooks", ()):
                hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        # Nobody counts it as a user any more.
        to_erase._update_args_kwargs((), {})

    def _clear_nodes(self):
        for node in reversed(self.nodes):
            node.users = {}
            self.erase_node(node)

    def inserting_before(self, n=None):
        """Until the with block ends, new nodes go before node `n` (the start of the graph without one)."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError(f"the node {n} to insert before is not in this graph")
        return _InsertPoint(self, n._prepend)

    def inserting_after(self, n=None):
        """Until the with block ends, new nodes go right after node `n` (the end of the graph without one)."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError(f"the node {n} to insert after is not in this graph")
        return _InsertPoint(self, n.append)

    def node_copy(self, node, arg_transform=lambda x: x):
        """A copy of a node of another graph; `arg_transform` maps the nodes among its arguments to this graph's."""
        args = map_arg(node._args, arg_transform)
        kwargs = map_arg(node._kwargs, arg_transform)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError("node_copy: arg_transform must keep tuples and dicts")
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies the nodes of `g` to the insertion point and gives its results; `val_map` is filled with old -> new.

        Nodes in `val_map` already are not copied. Gives None where `g` has no output; with `return_output_node` the
        results and the output node of `g`.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node._args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        g = Graph(tracer_cls=self._tracer_cls)
        memo[id(self)] = g
        val_map = {}
        output = g.graph_copy(self, val_map, return_output_node=True)
        g._codegen = copy.deepcopy(self._codegen)
        if output is not None:
            result, old = output
            new = g.output(result, type_expr=getattr(old, "type", None))
            new.meta = copy.copy(old.meta)
        return g

    # ---- passes -----------------------------------------------------------------------------

    def eliminate_dead_code(self, is_impure_node=None):
        """Removes the nodes whose results nobody uses and that do nothing else; whether any was removed.

        `is_impure_node(node)` says what stays, inputs and results included; `Node.is_impure` does without it.
        """
        self.lint()

        def impure(node):
            if is_impure_node is not None:
                return is_impure_node(node)
            return node.is_impure()
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
                changed = True
        return changed

    def lint(self):
        """Raises RuntimeError where the graph is not sound.

        Arguments must be nodes of this graph that come earlier, names unique, kinds and targets known, and the paths
        of modules and attributes must exist in the owning module.
        """
        seen_names, seen = set(), set()

        def check(arg, node):
            if arg.graph is not self:
                raise RuntimeError(f"the argument {arg.name!r} of node {node.name!r} belongs to another graph; give "
                                   "node_copy() an arg_transform that maps nodes to this one")
            if arg not in seen:
                raise RuntimeError(f"the argument {arg.name!r} of node {node.name!r} comes after it or is erased, but "
                                   f"nodes must come after what they use\n{self}")
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"the node {node.name!r} belongs to another graph")
            for used in node._input_nodes:
                check(used, node)
            seen.add(node)
            if node.name in seen_names:
                raise RuntimeError(f"two nodes are named {node.name!r}")
            seen_names.add(node.name)
        owner = self._owning_module
        for node in self.nodes:
            if node.op == "call_function":
                if not callable(node.target):
                    raise ValueError(f"the target {node.target!r} of node {node.name!r} is not callable")
            elif not isinstance(node.target, str):
                raise ValueError(f"the target of node {node.name!r}, a {node.op}, must be a str, got "
                                 f"{_type_repr(type(node.target))}")
            if owner is not None and node.op in ("get_attr", "call_module"):
                self._check_path(owner, node)

    def _check_path(self, owner, node):
        value = owner
        for atom in node.target.split("."):
            if not hasattr(value, atom):
                raise RuntimeError(f"the node {node.name!r} refers to {node.target!r}, but "
                                   f"{torch.typename(value)} has no attribute {atom!r}")
            value = getattr(value, atom)
        if node.op == "call_module" and not isinstance(value, torch.nn.Module):
            raise RuntimeError(f"the node {node.name!r} calls {node.target!r}, which is no module but a "
                               f"{torch.typename(value)}")

    # ---- text -------------------------------------------------------------------------------

    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False,
                    expanded_def=False, record_func=False, additional_meta=None):
        """The graph as the text of a function `forward`, and the globals that it needs.

        `root_module` is the name under which the text reaches attributes of the module. `verbose`: with comments that
        say where nodes come from, and types of the values in `meta['val']`.
        """
        namespace = _Namespace()

        # Names of nodes may have been changed by hand: the text uses names that are free and valid again.
        taken, renamed = set(), []
        for node in self.nodes:
            name = node.name
            if name in taken:
                renamed.append((node, name))
            taken.add(name)
        if renamed:
            for node, name in renamed:
                n = 1
                while f"{name}_{n}" in taken:
                    n += 1
                node.name = f"{name}_{n}"
                taken.add(node.name)
        namespace._used_names.update(taken)
        for name in (root_module, *_custom_builtins):
            namespace._used_names.add(name)
        try:
            return self._python_code(root_module, namespace, verbose=verbose, include_stride=include_stride,
                                     include_device=include_device, colored=colored, expanded_def=expanded_def,
                                     record_func=record_func, additional_meta=additional_meta)
        finally:
            for node, name in renamed:
                node.name = name

    def _python_code(self, root_module, namespace, **options):
        return self._codegen._gen_python_code(self.nodes, root_module, namespace, **options)

    def __str__(self):
        inputs, returned, lines = [], [""], []
        for node in self.nodes:
            text = node.format_node()
            if text:
                lines.append("\n    " + text)
        return f"graph({', '.join(inputs)}){returned[0]}:" + "".join(lines)

    def print_tabular(self):
        """Prints the nodes as a table; needs the package `tabulate`."""
        try:
            from tabulate import tabulate
        except ImportError:
            print("Graph.print_tabular() needs the package tabulate: `pip install tabulate`")
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def process_inputs(self, *args):
        """The values of the placeholders, from what the traced function is called with."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """What the traced function gives, from the values of the output node."""
        return self._codegen.process_outputs(out)

    def set_codegen(self, codegen):
        """Text is made by `codegen` from now on."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer):
        """`make_transformer(current)` gives a function from lines of the body to lines, which every text goes through.

        `current` is the one so far, or None. As a context manager, the old one is back at the end of the with block.
        """
        previous = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(previous)

        @contextlib.contextmanager
        def restore():
            try:
                yield
            finally:
                self._codegen._body_transformer = previous
        return restore()

    # ---- pickling ---------------------------------------------------------------------------

    def __getstate__(self):
        # Nodes are written as a flat list with places in it for references: chains are deeper than pickle recurses.
        places = {n: i for i, n in enumerate(self.nodes)}

        def refer(n):
            return _Reference(places[n])
        nodes = [(n.op, n.target, map_arg(n._args, refer), map_arg(n._kwargs, refer), n.name, n.type,
                  {k: map_arg(v, refer) if isinstance(v, Node) else v for k, v in n.meta.items()}) for n in self.nodes]
        rest = {k: v for k, v in self.__dict__.items() if k not in ("_root", "_insert", "_len", "_graph_namespace")}
        return {"nodes": nodes, "rest": rest}

    def __setstate__(self, state):
        Graph.__init__(self)
        owner = state["rest"].pop("_owning_module", None)
        made = []

        def resolve(x):
            return made[x.place] if type(x) is _Reference else x
        for op, target, args, kwargs, name, kind, meta in state["nodes"]:
            node = self.create_node(op, target, map_aggregate(args, resolve), map_aggregate(kwargs, resolve), name, kind)
            node.meta = {k: resolve(v) for k, v in meta.items()}
            made.append(node)
        self.__dict__.update(state["rest"])
        self._owning_module = owner


class _Reference:
    """A node within a pickled graph: its place."""

    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return _Reference, (self.place,)


def _plain(name):
    return _snake_case("".join(c if c.isalnum() and c.isascii() or c == "_" else "_" for c in name))
