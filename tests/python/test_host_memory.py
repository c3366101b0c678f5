"""What the allocator of host memory tells about itself."""
import pytest
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


def _blocks_in_use():
    return [b for s in torch._C._host_memory_snapshot() for b in s["blocks"] if b["state"] == "active_allocated"]


def _line_of(function):
    """Where the body of a function of one statement stands, as the allocator names it."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno + 1} in {code.co_qualname}"


def test_a_large_block_knows_the_line_that_asked_for_it():
    def make():
        return torch.zeros(3 << 20)

    def through_the_package(x):
        return torch.nn.functional.gelu(x)

    x = make()
    y = through_the_package(x)
    places = {b["address"]: b["origin"] for b in _blocks_in_use()}
    assert places[x.data_ptr()] == _line_of(make)
    assert places[y.data_ptr()] == _line_of(through_the_package)


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_blocks_of_compiled_code_are_its_callers(backend):
    f = torch.compile(lambda x: (x * 2).sin(), backend=backend)
    x = torch.ones(1 << 20)

    def call():
        return f(x)
    for _ in range(2):
        y = call()
        assert {b["address"]: b["origin"] for b in _blocks_in_use()}[y.data_ptr()] == _line_of(call)


def test_history_is_recorded_only_while_it_is_switched_on():
    assert torch._C._host_memory_history() == []
    torch._C._host_record_memory_history(1000)
    try:
        t = torch.empty(5000)
        address = t.data_ptr()
        del t
        seen = [(e["action"], e["origin"]) for e in torch._C._host_memory_history() if e["address"] == address]
    finally:
        torch._C._host_record_memory_history(0)
    assert [action for action, _ in seen] == ["allocate", "free"]
    assert all(__file__ in origin for _, origin in seen)
    assert torch._C._host_memory_history() == []


def test_out_of_memory_names_the_lines_that_hold_most():
    held = torch.zeros(32 << 20)
    with pytest.raises(torch.OutOfMemoryError, match=r"(?s)4\.00 TiB.*Most is held by: .*test_host_memory\.py:\d+ in test_out"):
        torch.empty(1 << 40)
    del held
