"""Tracing: what makes nodes, what cannot be traced. Texts are those of PyTorch 2.14.1."""
import math
import operator
import typing

import pytest
import torch
import torch.fx as fx
import torch.nn.functional as F
from torch import nn
from torch.fx.proxy import TraceError


@fx.wrap
def kept(x, y):
    return x + y


fx.wrap("len")


def body(root, **options):
    """The lines of the traced function's body."""
    return fx.symbolic_trace(root, **options).code.strip().split("\n")[1:]


def lines(text):
    return ["    " + line.strip() for line in text.strip().split("\n")]


def test_operators():
    def f(q, r):
        q = -q + 1 / q - 2 @ q + q ** 2 + 2 ** q + (q < 3) + (q == r) + q // 2 + ~q
        q += 1
        return abs(q) % 2
    assert body(f) == lines("""
        neg = -q
        truediv = 1 / q
        add = neg + truediv;  neg = truediv = None
        matmul = 2 @ q
        sub = add - matmul;  add = matmul = None
        pow_1 = q ** 2
        add_1 = sub + pow_1;  sub = pow_1 = None
        pow_2 = 2 ** q
        add_2 = add_1 + pow_2;  add_1 = pow_2 = None
        lt = q < 3
        add_3 = add_2 + lt;  add_2 = lt = None
        eq = q == r;  r = None
        add_4 = add_3 + eq;  add_3 = eq = None
        floordiv = q // 2
        add_5 = add_4 + floordiv;  add_4 = floordiv = None
        invert = ~q;  q = None
        add_6 = add_5 + invert;  add_5 = invert = None
        add_7 = add_6 + 1;  add_6 = None
        abs_1 = _operator_abs(add_7);  add_7 = None
        mod = abs_1 % 2;  abs_1 = None
        return mod""")


def test_indexing_attributes_and_methods():
    def f(w):
        a = w[0, 1:3, ..., None]
        b = w.shape[0]
        d, e = w.size()
        return a.foo.bar(3), w.T, w(3), d, e, b, w[1:2, ::3, b:]
    assert body(f) == lines("""
        getitem = w[(0, slice(1, 3, None), Ellipsis, None)]
        getattr_1 = w.shape
        getitem_1 = getattr_1[0];  getattr_1 = None
        size = w.size()
        getitem_2 = size[0]
        getitem_3 = size[1];  size = None
        getattr_2 = getitem.foo;  getitem = None
        bar = getattr_2.bar(3);  getattr_2 = None
        call = w.__call__(3)
        getitem_4 = w[(slice(1, 2, None), slice(None, None, 3), slice(getitem_1, None, None))]
        getattr_3 = w.T;  w = None
        return (bar, getattr_3, call, getitem_2, getitem_3, getitem_1, getitem_4)""")


def test_functions():
    def f(x, w):
        a = torch.cat([x, w], dim=1)
        b = F.dropout(F.relu(a), 0.5, True)
        c = torch.zeros((b.shape[0], 2), device="cpu", dtype=torch.float64)
        d = torch.ops.aten.add.Tensor(x, 1) + torch.ops.aten.relu(x)
        e = F.conv2d(x, w) + F.max_pool2d(x, 2) + F.softmax(x, dim=1) + x.softmax(-1) + torch.einsum("ij->i", x)
        return c, d, e, x.to(torch.float16, device=torch.device("cpu")), x * 1j
    assert body(f) == lines("""
        cat = torch.cat([x, w], dim = 1)
        relu = torch.nn.functional.relu(cat, inplace = False);  cat = None
        dropout = torch.nn.functional.dropout(relu, p = 0.5, training = True, inplace = False);  relu = None
        getattr_1 = dropout.shape;  dropout = None
        getitem = getattr_1[0];  getattr_1 = None
        zeros = torch.zeros((getitem, 2), device = 'cpu', dtype = torch.float64);  getitem = None
        add_tensor = torch.ops.aten.add.Tensor(x, 1)
        relu_1 = torch.ops.aten.relu(x)
        add = add_tensor + relu_1;  add_tensor = relu_1 = None
        conv2d = torch.conv2d(x, w);  w = None
        max_pool2d = torch.nn.functional.max_pool2d(x, 2, stride = None, padding = 0, dilation = 1, ceil_mode = False, return_indices = False)
        add_1 = conv2d + max_pool2d;  conv2d = max_pool2d = None
        softmax = torch.nn.functional.softmax(x, dim = 1, _stacklevel = 3, dtype = None)
        add_2 = add_1 + softmax;  add_1 = softmax = None
        softmax_1 = x.softmax(-1)
        add_3 = add_2 + softmax_1;  add_2 = softmax_1 = None
        einsum = torch.functional.einsum('ij->i', x)
        add_4 = add_3 + einsum;  add_3 = einsum = None
        to = x.to(torch.float16, device = device(type='cpu'))
        mul = x * complex(0.0, 1.0);  x = None
        return (zeros, add, add_4, to, mul)""")


