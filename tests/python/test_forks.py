"""A child of fork() compiles, launches, draws and computes gradients, whatever other threads were at when it was made."""
import pathlib
import subprocess
import sys
import textwrap

PROGRAM = pathlib.Path(__file__).with_name("forking.py")


def forking(*args, timeout=170):
    p = subprocess.run([sys.executable, str(PROGRAM), *args], capture_output=True, text=True, timeout=timeout)
    assert p.stdout.strip().endswith("4 threads worked on, all children were well"), p.stdout + p.stderr


def test_while_threads_work():
    forking("12")


def test_while_threads_begin():
    for _ in range(3):
        forking("3", "--cold")


def run(code, timeout=60):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout)


def test_a_fork_does_not_wait_for_a_back_end_for_ever():
    """A back end that waits for a thread that forks: the fork is made after some patience, and the child can compile."""
    p = run("""
        import os, signal, threading, torch
        from torch._dynamo import eval_frame
        eval_frame._PATIENCE = 0.2
        def backend(gm, examples):
            codes = []
            def fork():
                pid = os.fork()
                if pid == 0:
                    signal.alarm(20)
                    os._exit(0 if torch.compile(torch.sin)(torch.zeros(3)).sum() == 0 else 1)
                codes.append(os.waitpid(pid, 0)[1])
            t = threading.Thread(target=fork)
            t.start()
            t.join()
            print(codes)
            return gm
        f = lambda x: x.cos() + 1
        print(torch.compile(f, backend=backend)(torch.zeros(2)).tolist())
        """)
    assert p.stdout == "[0]\n[2.0, 2.0]\n", p.stdout + p.stderr


def test_a_fork_within_a_back_end():
    p = run("""
        import os, signal, torch
        def backend(gm, examples):
            pid = os.fork()
            if pid == 0: signal.alarm(20)
            else: print(os.waitpid(pid, 0)[1], flush=True)
            return gm
        f = torch.compile(lambda x: x.cos() + 1, backend=backend)
        print(f(torch.zeros(2)).tolist(), flush=True)
        """)
    assert p.stdout == "[2.0, 2.0]\n0\n[2.0, 2.0]\n", p.stdout + p.stderr
