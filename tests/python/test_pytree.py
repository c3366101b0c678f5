"""Trees: what is a node, specs as text and JSON, paths."""
import collections
import dataclasses
import pickle

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.utils import _pytree as pytree  # noqa: E402

Pair = collections.namedtuple("Pair", "x y")
TREE = {"a": [1, (2, 3)], "b": None}


@pytest.mark.parametrize("tree, leaves, text", [
    (TREE, [1, 2, 3, None], "TreeSpec(dict, ['a', 'b'], [TreeSpec(list, None, [*,\n"
     "    TreeSpec(tuple, None, [*,\n      *])]),\n  *])"),
    (Pair(1, [2]), [1, 2], None), (collections.OrderedDict(b=1, a=2), [1, 2], None),
    (collections.deque([1, 2], maxlen=3), [1, 2], "TreeSpec(deque, 3, [*,\n  *])"),
    (collections.defaultdict(list, a=1), [1], None), (5, [5], "*"), (None, [None], "*"),
    ((), [], "TreeSpec(tuple, None, [])"), (slice(1, 2), [slice(1, 2)], "*"),
    ({"b": 1, "a": 2}, [1, 2], "TreeSpec(dict, ['b', 'a'], [*,\n  *])")])
def test_round_trip(tree, leaves, text):
    got, spec = pytree.tree_flatten(tree)
    assert got == leaves and spec.num_leaves == len(leaves)
    again = pytree.tree_unflatten(got, spec)
    assert again == tree and type(again) is type(tree)
    assert pickle.loads(pickle.dumps(spec)) == spec and hash(spec) == hash(
        pytree.tree_structure(tree))
    if text is not None:
        assert repr(spec) == text


def test_results_of_operators_are_nodes():
    result = torch.max(torch.tensor([[1.0, 2.0]]), 1)
    doubled = pytree.tree_map(lambda t: t * 2, result)
    assert type(doubled) is type(result) and doubled.values.item() == 4


def test_map_and_its_errors():
    assert pytree.tree_map(lambda a, b: a + b, [1, (2,)], [3, (4,)]) == [4, (6,)]
    assert pytree.tree_map(lambda a, b: (a, b), [1, 2], [3, [4]]) == [(1, 3), (2, [4])]
    for other in ([3], (3, 4), [3, 4, 5]):
        with pytest.raises(ValueError):
            pytree.tree_map(lambda a, b: a, [1, 2], other)
    with pytest.raises(ValueError, match="1 leaves"):
        pytree.tree_unflatten([1], pytree.tree_structure(TREE))
    assert pytree.tree_map_only(int, lambda x: x + 1, [1, "a"]) == [2, "a"]
    assert pytree.tree_any(lambda x: x > 1, [1, 2]) and not pytree.tree_all(
        lambda x: x > 1, [1, 2])
    assert pytree.arg_tree_leaves(1, [2], a=(3,)) == [1, 2, 3]
    assert pytree.tree_leaves([1, [2]], is_leaf=lambda x: x == [2]) == [1, [2]]


def test_paths():
    pairs, _ = pytree.tree_flatten_with_path(TREE)
    assert [pytree.keystr(p) for p, _ in pairs] == ["['a'][0]", "['a'][1][0]", "['a'][1][1]",
                                                   "['b']"]
    assert all(pytree.key_get(TREE, p) == leaf for p, leaf in pairs)
    assert pytree.tree_map_with_path(lambda p, x: len(p), TREE) == {"a": [2, (3, 3)], "b": 1}


def test_json():
    spec = pytree.tree_structure(TREE)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert pytree.treespec_pprint(spec) == "{'a': [*, (*, *)], 'b': *}"


def test_broadcast():
    spec = pytree.tree_structure([0, [0, 0]])
    assert pytree._broadcast_to_and_flatten([1, 2], spec) == [1, 2, 2]
    assert pytree._broadcast_to_and_flatten(5, spec) == [5, 5, 5]
    assert pytree._broadcast_to_and_flatten([1, 2, 3], spec) is None


def test_registered_types():
    class Box:
        def __init__(self, a):
            self.a = a

    pytree.register_pytree_node(Box, lambda b: ([b.a], None), lambda v, c: Box(*v))
    assert pytree.tree_map(lambda x: x + 1, Box(2)).a == 3
    with pytest.raises(ValueError, match="already"):
        pytree.register_pytree_node(Box, None, None)
    with pytest.raises(ValueError, match="flatten_with_keys_fn"):
        pytree.tree_flatten_with_path(Box(1))

    @dataclasses.dataclass
    class Point:
        x: int
        y: int

    pytree.register_dataclass(Point)
    assert pytree.tree_map(lambda v: v * 2, Point(1, 2)) == Point(2, 4)

    @dataclasses.dataclass(frozen=True)
    class Name:
        n: str

    pytree.register_constant(Name)
    leaves, spec = pytree.tree_flatten([Name("a"), 2])
    assert leaves == [2] and spec != pytree.tree_structure([Name("b"), 2])
    assert pytree.tree_unflatten([3], spec) == [Name("a"), 3]
