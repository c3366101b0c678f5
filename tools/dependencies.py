"""Print what pyproject.toml lists under the named groups, one requirement a line.

    dependencies.py build run demo test

`build` is what the build back end needs, `run` what the package itself needs; the others are the
optional groups. This keeps pyproject.toml the only list of Python packages.
"""
import pathlib
import sys
import tomllib


def main(groups):
    root = pathlib.Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())
    lists = dict(project["project"]["optional-dependencies"])
    lists["build"] = project["build-system"]["requires"]
    lists["run"] = project["project"]["dependencies"]
    for group in groups:
        print("\n".join(lists[group]))


if __name__ == "__main__":
    main(sys.argv[1:])
