"""Tracing to operators: a function is run, and every primitive that it calls becomes a node.

`make_fx(f)(*args)` gives a GraphModule of `torch.ops.aten` overloads. It sees through Python, autograd (a backward within
`f` is traced too) and composite operators, which a symbolic trace does not.
"""
import contextlib
import inspect
import operator
import sys

import torch
from torch import _C
from torch._ops import OpOverload
from torch.fx._symbolic_trace import PH, Tracer
from torch.fx.graph_module import GraphModule
from torch.fx.interpreter import Interpreter
from torch.fx.passes.shape_prop import _extract_tensor_metadata
from torch.fx.proxy import GraphAppendingTracer, Proxy
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_infra_mode

__all__ = ["make_fx", "PythonKeyTracer", "dispatch_trace", "ProxyTorchDispatchMode", "DecompositionInterpreter",
           "get_proxy_mode", "get_isolated_graphmodule", "track_tensor", "track_tensor_tree", "get_innermost_proxy_mode",
           "disable_proxy_modes_tracing", "maybe_disable_fake_tensor_mode", "decompose", "wrapper_and_args_for_make_fx"]

aten = torch.ops.aten
# Values of tensors made of Python's data are remembered up to this many elements.
CONSTANT_NUMEL_LIMIT = 1
_PROXY = _C._TorchDispatchModeKey.PROXY
CURRENT_DECOMPOSITION_TABLE = {}


@contextlib.contextmanager
def decompose(decomposition_table):
    """Within it, traces follow these decompositions besides."""
    global CURRENT_DECOMPOSITION_TABLE
    before, CURRENT_DECOMPOSITION_TABLE = CURRENT_DECOMPOSITION_TABLE, decomposition_table or {}
    try:
        yield CURRENT_DECOMPOSITION_TABLE
    finally:
        CURRENT_DECOMPOSITION_TABLE = before


class _ProxyTensor:
    """What is known of a tensor that is traced: its proxy, and its value where that is a constant."""

    __slots__ = ("proxy", "constant")

    def __init__(self, proxy, constant=None):
        self.proxy, self.constant = proxy, constant


class _Tracker:
    """{tensor: what is known of it}, by identity; it keeps the tensors, which autograd may hand out again."""

    def __init__(self):
        self.data = {}

    def get(self, tensor):
        found = self.data.get(id(tensor))
        return found[1] if found is not None else None

    def set(self, tensor, value):
        self.data[id(tensor)] = (tensor, value)


class PythonKeyTracer(Tracer):
    """The tracer behind `make_fx`: modules are seen through, tensors from outside become attributes."""

    def __init__(self):
        super().__init__(autowrap_modules=())
        self.tensor_tracker = _Tracker()
        self.tensor_attrs = {}
        self._parameter_names = {}
        self.numbers = {}  # expression -> its proxy, or a function that makes it

    def call_module(self, m, forward, args, kwargs):
        """Runs the module's forward."""
        return forward(*args, **kwargs)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """The attribute itself."""
        return attr_val

    def create_arg(self, a):
        """As Tracer's; parameters from outside become `_param_constant` attributes."""
        if isinstance(a, torch.nn.Parameter):
            name = self._parameter_names.get(a)
            if name is None:
                for n, p in self.root.named_parameters():
                    if p is a:
                        name = n
                if name is None:
                    name = self.get_fresh_qualname("_param_constant")
                    setattr(self.root, name, a)
                self._parameter_names[a] = name
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, _SYMBOLIC):
            return number_node(self, a)
        return super().create_arg(a)

    def _tensor_arg(self, a):
        node = super()._tensor_arg(a)
        if "val" not in node.meta:
            set_meta(node, a, self)
        return node

    def unwrap_proxy(self, e):
        """The proxy of a traced tensor, other values as they are."""
        if isinstance(e, torch.Tensor):
            found = self.tensor_tracker.get(e)
            return e if found is None else found.proxy
        return e


class _GraphAppendingTracerEx(GraphAppendingTracer):
    """A tracer that appends to a graph, for interpreters of one."""

    def __init__(self, graph):
        super().__init__(graph)
        self.tensor_tracker = _Tracker()
        self.numbers = {}
        self.root = torch.nn.Module()
        self.fake_mode = None

    def unwrap_proxy(self, e):
        """The proxy of a traced tensor, other values as they are."""
        return PythonKeyTracer.unwrap_proxy(self, e)

    def create_arg(self, a):
        """As GraphAppendingTracer's; symbolic numbers become the nodes that compute them."""
        return number_node(self, a) if isinstance(a, _SYMBOLIC) else super().create_arg(a)