def test_wrapped_functions():
    def f(x):
        return kept(x, 2) + len(x) + math.sqrt(x)
    gm = fx.symbolic_trace(f)
    name = __name__.replace(".", "_")
    assert gm.code == (
        f'\ntorch.fx._symbolic_trace.wrap("{name}_kept")\ntorch.fx._symbolic_trace.wrap("len")\n'
        'torch.fx._symbolic_trace.wrap("math_sqrt")\n\ndef forward(self, x):\n'
        f'    kept = {name}_kept(x, 2)\n    len_1 = len(x)\n    add = kept + len_1;  kept = len_1 = None\n'
        '    sqrt = math_sqrt(x);  x = None\n    add_1 = add + sqrt;  add = sqrt = None\n    return add_1\n    ')
    assert gm.graph.find_nodes(op="call_function", target=kept)[0].meta == {"is_wrapped": True}
    assert kept(1, 2) == 3 and len([1]) == 1 and not hasattr(math.sqrt, "__wrapped__")
    with pytest.raises(RuntimeError):
        fx.wrap(3)
    with pytest.raises(NotImplementedError, match="top level"):
        fx.wrap("foo")


@pytest.mark.parametrize("f, error", [
    (lambda x: [y for y in x], TraceError), (lambda x: x if x else 1, TraceError), (lambda x: not x, TraceError),
    (lambda x: x in [1, 2], TraceError), (lambda x: 1 in x, TraceError), (lambda x: F.relu(**x), TraceError),
    (lambda x: int(x), TypeError), (lambda x: [1, 2][x], TypeError), (lambda x: [i for i in range(x)], TypeError),
    (lambda x: x.__len__(), RuntimeError), (lambda x: F.relu(object()), TypeError), (lambda x: divmod(x, 2), TypeError),
    (lambda x: torch.add(x, object()), (NotImplementedError, TypeError))])
def test_what_cannot_be_traced(f, error):
    with pytest.raises(error):
        fx.symbolic_trace(f)


def test_item_assignment_cannot_be_traced():
    def f(x):
        x[0] = 1
        return x
    with pytest.raises(TypeError):
        fx.symbolic_trace(f)


def test_parameters_of_functions():
    def f(x: torch.Tensor, y: int = 3, *args, k=None, **kwargs) -> torch.Tensor:
        return args[0] + args[1] + kwargs["a"] + x
    assert fx.symbolic_trace(f).code == (
        "\n\n\ndef forward(self, x : torch.Tensor, y : int = 3, k = None, *args, **kwargs):\n"
        "    _args = args\n    _kwargs = kwargs\n    getitem = _args[0]\n    getitem_1 = _args[1];  _args = None\n"
        "    add = getitem + getitem_1;  getitem = getitem_1 = None\n    getitem_2 = _kwargs['a'];  _kwargs = None\n"
        "    add_1 = add + getitem_2;  add = getitem_2 = None\n    add_2 = add_1 + x;  add_1 = x = None\n"
        "    return add_2\n    ")

    def g(x: typing.List[torch.Tensor], y: typing.Optional[int] = None, d: torch.device = torch.device("cpu")
          ) -> typing.Tuple[torch.Tensor, int]:
        return x[0], y
    assert fx.symbolic_trace(g).code.strip().split("\n")[0] == (
        "def forward(self, x : typing_List[torch.Tensor], y : typing_Union[int,NoneType] = None, "
        "d : device = device(type='cpu')) -> typing_Tuple[torch.Tensor,int]:")


