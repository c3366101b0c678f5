"""Lists of operators beside the cards, held to the registry: an operator of their kind that is new must be placed, or the test fails."""
import pathlib
import re

import pytest
import torch
from torch._dynamo import allowed
from torch._functorch.partitioners import _HEAVY, is_recomputable
from torch._subclasses import shape_rules, symbolic
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

aten = torch.ops.aten
ROOT = pathlib.Path(__file__).parents[2]


def overloads(form="functional"):
    """Every overload of aten of a form, with what its card says."""
    for name in torch._C._op_names():
        for o in (() if "::" in name else getattr(aten, name).overloads()):
            func = getattr(getattr(aten, name), o)
            info = torch._C._op_info(func._full)
            if form in (None, info["form"]):
                yield func, info


def name_of(func):
    return func._overloadpacket.__name__


def takes(func, kind):
    return any(kind in str(a.type) and not a.is_out for a in func._schema.arguments)


# ---- what a backward computes again ----
def test_random_draws_are_not_computed_again():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    draws = [f for f, _ in overloads(None) if takes(f, "Generator")]
    assert len(draws) > 40
    for f in (*draws, aten.native_dropout.default, aten.dropout.default, aten.rand_like.default, aten.normal_.default):
        node = graph.call_function(f, (x,))
        assert node.is_impure() and not is_recomputable(node), f
    assert not graph.call_function(aten.sin.default, (x,)).is_impure()


# Of the folders of dear operators, those as cheap as reading what they give: outer products, softmax, copies.
CHEAP = {"addr", "_safe_softmax", "_pack_padded_sequence", "_pad_packed_sequence_to"}


def test_dear_operators_are_named():
    registry = {n for n in torch._C._op_names() if "::" not in n}
    assert sorted(_HEAVY - registry) == []
    missing, found = set(), set()
    for family in ("matmul", "conv", "attention", "sort", "rnn"):
        for header in (ROOT / "ops" / family).glob("*.h"):
            for full in re.findall(r'"(\w+(?:\.\w+)?)\(Tensor', header.read_text()):
                info = torch._C._op_info(full)
                name = full.partition(".")[0]
                if (info and info["form"] == "functional" and info["differentiable"] and not info["dynamic_shape"] and "backward" not in name
                        and info["kind"] in ("structured", "direct", "lowered")):
                    found.add(name)
                    missing |= {name} - _HEAVY - CHEAP
    assert sorted(missing) == [] and {"mm", "convolution", "sort"} | CHEAP <= found


# ---- shapes that elements decide ----
MASK = [True, False, True]
# Calls of those of which a trace with sizes without example knows no rule: it says so.
WITHOUT_A_SIZE = {
    "_masked_take": lambda x: aten._masked_take(x, x > 0), "_unique": lambda x: aten._unique(x), "_unique2": lambda x: aten._unique2(x),
    "argwhere": None, "bincount": lambda x: torch.bincount(x.long()), "nonzero_numpy": None, "one_hot": lambda x: torch.nn.functional.one_hot(x.long()),
    "repeat_interleave": lambda x: torch.repeat_interleave(x.long()), "tensor_split": lambda x: torch.tensor_split(x, x.long()),
    "unique_consecutive": lambda x: torch.unique_consecutive(x), "unique_dim": lambda x: torch.unique(x.view(3, 1), dim=0),
    "unique_dim_consecutive": lambda x: aten.unique_dim_consecutive(x, 0), "where": None}


def test_shapes_that_elements_decide_have_a_rule_or_are_refused():
    dynamic = {f for f, info in overloads() if info["dynamic_shape"]}
    assert set(symbolic.UNKNOWN_SIZES) <= dynamic
    assert {name_of(f) for f in dynamic - set(symbolic.UNKNOWN_SIZES)} == set(WITHOUT_A_SIZE)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_tensor(torch.tensor([1., 2, 2]))
        for name, call in WITHOUT_A_SIZE.items():
            if call:
                with pytest.raises((DynamicOutputShapeException, NotImplementedError, RuntimeError)):
                    call(x)
        for f in symbolic.UNKNOWN_SIZES:
            with pytest.raises(DynamicOutputShapeException):
                with FakeTensorMode() as plain:
                    f(*([plain.from_tensor(torch.ones(3))] + ([plain.from_tensor(torch.ones(3) > 0)] if "masked" in str(f) else [])))


# Indices of these are no masks: they are what other operators of the list come down to.
INDICES_ALONE = {"_unsafe_index", "_index_put_impl_"}


def test_operators_on_indices_know_masks():
    on_indices = {f for f, _ in overloads(None) if "Tensor?[]" in str(f._schema) and not any(a.is_out for a in f._schema.arguments)}
    assert {name_of(f) for f in on_indices - set(shape_rules.BY_ELEMENTS)} == INDICES_ALONE
    with FakeTensorMode() as mode:
        x, mask, v = (mode.from_tensor(t) for t in (torch.ones(3), torch.tensor(MASK), torch.tensor(5.)))
        for f in on_indices & set(shape_rules.BY_ELEMENTS):
            if "index_put" in str(f):
                assert f(x, [mask], v).shape == (3,)
            else:
                with pytest.raises(DynamicOutputShapeException):
                    f(x, [mask])


# ---- what compiled functions may call ----
def public(name):
    return getattr(torch, name, None) or getattr(torch.Tensor, name, None)


def test_plain_values_of_data_do_not_reach_python():
    facts = allowed.TENSOR_FACTS | allowed.TENSOR_SHAPE_FACTS
    seen = set()
    for f, _ in overloads():
        returns = [str(r.type) for r in f._schema.returns]
        if takes(f, "Tensor") and returns and not any("Tensor" in r for r in returns):
            seen.add(name_of(f))
            p = public(name_of(f))
            assert name_of(f) in facts or p is None or allowed.operator_name(p) is None, f
    assert {"equal", "is_floating_point"} <= seen


def test_functions_that_make_tensors_are_known():
    makers, random = set(), set()
    for f, _ in overloads():
        name = name_of(f)
        if takes(f, "Tensor") or name[0] == "_" or not callable(vars(torch).get(name)) or not any("Tensor" in str(r.type) for r in f._schema.returns):
            continue
        makers.add(name)
        if takes(f, "Generator"):
            random.add(name)
    # PyTorch says of range that it will go; of empty_permuted nothing is known, so that functions are left there.
    assert sorted(makers - set(allowed._FACTORIES)) == ["empty_permuted", "range"]
    assert random == set(allowed.RANDOM_WITHOUT_INPUT)
    assert not allowed.FIXED_MAKERS & random and not allowed.FIXED_MAKERS & {"empty", "empty_strided"}
