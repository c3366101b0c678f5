"""Records by family, one file for each folder of ops/ and further ones where a family has many."""

import importlib
import pathlib


def load():
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem != "__init__":
            importlib.import_module(f"{__name__}.{path.stem}")
