"""Keys of kernels, sets of them, and guards that leave a layer out."""
import pytest
import torch
from torch._C import DispatchKey, DispatchKeySet


def test_keys():
    assert DispatchKey.CPU.name == "CPU" and str(DispatchKey.CPU) == "DispatchKey.CPU"
    assert {k: int(DispatchKey[k]) for k in ("Undefined", "CPU", "Meta", "SparseCPU", "AutogradCPU", "AutogradMeta", "Autograd", "CompositeExplicitAutograd")} == {
        "Undefined": 0, "CPU": 49, "Meta": 64, "SparseCPU": 83, "AutogradCPU": 134, "AutogradMeta": 149, "Autograd": 150, "CompositeExplicitAutograd": 154}
    assert torch._C._dispatch_key_parse("CUDA") is DispatchKey.CUDA and torch._C._dispatch_key_for_device("cuda") == "CUDA"
    with pytest.raises(RuntimeError, match="Nothing"):
        torch._C._dispatch_key_parse("Nothing")


def test_sets():
    cpu, autograd = DispatchKeySet(DispatchKey.CPU), DispatchKeySet(DispatchKey.AutogradCPU)
    both = cpu | autograd
    assert repr(both) == "DispatchKeySet(CPU, AutogradCPU)" and both.highestPriorityTypeId() is DispatchKey.AutogradCPU
    assert both.has(DispatchKey.CPU) and not both.has(DispatchKey.CUDA) and both - autograd == cpu == both & cpu
    assert cpu.add(DispatchKey.AutogradCPU) == both and both.remove(DispatchKey.CPU) == autograd and hash(both) == hash(autograd | cpu)
    with pytest.raises(TypeError, match="str"):
        DispatchKeySet(["CPU"])


def test_of_tensors():
    assert repr(torch._C._dispatch_keys(torch.ones(2))) == "DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)"
    conj = torch._C._dispatch_keys(torch.ones(2, dtype=torch.complex64).conj())
    assert conj.has(DispatchKey.Conjugate) and not conj.has(DispatchKey.Negative)
    with torch.inference_mode():
        assert not torch._C._dispatch_keys(torch.ones(2)).has(DispatchKey.AutogradCPU)
    assert torch._C._dispatch_keys(torch.ones(2, device="meta")).has(DispatchKey.Meta)


def test_kernels_by_key():
    lib = torch.library.Library("keyed", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, DispatchKey.CPU)
    lib.impl("twice", lambda x: x * 20, DispatchKey.AutocastCPU)   # for calls under autocast alone
    assert torch._C._dispatch_has_kernel_for_dispatch_key("keyed::twice", DispatchKey.CPU)
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("keyed::twice", "Meta")
    assert torch.ops.keyed.twice(torch.ones(2)).tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="keyed::thrice"):
        torch._C._dispatch_has_kernel_for_dispatch_key("keyed::thrice", "CPU")

    def recorded(x):
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.keyed.twice(x)   # the CPU's
    lib.impl("twice", recorded, "Autograd")
    x = torch.ones(2, requires_grad=True)
    assert torch.ops.keyed.twice(x).tolist() == [2, 2]
    lib._destroy()


def test_layers_left_out():
    x = torch.ones(2, requires_grad=True)
    with torch._C._ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutogradCPU)):
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad

    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))
    seen = []
    with Seen():
        with torch._C._ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.Python)):
            x * 3
        assert not seen
        x * 3
        assert len(seen) == 1
    with torch._C._ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.AutocastCPU)):
        assert (x * 2).requires_grad
    with pytest.raises(NotImplementedError, match="CUDA"):
        torch._C._ExcludeDispatchKeyGuard(DispatchKeySet(DispatchKey.CUDA))


def test_the_older_names_of_custom_operators():
    import torch._custom_ops as old

    @old.custom_op("older::scale")
    def scale(x: torch.Tensor, a: float) -> torch.Tensor: ...
    old.impl("older::scale")(lambda x, a: x * a)
    old.impl_abstract("older::scale")(lambda x, a: torch.empty_like(x))
    old.impl_save_for_backward("older::scale")(lambda inputs, output: inputs.a)
    old.impl_backward("older::scale")(lambda ctx, saved, grad: {"x": grad * saved})
    x = torch.ones(3, requires_grad=True)
    torch.ops.older.scale(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3, 3, 3] and torch.ops.older.scale(torch.ones(2, device="meta"), 2.0).shape == (2,)
    old.impl_backward("older::scale")(lambda ctx, saved, grad: {"y": grad})
    with pytest.raises(RuntimeError, match="'y'"):
        torch.ops.older.scale(x, 3.0).sum().backward()
    with pytest.raises(NotImplementedError, match="output_differentiability"):
        old.impl_backward("older::scale", output_differentiability=[True])
    old._destroy("older::scale")
    with pytest.raises(AttributeError):
        torch.ops.older.scale
