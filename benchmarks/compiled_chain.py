"""Compiled chains against one pass over their memory and their arithmetic: python benchmarks/compiled_chain.py [--threads N] [--limit 1.5]

A pass is what copying the operands costs: as many bytes read and written as the kernel reads and writes. The arithmetic is
what the same chain takes for a piece of its operands that lies in a core's cache, times the pieces, over the threads. Each card
on its own would take one pass each. With --limit the pointwise chains must take at most so many times the two together.
"""
import argparse
import sys
import time

import torch
from torch._inductor import compile as compile_graph

F = torch.nn.functional
CHAINS = {
    "add, mul": (lambda x, y: (x + y) * 0.5, 2),
    "eight cheap cards": (lambda x, y: ((x + y).abs() * 0.5 - y).clamp(-1, 1).neg().relu() + x, 2),
    "gelu, sigmoid, tanh": (lambda x, y: F.gelu(x * y + 1.0).sigmoid() * torch.tanh(y), 2),
    "row softmax": (lambda x: x.softmax(-1), 1),
    "rms norm, softmax": (lambda x: (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)).softmax(-1), 1),
    "mean of squares": (lambda x, y: ((x - y) ** 2).mean(), 2),
}
POINTWISE = ("add, mul", "eight cheap cards", "gelu, sigmoid, tanh")


def best(f, seconds=0.4):
    f()
    least, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        t = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - t)
    return least


ROWS, PIECE = 4096, 16    # a piece of 16 rows of 1024 is one thread's


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--threads", type=int)
    p.add_argument("--limit", type=float)
    a = p.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    over = []
    print(f"{'chain':24} {'type':9} {'compiled':>10} {'eager':>10} {'one pass':>10} {'arithmetic':>10} {'ratio':>7}")
    for name, (f, operands) in CHAINS.items():
        for dtype in (torch.float32, torch.bfloat16):
            x = [torch.randn(ROWS, 1024).to(dtype) for _ in range(operands)]
            c = compile_graph(f, x)
            out = torch.empty_like(x[0])
            copy = best(lambda: out.copy_(x[0]))
            written = c(*x).numel()
            one = copy * (sum(t.numel() for t in x) + written) / (2 * x[0].numel())
            piece, tiny = [t[:PIECE].clone() for t in x], [t[:1, :1].clone() for t in x]
            in_cache, nothing = compile_graph(f, piece), compile_graph(f, tiny)
            own = (best(lambda: in_cache(*piece)) - best(lambda: nothing(*tiny))) * (ROWS / PIECE) / torch.get_num_threads()
            t, e = best(lambda: c(*x)), best(lambda: f(*x))
            ratio = t / (one + own)
            print(f"{name:24} {str(dtype)[6:]:9} {t * 1e3:7.2f} ms {e * 1e3:7.2f} ms {one * 1e3:7.2f} ms {own * 1e3:7.2f} ms {ratio:7.2f}")
            if a.limit and ratio > a.limit and name in POINTWISE:
                over.append(f"{name}, {str(dtype)[6:]}: {ratio:.2f} times one pass and the arithmetic, not {a.limit}")
    x = torch.ones(8)
    c = compile_graph(lambda x, y: torch.relu(x * y + 1), (x, x))
    c(x, x)
    n = 20000

    def many():
        for _ in range(n):
            c(x, x)
    print(f"a call of three cards on 8 elements: {best(many) / n * 1e6:.2f} us")
    s = torch._C._compile_statistics()
    print(f"{s['kernels']} kernels made, {s['median']:.1f} ms each (median); {s['loaded']} loaded, {s['loading'] / max(1, s['loaded']):.2f} ms each")
    if over:
        sys.exit("\n".join(over))


if __name__ == "__main__":
    main()
