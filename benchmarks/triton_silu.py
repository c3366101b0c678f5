"""A SiLU kernel as users write it, beside the same formula as a compiled graph and eager's silu: python benchmarks/triton_silu.py [elements]."""
import sys
import time

import torch
import triton
import triton.language as tl
from torch._inductor import compile as compile_graph


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, x / (1 + tl.exp(-x)), mask=mask)


@triton.jit
def silu_sigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(y_ptr + offs, x * tl.sigmoid(x), mask=mask)


def best(f, rounds=15):
    f()
    return min(_timed(f) for _ in range(rounds))


def _timed(f):
    start = time.perf_counter()
    f()
    return (time.perf_counter() - start) * 1e3


def main():
    sizes = [int(sys.argv[1])] if len(sys.argv) > 1 else [1 << 12, 1 << 16, 1 << 20, 1 << 24]
    print(f"{'elements':>10} {'x / (1 + exp(-x))':>30} {'x * sigmoid(x)':>30} {'silu':>10}   milliseconds")
    print(f"{'':>10} {'triton':>10} {'compiled':>10} {'ratio':>8} {'triton':>10} {'compiled':>10} {'ratio':>8} {'eager':>10}")
    for n in sizes:
        x = torch.randn(n)
        y = torch.empty_like(x)
        grid = (triton.cdiv(n, 4096),)
        row = [f"{n:>10}"]
        for kernel, f in ((silu_kernel, lambda x: x / (1 + torch.exp(-x))), (silu_sigmoid_kernel, lambda x: x * torch.sigmoid(x))):
            c = compile_graph(f, [x])
            t, fused = best(lambda: kernel[grid](x, y, n, BLOCK=4096)), best(lambda: c(x))
            row.append(f"{t:>10.4f} {fused:>10.4f} {t / fused:>8.2f}")
        print(*row, f"{best(lambda: torch.ops.aten.silu.out(x, out=y)):>10.4f}")


if __name__ == "__main__":
    main()
