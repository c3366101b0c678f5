"""`pip install .` in a fresh environment gives a torch that works without this checkout."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEGABYTE = 1 << 20


def run(*command, **kwargs):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=3600, **kwargs)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_install_and_use(tmp_path):
    base = getattr(sys, "_base_executable", sys.executable)
    run(base, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", ROOT)
    site = pathlib.Path(run(python, "-c", "import torch, os; print(os.path.dirname(torch.__file__))", cwd=tmp_path).strip())
    assert tmp_path in site.parents
    code = ("import importlib.metadata as m, torch; assert m.version('torch') == torch.__version__ == '2.14.1+flambeau0.1';"
            "x = torch.ones(3, requires_grad=True); (x * x).sum().backward(); print(x.grad.tolist())")
    assert run(python, "-c", code, cwd=tmp_path) == "[2.0, 2.0, 2.0]\n"
    size = sum(os.path.getsize(pathlib.Path(d, f)) for d, _, files in os.walk(site) for f in files)
    assert size <= 100 * MEGABYTE
