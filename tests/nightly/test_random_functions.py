"""Thousands of random functions, compiled in parts: as they are without."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_two_thousand_random_functions():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(ROOT / "tests" / "python" / "test_compile_random.py")],
                          env={**os.environ, "FB_FUZZ_FUNCTIONS": "1000", "FB_FUZZ_FIRST": "1000"}, capture_output=True, text=True, timeout=3 * 3600)
    assert done.returncode == 0, done.stdout[-5000:]
