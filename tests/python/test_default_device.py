"""`with torch.device(...)` and set_default_device: where factories allocate, and what does not ask."""
import threading

import pytest
import torch

META = torch.device("meta")


@pytest.fixture(autouse=True)
def put_back():
    yield
    torch.set_default_device(None)


FACTORIES = [
    lambda **k: torch.ones(2, **k), lambda **k: torch.zeros((2, 3), **k), lambda **k: torch.empty(2, **k),
    lambda **k: torch.full((2,), 1.0, **k), lambda **k: torch.arange(3, **k), lambda **k: torch.linspace(0, 1, 3, **k),
    lambda **k: torch.logspace(0, 1, 2, **k), lambda **k: torch.eye(2, **k), lambda **k: torch.rand(2, **k),
    lambda **k: torch.randn(2, **k), lambda **k: torch.randint(3, (2,), **k), lambda **k: torch.randperm(3, **k),
    lambda **k: torch.tril_indices(2, 2, **k), lambda **k: torch.triu_indices(2, 2, **k),
    lambda **k: torch.empty_strided((2,), (1,), **k), lambda **k: torch.scalar_tensor(1.0, **k),
    lambda **k: torch.tensor([1]), lambda **k: torch.as_tensor([1])]


@pytest.mark.parametrize("make", FACTORIES)
def test_factories_ask_for_the_default_device(make):
    assert make().device.type == "cpu"
    with META:
        assert make().device == META
        assert make(device=None).device == META
        with torch.device("cpu"):
            assert make().device.type == "cpu"
        assert make().device == META
    torch.set_default_device("meta")
    assert make().device == META


def test_a_device_that_is_given_counts():
    with META:
        assert torch.ones(2, device="cpu").device.type == "cpu"
        assert torch.tensor([1], device="cpu").device.type == "cpu"


def test_layers_and_parameters():
    with META:
        layer = torch.nn.Linear(2, 3)
        assert {p.device for p in layer.parameters()} == {META}
        assert torch.nn.BatchNorm1d(2).num_batches_tracked.device == META
        assert torch.nn.Parameter().device == META
        assert torch.nn.Parameter(torch.ones(2, device="cpu")).device.type == "cpu"
        assert torch.nn.LSTM(2, 3).weight_ih_l0.device == META
    assert torch.nn.Linear(2, 3).weight.device.type == "cpu"


def test_tensors_come_to_the_default_device_where_data_does():
    x = torch.ones(2)
    with META:
        assert torch.as_tensor(x).device == META


@pytest.mark.parametrize("make", [
    lambda x: torch.zeros_like(x), lambda x: x.new_ones(2), lambda x: x.new_tensor([1]), lambda x: x.new(2), lambda x: x.new(),
    lambda x: torch.normal(0.0, 1.0, (2,)), lambda x: torch.normal(x), lambda x: torch.ops.aten.ones.default([2]),
    lambda x: torch.ops.aten.ones([2]), lambda x: torch.Tensor(2), lambda x: torch.Tensor([1, 2]), lambda x: torch.Tensor(),
    lambda x: torch.FloatTensor(2), lambda x: torch.FloatTensor([1]), lambda x: torch.FloatTensor(), lambda x: torch.UntypedStorage(4),
    lambda x: x + 1, lambda x: torch.where(x > 0, 1.0, 2.0), lambda x: torch.einsum("i,i->i", x, x),
    lambda x: torch.searchsorted(x, 1), lambda x: torch.bucketize(3, x), lambda x: torch.frombuffer(bytearray(4), dtype=torch.uint8),
    lambda x: torch.nn.functional.one_hot(x.long()), lambda x: torch.Generator()])
def test_what_does_not_ask(make):
    x = torch.ones(2)
    with META:
        assert make(x).device.type == "cpu"


def test_each_thread_has_its_own():
    seen = []
    with META:
        thread = threading.Thread(target=lambda: seen.extend((torch.get_default_device(), torch.ones(1).device)))
        thread.start()
        thread.join()
        assert torch.get_default_device() == META
    assert seen == [torch.device("cpu")] * 2


def test_an_error_puts_the_device_back():
    with pytest.raises(ValueError):
        with META:
            raise ValueError
    assert torch.ones(1).device.type == "cpu"


def test_under_transforms_and_traces():
    with META:
        x = torch.ones(3)
        assert torch.func.grad(lambda a: (a * torch.ones(3)).sum())(x).device == META
        assert torch.func.vmap(lambda a: torch.ones(2) + a)(x).device == META
        graph = torch.fx.experimental.proxy_tensor.make_fx(lambda a: a + torch.ones(2))(torch.ones(2))
    ones = next(n for n in graph.graph.nodes if n.target is torch.ops.aten.ones.default)
    assert ones.kwargs == {"device": META, "pin_memory": False}


def test_compiled_code_follows_it():
    f = torch.compile(lambda x: x + torch.ones(2, device=x.device), fullgraph=True)
    g = torch.compile(lambda: torch.ones(2) * 2)
    x = torch.ones(2)
    assert f(x).device.type == g().device.type == "cpu"
    with META:
        assert f(x).device.type == "cpu"
        assert g().device == META
    assert g().device.type == "cpu"


def test_loaders_draw_on_the_cpu():
    torch.manual_seed(3)
    expected = list(torch.utils.data.RandomSampler(range(9)))
    torch.set_default_device("meta")
    torch.manual_seed(3)
    assert list(torch.utils.data.RandomSampler(range(9))) == expected
