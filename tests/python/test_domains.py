"""The texts of ops/math have the same bits in every domain: scalars, AVX2, AVX-512 and NEON vectors, the exactly rounded
emulation, tensors and compiled tensors. The vector domains are programs built here (cmake/domains.cmake); what no compiler
or emulator is found for is skipped and says so."""
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
TYPES = {"float": (np.float32, torch.int32), "double": (np.float64, torch.int64)}

pytestmark = pytest.mark.skipif(not (BUILD / "build.ninja").exists(), reason="no build folder to build the programs in")


def build(target):
    made = subprocess.run(["cmake", "--build", BUILD, "--target", target], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout[-5000:] + made.stderr[-5000:]
    return str(BUILD / pathlib.Path(target).name)


def bits(*command):
    """The hashes that a program prints, by function and type; both its domains have them."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-5000:]
    head, *rows = done.stdout.splitlines()
    found = {}
    for row in rows:
        name, kind, count, scalar, vector = row.split()
        assert scalar == vector, (head, name, kind)
        found[name, kind] = count, scalar
    assert len(found) > 150
    return head, found


@pytest.fixture(scope="module")
def avx2():
    return bits(build("domain_bits_avx2"))


def same(found, expected):
    assert found.keys() == expected.keys()
    assert {k: v for k, v in found.items() if v != expected[k]} == {}


def test_avx2(avx2):
    assert avx2[0] == "domain AVX2, 8 floats"


def test_emulation(avx2):
    head, found = bits(build("domain_bits_emulation"))
    assert head.startswith("domain emulation")
    same(found, avx2[1])


def test_emulation_on_a_processor_with_neither_avx_nor_fma(avx2):
    emulator = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if not emulator:
        pytest.skip("qemu-x86_64 (package qemu-user) is not there")
    same(bits(emulator, "-cpu", "qemu64", build("domain_bits_emulation"))[1], avx2[1])


def test_avx512(avx2):
    program = build("domain_bits_avx512")
    flags = pathlib.Path("/proc/cpuinfo").read_text().split()
    if not {"avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512cd"} <= set(flags):
        assert "zmm" in subprocess.run(["objdump", "-d", program], capture_output=True, text=True).stdout
        pytest.skip("compiled, but this processor has no AVX-512 and no emulator knows it")
    head, found = bits(program)
    assert head == "domain AVX-512, 16 floats"
    same(found, avx2[1])


def test_neon(avx2):
    if "AARCH64_CXX:FILEPATH=/" not in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip("aarch64-linux-gnu-g++ (package g++-aarch64-linux-gnu) is not there")
    program = build("domain_bits_neon")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if not emulator:
        pytest.skip("compiled, but qemu-aarch64 (package qemu-user) is not there to run it")
    head, found = bits(emulator, program)
    assert head == "domain NEON, 4 floats"
    same(found, avx2[1])


def tensor_function(name):
    special = torch.special
    other = {"gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "gelu": F.gelu, "silu": F.silu, "mish": F.mish, "log_sigmoid": F.logsigmoid,
             "i0": special.i0, "floor_divide": torch.floor_divide, "trigamma": lambda x: special.polygamma(1, x),
             "polygamma3": lambda x: special.polygamma(3, x), "igamma": special.gammainc, "igammac": special.gammaincc}
    return other.get(name) or getattr(torch, name, None) or getattr(special, name)


# Functions whose card has another text than ops/math's of that name.
OTHER_TEXT = {"softplus", "copysign", "heaviside", "round"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bits")
    subprocess.run([build("domain_bits_avx2"), "--write", folder], check=True, capture_output=True)
    return folder


def read(path, kind):
    return torch.from_numpy(np.fromfile(path, TYPES[kind][0]))


def differing(got, expected, kind):
    integer = TYPES[kind][1]
    bad = (got.view(integer) != expected.view(integer)) & ~(got.isnan() & expected.isnan())
    return bad.nonzero()[:, 0].tolist()


@pytest.mark.parametrize("kind", TYPES)
def test_tensors_and_compiled_tensors(written, avx2, kind):
    x, y = read(written / f"arguments.{kind}", kind), read(written / f"partners.{kind}", kind)
    checked = 0
    for name, of in avx2[1]:
        if of != kind or name in OTHER_TEXT or "polynomial" in name:
            continue
        expected = read(written / f"{name}.{kind}", kind)
        a, b = x, y
        if len(expected) < len(x):   # every twelfth 64 bytes
            chunk = 64 // x.element_size()
            thin = [t.view(-1, chunk)[::12].flatten() for t in (x, y)]
            a, b = thin
        function = tensor_function(name)
        two = name in ("pow", "hypot", "atan2", "fmod", "remainder", "floor_divide", "logaddexp", "logaddexp2", "xlogy", "xlog1py", "minimum",
                       "maximum", "fmin", "fmax", "igamma", "igammac", "zeta")
        operands = (a, b) if two else (a,)
        for how, run in (("eager", function), ("compiled", torch.compile(function))):
            got = run(*operands)
            at = differing(got, expected, kind)
            assert not at, (name, how, [(*(float(o[i]) for o in operands), float(got[i]), float(expected[i])) for i in at[:5]])
        checked += 1
    assert checked > 70


def test_every_257th_float_is_within_its_bound():
    done = subprocess.run([build("math_sweep"), "--stride", "257", "--iterating", "65537"], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    table = subprocess.run([build("math_sweep"), "--table"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(done.stdout.splitlines()) == len(table) + 1   # a head, and every function


def test_the_table_of_bounds_is_that_of_the_tests():
    """docs/math.md has a row for each function of one operand: name, float and double bound, greatest error found."""
    table = subprocess.run([build("math_sweep"), "--table"], capture_output=True, text=True, check=True).stdout.splitlines()
    text = (ROOT / "docs" / "math.md").read_text()
    rows = [line for line in text[text.index("## Bounds"):].splitlines() if line.startswith("| ") and not line.startswith(("| function", "| ---"))]
    assert [r.rsplit("|", 2)[0].strip() for r in rows] == [t.strip().removesuffix("|").strip() for t in table]
    for row in rows:
        name, bound, _, greatest = (c.strip() for c in row.strip("|").split("|"))
        assert float(greatest.split()[0]) <= float(bound), name
