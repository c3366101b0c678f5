"""Datasets, samplers and the loader: random streams of the reference, errors, worker processes."""
import collections
import itertools
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch.utils import data as D  # noqa: E402


class Squares(D.Dataset):
    def __init__(self, n=10):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.tensor(float(i * i)), i


class Stream(D.IterableDataset):
    def __iter__(self):
        info = D.get_worker_info()
        start = 0 if info is None else info.id * 10
        return iter(range(start, start + 5))


def keep(batch):
    return batch


# The expected draws are the reference's.
def test_samplers_draw_the_streams_of_the_reference():
    torch.manual_seed(3)
    assert list(D.RandomSampler(range(6))) == [1, 4, 5, 2, 0, 3]
    assert torch.rand(1).item() == pytest.approx(0.2858, abs=5e-5)
    assert list(D.RandomSampler(range(6), replacement=True, num_samples=40)) == [
        0, 3, 2, 0, 1, 3, 0, 4, 5, 5, 4, 2, 0, 5, 0, 4, 4, 4, 3, 2, 1, 3, 5, 3, 2, 4, 5, 1, 1, 0, 1,
        4, 1, 0, 4, 2, 4, 1, 3, 3]
    assert torch.rand(1).item() == pytest.approx(0.0601, abs=5e-5)
    assert list(D.RandomSampler(range(6), num_samples=15)) == [
        3, 2, 0, 1, 4, 5, 3, 0, 5, 1, 2, 4, 5, 3, 2]
    g = torch.Generator().manual_seed(1)
    assert list(D.RandomSampler(range(6), generator=g)) == [1, 5, 2, 0, 3, 4]
    assert list(D.RandomSampler(range(6), generator=g)) == [2, 5, 0, 1, 3, 4]
    assert list(D.WeightedRandomSampler([1., 2, 3], 5)) == [2, 2, 1, 1, 1]
    assert list(D.SubsetRandomSampler([4, 5, 6, 7])) == [4, 7, 6, 5]
    split = D.random_split(range(10), [.3, .3, .4])
    assert [s.indices for s in split] == [[9, 7, 8], [5, 6, 1], [2, 4, 3, 0]]
    split = D.random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(0))
    assert [s.indices for s in split] == [[4, 1, 7], [5, 3, 9, 0, 8, 6, 2]]


def test_loader_draws_as_the_reference_does():
    torch.manual_seed(0)
    loader = D.DataLoader(range(8), shuffle=True, batch_size=4)
    assert [b.tolist() for b in loader] == [[2, 0, 5, 3], [1, 4, 7, 6]]
    assert torch.rand(1).item() == pytest.approx(0.3074, abs=5e-5)
    torch.manual_seed(0)
    it = iter(D.DataLoader(range(4), shuffle=True))
    assert torch.rand(1).item() == pytest.approx(0.0885, abs=5e-5)
    next(it)
    assert torch.rand(1).item() == pytest.approx(0.6341, abs=5e-5)


