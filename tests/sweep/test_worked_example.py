"""The worked example of ops/README.md holds: its card and its record, built into a copy, make an operator that passes."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("BUILD", "build")
CHECK = """
import sys, warnings
warnings.simplefilter("ignore")
from sweep import abuse, columns, errors, forms, forward, gradients, promotion, records
from sweep.record import RECORDS
records.load()
record = RECORDS[sys.argv[1]]
for name, check in columns.COLUMNS.items():
    check(record)
print("passed", len(columns.COLUMNS))
"""


def blocks():
    """{path that the first line names: text} of the code blocks of ops/README.md."""
    text = (ROOT / "ops" / "README.md").read_text()
    return {
        m[1]: m[0]
        for m in (
            (b, re.match(r"(?://|#) (\S+)\n", b)[1]) for b in re.findall(r"```(?:cpp|python)\n(.*?)```", text, re.S)
        )
    }


@pytest.mark.skipif(not (BUILD / "build.ninja").exists(), reason="needs the build folder with its objects")
def test_one_card_and_one_record_make_an_operator(tmp_path):
    files = blocks()
    (header,) = (p for p in files if p.endswith(".h"))
    (records,) = (p for p in files if p.endswith(".py"))
    family, stem = pathlib.Path(header).parent.name, pathlib.Path(header).stem
    assert not (ROOT / header).exists()
    (tmp_path / header).parent.mkdir(parents=True)
    (tmp_path / header).write_text(files[header])

    # The unit that the build would make of the header, by the command of a unit of its family.
    unit, made = tmp_path / f"{family}_{stem}.cpp", tmp_path / f"{stem}.o"
    unit.write_text(f'#define FB_EMIT_CARDS\n#include "cpu/loops/{family}.h"\n#include "{header}"\n')
    entry = next(
        e for e in json.loads((BUILD / "compile_commands.json").read_text()) if f"/cards/cpu/{family}_" in e["file"]
    )
    command = shlex.split(entry["command"])
    command = [w for w in command[: command.index("-o")] if "ccache" not in w and "=" not in w.split("-")[0]]
    subprocess.run(
        [*command, f"-I{tmp_path}", "-o", str(made), "-c", str(unit)],
        check=True,
        cwd=entry["directory"],
        capture_output=True,
    )

    # The library once more, with that object; a package beside it that is this checkout's in all else.
    target = next(
        t.split(":")[0]
        for t in subprocess.run(
            ["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        if t.split(":")[0].endswith("/lib/libtorch.so")
    )
    link = subprocess.run(
        ["ninja", "-C", str(BUILD), "-t", "commands", target], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    package = tmp_path / "torch"
    (package / "lib").mkdir(parents=True)
    link = re.sub(r"-o \S+libtorch\.so", lambda _: f"-o {package}/lib/libtorch.so {made}", link)
    assert str(made) in link
    subprocess.run(link, shell=True, check=True, cwd=BUILD, capture_output=True)
    for path in (ROOT / "torch").iterdir():
        if path.name.startswith("_C."):
            shutil.copy(path, package)
        elif path.name not in ("lib", "__pycache__"):
            (package / path.name).symlink_to(path)

    shutil.copytree(
        ROOT / "tests" / "sweep", tmp_path / "tests" / "sweep", ignore=shutil.ignore_patterns("__pycache__", "test_*")
    )
    with open(tmp_path / records, "a") as f:
        f.write(files[records])
    run = subprocess.run(
        [sys.executable, "-c", CHECK, stem],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{tmp_path / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert run.returncode == 0 and run.stdout.startswith("passed"), run.stdout + run.stderr