# ---- symbolic numbers -------------------------------------------------------------------------------

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


def _size_functions():
    return torch.ops.aten.sym_size.int, torch.ops.aten.sym_stride.int, torch.ops.aten.sym_storage_offset.default


def track_sizes(tensor, proxy, tracer):
    """Symbolic sizes of a traced tensor are read from its proxy, by nodes that are made when they are first needed."""
    from torch._subclasses.fake_tensor import FakeTensor
    g = tensor._sym if isinstance(tensor, FakeTensor) else None
    if g is None:
        return
    size, stride, offset = _size_functions()
    places = [(e, size, (i,)) for i, e in enumerate(g[0])] + [(e, stride, (i,)) for i, e in enumerate(g[1])] + [(g[2], offset, ())]
    for e, function, where in places:
        if not e.is_number and e not in tracer.numbers:
            tracer.numbers[e] = lambda f=function, w=where: tracer.create_proxy("call_function", f, (proxy, *w), {})


def track_number(x, proxy, tracer):
    """The symbolic number is the value of the proxy."""
    proxy.node.meta["val"] = x
    e = x.node.expr
    if not e.is_number and not (e in tracer.numbers and isinstance(tracer.numbers[e], Proxy)):
        tracer.numbers[e] = proxy


def number_node(tracer, x):
    """The node that computes a symbolic number; a plain number where its value is known."""
    e = x.node.expr
    if e.is_number:
        return e.value
    return _expression_proxy(tracer, e, x.node.shape_env).node


def _expression_proxy(tracer, e, env):
    """The proxy of an expression: where it was read or computed, else computed from its parts."""
    if e.is_number:
        return e.value
    found = tracer.numbers.get(e)
    if not isinstance(found, Proxy):
        if found is None:
            for known, value in list(tracer.numbers.items()):
                if env.replace(known) == e:
                    tracer.numbers[e] = value
                    return _expression_proxy(tracer, e, env)
        found = tracer.numbers[e] = found() if found is not None else _computed(tracer, e, env)
        from torch.fx.experimental.sym_node import SymNode, wrap_node
        found.node.meta["val"] = wrap_node(SymNode(e, env, {"int": int, "float": float, "bool": bool}[e.kind]))
    return found


_OPERATIONS = {"FloorDiv": "floordiv", "Mod": "mod", "PythonMod": "mod", "Max": "sym_max", "Min": "sym_min", "Abs": "abs", "PowByNatural": "pow",
               "FloatPow": "pow", "LShift": "lshift", "RShift": "rshift", "ToFloat": "sym_float", "IntTrueDiv": "truediv", "FloatTrueDiv": "truediv",
               "FloatAdd": "add", "FloatMul": "mul", "FloatNeg": "neg", "FloatMod": "mod", "FloatFloorDiv": "floordiv", "CeilToInt": "ceil",
               "FloorToInt": "floor", "TruncToInt": "trunc", "RoundToInt": "round", "Eq": "eq", "Ne": "ne", "Lt": "lt", "Le": "le", "Gt": "gt",
               "Ge": "ge", "And": "and", "Or": "or", "Not": "sym_not", "Where": "sym_ite"}


def _computed(tracer, e, env):
    from torch.fx.experimental import _expressions as ex
    from torch.fx.experimental.sym_node import function_of

    def node(name, *args):
        return tracer.create_proxy("call_function", function_of(name), args, {})
    if e.is_symbol:
        raise RuntimeError(f"the symbolic number {e} comes from no value that this trace has seen")
    if isinstance(e, ex._Sum):
        total = None
        for m, c in sorted(e.terms.items(), key=lambda t: not t[0]):
            term = None
            for a, p in m:
                for _ in range(p):
                    factor = _expression_proxy(tracer, a, env)
                    term = factor if term is None else node("mul", term, factor)
            if term is None:
                term = c
            elif c != 1:
                term = node("mul", term, c)
            total = term if total is None else node("add", total, term)
        return total
    name = _OPERATIONS.get(e.function) or e.function.removeprefix("OpaqueUnaryFn_").removeprefix("BitwiseFn_bitwise_")
    return node(name, *(_expression_proxy(tracer, a, env) for a in e.args))


