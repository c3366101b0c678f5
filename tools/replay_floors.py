"""Replay the recorded behaviour of the reference and hold the result against the floors.

    replay_floors.py CONFORMANCE_DIR [--jobs N] [--show]

CONFORMANCE_DIR holds replay.py, families.tsv, ops/ and nn/. tests/replay_floors.tsv gives, for a
family or for a whole directory (`ops`, `nn`), the least share of passing cases in percent. Fails
when a share is below its floor and when an operator kills its process. --show prints the shares
as rows of that file.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILY_ROW = re.compile(r"^(?P<name>\w+) +(?P<passed>\d+) of +(?P<cases>\d+) +[\d.]+%")
DEATHS = ("process died", "could not start")


def read_floors(path):
    rows = [line.split("\t") for line in path.read_text().splitlines() if line and line[0] != "#"]
    return {name: float(floor) for name, floor in rows}


def replay(conformance, directory, jobs):
    """Shares by family (and of the directory in all), and the lines of operators that died."""
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as failures:
        done = subprocess.run(
            [sys.executable, str(conformance / "replay.py"), str(conformance / directory),
             "--families", str(conformance / "families.tsv"), "--fail-list", failures.name,
             "--jobs", str(jobs)], capture_output=True, text=True)
        died = [line for line in failures.read().splitlines() if any(d in line for d in DEATHS)]
    total = re.search(r"^(\d+) passed, (\d+) failed", done.stdout, re.M)
    if total is None:
        sys.exit(f"replay of {directory} gave no result:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    passed, failed = map(int, total.groups())
    shares = {directory: (passed, passed + failed)}
    for line in done.stdout.splitlines():
        row = FAMILY_ROW.match(line)
        if row:
            shares[row["name"]] = (int(row["passed"]), int(row["cases"]))
    return shares, died


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conformance", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--show", action="store_true")
    args = parser.parse_args()
    floors = read_floors(ROOT / "tests" / "replay_floors.tsv")
    shares, died = {}, []
    for directory in ("ops", "nn"):
        got, dead = replay(args.conformance, directory, args.jobs)
        # Families group operators; of the modules only the directory's own share is held.
        shares.update(got if directory == "ops" else {directory: got[directory]})
        died += dead
    wrong = list(died)
    for name, (passed, cases) in sorted(shares.items()):
        share, floor = 100 * passed / max(cases, 1), floors.get(name)
        low = floor is not None and share < floor
        if args.show:
            print(f"{name}\t{int(share * 10) / 10}")
        else:
            print(f"{name:<14}{passed:>7} of {cases:<7}{share:6.1f} %  "
                  f"{'' if floor is None else f'floor {floor:g} %'}{'  TOO LOW' if low else ''}")
        if low:
            wrong.append(f"{name}: {share:.2f} % of cases pass, the floor is {floor:g} %")
    wrong += [f"{name}: a floor without cases" for name in floors if name not in shares]
    if wrong:
        sys.exit("replay is below its floors:\n  " + "\n  ".join(wrong))


if __name__ == "__main__":
    main()
