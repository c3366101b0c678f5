"""Tensors in memory that several processes see."""
import os

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402


def fill(tensor, value):
    tensor.fill_(value)


def through(queue, back):
    t = queue.get()
    t.add_(1)
    back.put(t * 2)
    queue.get()  # stays until the other side has read


def fails(i):
    if i == 1:
        raise KeyError("boom")


def leaves(i):
    os._exit(7)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_writes_what_the_parent_sees(method):
    t = torch.zeros(4, 3).share_memory_()
    assert t.is_shared() and not torch.zeros(1).is_shared()
    view = t[1:3].t()
    process = mp.get_context(method).Process(target=fill, args=(view, 5.0))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert t.tolist() == [[0, 0, 0], [5, 5, 5], [5, 5, 5], [0, 0, 0]]


def test_parameters_stay_parameters_and_shared():
    p = torch.nn.Parameter(torch.ones(2))
    assert p.share_memory_() is p and p.is_shared() and p.requires_grad and p.is_leaf
    process = mp.get_context("spawn").Process(target=fill_data, args=(p,))
    process.start()
    process.join()
    assert p.tolist() == [3, 3]


def fill_data(p):
    assert type(p) is torch.nn.Parameter
    p.data.fill_(3)


def test_queues():
    context = mp.get_context("fork")
    queue, back = context.Queue(), context.Queue()
    process = context.Process(target=through, args=(queue, back))
    process.start()
    t = torch.ones(3)
    queue.put(t)
    assert back.get().tolist() == [4, 4, 4]
    assert t.tolist() == [2, 2, 2]
    queue.put(None)
    process.join()


def test_spawn_raises_what_a_process_raised():
    mp.start_processes(fill_index, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException, match="process 1(.|\n)*boom"):
        mp.start_processes(fails, nprocs=2, start_method="fork")
    with pytest.raises(mp.ProcessExitedException, match="exit code 7"):
        mp.start_processes(leaves, nprocs=1, start_method="fork")


def fill_index(i):
    torch.zeros(1).fill_(i)