# ---- what is written into meta --------------------------------------------------------------------

def _fake_mode(tracer):
    mode = getattr(tracer, "fake_mode", None)
    if mode is None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        mode = tracer.fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
    return mode


def snapshot_fake(val, mode=None):
    """A fake tensor that looks as `val` does now; in-place views of `val` do not change it."""
    from torch._subclasses.fake_tensor import FakeTensor
    if isinstance(val, FakeTensor):
        if val._sym is not None:
            from torch._subclasses.symbolic import snapshot
            with _disable_infra_mode(_PROXY), torch.no_grad():
                return snapshot(val)
        with _disable_infra_mode(_PROXY), torch.no_grad():
            return FakeTensor(val.fake_mode, _meta_like(val), val.device)
    with _disable_infra_mode(_PROXY):
        return FakeTensor(mode, _meta_like(val), val.device)


def _meta_like(t):
    with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
        offset = t.storage_offset()
        if not isinstance(offset, int) or offset == 0:
            like = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device="meta")
        else:
            reach = sum((n - 1) * s for n, s in zip(t.size(), t.stride())) + 1 if t.numel() else 0
            like = torch.empty(offset + reach, dtype=t.dtype, device="meta")
            like.set_(like.untyped_storage(), offset, t.size(), t.stride())
        like = torch._conj(like) if t.is_conj() else like
        return torch._neg_view(like) if t.is_neg() else like


def extract_val(val, mode=None):
    """What goes into meta['val'] for a value: fake tensors for tensors, in the same containers."""
    if isinstance(val, torch.Tensor):
        return snapshot_fake(val, mode)
    if isinstance(val, (list, tuple)):
        return type(val)([extract_val(x, mode) for x in val]) if not hasattr(val, "_fields") else (
            type(val)(*[extract_val(x, mode) for x in val]))
    return val


def set_meta(node, val, tracer=None):
    """Writes the shape of a value into the meta of its node."""
    if isinstance(node, Proxy):
        tracer, node = node.tracer, node.node
    if tracer is not None and isinstance(val, (torch.Tensor, list, tuple)):
        node.meta["val"] = extract_val(val, _fake_mode(tracer))
    else:
        node.meta["val"] = val
    if isinstance(val, torch.Tensor):
        node.meta["tensor_meta"] = _extract_tensor_metadata(val)
    return node


def track_tensor(tensor, proxy, *, constant, tracer):
    """The tensor is the value of the proxy from now on."""
    tracer.tensor_tracker.set(tensor, _ProxyTensor(proxy, constant))
    track_sizes(tensor, proxy, tracer)


def track_tensor_tree(inner_res, proxy_res, *, constant, tracer):
    """The tensors in nested lists and tuples are the values of the proxy's items, which getitem nodes give."""
    def wrap(value, proxy, constant):
        if isinstance(value, torch.Tensor):
            if isinstance(proxy, Proxy):
                set_meta(proxy.node, value, tracer)
                track_tensor(value, proxy, constant=constant, tracer=tracer)
        elif isinstance(value, _SYMBOLIC):
            if isinstance(proxy, Proxy):
                track_number(value, proxy, tracer)
        elif isinstance(value, (list, tuple)):
            if isinstance(proxy, Proxy):
                set_meta(proxy.node, value, tracer)
            for i, x in enumerate(value):
                part = constant[i] if constant is not None else None
                item = proxy[i] if isinstance(proxy, (list, tuple, Proxy)) else None
                wrap(x, item, part)
        elif isinstance(value, dict):
            for k, x in value.items():
                wrap(x, proxy[k], None)
    wrap(inner_res, proxy_res, constant)
    return inner_res


# ---- calls --------------------------------------------------------------------------------------------

_forms = {}


def _writes(func):
    """Whether an overload writes to its first argument, or to any."""
    form = _forms.get(func)
    if form is None:
        text = str(func._schema)
        body = text[text.index("(") + 1:text.rindex("->")]
        first = body.split(",")[0]
        name = func._overloadpacket.__name__
        form = _forms[func] = ("!" in body, "!" in first and name[-1] == "_" and name[-2:] != "__")
    return form


_RANDOM_TAG = torch.Tag.nondeterministic_seeded
_lift_copy = aten.lift_fresh_copy.default


