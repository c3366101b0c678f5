"""Pixels that no tap reaches get a gradient of zero, whatever the memory held before."""
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kernel, stride", [(1, 2), (1, 3), (2, 3)])
def test_skipped_pixels_have_no_gradient(kernel, stride, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x = torch.ones(4, 8, 14, 14, requires_grad=True)
        w = torch.ones(6, 8, kernel, kernel)
        for _ in range(3):
            junk = torch.full((4, 8, 14, 14), 7.0)  # leaves its memory to the gradient
            del junk
            y = F.conv2d(x, w, stride=stride)
            g, = torch.autograd.grad(y.sum(), x)
            want = torch.zeros(14, 14)
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    want[i * stride:i * stride + kernel, j * stride:j * stride + kernel] = 6
            assert torch.equal(g, want.expand(4, 8, 14, 14))
    finally:
        torch.set_num_threads(before)
