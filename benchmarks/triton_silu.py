"""A SiLU kernel as users write it, beside eager's silu, which is one fused loop: python benchmarks/triton_silu.py [elements]."""
import sys
import time

import torch
import triton
import triton.language as tl


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
    print(f"{'elements':>10} {'triton x/(1+exp)':>18} {'triton x*sigmoid':>18} {'eager silu':>12} {'eager x*sigmoid(x)':>20}   milliseconds")
    for n in sizes:
        x = torch.randn(n)
        y = torch.empty_like(x)
        grid = (triton.cdiv(n, 4096),)
        times = [best(lambda: silu_kernel[grid](x, y, n, BLOCK=4096)), best(lambda: silu_sigmoid_kernel[grid](x, y, n, BLOCK=4096)),
                 best(lambda: torch.ops.aten.silu.out(x, out=y)), best(lambda: x * torch.sigmoid(x))]
        print(f"{n:>10} {times[0]:>18.4f} {times[1]:>18.4f} {times[2]:>12.4f} {times[3]:>20.4f}")


if __name__ == "__main__":
    main()
