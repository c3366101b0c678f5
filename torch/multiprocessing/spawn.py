"""Runs one function in several processes and raises here what one of them raised."""

import multiprocessing
import signal
import sys
import time
import traceback
from multiprocessing import connection

__all__ = ["ProcessContext", "ProcessException", "ProcessExitedException",
           "ProcessRaisedException", "SpawnContext", "spawn", "start_processes"]


class ProcessException(Exception):
    """A process failed: `error_index` of which, with `error_pid`."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process ended by an exception."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal or an exit code."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code,
                            self.signal_name)


def _run(fn, i, args, errors):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes of one `start_processes`."""

    def __init__(self, processes, errors):
        self.processes = processes
        self._errors = errors
        self.sentinels = {p.sentinel: i for i, p in enumerate(processes)}

    def pids(self):
        return [p.pid for p in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until all ended (True) or one failed, which ends the others and raises; False at
        the timeout."""
        if not self.sentinels:
            return True
        ready = connection.wait(list(self.sentinels), timeout)
        failed = None
        for sentinel in ready:
            i = self.sentinels.pop(sentinel)
            self.processes[i].join()
            if self.processes[i].exitcode != 0:
                failed = i
                break
        if failed is None:
            return not self.sentinels
        for p in self.processes:
            if p.is_alive():
                p.terminate()
        until = time.monotonic() + (30 if grace_period is None else grace_period)
        for p in self.processes:
            p.join(max(0.0, until - time.monotonic()))
            if p.is_alive():
                p.kill()
                p.join()
        process = self.processes[failed]
        try:
            text = self._errors[failed].recv() if self._errors[failed].poll() else None
        except EOFError:
            text = None  # it ended without a word
        if text is not None:
            raise ProcessRaisedException(
                f"process {failed} (pid {process.pid}) raised:\n{text}", failed, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            raise ProcessExitedException(f"process {failed} (pid {process.pid}) was killed by "
                                         f"signal {name}", failed, process.pid, code, name)
        raise ProcessExitedException(f"process {failed} (pid {process.pid}) ended with exit code "
                                     f"{code}", failed, process.pid, code)


class SpawnContext(ProcessContext):
    """A ProcessContext of `spawn`."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """fn(i, *args) for i below nprocs, each in a process; see `ProcessContext.join`."""
    context = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for i in range(nprocs):
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, i, args, send), daemon=daemon)
        process.start()
        send.close()
        processes.append(process)
        errors.append(receive)
    result = SpawnContext(processes, errors)
    if not join:
        return result
    while not result.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` by the start method "spawn"."""
    return start_processes(fn, args, nprocs, join, daemon, start_method=start_method)
