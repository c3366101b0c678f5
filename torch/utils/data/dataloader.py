"""The loader: batches of a dataset, made in this process or in worker processes."""

import itertools
import multiprocessing
import os
import signal
import time
import warnings
import weakref
from multiprocessing import connection as mp_connection
from typing import Generic, TypeVar

import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import _utils
from torch.utils.data._utils import transfer
from torch.utils.data._utils.collate import default_collate, default_convert
from torch.utils.data._utils.worker import (_IterableDatasetStopIteration, _ResumeIteration,
                                            _Started, _worker_loop, get_worker_info)
from torch.utils.data.dataset import Dataset, IterableDataset
from torch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info", "default_collate", "default_convert"]

_T_co = TypeVar("_T_co", covariant=True)


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        made = (_utils.fetch._MapDatasetFetcher if kind == _DatasetKind.Map
                else _utils.fetch._IterableDatasetFetcher)
        return made(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """None for ever: the indices of a stream."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """An iterable of batches of `dataset`.

    Samples come in the order of `sampler` (default: in order, or shuffled) and are grouped by
    `batch_size`, or as `batch_sampler` says; `batch_size=None` gives them one by one. `collate_fn`
    makes a batch of a list of samples. With `num_workers` above 0 that many processes fetch
    batches, `prefetch_factor` (default 2) ahead each; they are seeded by a number drawn here, live
    for one pass or with `persistent_workers` as long as the loader, and their errors are raised
    here with the worker's traceback. `timeout` limits, in seconds, the wait for a batch.
    Raises ValueError for options that exclude each other.
    """

    _iterator = None
    __multiprocessing_context = None
    __initialized = False

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None,
                 num_workers=0, collate_fn=None, pin_memory=False, drop_last=False, timeout=0,
                 worker_init_fn=None, multiprocessing_context=None, generator=None, *,
                 prefetch_factor=None, persistent_workers=False, pin_memory_device="",
                 in_order=True):
        if num_workers < 0:
            raise ValueError(f"num_workers must be 0 or more, got {num_workers}")
        if timeout < 0:
            raise ValueError(f"timeout must be 0 or more, got {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("prefetch_factor needs num_workers above 0")
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError(f"prefetch_factor must be 0 or more, got {prefetch_factor}")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers needs num_workers above 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            if shuffle not in (False, None):
                raise ValueError(f"an IterableDataset cannot be shuffled, got shuffle={shuffle}")
            if sampler is not None:
                raise ValueError(f"an IterableDataset takes no sampler, got {sampler}")
            if batch_sampler is not None:
                raise ValueError(f"an IterableDataset takes no batch_sampler, got {batch_sampler}")
        else:
            shuffle = bool(shuffle)
            self._dataset_kind = _DatasetKind.Map
        if sampler is not None and shuffle:
            raise ValueError("sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler excludes batch_size, shuffle, sampler and "
                                 "drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("drop_last needs a batch_size")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self):
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            if self.num_workers == 0:
                raise ValueError("multiprocessing_context needs num_workers above 0")
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(f"multiprocessing_context must be one of {known}, got "
                                     f"{context!r}")
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError("multiprocessing_context must be a context or its name, got "
                                f"{type(context).__name__}")
        self.__multiprocessing_context = context

    def __setattr__(self, attr, val):
        if self.__initialized and attr in ("batch_size", "batch_sampler", "sampler", "drop_last",
                                           "dataset", "persistent_workers"):
            raise ValueError(f"{attr} of a {type(self).__name__} cannot be changed once it is made")
        super().__setattr__(attr, val)

    def __iter__(self):
        if self.persistent_workers and self.num_workers > 0:
            if self._iterator is None:
                self._iterator = self._get_iterator()
            else:
                self._iterator._reset(self)
            return self._iterator
        return self._get_iterator()

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self):
        """The number of batches; of a stream, as its own length says."""
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return length

    def check_worker_number_rationality(self):
        """Warns of more workers than processors."""
        if not self.num_workers:
            return
        try:
            available = len(os.sched_getaffinity(0))
        except (AttributeError, OSError):
            available = os.cpu_count()
        if available and self.num_workers > available:
            warnings.warn(f"num_workers={self.num_workers} is more than the {available} "
                          "processors there are: loading may get slower, or stop", stacklevel=3)


def _base_seed(loader):
    return int(torch.empty((), dtype=torch.int64, device="cpu").random_(generator=loader.generator).item())


class _BaseDataLoaderIter:
    """An iterator over one pass of a loader."""

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._pin_memory = loader.pin_memory and torch.cuda.is_available()
        if loader.pin_memory and not self._pin_memory:
            warnings.warn("pin_memory=True does nothing without a CUDA device", stacklevel=4)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = _base_seed(loader)
        self._num_yielded = 0
        self._told_length = False

    def __iter__(self):
        return self

    def _reset(self, loader, first_iter=False):
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError(f"{type(self).__name__}._next_data")

    def __next__(self):
        try:
            data = self._next_data()
        except StopIteration:
            self._tell_short_sampler()
            raise
        self._num_yielded += 1
        if self._dataset_kind == _DatasetKind.Iterable \
                and self._IterableDataset_len_called is not None \
                and self._num_yielded > self._IterableDataset_len_called:
            if not self._told_length:
                self._told_length = True
                more = "" if not self._num_workers else (
                    "; with workers, each must give its own part of the stream")
                warnings.warn(f"{type(self._dataset).__name__} said it has "
                              f"{self._IterableDataset_len_called} samples and gives more{more}",
                              stacklevel=2)
        return data

    def _tell_short_sampler(self):
        """Warns, once, of a sampler that gave fewer than its length says."""
        if self._told_length or self._dataset_kind == _DatasetKind.Iterable:
            return
        try:
            expected = len(self._index_sampler)
        except (TypeError, NotImplementedError):
            return
        if self._num_yielded < expected:
            self._told_length = True
            warnings.warn(f"{type(self._index_sampler).__name__} gave {self._num_yielded} batches "
                          f"or indices, its length says {expected}", stacklevel=3)

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("pickling of an iterator over a DataLoader")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
            self._drop_last)

    def _next_data(self):
        index = self._next_index()
        data = self._dataset_fetcher.fetch(index)
        return _utils.pin_memory.pin_memory(data) if self._pin_memory else data


# The main process's ends of all pipes to workers. A forked worker closes its copies of them, so
# that each pipe closes when the main process dies.
_our_ends = weakref.WeakSet()


def _exit_reason(code):
    """Words for the exit code of a process."""
    if code is None:
        return "it is not known how"
    if code < 0:
        name = signal.Signals(-code).name if -code in signal.Signals._value2member_map_ else -code
        more = {"SIGKILL": ", as the system does when memory runs out",
                "SIGBUS": ", as when shared memory runs out",
                "SIGSEGV": ", an invalid access to memory in native code"}.get(name, "")
        return f"killed by signal {-code} ({name}{more})"
    return f"with exit code {code}"


class _Worker:
    """The main process's side of a worker process."""

    def __init__(self, number, context, target_args):
        self.number = number
        task_end, self.tasks = context.Pipe(duplex=False)
        self.results, result_end = context.Pipe(duplex=False)
        _our_ends.update((self.tasks, self.results))
        fork = context.get_start_method() == "fork"
        unwanted = list(_our_ends) if fork else []
        fetcher_of, dataset, rest = target_args
        self.process = context.Process(
            target=_worker_loop,
            args=(fetcher_of, dataset, task_end, result_end, unwanted, *rest), daemon=True)
        self.process.start()
        task_end.close()
        result_end.close()
        self.active = True     # gives more batches
        self.open = 0          # tasks sent and not answered
        self.doing = None      # the number of the task it began last

    def close(self):
        for end in (self.tasks, self.results):
            try:
                end.close()
            except OSError:
                pass


class _Fetch:
    """Makes the fetcher in a worker: an object, so that other start methods can send it."""

    def __init__(self, *args):
        self.args = args

    def __call__(self):
        return _DatasetKind.create_fetcher(*self.args)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Tasks (number, indices) go round robin to the workers; results are given in their order.

    Nothing runs in the background of the main process: results are read when a batch is asked for,
    and a worker that dies is noticed by its handle in the same wait.
    """

    def __init__(self, loader):
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._worker_init_fn = loader.worker_init_fn
        context = loader.multiprocessing_context or multiprocessing.get_context("fork")
        self._shutdown = False
        self._workers_ = []
        make = _Fetch(self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn,
                      self._drop_last)
        try:
            for i in range(self._num_workers):
                self._workers_.append(_Worker(i, context, (make, self._dataset, (
                    self._base_seed, self._worker_init_fn, i, self._num_workers,
                    self._persistent_workers))))
        except BaseException:
            self._shutdown_workers()
            raise
        self._reset(loader, first_iter=True)

    @property
    def _workers(self):
        return [w.process for w in self._workers_]

    def _reset(self, loader, first_iter=False):
        if not first_iter:
            super()._reset(loader)
        self._send_number = 0    # of the next task
        self._next_number = 0    # of the next batch to give
        self._task_worker = {}   # number -> worker, of tasks not answered
        self._done = {}          # number -> batch, answered out of order
        self._turn = itertools.cycle(self._workers_)
        if not first_iter:
            self._resume()
        for w in self._workers_:
            w.active, w.open, w.doing = True, 0, None
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_send()

    def _resume(self):
        """Starts a pass with workers that stayed, past what they still had to answer."""
        waiting = list(self._workers_)
        for w in waiting:
            self._send(w, _ResumeIteration())
        while waiting:
            for w in self._wait(waiting):
                number, _ = self._receive(w)
                if isinstance(number, _ResumeIteration):
                    waiting.remove(w)

    def _send(self, worker, task):
        try:
            worker.tasks.send(task)
        except (BrokenPipeError, ConnectionResetError):
            self._raise_dead(worker)

    def _try_send(self):
        limit = self._prefetch_factor * self._num_workers
        if self._send_number - self._next_number >= max(limit, 1):
            return
        for _ in range(self._num_workers):
            worker = next(self._turn)
            if worker.active and (self._in_order
                                  or worker.open < max(self._prefetch_factor, 1)):
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._task_worker[self._send_number] = worker
        worker.open += 1
        number = self._send_number
        self._send_number += 1
        self._send(worker, (number, index))

    def _wait(self, workers, deadline=None):
        """Workers of these whose results can be read. Raises for one that died, or a timeout."""
        by_handle = {w.results: w for w in workers}
        by_handle.update({w.process.sentinel: w for w in workers})
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ready = mp_connection.wait(list(by_handle), left)
        if not ready:
            raise RuntimeError(f"no batch came from the {len(workers)} workers of a DataLoader "
                               f"within timeout={self._timeout} seconds")
        readable = {by_handle[h] for h in ready if h in [w.results for w in workers]}
        for handle in ready:
            worker = by_handle[handle]
            if worker not in readable:
                # It ended; what it wrote before is read first.
                if worker.results.poll(0):
                    readable.add(worker)
                else:
                    self._raise_dead(worker)
        return sorted(readable, key=lambda w: w.number)

    def _raise_dead(self, worker):
        worker.process.join(1)
        code, pid = worker.process.exitcode, worker.process.pid
        doing = worker.doing
        self._shutdown_workers()
        where = "" if doing is None else f", while it made batch {doing}"
        raise RuntimeError(f"DataLoader worker {worker.number} (pid {pid}) exited unexpectedly, "
                           f"{_exit_reason(code)}{where}")

    def _receive(self, worker):
        try:
            return transfer.read(worker.results.fileno())
        except (EOFError, OSError):
            self._raise_dead(worker)
        except BaseException:
            # Half a message was read (an interrupt, or a class that cannot be loaded here).
            self._shutdown_workers()
            raise

    def _take(self, worker):
        """Reads one message of a worker; True if it was the answer to a task."""
        number, data = self._receive(worker)
        if isinstance(number, _Started):
            worker.doing = number.number
            return False
        if isinstance(number, _ResumeIteration):
            return False
        worker.open -= 1
        worker.doing = None
        self._task_worker.pop(number, None)
        self._done[number] = data
        return True

    def _next_data(self):
        while True:
            if self._shutdown:
                raise StopIteration
            if self._done:
                number = self._next_number if self._in_order else next(iter(self._done))
                if number in self._done:
                    data = self._done.pop(number)
                    if self._in_order:
                        self._next_number += 1
                    if isinstance(data, _IterableDatasetStopIteration):
                        self._end_stream(self._workers_[data.worker_id])
                        continue
                    return self._give(data)
            # Tasks of a stream that has ended are not answered.
            while self._in_order and self._next_number < self._send_number \
                    and self._next_number not in self._done \
                    and self._next_number not in self._task_worker:
                self._next_number += 1
            if self._next_number in self._done and self._in_order:
                continue
            if not self._task_worker:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
            self._collect(deadline)

    def _collect(self, deadline):
        """Waits until a task is answered."""
        while True:
            open_workers = [w for w in self._workers_ if w.open > 0]
            answered = False
            for worker in self._wait(open_workers, deadline):
                answered |= self._take(worker)
            if answered:
                return

    def _end_stream(self, worker):
        worker.active = False
        for number in [n for n, w in self._task_worker.items() if w is worker]:
            del self._task_worker[number]
        worker.open = 0
        if not self._in_order:
            self._next_number += 1
        if not self._persistent_workers:
            self._send(worker, None)
        self._try_send()

    def _give(self, data):
        if not self._in_order:
            self._next_number += 1
        self._try_send()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return _utils.pin_memory.pin_memory(data) if self._pin_memory else data

    def _shutdown_workers(self):
        """Ends the workers: those that wait leave by themselves, others are terminated."""
        if self._shutdown:
            return
        self._shutdown = True
        mine = [w for w in self._workers_ if w.process._parent_pid == os.getpid()]
        for w in mine:
            try:
                w.tasks.send(None)
            except (OSError, ValueError):
                pass
            w.close()
        until = time.monotonic() + 0.5
        for w in mine:
            w.process.join(max(0.0, until - time.monotonic()))
            if w.process.is_alive():
                w.process.terminate()
        for w in mine:
            w.process.join(1)
            if w.process.is_alive():
                w.process.kill()
                w.process.join()

    def __del__(self):
        try:
            self._shutdown_workers()
        except (AttributeError, TypeError):
            pass  # the interpreter is going away, and with it the daemon processes
