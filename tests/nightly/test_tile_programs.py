"""A million random programs of the tile language: interpreter, passes and machine code agree to the bit."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = int(os.environ.get("FB_FUZZ_PROGRAMS", 1000000))
BATCH = 20000   # of one process, which keeps all its machine code


def test_a_million_random_programs():
    first = int(os.environ.get("FB_FUZZ_FIRST", 0))
    for batch in range(first, first + PROGRAMS, BATCH):
        count = min(BATCH, first + PROGRAMS - batch)
        done = subprocess.run([str(ROOT / "build" / "cpp_tests"), "--gtest_filter=Tile.RandomPrograms*:Tile.PassesChangeNothing", "--gtest_brief=1"],
                              env={**os.environ, "FB_FUZZ_FIRST": str(batch), "FB_FUZZ_PROGRAMS": str(count)}, capture_output=True, text=True, timeout=3600)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