def proxy_call(mode, func, args, kwargs):
    """Runs a primitive and records it."""
    tracer = mode.tracer
    fn = CURRENT_DECOMPOSITION_TABLE.get(func) if CURRENT_DECOMPOSITION_TABLE else None
    if fn is None:
        fn = mode.decomposition_table.get(func)
    if fn is not None:
        with mode:
            result = fn(*args, **kwargs)
        if result is not NotImplemented:
            return result
    writes, in_place = _writes(func)
    # Memory that an operator's program made below Python: nobody else holds it, so that it begins here.
    if in_place and type(args[0]) is torch.Tensor and sys.getrefcount(args[0]) <= 2 and tracer.tensor_tracker.get(args[0]) is None:
        options = {"dtype": args[0].dtype, "device": args[0].device, "pin_memory": False}
        if func is aten.fill_.Scalar and args[0].is_contiguous():
            proxy = tracer.create_proxy("call_function", aten.full.default, (_sizes(args[0].shape), args[1]), options, name="full")
            with torch.utils._python_dispatch._disable_current_modes():
                func(*args)
            _stand_in(mode, args[0])
            return track_tensor_tree(args[0], proxy, constant=None, tracer=tracer)
        proxy = tracer.create_proxy("call_function", aten.empty_strided.default,
                                    (_sizes(args[0].shape), _sizes(args[0].stride())), options, name="empty_strided")
        _stand_in(mode, args[0])
        track_tensor_tree(args[0], proxy, constant=None, tracer=tracer)
    known, all_constant, any_tracked = [], True, False

    def unwrap(x):
        nonlocal all_constant, any_tracked
        if isinstance(x, torch.Tensor):
            found = tracer.tensor_tracker.get(x)
            if found is None:
                known.append(x)
                all_constant = all_constant and not isinstance(x, torch.nn.Parameter) and x.numel() <= CONSTANT_NUMEL_LIMIT
                return x
            any_tracked = True
            if found.constant is None:
                all_constant = False
            known.append(found.constant)
            return found.proxy
        return x

    p_args = _map(args, unwrap)
    p_kwargs = _map(kwargs, unwrap) if kwargs else {}
    if func is aten._local_scalar_dense.default or func is aten.item.default:
        constant = known[0] if known else None
        if all_constant and constant is not None:
            with torch.utils._python_dispatch._disable_current_modes():
                return constant.item()
        if mode.tracing_mode == "symbolic":
            from torch._subclasses.fake_tensor import DataDependentOutputException
            from torch._subclasses.symbolic import may_give_number
            if not may_give_number(args[0]):
                raise DataDependentOutputException(func)
        if mode._error_on_data_dependent_ops and mode.tracing_mode == "real":
            raise RuntimeError(f"{func} asks for the value of a traced tensor: control flow or numbers that depend on values "
                               "cannot be recorded")
    lift = func is aten.lift_fresh.default
    name = func._overloadpacket.__name__ if not lift else _lift_copy._overloadpacket.__name__
    proxy = tracer.create_proxy("call_function", _lift_copy if lift else func, p_args, p_kwargs, name=name)
    if mode.record_stack_traces:
        text = tracer._stack_text()
        if text:
            proxy.node.meta.setdefault("stack_trace", text)
    if mode.seq_nr:
        proxy.node.meta.setdefault("seq_nr", mode.seq_nr)
    if lift:
        # The node copies what the attribute holds, so that a graph that is run twice finds it unchanged.
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            kept = args[0].clone() if args[0].numel() <= CONSTANT_NUMEL_LIMIT else None
    if lift and _C._get_dispatch_mode(_C._TorchDispatchModeKey.FAKE) is None:
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            out = args[0].clone()
    else:
        if mode.stand_ins:
            args, kwargs = _map((args, kwargs), lambda x: mode.stand_ins[id(x)][1] if id(x) in mode.stand_ins else x)
        out = func(*args, **kwargs)
    constant = None
    if lift:
        constant = kept
    elif (all_constant and any_tracked and not writes and isinstance(out, torch.Tensor)
          and out.numel() <= CONSTANT_NUMEL_LIMIT and _RANDOM_TAG not in func.tags):
        with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad():
            values = iter(known)
            c_args = _map(args, lambda x: next(values) if isinstance(x, torch.Tensor) else x)
            c_kwargs = _map(kwargs, lambda x: next(values) if isinstance(x, torch.Tensor) else x)
            constant = func(*c_args, **c_kwargs)
    if in_place and isinstance(args[0], torch.Tensor):
        track_tensor(args[0], proxy, constant=None, tracer=tracer)
    if isinstance(out, (list, tuple)):
        set_meta(proxy.node, out, tracer)
    track_tensor_tree(out, proxy, constant=constant, tracer=tracer)
    if not isinstance(out, (torch.Tensor, list, tuple)) and out is not None:
        proxy.node.meta["val"] = out
    return out


