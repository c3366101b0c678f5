"""Graphs and nodes: editing, names, order, text. Texts are those of PyTorch 2.14.1."""
import copy
import operator
import pickle
import subprocess
import sys
import typing
from collections import namedtuple

import pytest
import torch
import torch.fx as fx
import torch.nn.functional as F
from torch.fx.immutable_collections import immutable_dict, immutable_list

Pair = namedtuple("Pair", "x y")


def chain():
    g = fx.Graph()
    x = g.placeholder("x")
    y = g.call_function(torch.add, (x, 1))
    z = g.call_method("relu", (y,))
    o = g.output((z, [x, {"k": y}]))
    return g, x, y, z, o


def test_importing_torch_does_not_import_fx():
    out = subprocess.run([sys.executable, "-c", "import torch, sys; print('torch.fx' in sys.modules)"],
                         capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_text_of_a_graph():
    g, *_ = chain()
    assert str(g) == (
        "graph():\n"
        "    %x : [num_users=2] = placeholder[target=x]\n"
        "    %add : [num_users=2] = call_function[target=torch.add](args = (%x, 1), kwargs = {})\n"
        "    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})\n"
        "    return (relu, [x, {'k': add}])")
    assert g.python_code("self").src == (
        "\n\n\ndef forward(self, x):\n"
        "    add = torch.add(x, 1)\n"
        "    relu = add.relu()\n"
        "    return (relu, [x, {'k': add}])\n    ")


def test_arguments_and_users():
    g, x, y, z, o = chain()
    assert list(y.users) == [z, o] and y.all_input_nodes == [x]
    assert type(o.args[0][1]) is immutable_list and type(o.args[0][1][1]) is immutable_dict
    assert type(o.kwargs) is immutable_dict
    for change in (lambda: o.args[0][1].append(3), lambda: o.args[0][1].__setitem__(0, 3),
                   lambda: o.kwargs.update({1: 2}), lambda: o.kwargs.pop(1)):
        with pytest.raises(TypeError):
            change()
    y.args = (x, x)
    assert list(x.users) == [o, y] and y.all_input_nodes == [x]
    y.update_arg(1, 5)
    y.insert_arg(1, 7)
    assert y.args == (x, 7, 5)
    with pytest.raises(IndexError):
        y.update_arg(9, 1)
    with pytest.raises(AssertionError):
        y.insert_arg(9, 1)
    y.update_kwarg("alpha", 2)
    assert y.format_node() == ("%add : [num_users=2] = call_function[target=torch.add](args = (%x, 7, 5), "
                               "kwargs = {alpha: 2})")
    assert x.next is y and y.prev is x and o.next.op == "root" and x < y < z and not z < y


def test_insertion_points_and_order():
    g, x, y, z, o = chain()
    with g.inserting_before(o):
        n = g.call_function(torch.mul, (z, 2))
        g.call_function(torch.div, (n, 2))
    with g.inserting_after(n):
        m = g.call_function(torch.neg, (n,))
        g.call_function(torch.abs, (m,))
    with g.inserting_before():
        g.placeholder("first")
    with g.inserting_after():
        g.placeholder("last")
    assert [str(n) for n in g.nodes] == ["first", "x", "add", "relu", "mul", "abs_1", "neg", "div", "output", "last"]
    assert [str(n) for n in reversed(g.nodes)][:2] == ["last", "output"] and len(g.nodes) == 10
    assert list(g.nodes) == sorted(g.nodes)
    y.append(x)
    assert list(g.nodes)[1:3] == [y, x]
    with pytest.raises(RuntimeError, match="must come after"):
        g.lint()
    with pytest.raises(AssertionError):
        g.inserting_before(fx.Graph().placeholder("q"))


def test_many_insertions_before_one_node_keep_the_order():
    g = fx.Graph()
    x = g.placeholder("x")
    o = g.output(x)
    made = []
    for _ in range(100):
        with g.inserting_before(o):
            made.append(g.call_function(torch.relu, (x,)))
    assert all(a < b for a, b in zip(made, made[1:])) and made[-1] < o
    for _ in range(100):
        with g.inserting_after(x):
            n = g.call_function(torch.relu, (x,))
        assert x < n < n.next


def test_replacing_and_erasing():
    g, x, y, z, o = chain()
    with pytest.raises(RuntimeError, match="2 nodes use it"):
        g.erase_node(y)
    with g.inserting_before(o):
        n = g.call_function(torch.mul, (x, 2))
    assert y.replace_all_uses_with(n, delete_user_cb=lambda u: u is not z) == [o]
    assert o.args == ((z, [x, {"k": n}]),) and list(y.users) == [z]
    z.replace_input_with(y, x)
    assert z.args == (x,) and not y.users
    assert g.eliminate_dead_code() and not g.eliminate_dead_code()
    assert [str(n) for n in g.nodes] == ["x", "relu", "mul", "output"]
    g.erase_node(o)
    with pytest.warns(UserWarning):
        g.erase_node(o)
    with pytest.raises(RuntimeError, match="another graph"):
        g.erase_node(fx.Graph().placeholder("q"))
    n.meta["a"] = 1
    new = g.call_method("sum", (x,))
    n.replace_all_uses_with(new, propagate_meta=True)
    assert new.meta == {"a": 1}


def test_erasing_while_walking():
    g = fx.Graph()
    x = g.placeholder("x")
    for _ in range(4):
        g.call_function(torch.relu, (x,))
    for n in g.nodes:
        if n.op == "call_function":
            g.erase_node(n)
    assert list(g.nodes) == [x] and not x.users


NAMES = [("x", "x"), ("x", "x_1"), ("x_1", "x_2"), ("x_1", "x_3"), ("print", "print_1"), ("self", "self"),
         ("0abc", "_0abc"), ("a.b", "a_b"), ("a b", "a_b_1"), ("torch", "torch_1"), ("add", "add"),
         ("getattr", "getattr_1"), ("class", "class_1"), ("nan", "nan_1"), ("fooBar", "fooBar"), ("x_2_3", "x_2_3"),
         ("x_2", "x_4"), ("device", "device_1"), ("x_0", "x_0"), ("x_01", "x_01"), ("y_5", "y_5"), ("y_5", "y_6"),
         ("y", "y"), ("y", "y_7"), ("w", "w"), ("w", "w_1"), ("w_1", "w_2"), ("a-", "a_")]


def test_names_are_free_identifiers():
    g = fx.Graph()
    assert [g.create_node("placeholder", c, name=c).name for c, _ in NAMES] == [n for _, n in NAMES]


@pytest.mark.parametrize("target, name", [
    ("fooBar", "foo_bar"), ("ReLU", "re_lu"), ("BatchNorm2d", "batch_norm2d"), ("HTTPServer", "httpserver"),
    ("_FooBar", "_foo_bar"), ("a.B.c", "a_b_c"), ("__add__", "add"), ("*args", "_args")])
def test_names_of_targets(target, name):
    op = "call_method" if target.startswith("__") else "placeholder"
    assert fx.Graph().create_node(op, target).name == name


@pytest.mark.parametrize("function, name", [
    (torch.add, "add"), (operator.and_, "and_"), (lambda x: x, "_lambda_"), (F.relu, "relu"), (torch.nn.Linear, "linear"),
    (getattr, "getattr_1"), (torch.ops.aten.add.Tensor, "add_tensor"), (torch.ops.aten.relu.default, "relu_default"),
    (torch.ops.aten.relu, "relu"), (torch.ops.aten._to_copy.default, "_to_copy_default"), (torch.Tensor.__add__, "__add__")])
def test_names_of_functions(function, name):
    assert fx.Graph().call_function(function).name == name


@pytest.mark.parametrize("function, text", [
    (operator.iadd, "x += y;  iadd = x"), (operator.truediv, "truediv = x / y"), (operator.and_, "and_ = x & y"),
    (operator.not_, "not_ = _operator_not_(x, y)"), (operator.matmul, "matmul = x @ y"),
    (operator.getitem, "getitem = x[y]"), (getattr, "getattr_1 = getattr(x, y)"), (F.relu, "relu = torch.nn.functional.relu(x, y)"),
    (torch.relu, "relu = torch.relu(x, y)"), (torch._C._nn.gelu, "gelu = torch._C._nn.gelu(x, y)"),
    (torch.ops.aten.add.Tensor, "add_tensor = torch.ops.aten.add.Tensor(x, y)"),
    (torch.nn.Linear, "linear = torch.nn.modules.linear.Linear(x, y)"), (torch.Tensor, "tensor = torch.Tensor(x, y)"),
    (int, "int_1 = int(x, y)"), (print, "print_1 = print(x, y)"), (torch.tensor, "tensor = torch.tensor(x, y)"),
    (torch.is_tensor, "is_tensor = torch.is_tensor(x, y)"), (torch._assert, "_assert = torch._assert(x, y)"),
    (torch.Tensor.dim, "dim = torch_Tensor_dim(x, y)"), (torch.stack, "stack = torch.stack(x, y)"),
    (operator.itemgetter, "itemgetter = operator_itemgetter(x, y)"), (subprocess.run, "run = subprocess_run(x, y)"),
    (torch.einsum, "einsum = torch.functional.einsum(x, y)")])
def test_text_of_calls(function, text):
    g = fx.Graph()
    x, y = g.placeholder("x"), g.placeholder("y")
    g.output(g.call_function(function, (x, y)))
    assert g.python_code("self").src.split("\n")[4] == f"    {text};  x = y = None"


@pytest.mark.parametrize("value, text", [
    (float("inf"), "inf"), (-float("inf"), "-inf"), (float("nan"), "nan"), (1j, "complex(0.0, 1.0)"), (b"x", "b'x'"),
    (..., "Ellipsis"), (torch.float32, "torch.float32"), (torch.device("cuda", 1), "device(type='cuda', index=1)"),
    (torch.channels_last, "torch.channels_last"), (torch.Size([1, 2]), "(1, 2)"), ((1,), "(1,)"), ((), "()"),
    ({"a": [1.5]}, "{'a': [1.5]}"), (slice(1, None, 2), "slice(1, None, 2)"), (range(3), "range(0, 3)"),
    (torch.ops.aten.add.Tensor, "torch.ops.aten.add.Tensor"), ((float("inf"), [float("nan")]), "(inf, [nan])"),
    (torch.ones(2), "torch.Tensor(size=[2], dtype=float32)")])
def test_text_of_arguments(value, text):
    g = fx.Graph()
    g.call_function(torch.add, (g.placeholder("x"), value))
    assert g.python_code("self").src.split("\n")[4] == f"    add = torch.add(x, {text});  x = add = None"


def test_text_of_named_tuples_and_paths():
    g = fx.Graph()
    x = g.placeholder("x")
    g.call_function(torch.add, (x, Pair(1, x)))
    g.call_function(getattr, (x, "a b"))
    g.call_function(getattr, (x, "ab"))
    g.call_method("a b", (x,))
    g.get_attr("a.0.b")
    g.call_module("a.0.b.1", (), {"k": 1})
    code = g.python_code("m")
    assert code.src.split("\n")[4:-1] == [
        f"    add = torch.add(x, {__name__.replace('.', '_')}_Pair(1, x));  add = None",
        "    getattr_1 = getattr(x, 'a b');  getattr_1 = None",
        "    getattr_2 = x.ab;  getattr_2 = None",
        '    a_b = getattr(x, "a b")();  x = a_b = None',
        '    a_0_b = getattr(m.a, "0").b;  a_0_b = None',
        '    a_0_b_1 = getattr(getattr(m.a, "0").b, "1")(k = 1);  a_0_b_1 = None']
    assert code.globals[f"{__name__.replace('.', '_')}_Pair"] is Pair


def test_types():
    g = fx.Graph()
    x = g.placeholder("x", type_expr=typing.List[torch.Tensor])
    w = g.placeholder("w", type_expr=tuple[int, ...], default_value=())
    y = g.call_function(torch.add, (x, w), type_expr=typing.Optional[torch.Tensor])
    g.output((y,), type_expr=typing.Tuple[torch.Tensor])
    assert g.python_code("self").src == (
        "\n\n\ndef forward(self, x : typing_List[torch.Tensor], w : tuple[int,_] = ()) -> typing_Tuple[torch.Tensor]:\n"
        "    add : typing_Union[torch.Tensor,NoneType] = torch.add(x, w);  x = w = None\n"
        "    return (add,)\n    ")
    assert "%x : typing.List[torch.Tensor] [num_users=1] = placeholder[target=x]" in str(g)
    assert "%add : typing.Optional[torch.Tensor] [num_users=1]" in str(g)


def test_changed_names_and_targets():
    g, x, y, z, o = chain()
    y.name = "relu"
    assert "relu = torch.add(x, 1)\n    relu_1 = relu.relu()" in g.python_code("self").src
    y.name, y.target = "y", torch.mul
    assert g.find_nodes(op="call_function", target=torch.mul) == [y]
    assert g.find_nodes(op="call_function", target=torch.add) == []
    with pytest.raises(AssertionError):
        g.find_nodes(op="call_function")
    assert g.output_node() is o and g.find_nodes(op="placeholder") == [x]


def test_lint():
    g, x, y, z, o = chain()
    g.lint()
    other = fx.Graph().placeholder("q")
    bad = g.call_function(torch.add, (other,))
    with pytest.raises(RuntimeError, match="another graph"):
        g.lint()
    g.erase_node(bad)
    bad = g.get_attr("nope")
    g.owning_module = torch.nn.Module()
    with pytest.raises(RuntimeError, match="nope"):
        g.lint()
    with pytest.raises(AssertionError):
        g.create_node("foo", "x")
    with pytest.raises(ValueError):
        g.call_function("x")
    with pytest.raises(AssertionError):
        g.call_function(torch.add, [1])


@pytest.mark.parametrize("function, impure", [
    (torch.relu_, False), (F.dropout, False), (operator.setitem, True), (torch._assert, True), (torch.rand, True),
    (torch.ops.aten.add_.Tensor, True), (torch.ops.aten.rand.default, True), (torch.ops.aten.add.out, True),
    (torch.ops.aten.native_dropout.default, True), (torch.ops.aten.copy_.default, True), (print, False), (torch.add, False)])
def test_impure_nodes(function, impure):
    assert fx.Graph().call_function(function).is_impure() is impure


def test_has_side_effect():
    def told(x):
        return x
    assert fx.has_side_effect(told) is told
    g = fx.Graph()
    x = g.placeholder("x")
    g.call_function(told, (x,))
    g.output(x)
    assert not g.eliminate_dead_code() and len(g.nodes) == 3
    assert g.eliminate_dead_code(lambda n: n.op == "placeholder") and len(g.nodes) == 1


def test_copies():
    g, x, y, z, o = chain()
    y.meta["a"] = 1
    c = copy.deepcopy(g)
    assert str(c) == str(g) and c.find_nodes(op="call_function", target=torch.add)[0].meta == {"a": 1}
    target, env = fx.Graph(), {}
    result = target.graph_copy(g, env)
    assert result == (env[z], [env[x], {"k": env[y]}]) and [n.name for n in target.nodes] == ["x", "add", "relu"]
    target = fx.Graph()
    q = target.placeholder("q")
    assert target.node_copy(y, lambda n: q).args == (q, 1)


def test_pickling_long_graphs():
    g = fx.Graph()
    x = g.placeholder("x")
    for _ in range(3000):
        x = g.call_function(torch.relu, (x,))
    g.output(x)
    loaded = pickle.loads(pickle.dumps(g))
    assert str(loaded) == str(g)
    node = pickle.loads(pickle.dumps(list(g.nodes)[5]))
    assert node.name == "relu_4" and node.prev.name == "relu_3"


def test_transforming_generated_code():
    g, *_ = chain()
    before = g.python_code("self").src
    with g.on_generate_code(lambda current: lambda body: ['print("hi")\n', *body]):
        assert g.python_code("self").src == before.replace("(self, x):\n", '(self, x):\n    print("hi")\n')
    assert g.python_code("self").src == before

    class Boxed(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return super().gen_fn_def(["self", "box"], maybe_return_annotation) + "\n    [x] = box"

        def process_inputs(self, *args):
            return args[0]

        def generate_output(self, output_args):
            return f"return {{'out': {output_args}}}"

        def additional_globals(self):
            return [("List", typing.List)]
    g.set_codegen(Boxed())
    code = g.python_code("self")
    assert "def forward(self, box):\n    [x] = box\n" in code.src and "return {'out': (relu, [x, {'k': add}])}" in code.src
    assert code.globals["List"] is typing.List and g.process_inputs([3]) == [3]


def test_immutable_collections():
    a = immutable_list([1, 2])
    assert a == [1, 2] and hash(a) == hash(immutable_list([1, 2])) and type(a + [3]) is list
    assert type(copy.copy(a)) is immutable_list and pickle.loads(pickle.dumps(a)) == a
    leaves, spec = torch.utils._pytree.tree_flatten(immutable_dict(a=a, b=3))
    assert leaves == [1, 2, 3]
    back = torch.utils._pytree.tree_unflatten(leaves, spec)
    assert type(back) is immutable_dict and type(back["a"]) is immutable_list


def test_mapping_arguments():
    g, x, y, z, o = chain()
    assert fx.map_arg((x, [1, y], {"k": z}, slice(x, None)), lambda n: n.name) == ("x", [1, "add"], {"k": "relu"}, slice("x", None))
    assert fx.node.map_aggregate(Pair(1, 2), lambda v: v + 1) == Pair(2, 3)
    assert type(fx.node.map_aggregate([1], lambda v: v)) is immutable_list


def test_an_overload_whose_name_is_a_word_of_python():
    from torch.fx.experimental.proxy_tensor import make_fx
    graph = make_fx(lambda x: x.clone().random_(-3, 4))(torch.zeros(50))
    assert "getattr(torch.ops.aten.random_, 'from')" in graph.code
    torch.manual_seed(0)
    got = graph(torch.zeros(50))
    torch.manual_seed(0)
    assert torch.equal(got, torch.zeros(50).random_(-3, 4))
