"""The build keeps its budget, read from the record that the compiler launcher leaves.

Only compilations that really ran are recorded, so after a build from a warm ccache there may be
little to read; what is there is held.
"""
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
# Of user CPU, on a machine that compiles the yardstick below in 6 s; a slower one gets so much more, a faster one less.
SECONDS, MATH_SECONDS, LLVM_SECONDS, BUILD_SECONDS, YARDSTICK_SECONDS = 8.0, 15.0, 25.0, 24 * 60.0, 6.0
MEGABYTES, LLVM_MEGABYTES = 600.0, 1200.0
MATH = ("ops/math/", "tests/cpp/math/")
LLVM = "compile/llvm/"  # includes LLVM's own headers
NOISE = 1.2  # user seconds of one compilation differ by this much between runs on a shared machine
YARDSTICK = """
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main(int n, char** v) {
  std::map<std::string, std::vector<std::function<int(int)>>> all;
  for (int i = 0; i < n; ++i) all[v[i]].push_back([i](int x) { return x + i; });
  int found = 0;
  for (auto& [name, of] : all) found += std::regex_match(name, std::regex("[a-z]+(.*)")) ? of[0](n) : 0;
  return found;
}
"""


def newest_rows(record, hashes=None):
    """Source -> (user CPU seconds, peak MB) of its last compilation, of the text with the given hash."""
    rows = {}
    for line in record.read_text().splitlines():
        source, text, seconds, megabytes = line.split("\t")
        if hashes is None or hashes.get(source) == text:
            rows[source] = (float(seconds), float(megabytes))
    return rows


def over_budget(rows, slowness=1.0):
    for source, (seconds, megabytes) in sorted(rows.items()):
        llvm = source.startswith(LLVM)
        limit = LLVM_SECONDS if llvm else MATH_SECONDS if source.startswith(MATH) else SECONDS
        if seconds > limit * slowness * NOISE:
            yield f"{source}: {seconds:.1f} s of CPU, at most {limit * slowness:.1f}"
        room = LLVM_MEGABYTES if llvm else MEGABYTES
        if megabytes > room:
            yield f"{source}: {megabytes:.0f} MB, at most {room:g}"
    total = sum(seconds for seconds, _ in rows.values())
    if total > BUILD_SECONDS * slowness:
        yield f"the whole build: {total / 60:.1f} CPU-minutes, at most {BUILD_SECONDS * slowness / 60:.1f}"


def cache_entry(name):
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return found and found[1]


def sources():
    """Every compiled file, relative to the root, with the hash of its text."""
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        path = pathlib.Path(command["directory"], command["file"]).resolve()
        if path.is_relative_to(ROOT):
            yield str(path.relative_to(ROOT)), hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def cost(words):
    """(user CPU seconds, peak MB) of one command."""
    pid = os.posix_spawnp(words[0], words, os.environ)
    _, status, used = os.wait4(pid, 0)
    assert status == 0, f"{words} fails"
    return used.ru_utime, used.ru_maxrss / 1024


def slowness(tmp_path):
    """How many times as long this machine compiles as the one that the budget is stated for."""
    source = tmp_path / "yardstick.cpp"
    source.write_text(YARDSTICK)
    words = [cache_entry("CMAKE_CXX_COMPILER"), "-std=gnu++20", "-O2", "-c", str(source), "-o", "/dev/null"]
    return min(cost(words)[0] for _ in range(3)) / YARDSTICK_SECONDS


def measure(source):
    """(user CPU seconds, peak MB) of compiling one file now, without the cache."""
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        if pathlib.Path(command["directory"], command["file"]).resolve() == ROOT / source:
            break
    words = shlex.split(command["command"])
    compiler = next(i for i, w in enumerate(words) if re.search(r"(\+\+|g\+\+-\d+|clang\+\+\S*)$", w))
    words = words[compiler:]
    words[words.index("-o") + 1] = "/dev/null"
    return cost(words)


def measured_again(rows, slow):
    """The rows with what is over the budget measured now: a figure taken beside other work is too high."""
    rows = dict(rows)
    over = [line.split(":")[0] for line in over_budget(rows, slow)]
    for source in over:
        if source in rows:
            rows[source] = tuple(map(min, rows[source], measure(source)))
    if "the whole build" in over:  # the dearest files say by how much the whole record is too high
        dearest = sorted(rows, key=lambda source: -rows[source][0])[:8]
        now = {source: measure(source) for source in dearest}
        ratio = min(1.0, sum(now[s][0] for s in dearest) / sum(rows[s][0] for s in dearest))
        rows = {source: (seconds * ratio, megabytes) for source, (seconds, megabytes) in rows.items()}
    return rows


def test_every_file_keeps_the_budget(tmp_path):
    hashes = dict(sources())
    record = pathlib.Path(cache_entry("FB_RECORD"))
    rows = newest_rows(record, hashes) if record.exists() else {}
    if not rows:
        pytest.skip("no compilation is on record: every object came from a cache")
    slow = slowness(tmp_path)
    if list(over_budget(rows, slow)):
        rows = measured_again(rows, slow)
    found = list(over_budget(rows, slow))
    print(f"{len(rows)} of {len(hashes)} files on record, {sum(s for s, _ in rows.values()) / 60:.1f} CPU-minutes "
          f"on a machine {slow:.2f} times as slow as the budget's")
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
    rows = {"core/a.cpp": (9.7, 10), "ops/math/b.cpp": (14.0, 10), "cpu/c.cpp": (1.0, 601),
            "cpu/d.cpp": (1.0, 599)}
    assert [f.split(":")[0] for f in over_budget(rows)] == ["core/a.cpp", "cpu/c.cpp"]
    assert [f.split(":")[0] for f in over_budget(rows, 0.5)] == ["core/a.cpp", "cpu/c.cpp", "ops/math/b.cpp"]
    assert [f.split(":")[0] for f in over_budget(rows, 2)] == ["cpu/c.cpp"]
    whole = {f"core/{i}": (7.5, 1) for i in range(200)}
    assert list(over_budget(whole)) == ["the whole build: 25.0 CPU-minutes, at most 24.0"]
    assert not list(over_budget(whole, 1.1))
