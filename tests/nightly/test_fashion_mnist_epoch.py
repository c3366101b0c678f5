"""One epoch of the main example: at least 90 %, and the same weights with one and with two threads."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def epoch(threads, out):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "fashion_mnist.py"), "--threads", str(threads),
                           "--out", str(out)], capture_output=True, text=True, timeout=7200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_epoch_reaches_ninety_percent_whatever_the_threads(tmp_path):
    two, one = epoch(2, tmp_path / "two"), epoch(1, tmp_path / "one")
    digest = re.compile(r"^weights ([0-9a-f]{16})$", re.M)
    result = re.compile(r"^test loss (\S+) accuracy (\S+) %$", re.M)
    assert digest.search(one)[1] == digest.search(two)[1]
    assert result.search(one).groups() == result.search(two).groups()
    assert float(result.search(two)[2]) >= 90.0
    for name in ("learning_curve.png", "confusion_matrix.png", "checkpoint.pt"):
        assert (tmp_path / "two" / name).stat().st_size > 5000
