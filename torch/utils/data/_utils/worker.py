"""What runs in a worker process."""

import os
import queue
import random
import signal
import sys
import threading
from dataclasses import dataclass
from typing import Any

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data._utils import transfer

MP_STATUS_CHECK_INTERVAL = 5.0

_worker_info = None


class WorkerInfo:
    """Which worker this is: `id` of `num_workers`, its `seed`, and its copy of the `dataset`."""

    __initialized = False
    rng = None
    worker_method = "multiprocessing"

    def __init__(self, **kwargs):
        for k, v in kwargs.items():
            setattr(self, k, v)
        self.__keys = tuple(kwargs)
        self.__initialized = True

    def __setattr__(self, key, val):
        if self.__initialized:
            raise RuntimeError(f"{type(self).__name__} cannot be changed ({key})")
        super().__setattr__(key, val)

    def __repr__(self):
        items = [f"{k}={getattr(self, k)}" for k in self.__keys]
        return f"{type(self).__name__}({', '.join(items)})"


def get_worker_info():
    """The `WorkerInfo` of this process, None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Sent when a worker's part of a stream has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Sent to persistent workers at the start of a pass, and back."""

    seed: int | None = None


@dataclass(frozen=True)
class _Started:
    """Sent before a batch, so that a worker that dies is known by what it was doing."""

    number: Any


def _generate_state(base_seed, worker_id):
    """Four 32-bit seeds for numpy's generator, spread from (base seed, worker)."""
    import numpy
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(v) for v in numpy.random.SeedSequence(entropy).generate_state(4)]


def _seed_all(base_seed, worker_id):
    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        import numpy
        numpy.random.seed(_generate_state(base_seed, worker_id))


def _receive(connection, tasks):
    """Empties the pipe of tasks, so that the main process never waits while it sends one."""
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        tasks.put(None)


def _answer(fd, number, make):
    """Sends (number, what make() gives), or the error of making or packing it."""
    try:
        parts = transfer.pack((number, make()))
    except Exception:
        parts = transfer.pack((number, ExceptionWrapper(
            where=f"in DataLoader worker process {_worker_info.id}")))
    transfer.write(fd, parts)


def _worker_loop(fetcher_of, dataset, connection, results, unwanted, base_seed, init_fn, worker_id,
                 num_workers, persistent):
    """Answers the tasks (number, indices) of `connection` until it gets None or the pipe closes."""
    global _worker_info
    parent = os.getppid()
    # An interrupt from the keyboard goes to every process: the main one decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in unwanted:
        # Copies of the ends of other pipes would keep those from closing.
        try:
            other.close()
        except OSError:
            pass
    torch.set_num_threads(1)
    _seed_all(base_seed, worker_id)
    _worker_info = WorkerInfo(id=worker_id, num_workers=num_workers, seed=base_seed + worker_id,
                              dataset=dataset)
    fd = results.fileno()
    failure = fetcher = None
    try:
        if init_fn is not None:
            init_fn(worker_id)
        fetcher = fetcher_of()
    except Exception:
        failure = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
    tasks = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    ended = False
    try:
        while True:
            try:
                task = tasks.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                if os.getppid() != parent:
                    break
                continue
            if task is None:
                break
            if isinstance(task, _ResumeIteration):
                ended = False
                try:
                    fetcher = fetcher_of()
                except Exception:
                    failure = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
                else:
                    failure = None
                transfer.write(fd, transfer.pack((task, None)))
                continue
            if ended:
                continue
            number, indices = task
            if failure is not None:
                _answer(fd, number, lambda: failure)
                continue
            transfer.write(fd, transfer.pack((_Started(number), None)))
            try:
                batch = fetcher.fetch(indices)
            except StopIteration as stop:
                if stop.value is None and hasattr(fetcher, "ended"):
                    ended = True
                    _answer(fd, number, lambda: _IterableDatasetStopIteration(worker_id))
                else:
                    _answer(fd, number, lambda: ExceptionWrapper(
                        where=f"in DataLoader worker process {worker_id}"))
                continue
            except Exception:
                error = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
                _answer(fd, number, lambda: error)
                continue
            _answer(fd, number, lambda: batch)
            del batch
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # the main process went away
