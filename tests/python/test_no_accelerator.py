"""Programs that choose a device, or ask for other processes, find out that there is only this one."""
import pytest
import torch


def test_the_usual_choice_of_a_device():
    device = torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    assert device == "cpu" and torch.ones(2, device=device).sum() == 2
    assert torch.accelerator.device_count() == 0 and torch.accelerator.current_accelerator() is None


@pytest.mark.parametrize("name", ["accelerator", "cuda", "mps", "mtia", "xpu"])
def test_none_is_there(name):
    module = getattr(torch, name)
    assert module.is_available() is False and module.device_count() == 0
    with pytest.raises((RuntimeError, NotImplementedError), match="synchronize"):
        module.synchronize()
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name


def test_memory_of_no_accelerator():
    a = torch.accelerator
    assert a.memory_allocated() == a.max_memory_reserved() == 0 and a.memory_stats() == {}
    a.empty_cache()


def test_one_process():
    import torch.distributed as dist
    assert not dist.is_available() and not dist.is_initialized()
    with pytest.raises(NotImplementedError, match="init_process_group"):
        dist.init_process_group("gloo")
    sampler = torch.utils.data.DistributedSampler(range(4), num_replicas=2, rank=1, shuffle=False)
    assert list(sampler) == [1, 3]
    with pytest.raises(RuntimeError, match="num_replicas"):
        torch.utils.data.DistributedSampler(range(4))
