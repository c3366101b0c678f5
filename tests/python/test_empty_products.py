"""A sum of no terms is zero, whatever the memory held before and however many results there are."""
import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [1, 100, 200, 400])
def test_products_without_terms(n, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int64):
            junk = torch.full((n, n), 7, dtype=dtype)  # leaves its memory to the result
            del junk
            assert not (torch.zeros(n, 0, dtype=dtype) @ torch.zeros(0, n, dtype=dtype)).any()
        bias = torch.arange(float(n))
        assert torch.equal(torch.addmm(bias, torch.zeros(n, 0), torch.zeros(0, n)), bias.expand(n, n))
    finally:
        torch.set_num_threads(before)
