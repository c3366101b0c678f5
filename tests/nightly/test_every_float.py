"""Each function of one float at all 2^32 of them, against float64 or better."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_float_is_within_its_bound():
    build = subprocess.run(["cmake", "--build", str(ROOT / "build"), "--target", "math_sweep"], capture_output=True, text=True)
    assert build.returncode == 0, build.stdout[-5000:]
    done = subprocess.run([str(ROOT / "build" / "math_sweep")], capture_output=True, text=True, timeout=24 * 3600)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
