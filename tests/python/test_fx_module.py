"""GraphModules, interpreters and transformers. Texts are those of PyTorch 2.14.1."""
import copy
import importlib
import pickle
import sys
import traceback

import pytest
import torch
import torch.fx as fx
import torch.nn.functional as F
from torch import nn


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
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return F.relu(self.sub(x)) * self.w


class Block(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o)
        self.down = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o)) if stride != 1 else None

    def forward(self, x):
        identity = x if self.down is None else self.down(x)
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += identity
        return self.relu(out)


class Attention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.proj = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (y.view(b, t, self.h, c // self.h).transpose(1, 2) for y in (self.qkv(x)[..., i * 8:i * 8 + 8] for i in range(3)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).contiguous().view(b, t, c))


def test_a_module_of_a_graph():
    m = Outer()
    gm = fx.symbolic_trace(m)
    assert str(gm) == (
        "Outer(\n  (sub): Module(\n    (l): Linear(in_features=2, out_features=2, bias=True)\n  )\n)\n\n\n\n"
        "def forward(self, x):\n    sub_l = self.sub.l(x);  x = None\n    sub_b = self.sub.b\n"
        "    add = sub_l + sub_b;  sub_l = sub_b = None\n"
        "    relu = torch.nn.functional.relu(add, inplace = False);  add = None\n    w = self.w\n"
        "    mul = relu * w;  relu = w = None\n    return mul\n    \n"
        "# To see more debug info, please use `graph_module.print_readable()`")
    x = torch.randn(3, 2)
    assert torch.equal(gm(x), m(x)) and gm.w is m.w and gm.sub.l is m.sub.l
    assert set(gm.state_dict()) == {"w", "sub.b", "sub.l.weight", "sub.l.bias"} and gm.training
    assert type(gm).__name__ == "Outer" and isinstance(gm, fx.GraphModule) and gm.graph.owning_module is gm
    assert not fx.symbolic_trace(Outer().eval()).training


def test_recompiling():
    gm = fx.symbolic_trace(Outer())
    other = fx.symbolic_trace(Outer())
    node = gm.graph.find_nodes(op="call_function", target=F.relu)[0]
    node.target, node.kwargs = torch.sigmoid, {}
    x = torch.randn(3, 2)
    before = gm(x)
    code = gm.recompile()
    assert code.src == gm.code and "torch.sigmoid(add)" in gm.code and "sigmoid" not in other.code
    assert torch.equal(gm(x), torch.sigmoid(gm.sub.l(x) + 1) * gm.w) and not torch.equal(before, gm(x))


def test_roots():
    g = fx.Graph()
    x = g.placeholder("x")
    g.output((g.get_attr("a.w"), g.call_module("a.b.l", (x,))))
    w, layer = nn.Parameter(torch.ones(2)), nn.Linear(2, 2)
    gm = fx.GraphModule({"a.w": w, "a.b.l": layer}, g, "Foo")
    assert repr(gm) == ("Foo(\n  (a): Module(\n    (b): Module(\n"
                        "      (l): Linear(in_features=2, out_features=2, bias=True)\n    )\n  )\n)")
    assert gm.a.w is w and gm.a.b.l is layer and isinstance(gm(torch.ones(2)), tuple)
    with pytest.raises(RuntimeError):
        fx.GraphModule({"a.w": w}, g)
    with pytest.raises(RuntimeError):
        fx.GraphModule(3, g)
    with pytest.raises(AttributeError):
        fx.GraphModule(nn.Module(), g)


def test_copies_and_pickles():
    gm = fx.symbolic_trace(Outer())
    gm.meta["a"] = 1
    x = torch.randn(3, 2)
    deep = copy.deepcopy(gm)
    assert deep.code == gm.code and deep.sub.l is not gm.sub.l and deep.meta == {"a": 1}
    assert deep.graph is not gm.graph and torch.equal(deep(x), gm(x)) and type(deep) is not type(gm)
    shallow = copy.copy(gm)
    assert shallow.sub.l is gm.sub.l and shallow.code == gm.code
    loaded = pickle.loads(pickle.dumps(gm))
    assert loaded.code == gm.code and str(loaded.graph) == str(gm.graph) and torch.equal(loaded(x), gm(x))
    assert loaded.meta == {"a": 1} and type(loaded).__name__ == "Outer"


def test_pickles_of_nested_arguments():
    gm = fx.symbolic_trace(lambda x: {"r": x["a"] + 1}, concrete_args={"x": {"a": fx.PH}})
    loaded = pickle.loads(pickle.dumps(gm))
    assert loaded.code == gm.code and loaded({"a": 2}) == {"r": 3}
    assert copy.deepcopy(gm)({"a": 2}) == {"r": 3}


def test_folders(tmp_path):
    gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    with pytest.warns(UserWarning):
        gm.to_folder(tmp_path / "made_by_fx", "Foo")
    sys.path.insert(0, str(tmp_path))
    try:
        made = importlib.import_module("made_by_fx").Foo()
    finally:
        sys.path.remove(str(tmp_path))
    x = torch.randn(3, 2)
    assert torch.equal(made(x), gm(x))


def test_submodules():
    gm = fx.symbolic_trace(Outer())
    assert gm.add_submodule("x.y.z", nn.Linear(1, 1)) and gm.delete_submodule("x.y.z")
    assert not gm.delete_submodule("nope") and not gm.add_submodule("w.x", nn.Linear(1, 1))
    assert [n for n, _ in gm.named_modules()] == ["", "sub", "sub.l", "x", "x.y"]
    gm.delete_all_unused_submodules()
    assert [n for n, _ in gm.named_modules()] == ["", "sub", "sub.l"]
    with pytest.warns(UserWarning):
        gm.graph.get_attr("nope")


def test_readable_text():
    gm = fx.symbolic_trace(Outer())

    class T(fx.Tracer):
        def is_leaf_module(self, m, name):
            return True
    m = Outer()
    gm = fx.GraphModule(m, T().trace(m))
    gm.sub = fx.symbolic_trace(m.sub)
    fx.passes.shape_prop.ShapeProp(gm).propagate(torch.ones(3, 2))
    assert gm.print_readable(print_output=False) == (
        'class GraphModule(torch.nn.Module):\n    def forward(self, x: "f32[3, 2]"):\n'
        "        # No stacktrace found for following nodes\n"
        '        sub: "f32[3, 2]" = self.sub(x);  x = None\n'
        '        relu: "f32[3, 2]" = torch.nn.functional.relu(sub, inplace = False);  sub = None\n'
        '        w: "f32[2]" = self.w\n        mul: "f32[3, 2]" = relu * w;  relu = w = None\n        return mul\n\n'
        "    class sub(torch.nn.Module):\n        def forward(self, x):\n"
        "            # No stacktrace found for following nodes\n            l = self.l(x);  x = None\n"
        "            b = self.b\n            add = l + b;  l = b = None\n            return add\n")
    for n in gm.graph.nodes:
        n.meta["val"] = torch.ones(2, 3)
    assert 'sub: "f32[2, 3][3, 1]cpu" = self.sub(x)' in gm.print_readable(False, include_stride=True, include_device=True)
    assert "    def forward(\n        self,\n        x: \"f32[2, 3]\",\n    ):" in gm.print_readable(False, expanded_def=True)
    gm.graph.output_node().args[0].stack_trace = 'File "a.py", line 3, in f\n    y = x+1'
    assert "\n\n        # File: a.py:3 in f, code: y = x+1\n" in gm.print_readable(False)
    assert '"\x1b[31mf32\x1b[0m\x1b[34m[2, 3]\x1b[0m' in gm.print_readable(False, colored=True)


def test_errors_show_the_generated_line(capsys):
    gm = fx.symbolic_trace(lambda x: torch.mm(x, x))
    with pytest.raises(RuntimeError) as caught:
        gm(torch.ones(2, 3))
    assert "mm = torch.mm(x, x);  x = None" in "".join(traceback.format_exception(caught.value))
    assert "mm = torch.mm(x, x);  x = None\n" in capsys.readouterr().err


def test_hooks_of_edits():
    gm = fx.symbolic_trace(Outer())
    made, erased, replaced = [], [], []
    gm._register_create_node_hook(made.append)
    gm._register_erase_node_hook(erased.append)
    node = gm.graph.find_nodes(op="call_function", target=F.relu)[0]
    with gm._set_replace_hook(lambda old, new, user: replaced.append((old.name, new, user.name))):
        with gm.graph.inserting_after(node):
            new = gm.graph.call_function(torch.relu, node.args)
        node.replace_all_uses_with(new)
    gm.graph.erase_node(node)
    assert made == [new] and erased == [node] and replaced == [("relu", "relu_1", "mul")]


def test_interpreters():
    m = Outer()
    gm = fx.symbolic_trace(m)
    seen = []

    class I(fx.Interpreter):
        def run_node(self, n):
            seen.append((n.op, set(str(k) for k in self.env)))
            return super().run_node(n)
    x = torch.randn(3, 2)
    assert torch.equal(I(gm).run(x), m(x))
    assert seen[3] == ("call_function", {"sub_l", "sub_b"}) and seen[4] == ("call_function", {"add"})
    assert torch.equal(fx.Interpreter(gm).boxed_run([x]), m(x))
    full = fx.Interpreter(gm, garbage_collect_values=False)
    full.run(x)
    assert len(full.env) == len(gm.graph.nodes)
    with pytest.raises(RuntimeError):
        fx.Interpreter(gm).run()
    with pytest.raises(RuntimeError, match="While executing %sub_l"):
        fx.Interpreter(gm).run(torch.ones(3))
    node = gm.graph.find_nodes(op="call_module", target="sub.l")[0]
    assert torch.equal(fx.Interpreter(gm).run(x, initial_env={node: x}), F.relu(x + 1) * m.w)


def test_transformers():
    class T(fx.Transformer):
        def call_function(self, target, args, kwargs):
            if target is F.relu:
                return super().call_function(torch.neg, args[:1], {})
            return super().call_function(target, args, kwargs)
    m = Outer()
    x = torch.randn(3, 2)
    made = T(fx.symbolic_trace(m)).transform()
    assert torch.equal(made(x), -(m.sub(x)) * m.w) and "neg = torch.neg(add);  add = None" in made.code


RESNET = """
    conv1 = self.conv1(x);  x = None
    bn1 = self.bn1(conv1);  conv1 = None
    relu = torch.nn.functional.relu(bn1, inplace = False);  bn1 = None
    maxpool = self.maxpool(relu);  relu = None
    layer1_0_conv1 = getattr(self.layer1, "0").conv1(maxpool)
    layer1_0_bn1 = getattr(self.layer1, "0").bn1(layer1_0_conv1);  layer1_0_conv1 = None
    layer1_0_relu = getattr(self.layer1, "0").relu(layer1_0_bn1);  layer1_0_bn1 = None
    layer1_0_conv2 = getattr(self.layer1, "0").conv2(layer1_0_relu);  layer1_0_relu = None
    layer1_0_bn2 = getattr(self.layer1, "0").bn2(layer1_0_conv2);  layer1_0_conv2 = None
    add = layer1_0_bn2 + maxpool;  layer1_0_bn2 = maxpool = None
    layer1_0_relu_1 = getattr(self.layer1, "0").relu(add);  add = None
    layer2_0_down_0 = getattr(getattr(self.layer2, "0").down, "0")(layer1_0_relu_1)
    layer2_0_down_1 = getattr(getattr(self.layer2, "0").down, "1")(layer2_0_down_0);  layer2_0_down_0 = None
    layer2_0_conv1 = getattr(self.layer2, "0").conv1(layer1_0_relu_1);  layer1_0_relu_1 = None
    layer2_0_bn1 = getattr(self.layer2, "0").bn1(layer2_0_conv1);  layer2_0_conv1 = None
    layer2_0_relu = getattr(self.layer2, "0").relu(layer2_0_bn1);  layer2_0_bn1 = None
    layer2_0_conv2 = getattr(self.layer2, "0").conv2(layer2_0_relu);  layer2_0_relu = None
    layer2_0_bn2 = getattr(self.layer2, "0").bn2(layer2_0_conv2);  layer2_0_conv2 = None
    add_1 = layer2_0_bn2 + layer2_0_down_1;  layer2_0_bn2 = layer2_0_down_1 = None
    layer2_0_relu_1 = getattr(self.layer2, "0").relu(add_1);  add_1 = None
    avgpool = self.avgpool(layer2_0_relu_1);  layer2_0_relu_1 = None
    flatten = torch.flatten(avgpool, 1);  avgpool = None
    fc = self.fc(flatten);  flatten = None
    return fc"""


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        self.layer1, self.layer2 = nn.Sequential(Block(8, 8)), nn.Sequential(Block(8, 16, 2))
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(16, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(self.maxpool(F.relu(self.bn1(self.conv1(x))))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def test_a_residual_network():
    m = ResNet()
    gm = fx.symbolic_trace(m)
    assert gm.code.strip().split("\n")[1:] == RESNET.strip("\n").split("\n")
    x = torch.randn(2, 3, 32, 32)
    gm.eval(), m.eval()
    assert torch.equal(gm(x), m(x))


def test_a_transformer():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.a, self.n2 = nn.LayerNorm(8), Attention(8, 2), nn.LayerNorm(8)
            self.mlp = nn.ModuleDict(dict(fc=nn.Linear(8, 32), act=nn.GELU(), out=nn.Linear(32, 8)))

        def forward(self, x):
            x = x + self.a(self.n1(x))
            return x + self.mlp["out"](self.mlp["act"](self.mlp["fc"](self.n2(x))))
    m = nn.Sequential(nn.Embedding(11, 8), Layer(), Layer(), nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True))
    gm = fx.symbolic_trace(m)
    assert [n.target for n in gm.graph.nodes if n.op == "call_module"] == [
        "0", *(f"{i}.{k}" for i in (1, 2) for k in ("n1", "a.qkv", "a.qkv", "a.qkv", "a.proj", "n2", "mlp.fc", "mlp.act", "mlp.out")), "3"]
    x = torch.randint(0, 11, (2, 5))
    assert torch.equal(gm(x), m(x))