def test_concrete_arguments():
    def f(x, y, z=None):
        return x + y if z is None else x - 1
    assert fx.symbolic_trace(f, concrete_args={"y": 3, "z": None}).code == (
        "\n\n\ndef forward(self, x, y_1, z_1 = None):\n    eq = y_1 == 3;  y_1 = None\n"
        "    _assert = torch._assert(eq, 'y has been specialized to have value 3 but got another value');  eq = _assert = None\n"
        "    _assert_is_none = torch.fx._symbolic_trace._assert_is_none(z_1, "
        "'z has been specialized to have value None but got another value');  z_1 = _assert_is_none = None\n"
        "    add = x + 3;  x = None\n    return add\n    ")
    gm = fx.symbolic_trace(f, concrete_args={"y": 3, "z": None})
    assert gm(1, 3, None) == 4
    with pytest.raises(AssertionError, match="y has been specialized"):
        gm(1, 4, None)


def test_nested_arguments():
    def f(x):
        return {"r": x["a"] + x["b"][0], "s": (x["a"],)}
    gm = fx.symbolic_trace(f, concrete_args={"x": {"a": fx.PH, "b": [fx.PH, 3]}})
    assert gm.code == (
        "\n\n\ndef forward(self, x):\n    x_1, x_2, x_3, = fx_pytree.tree_flatten_spec([x], self._in_spec)\n"
        "    eq = x_3 == 3;  x_3 = None\n"
        "    _assert = torch._assert(eq, 'x has been specialized to have value 3 but got another value');  eq = _assert = None\n"
        "    add = x_1 + x_2;  x_2 = None\n"
        "    return pytree.tree_unflatten([add, x_1], self._out_spec)\n    ")
    assert gm({"a": 1, "b": [2, 3]}) == {"r": 3, "s": (1,)}
    assert fx.Interpreter(gm).run({"a": 1, "b": [2, 3]}) == {"r": 3, "s": (1,)}


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        return self.l(x) + self.b


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = Inner()
        self.ml = nn.ModuleList([nn.Linear(2, 2)])
        self.w = nn.Parameter(torch.ones(2))
        self.k, self.t = 3, torch.ones(2)

    def forward(self, x):
        return self.ml[0](self.sub(self.sub(x))) * self.w * self.k + self.t + torch.zeros(2)


def test_modules():
    gm = fx.symbolic_trace(Outer())
    assert gm.code.strip().split("\n")[1:] == lines("""
        sub_l = self.sub.l(x);  x = None
        sub_b = self.sub.b
        add = sub_l + sub_b;  sub_l = sub_b = None
        sub_l_1 = self.sub.l(add);  add = None
        sub_b_1 = self.sub.b
        add_1 = sub_l_1 + sub_b_1;  sub_l_1 = sub_b_1 = None
        ml_0 = getattr(self.ml, "0")(add_1);  add_1 = None
        w = self.w
        mul = ml_0 * w;  ml_0 = w = None
        mul_1 = mul * 3;  mul = None
        t = self.t
        add_2 = mul_1 + t;  mul_1 = t = None
        _tensor_constant0 = self._tensor_constant0
        add_3 = add_2 + _tensor_constant0;  add_2 = _tensor_constant0 = None
        return add_3""")
    stacks = {n.name: list(n.meta.get("nn_module_stack", {})) for n in gm.graph.nodes}
    assert stacks["sub_l"] == ["sub", "sub.l"] and stacks["sub_l_1"] == ["sub@1", "sub.l@1"]
    assert stacks["add"] == ["sub"] and stacks["w"] == []
    assert gm.graph.find_nodes(op="call_module", target="sub.l")[0].meta["nn_module_stack"]["sub.l"] == ("sub.l", nn.Linear)
    x = torch.randn(3, 2)
    assert torch.equal(gm(x), fx.symbolic_trace(gm)(x))


def test_leaves_are_what_a_tracer_says():
    class T(fx.Tracer):
        def is_leaf_module(self, m, name):
            return isinstance(m, Inner) or super().is_leaf_module(m, name)
    root = Outer()
    graph = T().trace(root)
    assert [n.target for n in graph.nodes if n.op == "call_module"] == ["sub", "sub", "ml.0"]
    assert str(next(iter(graph.nodes)).format_node()) == "%x : [num_users=1] = placeholder[target=x]"


