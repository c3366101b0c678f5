"""The README says why each dependency is there."""
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def named_in_table(title):
    """Names in the first column of the table whose head begins with title."""
    table = re.search(rf"^\| {title} \| why \|\n\|---\|---\|\n((?:\|.*\n)+)", README, re.M)[1]
    rows = [line.split("|")[1:3] for line in table.splitlines()]
    assert all(why.strip() for _, why in rows)
    return {name for cell, _ in rows for name in re.findall(r"`([^`]+)`", cell)}


def test_opens_with_the_two_commands():
    first_block = re.search(r"```\n(.*?)```", README, re.S)[1]
    assert [line.split("#")[0].strip() for line in first_block.splitlines()] == ["make demo", "make test"]


def test_every_debian_package_has_its_reason():
    makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    listed = set(re.search(r"^DEBIAN := (.*)$", makefile, re.M)[1].split())
    assert named_in_table("Debian package") == listed


def test_every_python_package_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = project["build-system"]["requires"] + project["project"]["dependencies"]
    for group in project["project"]["optional-dependencies"].values():
        listed += group
    assert named_in_table("Python package") == {re.match(r"[\w-]+", p)[0] for p in listed}
