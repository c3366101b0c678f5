"""The cards' text in CUDA's domain: entries of the right names, our own mathematics. Needs nvcc, not a GPU."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

pytestmark = pytest.mark.skipif("NVCC:FILEPATH=/" not in ((BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else "")
                                or not shutil.which("c++filt"), reason="nvcc is not there: PTX cannot be made")


def ptx(stem):
    """The PTX of a card header and the demangled names of its entries."""
    made = subprocess.run(["cmake", "--build", BUILD, "--target", f"ptx/{stem}.ptx"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    text = (BUILD / "ptx" / f"{stem}.ptx").read_text()
    names = re.findall(r"\.visible \.entry (\w+)", text)
    plain = subprocess.run(["c++filt", *names], capture_output=True, text=True, check=True).stdout
    return text, [re.sub(r"\(.*", "", n).removeprefix("void ") for n in plain.splitlines()]


@pytest.mark.parametrize("stem, expected", [
    ("pointwise_exponential", [f"fb::ptx::pointwise<fb::cards::Sigmoid, 0, {t}>" for t in ("float", "double", "fb::half", "fb::bfloat16")]),
    ("pointwise_division", [f"fb::ptx::pointwise<fb::cards::DivMode, {m}, {t}>" for m in (0, 1, 2)
                            for t in ("float", "double", "fb::half", "fb::bfloat16", "unsigned char", "signed char", "short", "int", "long")]),
    ("reduce_statistics", [f"fb::ptx::two_passes<fb::cards::var_spread, {t}>" for t in
                           ("float, float", "double, double", "float, fb::half", "float, fb::bfloat16")]),
])
def test_entries_and_own_mathematics(stem, expected):
    text, names = ptx(stem)
    assert set(expected) <= set(names)
    assert len(set(names)) == len(names)
    # CUDA's own exp, log, sin and division at lower precision rest on these.
    assert not re.findall(r"\b\w+\.approx\b\S*", text)
    assert "__nv_" not in text
    assert not re.findall(r"^\s*\.extern .*", text, re.M)
    if stem == "pointwise_exponential":
        assert "fma.rn.f32" in text and "fma.rn.f64" in text  # of the polynomials, where they are written
