"""Names of the API that are not there yet: NotImplementedError when they are used, False when they are asked for."""
import inspect

import pytest
import torch


@pytest.mark.parametrize("package, name", [
    (torch, "svd"), (torch, "quantize_per_tensor"), (torch, "jit"), (torch.linalg, "eigh"), (torch.fft, "rfft"), (torch.Tensor, "cholesky"),
    (torch, "lu"), (torch, "stft"), (torch.ops.aten, "svd"),
    (torch.autograd, "profiler"), (torch.utils, "collect_env"),
])
def test_absent(package, name):
    if name in vars(package) and not isinstance(package, type):
        pytest.skip("there by now")
    assert not hasattr(package, name)
    assert getattr(package, name, 5) == 5
    with pytest.raises(NotImplementedError, match=name):
        getattr(package, name)


@pytest.mark.parametrize("package", [torch, torch.linalg, torch.fft, torch.special, torch.nn, torch.nn.functional, torch.autograd, torch.utils, torch.Tensor, torch.ones(2)])
def test_unknown(package):
    with pytest.raises(AttributeError, match="no_such_name") as e:
        package.no_such_name
    assert not isinstance(e.value, NotImplementedError)


def test_methods_of_tensors():
    t = torch.ones(2, 2)
    with pytest.raises(NotImplementedError, match="cholesky"):
        t.cholesky()
    assert not hasattr(t, "cholesky")
    inspect.getmembers(torch.Tensor)
    t.cholesky = 3  # a user's own attribute
    assert t.cholesky == 3


def test_import():
    with pytest.raises(ImportError):
        from torch import svd  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        import torch.no_such_module  # noqa: F401