def _sizes(plain):
    """Sizes of memory made below Python as a node's argument: codes of symbolic ones are what they stand for."""
    if _C._get_dispatch_mode(_C._TorchDispatchModeKey.FAKE) is None:
        return list(plain)
    from torch.fx.experimental._size_codes import LEAST, decode
    return [decode(s) if s >= LEAST else s for s in plain]


def _stand_in(mode, real):
    """Where tensors are fake, calls see a fake one instead of memory made below Python."""
    fake_mode = _C._get_dispatch_mode(_C._TorchDispatchModeKey.FAKE)
    if fake_mode is not None:
        stand_in = fake_mode.from_tensor(real, static_shapes=True)
        if fake_mode.shape_env is not None:
            from torch._subclasses.symbolic import read_codes
            read_codes(stand_in)
        mode.stand_ins[id(real)] = (real, stand_in)


def _map(x, fn):
    """`fn` of the leaves of lists, tuples and dicts."""
    kind = type(x)
    if kind is tuple or kind is list:
        return kind([_map(i, fn) for i in x])
    if isinstance(x, list):
        return [_map(i, fn) for i in x]
    if isinstance(x, dict):
        return {k: _map(v, fn) for k, v in x.items()}
    return fn(x)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Within it, primitives are run and recorded by a tracer."""

    _mode_key = _PROXY

    def __init__(self, tracer, tracing_mode, pre_dispatch=False, _allow_fake_constant=False, _error_on_data_dependent_ops=True,
                 decomposition_table=None, record_stack_traces=False):
        if pre_dispatch:
            raise NotImplementedError("make_fx: pre_dispatch=True (operators before autograd and composites) is not there")
        super().__init__()
        self.tracer, self.tracing_mode = tracer, tracing_mode
        self.decomposition_table = decomposition_table or {}
        self._error_on_data_dependent_ops = _error_on_data_dependent_ops
        self.record_stack_traces = record_stack_traces
        self.stand_ins = {}
        self.pre_dispatch, self.enable_tracing, self.seq_nr = False, True, None

    def record_number(self, out, function, operands):
        """A symbolic number that an operation gave; its node is made when it is first needed."""
        e, tracer = out.node.expr, self.tracer
        if function is None or e.is_number or e in tracer.numbers:
            return
        tracer.numbers[e] = lambda: tracer.create_proxy(
            "call_function", function, tuple(_expression_proxy(tracer, x.node.expr, x.node.shape_env) if isinstance(x, _SYMBOLIC) else x
                                             for x in operands), {})

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Records the call."""
        return proxy_call(self, func, args, kwargs or {})

    @classmethod
    def is_infra_mode(cls):
        return True


def get_proxy_mode():
    """The active mode of a `make_fx` trace, or None."""
    return _C._get_dispatch_mode(_PROXY)


get_innermost_proxy_mode = get_proxy_mode


@contextlib.contextmanager
def disable_proxy_modes_tracing(enable_current=False):
    """Within it nothing is recorded by the innermost trace."""
    with _disable_infra_mode(_PROXY) as mode:
        yield mode


@contextlib.contextmanager
def maybe_disable_fake_tensor_mode():
    """Within it no fake mode is active."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    with unset_fake_temporarily() as mode:
        yield mode


def run_on_shapes(func, args, kwargs):
    """The shapes of an operator's results, from arguments that are fake tensors: fake tensors again."""
    mode = next((x.fake_mode for x in pytree.tree_leaves((args, kwargs)) if hasattr(x, "fake_mode")), None)
    if func is operator.getitem:
        return args[0][args[1]]
    if mode is None:
        from torch._subclasses.fake_tensor import FakeTensorMode
        mode = FakeTensorMode()
    if not isinstance(func, OpOverload):
        return None
    with torch.utils._python_dispatch._disable_current_modes(), torch.no_grad(), mode:
        return func(*pytree.tree_map(lambda x: x, args), **kwargs)


