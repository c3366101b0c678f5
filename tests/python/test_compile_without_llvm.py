"""Where the library with LLVM is not there, compiled functions run operator by operator, and say so once."""
import pathlib
import shutil
import subprocess
import sys

import pytest
import torch

PROGRAM = """
import sys, warnings
import torch
assert torch.__file__.startswith(sys.argv[1]), torch.__file__
x = torch.linspace(-2, 2, 1000, requires_grad=True)
def f(x):
    return (x.sin() * 1.25 + x.exp()).sum() + x.cumsum(0)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    made = torch.compile(f)(x)
    made.sum().backward()
    got, grad = made.detach(), x.grad
    assert torch.equal(torch._inductor.compile(f, [x.detach()])(x.detach()), f(x).detach())
    assert torch.equal(torch.compile(lambda x: x.tanh() + 1)(x.detach()), x.detach().tanh() + 1)
x.grad = None
want = f(x)
want.sum().backward()
assert torch.equal(got, want) and torch.equal(grad, x.grad)
assert [str(w.message) for w in seen if "libtorch_llvm" in str(w.message)] == [str(w.message) for w in seen], [str(w.message) for w in seen]
assert len(seen) == 1 and "operator by operator" in str(seen[0].message)
assert torch._C._compile_statistics()["kernels"] == 0
import triton, triton.language as tl
@triton.jit
def k(p, n: tl.constexpr):
    tl.store(p + tl.arange(0, n), 1.0)
try:
    k[(1,)](torch.empty(4), 4)
except triton.compiler.errors.CompilationError as e:
    assert "libtorch_llvm" in str(e)
else:
    raise AssertionError("a Triton kernel ran without a compiler")
print("done")
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    package = pathlib.Path(torch.__file__).parent
    where = tmp_path_factory.mktemp("package")
    shutil.copytree(package, where / "torch", ignore=shutil.ignore_patterns("libtorch_llvm*", "__pycache__"))
    shutil.copytree(package.parent / "triton", where / "triton", ignore=shutil.ignore_patterns("__pycache__"))
    return where


@pytest.mark.parametrize("damage", ["missing", "no library"])
def test_operator_by_operator(without, damage, tmp_path):
    if damage == "no library":
        (without / "torch" / "lib" / "libtorch_llvm.so").write_bytes(b"\x7fELF" + bytes(100))
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    # -I: neither this folder nor PYTHONPATH comes before the copy
    start = f"import sys; sys.path.insert(0, {str(without)!r}); sys.argv[1:] = [{str(without)!r}]; exec(compile(open({str(program)!r}).read(), {str(program)!r}, 'exec'))"
    done = subprocess.run([sys.executable, "-I", "-c", start], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr


def test_a_process_that_may_not_make_memory_executable(tmp_path):
    """As systemd's MemoryDenyWriteExecute has it."""
    program = """
import ctypes, sys, warnings
import torch
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0:   # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
    sys.exit(77)
f = lambda x: (x.sin() * 1.25 + x.exp()).sum()
x = torch.linspace(-2, 2, 1000)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    assert torch.equal(torch.compile(f)(x), f(x))
    assert torch.equal(torch.compile(lambda x: x.tanh() + 1)(x), x.tanh() + 1)
assert len(seen) == 1 and "executable" in str(seen[0].message) and "operator by operator" in str(seen[0].message), seen
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env={"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)})
    if done.returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE")
    assert done.returncode == 0, done.stderr
