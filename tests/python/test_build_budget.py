"""The build keeps its budget, read from the record that the compiler launcher leaves.

Only compilations that really ran are recorded, so after a build from a warm ccache there may be
little to read; what is there is held.
"""
import json
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS, MATH_SECONDS, MEGABYTES, BUILD_SECONDS = 8.0, 15.0, 600.0, 24 * 60.0
MATH = ("/ops/math/", "/tests/cpp/ops/math/", "/tests/cpp/math/")


def newest_rows(record):
    """Source -> (user CPU seconds, peak MB) of its last compilation."""
    rows = {}
    for line in record.read_text().splitlines():
        source, seconds, megabytes = line.split("\t")
        rows[source] = (float(seconds), float(megabytes))
    return rows


def over_budget(rows):
    for source, (seconds, megabytes) in sorted(rows.items()):
        limit = MATH_SECONDS if any(m in source for m in MATH) else SECONDS
        if seconds > limit:
            yield f"{source}: {seconds:.1f} s of CPU, at most {limit:g}"
        if megabytes > MEGABYTES:
            yield f"{source}: {megabytes:.0f} MB, at most {MEGABYTES:g}"
    total = sum(seconds for seconds, _ in rows.values())
    if total > BUILD_SECONDS:
        yield f"the whole build: {total / 60:.1f} CPU-minutes, at most {BUILD_SECONDS / 60:g}"


def test_every_file_keeps_the_budget():
    record = ROOT / "build" / "compile_record.tsv"
    commands = ROOT / "build" / "compile_commands.json"
    if not record.exists() or not commands.exists():
        pytest.skip("nothing was compiled here: every object came from ccache")
    built = {str(pathlib.Path(c["directory"], c["file"])) for c in json.loads(commands.read_text())}
    rows = {s: r for s, r in newest_rows(record).items() if s in built}
    found = list(over_budget(rows))
    assert not found, "\n".join(found)


def test_launcher_records_a_real_compilation(tmp_path):
    source = tmp_path / "a.cpp"
    source.write_text("#include <vector>\nstd::vector<int> f() { return {1, 2}; }\n")
    record = tmp_path / "record.tsv"
    command = [str(ROOT / "tools" / "record_compile.py"), "g++", "-c", str(source), "-o", str(tmp_path / "a.o")]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", "FB_COMPILE_RECORD": str(record)})
    (seconds, megabytes), = newest_rows(record).values()
    assert (tmp_path / "a.o").exists()
    assert 0 < seconds < 60 and 10 < megabytes < 4000


def test_launcher_hands_on_the_compilers_failure(tmp_path):
    command = [str(ROOT / "tools" / "record_compile.py"), "g++", "-c", str(tmp_path / "absent.cpp")]
    record = tmp_path / "record.tsv"
    done = subprocess.run(command, capture_output=True, env={"PATH": "/usr/bin:/bin", "FB_COMPILE_RECORD": str(record)})
    assert done.returncode == 1
    assert not record.exists()


def test_budget_sees_a_slow_or_fat_file():
    rows = {"/r/core/a.cpp": (8.1, 10), "/r/ops/math/b.cpp": (14.0, 10), "/r/cpu/c.cpp": (1.0, 601),
            "/r/cpu/d.cpp": (1.0, 599)}
    assert [f.split(":")[0] for f in over_budget(rows)] == ["/r/core/a.cpp", "/r/cpu/c.cpp"]
    assert list(over_budget({f"/r/{i}": (7.5, 1) for i in range(200)})) == [
        "the whole build: 25.0 CPU-minutes, at most 24"]