# ---- make_fx ------------------------------------------------------------------------------------------

def fake_signature(fn, nargs):
    """`fn` as a function of arg0, arg1, ...: names for its inputs where its own are not known."""
    names = ", ".join(f"arg{i}" for i in range(nargs))
    return eval(f"lambda {names}: fn({names})", {"fn": fn})


def dispatch_trace(root, tracer, concrete_args=None):
    """The GraphModule of `root` run on proxies by `tracer`."""
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


def _wrapped(f, args, tracer):
    """A function of proxies, with the signature of `f`, that runs it on `args` and gives proxies."""
    flat_args, _ = pytree.tree_flatten(args)

    def run(*proxies):
        flat, spec = pytree.tree_flatten(proxies)
        values = []
        for given, proxy in zip(flat_args, flat):
            if isinstance(given, torch.Tensor) and isinstance(proxy, Proxy):
                with _disable_infra_mode(_PROXY):
                    set_meta(proxy.node, given, tracer)
                track_tensor(given, proxy, constant=None, tracer=tracer)
            elif isinstance(given, _SYMBOLIC) and isinstance(proxy, Proxy):
                track_number(given, proxy, tracer)
            elif isinstance(proxy, Proxy):
                proxy.node.meta["val"] = given
            values.append(given)
        out = f(*pytree.tree_unflatten(values, spec))

        def strip(x):
            if isinstance(x, torch.Tensor):
                found = tracer.tensor_tracker.get(x)
                return x if found is None else found.proxy
            if isinstance(x, _SYMBOLIC):
                e = x.node.expr
                return e.value if e.is_number else _expression_proxy(tracer, e, x.node.shape_env)
            return x
        return pytree.tree_map(strip, out)
    return run


def make_fx(f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False,
            record_module_stack=False, _allow_fake_constant=False, _error_on_data_dependent_ops=True,
            record_stack_traces=False, proxy_module_inputs=False, _disable_torch_fn_metadata_mode=False,
            dynamic_shapes=None):
    """A function that runs `f` on its arguments and gives the GraphModule of the primitives that were called.

    `tracing_mode`: 'real' computes; 'fake' runs on fake tensors with the arguments' shapes; 'symbolic' on such with symbols for
    sizes and ints, equal ones sharing a symbol: the graph holds for all sizes that satisfy the guards of its `shape_env`; `f` is
    called twice then, or more often, and what it does beside computing is done as often.
    `decomposition_table`:
    {overload: function} of operators that are recorded as what the function does. Tensors that are no arguments become
    attributes (`_tensor_constant0`, `_param_constant0`). Each node's meta has 'val' (a fake tensor) and 'tensor_meta'.
    NotImplementedError for pre_dispatch and dynamic_shapes; RuntimeError where a traced value is asked for as a number.
    """
    if tracing_mode not in ("real", "fake", "symbolic"):
        raise AssertionError(f"make_fx: tracing_mode is {tracing_mode!r}; it is 'real', 'fake' or 'symbolic'")
    if dynamic_shapes is not None:
        raise NotImplementedError("make_fx: dynamic_shapes (which sizes are symbols) is not there; tracing_mode='symbolic' makes symbols of all")
    if pre_dispatch:
        raise NotImplementedError("make_fx: pre_dispatch=True (operators before autograd and composites) is not there")

    def wrapped(*args):
        fixed, own = set(), tracing_mode == "symbolic" and not any(hasattr(x, "fake_mode") for x in pytree.tree_leaves(args))

        def trace(shift=0):
            return _trace(f, args, decomposition_table or {}, tracing_mode, _allow_non_fake_inputs, _error_on_data_dependent_ops,
                          record_stack_traces, fixed, shift)
        while True:
            try:
                gm = trace()
                values = set(gm.shape_env.var_to_val.values()) if own else set()
                # A number that a derivative in C++ computed from codes is another one at other codes.
                if values <= fixed or gm.code == trace(37).code:
                    return gm
                fixed = fixed | values
            except _BecameNumbers as again:
                fixed = fixed | again.values
    return wrapped


class _BecameNumbers(Exception):
    """Sizes of these values became numbers within a trace that failed. Derivatives may keep what they were before, so the
    trace is made anew with these numbers from the start."""

    def __init__(self, values):
        super().__init__(values)
        self.values = values


