"""What new nodes are told of the node or the annotation that they come from."""
import contextlib
import copy
import enum
import functools
import traceback


__all__ = ["annotate", "annotate_fn", "preserve_node_meta", "has_preserved_node_meta", "set_stack_trace",
           "set_grad_fn_seq_nr", "reset_grad_fn_seq_nr", "format_stack", "set_current_meta", "get_current_meta", "NodeSource",
           "NodeSourceAction", "get_graph_provenance_json", "set_current_replay_node", "get_current_replay_node"]

current_meta = {}
current_replay_node = None
should_preserve_node_meta = False


def _preserving():
    return should_preserve_node_meta


class NodeSourceAction(enum.Enum):
    """How a node came from another."""

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """The node that another was made from, in which pass, and how."""

    class NodeInfo:
        """Name, target and graph of a node."""

        def __init__(self, name, target, graph_id):
            self.name, self.target, self.graph_id = name, target, graph_id

    def __init__(self, node, pass_name="", action=None):
        self.pass_name = pass_name
        self.action = [] if action is None else action if isinstance(action, list) else [action]
        if node is not None:
            self.node_info = self.NodeInfo(node.name, str(node.target), id(node.graph))
            self.from_node = list(node.meta.get("from_node", ()))
        else:
            self.node_info, self.from_node = None, []

    @property
    def name(self):
        return self.node_info.name if self.node_info else ""

    @property
    def target(self):
        return self.node_info.target if self.node_info else ""

    @property
    def graph_id(self):
        return self.node_info.graph_id if self.node_info else -1

    def __repr__(self):
        return self.print_readable()

    def print_readable(self, indent=0):
        """The chain of sources as text."""
        actions = "+".join(a.name.lower() for a in self.action)
        text = f"{'  ' * indent}(name={self.name}, pass_name={self.pass_name}, action={actions}, graph_id={self.graph_id})\n"
        return text + "".join(n.print_readable(indent + 1) for n in self.from_node)

    def to_dict(self):
        """The chain of sources as nested dictionaries."""
        return {"name": self.name, "target": self.target, "graph_id": self.graph_id, "pass_name": self.pass_name,
                "action": "+".join(a.name.lower() for a in self.action),
                "from_node": [n.to_dict() for n in self.from_node]}


@contextlib.contextmanager
def preserve_node_meta(enable=True):
    """Within it, nodes made by tracing take over the current meta (see `set_current_meta`, `annotate`)."""
    global should_preserve_node_meta, current_meta
    before, meta = should_preserve_node_meta, current_meta
    try:
        should_preserve_node_meta = enable or before
        current_meta = copy.copy(meta)
        yield
    finally:
        should_preserve_node_meta, current_meta = before, meta


def has_preserved_node_meta():
    """Whether nodes take over the current meta."""
    return should_preserve_node_meta


def set_stack_trace(stack):
    """The stack that new nodes are said to come from, where meta is taken over."""
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


@contextlib.contextmanager
def annotate(annotation_dict):
    """Within it, nodes made by tracing have `annotation_dict` in their meta under 'custom'; inner ones add to it."""
    had = "custom" in current_meta
    before = current_meta.get("custom", {})
    current_meta["custom"] = {**before, **annotation_dict}
    try:
        yield
    finally:
        if had:
            current_meta["custom"] = before
        else:
            current_meta.pop("custom", None)


def annotate_fn(annotation_dict):
    """A decorator: the function runs within `annotate(annotation_dict)`."""
    def decorate(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            with annotate(annotation_dict):
                return func(*args, **kwargs)
        return wrapped
    return decorate


def set_grad_fn_seq_nr(seq_nr):
    """The number of the autograd node whose backward runs."""
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", ()), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr():
    """Ends what `set_grad_fn_seq_nr` began."""
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level > 0:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]
        if level == 1:
            del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]


def format_stack():
    """The lines of the Python stack; where meta is taken over, of the stack that it names."""
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_meta(node, pass_name=""):
    """Within it, nodes made by tracing take over the meta of `node`, where meta is taken over."""
    global current_meta
    if not should_preserve_node_meta or not node.meta:
        yield
        return
    saved = current_meta
    current_meta = node.meta.copy()
    current_meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
    try:
        yield
    finally:
        current_meta = saved


def get_current_meta():
    """What new nodes take over."""
    return current_meta


@contextlib.contextmanager
def set_current_replay_node(node):
    """Says which node an interpreter runs."""
    global current_replay_node
    saved, current_replay_node = current_replay_node, node
    try:
        yield
    finally:
        current_replay_node = saved


def get_current_replay_node():
    """The node that an interpreter runs, None outside one."""
    return current_replay_node


def get_graph_provenance_json(graph):
    """{name of a node: the sources of it}"""
    return {n.name: [s.to_dict() for s in n.meta["from_node"]] for n in graph.nodes
            if n.op == "call_function" and "from_node" in n.meta}
