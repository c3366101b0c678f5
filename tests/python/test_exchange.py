"""Tensors from and for other libraries, and files of hub."""
import gc
import hashlib

import pytest

pytest.importorskip("torch._C")
import torch  # noqa: E402
from torch import hub  # noqa: E402
from torch.utils.dlpack import from_dlpack, to_dlpack  # noqa: E402


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int64", "int8",
                                  "uint8", "bool", "complex64", "uint16"])
def test_capsules_share_memory_and_strides(name):
    t = torch.zeros(3, 4).to(getattr(torch, name)).t()
    u = from_dlpack(to_dlpack(t))
    assert u.dtype == t.dtype and u.shape == t.shape and u.stride() == t.stride()
    assert u.data_ptr() == t.data_ptr()
    capsule = to_dlpack(t)
    from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="once"):
        from_dlpack(capsule)


def test_numpy_both_ways():
    numpy = pytest.importorskip("numpy")
    a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    t = torch.from_dlpack(a)
    t[0, 0] = 7
    assert a[0, 0] == 7
    b = numpy.from_dlpack(torch.arange(3))
    assert b.tolist() == [0, 1, 2]
    del a
    gc.collect()
    assert t.tolist() == [[7, 1, 2], [3, 4, 5]]
    assert from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    with pytest.raises(RuntimeError, match="negative stride"):
        torch.from_dlpack(numpy.arange(3.0)[::-1])


def test_what_cannot_be_exported():
    with pytest.raises(BufferError):
        torch.ones(1, requires_grad=True).__dlpack__()
    with pytest.raises(RuntimeError, match="capsule"):
        from_dlpack(3)
    assert torch.ones(1).__dlpack_device__() == (1, 0)


def test_hub_fetches_once_checks_and_loads(tmp_path):
    saved = tmp_path / "w.pth"
    torch.save({"w": torch.arange(3)}, saved)
    digest = hashlib.sha256(saved.read_bytes()).hexdigest()[:8]
    source = tmp_path / f"w-{digest}.pth"
    saved.rename(source)
    url = source.as_uri()
    folder = tmp_path / "kept"
    got = hub.load_state_dict_from_url(url, str(folder), check_hash=True, progress=False,
                                       weights_only=True)
    assert got["w"].tolist() == [0, 1, 2]
    source.unlink()
    assert hub.load_state_dict_from_url(url, str(folder))["w"].tolist() == [0, 1, 2]
    other = tmp_path / "x-00000000.pth"
    other.write_bytes(b"x")
    with pytest.raises(RuntimeError, match="SHA-256"):
        hub.load_state_dict_from_url(other.as_uri(), str(folder), check_hash=True)
    assert not (folder / other.name).exists()


def test_hub_local(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['math']\ndef two(x=1):\n"
                                         "    'Doubles.'\n    return 2 * x\n")
    assert hub.load(str(tmp_path), "two", 4, source="local") == 8
    assert hub.list(str(tmp_path), source="local") == ["two"]
    with pytest.raises(RuntimeError, match="three"):
        hub.load(str(tmp_path), "three", source="local")
    with pytest.raises(NotImplementedError, match="github"):
        hub.load("a/b", "c")