def _trace(f, args, table, tracing_mode, allow_non_fake, error_on_data, record_stack_traces, fixed=frozenset(), shift=0):
    tracer = PythonKeyTracer()
    tracer.record_stack_traces, own_env = False, None
    with contextlib.ExitStack() as stack:
        if tracing_mode == "fake":
            from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
            mode = next((x.fake_mode for x in pytree.tree_leaves(args) if isinstance(x, FakeTensor)), None)
            if mode is None:
                mode = FakeTensorMode(allow_fallback_kernels=True, allow_non_fake_inputs=allow_non_fake)
            tracer.fake_mode = mode
            args = pytree.tree_map(lambda x: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x, args)
            stack.enter_context(mode)
        elif tracing_mode == "symbolic":
            from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
            from torch.fx.experimental.symbolic_shapes import ShapeEnv
            given = pytree.tree_leaves(args)
            mode = next((x.fake_mode for x in given if isinstance(x, FakeTensor)), None)
            if mode is None:
                own_env = ShapeEnv()
                own_env._codes.shift = shift
                mode = FakeTensorMode(allow_fallback_kernels=False, allow_non_fake_inputs=allow_non_fake, shape_env=own_env)
            elif mode.shape_env is None:
                raise AssertionError("make_fx: tracing_mode='symbolic' with fake tensors of a mode without shape_env")
            tracer.fake_mode, count = mode, 0

            def symbolic(x):
                nonlocal count
                count += 1
                if isinstance(x, torch.Tensor):
                    return mode.from_tensor(x, source=f"input{count - 1}", static_shapes=False)
                if type(x) is int:
                    env = mode.shape_env
                    return env.create_symintnode(env.create_symbol(x, f"input{count - 1}", positive=None), hint=x)
                return x
            args = pytree.tree_map(symbolic, args)
            if own_env is not None:
                own_env.fix_values(fixed)
            stack.enter_context(mode)
        places = pytree.tree_map(lambda _: PH, args)
        func = f
        code = getattr(inspect.unwrap(f), "__code__", None)
        if code is None or code.co_flags & inspect.CO_VARARGS or isinstance(f, torch.nn.Module):
            func = fake_signature(f, len(places))
        run = _wrapped(func, args, tracer)
        named = _with_signature(run, func)
        stack.enter_context(_disabled_autocast_cache())
        # Outer traces see what the inner graph does when it is run, not its tracing.
        proxy_mode = ProxyTorchDispatchMode(tracer, tracing_mode, decomposition_table=table,
                                            _error_on_data_dependent_ops=error_on_data, record_stack_traces=record_stack_traces)
        outer = _C._get_dispatch_mode(_PROXY)
        if outer is not None:
            stack.enter_context(_disable_infra_mode(_PROXY))
        stack.enter_context(proxy_mode)
        try:
            gm = dispatch_trace(named, tracer, tuple(places))
        except (RuntimeError, IndexError, ValueError, TypeError):
            became = own_env.values_that_became_numbers() - fixed if own_env is not None else ()
            if not became:
                raise
            raise _BecameNumbers(became) from None
        if tracing_mode == "symbolic":
            gm.shape_env = tracer.fake_mode.shape_env
            gm.graph.eliminate_dead_code(_kept)
            gm.recompile()
        return gm


def _kept(node):
    """All nodes but those that only compute numbers are kept."""
    return not (node.op == "call_function" and isinstance(node.meta.get("val"), _SYMBOLIC))


def _with_signature(run, func):
    """`run` under the name and parameters of `func`."""
    original = inspect.unwrap(func)
    co = original.__code__
    count = co.co_argcount
    if getattr(func, "__self__", None) is not None and inspect.ismethod(func):
        names = co.co_varnames[1:count]
    else:
        names = co.co_varnames[:count]
    parameters = inspect.signature(original).parameters
    safe = [n if n.isidentifier() else f"arg{i}" for i, n in enumerate(names)]
    space = {"run": run}
    named = eval(f"lambda {', '.join(safe)}: run({', '.join(safe)})", space)
    named.__name__ = getattr(func, "__name__", "forward")
    named.__qualname__ = named.__name__
    named.__defaults__ = tuple(parameters[n].default for n in names if n in parameters
                               and parameters[n].default is not inspect.Parameter.empty) or None
    return named


