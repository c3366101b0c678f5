"""The main example trains to the same weights, bit for bit, with one and with two threads."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def train(threads, seed=0, steps=60):
    """(digest of the weights, training loss) after some steps, from a process of its own."""
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "fashion_mnist.py"), "--steps", str(steps),
                           "--time", "--threads", str(threads), "--seed", str(seed)],
                          capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return (re.search(r"^weights ([0-9a-f]{16})$", done.stdout, re.M)[1],
            float(re.search(r"^training loss (\S+)$", done.stdout, re.M)[1]))


@pytest.mark.skipif(not DATA.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_sixty_steps_with_one_and_two_threads():
    one, two = train(threads=1), train(threads=2)
    assert one == two
    assert one[1] < 0.9  # it learns: log(10) = 2.3 at the start


@pytest.mark.skipif(not DATA.is_dir(), reason="Debian's package dataset-fashion-mnist is not installed")
def test_the_digest_tells_weights_apart():
    assert train(threads=2, seed=0, steps=2)[0] != train(threads=2, seed=1, steps=2)[0]
