"""Running a graph node by node."""
import contextlib
import inspect

from torch.fx import traceback as fx_traceback
from torch.fx._symbolic_trace import Tracer
from torch.fx.graph import Graph
from torch.fx.graph_module import GraphModule
from torch.fx.node import Node, map_aggregate
from torch.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the graph of a module one node at a time; subclasses change what a kind of node does.

    `run_node` is called for every node and calls the method named after its kind. `env` has the values so far; with
    `garbage_collect_values` they go after their last use.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = graph if graph is not None else module.graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        if garbage_collect_values:
            seen, self.user_to_last_uses = set(), {}
            for node in reversed(self.graph.nodes):
                for used in node._input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The results of the graph for `args`.

        `initial_env`: {node: value} of nodes that are not to be run. Without `enable_io_processing`, the arguments are the
        values of the placeholders, and the results those of the output node, whatever containers were traced.
        """
        self.env = dict(initial_env) if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    message = f"While executing {node.format_node()}"
                    if node.stack_trace:
                        message += f"\nIt was traced from:\n{node.stack_trace}"
                    first = str(error.args[0]) if error.args else ""
                    error.args = (f"{first}\n\n{message}" if first else message, *error.args[1:])
                    if isinstance(error, KeyError):
                        raise RuntimeError(*error.args) from error
                raise
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, ()):
                    del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """The results for a list of arguments, which is emptied, so that they can go after their last use."""
        args_iter = iter(args_list)
        env = {}
        for node in self.graph.nodes:
            if node.op == "placeholder":
                env[node] = next(args_iter)
        args_list.clear()
        return self.run(initial_env=env)

    @contextlib.contextmanager
    def _set_current_node(self, node):
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"), (
                fx_traceback.set_current_replay_node(node)):
            yield

    def run_node(self, n):
        """The value of node `n`; the values of its arguments are in `env`."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """The next argument, else the default; RuntimeError where neither is given."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(f"the graph takes a positional argument {target}, which was not given") from None

    def get_attr(self, target, args, kwargs):
        """The attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """The result of a method of the first argument."""
        self_obj, *rest = args
        return getattr(self_obj, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The results."""
        return args[0]

    def fetch_attr(self, target):
        """The attribute of the module at a dotted path; RuntimeError where there is none."""
        value = self.module
        atoms = target.split(".")
        for i, atom in enumerate(atoms):
            if not hasattr(value, atom):
                raise RuntimeError(f"the node refers to {target!r}, but {'.'.join(atoms[:i]) or 'the module'} has no "
                                   f"attribute {atom!r}")
            value = getattr(value, atom)
        return value

    def fetch_args_kwargs_from_env(self, n):
        """The arguments of node `n` with values in place of nodes."""
        args = self.map_nodes_to_values(n._args, n)
        kwargs = self.map_nodes_to_values(n._kwargs, n)
        return args, kwargs

    def map_nodes_to_values(self, args, n):
        """`args` with values in place of nodes."""
        env = self.env

        def load(x):
            if isinstance(x, Node):
                try:
                    return env[x]
                except KeyError:
                    raise RuntimeError(f"the node {n} takes the value of {x}, which was not run") from None
            return x
        return map_aggregate(args, load)


class Transformer(Interpreter):
    """An interpreter that makes a new graph: its methods give proxies, and `transform` the module."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, _, __):
                return True
        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        default = next(iter(args)) if args else inspect.Signature.empty
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target, args, kwargs):
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        return self.tracer.call_module(self.fetch_attr(target), self.fetch_attr(target).forward, args, kwargs)

    def call_function(self, target, args, kwargs):
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The module of the new graph."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:
            def strip(a):
                return a.node if isinstance(a, Proxy) else a
            output = self.new_graph.output(map_aggregate(result, strip))
            old = next((n for n in self.graph.nodes if n.op == "output"), None)
            if old is not None:
                output.meta.update(old.meta)
        return GraphModule(self.module, self.new_graph)
