"""Interruption, the end of the interpreter while threads compute, forks, damaged files and sizes beyond all memory: an
exception or a result each, never a crash or a hang."""
import io
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch
import torch.nn.functional as F


def run(code, timeout=60):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout)


def test_daemon_threads_at_exit():
    for _ in range(3):
        p = run("""
            import threading, time, torch
            x = torch.ones(400, 400)
            def work():
                while True: (x @ x).sum()
            for _ in range(3): threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            print("left")
            """)
        assert p.returncode == 0 and p.stdout == "left\n", (p.returncode, p.stderr)


def test_interruption():
    p = run("""
        import os, signal, threading, torch
        for kind in range(2):
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            try:
                x = torch.ones(200, 200, requires_grad=True)
                while True:
                    y = (x @ x).clamp(0, 1)
                    if kind: y.sum().backward()
            except KeyboardInterrupt:
                print("interrupted")
        print((x * 2).sum().item() > 0)
        """)
    assert p.stdout == "interrupted\ninterrupted\nTrue\n", p.stderr


LOADER = """
    import time, torch
    from torch.utils.data import DataLoader, Dataset
    class Slow(Dataset):
        def __len__(self): return 100000
        def __getitem__(self, i): time.sleep(0.01); return torch.ones(10) * i
    print("ready", flush=True)
    for b in DataLoader(Slow(), batch_size=4, num_workers=2): pass
    """


def test_interrupted_loader():
    p = subprocess.Popen([sys.executable, "-c", textwrap.dedent(LOADER)], start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    try:
        p.stdout.readline()
        time.sleep(1)
        os.killpg(p.pid, signal.SIGINT)  # the workers get it as well, as from a terminal
        assert "KeyboardInterrupt" in p.communicate(timeout=30)[1]
    finally:
        if p.poll() is None:
            os.killpg(p.pid, signal.SIGKILL)


def test_forks_while_threads_compute():
    p = run("""
        import os, threading, torch
        x = torch.ones(300, 300)
        want, stop = (x @ x).sum().item(), False
        def work():
            while not stop: (x @ x).sum()
        t = threading.Thread(target=work); t.start()
        codes = []
        for _ in range(5):
            pid = os.fork()
            if pid == 0:
                w = torch.ones(300, 300, requires_grad=True)
                (w @ w).sum().backward()
                torch.randn(100000).sort()
                os._exit(0 if (x @ x).sum().item() == want and w.grad[0, 0] == 600 else 1)
            codes.append(os.waitpid(pid, 0)[1])
        stop = True; t.join(); print(codes)
        """)
    assert p.stdout == "[0, 0, 0, 0, 0]\n", p.stderr


@pytest.mark.parametrize("zipped", [True, False])
def test_damaged_files(zipped):
    """Whatever is wrong with a file, loading it gives an exception or values, in bounded time."""
    f = io.BytesIO()
    torch.save({"a": torch.arange(100.0), "b": torch.ones(3, 4, dtype=torch.int8), "c": [1, "x"]}, f, _use_new_zipfile_serialization=zipped)
    raw, rng, failed = f.getvalue(), random.Random(0), 0
    for i in range(400):
        data = bytearray(raw)
        if i % 4 == 0:
            del data[rng.randrange(len(data)):]
        else:
            for _ in range(i % 3 + 1):
                data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            torch.load(io.BytesIO(bytes(data)))
        except Exception:
            failed += 1
    assert failed > 100


@pytest.mark.parametrize("size", [1 << 40, 1 << 62, (1 << 63) - 1, -1, -(1 << 62)])
@pytest.mark.parametrize("call", [
    lambda n: torch.empty(n), lambda n: torch.ones(n, n), lambda n: torch.ones(3).repeat(n), lambda n: torch.randperm(n),
    lambda n: torch.combinations(torch.ones(3), n, True), lambda n: torch.bincount(torch.tensor([n])), lambda n: F.one_hot(torch.tensor([1]), n if n != -1 else -5),
    lambda n: F.pad(torch.ones(3), (n, 1 << 62)), lambda n: F.interpolate(torch.ones(1, 1, 2, 2), size=(n, n)), lambda n: torch.ones(3).resize_(n),
    lambda n: torch.nn.Linear(n, n), lambda n: torch.topk(torch.ones(3), n), lambda n: torch.ones(3).as_strided((n,), (1,)),
    lambda n: torch.tril_indices(n, n), lambda n: torch.histc(torch.ones(3), n), lambda n: torch.nonzero_static(torch.ones(3), size=n),
])
def test_sizes_beyond_memory(call, size):
    with pytest.raises((RuntimeError, MemoryError, ValueError, IndexError)):
        call(size)


def test_combinations():
    x = torch.arange(3)
    assert torch.combinations(x, 2).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert torch.combinations(x[:2], 2, True).tolist() == [[0, 0], [0, 1], [1, 1]]
    y = torch.ones(3, requires_grad=True)
    assert torch.autograd.grad(torch.combinations(y, 5).sum(), y)[0].tolist() == [0, 0, 0]
    assert torch.combinations(x, 5).shape == (0, 5) and torch.combinations(x, 5, True).shape == (21, 5)
    assert torch.combinations(x[:1], 70, True).shape == (1, 70) and torch.combinations(x[:0], 3, True).shape == (0, 3)