class Seeds(D.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        import random
        w = D.get_worker_info()
        return (i, w.id, w.num_workers, w.seed, torch.initial_seed(), torch.rand(1).item(),
                random.random())


def test_workers_are_seeded_as_in_the_reference():
    torch.manual_seed(0)
    got = [b[0] for b in D.DataLoader(Seeds(), num_workers=2, collate_fn=keep)]
    base = 900450186894289455
    assert [g[:5] for g in got] == [(i, i % 2, 2, base + i % 2, base + i % 2) for i in range(6)]
    assert [g[5] for g in got] == pytest.approx([
        0.7821398973464966, 0.6938178539276123, 0.053598999977111816, 0.29795897006988525,
        0.9887869358062744, 0.1668546199798584], abs=1e-7)
    assert got[0][6] == 0.21315340548154382 and got[1][6] == 0.7733861492043289
    assert torch.rand(1).item() == pytest.approx(0.0885, abs=5e-5)
    loader = D.DataLoader(Seeds(), num_workers=2, collate_fn=keep,
                          generator=torch.Generator().manual_seed(9))
    assert next(iter(loader))[0][3] == 191369442034012508


@pytest.mark.parametrize("workers", [0, 2])
def test_batches(workers):
    loader = D.DataLoader(Squares(), batch_size=4, num_workers=workers)
    assert len(loader) == 3
    got = [(a.tolist(), b.tolist()) for a, b in loader]
    assert got == [([0, 1, 4, 9], [0, 1, 2, 3]), ([16, 25, 36, 49], [4, 5, 6, 7]),
                   ([64, 81], [8, 9])]
    assert len(list(D.DataLoader(Squares(), 4, drop_last=True, num_workers=workers))) == 2
    assert [b[1] for b in D.DataLoader(Squares(3), None, num_workers=workers)] == [0, 1, 2]
    batches = D.DataLoader(Squares(), batch_sampler=[[3, 1], [2]], num_workers=workers)
    assert [b[1].tolist() for b in batches] == [[3, 1], [2]]


def test_streams():
    def tolist(loader):
        return [b.tolist() for b in loader]

    assert tolist(D.DataLoader(Stream(), 2)) == [[0, 1], [2, 3], [4]]
    assert tolist(D.DataLoader(Stream(), 2, drop_last=True)) == [[0, 1], [2, 3]]
    assert tolist(D.DataLoader(Stream(), 2, num_workers=2)) == [
        [0, 1], [10, 11], [2, 3], [12, 13], [4], [14]]
    loader = D.DataLoader(Stream(), 2, num_workers=2, persistent_workers=True)
    assert tolist(loader) == tolist(loader) == [[0, 1], [10, 11], [2, 3], [12, 13], [4], [14]]
    assert list(D.DataLoader(Stream(), None)) == [0, 1, 2, 3, 4]


def test_persistent_workers_stay_and_restart_in_the_middle():
    loader = D.DataLoader(Pids(), num_workers=2, persistent_workers=True, collate_fn=keep)
    first = {b[0] for b in loader}
    it = iter(loader)
    next(it)
    assert [b[0] for b in itertools.islice(iter(loader), 2)] and {b[0] for b in loader} == first
    assert len(first) == 2
    assert first.isdisjoint({b[0] for b in D.DataLoader(Pids(), num_workers=2, collate_fn=keep)})


class Pids(D.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return os.getpid()


def test_what_workers_send_arrives_unchanged():
    numpy = pytest.importorskip("numpy")

    class Mixed(D.Dataset):
        big = torch.arange(100000.)

        def __len__(self):
            return 2

        def __getitem__(self, i):
            return {"t": torch.full((3,), i, dtype=torch.bfloat16), "n": numpy.arange(4) + i,
                    "view": self.big[i * 10:i * 10 + 3], "e": torch.empty(0, 2), "s": "text",
                    "tr": torch.arange(6).reshape(2, 3).t(), "o": collections.Counter("ab"),
                    "c": torch.tensor([1j]), "b": b"bytes", "large": torch.zeros(300, 1000) + i}

    for i, got in enumerate(D.DataLoader(Mixed(), None, num_workers=1, collate_fn=keep)):
        want = Mixed()[i]
        assert list(got) == list(want)
        for key in ("t", "view", "e", "tr", "c", "large"):
            assert got[key].dtype == want[key].dtype and got[key].stride() == want[key].stride()
            assert got[key].tolist() == want[key].tolist()
        assert got["view"].untyped_storage().nbytes() == 12
        assert got["n"].tolist() == want["n"].tolist()
        got["n"][0] = 5
        got["large"].add_(1)
        assert got["s"] == "text" and got["o"] == want["o"] and got["b"] == b"bytes"


def test_default_collate():
    Pair = collections.namedtuple("Pair", "a b")
    assert D.default_collate([1, 2]).tolist() == [1, 2]
    assert D.default_collate([1.0, 2]).dtype == torch.float64
    assert D.default_collate(["a", "b"]) == ["a", "b"]
    got = D.default_collate([(1, "a"), (2, "b")])
    assert got[0].tolist() == [1, 2] and got[1] == ("a", "b")
    got = D.default_collate([Pair(1, [2]), Pair(3, [4])])
    assert type(got) is Pair and got.b[0].tolist() == [2, 4]
    assert D.default_collate([{"a": 1}, {"a": 2}])["a"].tolist() == [1, 2]
    assert D.default_collate([torch.ones(2), torch.zeros(2)]).shape == (2, 2)
    assert D.default_collate([True, False]).dtype == torch.bool
    for batch, kind in (([None], TypeError), ([object()], TypeError), ([1j], TypeError),
                        ([[1], [1, 2]], RuntimeError), ([torch.ones(2), torch.ones(3)],
                                                        RuntimeError)):
        with pytest.raises(kind):
            D.default_collate(batch)


class Broken(Squares):
    def __getitem__(self, i):
        if i == 2:
            raise KeyError("boom")
        return i


@pytest.mark.parametrize("workers", [0, 1])
def test_the_error_of_a_sample_comes_through_and_names_it(workers):
    with pytest.raises(KeyError) as info:
        list(D.DataLoader(Broken(), num_workers=workers))
    text = str(info.value) + "".join(getattr(info.value, "__notes__", []))
    assert "boom" in text and "sample 2 of Broken" in text
    if workers:
        assert "worker process 0" in text and "__getitem__" in text


def test_a_sample_that_is_none_or_out_of_range_is_named():
    class Nothing(Squares):
        def __getitem__(self, i):
            return None if i == 3 else i

    with pytest.raises(TypeError, match="sample 3 of Nothing is None"):
        list(D.DataLoader(Nothing(), 2))
    with pytest.raises(IndexError) as info:
        list(D.DataLoader([1, 2, 3], sampler=[0, 9]))
    assert "sample 9 (it has 3)" in "".join(info.value.__notes__)

    class Short(D.Sampler):
        def __iter__(self):
            return iter([0, 1])

        def __len__(self):
            return 5

    with pytest.warns(UserWarning, match="gave 2"):
        assert len(list(D.DataLoader(range(9), sampler=Short()))) == 2


class Killed(Squares):
    how = signal.SIGKILL

    def __getitem__(self, i):
        if i == 2:
            os.kill(os.getpid(), self.how)
        return i


def test_a_killed_worker_is_named():
    with pytest.raises(RuntimeError, match=r"worker 0 \(pid \d+\) exited unexpectedly.*SIGKILL"):
        list(D.DataLoader(Killed(), num_workers=1))

    class Exits(Squares):
        def __getitem__(self, i):
            os._exit(7)

    with pytest.raises(RuntimeError, match="exit code 7"):
        list(D.DataLoader(Exits(), num_workers=2))


def test_timeout():
    class Slow(Squares):
        def __getitem__(self, i):
            time.sleep(30)

    start = time.monotonic()
    with pytest.raises(RuntimeError, match="timeout=1"):
        list(D.DataLoader(Slow(), num_workers=1, timeout=1))
    assert time.monotonic() - start < 15


def test_worker_init_fn():
    seen = list(D.DataLoader(Env(), num_workers=2, worker_init_fn=set_env, collate_fn=keep))
    assert seen == [["0"], ["1"], ["0"], ["1"]]
    with pytest.raises(ZeroDivisionError, match="worker process 0"):
        list(D.DataLoader(range(4), num_workers=1, worker_init_fn=lambda i: 1 / 0))


def set_env(i):
    os.environ["WHICH"] = str(i)


class Env(D.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return os.environ["WHICH"]


def test_loader_left_in_the_middle_leaves_no_process():
    loader = D.DataLoader(Squares(1000), num_workers=2)
    it = iter(loader)
    next(it)
    processes = it._workers
    del it
    assert not any(p.is_alive() for p in processes)


SCRIPT = """
import os, signal, sys, threading, time
import torch
from torch.utils.data import DataLoader, Dataset
class Slow(Dataset):
    def __len__(self): return 1000
    def __getitem__(self, i):
        if i > 4: time.sleep(60)
        return torch.zeros(1000)
if __name__ == "__main__":
    # A background job of a shell starts with SIGINT ignored, and Python then leaves it so.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = DataLoader(Slow(), num_workers=2, persistent_workers=True)
    threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        for batch in loader: pass
    except KeyboardInterrupt:
        print("interrupted", torch.ones(2).sum().item())
        print(len(list(DataLoader(range(4), num_workers=1))))
"""


def test_interrupt_leaves_a_usable_process_that_ends():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True,
                          timeout=60)
    assert done.stdout.split() == ["interrupted", "2.0", "4"], done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("make, kind", [
    (lambda: D.DataLoader(range(3), num_workers=-1), ValueError),
    (lambda: D.DataLoader(range(3), timeout=-1), ValueError),
    (lambda: D.DataLoader(range(3), prefetch_factor=2), ValueError),
    (lambda: D.DataLoader(range(3), persistent_workers=True), ValueError),
    (lambda: D.DataLoader(range(3), batch_sampler=[[1]], batch_size=2), ValueError),
    (lambda: D.DataLoader(range(3), batch_size=None, drop_last=True), ValueError),
    (lambda: D.DataLoader(range(3), sampler=[1], shuffle=True), ValueError),
    (lambda: D.DataLoader(range(3), batch_size=0), ValueError),
    (lambda: D.DataLoader([], shuffle=True), ValueError),
    (lambda: D.DataLoader(Stream(), shuffle=True), ValueError),
    (lambda: D.DataLoader(Stream(), sampler=[1]), ValueError),
    (lambda: D.DataLoader(range(3), num_workers=1, multiprocessing_context="no"), ValueError),
    (lambda: setattr(D.DataLoader(range(3)), "batch_size", 3), ValueError),
    (lambda: len(D.DataLoader(Stream())), TypeError),
    (lambda: D.TensorDataset(torch.ones(2), torch.ones(3)), AssertionError),
    (lambda: D.ConcatDataset([]), AssertionError),
    (lambda: D.ConcatDataset([Stream()]), AssertionError),
    (lambda: D.StackDataset(range(3), range(2)), ValueError),
    (lambda: D.random_split(range(5), [3, 3]), ValueError),
    (lambda: D.RandomSampler([]), ValueError),
    (lambda: D.RandomSampler(range(3), replacement=3), TypeError),
    (lambda: D.WeightedRandomSampler([[1]], 1), ValueError),
    (lambda: D.BatchSampler([1], 0, False), ValueError),
    (lambda: D.DistributedSampler(range(3), 2, 2), ValueError),
    (lambda: D.Dataset()[0], NotImplementedError)])
def test_wrong_arguments(make, kind):
    with pytest.raises(kind):
        make()


def test_datasets_of_datasets():
    both = D.ConcatDataset([range(3), range(10, 12)])
    assert (len(both), both[0], both[4], both[-1], both.cumulative_sizes) == (5, 0, 11, 11, [3, 5])
    assert D.StackDataset(a=range(3), b=range(3, 6))[1] == {"a": 1, "b": 4}
    assert list((Stream() + Stream())) == [0, 1, 2, 3, 4] * 2
    assert D.TensorDataset(torch.arange(3), torch.arange(3) * 2)[1] == (1, 2)
    assert D.Subset(range(10), [4, 2])[1] == 2

    class Batched(Squares):
        def __getitems__(self, indices):
            return [i * 10 for i in indices]

    assert [b.tolist() for b in D.DataLoader(Batched(3), 2)] == [[0, 10], [20]]
    assert [b.tolist() for b in D.DataLoader(D.Subset(Batched(), [1, 2]), 2)] == [[10, 20]]


def test_distributed_sampler():
    got = [list(D.DistributedSampler(range(5), 2, r, shuffle=s, drop_last=d))
           for r in (0, 1) for s in (False, True) for d in (False, True)]
    assert got == [[0, 2, 4], [0, 2], [4, 1, 2], [4, 1], [1, 3, 0], [1, 3], [0, 3, 4], [0, 3]]
    assert list(D.DistributedSampler(range(2), 5, 3)) == [1]
