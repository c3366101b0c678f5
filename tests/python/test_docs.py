"""The Python programs in the pages for users run as they stand, each in a process of its own."""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md")) + [ROOT / "triton" / "README.md"]
PROGRAMS = [(page.relative_to(ROOT).as_posix(), program) for page in PAGES
            for program in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)]


def run(program, folder):
    (folder / "program.py").write_text(program)
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("page, program", PROGRAMS)
def test_program_runs(page, program, tmp_path):
    run(program, tmp_path)


def named(page, word):
    """The program of a page that has the word."""
    return next(text for where, text in PROGRAMS if where == page and word in text)


def test_mode_prints_what_its_page_says(tmp_path):
    assert run(named("docs/extending.md", "TorchDispatchMode"), tmp_path).split() == ["aten.t.default", "aten.addmm.default"]


def test_graphs_are_those_of_the_page(tmp_path):
    out = run(named("docs/graphs.md", "make_fx"), tmp_path)
    words = re.findall(r"torch\._C\._nn\.linear|linear\.relu|aten\.\w+\.default", out)
    assert words == ["torch._C._nn.linear", "linear.relu", "aten.t.default", "aten.mm.default", "aten.relu.default"]


def test_kernel_adds(tmp_path):
    run(named("triton/README.md", "triton.jit") + "assert torch.equal(out, x + y)\n", tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_library_in_cpp_builds_and_loads(tmp_path):
    page = (ROOT / "docs" / "extending.md").read_text()
    (tmp_path / "scale.cpp").write_text(re.search(r"^```cpp\n(.*?)^```", page, re.S | re.M)[1])
    command = [str(tmp_path / word) if word.startswith("scale.") else word
               for word in shlex.split(re.search(r"^g\+\+ .*$", page, re.M)[0])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    out = run("""import torch
torch.ops.load_library("./scale.so")
print(torch.ops.mylib.scale(torch.ones(2), 3.0).tolist())
""", tmp_path)
    assert out == "[3.0, 3.0]\n"
