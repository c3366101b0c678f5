"""What the allocator of host memory tells about itself."""
import torch


def test_live_bytes_follow_tensors():
    before = torch._C._host_memory_stats()["allocated.current"]
    x = torch.empty(1 << 20)
    held = torch._C._host_memory_stats()["allocated.current"] - before
    assert 4 << 20 <= held < 5 << 20
    del x
    assert torch._C._host_memory_stats()["allocated.current"] - before < 1 << 20


def test_peak_is_kept_and_starts_again():
    torch._C._host_memory_reset_peak()
    base = torch._C._host_memory_stats()["allocated.peak"]
    x = torch.empty(4 << 20)
    del x
    assert torch._C._host_memory_stats()["allocated.peak"] - base >= 16 << 20
    torch._C._host_memory_reset_peak()
    assert torch._C._host_memory_stats()["allocated.peak"] - base < 1 << 20


def test_empty_cache_gives_idle_bytes_back():
    x = torch.empty(8 << 20)
    del x
    torch._C._host_empty_cache()
    assert torch._C._host_memory_stats()["idle.current"] < 1 << 20
