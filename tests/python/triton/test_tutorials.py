"""The kernels that everyone learns first, against eager."""
import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64])
@pytest.mark.parametrize("n", [1, 7, 1000, 98432])
def test_vector_add(dtype, n):
    g = torch.Generator().manual_seed(n)
    x = torch.randn(n, generator=g).mul(100).to(dtype)
    y = torch.randn(n, generator=g).mul(100).to(dtype)
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)
    assert torch.equal(out, x + y)


@triton.jit
def silu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    tl.store(out_ptr + offs, x * tl.sigmoid(x), mask=mask)


def test_silu():
    x = torch.randn(100_001) * 8
    out = torch.empty_like(x)
    silu_kernel[(triton.cdiv(x.numel(), 4096),)](x, out, x.numel(), BLOCK=4096)
    assert torch.equal(out, x * torch.sigmoid(x))


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, rows, cols, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    start, step = tl.program_id(0), tl.num_programs(0)
    for row in tl.range(start, rows, step, num_stages=num_stages):
        col = tl.arange(0, BLOCK)
        mask = col < cols
        x = tl.load(in_ptr + row * in_stride + col, mask=mask, other=-float("inf"))
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + col, e / tl.sum(e, axis=0), mask=mask)


@pytest.mark.parametrize("rows, cols", [(1, 1), (5, 33), (1823, 781), (64, 1024)])
def test_softmax(rows, cols):
    x = torch.randn(rows, cols) * 3
    y = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    kernel = softmax_kernel.warmup(y, x, x.stride(0), y.stride(0), rows, cols, BLOCK=block, num_stages=2, num_warps=8, grid=(1,))
    kernel._init_handles()
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    per = properties["max_num_regs"] // (kernel.n_regs * properties["warpSize"] * 8)
    programs = min(properties["multiprocessor_count"] * per, rows)
    assert programs > 0
    kernel[(programs, 1, 1)](y, x, x.stride(0), y.stride(0), rows, cols, block, 2)
    assert torch.equal(y, torch.softmax(x, dim=1))
