"""Type stubs written from the built package: what an editor completes."""
import ast
import pathlib
import subprocess
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    path = tmp_path_factory.mktemp("stubs") / "__init__.pyi"
    subprocess.run([sys.executable, str(ROOT / "tools" / "write_stubs.py"), str(path)], check=True, timeout=120)
    return ast.parse(path.read_text())


def defined(body):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, ast.ImportFrom):
            yield from (a.asname or a.name for a in node.names)


def test_every_public_function_and_dtype_is_there(stub):
    names = set(defined(stub.body))
    missing = [n for n in dir(torch) if not n.startswith("_") and n not in names
               and (callable(vars(torch).get(n)) or isinstance(vars(torch).get(n), torch.dtype)) and not n.endswith("Base")]
    assert not missing


def test_every_public_member_of_a_tensor_is_there(stub):
    tensor = next(n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    names = set(defined(tensor.body))
    assert not [n for n in dir(torch.Tensor) if not n.startswith("_") and n not in names]
    assert {"__add__", "__getitem__", "__len__"} <= names


def test_operators_carry_their_types(stub):
    text = {ast.unparse(n) for n in stub.body if isinstance(n, ast.FunctionDef) and n.name == "add"}
    assert text == {"def add(input: Tensor, other: Tensor | Number, *, alpha: Number=..., out: Any=...) -> Tensor:\n    ..."}


def test_package_says_that_it_is_typed():
    assert (ROOT / "torch" / "py.typed").exists()
