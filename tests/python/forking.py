"""Forks while threads compile, launch, draw and differentiate; each child does all of it anew: python forking.py [forks] [--cold]

A child that is not done after 30 seconds is ended, and counts as a failure. With --cold the first fork comes while the threads load
and compile for the first time. Code that lies on disk is not used, so that every new function is compiled.
"""
import faulthandler
import logging
import os
import random
import sys
import threading
import time
import traceback

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

logging.getLogger("torch._dynamo").setLevel(logging.ERROR)

STEPS = "tanh(v) exp(v) sin(v) (v*y) (v+y) relu(v) sigmoid(v) abs(v) (v-y) atan(v) log1p(abs(v)) sqrt(abs(v))".split()
x, y = torch.linspace(-2, 2, 600).view(20, 30).clone(), torch.linspace(0.1, 1, 30)
shared = torch.Generator()
stop = False


def random_function(r):
    """A chain of operators that hardly any other call gives."""
    text = "x"
    for _ in range(8):
        text = r.choice(STEPS).replace("v", text)
    text += r.choice(["", ".sum(-1)", ".softmax(-1)", ".mean()"])
    names = {k: getattr(torch, k) for k in "tanh exp sin relu sigmoid abs atan log1p sqrt".split()}
    exec(f"def f(x, y): return {text}", names)
    return names["f"]


def compiles(r):
    f = random_function(r)
    want = f(x, y).nan_to_num()
    assert torch.equal(torch.compile(f)(x, y).nan_to_num(), want)   # runs as it is while another thread has a dual level
    f = random_function(r)
    before = torch._C._compile_statistics()["kernels"]
    assert torch.equal(torch._inductor.compile(f, (x, y))(x, y).nan_to_num(), f(x, y).nan_to_num())
    assert torch._C._compile_statistics()["kernels"] > before


@triton.jit
def scale(a, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.device_assert(i < 1000000)
    tl.store(out + i, tl.load(a + i, mask=i < n) * FACTOR, mask=i < n)


def launches(r):
    factor, out = r.randrange(2, 1 << 20), torch.empty(600)
    scale[(10,)](x, out, 600, FACTOR=factor, BLOCK=64)
    assert torch.equal(out, x.flatten() * factor)


def differentiates(r):
    a = torch.full((5, 5), r.random(), requires_grad=True)
    (a * a @ a).sum().backward()
    assert a.grad.isfinite().all()
    _, t = torch.func.jvp(lambda v: v.sin() * v, (a.detach(),), (torch.ones(5, 5),))
    assert t.isfinite().all()


def draws(r):
    assert torch.randn(20000).isfinite().all() and torch.rand(3000, generator=shared).isfinite().all()
    torch.nn.functional.dropout(x, 0.5)


WORK = [compiles, launches, differentiates, draws]


def in_thread(work, seed):
    r = random.Random(seed)
    while not stop:
        work(r)


def child(number):
    faulthandler.dump_traceback_later(30, exit=True)   # says where it hangs
    try:
        for work in random.Random(number).sample(WORK, 4):
            work(random.Random(2000 + number))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def main(forks, cold):
    global stop
    if not cold:
        for work in WORK:
            work(random.Random(0))
    threads = [threading.Thread(target=in_thread, args=(w, 1000 + i), daemon=True) for i, w in enumerate(WORK)]
    for t in threads:
        t.start()
    bad = []
    for i in range(1, forks + 1):
        time.sleep(random.random() * 0.05)
        pid = os.fork()
        if pid == 0:
            child(i)
        _, status = os.waitpid(pid, 0)
        if status:
            bad.append((i, "killed by signal %d" % os.WTERMSIG(status) if os.WIFSIGNALED(status) else "failed"))
            break
    alive = sum(t.is_alive() for t in threads)
    stop = True
    for t in threads:
        t.join(20)
    print(f"{alive} threads worked on, {'all children were well' if not bad else bad}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), "--cold" in sys.argv)