@contextlib.contextmanager
def _disabled_autocast_cache():
    """Casts are recorded where they are needed, not where they were first."""
    if "torch.amp" not in sys.modules or not torch.is_autocast_enabled("cpu"):
        yield
        return
    before = torch.is_autocast_cache_enabled()
    torch.set_autocast_cache_enabled(False)
    try:
        yield
    finally:
        torch.set_autocast_cache_enabled(before)


def wrapper_and_args_for_make_fx(func, args, kwargs):
    """(a function of one list, the list) that calls `func(*args, **kwargs)`: keyword arguments are traced, too."""
    flat, spec = pytree.tree_flatten((args, kwargs))

    def wrapped(flat_args):
        call_args, call_kwargs = pytree.tree_unflatten(flat_args, spec)
        return func(*call_args, **call_kwargs)
    return wrapped, flat


def get_isolated_graphmodule(func, args, kwargs, tracing_mode="real", decomposition_table=None):
    """The GraphModule of one call, not recorded by a trace around it."""
    wrapped, flat = wrapper_and_args_for_make_fx(func, args, kwargs)
    with disable_proxy_modes_tracing():
        return make_fx(wrapped, tracing_mode=tracing_mode, decomposition_table=decomposition_table)(flat)


class DecompositionInterpreter(Interpreter):
    """Runs a graph on values and writes another graph, in which operators of a table are decomposed."""

    def __init__(self, module, new_graph, decomposition_table=None, **kwargs):
        super().__init__(module, **kwargs)
        self.new_graph = new_graph
        self.tracer = _GraphAppendingTracerEx(new_graph)
        self.tracer.root = module
        self.tracer.tensor_attrs = {}
        self.decomposition_table = decomposition_table or {}
        self.mode = ProxyTorchDispatchMode(self.tracer, "real", decomposition_table=self.decomposition_table)

    def placeholder(self, target, args, kwargs):
        out = super().placeholder(target, args, kwargs)
        proxy = Proxy(self.new_graph.placeholder(target), self.tracer)
        track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)
        return out

    def get_attr(self, target, args, kwargs):
        out = super().get_attr(target, args, kwargs)
        proxy = Proxy(self.new_graph.get_attr(target), self.tracer)
        track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)
        return out

    def output(self, target, args, kwargs):
        out = super().output(target, args, kwargs)

        def node_of(x):
            found = self.tracer.tensor_tracker.get(x) if isinstance(x, torch.Tensor) else None
            return found.proxy.node if found is not None else x
        self.new_graph.output(pytree.tree_map(node_of, out))
        return out

    def run(self, *args, **kwargs):
        """The results; the new graph is written meanwhile."""
        with self.mode, decompose(self.decomposition_table):
            return super().run(*args, **kwargs)


class _Inliner(Interpreter):
    """Runs a graph within a trace, whose graph gets the same nodes: operators stay what they are, composites too."""

    def __init__(self, module, mode):
        super().__init__(module)
        self.mode, self.tracer = mode, mode.tracer

    def call_function(self, target, args, kwargs):
        table = self.mode.decomposition_table
        if target in table or target in CURRENT_DECOMPOSITION_TABLE:
            with self.mode:
                return target(*args, **kwargs)
        out = target(*args, **kwargs)
        if target is operator.getitem:
            return out
        unwrap = self.tracer.unwrap_proxy
        proxy = self.tracer.create_proxy("call_function", target, _map(args, unwrap), _map(kwargs, unwrap),
                                         name=target._overloadpacket.__name__ if isinstance(target, OpOverload) else None)
        track_tensor_tree(out, proxy, constant=None, tracer=self.tracer)
        if isinstance(target, OpOverload) and _writes(target)[0] and args and isinstance(args[0], torch.Tensor):
            track_tensor(args[0], proxy, constant=None, tracer=self.tracer)
        return out


def run_inline(gm, args):
    """Runs a graph of operators on `args`; an active trace records its nodes as they are."""
    mode = get_proxy_mode()
    if mode is None:
        return gm(*args)
    if torch._C._functorch.maybe_current_level() is not None:   # the trace sees what the transforms make of the operators
        return Interpreter(gm).run(*args)
    with _disable_infra_mode(_PROXY):
        return _Inliner(gm, mode).run(*args)
