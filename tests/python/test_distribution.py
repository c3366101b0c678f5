"""The environment knows this checkout as the distribution torch."""
import importlib.metadata
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_version_that_packages_ask_for():
    assert importlib.metadata.version("torch") == "2.14.1+flambeau0.1"


def test_pip_takes_torch_as_installed():
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "torch>=2.10"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Requirement already satisfied: torch" in done.stdout


def test_import_comes_from_this_checkout(tmp_path):
    code = "import importlib.util as u; print(list(u.find_spec('torch').submodule_search_locations)[0])"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert pathlib.Path(done.stdout.strip()) == ROOT / "torch", done.stderr
