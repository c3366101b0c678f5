"""A million random programs of the tile language: interpreter, passes and machine code agree to the bit."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_a_million_random_programs():
    done = subprocess.run([str(ROOT / "build" / "cpp_tests"), "--gtest_filter=Tile.RandomPrograms*:Tile.PassesChangeNothing", "--gtest_brief=1"],
                          env={**os.environ, "FB_FUZZ_PROGRAMS": "1000000"}, capture_output=True, text=True, timeout=6 * 3600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
