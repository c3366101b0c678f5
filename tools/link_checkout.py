"""Make the interpreter that runs this file import torch from this checkout.

A path file in site-packages points at the root, and metadata of the distribution beside it says
to pip and importlib.metadata that torch is installed. No import hook: `import torch` costs what
it costs from site-packages.
"""
import pathlib
import re
import sys
import sysconfig
import tomllib


def main():
    if sys.prefix == sys.base_prefix:
        sys.exit("link_checkout.py: run me with the interpreter of a virtual environment")
    root = pathlib.Path(__file__).resolve().parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    site = pathlib.Path(sysconfig.get_path("purelib"))
    for old in site.glob(f"{name}-*.dist-info"):
        for f in old.iterdir():
            f.unlink()
        old.rmdir()
    path_file = site / "flambeau.pth"
    path_file.write_text(f"{root}\n")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {d}" for d in project["dependencies"]]
    for extra, wanted in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {d} ; extra == '{extra}'" for d in wanted]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "INSTALLER").write_text("flambeau\n")
    (info / "top_level.txt").write_text(f"{name}\n")
    files = [path_file.name] + [f"{info.name}/{n}" for n in ("METADATA", "INSTALLER", "top_level.txt", "RECORD")]
    (info / "RECORD").write_text("".join(f"{re.sub(',', '', f)},,\n" for f in files))


if __name__ == "__main__":
    main()