def test_modules_outside_the_root():
    with pytest.raises(NameError):
        fx.symbolic_trace(lambda x: nn.Linear(2, 2)(x))
    p = nn.Parameter(torch.ones(2))
    with pytest.raises(NameError):
        fx.symbolic_trace(lambda x: x + p)
    for thing in (torch.add, Outer().forward, operator.add):
        with pytest.raises(AssertionError):
            fx.symbolic_trace(thing)


def test_buffers_and_shapes_of_parameters():
    class B(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(2))
            self.p = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + self.p.shape[0] + self.b.size(0), self.p.sum()

    class T(fx.Tracer):
        proxy_buffer_attributes = True
    m = B()
    text = fx.GraphModule(m, T().trace(m)).code
    assert "getattr_1 = p.shape" in text and "size = b.size(0)" in text
    text = fx.GraphModule(m, fx.Tracer(param_shapes_constant=True).trace(m)).code
    assert ".shape" not in text and "add = x + 2" in text


def test_stack_traces():
    class T(fx.Tracer):
        record_stack_traces = True

    def f(x):
        y = x + 1
        return y.relu()
    graph = T().trace(f)
    add, relu = list(graph.nodes)[1:3]
    assert add.stack_trace.endswith("in f\n    y = x + 1") and relu.stack_trace.endswith("return y.relu()")
    text = fx.GraphModule(nn.Module(), graph).print_readable(print_output=False)
    assert "in f, code: y = x + 1\n        add = x + 1;  x = None\n\n        # File: " in text


def test_meta_of_annotations():
    with fx.traceback.preserve_node_meta(), fx.traceback.annotate({"a": 1}):
        graph = fx.symbolic_trace(lambda x: x + 1).graph
    assert all(n.meta == {"custom": {"a": 1}, "seq_nr": -1} for n in graph.nodes)
    assert not fx.traceback.has_preserved_node_meta()


def test_proxies_alone():
    g = fx.Graph()
    p = fx.Proxy(g.placeholder("x"))
    q = p + 1
    assert repr(q) == "Proxy(add)" and q.node.graph is g and p.foo.node.name == "getattr_1"
    assert (1 - p).node.args == (1, p.node) and torch.relu(p).node.target is torch.relu
    assert repr(p > 1) == "Proxy(gt)" and repr(p.__delitem__(1)) == "Proxy(delitem)" and hash(p)


def test_annotated_proxies():
    from torch.fx.annotate import annotate

    def f(x):
        return annotate(x + 1, torch.Tensor)
    assert "add : torch.Tensor = x + 1" in fx.symbolic_trace(f).code
    assert annotate(3, int) == 3


def test_objects_made_of_proxies():
    class Two(metaclass=fx.ProxyableClassMeta):
        def __init__(self, a, b):
            self.a, self.b = a, b
    globals()["Two"] = Two
    Two.__qualname__ = "Two"
    gm = fx.symbolic_trace(lambda x, y: Two(x, y).a + 1)
    assert gm(1, 2) == 2 and gm.graph.find_nodes(op="call_function", target=Two)


@pytest.mark.parametrize("f, target", [(lambda t, x: t + x, "add"), (lambda t, x: t - x, "sub"), (lambda t, x: t & x, "__and__"),
                                       (lambda t, x: t << x, "__lshift__"), (lambda t, x: t // x, "floor_divide"), (lambda t, x: t % x, "remainder"),
                                       (lambda t, x: t == x, "eq"), (lambda t, x: t.expand_as(x), "expand_as"), (lambda t, x: t.copy_(x), "copy_"),
                                       (lambda t, x: t.masked_fill(x > 1, 5), "masked_fill"), (lambda t, x: t.where(x > 1, x), "where"),
                                       (lambda t, x: torch.add(t, x), torch.add), (lambda t, x: torch.maximum(t, x), torch.maximum)])
def test_methods_of_tensors_that_are_given_proxies(f, target):
    t, x = torch.tensor([1, 3]), torch.tensor([1, 2])
    traced = torch.fx.symbolic_trace(lambda x: f(t.clone(), x))
    node = list(traced.graph.nodes)[-2]
    assert node.target == target and node.op == ("call_method" if isinstance(target, str) else "call_function")
    assert torch.equal(traced(x), f(t.clone(), x))
