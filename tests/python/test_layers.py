"""The house rules hold, and the checker that says so sees each kind of breach."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_checker(root):
    return subprocess.run([sys.executable, str(ROOT / "tools" / "check_layers.py"), str(root)],
                          capture_output=True, text=True, timeout=120)


def test_house_rules():
    done = run_checker(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name, text, finding", [
    ("core/a.h", '#include "ops/b.h"\n', "core may not include ops/b.h"),
    ("cpu/a.cpp", '#include "autograd/b.h"\n', "cpu may not include autograd/b.h"),
    ("ops/math/a.h", '#include "dispatch/b.h"\n', "math may not include dispatch/b.h"),
    ("ops/pointwise/a.h", '#include <torch/torch.h>\n#include "torch/torch.h"\n', "public header"),
    ("core/b.h", "#include <functional>\n", "too heavy"),
    ("core/utils.h", "\n", "nothing is named utils"),
    ("python/misc/a.cpp", "\n", "nothing is named misc"),
    ("torch/a.py", "import numpy as np\n", "numpy is imported while torch loads"),
    ("torch/nn/a.py", "try:\n    from torch.optim import SGD\nexcept ImportError:\n    pass\n", "below torch.optim"),
    ("core/c.cpp", "int x;\n" * 1000, "1000 lines"),
    ("docs/README.md", "line\n" * 41, "docs/README.md: more than 40 lines"),
    ("loose/a.py", "\n", "loose: no README.md"),
    ("docs/a.md", "lies in /wo" + "rk/main\n", "speaks of the project alone"),
])
def test_breach_is_found(tmp_path, name, text, finding):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(text)
    done = run_checker(tmp_path)
    assert done.returncode == 1
    assert finding in done.stdout


def test_what_is_allowed_passes(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name, text in {
        "ops/a.h": '#include "core/a.h"\n#include <vector>\n',
        "core/a.cpp": "#include <functional>\n",
        "torch/a.py": "import os\n\ndef f():\n    import numpy\n    return numpy\n",
        "torch/utils/data.py": "import torch\n",
        "core/README.md": "what\n", "ops/README.md": "what\n", "torch/README.md": "what\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = run_checker(tmp_path)
    assert done.returncode == 0, done.stdout
