"""Storages without bytes, memory that others see, and tensors that may not take what is offered."""
import copy
import io

import numpy as np
import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode


def without_bytes():
    return {"meta": torch.ones(2, 3, device="meta").untyped_storage(), "sized": torch.UntypedStorage(24, device="meta"),
            "fake": FakeTensorMode().from_tensor(torch.ones(2, 3)).untyped_storage()}


@pytest.mark.parametrize("kind", ["meta", "sized", "fake"])
def test_a_storage_without_bytes_is_not_read(kind):
    s = without_bytes()[kind]
    for read in (lambda: s[0], s.tolist, lambda: torch.ones(6).untyped_storage().copy_(s)):
        with pytest.raises(NotImplementedError, match="24 bytes"):
            read()
    s[0] = 1
    s.fill_(2)
    s.copy_(torch.ones(6).untyped_storage())
    assert s.clone().nbytes() == copy.copy(s).nbytes() == copy.deepcopy(s).nbytes() == 24
    assert s[1:3].nbytes() == 2


def test_copies_of_modules_on_meta():
    assert copy.deepcopy(torch.ones(2, 3, device="meta")).is_meta
    assert copy.deepcopy(nn.BatchNorm1d(3, device="meta")).running_mean.is_meta
    assert copy.deepcopy(nn.Linear(2, 3, device="meta").state_dict())["weight"].is_meta
    a, b = copy.deepcopy([torch.ones(2, device="meta"), torch.ones(3, device="meta")])
    assert (a.shape, b.shape) == ((2,), (3,))
    with pytest.raises(RuntimeError):
        nn.Linear(2, 3, device="meta").share_memory()


@pytest.mark.parametrize("export", [lambda t: t.numpy(), np.asarray, np.from_dlpack, torch.from_dlpack])
def test_memory_that_was_exported_stays(export):
    t = torch.ones(3_000)
    seen = export(t)
    for grow in (lambda: t.resize_(6_000), lambda: t.untyped_storage().resize_(48_000), lambda: t.untyped_storage().resize_(0),
                 lambda: torch.add(torch.ones(6_000), 1, out=t)):
        with pytest.raises(RuntimeError, match="sees or owns"):
            grow()
    assert t.resize_(10, 10).shape == (10, 10)   # within what is there
    assert bool((seen == 1).all())


def test_a_saved_tensor_may_still_grow():
    t = torch.ones(4)
    torch.save(t, io.BytesIO())
    assert t.resize_(100).shape == (100,)


def test_a_tensor_stays_on_its_device():
    cpu, meta = torch.ones(2), torch.ones(2, 3, device="meta")
    with pytest.raises(RuntimeError, match=r"\[2\] on cpu .*\[2, 3\] on meta"):
        cpu.data = meta
    with pytest.raises(RuntimeError, match="on meta"):
        torch.empty(0, device="meta").set_(torch.ones(6).untyped_storage(), 0, (6,))
    assert cpu.device.type == "cpu" and nn.Linear(2, 3).to("meta").weight.is_meta
    assert nn.Linear(2, 3, device="meta").to_empty(device="cpu").weight.device.type == "cpu"


def test_a_tensor_with_a_tangent_keeps_its_shape():
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2, 3), torch.ones(2, 3))
        with pytest.raises(RuntimeError, match="tangent"):
            dual.resize_(3, 2)
        with pytest.raises(RuntimeError, match="tangent"):
            dual.set_(torch.ones(2))


def test_reversed():
    x = torch.arange(6.0).view(2, 3)
    assert torch.equal(reversed(x), x.flip(0))
    assert torch.equal(reversed(torch.tensor(3)), torch.tensor(3))
