"""What the shared libraries show to a process that loads them beside others."""
import pathlib
import shutil
import subprocess

import pytest

torch = pytest.importorskip("torch")
LIB = pathlib.Path(torch.__file__).parent / "lib"


@pytest.mark.parametrize("name", ["libtorch.so", "libtorch_compile.so", "libtorch_llvm.so"])
def test_no_symbol_of_llvm(name):
    nm = shutil.which("nm")
    if nm is None or not (LIB / name).exists():
        pytest.skip("needs nm and the libraries")
    shown = subprocess.run([nm, "-D", "--defined-only", LIB / name], capture_output=True, text=True, check=True).stdout
    assert "fb" in shown and not [line for line in shown.splitlines() if "4llvm" in line or " LLVM" in line]


def test_installed_size():
    package = LIB.parent
    size = sum(f.stat().st_size for f in package.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    assert size <= 120 * 2**20, f"{size / 2**20:.0f} MiB, at most 120"
